"""The page of one plan: its queue, the card of a question, and what becomes of a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Final, Literal
from urllib.parse import parse_qsl, urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from slowwave.errors import Refused
from slowwave.night.answers import (
    ANSWERS,
    AnswerOutcome,
    amendable,
    answer,
    answer_alike,
    answer_many,
    answers_of,
    count_answers,
    describe_answers,
    given_answers,
    newest_wins_command,
    note_answer,
)
from slowwave.night.follow_up import held_back, leaves_questions, seal_follow_ups
from slowwave.plans.ledger import StoredItem, StoredPlan, code_of
from slowwave.plans.questions import CODES, HEADINGS, NO_SIDE, split_question
from slowwave.plans.review import SORTS, Sort
from slowwave.plans.review.card import Card, ComparedLine, MarkedRun, called_rows, card, whole_cell
from slowwave.plans.review.drafts import Draft, NewDraft, Verdict, plan_with_open, read_drafts, read_session, undo_last
from slowwave.plans.review.queue import (
    CHECKED,
    Queue,
    State,
    Waiting,
    alike,
    ask_about_group,
    count_recalls,
    gone_drafts,
    queue,
    sides_of,
    title_of,
)
from slowwave.plans.show import foreign_end
from slowwave.plans.states import shown_state
from slowwave.plans.waterfall import Step, percent, reading
from slowwave.plans.why import RELATION
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespace_settings
from slowwave.surfaces.review_page.desk import LONGEST, Desk, fragment, page, rendered, visible
from slowwave.surfaces.review_page.guard import Posted, Reviewer, posted_by, reviewer_of

# The reviewer's choice of questions to see: filters, order and page, as they are in the address.

STATES: Final[Mapping[str, str]] = {
    "": "All",
    "open": "Open",
    "yes": "Yes",
    "no": "No",
    "skip": "Skipped",
}
"""State of a question → its label."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Empty fields filter nothing; ``all`` lists every question whatever the budget of the night; ``page`` counts from 1."""

    text: str = ""
    question: str = ""
    operation: str = ""
    risk: str = ""
    state: str = ""
    sort: str = ""
    all: str = ""
    page: int = 1

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> Chosen:
        """Build the choice from the parameters of an address; unknown parameters are ignored."""
        given = {f.name: parameters.get(f.name, "")[:200] for f in fields(cls) if f.name != "page"}
        page = parameters.get("page", "")
        return cls(**given, page=max(1, int(page)) if page.isascii() and page.isdecimal() and len(page) < 6 else 1)

    @property
    def narrow(self) -> int:
        """Return the number of filters that are set, including the order but not the search."""
        return sum(bool(value) for value in (self.question, self.operation, self.risk, self.state, self.sort))

    def query(self, **more: str | int) -> str:
        """Return the choice as the query of an address, with ``more`` added or replacing fields; empty values are left out."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "page" or self.page > 1}
        return urlencode({name: value for name, value in (own | more).items() if value})

    def at(self, page: int) -> Chosen:
        """Return the same choice for another page."""
        return replace(self, page=page)


@dataclass(frozen=True, slots=True)
class ChoiceField:
    """A filter as a form shows it: its options are value and label, ``chosen`` is the value that is set."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    chosen: str


# The queue of a plan for one page: light rows in groups and pages, the available choices, and similar questions.

PAGE: Final = 250
"""Number of questions on one page."""

_SIGNS: Final[Mapping[State, str]] = {"open": "○", "yes": "✓", "no": "✕", "skip": "–"}
_OWN_SIGN: Final = "●"  # of an answer that is neither yes nor no
_COMMON: Final = 3  # words that two sides share, shown before those that differ
_WITH_ODDS: Final = ("same",)
"""Questions whose items have a probability. The number of other items is a score, which says nothing to a person."""

_RISKS: Final = ("high", "medium", "low")
_ORDERS: Final[Mapping[Sort, str]] = {
    "information": "What settles most first",
    "risk": "Highest risk first",
    "probability": "Most probable first",
    "operation": "By operation",
}


