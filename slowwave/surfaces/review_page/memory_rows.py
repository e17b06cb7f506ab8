"""Rows of a namespace as the memory pages show them: lists, searches, and one row with its sources, neighbours and history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, LiteralString

import numpy as np
from psycopg import sql

from slowwave.bindings.binding import Binding, memory_binding
from slowwave.bindings.rendering import Scope, select_rows
from slowwave.bindings.stores import ConnectedStore, connected_store, reading
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.tables import VECTORS, metadata
from slowwave.text.quotation import quotable, quote

if TYPE_CHECKING:
    from slowwave.wiki.claims.trail import ClaimResponse

# One form for all rows. A binding gives the SELECT of a table with Slowwave's names, for Slowwave's own memory and for a connected store
# alike, so the pages read both in the same way. The templates below use these SELECTs by the names of the tables.
#
# The words of a forgotten claim and of its evidence are not shown, as ``slowwave why`` does not show them.
#
# Values are literals and not parameters: the SELECT of a connected store may contain a percent sign. All text passes ``quotable``.

PAGE: Final = 50
"""Number of rows on one page of a list."""

MOST_NEAR: Final = 20
"""Number of neighbours of one kind that a row shows, and of its sources."""

MOST_EVENTS: Final = 50
"""Number of changes of a row that are shown, the newest first."""

LONGEST_TEXT: Final = 1_000_000
"""Maximum characters of a text that are read for its page."""

COUNTED: Final = 10_000
"""Highest number of rows that a list counts; counting more takes too long."""

_READ: Final = 4_000  # characters of a text that a list reads, so that a secret is found before the text is shortened
_LINE: Final = 240  # characters of a text in a list
_CELL: Final = 500  # characters of a former value

_STATE: Final = (
    """CASE WHEN r.invalidated_at IS NOT NULL THEN 'retired' WHEN r.valid_to <= now() THEN 'ended' ELSE '' END"""
)

_SOURCES: Final[Mapping[str, LiteralString]] = {
    "memories": """
SELECT r.id, 'memories' AS tbl, CASE WHEN x.gone THEN '' ELSE coalesce(v.content, '') END AS text, '' AS body, r.kind AS label,
  concat_ws(' · ', nullif(r.subject, ''), nullif(r.author, ''), CASE WHEN r.source_chunk_ids = '{{}}' THEN nullif(r.external_id, '') END)
    AS about, coalesce(r.valid_from, r.recorded_at) AS at, coalesce(r.session_id, '') AS session,
  CASE WHEN x.gone THEN 'forgotten' WHEN r.state <> 'active' THEN r.state ELSE {state} END AS state, r.invalidated_at AS gone
FROM {memories} r LEFT JOIN {memory_versions} v ON v.id = r.current_version_id, LATERAL (SELECT r.kind = 'claim' AND EXISTS (
  SELECT 1 FROM memory.claim_events e WHERE e.claim_id = r.id AND e.event = 'retired') AS gone) x""",
    "entities": """
SELECT r.id, 'entities' AS tbl, r.name AS text, r.description AS body, r.entity_type AS label, r.description AS about,
  coalesce(r.valid_from, r.recorded_at) AS at, '' AS session, CASE WHEN r.state <> 'active' THEN r.state ELSE {state} END AS state,
  r.invalidated_at AS gone
FROM {entities} r""",
    "facts": """
SELECT r.id, 'facts' AS tbl, coalesce(nullif(r.fact_text, ''), concat_ws(' ', r.subject, r.predicate, r.object)) AS text, '' AS body,
  r.predicate AS label, concat_ws(' · ', r.subject, r.object) AS about, coalesce(r.valid_from, r.recorded_at) AS at,
  coalesce(r.session_id, '') AS session,
  CASE WHEN r.superseded_by IS NOT NULL THEN 'superseded' WHEN NOT r.is_active THEN 'inactive' ELSE {state} END AS state,
  r.invalidated_at AS gone
FROM {memory_facts} r""",
    "relationships": """
SELECT r.id, 'relationships' AS tbl, concat_ws(' ', s.name, replace(lower(r.relationship_type), '_', ' '), t.name) AS text,
  r.description AS body, r.relationship_type AS label, r.description AS about, coalesce(r.valid_from, r.recorded_at) AS at,
  '' AS session, {state} AS state,
  r.invalidated_at AS gone
