"""A search of a namespace: matches, those of them that may be shown, their order, and their presentation.

Retired, superseded and quarantined rows are left out unless they are asked for, and so are sessions. Each search is logged as a recall
(``slowwave.search.recall_events``).
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache
from typing import Any, Final

import numpy as np
from rapidfuzz.distance import OSA

from slowwave.errors import EmbeddingError, EncoderError
from slowwave.models.embedder import DeadlineEmbedder, Embedder
from slowwave.models.panel import Searcher, SearchStep
from slowwave.search.candidates import (
    Calibration,
    Domain,
    ScoredIds,
    calibration_of,
    cosines,
    matches,
    semantic_scores,
    within,
)
from slowwave.search.model_help import helper
from slowwave.search.planner import (
    RERANKED,
    SHOWN,
    WEAK,
    Candidate,
    Order,
    QueryPlan,
    expanded,
    planned,
    reranked,
    selected,
)
from slowwave.search.priors import (
    QueryHints,
    bound,
    collapsed,
    confidence,
    evidence_class,
    is_quarantined,
    precedence,
    prior,
    recall_weight,
    recency,
    stale_warning,
)
from slowwave.search.recall_events import Recalled, log_behind
from slowwave.search.request import Mode, OtherWording, SearchRequest, SearchResponse, SearchResult, known_namespace
from slowwave.search.snippets import coverage, snippet
from slowwave.search.things import (
    STEP,
    Cited,
    better_worded,
    covers,
    either_covers,
    grouped,
    newer_first,
    replaces,
    states_one_sentence,
)
from slowwave.search.words import asked, words
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.settings import Settings
from slowwave.text.frontmatter import body
from slowwave.text.lexicon import is_known
from slowwave.text.markdown import without_marks
from slowwave.text.sentences import sentences
from slowwave.text.slips import ONE, slip
from slowwave.text.small_talk import is_small_talk

_RETIRED: Final = frozenset(("superseded", "retired", "archived", "merged", "quarantined", "tombstone"))
_SHALLOWEST: Final = 100
_PER_RESULT: Final = 10
"""Least number of candidates, and candidates per result: a turn is both a passage and a memory, so half of them state nothing new. Chosen
with ``benchmarks.speakers`` at 962f73a3: with 40 and 4 hybrid search found .838 of the answers that name a person, with these .938."""
_DEEPER: Final = 4  # factor by which a search that found too little is deepened
_CORRECTING: Final = 40  # candidates by whose words a mistyped word is corrected
_DEEPEST: Final = 800  # number of candidates from which on the search is not deepened again
_LONG, _SHORT = 700, 240
_OTHER_WORDS: Final = 0.9
_SENTENCES: Final = 12
_PARTS: Final = re.compile(r"[^\W_]+")
_SAME_FORM: Final = 0.1
"""Difference of ranks within which the newer of two sentences of one form comes first. Chosen on two generated calendars at 9d52f4b: with
.04 / .06 / .1 / .15 the first hit is right for .665 / .670 / .675 / .675 of 200 questions and outdated for .125 / .120 / .115 / .115 of
them; without it .660 and .135."""
_SESSION_WORDS: Final = frozenset(
    words("session sessions conversation chat said told discussed talked yesterday recently")
)
_LIVE_SESSION: Final = frozenset(("active", "interrupted"))
_REORDERING: Final[Mapping[SearchStep, Callable[[Searcher, str, Sequence[Candidate]], Order]]] = {
    "rerank": reranked,
    "select": selected,
}

_ROWS: Final = """
SELECT r.id::text, r.kind, r.plane, r.path, r.title, r.text, r.metadata, r.status, r.day, r.start_line, r.end_line, r.is_file,
  CASE WHEN r.is_file THEN d.content ELSE '' END, r.document_id::text,
  ARRAY(SELECT c::text FROM unnest(m.source_chunk_ids) AS c WHERE c = ANY (%(ids)s::uuid[])),
  CASE WHEN m.source_chunk_ids = '{}' THEN m.source_document_ids::text[] ELSE '{}' END, coalesce(m.kind, '') = 'summary',
  ARRAY(SELECT o.content FROM memory.memories e JOIN memory.memory_versions o ON o.memory_id = e.id
      WHERE r.kind = 'chunks' AND e.source_chunk_ids @> ARRAY[r.id]
        AND (o.id = e.current_version_id AND (e.valid_to <= %(at)s OR e.state = 'quarantined') OR EXISTS (
          SELECT 1 FROM memory.memory_versions v WHERE v.memory_id = e.id AND v.reason = 'redact' AND v.ordinal > o.ordinal))),
  ARRAY(SELECT v.content FROM memory.memories e JOIN memory.memory_versions v ON v.id = e.current_version_id
      WHERE r.kind = 'chunks' AND e.source_chunk_ids @> ARRAY[r.id] AND e.state = 'archived'),
  ARRAY(SELECT ARRAY[e.id::text, o.content, v.content] FROM memory.memories e
        JOIN memory.memory_versions v ON v.id = e.current_version_id AND v.reason NOT IN ('import', 'redact')
        JOIN memory.memory_versions o ON o.memory_id = e.id AND o.ordinal < v.ordinal
      WHERE r.kind = 'chunks' AND e.source_chunk_ids @> ARRAY[r.id] AND e.kind <> 'summary' AND v.recorded_at <= %(at)s),
  coalesce(coalesce(d.valid_to, m.valid_to, t.valid_to) <= %(at)s, false)