@dataclass(frozen=True, slots=True)
class QueueRow:
    """Question in the queue, as text.

    ``title`` and ``short`` quote memory; ``short`` leaves out what two sides have in common. ``answer`` names the answer so far, ``said``
    also who gave it. ``plain`` is false if the question is not one of yes and no, such as which of two sides is right. ``members`` is the
    size of the group that the row is listed for.
    """

    item: str
    href: str
    title: str
    operation: str
    risk: str
    odds: str
    verdict: State
    sign: str
    said: str
    note: str
    amended: str = ""
    answer: str = ""
    short: str = ""
    plain: bool = True
    members: int = 0


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The rows of a page that ask the same, and how many of all that ask it are open."""

    code: str
    label: str
    rows: Sequence[QueueRow]
    open: int
    all: int


@dataclass(frozen=True, slots=True)
class QueuePage:
    """The groups of one page, how many pages there are, and all rows that were chosen."""

    groups: Sequence[RowGroup]
    pages: int
    rows: Sequence[QueueRow]


def chosen_queue(
    plan: StoredPlan,
    drafts: Mapping[str, Draft],
    chosen: Chosen,
    names: Mapping[str, str] | None = None,
    budget: int | None = None,
    recalls: Mapping[str, int] | None = None,
) -> Queue:
    """Return the queue of a plan, filtered and ordered as chosen.

    A value that is not one of a filter's values has no effect. The ``budget`` of the night holds only where nothing is filtered.
    """
    searches = chosen.all or chosen.text or chosen.question or chosen.operation or chosen.risk or chosen.state
    states: dict[str, State] = {state: state for state in _SIGNS}
    sorts: dict[str, Sort] = {sort: sort for sort in SORTS}
    return queue(
        plan,
        drafts,
        sort=sorts.get(chosen.sort, "information"),
        state=states.get(chosen.state),
        operation=chosen.operation or None,
        risk=chosen.risk or None,
        search=chosen.text,
        names=names,
        budget=None if searches else budget,
        recalls=recalls,
    )


def queue_page(found: Queue, chosen: Chosen, path: str, answers: Mapping[str, str] | None = None) -> QueuePage:
    """Group the rows of a queue by question and select those of the chosen page; their links begin with ``path``.

    ``answers`` name the answers so far, see ``given_answers``.
    """
    groups = {g.code: g for g in found.groups if chosen.question in ("", g.code) and g.items}
    wanted = [w for g in groups.values() for w in g.items]
    pages = max(1, -(-len(wanted) // PAGE))
    first = (min(chosen.page, pages) - 1) * PAGE
    rows = {w.id: queue_row(w, f"{path}?{chosen.query(item=w.id)}", (answers or {}).get(w.id, "")) for w in wanted}
    shown = [
        RowGroup(
            code=code,
            label=groups[code].label,
            rows=[rows[w.id] for w in of],
            open=groups[code].counts["open"],
            all=sum(groups[code].counts.values()),
        )
        for code, of in groupby(wanted[first : first + PAGE], key=lambda w: w.code)
    ]
    return QueuePage(shown, pages, list(rows.values()))


def queue_row(waiting: Waiting, href: str, answer: str = "") -> QueueRow:
    """Build the row of a question, with a link to ``href`` and the name of the answer so far."""
    draft = waiting.draft
    answer = answer or STATES[waiting.state].lower()
    own = bool(waiting.sides) or bool(draft and draft.amended)
    return QueueRow(
        item=waiting.id,
        href=href,
        title=waiting.title,
        operation=waiting.operation,
        risk=waiting.risk,
        odds=percent(waiting.probability) if waiting.code in _WITH_ODDS else "",
        verdict=waiting.state,
        sign=_OWN_SIGN if own and waiting.state in ("yes", "no") else _SIGNS[waiting.state],
        said=said_of(draft, answer) if draft else answer,
        note=draft.note if draft else "",
        amended=draft.amended if draft else "",
        answer=answer,
        short=short_sides(*waiting.sides) if waiting.sides else waiting.title,
        plain=not waiting.sides,
        members=waiting.members,
    )


def short_sides(one: str, other: str) -> str:
    """Return two sides in one line that begins shortly before they differ, so that a list which cuts it still tells them apart."""
    a, b = one.split(), other.split()
    same = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    begin = max(0, same - _COMMON)
    head = " ".join(a[begin:same])
    rest = (" ".join(words[same:]) or "nothing more" for words in (a, b))
    return f"{'… ' * bool(begin)}{head} " * bool(head) + " / ".join(f"“{words}”" for words in rest)


def said_of(draft: Draft, answer: str) -> str:
    """Describe the answer to an item: who gave it, who disagreed, and whether it was given on an earlier plan."""
    against = f"; not so {', '.join(draft.against)}" if draft.against else ""
    followed = f", from the plan of {draft.followed:%Y-%m-%d}" if draft.followed else ""
    instead = f", plan {draft.amended[:12]} instead" if draft.amended else ""
    return f"{answer}, {draft.reviewer}{followed}{against}{instead}"


def choices(plan: StoredPlan, chosen: Chosen) -> list[ChoiceField]:
    """Return the filters that apply to a plan, and the possible orders."""
    asked = [s for s in plan.items if s.is_question and s.status == "pending"]
    codes, operations = {code_of(s) for s in asked}, sorted({s.operation for s in asked})
    return [
        ChoiceField(
            "question", "Question", [("", "All"), *((c, HEADINGS[c]) for c in CODES if c in codes)], chosen.question
        ),
        ChoiceField("operation", "Operation", [("", "All"), *((name, name) for name in operations)], chosen.operation),
        ChoiceField("risk", "Risk", [("", "All"), *((risk, risk) for risk in _RISKS)], chosen.risk),
        ChoiceField("state", "Verdict", list(STATES.items()), chosen.state),
        ChoiceField("sort", "Order", list(_ORDERS.items()), chosen.sort or "information"),
    ]


# The card of a question as HTML. ``slowwave.plans.review.card`` defines its content; the code below defines its appearance.

_NAMES: Final = ("id", "external id")
_WIDEST: Final = 10.0  # nats that fill one side of a bar
_HALF: Final = 96.0
_MARKS: Final[Mapping[str, str]] = {"+ ": "came", "- ": "went", "~ ": "ours", "  ": "stays"}


@dataclass(frozen=True, slots=True)
class CardLine:
    """Line of the comparison, with its cells as HTML.

    ``named`` marks a line that only names a row: it always differs, which means nothing.
    """

    name: str
    cells: Sequence[Markup]
    differs: bool
    named: bool


@dataclass(frozen=True, slots=True)
class CardStep:
    """Piece of evidence: its bar, the meaning of its weight, and the probability so far.

    The bar begins at ``x`` (0 to 200; 100 is neutral).
    """

    says: str
    weight: str
    kind: str
    x: float
    width: float
    reading: str
    so_far: str


def card_values(card: Card, stored: StoredItem, path: str = "") -> dict[str, object]:
    """Build the values for the template of a card; ``path`` is the address of its plan, for links to the rest of cut texts."""
    rest = f"{path}/items/{stored.id}/text" if path else ""
    tie = stored.item.evidence.get("side") == NO_SIDE
    heads = tuple(head.capitalize() for head in card.heads) if tie else card.heads
    if sides_of(stored) and heads == ("stays", "ends"):
        one, other = ("The report", "The task") if code_of(stored) == "done" else ("This one", "The other one")
        heads = (f"{one}: would stay", f"{other}: would end")
    asked, why = split_question(card.question)
    return {
        "card": card,
        "asked": asked or why,
        "why": why if asked else "",
        "heads": heads,
        "lead": "Nothing says which of the two is later, so nothing is proposed." if tie else _lead(card, stored),
        "odds": percent(card.probability) if stored.question in _WITH_ODDS else "",
        "state": "" if stored.status == "pending" else f"{stored.status}: {stored.reason}".removesuffix(": "),
        "seen": "What the plan saw" if stored.kind == "merge_rows" else "What it would change",
        "lines": [] if card.text else _lines(card.lines, rest),
        "writing": marked_lines(card.writing),
        "lost": marked_lines(card.lost),
        "loses": _heading_of_lines(card, stored),
        "steps": [_step(step) for step in card.steps],
        "noted": {name: value for name, value in card.evidence.items() if not sides_of(stored)},
        "notes": [note for note in card.notes if not sides_of(stored) or note.startswith(RELATION)],
    }


def _heading_of_lines(card: Card, stored: StoredItem) -> str:
    """Return the heading over the lines of a text, which may only get more words."""
    if stored.kind == "set_state":
        return "No search would find"
    return "What would be added to the text" if card.only_added else "What a text would no longer say"


def _lead(card: Card, stored: StoredItem) -> str:
    """Return the sentence below the question, unless the answer yes repeats it or the text itself is quoted."""
    return "" if card.text or (card.sentence == card.if_yes and not sides_of(stored)) else card.sentence


def marked_lines(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each line of a diff with the style class of its prefix."""
    return [(_MARKS.get(line[:2], "ours"), line) for line in lines]


