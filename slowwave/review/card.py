"""A card: what a person sees of one question, as data. How it looks belongs to surfaces, which escape what it quotes.

The rows stand side by side with the words marked in which they differ; each source is a sentence in its passage. What the plan saw is told
from the sealed item (``slowwave.plans.why``); sources are read as they are now. All of memory passes ``quotable``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from slowwave.plans.diff import lost_lines, rewordings, unexplained_lines
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.lowering import unexplained_items
from slowwave.plans.questions import HEADINGS
from slowwave.plans.row_names import named_rows, read_names
from slowwave.plans.why import why
from slowwave.plans.writings import cited
from slowwave.reports.waterfall import Step
from slowwave.review.queue import code_of, title_of, unnamed
from slowwave.review.surroundings import Surroundings, surroundings
from slowwave.store.connect import Connection, Store
from slowwave.texts.losses import losses
from slowwave.texts.quotation import quotable
from slowwave.texts.sentences import sentences

IF_NO: Final = "Nothing changes. It is not proposed again unless its rows change, or somebody reconsiders."

_QUOTED: Final = 5
"""Sources that are read."""

_PASSAGE: Final = 4_000
"""Characters of a source that are read."""

_AROUND: Final = 240
"""Characters of a passage that stand before its sentence, and after it."""

_LONGEST: Final = 4_000
"""Characters of a cell that are compared and shown."""

_LISTED: Final = 120
"""Characters of a row's name in a list."""

_WORD: Final = re.compile(r"\s+|\S+")

_TEXTS: Final = """
SELECT id::text, content FROM memory.memory_versions WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, name FROM memory.entities WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, content FROM memory.chunks WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, fact_text FROM memory.memory_facts WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, path FROM memory.documents WHERE id = ANY(%(ids)s::uuid[]) AND version_of IS NULL
"""
_SOURCES: Final = """
SELECT id::text, 'passage', left(content, %(most)s) FROM memory.chunks WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, 'document', left(content, %(most)s) FROM memory.documents WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT m.id::text, 'memory', left(v.content, %(most)s) FROM memory.memories m
  JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE m.id = ANY(%(ids)s::uuid[])
"""


@dataclass(frozen=True, slots=True)
class MarkedRun:
    """Words of a cell; ``differs`` where another row of the line, which says anything, lacks them."""

    text: str
    differs: bool


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """One column of the rows that are compared: a cell for each row, empty where it says nothing."""

    name: str
    cells: tuple[tuple[MarkedRun, ...], ...]

    @property
    def differs(self) -> bool:
        """Whether two rows that say anything say something else."""
        return any(run.differs for cell in self.cells for run in cell)


@dataclass(frozen=True, slots=True)
class QuotedSource:
    """A source that the item cites: what it is, and the sentence that speaks of it most, within its passage."""

    id: str
    kind: str
    before: str
    sentence: str
    after: str