FROM memory.search_rows r LEFT JOIN memory.documents d ON d.id = r.document_id LEFT JOIN memory.memories m ON m.id = r.id
  LEFT JOIN memory.entities t ON t.id = r.id
WHERE r.id = ANY (%(ids)s::uuid[])
"""


_TEXTS: Final = "SELECT title, text FROM memory.search_rows WHERE id = ANY (%(ids)s::uuid[])"


@dataclass(slots=True)
class _Row:
    """A candidate with its data.

    ``match`` is from 0 to 1, ``rank`` decides the order, and ``also`` are rows that state the same. ``cited`` are passages among the
    candidates, ``cited_documents`` those of a memory that cites no passage. The texts of memories made from a passage are in ``ended`` if
    the memory has ended, is quarantined or was redacted, in ``archived`` if it is archived, and in ``rewritten``, as (memory, earlier text,
    current text), if it has a newer text than the one made from the passage. ``over``: the row itself has ended.
    """

    id: str
    kind: Any
    plane: str
    path: str
    title: str
    text: str
    metadata: Mapping[str, Any]
    status: str
    day: str
    start_line: int | None
    end_line: int | None
    is_file: bool
    document: str
    document_id: str | None
    cited: Sequence[str]
    cited_documents: Sequence[str]
    is_summary: bool
    ended: Sequence[str]
    archived: Sequence[str]
    rewritten: Sequence[tuple[str, str, str]]
    over: bool
    match: float = 0.0
    rank: float = 0.0
    also: list[_Row] = field(default_factory=lambda: list[_Row]())


def search(
    store: Store, namespace: str, request: SearchRequest, *, embedder: Embedder | None = None, today: date | None = None
) -> SearchResponse:
    """Search a namespace (its name), and log the search as a recall. See ``search_on``."""
    with store.connect("server") as connection:
        found = search_on(connection, namespace, request, embedder=embedder, today=today)
    log_behind(store, "owner", namespace, [Recalled.of_search(found)])
    return found


def search_on(
    connection: Connection,
    namespace: str,
    request: SearchRequest,
    *,
    embedder: Embedder | None = None,
    today: date | None = None,
    plain: bool = False,
    embed_until: float | None = None,
) -> SearchResponse:
    """Search a namespace (by its name) without writing the log, which is left to the caller.

    Relative days are counted from ``today``, which defaults to the day of ``as_of`` if that is given. A search that is ``plain`` asks no
    language model, whatever the settings are. If the query has no vector by ``embed_until`` (monotonic seconds), ``hybrid`` compares
    words only, as it does if the model cannot embed.

    Raises ``Refused`` for an unknown namespace, and ``EmbeddingError`` in the mode ``vector`` if the model cannot embed; ``hybrid`` then
    compares words only and adds a warning.
    """
    began = time.perf_counter()
    today = today or (request.as_of or datetime.now(UTC)).date()
    known = known_namespace(connection, namespace)
    domain = Domain(known.id, _planes(request), request.scope, request.as_of, request.include_retired)
    depth = max(_SHALLOWEST, _PER_RESULT * request.k)
    wishes = QueryHints.from_query(request.query, today)
    if request.mode != "exact" and wishes.days:
        depth *= _DEEPER  # statements of those days may match less well than many of other days
    searcher, warning = (None, "") if plain or request.mode == "exact" else helper(connection, known)
    steps = searcher.steps if searcher else frozenset[SearchStep]()

    def model() -> Embedder:
        chosen = embedder or _embedder_of(known.settings)
        return chosen if embed_until is None else DeadlineEmbedder(chosen, embed_until)

    # A cased model would take a sentence in capitals for acronyms.
    query = request.query.lower() if request.query.isupper() and " " in request.query.strip() else request.query

    def found_by(text: str) -> ScoredIds:
        return _matched(connection, domain, text, request.mode, model, depth)

    plan = planned(searcher, query) if searcher and "plan" in steps else QueryPlan()
    found = found_by(query)
    if searcher and "expand" in steps and "plan" not in steps and max(found.scores.values(), default=0) < WEAK:
        plan = expanded(searcher, query)
    corrected = query if request.mode == "exact" else _corrected(connection, query, found)
    if corrected != query:
        plan = replace(plan, durable=(corrected, *plan.durable), sessions=(corrected, *plan.sessions))
    wanted = request.rerank != "false"
    local = known.settings.reranker_model if wanted and not plain and request.mode != "exact" else ""
    reorders = searcher is not None and wanted and bool(steps & {"rerank", "select"})
    most = max(RERANKED, request.k) if reorders or local else request.k
    while True:
        found = _joined([found, *map(found_by, plan.queries(domain.planes))])
        best = sorted(found.scores.items(), key=lambda pair: (-pair[1], pair[0]))[:depth]
        rows = _rows(connection, domain, request, dict(best))
        ordered = _ordered(rows, request, wishes, today, sessions=plan.include_sessions, most=most)
        crowded = any(row.also for row in ordered) or any(row.over for row in rows)
        if len(ordered) >= request.k or len(best) < depth or depth > _DEEPEST or not crowded:
            break
        depth *= _DEEPER  # for things with so many wordings, or so many outdated rows, that others have no place among the candidates
        found = found_by(query)
    warnings = [warning, plan.warning, *found.warnings]
    if request.rerank == "true" and not (reorders or local):
        warnings.append("No reranker is set, so the order is that of the search.")
    if local and ordered:
        ordered, problem = _ranked_locally(local, ordered, query)
        warnings.append(problem)
    if searcher and reorders and ordered:
        ordered, problems = _reordered(searcher, ordered, query)
        warnings += problems
    meaning = _meaning(connection, corrected, found, model, ordered[: request.k])
    calibration = calibration_of(model().model if meaning else "")
    results = [
        _result(row, place, request, asked(corrected), meaning.get(row.id), calibration)
        for place, row in enumerate(ordered[: request.k], 1)
    ]
    took = (time.perf_counter() - began) * 1000
    return SearchResponse(
        query=request.query,
        count=len(results),
        took_ms=round(took, 2),
        warnings=tuple(dict.fromkeys(filter(None, warnings))),
        results=tuple(results),
    )


def _planes(request: SearchRequest) -> tuple[str, ...]:
    if request.mode == "recall" or request.corpus == "sessions":
        return ("sessions",)
    return ("durable",) if request.corpus == "durable" else ("durable", "sessions")


def _matched(
    connection: Connection,
    domain: Domain,
    query: str,
    mode: Mode,
    embedder: Callable[[], Embedder],
    depth: int,
) -> ScoredIds:
    try:
        return matches(connection, domain, query, mode, embedder, depth)
    except EmbeddingError as problem:
        if mode == "vector":
            raise
        found = matches(connection, domain, query, "bm25", embedder, depth)
        return ScoredIds(found.scores, (f"Only words were compared. {problem}",))


def _corrected(connection: Connection, query: str, found: ScoredIds) -> str:
    """Return the query with each mistyped word replaced by the word that the best candidates have for it.

    A word counts as mistyped if neither the lexicon nor any candidate has it.
    """
    doubtful = {word for word in asked(query) if len(word) >= ONE and word.isalpha() and not is_known(word)}
    best = sorted(found.scores, key=lambda id_: (-found.scores[id_], id_))[:_CORRECTING] if doubtful else []
    if not best:
        return query
    rows = connection.execute(_TEXTS, {"ids": best}).fetchall()
    used = {word for title, text in rows for word in words(f"{title} {text}")}
    meant: dict[str, str] = {}
    for word in doubtful - used:
        if near := [other for other in sorted(used) if slip(word, other, used)]:
            meant[word] = min(near, key=lambda other: OSA.distance(word, other))
    parts = (next(iter(words(part)), "") for part in _PARTS.findall(query))
    return _PARTS.sub(lambda part: meant.get(next(parts), part[0]), query) if meant else query


def _meaning(
    connection: Connection, query: str, found: ScoredIds, embedder: Callable[[], Embedder], rows: Sequence[_Row]
) -> dict[str, float]:
    """Return the calibrated cosine of each row, in its nearest wording, with the nearest sentence of the query.

    Rows without vectors are left out. A prompt of several sentences is not near to any page as a whole. For a long prompt, the first and
    the last sentences are compared.
    """
    if not found.cosines:
        return {}
    best, model = dict(found.cosines), embedder()
    query_sentences = sentences(query)
    if len(query_sentences) > _SENTENCES:
        query_sentences = [*query_sentences[: _SENTENCES // 2], *query_sentences[-_SENTENCES // 2 :]]
    if len(query_sentences) > 1:
        ids = [other.id for row in rows for other in (row, *row.also)]
        with suppress(EmbeddingError):
            for id_, cosine in cosines(connection, model.model, model.embed(query_sentences), ids).items():
                best[id_] = max(best.get(id_, -1.0), cosine)
    nearest = {row.id: max(best.get(other.id, -2.0) for other in (row, *row.also)) for row in rows}
    known = {id_: cosine for id_, cosine in nearest.items() if cosine >= -1}
    scores = semantic_scores(np.array([*known.values()]), calibration_of(model.model))
    return dict(zip(known, scores.tolist(), strict=True))


def _joined(found: Sequence[ScoredIds]) -> ScoredIds:
    """Return the best score of each row; matches of other words than the query's count slightly less."""
    scores = dict(found[0].scores)
    for other in found[1:]:
        for id_, score in other.scores.items():
            scores[id_] = max(scores.get(id_, 0.0), _OTHER_WORDS * score)
    cosines = {id_: max(one.cosines.get(id_, -1.0) for one in found) for one in found for id_ in one.cosines}
    return ScoredIds(scores, tuple(dict.fromkeys(warning for one in found for warning in one.warnings)), cosines)