def cell(runs: Sequence[MarkedRun], *, mark: bool = True, rest: str = "") -> Markup:
    """Return the runs of a cell as HTML.

    ``mark`` decides whether runs that differ are marked. ``rest`` is the address of the rest of a longer text.
    """
    if not any(run.text for run in runs):
        return Markup('<span class="nothing">nothing</span>')
    text = Markup("<bdi>{}</bdi>").format(Markup("").join(_pieces(runs, mark=mark)))
    if sum(len(run.text) for run in runs) < LONGEST:
        return text
    if rest:
        return text + Markup(' <a class="cut" href="{}">… the rest of the text</a>').format(rest)
    return text + Markup(' <span class="cut">… only its first {:,} characters are shown</span>').format(LONGEST)


def _pieces(runs: Sequence[MarkedRun], *, mark: bool) -> Iterator[Markup]:
    for run in runs:
        word = run.text.rstrip()
        yield Markup("<mark>{}</mark>").format(visible(word)) if mark and run.differs else visible(word)
        yield visible(run.text[len(word) :])


def _lines(lines: Sequence[ComparedLine], rest: str) -> list[CardLine]:
    """Build the lines of a comparison, those that name rows last."""
    made = [_line(line, rest, named=line.name in _NAMES) for line in lines]
    return [line for line in made if not line.named] + [line for line in made if line.named]


