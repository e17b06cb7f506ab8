"""Census: what a namespace holds. Rows and live rows, types, vectors, recall events, tokens of memory text, age.

The audit counts everything once; its figures are the denominators of all other reports.

A token is four bytes of UTF-8, rounded up for each text: no tokenizer is used, so the figure is the same everywhere and suits a
comparison of nights. Ages are those of ``recorded_at`` (for recall events ``occurred_at``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations import Inputs
from slowwave.operations.registry import operations, runs_tonight
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.memories import CHARACTER_LIMIT, active_memories, attributes, languages_of_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.doctor import REASONS
from slowwave.store.tables import EXPORTED, VECTORS
from slowwave.text.languages import describe_languages
from slowwave.text.tokens import RULE, counted, counts

_NAMED: Final = 10
"""Rows that a finding names."""

_HEADLINED: Final = 4
"""Tables that the headline names."""

_VERSIONS: Final = frozenset(("memory_versions", "recall_events"))
"""Tables that the headline leaves out: texts of memories, and recalls, which it counts apart."""


@dataclass(frozen=True, slots=True)
class _Count:
    """Row counts of one table; ``oldest`` and ``newest`` are ISO instants, empty for an empty table."""

    table: str
    rows: int
    live: int
    oldest: str
    newest: str


def census(inputs: Inputs) -> Report:
    """Count what the namespace holds: rows and live rows by table and type, vectors, recalls, tokens and age."""
    snapshot, window = inputs.snapshot, inputs.settings.recall_window_days
    tables = [_counted(snapshot, table.name) for table in EXPORTED]
    types = _types(inputs.models["type_census"])
    texts, tokens = live_memory_tokens(snapshot)
    other = Counter(filter(None, languages_of_memories(snapshot)))
    recalls = _recalls_since(snapshot, snapshot.taken_at - timedelta(days=window))
    coverage = {name: _coverage(snapshot, name) for name in VECTORS}
    rows, live = sum(t.rows for t in tables), sum(t.live for t in tables)
    numbers: dict[str, int | float] = {
        "rows": rows,
        "live_rows": live,
        **{f"{VECTORS[name]}_with_vector": covered for name, (covered, _) in coverage.items()},
        "recall_events_in_window": recalls,
        "live_memories_with_text": texts,
        "live_memory_tokens": tokens,
        **({"memories_in_other_languages": other.total()} if other else {}),
        "entity_types": len(types["entities"]),
        "relationship_types": len(types["relationships"]),
        **{f"{t.table}_rows": t.rows for t in tables},
        **{f"{t.table}_live": t.live for t in tables},
        **({"rows_left_out": len(snapshot.left_out)} if snapshot.left_out else {}),
    }
    filled = sorted((t for t in tables if t.rows), key=lambda t: (-t.rows, t.table))
    return Report(
        operation="census",
        headline=_headline(filled, tokens, recalls, window, other),
        numbers=numbers,
        findings=tuple(
            Finding(
                f"{total - covered:,} of {total:,} live {VECTORS[name]} have no vector of model "
                f"{snapshot.vectors[name].model or '(none)'}; similarity does not see them.",
                severity="warning",
                details={"table": VECTORS[name], "missing": total - covered, "live": total},
            )
            for name, (covered, total) in coverage.items()
            if covered < total
        )
        + tuple(_left_out(snapshot))
        + tuple(_over_their_limit(snapshot))
        + tuple(_unread(inputs, other)),
        table=tuple(asdict(t) for t in filled[:10]),
        plots=tuple(
            Bars(f"Live {table} by type ({min(10, len(counts))} of {len(counts)} types)", *_top(counts))
            for table, counts in types.items()
            if counts
        ),
        details={
            "tables": {t.table: asdict(t) for t in filled},
            "types": types,
            "vector_models": {name: vectors.model for name, vectors in snapshot.vectors.items()},
            "oldest": min((t.oldest for t in filled), default=""),
            "newest": max((t.newest for t in filled), default=""),
            "token_rule": RULE,
            "languages": dict(other),
        },
    )


def _left_out(snapshot: Snapshot) -> Iterable[Finding]:
    """Yield findings that name the rows that this night leaves out, per column that it cannot read."""
    for (table, column, kind), rows in groupby(
        sorted(snapshot.left_out, key=lambda row: (row.table, row.column, row.kind, row.row_id)),
        key=lambda row: (row.table, row.column, row.kind),
    ):
        ids = [row.row_id for row in rows]
        more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
        yield Finding(
            f"{len(ids):,} rows of {table} are left out of this night, as their {column} {REASONS[kind]}: "
            f"{', '.join(ids[:_NAMED])}{more}. Correct the values; `slowwave doctor` prints statements for Slowwave's own tables.",
            rows=tuple(ids[:_NAMED]),
            severity="warning",
            details={"table": table, "column": column, "kind": kind, "rows": len(ids)},
        )


def _over_their_limit(snapshot: Snapshot) -> Iterable[Finding]:
    """Yield a finding for each active memory with more characters than its agent's context holds of it."""
    memories = active_memories(snapshot)
    memories = memories.filter(pc.match_substring(memories["attributes"], f'"{CHARACTER_LIMIT}"'))
    for row in memories.select(("id", "subject", "text", "attributes")).to_pylist():
        limit, length = attributes(row["attributes"]).get(CHARACTER_LIMIT), len(row["text"])
        if isinstance(limit, int) and length > limit:
            yield Finding(
                f"The block {row['subject'] or row['id']} has {length:,} characters, {length - limit:,} more than its limit of {limit:,}: "
                "the agent does not see them. Move a part of it into another memory.",
                rows=(row["id"],),
                severity="warning",
                details={"characters": length, "limit": limit},
            )