def _rows(connection: Connection, domain: Domain, request: SearchRequest, scores: Mapping[str, float]) -> list[_Row]:
    """Return the candidates with their data, and the current memories of outdated passages; the rank of each starts as its match.

    A memory gets the match of a passage that it has replaced, if that is better.
    """
    at = request.as_of or datetime.now(UTC)
    rows = _loaded(connection, scores, at)
    replacing: dict[str, float] = {}
    for row in rows.values():
        for memory in _replacing(row):
            replacing[memory] = max(replacing.get(memory, 0.0), row.match)
    if request.mode != "exact" and (absent := sorted(replacing.keys() - rows.keys())):
        rows |= _loaded(connection, dict.fromkeys(within(connection, domain, absent), 0.0), at)
    for memory in replacing.keys() & rows.keys():
        rows[memory].match = rows[memory].rank = max(rows[memory].match, replacing[memory])
    return list(rows.values())


def _loaded(connection: Connection, scores: Mapping[str, float], at: datetime) -> dict[str, _Row]:
    if not scores:
        return {}
    found: dict[str, _Row] = {}
    for values in connection.execute(_ROWS, {"ids": list(scores), "at": at}).fetchall():
        row = _Row(*values)  # type: ignore[arg-type]  # the columns of _ROWS
        row.match = row.rank = scores[row.id]
        found[row.id] = row
    return found


