"""Candidates of a search by words, vectors or substrings, calibrated and fused into one score from 0 to 1."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import numpy as np
from psycopg import sql

from slowwave.models.embedder import Embedder
from slowwave.search.request import Mode, SearchScope
from slowwave.search.words import K1, LEVELS, B, asked
from slowwave.store.logins import Connection

# Candidates from the store: rows by their words, by their vectors, or by a substring, each with its raw score.
#
# BM25 is computed over the lists of the inverted index alone: the terms (``memory.search_terms``) contain the frequency of each word in a
# text, so no text is loaded. Scopes are conditions of these queries, so rows that they exclude take no place in a list.

Part = sql.Composed | sql.SQL
"""A part of an SQL statement; values are parameters."""

VECTORS: Final = {"entity_vectors": "entities", "chunk_vectors": "chunks", "memory_vectors": "memories"}
"""Tables of vectors → kind of their rows. They are listed here because ``slowwave.store.tables`` loads SQLAlchemy, which takes longer than
a search."""

_LIVE: Final = sql.SQL("s.live")

_INDEX_SCAN: Final = """
SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)
"""


@dataclass(frozen=True, slots=True)
class Domain:
    """The rows that a search may find.

    They belong to a namespace and to some planes, are live or as they were at an instant, and lie within a scope.
    """

    namespace: str
    planes: tuple[str, ...]
    scope: SearchScope
    as_of: datetime | None = None
    retired: bool = False

    def condition(self, kind: str = "") -> tuple[Part, dict[str, Any]]:
        """Return a condition on ``memory.search_texts s``, and its values; ``kind`` is the kind of the rows if it is known.

        The namespace and the kind, repeated in the condition on what the scope asks for, keep the store's other rows out of the query
        plan.
        """
        values: dict[str, Any] = {"namespace": self.namespace, "planes": list(self.planes)}
        parts: list[sql.Composable] = [sql.SQL("s.namespace_id = %(namespace)s AND s.plane = ANY (%(planes)s)")]
        inner: list[sql.Composable] = []
        if self.as_of is not None:
            at = self.as_of if self.as_of.tzinfo else self.as_of.replace(tzinfo=UTC)
            values["as_of"] = at
            inner.append(sql.SQL("r.recorded_at <= %(as_of)s AND (r.live OR r.invalidated_at > %(as_of)s)"))
        elif not self.retired:
            parts.append(_LIVE)
        for name, asked_for in self.scope.model_dump(exclude_defaults=True).items():
            _narrow(name, asked_for, inner, values)
        if inner:
            inner.append(sql.SQL("r.namespace_id = %(namespace)s"))
            if kind:
                inner.append(sql.SQL("r.kind = {}").format(sql.Literal(kind)))
            held = sql.SQL(" AND ").join(inner)
            parts.append(sql.SQL("EXISTS (SELECT 1 FROM memory.search_rows r WHERE r.id = s.id AND {})").format(held))
        return sql.SQL(" AND ").join(parts), values


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates from words or from vectors: ids, raw scores (n) and, for words, the bound of a score."""

    ids: list[str]
    scores: np.ndarray
    bound: float = 0.0


_BY_WORDS: Final = sql.SQL("""
WITH hits AS MATERIALIZED (
  SELECT q.term, q.level, s.id, s.length
  FROM unnest(%(terms)s::integer[], %(levels)s::integer[], %(lexemes)s::text[]) AS q (term, level, lexeme)
  JOIN memory.search_texts s ON s.words @@ q.lexeme::tsquery WHERE {domain}
), counted AS (
  SELECT id, term, max(level) AS n, min(length) AS length FROM hits GROUP BY id, term
), space AS (
  SELECT greatest(coalesce(sum(texts), 0), 1)::float8 AS texts, greatest(coalesce(sum(words), 0), 1)::float8 AS words
  FROM memory.search_statistics WHERE namespace_id = %(namespace)s
), weights AS (
  SELECT a.term, a.times * ln(1 + (greatest(space.texts, f.found) - f.found + 0.5) / (f.found + 0.5)) AS weight
  FROM unnest(%(times)s::integer[]) WITH ORDINALITY AS a (times, term)
  LEFT JOIN (SELECT term, count(*) AS known FROM counted GROUP BY term) AS c ON c.term = a.term
  CROSS JOIN LATERAL (SELECT coalesce(c.known, 0)::float8 AS found) AS f, space
)
SELECT c.id::text,
  sum(w.weight * c.n * (1 + %(k1)s) / (c.n + %(k1)s * (1 - %(b)s + %(b)s * c.length * space.texts / space.words))) AS score,
  (SELECT sum(weight) FROM weights)
FROM counted c JOIN weights w ON w.term = c.term, space GROUP BY c.id ORDER BY score DESC, c.id LIMIT %(limit)s
""")