def _unread(inputs: Inputs, other: Mapping[str, int]) -> Iterable[Finding]:
    """Yield a finding with the operations of this night that do not read memories in other languages than English."""
    unread = [name for name, made in operations().items() if made.english and runs_tonight(inputs, name)]
    if other and unread:
        yield Finding(
            f"{counted(sum(other.values()), 'memory is', 'memories are')} in other languages than English ({describe_languages(other)}). "
            f"These operations did not read them, because their rules are written for English: {', '.join(unread)}.",
            details={"languages": dict(other), "operations": unread},
        )


def live_memory_tokens(snapshot: Snapshot) -> tuple[int, int]:
    """Count the live memories that have a current text, and the tokens of those texts."""
    versions = snapshot.table("memory_versions")
    current = pc.index_in(snapshot.live("memories")["current_version_id"], value_set=versions["id"].combine_chunks())
    tokens = counts(versions["content"].take(pc.drop_null(current)))
    return len(tokens), int(tokens.sum())


def _headline(tables: Sequence[_Count], tokens: int, recalls: int, window: int, other: Mapping[str, int]) -> str:
    """Return the counts of the largest tables that people know, and how much the memories hold."""
    if not tables:
        return "The namespace is empty: there is nothing to count."
    known = [t for t in tables if t.table not in _VERSIONS][:_HEADLINED] or tables[:1]
    live = ", ".join(f"{t.live:,} of {t.rows:,} {t.table.replace('_', ' ')}" for t in known)
    foreign = (
        f", and {sum(other.values()):,} are in other languages than English ({describe_languages(other)})"
        if other
        else ""
    )
    return f"{live} are live; the live memories hold about {tokens:,} tokens{foreign}; {recalls:,} recalls in {window} days."


def _counted(snapshot: Snapshot, name: str) -> _Count:
    table = snapshot.table(name)
    when = pc.min_max(table["occurred_at" if name == "recall_events" else "recorded_at"]).as_py()
    return _Count(name, table.num_rows, snapshot.live(name).num_rows, _instant(when["min"]), _instant(when["max"]))


def _instant(value: datetime | None) -> str:
    return "" if value is None else value.isoformat(timespec="seconds")


def _types(census_of_types: pa.Table) -> dict[str, dict[str, dict[str, int]]]:
    """Map each table and type to its rows and live rows, the most live rows first."""
    types: dict[str, dict[str, dict[str, int]]] = {"entities": {}, "relationships": {}}
    for row in census_of_types.to_pylist():
        types[row["table_name"]][row["type"]] = {"rows": row["all_rows"], "live": row["live_rows"]}
    return types


def _top(counts: Mapping[str, Mapping[str, int]]) -> tuple[list[str], list[float]]:
    first = list(counts.items())[:10]
    return [name for name, _ in first], [float(count["live"]) for _, count in first]


def _recalls_since(snapshot: Snapshot, start: datetime) -> int:
    when = snapshot.table("recall_events")["occurred_at"]
    first, last = (pa.scalar(instant, when.type) for instant in (start, snapshot.taken_at))
    return pc.sum(pc.and_(pc.greater(when, first), pc.less_equal(when, last))).as_py() or 0


def _coverage(snapshot: Snapshot, vectors: str) -> tuple[int, int]:
    """Count the live rows with a vector of the snapshot's model, and the live rows."""
    ids = snapshot.live(VECTORS[vectors])["id"].combine_chunks()
    return int((snapshot.vectors[vectors].rows_of(ids) >= 0).sum()), len(ids)
