"""Display of what an item would write (pages as lines, claims as sentences), and an estimate of how long an apply takes."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Final

from psycopg import sql
from psycopg.rows import class_row

from slowwave.bindings.rendering import in_scope_sql, retired_sql
from slowwave.bindings.stores import connected_store
from slowwave.changes.cells import Insert, Value
from slowwave.changes.mutation import ERASURES, EVIDENCE, FORGOTTEN, Mutation, erased
from slowwave.changes.relations import name_of, retired_rows
from slowwave.plans.items import Item
from slowwave.store.logins import Connection
from slowwave.text.quotation import quotable
from slowwave.text.tokens import counted

# The writing of an item for people: pages as lines of text, claims as sentences, and derived rows as counts.
#
# It covers items of the kinds ``write_page``, ``write_claims`` and ``forget_rows``, whose cells (passages, vectors, links, hashes) nobody
# can read. Texts pass ``quotable``; they are untrusted all the same, so surfaces escape them. A line that begins with "+ ", "- " or two
# spaces belongs to a page; every other line is ours.

KINDS: Final = frozenset({"write_page", "write_claims", "forget_rows"})
SHOWN: Final = 80
"""The number of lines of one page that are shown."""

_COMPARED: Final = 2_000
"""The number of lines of a page that are compared, from the first difference. The time is quadratic in it."""

_AROUND: Final = 2
_FIELDS: Final = ("status", "visibility", "sensitivity", "superseded_by", "canonical")
"""Fields of a page that decide who may see it and whether it counts."""

_FOLLOWING: Final = {
    "chunks": ("passage", "passages"),
    "chunk_vectors": ("vector", "vectors"),
    "links": ("link", "links"),
}
_ENDING: Final = {
    "documents": ("page of evidence", "pages of evidence"),
    **{t: _FOLLOWING[t] for t in ("chunks", "links")},
}

_Seen = Mapping[tuple[str, str], Mapping[str, Value]]


def about(mutation: Mutation) -> str:
    """Return in a few words what a mutation of ``KINDS`` is about: the subject of its claims, or the paths of its pages."""
    if mutation.kind == "forget_rows":
        return f"forget {_forgotten_name(mutation, {})}"
    paths = [str(p) for p in _pages(mutation).values()]
    return _subject(mutation, {}) if mutation.kind == "write_claims" else f"page {', '.join(paths) or 'of nothing'}"


def cited(mutation: Mutation, status: str = "") -> list[str]:
    """Return the ids whose text ``writing`` would quote and that the mutation does not hold.

    These are versions of claims, and the subject. Texts forgotten by an item of the status ``applied`` are not quoted again.
    """
    if mutation.kind == "write_page" or mutation.kind not in KINDS:
        return []
    if mutation.kind == "forget_rows" and status == "applied":
        return [g.row for g in mutation.guards if g.table == "entities"]
    seen = _seen(mutation)
    if mutation.table == ERASURES:
        return [row for table, row in erased(mutation) if table in _QUOTED]
    versions = [
        str(f["current_version_id"]) for (t, _), f in seen.items() if t == "memories" and f.get("current_version_id")
    ]
    return [*versions, *(row for table, row in seen if table == "entities")]


def writing(mutation: Mutation, texts: Mapping[str, str], *, every: bool = False) -> list[str]:
    """Format what a mutation of ``KINDS`` would write as lines; empty for another kind.

    With ``every`` each row that is deleted for good is listed, and not only the first ``SHOWN``. ``texts`` are those of the ``cited``
    ids that are stored; a missing text is replaced by its id. Cost: linear in the texts, and at worst quadratic in the ``_COMPARED`` lines
    of a page.
    """
    if mutation.kind not in KINDS:
        return []
    if mutation.kind == "forget_rows":
        return list(_forgetting(mutation, texts, every=every))
    lines = list(_claims(mutation, texts)) if mutation.kind == "write_claims" else []
    for document in _pages(mutation):
        lines += _page(mutation, document)
    rows: defaultdict[str, set[str]] = defaultdict(set)
    for n, insert in enumerate(mutation.inserts):
        rows[insert.table].add(insert.row or str(n))
    for write in mutation.writes:
        rows[write.cell.table].add(write.cell.row)
    counts = [counted(len(rows[table]), *words) for table, words in _FOLLOWING.items() if rows[table]]
    if counts:
        alone = len(counts) == 1 and counts[0].startswith("1 ")
        lines.append(f"{', '.join(counts)} {'follows' if alone else 'follow'} the text")
    return lines


def _forgotten_name(mutation: Mutation, texts: Mapping[str, str]) -> str:
    """Return what would be forgotten: the page, the statements about a subject, or the rows deleted for good."""
    if mutation.table == ERASURES:
        return f"{_erased_counts(mutation)} for good"
    if mutation.table == "documents":
        marked = {w.cell.row for w in mutation.writes if w.cell.column == "metadata" and FORGOTTEN in _object(w.value)}
        return f"page {quotable(', '.join(path for row, path in _pages(mutation).items() if row in marked))}"
    claims = counted(
        len({w.cell.row for w in mutation.writes if w.cell.table == "memories"}), "statement", "statements"
    )
    alone = next((g.row for g in mutation.guards if g.table == "entities" and g.seen == (None,)), "")
    stone = next(i.values for i in mutation.inserts if i.table == "documents" and not i.stamped)
    return f"{claims} about {quotable(texts.get(alone, '') or str(stone.get('title')))}"


def _forgetting(mutation: Mutation, texts: Mapping[str, str], *, every: bool) -> Iterator[str]:
    """Yield lines on what no search would find any more, and the page that stays with the reason."""
    if mutation.table == ERASURES:
        yield from _erasing(mutation, texts, every=every)
        return
    seen = _seen(mutation)
    claims = {w.cell.row: seen["memories", w.cell.row] for w in mutation.writes if w.cell.table == "memories"}
    it = "them" if len(claims) > 1 else "it"
    yield f"forgets {_forgotten_name(mutation, texts)}: no search finds {it}"
    for id_, fields in sorted(claims.items(), key=lambda one: (str(one[1].get("valid_from")), one[0])):
        yield _stated(id_, fields, texts)
    ended = Counter(w.cell.table for w in mutation.writes if w.cell.column == "invalidated_at")
    counts = [counted(ended[table], *words) for table, words in _ENDING.items() if ended[table]]
    if counts:
        ends = "ends" if sum(ended[t] for t in _ENDING) == 1 else "end"
        yield f"{', '.join(counts)} {ends} with {it}"
    stones = [i for i in mutation.inserts if i.table == "documents" and not i.stamped]
    for stone in stones:
        yield f"page {quotable(str(stone.values['path']))} stays and says why:"
        text = str(stone.values["content"]).partition("\n---\n")[2].strip()
        yield from _bounded([f"+ {line}" for line in _lines(str(quotable(text))) if line])


NO_UNDO: Final = "It cannot be undone: the rows are deleted, and an import does not bring them back."
"""The statement of a plan that forgets rows for good, shown before anyone approves it."""

_QUOTED: Final = {
    "memory_versions": "text of a memory",
    "chunks": "passage",
    "entities": "entity",
    "memory_facts": "fact",
    "documents": "page",
}
"""Table → the name of its rows, for tables whose rows are shown in full."""


def _erased_counts(mutation: Mutation) -> str:
    """Format the number of rows that a mutation deletes for good, by table."""
    found = Counter(table for table, _ in erased(mutation))
    return ", ".join(f"{n:,} of {table}" for table, n in sorted(found.items()))


def _erasing(mutation: Mutation, texts: Mapping[str, str], *, every: bool) -> Iterator[str]:
    """Yield lines for the rows that would be deleted for good, with their texts if they are stored."""
    yield f"deletes {_erased_counts(mutation)}. {NO_UNDO}"
    lines = [
        f"{_QUOTED[table]} {row[:8]}: {quotable(texts[row])}" for table, row in erased(mutation) if texts.get(row, "")
    ]
    yield from lines if every else _bounded(lines)
    if reasons := sorted({str(i.values["reason"]) for i in mutation.inserts if i.values.get("reason")}):
        yield f"reason: {quotable('; '.join(reasons))}"


def _seen(mutation: Mutation) -> _Seen:
    """Return what the plan saw of rows that it guards or writes, by table and row."""
    found: defaultdict[tuple[str, str], dict[str, Value]] = defaultdict(dict)
    for guard in mutation.guards:
        found[guard.table, guard.row].update(zip(guard.columns, guard.seen, strict=True))
    for write in mutation.writes:
        found[write.cell.table, write.cell.row][write.cell.column] = write.seen
    return found


def _pages(mutation: Mutation) -> dict[str, str]:
    """Return document → path for the pages that the mutation writes."""
    new = {i.row: str(i.values["path"]) for i in mutation.inserts if i.table == "documents" and not i.stamped}
    there = {
        row: str(fields["path"])
        for (table, row), fields in _seen(mutation).items()
        if table == "documents" and "path" in fields
    }
    return {**new, **there}


def _page(mutation: Mutation, document: str) -> Iterator[str]:
    """Yield the lines of one page: a new text in full, differences of an existing text, and changed fields."""
    new = next((i for i in mutation.inserts if i.table == "documents" and i.row == document), None)
    path = quotable(_pages(mutation)[document])
    if new is not None:
        lines = _lines(str(quotable(str(new.values["content"]))))
        length = counted(len(lines), "line", "lines")
        if _root(mutation, new) == EVIDENCE:
            yield f"rests on the page {path} (new, {length})"
            return
        yield f"page {path} is new ({length})"
        yield from _bounded([f"+ {line}" for line in lines])
        yield from _fields({}, {"metadata": new.values.get("metadata")})
        return
    writes = {w.cell.column: w for w in mutation.writes if w.cell.table == "documents" and w.cell.row == document}
    text = writes.get("content")
    if text is None:
        yield f"page {path} keeps its text"
    else:
        yield f"page {path} says something else:"
        before, after = (_lines(str(quotable(str(value or "")))) for value in (text.seen, text.value))
        lines, left = _unified(before, after)
        yield from _bounded(lines, left)
        if not lines:
            yield "the texts differ only where they may not be shown, or in how lines end"
    yield from _fields({c: w.seen for c, w in writes.items()}, {c: w.value for c, w in writes.items()})


def _fields(seen: Mapping[str, Value], wanted: Mapping[str, Value]) -> Iterator[str]:
    """Yield lines for a page's changed fields, before and after."""
    for column in ("title", "valid_from"):
        if column in seen:
            yield f"{column}: {_value(seen[column])} → {_value(wanted[column])}"
    before, after = _object(seen.get("metadata")), _object(wanted.get("metadata"))
    for name in _FIELDS:
        was, now = before.get(name), after.get(name)
        if was != now and (was or now or "metadata" in seen):
            yield f"{name}: {_value(was)} → {_value(now)}" if "metadata" in seen else f"{name}: {_value(now)}"