def _line(line: ComparedLine, rest: str, *, named: bool) -> CardLine:
    several = sum(bool(runs) for runs in line.cells) > 1 and not named
    more = [
        f"{rest}?{urlencode({'line': line.name, 'cell': n, 'begin': LONGEST})}" if rest else ""
        for n in range(len(line.cells))
    ]
    cells = [cell(runs, mark=several, rest=to) for runs, to in zip(line.cells, more, strict=True)]
    return CardLine(line.name, cells, several and line.differs, named)


def _step(step: Step) -> CardStep:
    width = round(min(abs(step.weight), _WIDEST) / _WIDEST * _HALF, 1)
    return CardStep(
        says=step.says,
        weight=f"{step.weight:+.2f}",
        kind="against" if step.weight < 0 else "for",
        x=100 - width if step.weight < 0 else 100,
        width=width,
        reading=reading(step.weight),
        so_far=percent(step.probability),
    )


# The pages of one plan: its queue, the card of a question, and the handling of a verdict.
#
# A page needs one look at the plan, which ``Desk`` caches, and one read of the drafts. A verdict is an insert. Nothing is decided until
# someone approves.

_GONE_SHOWN: Final = 20
"""Maximum number of drafts of the previous plan that are listed if their items no longer exist."""

PIECE: Final = 20_000
"""Maximum characters of a long text on one page."""

_VERDICTS: Final[Mapping[str, Verdict]] = {"yes": "yes", "no": "no", "skip": "skip"}
_STYLES: Final = {
    "yes": "say-yes",
    "no": "say-no",
    "same": "say-yes",
    "different": "say-no",
    "source": "say-yes",
    "kept": "say-no",
}
"""Answer → its style. Answers that name a side have none: neither of two sides is a yes or a no."""

