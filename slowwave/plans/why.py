"""Explanation of an item: its rows side by side, its evidence step by step, and the waterfall of its weights."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Final, cast

from slowwave.changes.cells import VERSION, Value
from slowwave.changes.mutation import ERASURES, Mutation, Row
from slowwave.plans.items import Item
from slowwave.plans.outcome import NO_NAMES, ItemOutcome, find_outcome, instant, seen_words
from slowwave.plans.questions import SAME, ReviewQuestion, in_doubt, is_part_of_another, losses, plain_name, question
from slowwave.plans.show import changes, foreign_end, rewordings, state_change
from slowwave.plans.waterfall import Step, one_in, percent, steps
from slowwave.plans.writings import KINDS, NO_UNDO, about, writing
from slowwave.text.figures import in_words
from slowwave.text.quotation import quotable
from slowwave.text.tokens import counted

# The explanation of an item for people: one sentence, its rows side by side, the evidence step by step, the doubts.
#
# Everything is read from the sealed item, so it shows what the plan saw. ``slowwave.plans.show`` lists changes cell by cell. The texts
# quote memory and models, which are untrusted: surfaces escape them.

_KEPT: Final = {
    "memory_facts": "takes their sources, the greatest confidence and the earliest start",
    "memories": "keeps its text, takes their tags, sources and counts",
}
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "entities": ("name", "entity_type", "description", "attributes"),
    "memory_facts": ("subject", "predicate", "object", "fact_text", "confidence", "valid_from", "valid_to"),
    "memories": (
        *("subject", "author", "scope", "tags", "importance", "confidence"),
        *("valid_from", "source_chunk_ids", "source_document_ids"),
    ),
}
"""Table → columns of merged rows that are shown side by side."""

_LISTED: Final = 3
"""The number of rows that a sentence names."""

_NOUNS: Final[Mapping[str, str]] = {
    **{
        "entities": "entity",
        "memory_facts": "fact",
        "relationships": "relationship",
        "communities": "community summary",
    },
    **{"memories": "memory", "memory_vectors": "memory", "entity_vectors": "entity", "chunk_vectors": "passage"},
}
"""Table → the noun for a row of it."""

_SHORT_VALUES: Final = frozenset(
    {"state", "stage", "ring", "sensitivity", "entity_type", "relationship_type", "importance"}
)
"""Columns whose values are short enough for a sentence."""

_STAYS: Final = "stays"
_ENDS: Final = "ends"
_UNDECIDED: Final = ("this one", "the other one")
"""The roles of two rows that contradict each other, if nothing says which is later."""
_MERGED: Final = "is merged into it"
_SHOWN: Final = frozenset(
    (
        *("winner", "loser", "later", "earlier", "ended_by", "winner_id", "equal", "reason", "why", "seen"),
        *("recorded_at", "authors", "ruled_by", "ruled_on"),
    )
)
"""Evidence that is a hash, or that the rows, the sentence and the notes of an item with two sides show already."""
_POSITIONS: Final = frozenset(("found", "findings", "characters", "source_chunks", "policy", "redacted"))
"""Evidence about what screening found, next to the names of its rules: the text that is shown, and figures of no use to a person."""

RELATION: Final = "Both give a value of the relation"
"""Beginning of the note that names the relation of two values and the setting that lets the newest one win."""

_WEIGHED: Final = ("properties", "valid_from", "valid_to", "confidence", "importance", "source")
"""Columns that help a person to choose between two sides, in addition to their texts."""


@dataclass(frozen=True, slots=True)
class SeenRow:
    """A row as the plan saw it: its role in the change, and its fields as text, attributes last."""

    role: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of an item.

    ``sentence`` describes the change, ``verdict`` how sure it is, and ``notes`` what else a person should know. ``evidence`` holds the
    notes of a planner without a waterfall, by name. ``writing`` holds the lines of pages and claims, which have no rows. ``asks`` is the
    question of a review item, and ``outcome`` states which row stays and which ends if there are two sides.
    """

    sentence: str
    rows: tuple[SeenRow, ...]
    steps: tuple[Step, ...]
    verdict: str
    notes: tuple[str, ...]
    evidence: Mapping[str, str]
    writing: tuple[str, ...] = ()
    asks: ReviewQuestion | None = None
    outcome: ItemOutcome | None = None

    def to_json(self) -> dict[str, object]:
        """Return the explanation as ``--json`` shows it."""
        return {
            "sentence": self.sentence,
            "rows": [{"role": row.role, **row.fields} for row in self.rows],
            "steps": [step.to_json() for step in self.steps],
            "verdict": self.verdict,
            "notes": list(self.notes),
            "evidence": dict(self.evidence),
            "writing": list(self.writing),
            "asks": asdict(self.asks) if self.asks else None,
            "outcome": self.outcome.to_json() if self.outcome else None,
        }

    def side_by_side(self) -> list[dict[str, str]]:
        """Return one line per field and one column per row, without fields that no row states."""
        names = dict.fromkeys(name for row in self.rows for name in row.fields)
        lines = [{"": name} | {row.role: row.fields.get(name, "") for row in self.rows} for name in names]
        return [line for line in lines if any(value for name, value in line.items() if name)]