@dataclass(frozen=True, slots=True)
class Card:
    """What a person sees of one question. ``heads`` say what becomes of each row of ``lines``.

    ``lost`` are lines of what a text would no longer say (``slowwave.plans.diff.lost_lines``), ``writing`` lines of pages and claims.
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
    if_yes: str
    if_no: str
    around: Surroundings = field(default=Surroundings())


def called_rows(store: Store, plan: StoredPlan) -> dict[str, str]:
    """What the rows are called by which a list names the questions of a plan, the beginning of each. At most two queries, as a reader."""
    wanted = unnamed(plan)
    if not wanted:
        return {}
    with store.connect("reader") as connection:
        names = read_names(connection, wanted, plan.header.namespace_id)
    return {row: name if len(name) <= _LISTED else f"{name[: _LISTED - 1]}…" for row, name in names.items()}


def card(store: Store, plan: StoredPlan, item: StoredItem) -> Card:
    """The card of an item of a plan, with its sources as the store has them now. At most ten queries, as a reader.

    The notes begin with what the item would write to a connected store and does not show.
    """
    found = item.item
    forged = unexplained_items(store, plan.header.namespace_id, [found]).get(item.id)
    reworded = rewordings(found)
    wanted = [*cited(found.mutation, item.status), *(v for r in reworded for v in (r.version, r.by))]
    with store.connect("reader") as connection:
        texts, sources = _read(connection, wanted, item)
        around = surroundings(connection, plan, item)
        names = read_names(connection, named_rows([found]), plan.header.namespace_id)
    told = why(found, plan.probes, texts, names, item.status)
    decided = replace(found, decision="change", sealed_id=found.id)  # as if nobody had to be asked
    done = why(decided, plan.probes, texts, names)
    gone: list[str] = []
    for r in reworded:
        if r.version in texts:
            after = texts.get(r.by, "") if r.by else str(quotable(r.text))
            gone += lost_lines(losses(texts[r.version], after))
    lines = told.side_by_side()
    return Card(
        id=item.id,
        label=HEADINGS[code_of(item)],
        title=str(quotable(title_of(item, names))),
        question=told.asks.sentence if told.asks else told.sentence,
        sentence=str(quotable(told.sentence)),
        operation=item.operation,
        risk=item.risk,
        probability=item.probability,
        heads=tuple(name for name in (lines[0] if lines else {}) if name),
        lines=tuple(
            ComparedLine(str(quotable(line[""])).removeprefix("· "), marked([v for name, v in line.items() if name]))
            for line in lines
        ),
        steps=told.steps,
        verdict=told.verdict,
        notes=(
            *(unexplained_lines(item.id, forged) if forged else ()),
            *(str(quotable(note)) for note in told.notes),
        ),
        evidence=quotable(dict(told.evidence)),
        writing=told.writing,
        lost=tuple(gone),
        sources=tuple(_quoted(id_, kind, text, _words(found)) for id_, kind, text in sources),
        if_yes=str(quotable(done.sentence)),
        if_no=IF_NO,
        around=around,
    )


def whole_cell(plan: StoredPlan, item: StoredItem, line: str, column: int) -> str:
    """The whole text of a cell that a card may cut: of the line of this name, in a column counted from 0; empty where there is none."""
    for told in why(item.item, plan.probes).side_by_side():
        if str(quotable(told[""])).removeprefix("· ") == line:
            values = [value for name, value in told.items() if name]
            return str(quotable(values[column])) if 0 <= column < len(values) else ""
    return ""


def marked(texts: Sequence[str]) -> tuple[tuple[MarkedRun, ...], ...]:
    """Cells of a line in runs of words that all share and of words that another one, which says anything, lacks. Time: linear."""
    shown = [str(quotable(text))[:_LONGEST] for text in texts]
    words = [set(text.split()) for text in shown]
    said = [own for own in words if own]
    common = said[0].intersection(*said[1:]) if said else set[str]()
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


def _words(item: Item) -> frozenset[str]:
    """The words by which rows of an item are called."""
    names = item.evidence.get("names")
    said = [str(name) for name in names] if isinstance(names, Sequence) and not isinstance(names, str) else []
    return frozenset(word for name in said for word in re.findall(r"\w+", name.casefold()) if len(word) > 1)


def _quoted(id_: str, kind: str, text: str, words: Iterable[str]) -> QuotedSource:
    """The sentence of a passage in which most of the words stand, the first of several, and what is around it."""
    told = str(quotable(text))
    wanted = frozenset(words)
    best = max(
        sentences(told),
        key=lambda s: len(wanted.intersection(re.findall(r"\w+", s.casefold()))),
        default="",
    )
    at = max(told.find(best), 0)
    end = at + len(best)
    return QuotedSource(id_, kind, told[max(0, at - _AROUND) : at].strip(), best, told[end : end + _AROUND].strip())


def _read(
    connection: Connection, ids: Iterable[str], item: StoredItem
) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Quotable texts of versions and names of entities by id, and the first sources of an item: id, what it is, its text."""
    wanted, cited_ids = sorted({id_ for id_ in ids if id_}), list(item.item.sources[:_QUOTED])
    texts: dict[str, str] = {}
    sources: dict[str, tuple[str, str, str]] = {}
    if wanted:
        found = connection.execute(_TEXTS, {"ids": wanted})
        texts = {str(id_): str(quotable(str(text))) for id_, text in found}
    if cited_ids:
        rows = connection.execute(_SOURCES, {"ids": cited_ids, "most": _PASSAGE})
        sources = {str(id_): (str(id_), str(kind), str(text)) for id_, kind, text in rows}
    return texts, [sources[id_] for id_ in cited_ids if id_ in sources]