_FOLLOWS: Final = {
    "this": "it stays, and the other one ends. {end}",
    "other": "it stays, and this one ends. {end}",
    "both": "nothing changes, and this is not asked again while both say what they say.",
    "neither": "neither is recalled any more. {end}",
}
"""Answer to a question about two sides → what follows; the columns above it quote the sides. ``end`` says where the row that ends goes."""

_DONE: Final = "No question waits here. What you said is at the bottom: sign when you are ready."
_NONE: Final = "No question fits these filters."


class PlanPages:
    """The pages of the plans of a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """Return the routes of these pages, which begin with ``/plans/``."""
        plan = "/plans/{plan:str}"
        return [
            Route(plan, self.shown),
            Route(f"{plan}/items/{{item:str}}", self.card),
            Route(f"{plan}/items/{{item:str}}/text", self.text),
            Route(f"{plan}/drafts", self.drafts),
            Route(f"{plan}/drafts", self.say, methods=["POST"]),
            Route(f"{plan}/undo", self.undo, methods=["POST"]),
            Route(f"{plan}/follow", self.follow, methods=["POST"]),
            Route(f"{plan}/alike", self.alike),
            Route(f"{plan}/alike", self.say_alike, methods=["POST"]),
        ]

    def shown(self, request: Request) -> Response:
        """Show the queue, the current card and the verdicts of a plan."""
        plan, drafts = self._read(request)
        path = f"/plans/{plan.plan_hash}"
        chosen = Chosen.from_parameters(request.query_params)
        named = request.query_params.get("item", "")
        store = self._desk.store
        with store.connect("reader") as connection:
            budget = namespace_settings(connection, plan.header.namespace).questions_per_night
        names, recalls = called_rows(store, plan), count_recalls(store, plan)
        found = chosen_queue(plan, drafts, chosen, names, budget, recalls)
        if named and all(
            w.id != named for w in found.items
        ):  # a link leads to a question that is not among those of the night
            found = chosen_queue(plan, drafts, chosen, names, None, recalls)
        answers = given_answers(self._desk.store, plan, drafts)
        listed = queue_page(found, chosen, path, answers)
        rows = [row for group in listed.groups for row in group.rows]
        current = (
            next((row for row in rows if row.item == named), None)
            or next((row for row in rows if row.verdict == "open"), None)
            or next(iter(rows), None)
        )
        values = {
            **bar_values(plan, found, reviewer_of(request)),
            "tally": count_answers(plan, answers),
            "chosen": chosen,
            "fields": choices(plan, chosen),
            "groups": listed.groups,
            "pages": listed.pages,
            "page_number": min(chosen.page, listed.pages),
            "previous": f"{path}?{chosen.at(chosen.page - 1).query()}" if chosen.page > 1 else "",
            "next": f"{path}?{chosen.at(chosen.page + 1).query()}" if chosen.page < listed.pages else "",
            "later": found.later,
            "later_href": f"{path}?{chosen.query(all='1')}",
            "budget": budget,
            "current": current,
            "card": Markup(self._card(plan, drafts, current.item) if current else ""),  # noqa: S704 - a template made it
            "answers": [(one, _STYLES.get(one.name, "")) for one in ANSWERS],
            "offered": {
                s.id: [*(a.name for a in answers_of(s)), "skip"] for s in plan.items if s.id in {r.item for r in rows}
            },
            "session": session_links(self._desk.store, plan),
            "nothing_follows": "nothing_follows" in request.query_params,
            "nothing": _NONE if sum(found.counts.values()) else _DONE,
            "query": chosen.query(),
            "look_decided": looks_decided(found),
            "gone": gone_drafts(self._desk.store, plan.header.namespace, plan.plan_hash),
            "gone_shown": _GONE_SHOWN,
        }
        return page("review.html", values)

    def card(self, request: Request) -> Response:
        """Return the card of one question, without the page around it."""
        plan, drafts = self._read(request)
        return fragment(self._card(plan, drafts, str(request.path_params["item"])))

    def text(self, request: Request) -> Response:
        """Show a piece of a text that the card cuts, with links to the pieces before and after it."""
        plan, query = self._plan(request), request.query_params
        stored = next((s for s in plan.items if s.id == request.path_params["item"]), None)
        line, column, begin = query.get("line", ""), _number(query.get("cell", "")), _number(query.get("begin", ""))
        whole = whole_cell(plan, stored, line, column) if stored else ""
        if stored is None or begin >= len(whole):
            raise Refused("There is no such text, or it ends before that.")
        path = f"/plans/{plan.plan_hash}/items/{stored.id}/text?"
        at = [(n, path + urlencode({"line": line, "cell": column, "begin": n})) for n in range(0, len(whole), PIECE)]
        values = {
            **{"title": title_of(stored), "line": line, "piece": whole[begin : begin + PIECE], "length": len(whole)},
            **{"begin": begin, "end": min(begin + PIECE, len(whole)), "most": PIECE},
            "before": next((to for n, to in reversed(at) if n < begin), ""),
            "after": path + urlencode({"line": line, "cell": column, "begin": begin + PIECE})
            if begin + PIECE < len(whole)
            else "",
            "back": f"/plans/{plan.plan_hash}?item={stored.id}",
        }
        return page("text.html", values)

    def drafts(self, request: Request) -> Response:
        """Return the verdicts on the questions, the counts, and the number of other questions that look decided by them.

        If no question is open, ``next`` is the hash of another plan of the session with an open one, empty if there is none.
        """
        plan, drafts = self._read(request)
        found = queue(plan, drafts)
        answers = given_answers(self._desk.store, plan, drafts)
        other = (
            None if found.counts["open"] else plan_with_open(self._desk.store, plan.header.namespace, plan.plan_hash)
        )
        return JSONResponse(
            {
                **{"drafts": _drafts_json(drafts, answers), "counts": found.counts},
                **{"tally": count_answers(plan, answers), "look_decided": looks_decided(found)},
                "next": other.plan_hash if other else "",
            }
        )

    def say(self, request: Request) -> Response:
        """Store verdicts: JSON with ``drafts``, or one verdict from a form, which then opens the next question."""
        plan, posted = self._plan(request), posted_by(request)
        if posted.body is not None:
            given = posted.body.get("drafts")
            if isinstance(given, list) and len(given) == 1 and isinstance(given[0], dict):
                item, name, note = (str(given[0].get(key, "")) for key in ("item", "verdict", "note"))
                if name == "note":
                    note_answer(self._desk.store, plan, item, note, by=reviewer_of(request).name)
                    return JSONResponse({"saved": 1})
                done = answer(self._desk.store, plan, item, name, by=reviewer_of(request).name, note=note)
                return JSONResponse({"saved": 1, **_made(done)})
            drafts = _new_drafts(given)
            done = answer_many(self._desk.store, plan, drafts, by=reviewer_of(request).name)
            return JSONResponse({"saved": len(drafts), **_made(done)})
        item, verdict, note = (posted.form.get(name, [""])[0] for name in ("item", "verdict", "note"))
        done = answer(self._desk.store, plan, item, verdict, by=reviewer_of(request).name, note=note)
        refuse_problem(done)
        return RedirectResponse(f"/plans/{plan.plan_hash}?{_back(posted).query()}", 303)

    def follow(self, request: Request) -> Response:
        """Seal the questions that follow from the answers so far.

        These are questions from answers that were given to many at once, for example.
        """
        plan = self._plan(request)
        made = seal_follow_ups(self._desk.store, plan.header.namespace, plan.plan_hash, by=reviewer_of(request).name)
        return RedirectResponse(f"/plans/{made[0]}" if made else f"/plans/{plan.plan_hash}?nothing_follows=1", 303)

    def undo(self, request: Request) -> Response:
        """Undo the reviewer's last answer and show its question again."""
        plan, posted = self._plan(request), posted_by(request)
        namespace, hash_ = plan.header.namespace, plan.plan_hash
        items = undo_last(self._desk.store, namespace, hash_, reviewer=reviewer_of(request).name)
        if posted.body is None:
            shown = {"item": items[0]} if items else {}
            return RedirectResponse(f"/plans/{hash_}?{_back(posted).query(**shown)}", 303)
        drafts = read_drafts(self._desk.store, namespace, hash_)
        none = {"verdict": "open", "note": "", "said": "open", "answer": "open", "amended": ""}
        drafts_by_item = _drafts_json(drafts, given_answers(self._desk.store, plan, drafts))
        return JSONResponse({"drafts": {item: drafts_by_item.get(item, none) for item in items}})

    def alike(self, request: Request) -> Response:
        """Show the open questions of a group with a sample, before one verdict is given on all of them."""
        plan, drafts = self._read(request)
        found = queue(plan, drafts, names=called_rows(self._desk.store, plan))
        asked = request.query_params.get("at_least", "")
        group = alike(found, request.query_params.get("item", ""), _probability(asked) if asked else None)
        path = f"/plans/{plan.plan_hash}"

        def row(waiting: Waiting) -> QueueRow:
            return replace(queue_row(waiting, f"{path}?item={waiting.id}"), title=group.line(waiting))

        values = {
            **bar_values(plan, found, reviewer_of(request)),
            "group": group,
            "label": HEADINGS[group.of.code],
            "sample": [row(w) for w in group.sample],
            "examples": [row(w) for w in group.examples] if group.form else [],
            "counter_examples": [(row(w), why) for w, why in group.counter_examples],
            "checked": CHECKED,
            "newest_wins": newest_wins_command(self._desk.store, plan, group),
        }
        return page("alike.html", values)

    def say_alike(self, request: Request) -> Response:
        """Give the same verdict on all open questions of a group, after the answers to its sample.

        Raises ``Refused``, and writes nothing, if the questions are not those that the page showed.
        """
        plan, drafts = self._read(request)
        form = posted_by(request).form
        item, verdict, note, least, known_by = (
            form.get(name, [""])[0] for name in ("item", "verdict", "note", "at_least", "known_by")
        )
        group = alike(queue(plan, drafts), item, _probability(least))
        if group.known_by != known_by:
            raise Refused(
                f"{len(group.items):,} questions are of this kind now, and they are not those that the page showed: somebody answered "
                "meanwhile. Nothing was written. Go back and look again."
            )
        given = {name.removeprefix("check-"): found[0] for name, found in form.items() if name.startswith("check-")}
        checked: dict[str, Verdict] = {id_: _new_draft(id_, one, "").verdict for id_, one in given.items()}
        of_all: Verdict | Literal["each"] = "each" if verdict == "each" else _new_draft(item, verdict, "").verdict
        by = reviewer_of(request).name
        refuse_problem(answer_alike(self._desk.store, plan, group, of_all, by=by, checked=checked, note=note))
        return RedirectResponse(f"/plans/{plan.plan_hash}", 303)

    def _plan(self, request: Request) -> StoredPlan:
        return self._desk.plan(str(request.path_params["plan"]))

    def _read(self, request: Request) -> tuple[StoredPlan, dict[str, Draft]]:
        plan = self._plan(request)
        return plan, read_drafts(self._desk.store, plan.header.namespace, plan.plan_hash)

    def _card(self, plan: StoredPlan, drafts: Mapping[str, Draft], item: str) -> str:
        stored = next((s for s in plan.items if s.id == item), None)
        if stored is None:
            raise Refused("That question is none of this plan.")
        draft, path = drafts.get(item), f"/plans/{plan.plan_hash}"
        mutation = stored.item.mutation
        is_task = code_of(stored) == "done"
        end = foreign_end(mutation, mutation.rows, "What ends", placed=False) or "What ends stays on record."
        values: dict[str, object] = {
            **card_values(card(self._desk.store, plan, stored), stored, path),
            "amend": amendable(stored),
            "amend_href": f"{path}/amend?item={stored.id}",
            "instead": draft.amended if draft else "",
            "group": ask_about_group(plan, drafts, stored),
            "group_href": f"{path}/alike?item={stored.id}",
            "answers": [
                (one, _FOLLOWS[one.name].format(end=end) if one.name in _FOLLOWS and not is_task else says)
                for one, says in describe_answers(stored)
            ]
            if stored.is_question
            else [],
        }
        return rendered("card.html", values)