def why(
    item: Item,
    probes: Mapping[str, object] | None = None,
    texts: Mapping[str, str] | None = None,
    names: Mapping[str, str] = NO_NAMES,
    status: str = "",
) -> Explanation:
    """Explain an item.

    Args:
        item: The sealed item.
        probes: The probes of its plan, which may list what the item would lose.
        texts: Texts of the versions that its writing cites, by version.
        names: Words of rows, by row (``slowwave.plans.show.read_names``).
        status: The item's status, see ``slowwave.plans.outcome.find_outcome``.
    """
    found = steps(item.evidence.get("waterfall"))
    versions = {c.row: (texts or {}).get(str(value), "") for c, value in item.mutation.seen() if c.column == VERSION}
    sides = find_outcome(
        item, {**names, **{row: str(quotable(text)) for row, text in versions.items() if text}}, status
    )
    rows = tuple(_reworded(item, texts or {})) or tuple(_rows(item, sides))
    shown = _SHOWN if sides and any(row.role in (_ENDS, _UNDECIDED[1]) for row in rows) else frozenset[str]()
    lost, only = _lost(item, probes or {})
    asks = question(item, lost, only=only) if item.is_question else None
    return Explanation(
        sentence=_sentence(item, sides, lost, only=only),
        rows=rows,
        steps=found,
        verdict=_verdict(item, only=only) if found else "",
        notes=tuple(_notes(item, lost, asks.sentence if asks else "")),
        evidence={} if found else _noted(item, shown),
        writing=tuple(writing(item.mutation, texts or {})),
        asks=asks,
        outcome=sides,
    )


def _lost(item: Item, probes: Mapping[str, object]) -> tuple[list[tuple[str, str]], bool]:
    """Return (row, term) of what a review item would lose, and whether the losses are its whole question."""
    specifics = probes.get("specifics")
    if not item.is_question or not isinstance(specifics, Mapping):
        return [], False
    rows = set(item.mutation.row_ids())
    older = "asked" not in specifics  # such plans name items as they were before they went to review
    lost, asked = (
        [
            (str(loss["row"]), str(loss["term"]))
            for loss in specifics.get(name) or ()
            if loss["item"] == item.id or (older and loss["row"] in rows)
        ]
        for name in ("lost", "asked")
    )
    return (lost, True) if lost else (asked, False)


def _sentence(
    item: Item, sides: ItemOutcome | None, lost: Sequence[tuple[str, str]] = (), *, only: bool = False
) -> str:
    mutation = item.mutation
    if only:
        message = f"The evidence says that {_joined(item)}, but merging them" if mutation.keep else "The new text"
        asked = f"{message} would lose {losses(item, lost)}. A person is asked whether that may be."
        return f"{sides.sentence()} {asked}" if sides else asked
    if sides:
        return f"{sides.sentence()} {_stays_on_record(item)}".rstrip()
    where = ", ".join(row.external_id or row.id for row in mutation.rows[:_LISTED])
    if mutation.deletes:
        return _deletion(mutation, where)
    if mutation.kind == "render_page":
        return _rendering(item)
    if mutation.kind in KINDS:
        return _writing(mutation)
    return state_change(item) or _change(mutation, where)


