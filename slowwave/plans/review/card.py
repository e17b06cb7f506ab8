"""The card of a question as data: the question, its context, and what an item would change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from slowwave.bindings.connect import texts_of
from slowwave.errors import SlowwaveError
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredItem, StoredPlan, code_of, heading_of
from slowwave.plans.lowering import unexplained_items
from slowwave.plans.questions import HEADINGS
from slowwave.plans.review.queue import title_of, unnamed
from slowwave.plans.show import (
    called,
    lost_lines,
    named_rows,
    read_names,
    read_sources,
    rewordings,
    row_changes,
    state_change,
    unexplained_lines,
)
from slowwave.plans.waterfall import Step
from slowwave.plans.why import why
from slowwave.plans.writings import KINDS, cited, writing
from slowwave.search.words import words
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.text.quotation import quotable, quotable_all
from slowwave.text.sentences import sentences
from slowwave.text.specifics import losses

# The context of a question: what was planned, applied and rejected about its rows before, and which rows they are linked with.
#
# Both are read as they are now, and limited, because a person reads a few lines and not a log. All text of memory passes ``quotable``.

MOST_EVENTS: Final = 10
MOST_LINKS: Final = 12
_LONGEST_SURROUNDINGS: Final = 300  # characters of a name or a reason

_EVENTS: Final = """
(SELECT p.recorded_at, 'planned', i.operation, i.status, '' FROM night.plan_items i JOIN night.plans p USING (plan_hash)
  WHERE i.item_id = %(item)s AND i.plan_hash <> %(plan)s AND p.namespace_id = %(namespace)s AND p.recorded_at < %(made)s
  ORDER BY p.recorded_at DESC LIMIT %(most)s)
UNION ALL
(SELECT max(j.recorded_at), CASE WHEN bool_or(j.undoes IS NOT NULL) THEN 'undone' ELSE 'applied' END,
  coalesce((SELECT i.operation FROM night.plan_items i WHERE i.item_id = j.item_id LIMIT 1), ''), '', ''
  FROM night.journal j WHERE j.row_id = ANY(%(rows)s::uuid[]) AND j.namespace_id = %(namespace)s
  GROUP BY j.run_id, j.item_id ORDER BY 1 DESC LIMIT %(most)s)
UNION ALL
(SELECT DISTINCT r.recorded_at, CASE WHEN w.rejection_id IS NULL THEN 'rejected' ELSE 'withdrawn' END, r.operation,
  night.signed_as(r.rejected_by, r.policy_id), r.reason
  FROM night.rejections r LEFT JOIN night.withdrawals w ON w.rejection_id = r.id
  WHERE r.namespace_id = %(namespace)s AND r.row_ids && %(rows)s::uuid[] ORDER BY 1 DESC LIMIT %(most)s)