def _replacing(row: _Row) -> list[str]:
    """Return the memories that are shown instead of a passage, because they stated it and have a newer text."""
    return [memory for memory, earlier, text in row.rewritten if replaces(text, earlier, row.text)]


def _ordered(
    rows: Sequence[_Row], request: SearchRequest, wishes: QueryHints, today: date, *, sessions: bool, most: int
) -> list[_Row]:
    """Return the results that may be shown, best first: at most ``most``, one per file and one of several copies.

    ``sessions`` states that conversations are wanted.
    """
    sessions_asked = request.corpus != "all" or sessions or bool(set(words(request.query)) & _SESSION_WORDS)
    shown: list[_Row] = []
    for row in rows:
        if not request.include_retired and _is_retired(row, as_of=request.as_of is not None):
            continue
        if row.plane == "sessions" and not sessions_asked:
            if row.status in _LIVE_SESSION:
                continue
            row.rank -= 0.09
        if request.mode == "recall":
            row.match = (1 - recall_weight()) * row.match + recall_weight() * recency(row.day, today)
            row.rank = row.match
        elif request.mode != "exact":
            row.rank += prior(row.path, row.day, {"status": row.status, **row.metadata}, today)
            row.rank += wishes.met(row.path, row.day)
        if min(1.0, max(0.0, row.rank)) >= request.min_relevance_score:
            shown.append(row)
    files: set[str] = set()
    _well_worded(shown, asked(request.query))
    if request.mode != "exact":
        shown = _without_bare_names(shown, request)
    if request.mode not in ("exact", "recall"):  # in recall mode, the match includes the weight of recency
        ranks = newer_first([r.text for r in shown], [r.day for r in shown], [r.rank for r in shown], _SAME_FORM)
        for row, rank in zip(shown, ranks, strict=True):
            row.rank = rank
    by_id = {row.id: row for row in shown}
    for passage in shown:
        for memory in (by_id[id_] for id_ in _replacing(passage) if id_ in by_id):
            memory.rank = max(memory.rank, passage.rank + STEP)
    shown.sort(key=lambda row: (-round(row.rank, 6), row.id))
    single = [row for row in shown if not (row.is_file and (row.path in files or files.add(row.path)))]
    groups = grouped(
        *(len(single), _cited(single)),
        lambda pair: _says_the_same(single, pair),
        lambda place: states_one_sentence(single[place].text),
    )
    things = _one_of_each(single, groups)
    first: dict[str, _Row] = {}
    kept: list[_Row] = []
    for row in things:  # a turn that cites nothing is also both a memory and a passage with the same words
        leader = first.setdefault(row.text, row)
        (kept if leader.kind == row.kind or row.also else leader.also).append(row)
    worth = [precedence(row.path, row.plane, row.metadata) for row in kept]
    return _one_of_each(kept, collapsed([row.text for row in kept], worth, most))[:most]