FROM {relationships} r LEFT JOIN {entities} s ON s.id = r.source_entity_id LEFT JOIN {entities} t ON t.id = r.target_entity_id""",
    "documents": """
SELECT r.id, 'documents' AS tbl, coalesce(nullif(r.title, ''), nullif(r.path, ''), nullif(r.external_id, ''), r.id::text) AS text,
  CASE WHEN k.root = 'evidence:' AND r.invalidated_at IS NOT NULL THEN '' ELSE r.content END AS body,
  CASE WHEN r.path IS NULL THEN 'document' ELSE 'page' END AS label,
  concat_ws(' · ', nullif(r.path, ''), nullif(r.source, ''), nullif(r.external_id, '')) AS about,
  coalesce(r.valid_from, r.recorded_at) AS at, coalesce(r.metadata ->> 'session_id', '') AS session,
  CASE WHEN r.version_of IS NOT NULL THEN 'earlier version' ELSE {state} END AS state,
  r.invalidated_at AS gone
FROM {documents} r LEFT JOIN {corpora} k ON k.id = r.corpus_id""",
    "pages": """
SELECT r.id, 'pages' AS tbl, coalesce(nullif(r.title, ''), r.path) AS text, r.body, 'page of nights' AS label, r.path AS about,
  r.recorded_at AS at, '' AS session, CASE WHEN r.invalidated_at IS NULL THEN '' ELSE 'retired' END AS state,
  r.invalidated_at AS gone
FROM {pages} r""",
}
"""Kind of row, as in addresses → the SELECT of its rows: those of ``MemoryRow`` with the whole text or the description as ``body``."""

KINDS: Final = tuple(_SOURCES)
"""Kinds of rows."""

_TABLES: Final = {"facts": "memory_facts"}
"""Kind of row → its table, where the two names differ."""

LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "memories": ("memories",),
    "entities": ("entities",),
    "facts": ("facts",),
    "relationships": ("relationships",),
    "pages": ("documents", "pages"),
}
"""List → the kinds of its rows."""

_LIVE: Final = "s.gone IS NULL AND s.state = ''"  # the first half lets PostgreSQL use the indexes of live rows
_EVER: Final = "s.state <> 'earlier version'"

_SHOWN: Final = """
f.tbl, f.id::text, left(f.text, {read}), f.label, left(f.about, {read}), to_char(f.at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), f.state"""

_LISTED: Final = """
SELECT {shown} FROM (
  SELECT * FROM ({source}) s WHERE {standing} AND ({session} = '' OR s.session = {session})
  ORDER BY s.at DESC, s.id LIMIT {limit} OFFSET {offset}) f ORDER BY f.at DESC, f.id"""

# The index of searches has no facts, no relationships and no rows of connected stores, so these are compared word by word, with the weights
# of BM25. A row that contains the text as it was typed has the score of one that contains all words: the text may be a part of a word.
_MATCHED: Final = """
WITH r AS MATERIALIZED (
  SELECT s.tbl, s.id, left(s.text, {read}) AS text, s.label, left(s.about, {read}) AS about, s.at, s.state,
    strpos(t.held, lower({text})) > 0 AS whole,
    ARRAY(SELECT t.held ~ w.word FROM unnest({words}) WITH ORDINALITY w (word, n) ORDER BY w.n) AS has
  FROM ({source}) s, LATERAL (SELECT lower(concat_ws(' ', s.text, s.label, s.about, s.body)) AS held) t
  WHERE {standing} AND ({session} = '' OR s.session = {session})
), weights AS (
  SELECT n, ln(1 + (count(*) FILTER (WHERE NOT r.has[n]) + 0.5) / (count(*) FILTER (WHERE r.has[n]) + 0.5)) AS weight
  FROM r, generate_series(1, cardinality({words})) n GROUP BY n
)
SELECT {shown}, f.score FROM (
  SELECT r.*, CASE WHEN r.whole THEN 1 ELSE (SELECT sum(weight) FILTER (WHERE r.has[n]) / sum(weight) FROM weights) END::float8 AS score
  FROM r, (SELECT bool_or(whole OR true = ALL (has)) AS complete FROM r) c
  WHERE r.whole OR true = ALL (r.has) OR NOT c.complete AND 2 * cardinality(array_positions(r.has, true)) >= cardinality(r.has)) f