ORDER BY 1 DESC LIMIT %(most)s
"""
_LINKS: Final = """
SELECT DISTINCT s.name, r.relationship_type, t.name FROM memory.relationships r
JOIN memory.entities s ON s.id = r.source_entity_id JOIN memory.entities t ON t.id = r.target_entity_id
WHERE (r.source_entity_id = ANY(%(rows)s::uuid[]) OR r.target_entity_id = ANY(%(rows)s::uuid[])) AND r.namespace_id = %(namespace)s
  AND r.invalidated_at IS NULL ORDER BY 1, 2, 3 LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class PastEvent:
    """A past event about the rows of a question.

    ``what`` is ``planned`` (the same item, in an earlier plan), ``applied``, ``undone``, ``rejected``, or ``withdrawn`` (rejected, and
    withdrawn since). ``about`` is the status of the planned item, or who rejected; ``reason`` is why.
    """

    at: datetime
    what: str
    operation: str
    about: str
    reason: str

    def sentence(self) -> str:
        """Return the event in one line, without its date."""
        name = self.operation or "an operation that is not known any more"
        match self.what:
            case "rejected" | "withdrawn":
                since = ", withdrawn since" if self.what == "withdrawn" else ""
                return f"rejected by {self.about}{since}, {name}: {self.reason}"
            case "planned":
                return f"in an earlier plan as well, {name}, where it is {self.about.replace('_', ' ')}"
            case _:
                return f"{self.what}, {name}"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The latest events about the rows of a question, newest first, and their relationships as source, type and target."""

    history: tuple[PastEvent, ...] = ()
    links: tuple[tuple[str, str, str], ...] = ()


def surroundings(connection: Connection, plan: StoredPlan, item: StoredItem) -> Surroundings:
    """Return history and links of an item's rows, on a reader's connection.

    Two queries, by index except for the namespace's rejections.
    """
    mutation = item.item.mutation
    about: dict[str, Any] = {"rows": list(mutation.row_ids()), "namespace": plan.header.namespace_id}
    past: list[Any] = connection.execute(
        _EVENTS, {**about, "item": item.id, "plan": plan.plan_hash, "made": plan.recorded_at, "most": MOST_EVENTS}
    ).fetchall()
    links: list[Any] = (
        connection.execute(_LINKS, {**about, "most": MOST_LINKS}).fetchall() if mutation.table == "entities" else []
    )
    texts = [*(str(row[4]) for row in past), *(str(name) for link in links for name in link)]
    shown = [str(text)[:_LONGEST_SURROUNDINGS] for text in quotable_all(texts)]
    names = shown[len(past) :]
    return Surroundings(
        tuple(
            _latest(PastEvent(row[0], row[1], row[2], row[3], reason) for row, reason in zip(past, shown, strict=False))
        ),
        tuple(zip(names[::3], names[1::3], names[2::3], strict=True)),
    )


def _latest(events: Iterable[PastEvent]) -> list[PastEvent]:
    """Return the events, newest first, and only the newest of several plans of which the same can be said."""
    found = list(events)
    newest = {event.sentence(): event for event in reversed(found)}
    return [event for event in found if event.what != "planned" or newest[event.sentence()] is event]


# Cards. A card is the data that a person sees of one question. Surfaces decide how it looks and escape what it quotes.
#
# The rows are shown side by side, with differing words marked. Each source is a sentence in its passage. What the plan saw comes from the
# sealed item (``slowwave.plans.why``); sources are read as they are now. All text of memory passes ``quotable``.

IF_NO: Final = "Nothing changes. It is not proposed again unless its rows change, or somebody reconsiders."

_QUOTED: Final = 5
"""The number of places in a long text that are quoted."""

_AROUND: Final = 240
"""The number of characters of a passage before its sentence, and after it."""

_LONGEST: Final = 4_000
"""The number of characters of a cell that are compared and shown."""

_LISTED: Final = 120
"""The number of characters of a row's name in a list."""

_EXCERPT: Final = 800
"""The number of characters up to which a text is quoted in full."""

_REDACTED: Final = re.compile(r"\[redacted[^\]]*\]")

_WORD: Final = re.compile(r"\s+|\S+")

_TEXTS: Final = """
SELECT id::text, content FROM memory.memory_versions WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, name FROM memory.entities WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, content FROM memory.chunks WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, fact_text FROM memory.memory_facts WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, path FROM memory.documents WHERE id = ANY(%(ids)s::uuid[]) AND version_of IS NULL
"""
_HIDDEN: Final = """
SELECT v.content FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE m.id = %s
"""


@dataclass(frozen=True, slots=True)
class MarkedRun:
    """Words of a cell; ``differs`` is true if another row of the line that is not empty lacks them."""

    text: str
    differs: bool


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """One column of the compared rows: a cell for each row, empty if the row has no value."""

    name: str
    cells: tuple[tuple[MarkedRun, ...], ...]

    @property
    def differs(self) -> bool:
        """Return whether two rows with a value differ."""
        return any(run.differs for cell in self.cells for run in cell)


@dataclass(frozen=True, slots=True)
class QuotedSource:
    """A source that the item cites: its kind, and the most relevant sentence within its passage."""

    id: str
    kind: str
    before: str
    sentence: str
    after: str


@dataclass(frozen=True, slots=True)
class Card:
    """The data that a person sees of one question. ``heads`` are the roles of the rows in ``lines``.

    ``text`` is the memory that would be kept from searches, around what was found in it. ``lost`` are lines for what a text would no
    longer say (``slowwave.plans.show.lost_lines``); ``only_added`` states that the new text keeps all words. ``writing`` are lines of
    pages and claims. ``other_sources`` is a sentence about sources that are not quoted.
    """

    id: str
    label: str
    title: str
    question: str
    sentence: str
    operation: str
    risk: str
    probability: float
    heads: tuple[str, ...]
    lines: tuple[ComparedLine, ...]
    steps: tuple[Step, ...]
    verdict: str
    notes: tuple[str, ...]
    evidence: Mapping[str, str]
    writing: tuple[str, ...]
    lost: tuple[str, ...]
    sources: tuple[QuotedSource, ...]
    other_sources: str
    if_yes: str
    if_no: str
    only_added: bool = False
    text: str = ""
    around: Surroundings = field(default=Surroundings())