def by_words(connection: Connection, domain: Domain, query: str, limit: int) -> Found:
    """Return the ``limit`` best rows by BM25 of the query's words.

    Ties are ordered by id.
    """
    times: dict[str, int] = {}
    for word in asked(query):
        times[word] = times.get(word, 0) + 1
    if not times:
        return Found([], np.empty(0))
    tag = domain.namespace[:8]
    terms = [
        (number, level, f"'{tag}:{word}{'' if level == 1 else f'/{level}'}'")
        for number, word in enumerate(times, 1)
        for level in LEVELS
    ]
    condition, values = domain.condition()
    numbers, levels, lexemes = map(list, zip(*terms, strict=True))
    values |= {"terms": numbers, "levels": levels, "lexemes": lexemes, "times": list(times.values())}
    values |= {"limit": limit, "k1": K1, "b": B}
    # Not prepared, so that PostgreSQL plans it for this namespace: the plan of a prepared statement scans the index of all its rows for
    # each word, at three times the cost.
    rows = connection.execute(_BY_WORDS.format(domain=condition), values, prepare=False).fetchall()
    return Found([str(r[0]) for r in rows], _floats(r[1] for r in rows), float(str(rows[0][2])) if rows else 0.0)


def by_vector(connection: Connection, domain: Domain, model: str, vector: np.ndarray, limit: int) -> Found:
    """Return the ``limit`` best rows of each vectors table by cosine with ``vector`` (d).

    The index of the model is used if it has one.
    """
    conditions = {name: domain.condition(kind) for name, kind in VECTORS.items()}
    values = conditions["memory_vectors"][1] | {"vector": _written(vector), "limit": limit}
    parts = [
        sql.SQL(
            "(SELECT v.id::text, 1 - (v.vector::vector({width}) <=> %(vector)s::vector({width})) AS cosine FROM memory.{table} v "
            "JOIN memory.search_texts s ON s.id = v.id WHERE v.model = {model} AND v.namespace_id = %(namespace)s AND {domain} "
            "ORDER BY v.vector::vector({width}) <=> %(vector)s::vector({width}) LIMIT %(limit)s)"
        ).format(width=sql.Literal(len(vector)), table=sql.Identifier(name), model=sql.Literal(model), domain=condition)
        for name, (condition, _) in conditions.items()
    ]
    with connection.pipeline(), connection.transaction():  # a single round trip
        connection.execute(_INDEX_SCAN, (str(max(40, limit)),))
        cursor = connection.execute(sql.SQL(" UNION ALL ").join(parts), values)
    rows = cursor.fetchall()
    best = sorted(((float(str(r[1])), str(r[0])) for r in rows), key=lambda pair: (-pair[0], pair[1]))
    return Found([id_ for _, id_ in best], _floats(score for score, _ in best))


def cosines(connection: Connection, model: str, vectors: np.ndarray, ids: Sequence[str]) -> dict[str, float]:
    """Return the best cosine of each row that has a vector with any of ``vectors`` (q, d)."""
    if not ids or not len(vectors):
        return {}
    parts = sql.SQL(" UNION ALL ").join(
        sql.SQL(
            "SELECT v.id::text, max(1 - (v.vector <=> q.vector)) FROM memory.{table} v, "
            "unnest(%(vectors)s::text[]::vector[]) AS q (vector) "
            "WHERE v.id = ANY (%(ids)s::uuid[]) AND v.model = %(model)s GROUP BY v.id"
        ).format(table=sql.Identifier(name))
        for name in VECTORS
    )
    values = {"vectors": [_written(vector) for vector in vectors], "ids": list(ids), "model": model}
    rows = connection.execute(parts, values).fetchall()
    return {str(r[0]): float(str(r[1])) for r in rows}


_FOLLOWING: Final = sql.SQL("""
SELECT p.id::text, c.id::text, 1 - (v.vector <=> %(vector)s::vector) FROM (
    SELECT p.* FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS q (id, place) JOIN memory.chunks p USING (id)
    ORDER BY place LIMIT %(most)s) p
  JOIN memory.chunks c ON c.document_id = p.document_id AND c.ordinal = p.ordinal + 1 AND c.invalidated_at IS NULL
  JOIN memory.search_texts s ON s.id = c.id
  LEFT JOIN memory.chunk_vectors v ON v.id = c.id AND v.model = %(model)s
 WHERE p.invalidated_at IS NULL AND {domain}
""")