def _well_worded(rows: Sequence[_Row], wanted: Sequence[str]) -> None:
    """Rank the better-worded of a memory and its passage ahead where they match about as well."""
    if cited := _cited(rows):
        compared = {place for pair in cited for place in pair[:2]}
        covered = [coverage(f"{row.title} {row.text}", wanted) if n in compared else 0.0 for n, row in enumerate(rows)]
        ranks = better_worded(cited, [row.rank for row in rows], covered, [len(row.text) for row in rows], bound())
        for row, rank in zip(rows, ranks, strict=True):
            row.rank = rank


def _without_bare_names(rows: list[_Row], request: SearchRequest) -> list[_Row]:
    """Leave out entities of which only the name is known, because a name answers no question.

    Such an entity is kept if the query asks for nothing else, if types are asked for, or if nothing else was found.
    """
    query_words = frozenset(words(request.query))
    if request.scope.type:
        return rows
    kept = [
        row for row in rows if row.kind != "entities" or not _is_bare(row) or query_words <= frozenset(words(row.title))
    ]
    return kept or rows


def _is_bare(row: _Row) -> bool:
    return re.fullmatch(rf"{re.escape(row.title)} \([^()]*\)", row.text) is not None


def _cited(rows: Sequence[_Row]) -> list[Cited]:
    """Return the memories among rows with the passages among them that may form one result with them."""
    places = {row.id: n for n, row in enumerate(rows) if row.kind == "chunks"}
    of_document: dict[str, list[int]] = defaultdict(list)
    for place in places.values():
        of_document[rows[place].document_id or ""].append(place)
    sure = [Cited(n, places[c], not row.is_summary) for n, row in enumerate(rows) for c in row.cited if c in places]
    return sure + [
        Cited(n, place, False)
        for n, row in enumerate(rows)
        for document in row.cited_documents
        for place in of_document.get(document, ())
    ]