def called_rows(store: Store, plan: StoredPlan) -> dict[str, str]:
    """Return the names, shortened, of the rows by which a list names the questions of a plan.

    At most two queries, as a reader.
    """
    wanted = unnamed(plan)
    if not wanted:
        return {}
    with store.connect("reader") as connection:
        names = read_names(connection, wanted, plan.header.namespace_id)
    return {row: name if len(name) <= _LISTED else f"{name[: _LISTED - 1]}…" for row, name in names.items()}


def card(store: Store, plan: StoredPlan, item: StoredItem) -> Card:
    """Return the card of an item of a plan, with its sources as the store has them now.

    At most ten queries, as a reader. The notes begin with what the item would write to a connected store and does not show.
    """
    found = item.item
    forged = unexplained_items(store, plan.header.namespace_id, [found]).get(item.id)
    reworded = rewordings(found)
    wanted = [*cited(found.mutation, item.status), *(v for r in reworded for v in (r.version, r.by))]
    with store.connect("reader") as connection:
        texts = _read(connection, wanted)
        around = surroundings(connection, plan, item)
        names = read_names(connection, named_rows([found]), plan.header.namespace_id)
        sources = read_sources(connection, found, names)
        text = screened_text(connection, plan, item)
    explanation = why(found, plan.probes, texts, names, item.status)
    decided = replace(found, decision="change", sealed_id=found.id)  # as if no person had to be asked
    done = why(decided, plan.probes, texts, names)
    gone: list[str] = []
    only_added = True
    for r in reworded:
        if r.version in texts:
            after = texts.get(r.by, "") if r.by else str(quotable(r.text))
            gone += lost_lines(losses(texts[r.version], after))
            only_added &= set(words(texts[r.version])) <= set(words(after))
    lines = explanation.side_by_side()
    return Card(
        id=item.id,
        label=HEADINGS[code_of(item)],
        title=str(quotable(title_of(item, names))),
        question=explanation.asks.sentence if explanation.asks else explanation.sentence,
        sentence=str(quotable(explanation.sentence)),
        operation=item.operation,
        risk=item.risk,
        probability=item.probability,
        heads=tuple(name for name in (lines[0] if lines else {}) if name),
        lines=tuple(
            ComparedLine(str(quotable(line[""])).removeprefix("· "), marked([v for name, v in line.items() if name]))
            for line in lines
        ),
        steps=explanation.steps,
        verdict=explanation.verdict,
        notes=(
            *(unexplained_lines(item.id, forged) if forged else ()),
            *(str(quotable(note)) for note in explanation.notes),
        ),
        evidence=quotable(dict(explanation.evidence)),
        writing=explanation.writing,
        lost=tuple(gone),
        only_added=only_added,
        sources=tuple(_quoted(*source, sources.words) for source in sources.quoted),
        other_sources=sources.others,
        if_yes=str(quotable(done.sentence)),
        if_no=IF_NO,
        text=text,
        around=around,
    )


def screened_text(connection: Connection, plan: StoredPlan, item: StoredItem) -> str:
    """Return the redacted text, cut by ``excerpt``, of the memory that a pending item would keep from searches; empty for other items."""
    if item.status != "pending" or not state_change(item.item):
        return ""
    (row,) = item.item.mutation.rows
    own = connection.execute(_HIDDEN, (row.id,)).fetchone()
    text = str(own[0]) if own else ""
    if not own:
        with suppress(SlowwaveError):  # the connected store cannot be read now
            text = texts_of(connection, plan.header.namespace_id, {row.id}).get(row.id, "")
    return excerpt(str(quotable(item.item.evidence.get("redacted", text))), item.item.evidence)


def excerpt(text: str, evidence: Mapping[str, object]) -> str:
    """Return a redacted text, of a long one only the passages around what was redacted or, if that is nothing, around what was found."""
    if len(text) <= _EXCERPT:
        return text
    places = [mark.span() for mark in _REDACTED.finditer(text)]
    found = evidence.get("found")
    if not places and isinstance(found, Sequence) and not isinstance(found, str):
        places = [(int(str(one[0])), int(str(one[1]))) for one in found if isinstance(one, Sequence)]
    parts: list[str] = []
    shown = 0
    for begin, end in places[:_QUOTED] or [(0, _AROUND)]:
        start, stop = max(shown, begin - _AROUND), min(len(text), end + _AROUND)
        if start < stop:
            parts.append(f"{'… ' * (start > shown)}{text[start:stop].strip()}")
            shown = stop
    return f"{' '.join(parts)}{' …' * (shown < len(text))}"