def _unified(before: Sequence[str], after: Sequence[str]) -> tuple[list[str], int]:
    """Return the unified diff of two texts, and how many further lines were not compared."""
    same = next(
        (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    start = max(0, same - _AROUND)
    old, new = before[start : start + _COMPARED], after[start : start + _COMPARED]
    left = max(len(before), len(after)) - start - _COMPARED
    lines: list[str] = []
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(_AROUND):
        (_, a, _, b, _), (_, _, a_end, _, b_end) = group[0], group[-1]
        lines.append(f"@@ -{start + a + 1},{a_end - a} +{start + b + 1},{b_end - b} @@")
        for tag, i, i_end, j, j_end in group:
            if tag == "equal":
                lines += [f"  {line}" for line in old[i:i_end]]
            else:
                lines += [f"- {line}" for line in old[i:i_end]]
                lines += [f"+ {line}" for line in new[j:j_end]]
    return lines, max(0, left)


def _bounded(lines: Sequence[str], left: int = 0) -> Iterator[str]:
    """Yield the first ``SHOWN`` lines, and a line with the number of those not shown."""
    yield from lines[:SHOWN]
    if (more := len(lines[SHOWN:]) + left) > 0:
        yield f"… {counted(more, 'more line', 'more lines')}"


def _claims(mutation: Mutation, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield lines on the new claims about the subject and on the changes of earlier ones."""
    seen = _seen(mutation)
    made = next((i for i in mutation.inserts if i.table == "entities"), None)
    yield f"says of {_subject(mutation, texts)}{' (new subject)' if made else ''}:"
    if aliases := [str(i.values["alias"]) for i in mutation.inserts if i.table == "entity_aliases"]:
        yield f"also called: {quotable(', '.join(aliases))}"
    statements = {
        i.refs["memory_id"]: str(i.values["content"])
        for i in mutation.inserts
        if i.table == "memory_versions" and "memory_id" in i.refs
    }
    for n, insert in enumerate(mutation.inserts):
        if insert.table == "memories":
            kind = _object(insert.values.get("attributes")).get("claim_kind", "claim")
            until = insert.values.get("valid_to")
            times = f"since {_instant(insert.values.get('valid_from'))}" + (
                f", until {_instant(until)}" if until else ""
            )
            yield f"{_value(kind)}, {times}: {quotable(statements.get(n, ''))}"

    def claim(id_: str) -> str:
        return _stated(id_, seen.get(("memories", id_), {}), texts)

    for write in mutation.writes:
        if (write.cell.table, write.cell.column) == ("memories", "valid_to"):
            yield f"ends: {claim(write.cell.row)}, on {_instant(write.value)}"
    events = [i for i in mutation.inserts if i.table == "claim_events" and "claim_id" in i.values]
    for verb, event in (("contradicts", "contradicted"), ("adds evidence to", "supported")):
        for found in events:
            if found.values.get("event") == event:
                reason = found.values.get("reason")
                yield f"{verb}: {claim(str(found.values['claim_id']))}" + (
                    f" ({quotable(str(reason))})" if reason else ""
                )


def _stated(id_: str, fields: Mapping[str, Value], texts: Mapping[str, str]) -> str:
    """Return the text of a claim without its last full stop, and since when it holds."""
    statement = texts.get(str(fields.get("current_version_id")))
    name = str(quotable(statement)).removesuffix(".") if statement else f"claim {id_}"
    return f"{name}, since {_instant(fields['valid_from'])}" if fields.get("valid_from") else name


def _subject(mutation: Mutation, texts: Mapping[str, str]) -> str:
    """Return the subject of claims: by name and reference if it is new, else by name."""
    for insert in mutation.inserts:
        if insert.table == "entities":
            return str(quotable(f"{insert.values['name']} ({insert.values['external_id']})"))
    named = next(
        (str(i.values["subject"]) for i in mutation.inserts if i.table == "memories" and i.values.get("subject")), ""
    )
    known = next((g.row for g in mutation.guards if g.table == "entities"), "")
    return str(quotable(named or texts.get(known, ""))) or (f"entity {known}" if known else "nobody")


def _root(mutation: Mutation, page: Insert) -> str:
    """Return the root of the corpus in which a page lies, which the mutation makes or guards."""
    corpus = str(page.values.get("corpus_id"))
    made = next((i.values.get("root") for i in mutation.inserts if i.table == "corpora" and i.row == corpus), None)
    return str(made or _seen(mutation).get(("corpora", corpus), {}).get("root"))


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _object(value: Value) -> Mapping[str, object]:
    found = json.loads(value) if isinstance(value, str) else {}
    return found if isinstance(found, dict) else {}


def _value(value: object) -> str:
    if value is None or value == "":
        return "nothing"
    return str(quotable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))


def _instant(value: Value) -> str:
    """Format an instant as its day, with the time if that is not midnight."""
    text = str(value)
    return text[:10] if "T" not in text or text[11:19] == "00:00:00" else f"{text[:10]} {text[11:16]}"


# The expected time of an apply, and the share of retired rows in a bound table after it, shown with a plan before anyone approves it.
#
# The estimate counts the rows that are written and the indexes of their tables at the time of the request. A rewritten row is entered
# again into each index of its table: an HNSW index compares it with hundreds of vectors, which takes longer than everything else; other
# indexes take little. The figures are CPU time of PostgreSQL and of the applying process on the machine of docs/stores-benchmarks.md. A
# busy server takes longer. A server that updates in place (no indexed column changes and the page has space) takes less.

ROW_MS: Final = 3.0
"""Milliseconds for a row: its guards, the journal, the statement and the row itself."""

INDEX_MS: Final = 0.05
"""Milliseconds for a row in an index that compares no vectors."""

DIMENSION_MS: Final = 0.003
"""Milliseconds for a row in an HNSW index for each dimension, among 5,000 rows, with the usual ``ef_construction`` of 64."""

PLAN_SECONDS: Final = 0.2
"""Seconds for an apply that writes nothing: its run, its locks, its probes."""

MANY_RETIRED: Final = 0.2
"""The share of retired rows from which a search that drops them afterwards is likely to return fewer rows than requested."""

_INDEXES: Final = """
SELECT n.nspname || '.' || c.relname AS table, greatest(c.reltuples, 0)::bigint AS held,
  count(*) FILTER (WHERE m.amname = 'hnsw')::int AS hnsw, count(x.oid) FILTER (WHERE m.amname <> 'hnsw')::int AS others,
  coalesce(sum(greatest(a.atttypmod, 1) * coalesce((SELECT o.option_value::int FROM pg_options_to_table(x.reloptions) o
    WHERE o.option_name = 'ef_construction'), 64) / 64.0) FILTER (WHERE m.amname = 'hnsw'), 0)::float AS compared
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indislive
LEFT JOIN pg_class x ON x.oid = i.indexrelid LEFT JOIN pg_am m ON m.oid = x.relam
LEFT JOIN pg_attribute a ON a.attrelid = x.oid AND a.attnum = 1
WHERE n.nspname || '.' || c.relname = ANY(%s) AND c.relkind IN ('r', 'p') GROUP BY 1, 2 ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class _Indexes:
    """The indexes of a table.

    ``compared`` is the sum of the dimensions of its HNSW indexes, each multiplied by its ``ef_construction`` divided by 64.
    """

    table: str
    held: int
    hnsw: int
    others: int
    compared: float


@dataclass(frozen=True, slots=True)
class TableTime:
    """The work on one table: rows written, the indexes that each row is entered into, and seconds."""

    table: str
    rows: int
    hnsw: int
    other_indexes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RetiredShare:
    """The share of retired rows, now and after the plan, in a table whose client drops retired rows after its search."""

    table: str
    rows: int
    retired: int
    after: int

    def sentence(self) -> str:
        """Return a sentence for an operator; empty if few rows are retired."""
        if not self.rows or self.after < MANY_RETIRED * self.rows:
            return ""
        return (
            f"{self.after / self.rows:.0%} of the {self.rows:,} rows in {self.table} are retired after it ({self.retired:,} are now). The "
            "store's client drops those after its search: a search may return fewer than it is asked for."
        )


@dataclass(frozen=True, slots=True)
class ApplyEstimate:
    """The seconds that the items of a plan take to apply, by table, and the share of retired rows afterwards."""

    seconds: float
    tables: tuple[TableTime, ...]
    retired: tuple[RetiredShare, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the estimate as ``plans show --json`` shows it."""
        return {**asdict(self), "how": HOW}

    def sentences(self) -> list[str]:
        """Return sentences for an operator; empty for a plan that writes nothing."""
        if not self.tables:
            return []
        rows = sum(t.rows for t in self.tables)
        slow = [t for t in self.tables if t.hnsw]
        beside = f", {sum(t.rows for t in slow):,} of them beside a vector index (HNSW)" if slow else ""
        estimate = f"An apply of all of it takes about {_duration_text(self.seconds)}: it writes {counted(rows, 'row')}{beside}."
        return [estimate, *filter(None, (share.sentence() for share in self.retired))]


HOW: Final = (
    f"{PLAN_SECONDS:g} s, {ROW_MS:g} ms for each row that is written, {INDEX_MS:g} ms more for each index of its table, and for each HNSW "
    f"index {DIMENSION_MS:g} ms a dimension, times ef_construction / 64, times log(rows of the table) / log(5,000)."
)


def apply_estimate(connection: Connection, namespace_id: str, items: Iterable[Item]) -> ApplyEstimate:
    """Estimate the time to apply ``items``; the caller leaves out items that are not to be applied.

    Cost: one query of PostgreSQL's catalogue, and one pass over each bound table whose client drops retired rows after its search.
    """
    items = list(items)
    written = _written(items)
    if not written:
        return ApplyEstimate(0.0, ())
    with connection.cursor(row_factory=class_row(_Indexes)) as cursor:
        found = {one.table: one for one in cursor.execute(_INDEXES, (sorted(written),))}
    tables = tuple(
        TableTime(name, len(rows), *_time(found.get(name), len(rows))) for name, rows in sorted(written.items())
    )
    seconds = PLAN_SECONDS + sum(t.seconds for t in tables)
    return ApplyEstimate(round(seconds, 3), tables, _retired(connection, namespace_id, items))


def _written(items: Sequence[Item]) -> dict[str, set[str]]:
    """Return physical table → its rows that are written, added or deleted."""
    found: dict[str, set[str]] = defaultdict(set)
    for item in items:
        change = item.mutation.physical or item.mutation
        for write in change.writes:
            found[_physical(write.cell.table)].add(write.cell.row)
        for delete in change.deletes:
            found[_physical(delete.table)].add(delete.row)
        for n, insert in enumerate(change.inserts):
            found[_physical(insert.table)].add(insert.row or f"{item.id} {n}")
    return found


def _physical(table: str) -> str:
    return table if "." in table else f"memory.{table}"


def _time(indexes: _Indexes | None, rows: int) -> tuple[int, int, float]:
    """Return the number of HNSW indexes, the number of other indexes, and the seconds."""
    if indexes is None:
        return 0, 0, rows * ROW_MS / 1_000
    grown = math.log(max(indexes.held, 1_000)) / math.log(5_000)
    each = ROW_MS + indexes.others * INDEX_MS + indexes.compared * DIMENSION_MS * grown
    return indexes.hnsw, indexes.others, round(rows * each / 1_000, 6)


def _retired(connection: Connection, namespace_id: str, items: Sequence[Item]) -> tuple[RetiredShare, ...]:
    """Return the retired share of each bound table whose client drops retired rows after its search."""
    found = connected_store(connection, namespace_id)
    if found is None:
        return ()
    of, scope = found
    shares: list[RetiredShare] = []
    for logical, bound in of.binding.tables.items():
        if bound.retired is None or not bound.retired.after_search:
            continue
        counted = sql.SQL("SELECT count(*), count(*) FILTER (WHERE {}) FROM {} AS t WHERE {}").format(
            retired_sql(bound, "t"), sql.Identifier(bound.schema, bound.table), in_scope_sql(bound, scope)
        )
        rows, retired = (int(str(n)) for n in connection.execute(counted).fetchone() or (0, 0))
        more = {
            row
            for i in items
            if i.mutation.table == logical and i.mutation.physical
            for row in retired_rows(i.mutation)
        }
        shares.append(RetiredShare(name_of(bound), rows, retired, min(rows, retired + len(more))))
    return tuple(shares)


def _duration_text(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds)):,} s"
    return f"{round(seconds / 60):,} minutes" if seconds < 5_400 else f"{seconds / 3_600:,.1f} hours"