def session_links(store: Store, plan: StoredPlan) -> dict[str, object]:
    """Return the plans of a plan's session, each with the number of its open questions, and the questions that follow."""
    session = read_session(store, plan.header.namespace, plan.plan_hash)
    names = {s.id: title_of(s) for one in session for s in one.plan.items}

    def made(plan: StoredPlan) -> str:
        return title_of(plan.items[0]) if len(plan.items) == 1 else "follows from answers"

    return {
        "plans": [
            {
                "plan_hash": one.plan.plan_hash,
                "open": len(one.open),
                "made": made(one.plan) if one.of else "",
            }
            for one in session
        ],
        "may_follow": any(one.drafts for one in session)
        and any(leaves_questions(one.plan) or held_back([one]) for one in session),
        "following": [(title_of(stored), names[of]) for stored, of in held_back(session)] if len(session) == 1 else [],
    }


def refuse_problem(done: AnswerOutcome) -> None:
    """Raise ``Refused`` if the questions that follow from answers could not be sealed; the answers are kept."""
    if done.problem:
        raise Refused(f"What you answered is kept. {done.problem}")


def _made(done: AnswerOutcome) -> dict[str, object]:
    """Return the plans and the problem that an answer produced, for the page's script; empty for most answers."""
    return {
        **({"amended": done.amended.plan_hash} if done.amended else {}),
        **({"follow_ups": list(done.follow_ups)} if done.follow_ups else {}),
        **({"problem": done.problem} if done.problem else {}),
    }