def following(
    connection: Connection, domain: Domain, model: str, vector: np.ndarray, ids: Sequence[str], most: int
) -> list[tuple[str, str, float | None]]:
    """Return (passage, next passage in its document, cosine of the next one or None) for live passages.

    Only the first ``most`` passages among the rows that ``ids`` name are used. The cosine is None if the next passage has no vector.
    """
    condition, values = domain.condition("chunks")
    values |= {"vector": _written(vector), "model": model, "ids": list(ids), "most": most}
    rows = connection.execute(_FOLLOWING.format(domain=condition), values).fetchall()
    return [(str(r[0]), str(r[1]), None if r[2] is None else float(str(r[2]))) for r in rows]


_PRECEDED: Final = """
SELECT c.id::text, (1 - (v.vector <=> q.vector) + %(share)s * (1 - (w.vector <=> q.vector)))
    / sqrt(1 + %(share)s * %(share)s + 2 * %(share)s * (1 - (v.vector <=> w.vector)))
  FROM memory.chunks c JOIN memory.chunks p ON p.document_id = c.document_id AND p.ordinal = c.ordinal - 1 AND p.invalidated_at IS NULL
  JOIN memory.chunk_vectors v ON v.id = c.id AND v.model = %(model)s JOIN memory.chunk_vectors w ON w.id = p.id AND w.model = v.model,
  (SELECT %(vector)s::vector AS vector) q
 WHERE c.id = ANY (%(ids)s::uuid[]) AND c.external_id IS NOT NULL
"""


def preceded_cosines(connection: Connection, model: str, vector: np.ndarray, ids: Sequence[str]) -> dict[str, float]:
    """Return the cosines of imported messages, each together with the message before it in its conversation.

    The vector of a message gets ``PRECEDING`` times that of the message before it, and the sum is made unit: "Yes, on Friday." names its
    topic only in the question before it. First messages and other rows, such as passages of pages, are left out.
    """
    values = {"vector": _written(vector), "model": model, "ids": list(ids), "share": PRECEDING}
    return {str(r[0]): float(str(r[1])) for r in connection.execute(_PRECEDED, values).fetchall()}


_CITED: Final = """
SELECT m.id::text, c.id::text, c.id = ANY (m.source_chunk_ids) AND m.kind <> 'summary' FROM memory.memories m JOIN memory.chunks c
    ON c.id = ANY (m.source_chunk_ids) OR (m.source_chunk_ids = '{}' AND c.document_id = ANY (m.source_document_ids))
 WHERE m.id = ANY (%(ids)s::uuid[]) AND c.id = ANY (%(ids)s::uuid[])
"""


def cited_among(connection: Connection, ids: Sequence[str]) -> list[tuple[str, str, bool]]:
    """Return (memory, passage, sure) for rows by their ids; see ``slowwave.search.rows``.

    ``sure`` means that the two count as one result whatever their texts are.
    """
    rows = connection.execute(_CITED, {"ids": list(ids)}).fetchall()
    return [(str(r[0]), str(r[1]), bool(r[2])) for r in rows]


_WITHIN: Final = sql.SQL("SELECT s.id::text FROM memory.search_texts s WHERE s.id = ANY (%(ids)s::uuid[]) AND {domain}")


def within(connection: Connection, domain: Domain, ids: Sequence[str]) -> list[str]:
    """Return those of some rows that the search may find."""
    condition, values = domain.condition()
    return [str(row[0]) for row in connection.execute(_WITHIN.format(domain=condition), values | {"ids": list(ids)})]


_ANY: Final = sql.SQL("SELECT EXISTS (SELECT 1 FROM memory.search_texts s WHERE {domain})")


def has_rows(connection: Connection, domain: Domain) -> bool:
    """Return whether the domain has any row at all."""
    condition, values = domain.condition()
    row = connection.execute(_ANY.format(domain=condition), values).fetchone()
    return bool(row and row[0])


_EXACT: Final = sql.SQL("""
SELECT id, score FROM (
  SELECT r.id::text AS id, r.day, CASE WHEN position(%(query)s IN lower(r.path)) > 0 THEN 1.0
    WHEN position(%(query)s IN lower(r.title)) > 0 OR position(%(query)s IN lower(r.metadata::text)) > 0 THEN 0.9
    WHEN position(%(query)s IN lower(r.text)) > 0 THEN 0.8 END AS score
  FROM memory.search_texts s JOIN memory.search_rows r ON r.id = s.id WHERE {domain}) AS held
WHERE score IS NOT NULL ORDER BY score DESC, day DESC, id LIMIT %(limit)s
""")