def _says_the_same(rows: Sequence[_Row], pair: Cited) -> bool:
    return either_covers(rows[pair.memory].text, rows[pair.passage].text)


def _one_of_each(rows: Sequence[_Row], things: Sequence[Sequence[int]]) -> list[_Row]:
    """Return the first row of each group, with the others in its ``also``."""
    for first, *others in things:
        rows[first].also += [row for n in others for row in (rows[n], *rows[n].also)]
    return [rows[first] for first, *_ in things]


def _reordered(searcher: Searcher, rows: list[_Row], query: str) -> tuple[list[_Row], list[str]]:
    """Return rows in the order of the model's steps, and the problems that occurred."""
    wanted, problems = frozenset(asked(query)), list[str]()
    for name, step in _REORDERING.items():
        if name in searcher.steps:
            order = step(searcher, query, [Candidate(row.path, _shown(row, wanted, SHOWN)) for row in rows])
            rows = [rows[place] for place in order.places]
            problems.append(order.warning)
    return rows, problems


def _ranked_locally(model: str, rows: list[_Row], query: str) -> tuple[list[_Row], str]:
    """Return the first ``RERANKED`` rows in the order of a cross-encoder and the others after them, or its failure in a sentence."""
    from slowwave.models.cross_encoder import rerank_scores  # it takes a while to load

    wanted = frozenset(asked(query))
    try:
        scores = rerank_scores(model, query, [_shown(row, wanted, SHOWN) for row in rows[:RERANKED]])
    except EncoderError as problem:
        return rows, f"The results were not reranked. {problem}"
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    return [*(rows[place] for place in order), *rows[RERANKED:]], ""


def _is_retired(row: _Row, *, as_of: bool) -> bool:
    """Return whether a row is no longer part of what is known.

    A search ``as_of`` an earlier day ignores later changes. A passage is retired if it holds no more than a memory made from it that has
    ended, is quarantined or was redacted, and small talk with the archived memory made from it. A row is retired if its ``valid_to`` has
    passed.
    """
    if row.over:
        return True
    gone = row.status in _RETIRED or bool(row.metadata.get("superseded_by"))
    if (gone and not as_of) or is_quarantined(row.path) or any(covers(text, row.text) for text in row.ended):
        return True
    return not as_of and any(covers(text, row.text) for text in row.archived) and is_small_talk(row.text, program=True)


def _result(
    row: _Row,
    place: int,
    request: SearchRequest,
    wanted: Sequence[str],
    meaning: float | None,
    calibration: Calibration,
) -> SearchResult:
    kind = evidence_class(row.path, row.plane, {"status": row.status, **row.metadata})
    covered = coverage(f"{row.title} {row.text}", wanted)
    return SearchResult(
        id=row.id,
        kind=row.kind,
        path=row.path,
        title=row.title,
        lines=_lines(row),
        evidence_class=kind,
        snippet=_shown(row, frozenset(wanted), _LONG if request.include_content else _SHORT),
        stale_warning=stale_warning(row.document, row.metadata),
        confidence=confidence(kind, request.mode, covered, place, row.match, meaning, calibration),
        score=round(min(1.0, max(0.0, row.rank)), 6),
        also_in=tuple(OtherWording(id=o.id, kind=o.kind, path=o.path, lines=_lines(o)) for o in row.also),
        **(_debugged(row) if request.debug else {}),
    )


def _lines(row: _Row) -> str | None:
    return f"{row.start_line}-{row.end_line}" if row.start_line is not None else None


def _debugged(row: _Row) -> dict[str, Any]:
    return {
        "score_normalized": round(row.match, 6),
        "rank_score": round(row.rank, 6),
        "frontmatter": dict(row.metadata),
    }


def _shown(row: _Row, wanted: frozenset[str], longest: int) -> str:
    return snippet(without_marks(body(row.text) if row.start_line == 1 else row.text), wanted, longest)


@cache
def _offline(model: str) -> Embedder:
    return embedder_for(Settings(embedding_model=model, embedding_endpoint=""))


def _embedder_of(settings: Settings) -> Embedder:
    return embedder_for(settings) if settings.embedding_endpoint else _offline(settings.embedding_model)
