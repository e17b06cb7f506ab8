"""Pages into rows: documents with their versions, chunks with vectors, links. One batch is one transaction.

A page keeps its row as long as it lives, wherever its file moves; what the row said before stands beside it as a retired row
(``version_of``). Of a page that changed, chunks and links that say the same as before stay as they are. Vectors go by what a chunk says:
one that was made for the same text, of a chunk that lives or not, is used again.
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
"""Links of one page that are kept, the first ones."""

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
_EMBEDDED: Final = 512  # chunks that one transaction of a change of the model takes
_FIRST: Final = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class PageWrite:
    """A page that is written under a document's id; ``formerly`` says that the document is there. A quarantined one has no chunks and no
    links: its words would be found."""

    file: PageFile
    document_id: str
    formerly: Literal["", "changed", "moved"] = ""
    state: State = "active"


@dataclass(slots=True)
class PageTally:
    """What was written: rows by table, and how many chunks were embedded and how many found a vector that was there."""

    added: Counter[str] = field(default_factory=Counter)
    chunks_kept: int = 0
    chunks_embedded: int = 0
    vectors_reused: int = 0


@dataclass(frozen=True, slots=True)
class _ChunkRow:
    """A chunk that is to be: its row, the text and the hash of it."""

    row: Mapping[str, object]
    text: str
    hash: str


@dataclass(slots=True)
class _Plan:
    """What becomes of the chunks of a batch."""

    new: list[_ChunkRow] = field(default_factory=list)
    kept: list[tuple[str, int, int, int]] = field(default_factory=list)
    """id, ordinal, first and last line"""
    ended: list[str] = field(default_factory=list)


class PageWriter:
    """Writes pages of one corpus."""

    def __init__(
        self, connection: Connection, slug: str, corpus: Corpus, vectors: LoadedVectors, tally: PageTally
    ) -> None:
        self._connection, self._slug, self._corpus = connection, slug, corpus
        self._vectors, self._tally = vectors, tally

    def write(self, batch: Sequence[PageWrite], step: Callable[[float], None] = lambda _: None) -> None:
        """Write the pages of a batch. Vectors are made before the transaction begins, so that nobody waits for them."""
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
        """Live chunks that have no vector of this model get one; vectors of other models stay beside it.

        Some at a time, each in a transaction of its own: what was embedded before a stop is there when it goes on.
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
        """Files that are gone: their documents, chunks and links end now, and stay. A page that an agent wrote since has a file to come."""
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
        """The pages of a batch under the ids that their paths have by now: agents write and purge pages while a folder is read.

        Until the transaction ends none of them does.
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
        """Rows as they are, set down as versions that end now."""
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
        """What becomes of the chunks of these pages. Reads only."""
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
        """Those of the hashes whose text has a vector of this model."""
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
        """Vectors of chunks that have none of this model: that of an equal text where there is one."""
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
        self._vectors.need((chunk.text for chunk in fresh), step)  # nothing, unless another writer came between
        described = {"chunk_vectors": ([str(chunk.row["id"]) for chunk in fresh], [chunk.text for chunk in fresh])}
        insert_vectors(self._connection, self._corpus.namespace_id, described, self._vectors, self._tally.added, step)
        self._tally.chunks_embedded += len(fresh)
        self._tally.vectors_reused += reused

    def _links(self, batch: Sequence[PageWrite]) -> None:
        """The links that people wrote; what they mean is found out when all pages stand (``slowwave.wiki.corpus.links``)."""
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