def by_substring(connection: Connection, domain: Domain, query: str, limit: int) -> Found:
    """Find rows that contain the query, ignoring case: in the path (1), the title or frontmatter (0.9), or the text (0.8)."""
    condition, values = domain.condition()
    values |= {"query": query.lower(), "limit": limit}
    rows = connection.execute(_EXACT.format(domain=condition), values).fetchall()
    return Found([str(r[0]) for r in rows], _floats(r[1] for r in rows))


_TAGGED: Final = sql.SQL("""
NOT EXISTS (SELECT 1 FROM unnest(%(tags)s::text[]) AS wanted (tag) WHERE NOT EXISTS (
  SELECT 1 FROM jsonb_array_elements_text(r.tags) AS given (tag), lower(ltrim(given.tag, '#')) AS own
  WHERE own = wanted.tag OR starts_with(own, wanted.tag || '/')))
""")


def _narrow(name: str, asked_for: Any, inner: list[sql.Composable], values: dict[str, Any]) -> None:
    """Add one field of a scope as a condition on ``memory.search_rows r``."""
    values[name] = asked_for
    match name:
        case "path_glob":
            values[name] = _glob(str(asked_for))
            inner.append(sql.SQL("r.path ~ %(path_glob)s"))
        case "tags":
            values[name] = [tag.lower() for tag in asked_for]
            inner.append(_TAGGED)
        case "since" | "until":
            values[name] = asked_for.isoformat()
            inner.append(sql.SQL("r.day >= %(since)s" if name == "since" else "r.day <= %(until)s"))
        case "session_id" | "session_key":
            ids = [asked_for] if isinstance(asked_for, str) else list(asked_for)
            known = values.setdefault("sessions", [])
            known.extend(ids)
            if len(known) == len(ids):
                inner.append(sql.SQL("r.session_id = ANY (%(sessions)s)"))
        case _:
            values[name] = list(asked_for)
            inner.append(sql.SQL("r.{} = ANY ({})").format(sql.Identifier(name), sql.Placeholder(name)))


def _glob(pattern: str) -> str:
    """Translate a glob into a PostgreSQL regular expression: ``*`` and ``?`` stay within a folder, ``**`` does not."""
    written = re.sub(r"[^\w/*?]", lambda m: "\\" + m[0], pattern)
    for glob, expression in (
        ("**/", "\0"),
        ("**", "\1"),
        ("*", "[^/]*"),
        ("?", "[^/]"),
        ("\0", "(.*/)?"),
        ("\1", ".*"),
    ):
        written = written.replace(glob, expression)
    return f"^{written}$"


def _written(vector: np.ndarray) -> str:
    return "[" + ",".join(map(repr, np.asarray(vector, np.float32).tolist())) + "]"


def _floats(values: Any) -> np.ndarray:
    return np.array([float(str(value)) for value in values], np.float64)


# Scores from 0 to 1, and their fusion: the score by words and the score by meaning, weighted by how well the words matched.
#
# A lexical score is BM25 as a share of the score of a text that contains every word of the query several times. A cosine is scaled between
# the typical cosines of unrelated texts and of texts with the same meaning for its model. Fusing scores keeps information that ranks lose:
# by how much a row was better. ``make bench-search`` compares the alternatives.

_FULL: Final = 0.6 * (K1 + 1)
"""Share of BM25's maximum per word at which a word counts as fully found: about one more occurrence than a single one in a text of mean
length."""

_TAIL: Final = 0.02
_NEAR: Final = 0.95
_LEAST: Final = 1e-9

CONTEXT: Final = 0.4
"""Share of a passage's score that is added to the next passage of the same document.

This share, ``RELATIVE``, the weights of words of the contextual models and the weight of a named day were chosen together at 49446df2:
the plateau of 340 combinations on 14 sets of ``benchmarks.search`` and ``benchmarks.speakers``, each group of sets left out in turn. With
.25, hybrid search finds fewer answers of conversations; from .5 on, fewer headings of the EIPs."""

PRECEDING: Final = 0.4
"""Weight of the vector of the message before a message in the vector that is compared with a query. Tuned with ``benchmarks.speakers`` at
962f73a3: .4 finds 158 of 181 answers among ten, 0 finds 155. Passages of pages are left as they are: with .4, the EIPs of
``make bench-search`` lose .024 of their headings."""


