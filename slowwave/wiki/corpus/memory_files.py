"""Pages as the files of a small file system, as a model's memory tool sees them: names, sizes, texts and six operations.

The text of a file is the body of its page, byte for byte; the head belongs to the page. Each edit creates a version of the page, each
deletion a tombstone next to it. An operation on a folder changes all its files in one transaction or none. Names that no page's path can
have are stored in the page's field ``memory_path``. The protocol of the tools is in ``slowwave.wiki.agents``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final, TypeVar

from slowwave.errors import AlreadyThere, NotInCorpus, Refused
from slowwave.search.request import settings_of
from slowwave.sources.page_files import title_of_name
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.wiki.corpus.corpora import SESSIONS_ROOT, chosen_corpus
from slowwave.wiki.corpus.page_text import changed_head, verbatim_body, verbatim_page
from slowwave.wiki.corpus.page_write import check_size, forgotten, parsed, screened
from slowwave.wiki.corpus.pages import PageChanged, PagePlace, Stored, Writer, page_place, store_page
from slowwave.wiki.corpus.pending_files import follow_files

Done = TypeVar("Done")

_ATTEMPTS: Final = 5
_FIELD: Final = "memory_path"
_SAFE: Final = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_UNSAFE: Final = re.compile(r"[^a-z0-9_.-]+")
_LONGEST_NAME: Final = 100
_LISTED: Final = """
SELECT path, metadata #>> '{frontmatter,memory_path}',
  octet_length(content) - coalesce(octet_length(substring(content FROM '^---\\n.*?\\n---\\n')), 0)
FROM memory.documents WHERE namespace_id = %s AND corpus_id = ANY(%s::uuid[]) AND invalidated_at IS NULL
  AND starts_with(lower(path), lower(%s))
  AND path NOT LIKE '%%.tombstone.md' AND NOT jsonb_exists_any(metadata, '{quarantined,forgotten}')"""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file: its name relative to the root, with slashes, the path of its page, and the size of its text in bytes."""

    name: str
    path: str
    size: int