def _change(mutation: Mutation, where: str) -> str:
    """Describe the change of a mutation without two sides in plain words."""
    rows = len(mutation.rows)
    noun = _NOUNS.get(mutation.table, "row")
    who = (
        f"{noun} {where}"
        if rows < 2
        else f"{counted(rows, noun, _many(noun))} ({where}{', …' if rows > _LISTED else ''})"
    )
    if mutation.kind == "insert_summary":
        return f"A new {noun} would be stored."
    if mutation.kind == "new_version":
        states = [str(quotable(str(w.value))) for w in mutation.writes if w.cell.column == "state" and w.value]
        state = f" Its state would become {states[0]}." if states else ""
        return f"The text of {who} would change. The text that it has now stays on record.{state}"
    if mutation.kind == "invalidate_rows":
        return f"{who[0].upper()}{who[1:]} would end, and nothing replaces {'it' if rows < 2 else 'them'}. {_ends(mutation, mutation.rows)}"
    if mutation.kind == "filter_references":
        return f"The references of {who} to rows that are gone would be removed."
    if mutation.kind == "set_vector":
        return (
            f"{who[0].upper()}{who[1:]} would get a new vector, by which search finds {'it' if rows < 2 else 'them'}."
        )
    values: dict[str, tuple[Value, Value]] = {w.cell.column: (w.seen, w.value) for w in mutation.writes}
    parts = [
        f"{plain_name(column)} from {quotable(str(before))!s} to {quotable(str(after))!s}"
        if column in _SHORT_VALUES and rows < 2 and before and after
        else plain_name(column)
        for column, (before, after) in sorted(values.items())
    ]
    return f"{who[0].upper()}{who[1:]} would change {'its' if rows < 2 else 'their'} {', '.join(parts) or 'row'}."