class Calibration(NamedTuple):
    """Calibration of a model: cosines of unrelated and of equal texts, and the least and greatest weight of words.

    A row is evidence for a query if its calibrated cosine, plus ``worth`` times the share of the query's words in it, reaches
    ``evidence``. Tuned with ``benchmarks.reminders`` at 9d52f4b, on 172 prompts with an answer and 258 off-topic ones: with MiniLM and
    .46, one more off-topic prompt in a hundred is answered; with .48, one more long prompt in thirty is not.
    """

    unrelated: float
    equal: float
    least: float
    most: float
    worth: float = 0.15
    evidence: float = 0.47


_CALIBRATIONS: Final[Mapping[str, Calibration]] = {
    "fast-use-v3": Calibration(
        0.25, 0.85, 0.6, 1.0, worth=0.5, evidence=0.3
    ),  # static: words are nearly always the better evidence
    "all-minilm-l6-v2-int8": Calibration(0.1, 0.75, 0.2, 0.7),
}
CONTEXTUAL: Final = Calibration(0.1, 0.8, 0.2, 0.7)


def calibration_of(model: str) -> Calibration:
    """Return the calibration of a model; a model that was never measured counts as a contextual one."""
    return _CALIBRATIONS.get(model, CONTEXTUAL)


def lexical_scores(bm25: np.ndarray, bound: np.ndarray | float) -> np.ndarray:
    """Scale BM25 scores to 0 … 1.

    ``bound`` is the sum of the weights of the query's words, each as often as it is asked, found or not.
    """
    return np.clip(np.asarray(bm25, np.float64) / np.maximum(np.asarray(bound, np.float64) * _FULL, 1e-9), 0, 1)


def semantic_scores(cosines: np.ndarray, calibration: Calibration) -> np.ndarray:
    """Scale cosines to 0 … 1, in their order.

    Cosines below that of unrelated texts share the lowest ``_TAIL``, and those near that of equal texts or above it share the rest from
    ``_NEAR`` on, because all facts of one form may be that near to a question.
    """
    unrelated, equal = calibration.unrelated, calibration.equal
    near = unrelated + (_NEAR - _TAIL) / (1 - _TAIL) * (equal - unrelated)
    return np.interp(cosines, (-1, unrelated, near, 1), (0, _TAIL, _NEAR, 1))


LEADERS: Final = 3
"""Number of the best lexical scores, of different things, whose mean measures how well the words matched. A single copy of the question in
the store is no evidence for the other rows."""


def weight_of_words(found: np.ndarray | float, calibration: Calibration) -> np.ndarray:
    """Return the weight of words compared with meaning.

    ``found`` is the mean of the ``LEADERS`` best lexical scores of the query, where a missing score counts as 0.
    """
    return calibration.least + (calibration.most - calibration.least) * np.clip(np.asarray(found, np.float64), 0, 1)


RELATIVE: Final = 0.25
"""Share of a fused score that compares a candidate with the query's best candidates by each measure."""


def fuse(
    lexical: np.ndarray, semantic: np.ndarray, words: np.ndarray | float, query: np.ndarray | None = None
) -> np.ndarray:
    """Fuse scores of candidates (n) by words and by meaning, with the weight of words (n or one), into scores (n), 0 … 1.

    ``query`` (n), in order, numbers the query of each candidate; None means one query. ``RELATIVE`` of each score is its share of the
    query's best score, so a candidate that is far ahead by one measure stays ahead. The best fused score equals the one that the
    calibrated scores alone would give.
    """
    word_scores, meant = np.asarray(lexical, np.float64), np.asarray(semantic, np.float64)
    if not len(word_scores):
        return word_scores
    starts = np.flatnonzero(np.diff(query, prepend=query[0] - 1)) if query is not None else np.zeros(1, np.int64)
    sizes = np.diff(starts, append=len(word_scores))

    def best(scores: np.ndarray) -> np.ndarray:
        return np.repeat(np.maximum(np.maximum.reduceat(scores, starts), _LEAST), sizes)

    calibrated = words * word_scores + (1 - words) * meant
    relative = words * word_scores / best(word_scores) + (1 - words) * meant / best(meant)
    mixed = (1 - RELATIVE) * calibrated / best(calibrated) + RELATIVE * relative
    return mixed * best(calibrated) / best(mixed)


