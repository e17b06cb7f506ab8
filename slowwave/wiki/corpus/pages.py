"""Pages as rows: the store functions that write a page, and vectors of its passages."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from uuid import uuid4

import numpy as np
import psycopg

from slowwave.errors import AlreadyThere, EmbeddingError, Forbidden, NotInCorpus, Refused
from slowwave.models.embedder import Embedder
from slowwave.sources.page_files import PageFile
from slowwave.sources.profile import Profile, profile
from slowwave.store.logins import Connection
from slowwave.store.settings import Settings
from slowwave.text.markdown import fold_path, path_fault
from slowwave.wiki.corpus.corpora import EVIDENCE_ROOT, PAGES_PROFILE, SESSIONS_ROOT, Corpus, chosen_corpus
from slowwave.wiki.corpus.links import PageLinks, page_links

# Vectors of the passages of one page that is written at run time: only for passages without an equal one that has a vector.

_MODEL: Final = """
SELECT (SELECT v.dimensions FROM memory.vector_models v WHERE v.model = %s),
  pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'memory.vector_models'::regclass), 'USAGE')"""

_KNOWN: Final = """
SELECT DISTINCT c.content_hash FROM memory.chunks c JOIN memory.chunk_vectors v ON v.id = c.id AND v.model = %s
 WHERE c.namespace_id = %s AND c.content_hash = ANY(%s)"""

_REGISTER_MODEL: Final = "SELECT memory.register_vector_model(%s::text, %s::integer)"


class PassageVectors(NamedTuple):
    """Vectors (n, d) float32 of passages by their hashes; ``warning`` gives the reason if there are none."""

    hashes: Sequence[str]
    matrix: np.ndarray
    warning: str = ""


def passage_vectors(
    connection: Connection,
    scope: str,
    texts: Mapping[str, str],
    settings: Settings,
    embedder: Callable[[Settings], Embedder],
    what: str,
) -> PassageVectors:
    """Return vectors of the passages (text by hash) that have none yet.

    ``what`` names the passages in warnings. If the store does not know the embedding model, no vectors are returned unless the login may
    add the model.
    """
    nothing = PassageVectors((), np.empty((0, 0), np.float32))
    model = settings.embedding_model
    row = connection.execute(_MODEL, (model,)).fetchone()
    dimensions, owns = row or (None, False)
    if not texts:
        return nothing
    if dimensions is None and not owns:
        return nothing._replace(
            warning=f"The store has no vector of {model} yet: words find the {what}, and a night adds its vectors."
        )
    known = {str(hash_) for (hash_,) in connection.execute(_KNOWN, (model, scope, list(texts)))}
    new = [hash_ for hash_ in texts if hash_ not in known]
    try:
        matrix = embedder(settings).embed([texts[hash_] for hash_ in new]) if new else nothing.matrix
    except EmbeddingError as problem:
        return nothing._replace(warning=f"Words find the {what}, and a night adds its vectors. {problem}")
    if new and dimensions is None:
        connection.execute(_REGISTER_MODEL, (model, matrix.shape[1]))
    return PassageVectors(new, matrix)


# Pages as rows, one at a time: the place of a path, and the store functions that write, forget and purge a page.
#
# Each function is one statement, so a process that stops halfway leaves all or nothing. ``slowwave.wiki.corpus.page_write`` decides what
# is written.

_STORED: Final = """
SELECT corpus_id::text, id::text, content_hash, content, metadata FROM memory.documents
 WHERE namespace_id = %s AND corpus_id = ANY(%s::uuid[]) AND path = %s AND invalidated_at IS NULL"""
_FOLDERS: Final = """
SELECT DISTINCT left(path, length(path) - length(regexp_replace(path, '^.*/', ''))) FROM memory.documents
 WHERE corpus_id = %s AND invalidated_at IS NULL"""
_IN_FOLDER: Final = """
SELECT path FROM memory.documents WHERE corpus_id = %s AND invalidated_at IS NULL AND starts_with(path, %s)
  AND strpos(substr(path, length(%s) + 1), '/') = 0"""
_WRITE: Final = """
SELECT memory.write_page(%s::text, %s::text, %s::text, %s::uuid, %s::uuid, %s::text, %s::text, %s::text, %s::text, %s::text, %s::jsonb,
  %s::timestamptz, %s::boolean, %s::text[], %s::integer[], %s::integer[], %s::text, %s::text[], %s::real[], %s::jsonb, %s::uuid[],
  %s::boolean)"""
_FORGET: Final = """
SELECT memory.forget_page(%s::text, %s::text, %s::uuid, %s::text, %s::text, %s::text, %s::jsonb, %s::text, %s::jsonb, %s::boolean)"""
_PURGE: Final = """
SELECT memory.purge_page(%s::text, %s::text, %s::uuid, %s::text, %s::text, %s::text, %s::text, %s::boolean, %s::boolean, %s::boolean)"""

_HOW: Final = "A server takes it from each request; one that a client starts, from the variable SLOWWAVE_TOKEN."


class PageChanged(AlreadyThere):
    """Error for a page that another writer changed since it was read."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Context of a write: connection, namespace (name and id), settings, and a token for a login that does not own memory."""

    connection: Connection
    namespace: str
    namespace_id: str
    settings: Settings
    token: str
    embedder: Callable[[Settings], Embedder]


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A path in a corpus and its current page; ``hash`` is empty if there is no page.

    ``corpus`` is None if the corpus is created with its first page.
    """

    path: str
    corpus: Corpus | None = None
    id: str = ""
    hash: str = ""
    text: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def there(self) -> bool:
        """Return whether the place holds a page that was not forgotten."""
        return bool(self.hash) and "forgotten" not in self.metadata

    @property
    def layout(self) -> Profile:
        """Return the profile for the pages of the corpus."""
        return profile(self.corpus.profile if self.corpus else PAGES_PROFILE)

    @property
    def corpus_id(self) -> str | None:
        """Return the id of the corpus, or None if it does not exist yet."""
        return self.corpus.id if self.corpus else None


@dataclass(frozen=True, slots=True)
class Stored:
    """Result of a store function, real or dry run: the hash of the page, new links, and whether a file has to be updated."""

    hash: str
    edges: int = 0
    followed: bool = False
    tombstone: str = ""
    held: Mapping[str, int] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    bytes: int = 0
    warnings: tuple[str, ...] = ()


def page_place(connection: Connection, namespace_id: str, path: str, corpus: str | None = None) -> PagePlace:
    """Return the place of a path: the corpus that has a page there, else the followed folder, else the agents' own corpus.

    A path that differs from that of a page only in case or in the encoding of accents means that page. A new path takes the spelling of
    the folders that exist. Raises ``Refused`` if several pages match, if no new page can have the path, or if a folder's profile excludes
    it.
    """
    known = {
        c.id: c for c in chosen_corpus(connection, namespace_id, corpus) if c.root not in (SESSIONS_ROOT, EVIDENCE_ROOT)
    }
    rows: Any = connection.execute(_STORED, (namespace_id, list(known), path)).fetchall()
    if len(rows) > 1:
        raise Refused(
            f"{path} is a page of several corpora ({_names(known[row[0]] for row in rows)}). Name one of them."
        )
    if rows:
        corpus_id, id_, hash_, text, metadata = rows[0]
        return PagePlace(path, known[corpus_id], id_, hash_, text, metadata)
    folders = [c for c in known.values() if c.folder is not None]
    if len(folders) > 1:
        raise Refused(f"Several folders are followed ({_names(folders)}), and none has {path}. Name one of them.")
    chosen = next(iter(folders or known.values()), None)
    spelled = unicodedata.normalize("NFC", path) if chosen is None else _spelled(connection, chosen, path)
    if spelled != path:
        return page_place(connection, namespace_id, spelled, corpus)
    if fault := path_fault(path, is_new=True):
        raise Refused(
            f"There is no page of this path, and none can be made there: a page's path {fault}. Nothing was stored."
        )
    place = PagePlace(path, chosen)
    if not place.layout.takes(path):
        raise Refused(
            f"{path} is left out by the profile {place.layout.name}, so nothing would find it. Choose another path."
        )
    return place


def _spelled(connection: Connection, corpus: Corpus, path: str) -> str:
    """Return the path in the spelling of existing pages and folders that differ only in case or in the encoding of accents."""
    *parts, name = unicodedata.normalize("NFC", path).split("/")
    rows = connection.execute(_FOLDERS, (corpus.id,)).fetchall()
    folders = [str(found) for (found,) in rows]
    known = {found[: place + 1] for found in folders for place, c in enumerate(found) if c == "/"}
    folder = ""
    for part in parts:
        wanted = f"{folder}{part}/"
        same = sorted(other for other in known if fold_path(other) == fold_path(wanted))
        folder = wanted if wanted in same else same[0] if same else f"{folder}{_name_on_disk(corpus, folder, part)}/"
    wanted = folder + name
    pages = connection.execute(_IN_FOLDER, (corpus.id, folder, folder)).fetchall()
    return next((str(other) for (other,) in sorted(pages) if fold_path(str(other)) == fold_path(wanted)), wanted)


def _name_on_disk(corpus: Corpus, folder: str, name: str) -> str:
    """Return the name on disk of a folder without pages, if this process can see it; else the given name."""
    if corpus.folder is None:
        return name
    try:
        names = sorted(entry.name for entry in (corpus.folder / folder).iterdir())
    except OSError:
        return name
    return next((n for n in (name, *names) if n in names and fold_path(n) == fold_path(name)), name)


def store_page(
    writer: Writer,
    kind: Literal["create", "change", "move"],
    place: PagePlace,
    file: PageFile,
    *,
    note: Mapping[str, object] | None = None,
    hidden: bool = False,
    dry: bool = False,
) -> Stored:
    """Write a page: create it at its place, change the page there, or move that page to the path of ``file``.

    ``note`` is stored with this version and records who wrote it. Raises ``PageChanged``, ``AlreadyThere``, ``NotInCorpus``,
    ``Forbidden`` or ``Refused``; nothing is written then.
    """
    id_ = place.id if kind != "create" else str(uuid4())
    chunks = () if hidden else file.chunks
    texts = {} if dry else {chunk.content_hash: chunk.content for chunk in chunks}
    vectors = passage_vectors(writer.connection, writer.namespace_id, texts, writer.settings, writer.embedder, "page")
    linked = (
        PageLinks() if hidden or dry else page_links(writer.connection, writer.namespace_id, place.corpus, id_, file)
    )
    values = {**file.fields.values, "frontmatter": dict(file.written), "written": dict(note or {})}
    result = _call_store(
        writer.connection,
        _WRITE,
        *(writer.namespace, writer.token, kind, place.corpus_id, id_, place.path, file.path, place.hash),
        *(file.path if hidden else file.fields.title, file.text, _json(values), file.fields.day, hidden),
        [chunk.content for chunk in chunks],
        [chunk.start_line for chunk in chunks],
        [chunk.end_line for chunk in chunks],
        *(writer.settings.embedding_model, list(vectors.hashes), vectors.matrix.tolist() if vectors.hashes else None),
        *(_json(list(linked.links)), list(linked.pointing), dry),
    )
    return Stored(
        result["hash"], result["edges"], result["followed"], warnings=(vectors.warning,) if vectors.warning else ()
    )


def forget_page(writer: Writer, place: PagePlace, file: PageFile, tombstone: PageFile, *, dry: bool = False) -> Stored:
    """Forget the page at a place: ``file`` is its text afterwards, ``tombstone`` the tombstone. Raises as ``store_page``."""
    values = {**file.fields.values, "frontmatter": dict(file.written)}
    stone = {**tombstone.fields.values, "frontmatter": dict(tombstone.written)}
    stone.pop("problems", None)  # no profile has the type of tombstones
    result = _call_store(
        writer.connection,
        _FORGET,
        *(writer.namespace, writer.token, place.corpus_id, place.path, place.hash, file.text, _json(values)),
        *(tombstone.text, _json(stone), dry),
    )
    return Stored(result["hash"], 0, result["followed"], result["tombstone"], result["held"])


def purge_page(
    writer: Writer,
    place: PagePlace,
    expected: str,
    reason: str,
    agent: str,
    *,
    canonical: bool,
    tombstone: bool,
    dry: bool,
) -> Stored:
    """Delete the page at a place permanently.

    Raises as ``store_page``, and ``Refused`` if a journal could still restore a part of it.
    """
    result = _call_store(
        writer.connection,
        _PURGE,
        *(
            writer.namespace,
            writer.token,
            place.corpus_id,
            place.path,
            expected,
            reason,
            agent,
            canonical,
            tombstone,
            dry,
        ),
    )
    return Stored(
        result["hash"],
        0,
        result["followed"],
        held=result["held"],
        paths=tuple(result["paths"]),
        bytes=int(result["bytes"]),
    )


def _call_store(connection: Connection, statement: str, *values: object) -> dict[str, Any]:
    try:
        row: Any = connection.execute(statement.encode(), values).fetchone()
    except psycopg.Error as problem:
        refusal = _refusal(problem)
        if refusal is None:
            raise
        raise refusal from None
    return row[0]


def _refusal(problem: psycopg.Error) -> Refused | None:
    """Return the store's own error message as a ``Refused``, or None for an error that is not a refusal."""
    message = problem.diag.message_primary or "The page was refused."
    if not re.search(r"Nothing was (?:stored|deleted)\.$", message):
        return None
    match problem:
        case psycopg.errors.InsufficientPrivilege():
            return Forbidden(f"{message} {_HOW}" if message.startswith("A page is written by a token") else message)
        case psycopg.errors.SerializationFailure():
            return PageChanged(message)
        case psycopg.errors.UniqueViolation():
            return AlreadyThere(message)
        case psycopg.errors.NoDataFound():
            return NotInCorpus(message)
        case _:
            return Refused(message)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _names(corpora: Any) -> str:
    return ", ".join(sorted(Path(corpus.root).name for corpus in corpora))
