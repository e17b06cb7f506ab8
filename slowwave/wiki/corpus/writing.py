"""Writing of pages into rows: documents with their versions, chunks with vectors, and links. One batch is one transaction.

A page keeps its row for its lifetime, even if its file moves; earlier contents are kept as retired rows (``version_of``). If a page
changes, its unchanged chunks and links are kept. Vectors are shared by text: a vector of the same text is reused, whether its chunk is
live or not.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from typing import Any, Final, Literal

from slowwave.sources.loading import LoadedVectors, claim, insert, insert_vectors, row_id
from slowwave.sources.page_files import PageFile, PageLink
from slowwave.sources.rows import State
from slowwave.store import tables
from slowwave.store.logins import Connection
from slowwave.wiki.corpus.corpora import Corpus

_PER_PAGE: Final = 2_000
"""Maximum number of stored links of one page; the first ones are kept."""

_BARE: Final = """
SELECT c.id::text, c.content, c.content_hash FROM memory.documents d JOIN memory.chunks c ON c.document_id = d.id
WHERE d.corpus_id = %s AND d.invalidated_at IS NULL AND c.invalidated_at IS NULL AND c.id > %s
  AND NOT EXISTS (SELECT 1 FROM memory.chunk_vectors v WHERE v.id = c.id AND v.model = %s) ORDER BY c.id LIMIT %s
"""
_ALONE: Final = "SELECT memory.lock_name(%s, 4)"
_LIVE: Final = """
SELECT id::text, path FROM memory.documents WHERE corpus_id = %s AND invalidated_at IS NULL
  AND (path = ANY(%s) OR id = ANY(%s::uuid[]))
"""
_WITHOUT_FILE: Final = """
SELECT d.id::text FROM memory.documents d WHERE d.id = ANY(%s::uuid[]) AND d.invalidated_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM memory.pending_files p WHERE p.corpus_id = d.corpus_id AND p.path = d.path)
"""
_KEEP_VERSIONS: Final = """
INSERT INTO memory.documents (id, namespace_id, source, title, content, metadata, valid_from, recorded_at, invalidated_at,
  corpus_id, path, content_hash, plane, version_of)
SELECT gen_random_uuid(), d.namespace_id, d.source, d.title, d.content, d.metadata, d.valid_from,
  coalesce((SELECT max(v.invalidated_at) FROM memory.documents v WHERE v.version_of = d.id), d.recorded_at), now(), d.corpus_id,
  d.path, d.content_hash, d.plane, d.id
FROM memory.documents d WHERE d.id = ANY(%s::uuid[])
"""
_UPDATE_DOCUMENTS: Final = """
UPDATE memory.documents d SET title = n.title, content = n.content, path = n.path, content_hash = n.hash, plane = n.plane,
  metadata = n.metadata::jsonb, valid_from = n.valid_from
FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::timestamptz[])
  AS n (id, title, content, path, hash, plane, metadata, valid_from)
WHERE d.id = n.id
"""
_CHUNKS: Final = """
SELECT document_id::text, id::text, content_hash, invalidated_at IS NULL FROM memory.chunks
WHERE document_id = ANY(%s::uuid[]) ORDER BY ordinal, id
"""
_KNOWN: Final = """
SELECT DISTINCT c.content_hash FROM memory.chunks c JOIN memory.chunk_vectors v ON v.id = c.id AND v.model = %s
WHERE c.namespace_id = %s AND c.content_hash = ANY(%s)
"""
_END_CHUNKS: Final = "UPDATE memory.chunks SET invalidated_at = now() WHERE id = ANY(%s::uuid[])"
_MOVE_CHUNKS: Final = """
UPDATE memory.chunks c SET ordinal = n.ordinal, start_line = n.first, end_line = n.last
FROM unnest(%s::uuid[], %s::int[], %s::int[], %s::int[]) AS n (id, ordinal, first, last)
WHERE c.id = n.id AND (c.ordinal, c.start_line, c.end_line) IS DISTINCT FROM (n.ordinal, n.first, n.last)
"""
_REUSE_VECTORS: Final = """
INSERT INTO memory.chunk_vectors (id, model, namespace_id, vector)
SELECT n.id, v.model, %(namespace)s, v.vector FROM unnest(%(ids)s::uuid[], %(hashes)s::text[]) AS n (id, hash)
CROSS JOIN LATERAL (
  SELECT v.model, v.vector FROM memory.chunks c JOIN memory.chunk_vectors v ON v.id = c.id AND v.model = %(model)s
  WHERE c.namespace_id = %(namespace)s AND c.content_hash = n.hash ORDER BY c.id LIMIT 1) v