def _many(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def _stays_on_record(item: Item) -> str:
    """Describe what the row that stays takes from the others, and that nothing that ends is deleted."""
    mutation = item.mutation
    if mutation.kind in KINDS:
        return _writing(mutation)
    if mutation.keep:
        gone = "points" if len(mutation.absorb) == 1 else "point"
        row = "The other row stays" if len(mutation.absorb) == 1 else "The other rows stay"
        kept = f"{_KEPT.get(mutation.table, 'keeps all that they say')}{_earlier(mutation, mutation.keep)}"
        if foreign := foreign_end(mutation, mutation.absorb, "The other row"):
            return f"The row that stays {kept}. {foreign}"
        return f"The row that stays {kept}. {row} on record and {gone} to it."
    return _ends(mutation, mutation.rows) if mutation.kind == "invalidate_rows" else ""


def _earlier(mutation: Mutation, keep: Row) -> str:
    """Return since when the row that stays is true afterwards, if the merge changes that; a connected table may show it as its own date."""
    for write in mutation.writes:
        if (write.cell.row, write.cell.column) == (keep.id, "valid_from") and write.value and write.seen:
            return f", and is true since {instant(str(write.value))} instead of {instant(str(write.seen))}"
    return ""


def _ends(mutation: Mutation, ended: Sequence[Row]) -> str:
    return foreign_end(mutation, ended, "What ends") or "What ends stays on record."


def _joined(item: Item) -> str:
    """Describe what the rows of a merge have in common."""
    names = " and ".join(f"“{name}”" for name in _names(item))
    if is_part_of_another(item):
        return f"of {names} one states the other as well"
    return f"{names} {SAME.get(item.mutation.table, 'are one thing')}"


def _deletion(mutation: Mutation, where: str) -> str:
    rows = sum(d.table == mutation.table for d in mutation.deletes)
    parts = len(mutation.deletes) - rows
    those = f"{counted(rows, 'row')}"
    belonging = f" with {parts:,} that belong to {'it' if rows == 1 else 'them'}" if parts else ""
    return (
        f"It would delete {those} of {mutation.table}{belonging}: {where}. Undo puts all of it back as long as the "
        "journal keeps its images."
    )


def _writing(mutation: Mutation) -> str:
    """Describe new and changed pages, and claims that are stored, ended or supported again."""
    new = [str(i.values["path"]) for i in mutation.inserts if i.table == "documents" and not i.stamped]
    next_ = [str(i.values["path"]) for i in mutation.inserts if i.table == "documents" and i.stamped]
    claims = sum(i.table == "memories" for i in mutation.inserts)
    ended = sum((w.cell.table, w.cell.column) == ("memories", "valid_to") for w in mutation.writes)
    again = sum(i.table == "claim_events" and i.values.get("event") == "supported" for i in mutation.inserts)
    if mutation.table == ERASURES:
        return f"It would {about(mutation)}. {NO_UNDO}"
    if mutation.kind == "forget_rows":
        return f"It would {about(mutation)}, which no search finds then, and keep a page that says why."
    parts = [
        *(f"make the page {path}" for path in new),
        *(f"give {path} its next text, of which what it says now stays as a version" for path in next_),
        *([f"store {counted(claims, 'claim')}"] if claims else []),
        *([f"end {ended:,} that {'holds' if ended == 1 else 'hold'} now"] if ended else []),
        *([f"add evidence to {again:,}"] if again else []),
    ]
    return f"It would {', '.join(parts) or 'change nothing'}."


def _rendering(item: Item) -> str:
    path, entries, new = (item.evidence.get(name, "") for name in ("path", "entries", "new_lines"))
    return (
        f"{path} would be rendered: {entries} entries, {new} of its lines new. In the file only the block between its marks changes, "
        "and only as long as nobody edited it."
    )


def _names(item: Item) -> list[str]:
    """Return the words of merged rows as the plan saw them, the survivor's first; a row without words has its id."""
    mutation, words = item.mutation, seen_words(item)
    rows = (mutation.keep, *mutation.absorb) if mutation.keep else ()
    return [words.get(row.id) or row.external_id or row.id for row in rows]


def _rows(item: Item, sides: ItemOutcome | None) -> Iterator[SeenRow]:
    mutation, names = item.mutation, _names(item)
    if mutation.kind in KINDS:
        return
    if mutation.keep:
        for n, row in enumerate((mutation.keep, *mutation.absorb)):
            seen = _seen(mutation, row.id)
            given = seen.pop("attributes", "")
            text = {"text": names[n]} if mutation.table == "memories" else {}
            fields = {"id": row.id, "external id": row.external_id or "", **text, **seen, **_attributes(given)}
            role = _STAYS if n == 0 else _MERGED if len(mutation.absorb) == 1 else f"{_MERGED} ({n})"
            yield SeenRow(role, fields)
        return
    if sides and (compared := tuple(_compared(item, sides))):
        yield from compared
        return
    by_row: dict[str, dict[str, str]] = {
        row.id: {"id": row.id, "external id": row.external_id or ""} for row in mutation.rows
    }
    for change in changes(item):
        by_row.setdefault(change.row, {})[change.column or change.table] = f"{change.before} → {change.after}"
    for id_, fields in by_row.items():
        yield SeenRow(id_[:8], fields)


def _reworded(item: Item, texts: Mapping[str, str]) -> Iterator[SeenRow]:
    """Yield the text of a memory now and its new text, if the item rewords one memory."""
    found = rewordings(item) if item.mutation.kind == "new_version" else []
    for one in found if len(found) == 1 else ():
        before, after = texts.get(one.version), str(quotable(one.text))
        if not before:  # of a connected store, whose texts are read only by nights
            before, after = (str(quotable(str(item.evidence.get(name) or ""))) for name in ("before", "after"))
        yield SeenRow("now", {"says": before, "written on": instant(str(item.evidence.get("said_on") or ""))})
        yield SeenRow("afterwards", {"says": after})


def _compared(item: Item, sides: ItemOutcome) -> Iterator[SeenRow]:
    """Yield the side that stays and the side that ends, with what the plan saw of their rows; values of several rows stand in one field."""
    mutation = item.mutation
    if mutation.kind != "invalidate_rows" or not all(row.id for row in (*sides.stays, *sides.ends)):
        return
    recorded, authors = item.evidence.get("recorded_at"), item.evidence.get("authors")
    cells = [*mutation.seen(), *((w.cell, w.seen) for w in mutation.writes)]
    roles = _UNDECIDED if sides.is_undecided else (_STAYS, _ENDS)
    for role, key, rows in zip(roles, (_STAYS, _ENDS), (sides.stays, sides.ends), strict=True):
        fields: dict[str, dict[str, None]] = defaultdict(dict)
        for row in rows:
            seen = {c.column: _text(value) for c, value in cells if (c.table, c.row) == (mutation.table, row.id)}
            fields["says"][row.text] = None
            if isinstance(authors, Mapping) and (author := authors.get(row.id)):
                fields["author"][str(quotable(str(author)))] = None
            for column in _WEIGHED:
                if seen.get(column):
                    fields[column][instant(seen[column])] = None
        if isinstance(recorded, Mapping) and (at := recorded.get(key)):
            fields["recorded"][instant(str(at))] = None
        yield SeenRow(role, {name: "; ".join(values) for name, values in fields.items()})


def _seen(mutation: Mutation, id_: str) -> dict[str, str]:
    """Return what the plan saw of a merged row, by column: guarded cells stay, written cells change."""
    wanted = _FIELDS.get(mutation.table, ())
    cells = [*mutation.seen(), *((w.cell, w.seen) for w in mutation.writes)]
    seen = {c.column: _text(value) for c, value in cells if c.table == mutation.table and c.row == id_}
    return {c: instant(seen[c]) if c.startswith("valid_") else seen[c] for c in wanted if c in seen}


def _attributes(text: str) -> dict[str, str]:
    try:
        given = json.loads(text or "{}")
    except ValueError:
        return {"attributes": text}
    return {f"· {k}": _text(v) for k, v in sorted(given.items())} if isinstance(given, dict) else {"attributes": text}


def _verdict(item: Item, *, only: bool) -> str:
    p = item.probability
    message = f"Probability that these rows are one thing: {percent(p)}."
    if only:
        return f"{message} That is not the question: what would be lost is."
    return (
        f"{message} A person decides." if item.is_question else f"{message} Of such merges, {one_in(1 - p)} is wrong."
    )


def _notes(item: Item, lost: Sequence[tuple[str, str]], asked: str) -> Iterator[str]:
    """Yield what a person should know in addition to the question ``asked``."""
    evidence = item.evidence
    if (doubt := in_doubt(item)) and doubt not in asked:
        yield doubt
    if "winner_id" in evidence and isinstance(weighed := evidence.get("why"), str):
        yield weighed
    if item.is_question and "winner_id" in evidence and isinstance(relation := evidence.get("relation"), str):
        yield (
            f"{RELATION} “{quotable(relation)}”. If its newest value always wins, name it in the setting "
            "operations.resolve_conflicts.newest_wins, and later nights do not ask."
        )
    pairs = evidence.get("pairs")
    if isinstance(pairs, Sequence) and len(pairs) > 1:
        yield f"The weakest of {len(pairs)} links is shown. All of them:"
        for pair in pairs:
            if isinstance(pair, Mapping):
                names = " = ".join(str(n) for n in pair.get("names", ()))
                yield f"{names}: {percent(float(pair.get('probability', 0)))}"
    yield from _judges(evidence.get("judges"))
    if terms := sorted({term for _, term in lost}):
        yield f"Words of absorbed rows alone would no longer be found: {', '.join(map(in_words, terms))}."


def _judges(verdict: object) -> Iterator[str]:
    """Yield the answers of two models, if they were asked."""
    if not isinstance(verdict, Mapping):
        return
    yield str(verdict.get("why", ""))
    for opinion in verdict.get("opinions", ()):
        if opinion.get("reason"):
            yield f"{opinion['model']}: “{opinion['reason']}”"


def _noted(item: Item, shown: Set[str]) -> dict[str, str]:
    """Return a planner's evidence as words: keys without underscores, and rows by name if the item knows them."""
    mutation = item.mutation
    rows = (*([mutation.keep] if mutation.keep else []), *mutation.absorb, *mutation.rows)
    named = dict(zip((row.id for row in rows), _names(item), strict=False)) if mutation.keep else {}
    named |= {row.id: row.external_id for row in rows if row.external_id and row.id not in named}
    if item.is_question and isinstance(item.evidence.get("reason"), str):
        shown = shown | {"reason"}  # the question or a note states it
    if "rules" in item.evidence:
        shown = shown | _POSITIONS
    found = {plain_name(name): _in_words(value, named) for name, value in item.evidence.items() if name not in shown}
    # A pair may be decided by another rule than that of the setting ``policy``, such as that a memory says what it replaces.
    return {
        "decided by" if name == "policy" and mutation.kind != "set_state" else name: text
        for name, text in found.items()
    }


def _in_words(value: object, named: Mapping[str, str]) -> str:
    """Format a value of the evidence for people, without brackets and quotation marks of JSON.

    Lists are joined with commas, mappings are written as ``name: value``.
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
        case str():
            return named.get(value, value)
        case Mapping():
            pairs = cast("Mapping[object, object]", value).items()
            return "; ".join(f"{str(name).replace('_', ' ')}: {_in_words(one, named)}" for name, one in pairs)
        case Sequence():
            parts = [_in_words(one, named) for one in cast("Sequence[object]", value)]
            return ("; " if any(", " in part or ": " in part for part in parts) else ", ").join(parts)
        case _:
            return str(value)


def _text(value: object) -> str:
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