class MemoryFiles:
    """The files under one folder of a namespace's pages.

    With a ``token`` it works with the rights of a server's login. Without a token, the process owns the store, and files of a followed
    folder are written at once. Every operation raises ``NotInCorpus``, ``AlreadyThere`` or ``Refused`` if it fails, and has changed
    nothing then.
    """

    def __init__(
        self,
        store: Store,
        namespace: str,
        *,
        folder: str = "memories",
        corpus: str | None = None,
        agent: str = "",
        token: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if not all(_SAFE.fullmatch(part) for part in folder.split("/")):
            raise Refused(
                f"{folder[:64]!r} is no folder of pages. Name one in lower-case letters, digits, hyphens and _."
            )
        self._store, self._namespace, self._folder, self._corpus = store, namespace, f"{folder}/", corpus
        self._agent, self._token, self._now = agent, token, now

    def files(self) -> list[MemoryFile]:
        """Return all files, sorted by name."""
        with self._writer() as writer:
            return sorted(self._files(writer).values(), key=lambda file: file.name)

    def read(self, name: str) -> str:
        """Return the text of a file."""
        with self._writer() as writer:
            return verbatim_body(self._place(writer, name).text)

    def create(self, name: str, text: str) -> None:
        """Create a file; its folders need not exist."""
        path = self._path_of(name)

        def made(writer: Writer) -> Sequence[str]:
            files = self._files(writer)
            if name in files or any(_within(other, name) or _within(name, other) for other in files):
                raise AlreadyThere(f"{name} is there already. Nothing was stored.")
            check_size(text, writer.settings)
            place = page_place(writer.connection, writer.namespace_id, path, self._corpus)
            content = self._screened(writer, text, "")
            today = self._today()
            fields = {
                "title": _title(content, name),
                "type": "knowledge",
                "status": "active",
                "canonical": False,
                "source_kind": "semantic",
                **self._named(path, name),
                **({"agent": self._agent} if self._agent else {}),
                "created": today,
                "updated": today,
            }
            self._store_text(writer, "create", place, place.path, verbatim_page(fields, content))
            return (place.path,)

        self._do(made)

    def edit(self, name: str, change: Callable[[str], str]) -> str:
        """Replace the text of a file by the result of ``change``, and return the new text.

        ``change`` is called again if another writer changed the file in the meantime.
        """

        def edited(writer: Writer) -> Sequence[str]:
            nonlocal content
            place = self._place(writer, name)
            before = verbatim_body(place.text)
            content = change(before)
            if content == before:
                return ()
            check_size(content, writer.settings)
            content = self._screened(writer, content, before)
            head = changed_head(place.text, {"updated": self._today()})
            self._store_text(writer, "change", place, place.path, head + content)
            return (place.path,)

        content = ""
        self._do(edited)
        return content

    def delete(self, name: str) -> None:
        """Forget a file, or all files of a folder; an empty name is the root and forgets all files."""

        def deleted(writer: Writer) -> Sequence[str]:
            paths: list[str] = []
            for file in self._chosen(writer, name):
                place = page_place(writer.connection, writer.namespace_id, file.path, self._corpus)
                response = forgotten(writer, place, "Deleted by a model's memory tool.", self._agent, self._now)
                paths += [response.path, response.tombstone or response.path]
            return paths

        self._do(deleted)

    def rename(self, name: str, other: str) -> None:
        """Rename a file or a folder; its pages keep their identity and their versions."""
        self._path_of(f"{other}/x" if other else other)

        def renamed(writer: Writer) -> Sequence[str]:
            files = self._files(writer)
            chosen = self._chosen(writer, name)
            if other in files or any(_within(file, other) or _within(other, file) for file in files if file != name):
                raise AlreadyThere(f"{other} is there already. Nothing was stored.")
            if _within(other, name):
                raise Refused(f"{name} cannot be moved into itself. Nothing was stored.")
            paths: list[str] = []
            for file in chosen:
                new = other + file.name.removeprefix(name)
                path = page_place(writer.connection, writer.namespace_id, self._path_of(new), self._corpus).path
                place = page_place(writer.connection, writer.namespace_id, file.path, self._corpus)
                named = {_FIELD: None, **self._named(path, new)}
                if named[_FIELD] is None and _FIELD not in place.metadata.get("frontmatter", {}):
                    named = {}
                text = changed_head(place.text, {**named, "updated": self._today()}) + verbatim_body(place.text)
                kind = "move" if path != place.path else "change"
                self._store_text(writer, kind, place, path, text)
                paths += [place.path, path]
            return paths

        self._do(renamed)

    def _do(self, operation: Callable[[Writer], Sequence[str]]) -> None:
        """Run an operation in one transaction, and retry it if another writer changed a page in the meantime.

        Afterwards the files on disk are updated, if this process may write them.
        """
        for attempt in range(_ATTEMPTS):
            with self._writer() as writer:
                try:
                    with writer.connection.transaction():
                        paths = operation(writer)
                except PageChanged:
                    if attempt + 1 == _ATTEMPTS:
                        raise
                    continue
                for corpus in chosen_corpus(writer.connection, writer.namespace_id, self._corpus) if paths else ():
                    if not self._token and corpus.folder is not None:
                        follow_files(writer.connection, corpus, paths)
                return

    @contextmanager
    def _writer(self) -> Any:
        with self._store.connect("server" if self._token else "owner") as connection:
            yield self._as_writer(connection)

    def _as_writer(self, connection: Connection) -> Writer:
        settings = settings_of(connection, self._namespace)
        scope = namespace_id(connection, self._namespace)
        return Writer(connection, self._namespace, scope, settings, self._token, embedder_for)

    def _files(self, writer: Writer) -> Mapping[str, MemoryFile]:
        """Return the files by name."""
        corpora = chosen_corpus(writer.connection, writer.namespace_id, self._corpus)
        ids = [corpus.id for corpus in corpora if corpus.root != SESSIONS_ROOT]
        rows: Any = writer.connection.execute(_LISTED.encode(), (writer.namespace_id, ids, self._folder)).fetchall()
        found = (MemoryFile(str(kept or path[len(self._folder) :]), path, size) for path, kept, size in rows)
        return {file.name: file for file in found}

    def _chosen(self, writer: Writer, name: str) -> list[MemoryFile]:
        """Return the file with the given name, or the files of the folder with that name."""
        files = self._files(writer)
        chosen = [file for other, file in files.items() if other == name or not name or _within(other, name)]
        if not chosen and name:
            raise NotInCorpus(f"{name} is not there. Nothing was stored.")
        return sorted(chosen, key=lambda file: file.path)

    def _place(self, writer: Writer, name: str) -> PagePlace:
        file = self._files(writer).get(name)
        if file is None:
            raise NotInCorpus(f"{name} is not there. Nothing was stored.")
        return page_place(writer.connection, writer.namespace_id, file.path, self._corpus)

    def _path_of(self, name: str) -> str:
        """Return the path of the page for a file's name. Raises ``Refused`` for a name that no file can have."""
        parts = name.split("/")
        if any(
            not part or part.startswith(".") or len(part) > _LONGEST_NAME or not part.isprintable() for part in parts
        ):
            raise Refused("No part of a name is empty, begins with a dot or is very long. Nothing was stored.")
        if "\\" in name or re.search("%[0-9A-Fa-f]{2}", name):
            raise Refused("A name has neither backslashes nor percent signs before digits. Nothing was stored.")
        path = self._folder + "/".join(_safe(part) for part in parts)
        return path if path.endswith(".md") else f"{path}.md"

    def _named(self, path: str, name: str) -> dict[str, str]:
        """Return the frontmatter field that stores the name, or no field if the name equals the path."""
        return {} if path[len(self._folder) :] == name else {_FIELD: name}

    def _screened(self, writer: Writer, text: str, before: str) -> str:
        result = screened(text, before, writer.settings)
        if result.refused:
            raise Refused(f"The text holds what screening refuses ({result.refused}). Take it out. Nothing was stored.")
        return result.text

    def _store_text(self, writer: Writer, kind: Any, place: PagePlace, path: str, text: str) -> Stored:
        note = {"kind": kind, "agent": self._agent} if self._agent else {"kind": kind}
        return store_page(writer, kind, place, parsed(path, text, place.layout), note=note)

    def _today(self) -> str:
        return self._now().astimezone(UTC).date().isoformat()


def _within(name: str, folder: str) -> bool:
    return name.startswith(f"{folder}/")


def _safe(part: str) -> str:
    """Return a path segment for a segment of a name.

    A safe segment is returned unchanged. Otherwise the unsafe characters are replaced, and a part of the hash of the name is appended to
    keep it unique.
    """
    if _SAFE.fullmatch(part) and not part.endswith(".tombstone.md"):
        return part
    stem, dot, suffix = part.rpartition(".") if part.lower().endswith(".md") else (part, "", "")
    plain = _UNSAFE.sub("-", stem.lower()).strip("-._") or "file"
    return f"{plain}-{hashlib.sha256(part.encode()).hexdigest()[:8]}{dot}{suffix.lower()}"


def _title(text: str, name: str) -> str:
    """Return the first heading of a text, or the title derived from its file's name."""
    heading = re.search(r"^#[ \t]+(.+?)[ \t#]*$", text, re.MULTILINE)
    return (heading[1] if heading else title_of_name(PurePosixPath(name).stem)).strip()[:200] or name