ORDER BY f.score DESC, f.at DESC, f.id LIMIT {limit} OFFSET {offset}"""
_COUNTED: Final = "SELECT {name}, count(*) FROM (SELECT 1 FROM ({source}) s WHERE {standing} LIMIT {limit}) c"

_FOUND: Final = """
SELECT f.id::text, f.id::text, {shown} FROM ({memories} UNION ALL {entities}) f WHERE f.id = ANY({ids})
UNION ALL SELECT c.id::text, CASE WHEN f.body = '' THEN '' ELSE c.content END, {shown}
FROM {chunks} c JOIN ({documents}) f ON f.id = c.document_id WHERE c.id = ANY({ids})"""

_ROW: Final = """
SELECT {shown}, left(f.text, {most}), left(f.body, {most}), to_jsonb(r) - ARRAY['content', 'body', 'fact_text', 'description']
FROM ({source}) f JOIN {table} r ON r.id = f.id WHERE f.id = {id}"""

_NEAR: Final = """
(SELECT {place}, {shown} FROM (SELECT * FROM ({source}) s WHERE s.id <> {id} AND s.id IN ({near})
  ORDER BY s.state = '' DESC, s.at DESC, s.id LIMIT {most}) f)"""

_NAMES: Final = """
SELECT lower(e.name) FROM {entities} e WHERE e.id = {id} UNION SELECT lower(a.alias) FROM {entity_aliases} a WHERE a.entity_id = {id}"""

_PARTS: Final[Mapping[str, LiteralString]] = {"state": _STATE, "shown": _SHOWN, "names": _NAMES}
"""SQL that several templates share."""

NEIGHBOURS: Final[Mapping[str, tuple[tuple[str, str, LiteralString], ...]]] = {
    "memories": (
        ("Merged into", "memories", "SELECT m.merged_into FROM {memories} m WHERE m.id = {id}"),
        ("Merged into this one", "memories", "SELECT m.id FROM {memories} m WHERE m.merged_into = {id}"),
        (
            "Replaced by",
            "memories",
            "SELECT v.other_id FROM memory.claim_events v WHERE v.claim_id = {id} AND v.event = 'replaced'",
        ),
        (
            "Replaces",
            "memories",
            "SELECT v.claim_id FROM memory.claim_events v WHERE v.other_id = {id} AND v.event = 'replaced'",
        ),
        (
            "In contradiction with",
            "memories",
            """SELECT v.other_id FROM memory.claim_events v WHERE v.claim_id = {id} AND v.event = 'contradicted' UNION
              SELECT CASE k.row_a_id WHEN {id} THEN k.row_b_id ELSE k.row_a_id END FROM night.conflicts k
              WHERE k.namespace_id = {namespace} AND {id} IN (k.row_a_id, k.row_b_id)""",
        ),
        (
            "Entities",
            "entities",
            """SELECT e.id FROM {memories} m JOIN {entities} e ON e.id::text = m.attributes ->> 'entity_id'
              OR lower(e.name) = lower(m.subject) OR e.source_chunk_ids && m.source_chunk_ids WHERE m.id = {id}""",
        ),
        (
            "Facts from the same passages",
            "facts",
            """SELECT t.id FROM {memories} m JOIN {memory_facts} t ON t.source_chunk_ids && m.source_chunk_ids WHERE m.id = {id}""",
        ),
    ),
    "entities": (
        ("Merged into", "entities", "SELECT e.merged_into FROM {entities} e WHERE e.id = {id}"),
        ("Merged into this one", "entities", "SELECT e.id FROM {entities} e WHERE e.merged_into = {id}"),
        (
            "Relationships",
            "relationships",
            "SELECT t.id FROM {relationships} t WHERE {id} IN (t.source_entity_id, t.target_entity_id)",
        ),
        (
            "Facts",
            "facts",
            "SELECT t.id FROM {memory_facts} t WHERE lower(t.subject) IN ({names}) OR lower(t.object) IN ({names})",
        ),
        (
            "Memories about it",
            "memories",
            """SELECT m.id FROM {memories} m WHERE lower(m.subject) IN ({names})
              OR m.attributes ->> 'entity_id' = ANY ((SELECT memory.merged_with({id}))::text[])""",
        ),
        (
            "Memories from the same passages",
            "memories",
            "SELECT m.id FROM {entities} e JOIN {memories} m ON m.source_chunk_ids && e.source_chunk_ids WHERE e.id = {id}",
        ),
    ),
    "facts": (
        ("Superseded by", "facts", "SELECT t.superseded_by FROM {memory_facts} t WHERE t.id = {id}"),
        ("Supersedes", "facts", "SELECT t.id FROM {memory_facts} t WHERE t.superseded_by = {id}"),
        (
            "Entities",
            "entities",
            "SELECT e.id FROM {memory_facts} t JOIN {entities} e ON lower(e.name) IN (lower(t.subject), lower(t.object)) WHERE t.id = {id}",
        ),
        (
            "Memories from the same passages",
            "memories",
            "SELECT m.id FROM {memory_facts} t JOIN {memories} m ON m.source_chunk_ids && t.source_chunk_ids WHERE t.id = {id}",
        ),
    ),
    "relationships": (
        (
            "Entities",
            "entities",
            "SELECT unnest(ARRAY[t.source_entity_id, t.target_entity_id]) FROM {relationships} t WHERE t.id = {id}",
        ),
    ),
    "documents": (
        ("Current version", "documents", "SELECT d.version_of FROM {documents} d WHERE d.id = {id}"),
        ("Earlier versions", "documents", "SELECT d.id FROM {documents} d WHERE d.version_of = {id}"),
        (
            "Memories made from it",
            "memories",
            """SELECT m.id FROM {memories} m WHERE {id} = ANY (m.source_document_ids)
              OR m.source_chunk_ids && ARRAY(SELECT c.id FROM {chunks} c WHERE c.document_id = {id})""",
        ),
        (
            "Entities in it",
            "entities",
            """SELECT e.id FROM {entities} e WHERE {id} = ANY (e.source_document_ids)
              OR e.source_chunk_ids && ARRAY(SELECT c.id FROM {chunks} c WHERE c.document_id = {id})""",
        ),
        (
            "Links to",
            "documents",
            "SELECT l.target_document_id FROM {links} l WHERE l.document_id = {id} AND l.invalidated_at IS NULL",
        ),
        (
            "Linked from",
            "documents",
            "SELECT l.document_id FROM {links} l WHERE l.target_document_id = {id} AND l.invalidated_at IS NULL",
        ),
    ),
    "pages": (),
}
"""Kind of row → the headings of its neighbours, their kind, and the SELECT of their ids."""

_CITED: Final = """
SELECT coalesce(d.id::text, ''), c.id::text, coalesce(nullif(d.title, ''), d.path, d.external_id, ''), coalesce(d.path, d.source, ''),
  coalesce(c.start_line, 0), coalesce(c.speaker, ''), left(c.content, {read}), c.ordinal
