"""``slowwave plans review``: the questions of a plan one after another, and rules learnt from the answers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer
from rich.text import Text

from slowwave.errors import Refused
from slowwave.plans.commands import APPROVER, argument
from slowwave.plans.review import SORTS
from slowwave.plans.states import find_plan, latest_plan, no_plan
from slowwave.plans.waterfall import percent, reading
from slowwave.store.connect import Store
from slowwave.surfaces.cli.policies import suggest_apply
from slowwave.surfaces.cli.session import (
    By,
    Json,
    Namespace,
    Note,
    Plan,
    Reason,
    one_line,
    open_store,
    out,
    prefix_length,
    program,
    say,
    show_json,
    show_table,
    suggest,
)
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.night.answers import AnswerOutcome
    from slowwave.plans.ledger import StoredItem, StoredPlan
    from slowwave.plans.review import Sort
    from slowwave.plans.review.card import Card, MarkedRun
    from slowwave.plans.review.drafts import Verdict
    from slowwave.plans.review.queue import Queue, Waiting
    from slowwave.plans.review.rules import LearntRule


# Rules learnt from the answers of a review, in words: offered in the terminal as policies for the following nights.

_LONGEST: Final = 400


def learnt(store: Store, plan: StoredPlan) -> list[LearntRule]:
    """Return the rules that the drafts of a plan support now and that no policy has."""
    from slowwave.plans.policies import read_policies
    from slowwave.plans.review.drafts import read_drafts
    from slowwave.plans.review.rules import learnt_rules

    with store.connect("reader") as connection:
        policies = read_policies(connection, plan.header.namespace)
    return learnt_rules(plan, read_drafts(store, plan.header.namespace, plan.plan_hash), policies)


def offer_rules(store: Store, plan: StoredPlan, reviewer: str) -> None:
    """Print each rule: what its questions have in common, how often it was right, and the line that accepts it.

    Raises ``Refused`` if there is no rule.
    """
    from slowwave.plans.review.rules import AGREED, ENOUGH, accept_rule

    rules = learnt(store, plan)
    if not rules:
        raise Refused(
            f"No rule yet: that takes {ENOUGH} answers, one by one, to questions of a kind, and {AGREED:.0%} of them yes, or no."
        )
    for rule in rules:
        say(f"{one_line(rule.sentence(), _LONGEST)}.")
        does, but = ("approve", "none that contradicts or would lose a value")
        if rule.verdict == "no":
            does, but = ("reject", "and `plans reconsider` takes a rejection back")
        say(
            f"Accepted, nights {does} such questions by themselves, in your name: {rule.per_night:,} a night at most, {but}."
        )
        out.print(
            f"y accepts with {rule.per_night:,}, y N with another limit, anything else not > ", end="", markup=False
        )
        key, _, most = sys.stdin.readline().strip().partition(" ")
        if key != "y" or not (most.strip() or "1").isdecimal():
            say("Not accepted.")
            continue
        limit = int(most) if most.strip() else None
        made = accept_rule(store, plan, rule.key, accepted_by=reviewer, per_night=limit)
        say(f"Accepted: {made.per_night:,} a night, from the next night on.")
        name = argument(plan.header.namespace)
        suggest("Revoke it", f'{program()} policies revoke {name} {made.id[:8]} --by YOUR-NAME --reason "WHY"')


# The card of a question in the terminal: what is asked, the rows next to each other, the strongest evidence, and the effect of yes and of
# no.

LONGEST: Final = 300
"""Maximum characters of a line of memory text that are shown."""

_STEPS: Final = 4
_EXCERPT: Final = 1_000
"""Maximum characters of the text of a memory that screening would hide."""


def show_card(store: Store, plan: StoredPlan, asked: Queue, current: Waiting) -> None:
    """Print the card of a question."""
    from slowwave.night.answers import describe_answers
    from slowwave.plans.review.card import card
    from slowwave.plans.review.drafts import read_drafts
    from slowwave.plans.review.queue import ask_about_group

    stored = next(s for s in plan.items if s.id == current.id)
    shown = card(store, plan, stored)
    group = ask_about_group(plan, read_drafts(store, plan.header.namespace, plan.plan_hash), stored)
    of = next(group for group in asked.groups if group.code == current.code)
    out.print()
    out.print(Text(f"{of.label}  {of.counts['open']:,} open of {sum(of.counts.values()):,}", "bold"))
    if group:
        say(one_line(group, LONGEST))
        say(
            "This is one of them. a answers them together, after a sample was shown; the other keys answer this one alone."
        )
    say(f"{shown.operation} · {shown.risk} risk · item {shown.id}")
    say(shown.question)
    say(one_line(shown.sentence, LONGEST))
    if shown.text:
        say(one_line(f"“{shown.text}”", _EXCERPT))
    if shown.lines:
        show_table("Rows", ("", *shown.heads), [(line.name, *map(_cell, line.cells)) for line in shown.lines])
    _evidence(shown)
    for line in (*shown.writing, *shown.lost)[:20]:
        say(one_line(line, LONGEST), indent=2)
    for note in shown.notes:
        say(f"· {one_line(note, LONGEST)}")
    for source in shown.sources[:2]:
        say(f"{source.kind} {source.id[:8]}: {one_line(source.sentence, LONGEST)}", indent=2)
    if shown.other_sources:
        say(shown.other_sources, indent=2)
    for event in shown.around.history[:3]:
        say(f"{event.at:%Y-%m-%d}: {one_line(event.sentence(), LONGEST)}", indent=2)
    if stored.is_question:
        for one, says in describe_answers(stored):
            say(f"{one.key}: {one.label}: {one_line(says, LONGEST)}")
    say(f"yes: {one_line(shown.if_yes, LONGEST)}")
    say(f"no: {shown.if_no}")


def _evidence(shown: Card) -> None:
    """Print the strongest evidence, and how likely it makes the rows one thing."""
    for step in sorted(shown.steps, key=lambda step: -abs(step.weight))[:_STEPS]:
        say(f"{step.weight:+.1f} {one_line(step.says, LONGEST)} ({reading(step.weight)})", indent=2)
    if (more := len(shown.steps) - _STEPS) > 0:
        say(f"and {counted(more, 'weaker piece')} of evidence", indent=2)
    if shown.verdict:
        say(one_line(shown.verdict, LONGEST))


def _cell(runs: Sequence[MarkedRun]) -> str:
    """Format a cell, with the words that another row lacks in brackets."""
    return "".join(f"[{run.text.rstrip()}] " if run.differs else run.text for run in runs).strip()


# ``slowwave plans review``: the questions of a plan one after another, one line per answer; and ``plans reconsider``.
#
# Answers are drafts (``slowwave.plans.review.drafts``) until a person approves them with ``--sign``. They are read one line each from
# standard input, which is a terminal or a pipe.

_SAMPLE: Final = 10  # lines of a list
_SAID: Final[dict[str, Verdict]] = {"y": "yes", "n": "no", "s": "skip"}
_ANSWER_KEYS: Final = frozenset("123b0yns")
_AS: Final[dict[str, Verdict]] = {"yes": "yes", "no": "no"}
_SORTS: Final[dict[str, Sort]] = {sort: sort for sort in SORTS}
_KEYS: Final = (
    ("1 2 b 0", "of two sides: this one is right, the other one, both stay, both end"),
    ("1 2 3", "of a merge: same, different, same with the other name"),
    ("y", "yes"),
    ("n WHY", "no, and why, which may be left out"),
    ("s", "skip: it stays open"),
    ("u", "undo your last answer"),
    ("a P", "one answer for the group of this one, or for all of its kind as likely as P; a sample is shown first"),
    ("d", "what looks decided by your answers: all that are alike, after a sample"),
    ("r", "what your answers teach in words: accept it for the nights to come, up to a limit"),
    ("m", "ask every question, also those beyond the number of a night"),
    ("x N…", "remove the rows of these columns from a merge, counted from 1; the rest becomes a new plan"),
    ("e TEXT", "propose this text instead, as a new plan"),
    ("/ WORDS", "only those that speak of them; / alone shows all again"),
    ("q", "leave; your answers are kept"),
)


@dataclass
class _Desk:
    """Session of one reviewer at the questions of one plan."""

    store: Store
    plan: StoredPlan
    reviewer: str
    sort: Sort = "information"
    words: str = ""
    all: bool = False

    @property
    def namespace(self) -> str:
        return self.plan.header.namespace

    def queue(self, *, every: bool = False) -> Queue:
        """Return the questions in the state of all current drafts: those of the night, or every one of the plan."""
        from slowwave.plans.review.card import called_rows
        from slowwave.plans.review.drafts import read_drafts
        from slowwave.plans.review.queue import count_recalls, queue
        from slowwave.store.namespaces import namespace_settings

        drafts = read_drafts(self.store, self.namespace, self.plan.plan_hash)
        budget = None
        if not (every or self.all or self.words):
            with self.store.connect("reader") as connection:
                budget = namespace_settings(connection, self.namespace).questions_per_night
        return queue(
            *(self.plan, drafts),
            sort=self.sort,
            search=self.words,
            names=called_rows(self.store, self.plan),
            budget=budget,
            recalls=count_recalls(self.store, self.plan),
        )

    def stored(self, item: str) -> StoredItem:
        """Return an item of the plan by its id."""
        return next(s for s in self.plan.items if s.id == item)

    def answer(self, item: str, key: str, note: str) -> None:
        """Answer a question by a key of its own; follow-up questions are asked next."""
        from slowwave.night.answers import answer

        offered = answer_keys(self.stored(item))
        if key not in offered:
            raise Refused(f"{key} is no answer to this question. Press one of {' '.join(offered)}. Nothing was kept.")
        done = answer(self.store, self.plan, item, offered[key], by=self.reviewer, note=note)
        if done.amended:
            say(f"Made item {done.amended.item[:8]} of plan {done.amended.plan_hash[:12]}; --sign approves it too.")
        self.go_on(done)

    def go_on(self, done: AnswerOutcome) -> None:
        """Turn to the questions that follow from answers, if there are any."""
        from slowwave.plans.ledger import read_plan

        if done.problem:
            say(done.problem)
        if done.follow_ups:
            with self.store.connect("reader") as connection:
                self.plan = read_plan(connection, done.follow_ups[0])
            say(f"These questions follow from your answers, as plan {self.plan.plan_hash[:12]}:")

    def turn_to_open(self) -> bool:
        """Turn to another plan of the session that has an open question; return whether there is one."""
        from slowwave.plans.review.drafts import plan_with_open

        other = plan_with_open(self.store, self.namespace, self.plan.plan_hash)
        self.plan = other or self.plan
        return other is not None

    def keep(self, items: Sequence[str], verdict: Verdict, note: str = "") -> None:
        """Draft a verdict on items, and turn to the questions that follow."""
        from slowwave.night.answers import answer_many
        from slowwave.plans.review.drafts import NewDraft

        drafts = [NewDraft(item, verdict, note) for item in items]
        self.go_on(answer_many(self.store, self.plan, drafts, by=self.reviewer))


def review(
    namespace: Namespace,
    plan: Plan = None,
    by: By = "",
    sort: Annotated[str, typer.Option(help=f"Order of the questions: {', '.join(SORTS)}.")] = "information",
    all_: Annotated[
        bool, typer.Option("--all", help="Ask every question, also those beyond the number of a night.")
    ] = False,
    signing: Annotated[
        bool, typer.Option("--sign", help="Approve the drafts and all items without a question; ask nothing.")
    ] = False,
    drafts_only: Annotated[bool, typer.Option("--drafts-only", help="Approve only the drafts.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Approve although a probe failed; needs --note.")] = False,
    note: Note = "",
    json: Json = False,
) -> None:
    """Answer the questions of a plan in the terminal.

    Each line is one answer; ? lists the keys. Answers are drafts until --sign approves them.
    """
    from slowwave.plans.gate import check_name

    if not by:
        raise Refused(
            f"Answers are recorded with your name: `slowwave plans review {argument(namespace)} --by {APPROVER}`. Nothing was written."
        )
    check_name(by)
    chosen = _SORTS.get(sort)
    if chosen is None:
        raise Refused(f"--sort {sort[:40]!r} is none of {', '.join(SORTS)}.")
    store = open_store()
    found = _plan(store, namespace, plan)
    desk = _Desk(store, found, by, chosen, all=all_)
    if signing:
        _sign(desk, include_decided=not drafts_only, force=force, note=note, json=json)
    elif json:
        show_json(_as_json(desk))
    else:
        _ask(desk)


def reconsider(
    namespace: Namespace,
    items: Annotated[list[str], typer.Argument(help="Ids of rejected items, or their first characters.")],
    reason: Reason,
    by: By = "",
    json: Json = False,
) -> None:
    """Withdraw rejections, so that later nights may propose again."""
    from slowwave.plans.review.drafts import reconsider as withdraw

    done = withdraw(open_store(), namespace, items, withdrawn_by=by, reason=reason)
    if json:
        show_json(asdict(done))
        return
    say(f"Withdrew the rejection of {counted(len(done.items), 'item')}. The next night may propose them again.")
    suggest("Run one", f"{program()} night {argument(namespace)}")


def _plan(store: Store, namespace: str, prefix: str | None) -> StoredPlan:
    """Read the plan to review; refuse one that has ended."""
    from slowwave.plans.gate import refuse_state
    from slowwave.plans.ledger import read_plan

    with store.connect("reader") as connection:
        hash_ = find_plan(connection, namespace, prefix) if prefix else latest_plan(connection, namespace)
        if hash_ is None:
            raise Refused(no_plan(connection, namespace))
        found = read_plan(connection, hash_)
        refuse_state(connection, found)
    return found


def _ask(desk: _Desk) -> None:
    """Ask question after question, until none is open, the reviewer leaves or the input ends."""
    _print_followed(desk)
    shown = ""
    while True:
        asked = desk.queue()
        current = next((w for w in asked.items if w.state == "open"), None)
        if current is None and not desk.words and not asked.later and desk.turn_to_open():
            continue
        if current is None and asked.later:
            say(
                f"The questions of this night are answered. {counted(asked.later, 'more waits', 'more wait')}: m asks them too."
            )
        elif current is None:
            say(
                f"No open question mentions {desk.words!r}; / shows all again."
                if desk.words
                else "No question is open. u undoes your last answer, q leaves."
            )
        elif current.id != shown:
            show_card(desk.store, desk.plan, asked, current)
            shown = current.id
        out.print(f"{' '.join(_prompted_keys(desk, asked, current))} > ", end="", markup=False)
        line = sys.stdin.readline()
        if not sys.stdin.isatty():
            out.print()
        if not line or line.strip() == "q":
            break
        if _answer(desk, asked, current, line.strip()):
            shown = ""
    _ending(desk)


def answer_keys(stored: StoredItem) -> dict[str, str]:
    """Return the keys that answer a question, each with the name of the answer. Yes, no and skip answer every question."""
    from slowwave.night.answers import answers_of

    return {a.key: a.name for a in answers_of(stored)} | _SAID


def _prompted_keys(desk: _Desk, asked: Queue, current: Waiting | None) -> list[str]:
    """Return the keys that do something at the question that is asked now, as the prompt lists them."""
    from slowwave.night.answers import amendable

    keys = ["u", *(["d"] if asked.look_decided else []), "r", *(["m"] if asked.later else []), "/", "?", "q"]
    if current is None:
        return keys
    stored = desk.stored(current.id)
    amends = {"split": ["x"], "edit": ["e"]}.get(amendable(stored), [])
    return [*answer_keys(stored), "a", *amends, *keys]


def _print_followed(desk: _Desk) -> None:
    """Print which answers come from the plan before, and which of its answers no longer have a question."""
    from slowwave.plans.review.queue import gone_drafts

    if n := desk.queue().followed:
        say(f"{counted(n, 'answer comes', 'answers come')} from an earlier plan that had the same items.")
    gone = gone_drafts(desk.store, desk.namespace, desk.plan.plan_hash)
    if gone:
        say(f"{counted(len(gone), 'answer')} of the plan before: the items are no longer proposed.")
    for one in gone[:_SAMPLE]:
        say(f"{one.verdict}, {one.reviewer}: {one_line(one.title, LONGEST)}", indent=2)


def _answer(desk: _Desk, asked: Queue, current: Waiting | None, line: str) -> bool:
    """Execute what a line says, and return whether the question is to be shown again."""
    from slowwave.plans.review.drafts import undo_last

    key, _, rest = line.partition(" ")
    rest = rest.strip()
    try:
        if key in _ANSWER_KEYS and current is not None:
            desk.answer(current.id, key, rest)
        elif key == "u":
            items = undo_last(desk.store, desk.namespace, desk.plan.plan_hash, reviewer=desk.reviewer)
            say(f"Undid {counted(len(items), 'answer')}." if items else "You have no answer to undo.")
        elif key == "a" and current is not None:
            _all_alike(desk, current, rest)
        elif key == "d":
            _look_decided(desk, desk.queue(every=True))
        elif key == "m":
            desk.all = True
        elif key == "r":
            offer_rules(desk.store, desk.plan, desk.reviewer)
        elif key in ("x", "e") and current is not None:
            _amend(desk, current, key, rest)
        elif line.startswith("/"):
            desk.words = line[1:].strip()
        else:
            for name, meaning in _KEYS:
                say(f"{name:<8} {meaning}", indent=2)
            return False
    # The item was decided in the meantime, or the note is too long. The review continues.
    except Refused as problem:
        say(str(problem))
        return False
    return True


def _amend(desk: _Desk, current: Waiting, key: str, rest: str) -> None:
    """Take rows out of a merge, or reword a text; the new plan is printed with its command."""
    from slowwave.night.answers import amendable, edit, split

    stored = desk.stored(current.id)
    way = amendable(stored)
    if way != {"x": "split", "e": "edit"}[key]:
        raise Refused("Rows cannot be removed from this one." if key == "x" else "This one proposes no text.")
    item, at = stored.item, (desk.store, desk.namespace, desk.plan.plan_hash, stored.id)
    if key == "x":
        rows = (*((item.mutation.keep,) if item.mutation.keep else ()), *item.mutation.absorb)
        places = rest.split()
        if not places or not all(p.isdecimal() and 0 < int(p) <= len(rows) for p in places):
            raise Refused(f"Name columns from 1 to {len(rows)}, such as `x 2`.")
        made = split(*at, out=[rows[int(p) - 1].id for p in dict.fromkeys(places)], by=desk.reviewer)
    else:
        if not rest:
            raise Refused("Give the words that the memory should say, such as `e We met on Monday.`")
        made = edit(*at, text=rest, by=desk.reviewer)
    if key == "e":
        say(
            f"Made item {made.item[:8]} of plan {made.plan_hash[:12]} with your text; --sign approves it too. u undoes it."
        )
        return
    say(
        f"It is pending as item {made.item[:8]} of plan {made.plan_hash[:12]}; a draft rejects this one. u undoes both."
    )
    by = argument(desk.reviewer)
    suggest("Review it", f"{program()} plans review {argument(desk.namespace)} {made.plan_hash[:12]} --by {by}")


def _all_alike(desk: _Desk, current: Waiting, least: str) -> None:
    """Answer all questions of a group, or of one kind from a probability on, after a sample was shown and, if wanted, checked."""
    from slowwave.night.answers import answer_alike, newest_wins_command
    from slowwave.plans.review.queue import CHECKED, alike

    try:
        likely = float(least) if least else None
    except ValueError:
        raise Refused(f"{least[:40]!r} is no probability: give one from 0 to 1, such as `a 0.95`.") from None
    group = alike(desk.queue(every=True), current.id, likely)
    if not group.items:
        raise Refused(f"No open question of this kind is as likely as {percent(group.least)}.")
    say(one_line(group.asks, LONGEST))
    say(group.why)
    for one in group.examples if group.form else ():
        say(f"example: {one_line(group.line(one), LONGEST)}", indent=2)
    for one, why in group.counter_examples:
        say(f"counter-example: {one_line(group.line(one), LONGEST)} ({why})", indent=2)
    sample, digits = group.sample, prefix_length([w.id for w in group.items])
    show_table(
        f"{len(sample)} of {len(group.items):,}, from the least likely to the likeliest",
        ("item", "probability", "rows"),
        [(w.id[:digits], percent(w.probability), group.line(w)) for w in sample],
    )
    for verdict, label, follows in group.answers:
        say(f"{verdict[0]}: {label}: {follows}")
    say(f"c: {CHECKED}")
    out.print(
        f"c checks the {len(sample)}, y or n to all {len(group.items):,}, anything else to none > ",
        end="",
        markup=False,
    )
    key, _, note = sys.stdin.readline().strip().partition(" ")
    checked: dict[str, Verdict] = {}
    if key == "c":
        for n, one in enumerate(sample, start=1):
            say(f"{n} of {len(sample)}: {one_line(group.line(one), LONGEST)}")
            out.print("y or n, anything else ends the check > ", end="", markup=False)
            if (said := sys.stdin.readline().strip()) not in ("y", "n"):
                break
            checked[one.id] = _SAID[said]
        if len(checked) < len(sample):
            say("The check was not finished. No question was answered.")
            return
        each = ", e to each relation as checked" if len(group.parts) > 1 else ""
        out.print(f"y or n to all {len(group.items):,}{each}, anything else to none > ", end="", markup=False)
        key, _, note = sys.stdin.readline().strip().partition(" ")
    if key not in ("y", "n", *("e" for _ in checked)):
        say("No question was answered.")
        return
    verdict: Verdict | Literal["each"] = "each" if key == "e" else _SAID[key]
    done = answer_alike(*(desk.store, desk.plan, group, verdict), by=desk.reviewer, checked=checked, note=note.strip())
    if not done.problem:
        say("Answered each relation as checked." if key == "e" else f"Answered {len(group.items):,}.")
    command = newest_wins_command(desk.store, desk.plan, group)
    desk.go_on(done)
    if command and key == "y" and not done.problem:
        suggest(
            "Only if the newest value of this relation always wins, let later nights decide without a question", command
        )


def _look_decided(desk: _Desk, asked: Queue) -> None:
    """Print the questions that look decided, one group at a time, and ask for one answer for all of a group.

    Each group shows what its questions have in common and a sample. The drafts record what decided them.
    """
    from slowwave.plans.review.rules import ENOUGH, LIKE

    if not asked.look_decided:
        raise Refused(
            f"No question looks decided yet: that takes {ENOUGH} answers, and {LIKE} equal ones to similar questions."
        )
    waiting = {w.id: w for w in asked.items}
    for group in asked.look_decided:
        alike = [waiting[id_] for id_ in group.items if id_ in waiting]
        if not alike:  # the search filter excludes all of them
            continue
        say(
            one_line(
                f"{len(alike):,} look decided, {group.verdict}: {group.says}; {group.answers:,} were answered so.",
                LONGEST,
            )
        )
        digits = prefix_length([w.id for w in alike])
        show_table(
            f"{min(_SAMPLE, len(alike))} of {len(alike):,}, the least sure first",
            ("item", "yes", "rows"),
            [
                (w.id[:digits], percent(w.probability if w.learnt is None else w.learnt), w.title)
                for w in alike[:_SAMPLE]
            ],
        )
        out.print(f"y answers all {len(alike):,} with {group.verdict}, anything else none > ", end="", markup=False)
        if sys.stdin.readline().strip() == "y":
            desk.keep([w.id for w in alike], _AS[group.verdict], group.note)
            say(f"Answered {len(alike):,}; u undoes them, y or n changes one of them.")
        else:
            say("No question was answered.")


def _ending(desk: _Desk) -> None:
    from slowwave.night.answers import count_answers, given_answers
    from slowwave.plans.review.drafts import read_drafts, read_session

    counts = _Desk(desk.store, desk.plan, desk.reviewer).queue()
    drafts = read_drafts(desk.store, desk.namespace, desk.plan.plan_hash)
    tally = count_answers(desk.plan, given_answers(desk.store, desk.plan, drafts)) | {"open": counts.counts["open"]}
    given = ", ".join(f"{number:,} {name}" for name, number in tally.items())
    say(f"{given}. The answers are drafts until --sign approves them.")
    if rules := learnt(desk.store, desk.plan):
        say(f"Your answers support {counted(len(rules), 'rule')} for later nights: r shows them.")
    for item in counts.contradictions:
        say(f"Reviewers contradict each other about item {item}.")
    name, hash_ = argument(desk.namespace), desk.plan.plan_hash[:12]
    command = f"{program()} plans review {name} {hash_} --by {argument(desk.reviewer)}"
    session = read_session(desk.store, desk.namespace, desk.plan.plan_hash)
    if not session[0].covers.decided and not any(one.covers.yes or one.covers.no for one in session):
        suggest("There is nothing to approve yet. Answer a question first", command)
        return
    if counts.decided:
        show = f"{program()} plans diff {name} {hash_}"
        suggest("Read each change first, also of the items that planners decided", show)
    if counts.decided and not counts.overruled:
        suggest(
            f"Approve it, with {counted(counts.decided, 'item')} without a question",
            f"{command} --sign",
        )
    else:
        suggest("Approve it", f"{command} --sign")


def _sign(desk: _Desk, *, include_decided: bool, force: bool, note: str, json: bool) -> None:
    from slowwave.operations import permits
    from slowwave.plans.review.drafts import read_session, sign_session

    first, *others = sign_session(
        desk.store,
        desk.namespace,
        desk.plan.plan_hash,
        reviewer=desk.reviewer,
        permits=permits(),
        include_decided=include_decided,
        force=force,
        note=note,
    )
    if json:
        show_json(asdict(first) | {"made_by_answers": [asdict(one) for one in others]})
        return
    say(f"Done: {first.approved:,} approved, {first.rejected:,} rejected, {first.left:,} still open.")
    for one in others:
        made = f"Plan {one.plan_hash[:12]}, made by your answers: "
        if one.approved or one.rejected:
            say(f"{made}{one.approved:,} approved, {one.rejected:,} rejected.")
        else:
            say(
                f"{made}its {counted(one.left, 'answer')} stay open, because they depend on items without a question. Approve those too."
            )
    for one in (first, *others):
        if one.approval_id:
            suggest_apply(desk.namespace, one.plan_hash, one.lacks)
            break
    for one in read_session(desk.store, desk.namespace, desk.plan.plan_hash)[1:]:
        if one.open:
            name, hash_ = argument(desk.namespace), one.plan.plan_hash[:12]
            suggest(
                f"{counted(len(one.open), 'question is', 'questions are')} open in plan {hash_}, made by your answers",
                f"{program()} plans review {name} {hash_} --by {argument(desk.reviewer)}",
            )


def _as_json(desk: _Desk) -> dict[str, object]:
    """Return the queue as data: its groups with their items in order, and the answers so far."""
    from slowwave.plans.questions import HEADINGS
    from slowwave.plans.review.queue import gone_drafts

    asked = desk.queue(every=True)
    return {
        "plan_hash": desk.plan.plan_hash,
        "namespace": desk.namespace,
        "counts": dict(asked.counts),
        "decided": asked.decided,
        "contradictions": list(asked.contradictions),
        "followed": asked.followed,
        "gone": [asdict(one) for one in gone_drafts(desk.store, desk.namespace, desk.plan.plan_hash)],
        "rules": [rule.to_json() for rule in learnt(desk.store, desk.plan)],
        "look_decided": [asdict(group) | {"note": group.note} for group in asked.look_decided],
        "groups": [
            {
                "code": group.code,
                "label": HEADINGS[group.code],
                "counts": dict(group.counts),
                "items": [asdict(w) | {"state": w.state} for w in group.items],
            }
            for group in asked.groups
        ],
    }