def looks_decided(found: Queue) -> int:
    """Return the number of questions that look decided by the answers so far."""
    return sum(len(group.items) for group in found.look_decided)


def bar_values(plan: StoredPlan, found: Queue, reviewer: Reviewer) -> dict[str, object]:
    """Return the values that every page of a plan shows: the plan, its progress, the reviewer and the token of its forms."""
    counts = dict(found.counts)
    return {
        "plan": {
            "plan_hash": plan.plan_hash,
            "namespace": plan.header.namespace,
            "size": len(plan.items),
            "state": shown_state(plan.state, plan.counts, plan.expires_at).replace("_", " "),
            "expires_at": plan.expires_at,
            "decided": found.decided,
        },
        "counts": counts | {"all": sum(counts.values())},
        "contradictions": found.contradictions,
        "followed": found.followed,
        "reviewer": reviewer.name,
        "form_token": reviewer.form_token,
    }


def _back(posted: Posted) -> Chosen:
    """Return the filters that a form was sent with."""
    return Chosen.from_parameters(dict(parse_qsl(posted.form.get("query", [""])[0])))


def _drafts_json(drafts: Mapping[str, Draft], answers: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {
        item: {
            **{"verdict": d.verdict, "note": d.note, "amended": d.amended, "answer": answers.get(item, d.verdict)},
            "said": said_of(d, answers.get(item, d.verdict)),
        }
        for item, d in drafts.items()
    }


def _new_drafts(given: object) -> list[NewDraft]:
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise Refused("The drafts are no list of verdicts. Nothing was kept.")
    return [_new_draft(*(str(one.get(name, "")) for name in ("item", "verdict", "note"))) for one in given]


def _new_draft(item: str, verdict: str, note: str) -> NewDraft:
    if verdict not in _VERDICTS:
        raise Refused(f"{verdict[:32]!r} is no verdict: it is yes, no or skip. Nothing was kept.")
    return NewDraft(item, _VERDICTS[verdict], note)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _probability(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise Refused(f"{text[:32]!r} is no probability: it is a number from 0 to 1. Nothing was written.")
    return found