"""
_WRITTEN_LINKS: Final = """
SELECT id::text, document_id::text, kind, target, anchor, line FROM memory.links
WHERE document_id = ANY(%s::uuid[]) AND kind <> 'mention' AND invalidated_at IS NULL
"""
_END_LINKS: Final = "UPDATE memory.links SET invalidated_at = now() WHERE id = ANY(%s::uuid[])"
_EMBEDDED: Final = 512  # chunks per transaction after a change of the model
_FIRST: Final = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class PageWrite:
    """A page to write under a document's id.

    ``formerly`` is set if the document already exists. A quarantined page has no chunks and no links, because search would find its
    words.
    """

    file: PageFile
    document_id: str
    formerly: Literal["", "changed", "moved"] = ""
    state: State = "active"


@dataclass(slots=True)
class PageTally:
    """Counts of a write: rows by table, chunks that were embedded, and chunks that reused an existing vector."""

    added: Counter[str] = field(default_factory=Counter)
    chunks_kept: int = 0
    chunks_embedded: int = 0
    vectors_reused: int = 0


@dataclass(frozen=True, slots=True)
class _ChunkRow:
    """A chunk to be written: its row, its text and the hash of the text."""

    row: Mapping[str, object]
    text: str
    hash: str


@dataclass(slots=True)
class _Plan:
    """Planned changes to the chunks of a batch."""

    new: list[_ChunkRow] = field(default_factory=list)
    kept: list[tuple[str, int, int, int]] = field(default_factory=list)
    """Tuples of id, ordinal, first line and last line."""
    ended: list[str] = field(default_factory=list)


class PageWriter:
    """Writer for the pages of one corpus."""

    def __init__(
        self, connection: Connection, slug: str, corpus: Corpus, vectors: LoadedVectors, tally: PageTally
    ) -> None:
        self._connection, self._slug, self._corpus = connection, slug, corpus
        self._vectors, self._tally = vectors, tally

    def write(self, batch: Sequence[PageWrite], step: Callable[[float], None] = lambda _: None) -> None:
        """Write the pages of a batch. Vectors are computed before the transaction begins, so that no other writer waits for them."""
        with self._connection.transaction():
            plan = self._chunks(batch)
            known = self._known({chunk.hash for chunk in plan.new})
        self._vectors.need((chunk.text for chunk in plan.new if chunk.hash not in known), step)
        with self._connection.transaction():
            claim(self._connection, self._slug, self._tally.added, self._vectors.model)
            batch = self._as_they_stand(batch)
            self._keep_versions([page.document_id for page in batch if page.formerly])
            self._documents(batch)
            self._write_chunks(self._chunks(batch), step)
            self._links(batch)
        self._vectors.forget()

    def embed_bare(self) -> None:
        """Embed live chunks that have no vector of this model; vectors of other models are kept.

        Works in batches, each in a separate transaction, so that a run that was stopped continues where it ended.
        """
        after = _FIRST
        while rows := self._connection.execute(
            _BARE, (self._corpus.id, after, self._vectors.model, _EMBEDDED)
        ).fetchall():
            bare = [_ChunkRow({"id": str(id_)}, str(text), str(hash_)) for id_, text, hash_ in rows]
            known = self._known({chunk.hash for chunk in bare})
            self._vectors.need((chunk.text for chunk in bare if chunk.hash not in known), lambda _: None)
            with self._connection.transaction():
                claim(self._connection, self._slug, self._tally.added, self._vectors.model)
                self._embed(bare, lambda _: None)
            self._vectors.forget()
            after = str(rows[-1][0])

    def retire(self, document_ids: Sequence[str]) -> None:
        """Retire the documents, chunks and links of files that are gone; the rows are kept.

        A page that an agent wrote in the meantime is left out, because its file is still pending.
        """
        with self._connection.transaction():
            claim(self._connection, self._slug, self._tally.added, self._vectors.model)
            self._connection.execute(_ALONE, (self._corpus.namespace_id,))
            gone = self._connection.execute(_WITHOUT_FILE, (list(document_ids),)).fetchall()
            document_ids = [str(id_) for (id_,) in gone]
            for table, column in (("documents", "id"), ("chunks", "document_id"), ("links", "document_id")):
                self._connection.execute(
                    f"UPDATE memory.{table} SET invalidated_at = now() "  # noqa: S608 - names of this module
                    f"WHERE {column} = ANY(%s::uuid[]) AND invalidated_at IS NULL".encode(),
                    (list(document_ids),),
                )

    def _as_they_stand(self, batch: Sequence[PageWrite]) -> list[PageWrite]:
        """Return the pages of a batch under the ids that their paths have now.

        Agents write and purge pages while a folder is read. From here until the transaction ends, they cannot.
        """
        self._connection.execute(_ALONE, (self._corpus.namespace_id,))
        paths, ids = [page.file.path for page in batch], [page.document_id for page in batch]
        at: dict[str, str] = {}
        live: set[str] = set()
        for id_, path in self._connection.execute(_LIVE, (self._corpus.id, paths, ids)):
            at[str(path)] = str(id_)
            live.add(str(id_))
        found: list[PageWrite] = []
        for page in batch:
            there = at.get(page.file.path)
            if there is not None and there != page.document_id:
                page = replace(page, document_id=there, formerly="changed")
            elif page.formerly and page.document_id not in live:
                page = replace(page, document_id=str(uuid.uuid4()), formerly="")
            found.append(page)
        return found

    def _keep_versions(self, document_ids: Sequence[str]) -> None:
        """Store the current rows as versions that end now."""
        self._connection.execute(_KEEP_VERSIONS, (list(document_ids),))

    def _documents(self, batch: Sequence[PageWrite]) -> None:
        rows = {page.document_id: self._document(page) for page in batch}
        new = [rows[page.document_id] for page in batch if not page.formerly]
        insert(self._connection, tables.documents, new, len(new), self._tally.added)
        changed = [rows[page.document_id] for page in batch if page.formerly]
        if not changed:
            return
        texts = ("id", "title", "content", "path", "content_hash", "plane")
        self._connection.execute(
            _UPDATE_DOCUMENTS,
            [
                *([row[name] for row in changed] for name in texts),
                [json.dumps(row["metadata"]) for row in changed],
                [row["valid_from"] for row in changed],
            ],
        )

    def _document(self, page: PageWrite) -> dict[str, Any]:
        file, fields = page.file, page.file.fields
        quarantined = page.state == "quarantined"
        values = {"quarantined": True} if quarantined else {**fields.values, "frontmatter": dict(file.written)}
        return {
            "id": page.document_id,
            "namespace_id": self._corpus.namespace_id,
            "source": "corpus",
            "title": file.path if quarantined else fields.title,
            "content": file.text,
            "metadata": values,
            "valid_from": datetime.combine(fields.day, time(), UTC) if fields.day else None,
            "corpus_id": self._corpus.id,
            "path": file.path,
            "content_hash": file.content_hash,
            "plane": fields.plane,
        }

    def _chunks(self, batch: Sequence[PageWrite]) -> _Plan:
        """Return the planned changes to the chunks of these pages. Only reads."""
        held: defaultdict[str, list[tuple[str, str, bool]]] = defaultdict(list)
        for document, id_, hash_, live in self._connection.execute(
            _CHUNKS, ([page.document_id for page in batch if page.formerly],)
        ):
            held[str(document)].append((str(id_), str(hash_), bool(live)))
        plan = _Plan()
        for page in batch:
            self._chunks_of(page, held[page.document_id], plan)
        return plan

    def _chunks_of(self, page: PageWrite, held: Sequence[tuple[str, str, bool]], plan: _Plan) -> None:
        live: defaultdict[str, list[str]] = defaultdict(list)
        for id_, hash_, lives in held:
            if lives:
                live[hash_].append(id_)
        made = Counter(hash_ for _, hash_, _ in held)
        for ordinal, chunk in enumerate(page.file.chunks if page.state == "active" else ()):
            hash_ = chunk.content_hash
            if live[hash_]:
                plan.kept.append((live[hash_].pop(0), ordinal, chunk.start_line, chunk.end_line))
                continue
            made[hash_] += 1
            row: dict[str, object] = {
                "id": row_id(page.document_id, "chunks", hash_, str(made[hash_])),
                "namespace_id": self._corpus.namespace_id,
                "document_id": page.document_id,
                "ordinal": ordinal,
                "content": chunk.content,
                "start_line": chunk.start_line,
                "end_line": chunk.end_line,
                "content_hash": hash_,
            }
            plan.new.append(_ChunkRow(row, chunk.content, hash_))
        plan.ended += [id_ for ids in live.values() for id_ in ids]

    def _known(self, hashes: Iterable[str]) -> set[str]:
        """Return those of the hashes whose text has a vector of this model."""
        rows = self._connection.execute(_KNOWN, (self._vectors.model, self._corpus.namespace_id, list(hashes)))
        return {str(hash_) for (hash_,) in rows}

    def _write_chunks(self, plan: _Plan, step: Callable[[float], None]) -> None:
        connection = self._connection
        connection.execute(_END_CHUNKS, (plan.ended,))
        connection.execute(_MOVE_CHUNKS, [[row[k] for row in plan.kept] for k in range(4)])
        insert(connection, tables.chunks, (chunk.row for chunk in plan.new), len(plan.new), self._tally.added)
        self._tally.chunks_kept += len(plan.kept)
        self._embed(plan.new, step)

    def _embed(self, chunks: Sequence[_ChunkRow], step: Callable[[float], None]) -> None:
        """Store vectors for chunks that have none of this model, reusing the vector of an equal text if there is one."""
        known = self._known({chunk.hash for chunk in chunks})
        again = [chunk for chunk in chunks if chunk.hash in known]
        reused = self._connection.execute(
            _REUSE_VECTORS,
            {
                "namespace": self._corpus.namespace_id,
                "ids": [chunk.row["id"] for chunk in again],
                "hashes": [chunk.hash for chunk in again],
                "model": self._vectors.model,
            },
        ).rowcount
        fresh = [chunk for chunk in chunks if chunk.hash not in known]
        self._vectors.need((chunk.text for chunk in fresh), step)  # does nothing unless another writer came in between
        described = {"chunk_vectors": ([str(chunk.row["id"]) for chunk in fresh], [chunk.text for chunk in fresh])}
        insert_vectors(self._connection, self._corpus.namespace_id, described, self._vectors, self._tally.added, step)
        self._tally.chunks_embedded += len(fresh)
        self._tally.vectors_reused += reused

    def _links(self, batch: Sequence[PageWrite]) -> None:
        """Store the links that people wrote.

        Their targets are resolved once all pages are stored (``slowwave.wiki.corpus.links``).
        """
        held: dict[tuple[str, str, str, str, int], str] = {}
        for id_, *key in self._connection.execute(
            _WRITTEN_LINKS, ([page.document_id for page in batch if page.formerly],)
        ):
            held[tuple(key)] = str(id_)  # type: ignore[index]
        rows: list[dict[str, object]] = []
        for page in batch:
            links = page.file.page.links[:_PER_PAGE] if page.state == "active" else ()
            for link in dict.fromkeys(links):
                key = (page.document_id, link.kind, link.target, link.anchor, link.line)
                if held.pop(key, None) is None:
                    rows.append(self._link(page.document_id, link))
        self._connection.execute(_END_LINKS, (list(held.values()),))
        insert(self._connection, tables.links, rows, len(rows), self._tally.added)

    def _link(self, document_id: str, link: PageLink) -> dict[str, object]:
        return {
            "id": str(uuid.uuid4()),
            "namespace_id": self._corpus.namespace_id,
            "document_id": document_id,
            "kind": link.kind,
            "target": link.target,
            "anchor": link.anchor,
            "line": link.line,
        }