def whole_cell(plan: StoredPlan, item: StoredItem, line: str, column: int) -> str:
    """Return the full text of a cell that a card may cut, by line name and column, counted from 0; empty if there is none."""
    for cells in why(item.item, plan.probes).side_by_side():
        if str(quotable(cells[""])).removeprefix("· ") == line:
            values = [value for name, value in cells.items() if name]
            return str(quotable(values[column])) if 0 <= column < len(values) else ""
    return ""


def marked(texts: Sequence[str]) -> tuple[tuple[MarkedRun, ...], ...]:
    """Split cells of a line into runs of words that all rows share and of words that another row lacks.

    Empty rows are ignored. Time: linear.
    """
    shown = [str(quotable(text))[:_LONGEST] for text in texts]
    words = [set(text.split()) for text in shown]
    filled = [own for own in words if own]
    common = filled[0].intersection(*filled[1:]) if filled else set[str]()
    return tuple(_runs(text, own - common) for text, own in zip(shown, words, strict=True))


def _runs(text: str, apart: set[str]) -> tuple[MarkedRun, ...]:
    runs: list[MarkedRun] = []
    for piece in _WORD.findall(text):
        differs = piece in apart
        if runs and (piece.isspace() or runs[-1].differs == differs):
            runs[-1] = MarkedRun(runs[-1].text + piece, runs[-1].differs)
        else:
            runs.append(MarkedRun(piece, differs))
    return tuple(runs)


def _quoted(id_: str, kind: str, passage: str, wanted: frozenset[str]) -> QuotedSource:
    """Return the sentence of a passage that contains most of the words, the first of several, and the text around it."""
    best = max(sentences(passage), key=lambda s: len(wanted.intersection(words(s))), default="")
    at = max(passage.find(best), 0)
    end = at + len(best)
    return QuotedSource(
        id_, kind, passage[max(0, at - _AROUND) : at].strip(), best, passage[end : end + _AROUND].strip()
    )


def _read(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return quotable texts of versions and names by id."""
    wanted = sorted({id_ for id_ in ids if id_})
    found = connection.execute(_TEXTS, {"ids": wanted}).fetchall() if wanted else []
    return {str(id_): str(quotable(str(text))) for id_, text in found}


# Describe the changes of many items at once, for a list that a person reads before approving them.
#
# The titles and lines are those of ``slowwave plans diff``. They quote memory without secrets; surfaces escape them.


@dataclass(frozen=True, slots=True)
class ItemDiff:
    """One item as a list shows it.

    ``heading`` is the kind under which ``plans show`` lists it; ``lines`` are its changes, without those that are its ``title``.
    """

    id: str
    heading: str
    title: str
    lines: tuple[str, ...]


def item_diffs(store: Store, plan: StoredPlan, items: Sequence[StoredItem]) -> list[ItemDiff]:
    """Describe items of a plan, in the given order.

    At most three queries, as a reader. Cost: linear in cells and texts.
    """
    found = [stored.item for stored in items]
    wanted = {v for item in found for r in rewordings(item) for v in (r.version, r.by) if v}
    wanted |= {id_ for stored, item in zip(items, found, strict=True) for id_ in cited(item.mutation, stored.status)}
    with store.connect("reader") as connection:
        rows = connection.execute(_TEXTS, {"ids": sorted(wanted)}).fetchall() if wanted else []
        names = read_names(connection, named_rows(found), plan.header.namespace_id)
    texts = {str(id_): str(text) for id_, text in rows}
    return [
        ItemDiff(stored.id, heading_of(stored), title := called(item, names), _lines(item, names, texts, title))
        for stored, item in zip(items, found, strict=True)
    ]


def _lines(item: Item, names: Mapping[str, str], texts: Mapping[str, str], title: str) -> tuple[str, ...]:
    if item.mutation.kind in KINDS:
        return tuple(writing(item.mutation, texts))
    lines = [line for line in row_changes(item, names).lines if line != title]
    for one in rewordings(item):
        if one.version in texts:
            after = texts.get(one.by, "") if one.by else one.text
            lines += lost_lines(losses(str(quotable(texts[one.version])), str(quotable(after))))
    return tuple(lines)