def in_context(own: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Add to the scores (n) of passages a share of the scores of the passages before them (n, 0 for none).

    An answer often shares no word with its question.
    """
    return own + CONTEXT * before * (1 - own)


# The search in each mode: candidates by words and by meaning, calibrated, fused and rated in context, with one score from 0 to 1.

_WORDINGS: Final = 3
"""Number of rows that are checked for each of the things with the best lexical scores."""

_LEADING: Final = 20
"""Number of the best passages among the candidates whose following passages are loaded."""


@dataclass(frozen=True, slots=True)
class ScoredIds:
    """Scores from 0 to 1 by the ids of rows, in no order, with the cosines behind them and warnings about their computation."""

    scores: Mapping[str, float]
    warnings: tuple[str, ...] = ()
    cosines: Mapping[str, float] = field(default_factory=dict[str, float])


def matches(
    connection: Connection, domain: Domain, query: str, mode: Mode, embedder: Callable[[], Embedder], depth: int
) -> ScoredIds:
    """Return the ``depth`` best candidates by words and by vectors.

    ``embedder`` is called if vectors are wanted; its exceptions are passed on.
    """
    if mode == "exact":
        found = by_substring(connection, domain, query, depth)
        return ScoredIds(dict(zip(found.ids, found.scores.tolist(), strict=True)))
    words = Found([], np.empty(0)) if mode == "vector" else by_words(connection, domain, query, depth)
    word_scores = dict(zip(words.ids, lexical_scores(words.scores, words.bound).tolist(), strict=True))
    if mode in ("bm25", "recall"):
        return ScoredIds(word_scores)
    model = embedder()
    vector = model.embed([query])[0]
    near = by_vector(connection, domain, model.model, vector, depth)
    meant = dict(zip(near.ids, near.scores.tolist(), strict=True))
    if not meant:
        why = f"No row here has a vector of the model {model.model}: only words were compared."
        if not word_scores and not has_rows(connection, domain):
            why = "Nothing that is stored meets the conditions of this search: its corpus, its scope and its instant. "
            why += "Facts, relationships and rows of connected stores are not searched: the page *Memory* of `slowwave review` finds them."
        return ScoredIds(word_scores, (why,))
    calibration = calibration_of(model.model)
    if mode == "vector":
        meant |= preceded_cosines(connection, model.model, vector, [*meant])
        return ScoredIds(
            dict(zip(meant, semantic_scores(np.array([*meant.values()]), calibration).tolist(), strict=True)),
            cosines=meant,
        )
    meant |= cosines(connection, model.model, vector[None], [id_ for id_ in word_scores if id_ not in meant])
    meant |= preceded_cosines(connection, model.model, vector, [*meant])
    weight = weight_of_words(leading_mean(connection, word_scores), calibration)

    def fused() -> dict[str, float]:
        ids = sorted(word_scores.keys() | meant.keys())
        lexical = np.array([word_scores.get(id_, 0.0) for id_ in ids])
        semantic = semantic_scores(np.array([meant.get(id_, -1.0) for id_ in ids]), calibration)
        return dict(zip(ids, fuse(lexical, semantic, weight).tolist(), strict=True))

    leading = [id_ for _, id_ in sorted((-score, id_) for id_, score in fused().items())]
    after = following(connection, domain, model.model, vector, leading, _LEADING)
    added = {id_: cosine for _, id_, cosine in after if cosine is not None and id_ not in meant}
    meant |= added | preceded_cosines(connection, model.model, vector, [*added])
    scores = fused()
    before = {id_: scores[first] for first, id_, _ in after if id_ in scores}
    gained = in_context(np.array([scores[id_] for id_ in before]), np.array([*before.values()]))
    return ScoredIds(scores | dict(zip(before, gained.tolist(), strict=True)), cosines=meant)


def leading_mean(connection: Connection, said: Mapping[str, float]) -> float:
    """Return the mean of the ``LEADERS`` best lexical scores (row → score).

    A row is skipped if it is the passage of a memory, or the memory of a passage, that already counts.
    """
    best = sorted(said, key=lambda id_: (-said[id_], id_))[: LEADERS * _WORDINGS]
    duplicates: dict[str, set[str]] = {id_: set() for id_ in best}
    for memory, passage, sure in cited_among(connection, best) if len(best) > LEADERS else ():
        if sure:
            duplicates[memory].add(passage)
            duplicates[passage].add(memory)
    things: list[str] = []
    for id_ in best:
        if duplicates[id_].isdisjoint(things):
            things.append(id_)
    return sum(said[id_] for id_ in things[:LEADERS]) / LEADERS