FROM {chunks} c LEFT JOIN {documents} d ON d.id = c.document_id WHERE c.id = ANY({passages})
UNION ALL SELECT d.id::text, '', coalesce(nullif(d.title, ''), d.path, d.external_id, ''), coalesce(d.path, d.source, ''), 0, '', '', 0
FROM {documents} d WHERE d.id = ANY({whole})
  AND NOT EXISTS (SELECT 1 FROM {chunks} c WHERE c.document_id = d.id AND c.id = ANY({passages}))
ORDER BY 3, 8 LIMIT {most}"""
_PASSAGE: Final = (
    "SELECT c.content, coalesce(c.start_line, 0) FROM {chunks} c WHERE c.id = {passage} AND c.document_id = {id}"
)
_VERSIONS: Final = """
SELECT v.ordinal, v.reason, to_char(v.recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), left(v.content, {read})
FROM {memory_versions} v WHERE v.memory_id = {id} ORDER BY v.ordinal DESC LIMIT {most}"""
_ROOT: Final = "SELECT c.root FROM {corpora} c WHERE c.id = {id}"
_ALIASES: Final = "SELECT a.alias FROM {entity_aliases} a WHERE a.entity_id = {id} ORDER BY a.alias LIMIT {most}"

_CHANGES: Final = """
SELECT to_char(max(j.recorded_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS at, r.mode, coalesce(i.operation, '') AS operation,
  coalesce(r.plan_hash, i.plan_hash, '') AS plan, coalesce(night.signed_as(a.approver, a.policy_id), '') AS by, '' AS reason,
  bool_and(u.id IS NOT NULL) AS undone, r.id::text AS run,
  jsonb_agg(jsonb_build_array(j.column_name, j.action, left(b.before, {cell}), left(b.after, {cell})) ORDER BY j.id) AS cells
FROM night.journal j JOIN night.runs r ON r.id = j.run_id LEFT JOIN night.before_images b ON b.journal_id = j.id
  LEFT JOIN night.journal u ON u.undoes = j.id LEFT JOIN night.approvals a ON a.id = r.approval_id
  LEFT JOIN LATERAL (SELECT p.operation, p.plan_hash FROM night.plan_items p WHERE p.item_id = j.item_id
    ORDER BY (p.plan_hash = r.plan_hash) DESC NULLS LAST LIMIT 1) i ON true
WHERE j.row_id = {id} AND j.namespace_id = {namespace} AND j.table_name <> ALL({vectors})
GROUP BY r.id, r.mode, r.plan_hash, j.item_id, i.operation, i.plan_hash, a.approver, a.policy_id
UNION ALL SELECT to_char(x.recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), 'rejected', x.operation, coalesce(x.plan_hash, ''),
  night.signed_as(x.rejected_by, x.policy_id), x.reason, w.rejection_id IS NOT NULL, '', '[]'
FROM night.rejections x LEFT JOIN night.withdrawals w ON w.rejection_id = x.id
WHERE x.namespace_id = {namespace} AND x.row_ids @> ARRAY[{id}]
UNION ALL SELECT to_char(p.recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), 'pending', i.operation, p.plan_hash, '', '', false, '',
  '[]'
FROM night.plans p JOIN night.plan_items i USING (plan_hash)
WHERE p.namespace_id = {namespace} AND p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now()
  AND i.status IN ('pending', 'approved') AND strpos(i.mutation::text, {id}::text) > 0
ORDER BY at DESC, run LIMIT {most}"""

_SILENT: Final = frozenset(
    (
        *("", "current_version_id", "invalidated_by", "merged_into", "superseded_by", "source_chunk_ids"),
        *(
            "source_document_ids",
            "source_entity_id",
            "target_entity_id",
            "entity_id",
            "vector",
            "content_hash",
            "input_hash",
        ),
    )
)
"""Columns whose former values tell a person nothing, as they are ids or hashes."""


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A row in a list: its text, what it is about, its day, and its state, which is empty for live rows.

    ``kind`` and ``id`` are its address. ``passage`` is the passage of a document that a search found, and ``score``, from 0 to 1, is how
    well the row matches what was searched.
    """

    kind: str
    id: str
    text: str
    label: str
    about: str
    at: str
    state: str
    passage: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A source of a row: its document, if that is stored, with the passage and the line where it begins (0 if unknown)."""

    document: str
    passage: str
    title: str
    place: str
    line: int
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class RowChange:
    """An event in the history of a row: a change by a run, a rejected proposal of a change, or a change that is pending.

    ``what`` is ``applied``, ``undo`` (a run that undid another), ``rejected`` or ``pending``. ``over`` states that the change was undone
    since, or the rejection withdrawn. ``cells`` are column, former and new value.
    """

    at: str
    what: str
    operation: str
    plan: str
    by: str
    reason: str
    over: bool
    run: str
    cells: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class TextVersion:
    """A version of a memory's text, with the reason for which it was written."""

    ordinal: int
    reason: str
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class WholeRow:
    """A row with its whole text, its properties by column, and everything that is known about it.

    ``raw`` is the text as it is stored, for a form in which a person edits it: empty if a part of it is not shown. ``root`` is the corpus
    of a page. ``claim`` is the trail of a memory that is a claim. ``neighbours`` are headings with rows.
    """

    row: MemoryRow
    text: str
    body: str
    raw: str
    properties: Mapping[str, Any]
    root: str
    claim: ClaimResponse | None
    aliases: tuple[str, ...]
    versions: tuple[TextVersion, ...]
    sources: tuple[CitedPassage, ...]
    neighbours: tuple[tuple[str, tuple[MemoryRow, ...]], ...]
    history: tuple[RowChange, ...]


class NamespaceRows:
    """The rows of one namespace, read on a reader's connection.

    Opening it costs two statements. Raises ``Refused`` for an unknown namespace and ``StoreError`` for a disconnected store.
    """

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self.name, self.id = namespace, namespace_id(connection, namespace)
        found = connected_store(connection, self.id)
        self.store: ConnectedStore | None = found[0] if found else None
        self._binding: Binding = found[0].binding if found else memory_binding()
        self._scope = found[1] if found else Scope(self.id)

    def listed(
        self, name: str, *, text: str = "", session: str = "", every: bool = False, page: int = 1
    ) -> list[MemoryRow]:
        """Return a page of a list, and one row more if there is another page. One statement.

        The newest rows come first, or with ``text`` the best: rows that contain all its words, in any case, or if there are none, at least
        half of them. ``every`` includes rows that are not live. Cost: a pass over the rows of the namespace.
        """
        return self._listed(LISTS[name], text, session, every, (page - 1) * PAGE)

    def _listed(self, kinds: Sequence[str], text: str, session: str, every: bool, offset: int) -> list[MemoryRow]:
        from slowwave.search.words import asked

        # Words begin as a stem does, without its y ("battery" is the stem of "batteries"), and numbers are whole. No stem has a character
        # with a meaning in a regular expression; scripts without spaces have no beginnings of words.
        words = [
            (rf"\m{word}\M" if word.isdigit() else rf"\m{word.removesuffix('y')}") if word.isascii() else word
            for word in dict.fromkeys(asked(text))
        ]
        rows = self._run(
            _MATCHED if text else _LISTED,
            source=self._union(kinds),
            standing=sql.SQL(_EVER if every else _LIVE),
            text=sql.Literal(text),
            words=sql.SQL("{}::text[]").format(sql.Literal(words)),
            session=sql.Literal(session),
            limit=sql.Literal(PAGE + 1),
            offset=sql.Literal(offset),
        )
        return _memory_rows(rows)

    def counts(self, *, every: bool = False) -> dict[str, int]:
        """Return the number of rows of each list, at most ``COUNTED + 1``. One statement."""
        parts = [
            sql.SQL(_COUNTED).format(
                name=sql.Literal(name),
                source=self._union(kinds),
                standing=sql.SQL(_EVER if every else _LIVE),
                limit=sql.Literal(COUNTED + 1),
            )
            for name, kinds in LISTS.items()
        ]
        return {str(name): int(count) for name, count in self._fetch(sql.SQL(" UNION ALL ").join(parts))}

    def search(self, text: str, *, every: bool = False) -> tuple[list[MemoryRow], tuple[str, ...]]:
        """Return the rows that ``slowwave search`` finds and the facts and relationships that match, best first, and warnings.

        Of a passage the row is its document, or the memory that states the same.

        Unlike a search of an agent it is not logged as a recall, because nights would take it for one, and asks no language model.
        ``every`` includes rows that are not live, and sessions.
        """
        from slowwave.search.candidates import lexical_scores
        from slowwave.search.request import SearchRequest
        from slowwave.search.search import search_on  # loads the embedding model, which lists do without
        from slowwave.search.words import asked

        request = SearchRequest(query=text, k=PAGE, include_retired=every, corpus="all" if every else "durable")
        found = search_on(self._connection, self.name, request, plain=True)
        scores: dict[str, float] = {}
        for result in (
            found.results
        ):  # of a memory and the passage that states the same, the memory: its page leads to the passage
            id_ = next((other.id for other in (result, *result.also_in) if other.kind != "chunks"), result.id)
            scores.setdefault(id_, result.score)
        matched = self._listed(("facts", "relationships"), text, "", every, 0)
        shares = lexical_scores(np.array([row.score for row in matched]), 1.0).tolist()
        rows = [
            *(replace(row, score=scores[row.passage or row.id]) for row in self._found([*scores], asked(text))),
            *(replace(row, score=share) for row, share in zip(matched, shares, strict=True)),
        ]
        warnings = () if matched and not found.results else found.warnings
        return sorted(rows, key=lambda row: -row.score), warnings

    def _found(self, ids: Sequence[str], words: Sequence[str]) -> list[MemoryRow]:
        """Return rows by id in this order, each with the part of its text that has the most of the ``words``."""
        from slowwave.search.snippets import snippet

        sources = {kind: self._source(kind) for kind in ("memories", "entities", "documents")}
        rows = self._run(_FOUND, ids=_ids(ids), **sources)
        found: dict[str, MemoryRow] = {}
        for hit, passage, *shown in rows:
            (row,) = _memory_rows([shown])
            if hit == row.id:
                found[hit] = replace(row, text=snippet(str(quotable(shown[2])), words, _LINE))
            else:
                text = snippet(str(quotable(passage)), words, _LINE)
                about = " · ".join(part for part in (row.text, row.about) if part)
                found[hit] = replace(row, text=text, about=str(quotable(quote(about, _LINE))), passage=hit)
        return [found[id_] for id_ in ids if id_ in found]

    def row(self, kind: str, id_: str) -> WholeRow | None:
        """Return a row with everything that is known about it; None if there is none. At most ten statements."""
        at = {"id": _id(id_)}
        table = self._table(_TABLES.get(kind, kind))
        rows = self._run(_ROW, source=self._source(kind), table=table, most=sql.Literal(LONGEST_TEXT), **at)
        if not rows:
            return None
        *shown, text, body, properties = rows[0]
        (row,) = _memory_rows([shown])
        raw = str(body if kind in ("documents", "pages") else text)
        forgotten = row.state == "forgotten"
        has_versions = kind == "memories" and not forgotten
        found = self._run(_VERSIONS, most=sql.Literal(MOST_EVENTS), **at) if has_versions else []
        corpus = properties.get("corpus_id")
        roots = self._run(_ROOT, id=_id(corpus)) if corpus else []
        aliases = self._run(_ALIASES, most=sql.Literal(MOST_NEAR), **at) if kind == "entities" else []
        return WholeRow(
            row,
            str(quotable(str(text))),
            str(quotable(str(body))),
            raw if quotable(raw) == raw and len(raw) < LONGEST_TEXT else "",
            quotable(properties),
            str(roots[0][0]) if roots else "",
            self._claim(properties) if kind == "memories" and row.label == "claim" else None,
            tuple(str(quotable(str(alias))) for (alias,) in aliases),
            tuple(TextVersion(n, quotable(why), when, quotable(quote(said, _READ))) for n, why, when, said in found),
            () if forgotten else self._cited(properties),
            self._neighbours(kind, id_),
            self._history(id_),
        )

    def passage(self, document: str, passage: str) -> tuple[str, int] | None:
        """Return the text of a document's passage and the line where it begins, 0 if unknown. One statement."""
        rows = self._run(_PASSAGE, id=_id(document), passage=_id(passage))
        return (str(quotable(str(rows[0][0]))), int(rows[0][1])) if rows else None

    def _claim(self, properties: Mapping[str, Any]) -> ClaimResponse | None:
        if self.store:
            return None
        from slowwave.wiki.claims.trail import ClaimRequest, claim

        return claim(self._connection, self.name, ClaimRequest(id=properties["id"]))

    def _cited(self, properties: Mapping[str, Any]) -> tuple[CitedPassage, ...]:
        passages, documents = (properties.get(f"source_{of}_ids") or [] for of in ("chunk", "document"))
        if not (passages or documents):
            return ()
        rows = self._run(_CITED, passages=_ids(passages), whole=_ids(documents), most=sql.Literal(MOST_NEAR))
        return tuple(
            CitedPassage(
                document,
                passage,
                str(quotable(quote(title, _LINE))),
                str(quotable(quote(place, _LINE))),
                line,
                str(quotable(quote(speaker, _LINE))),
                str(quotable(quote(text, _CELL))),
            )
            for document, passage, title, place, line, speaker, text, _ in rows
        )

    def _neighbours(self, kind: str, id_: str) -> tuple[tuple[str, tuple[MemoryRow, ...]], ...]:
        asked = NEIGHBOURS[kind]
        if not asked:
            return ()
        parts = [
            self._filled(
                _NEAR,
                place=sql.Literal(n),
                source=self._source(of),
                near=self._filled(near, id=_id(id_), namespace=_id(self.id)),
                id=_id(id_),
                most=sql.Literal(MOST_NEAR),
            )
            for n, (_, of, near) in enumerate(asked)
        ]
        grouped: dict[int, list[MemoryRow]] = {}
        seen: set[str] = set()
        for place, *shown in sorted(self._fetch(sql.SQL(" UNION ALL ").join(parts)), key=lambda row: row[0]):
            (row,) = _memory_rows([shown])
            if row.id not in seen:
                seen.add(row.id)
                grouped.setdefault(place, []).append(row)
        return tuple((asked[n][0], tuple(rows)) for n, rows in grouped.items())

    def _history(self, id_: str) -> tuple[RowChange, ...]:
        rows = self._run(
            _CHANGES,
            id=_id(id_),
            namespace=_id(self.id),
            vectors=sql.SQL("{}::text[]").format(sql.Literal(list(VECTORS))),
            cell=sql.Literal(_CELL),
            most=sql.Literal(MOST_EVENTS),
        )
        return tuple(
            RowChange(
                at,
                "applied" if mode == "apply" else mode,
                operation,
                plan,
                by,
                str(quotable(reason)),
                over,
                run,
                tuple(
                    (str(column), _value(before), _value(after))
                    for column, action, before, after in cells
                    if column not in _SILENT and action == "set"
                ),
            )
            for at, mode, operation, plan, by, reason, over, run, cells in rows
        )

    def _table(self, name: str) -> sql.Composable:
        """Return the SELECT of a table of the catalogue, in brackets."""
        return sql.SQL("({})").format(select_rows(self._binding, metadata.tables[f"memory.{name}"], self._scope))

    def _source(self, kind: str) -> sql.Composable:
        return self._filled(_SOURCES[kind])

    def _union(self, kinds: Sequence[str]) -> sql.Composable:
        return sql.SQL(" UNION ALL ").join([self._source(kind) for kind in kinds])

    def _filled(self, template: LiteralString, **values: sql.Composable) -> sql.Composed:
        """Fill a template with values, with ``_PARTS``, and the names of tables in it with their SELECTs."""
        tables = {name: self._table(name) for name in _NAMED if f"{{{name}}}" in template and name not in values}
        parts = {name: self._filled(part, **values) for name, part in _PARTS.items() if f"{{{name}}}" in template}
        return sql.SQL(template).format(**tables, **parts, **({"read": sql.Literal(_READ)} | values))

    def _run(self, template: LiteralString, **values: sql.Composable) -> list[list[Any]]:
        return self._fetch(self._filled(template, **values))

    def _fetch(self, statement: sql.Composed) -> list[list[Any]]:
        with reading(self.store) if self.store else nullcontext():
            return [list(row) for row in self._connection.execute(statement).fetchall()]


_NAMED: Final = (
    *("memories", "memory_versions", "entities", "entity_aliases", "memory_facts", "relationships"),
    *("corpora", "documents", "chunks", "links", "pages"),
)
"""Tables that templates name."""


def _memory_rows(rows: Sequence[Sequence[Any]]) -> list[MemoryRow]:
    return [
        MemoryRow(
            kind,
            id_,
            str(quotable(quote(text, _LINE))),
            str(quotable(label)),
            str(quotable(quote(about, _LINE))),
            at or "",
            state,
            score=float(score[0]) if score else 0.0,
        )
        for kind, id_, text, label, about, at, state, *score in rows
    ]


def _value(text: str | None) -> str:
    return str(quotable(text)) if text else "nothing"


def _id(id_: str) -> sql.Composable:
    return sql.SQL("{}::uuid").format(sql.Literal(id_))


def _ids(ids: Sequence[str]) -> sql.Composable:
    return sql.SQL("{}::uuid[]").format(sql.Literal(list(ids)))
