"""Sources of the texts of a connected folder: files on disk or blocks of a Letta server, and their history in git."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import httpx

from slowwave.bindings.stores import ConnectedStore, connected_stores
from slowwave.errors import Refused, SlowwaveError
from slowwave.sources.git import IDENTITY, QUIET, git_environment
from slowwave.sources.merging import Segment, lines_of, segments_of
from slowwave.sources.page_files import (
    FileMark,
    FolderScan,
    LeftOut,
    Unsettled,
    content_hash,
    decoded,
    read_bytes,
    scan_folder,
)
from slowwave.sources.profile import profile
from slowwave.sources.write_files import Unwritable, bring_file
from slowwave.store.connect import Store
from slowwave.store.doctor import Diagnosis
from slowwave.text.frontmatter import UnreadableFile
from slowwave.text.tokens import counted

# Files that followed a plan, as one commit, if their folder is in a git work tree.
#
# Only files that git tracks and that had no uncommitted changes before they were written are committed, so a commit contains only the plan
# and no one's unfinished work. Nothing is initialised, staged in addition, pushed or rewritten. A failure of git never stops an apply.

_SECONDS_HISTORY: Final = 30


@dataclass(frozen=True, slots=True)
class Commit:
    """The id of a commit, and a sentence about what was not committed; either may be empty."""

    id: str = ""
    problem: str = ""


NOTHING: Final = Commit()


def committable(root: Path, paths: Sequence[str]) -> frozenset[str]:
    """Return the files that git tracks and that are as in the last commit; empty outside a work tree, or without git."""
    if not paths or _git(root, "rev-parse", "--is-inside-work-tree") != "true":
        return frozenset()
    known = _git(root, "ls-files", "-z", "--", *paths)
    changed = _git(root, "diff", "--name-only", "--relative", "-z", "HEAD", "--", *paths)
    if known is None or changed is None:
        return frozenset()
    return frozenset(known.split("\0")) & frozenset(paths) - frozenset(changed.split("\0"))


def commit_files(root: Path, paths: Collection[str], clean: Collection[str], subject: str, body: str) -> Commit:
    """Commit the written files that were ``clean`` before."""
    if not clean and _git(root, "rev-parse", "--is-inside-work-tree") != "true":
        return NOTHING
    chosen = sorted(set(paths) & set(clean))
    left = sorted(set(paths) - set(clean))
    problem = (
        f"{_few(left)} had changes that were not committed, or git does not know "
        "them: what was written to them is left for you to commit."
        if left
        else ""
    )
    if not chosen:
        return Commit("", problem)
    if _git(root, "commit", "--quiet", "--no-verify", "--only", "-m", subject, "-m", body, "--", *chosen) is None:
        return Commit(
            "", f"git did not take the commit, so what was written is left for you to commit. {problem}".strip()
        )
    return Commit(_git(root, "rev-parse", "HEAD") or "", problem)


def _git(root: Path, *arguments: str) -> str | None:
    """Return the output of git; None if it failed, is not installed, or took too long."""
    program = shutil.which("git")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, *QUIET, *IDENTITY, *arguments],
            cwd=root,
            env=git_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS_HISTORY,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode(errors="replace").strip("\n")


# The location of the texts of a connected folder: a source is scanned, read, updated to what its rows say, and committed.
#
# Files of a file system are one source, memory blocks behind Letta's API another.

TREE: Final = "folder"
"""The binding of stores that are folders."""

LETTA: Final = "letta_api"
"""The binding of stores that are the memory blocks of a Letta server, behind its API."""

_PROFILE: Final = "plain"
"""The profile by which files are read."""


class TextSource(Protocol):
    """A source of texts by their paths, wherever they are stored."""

    @property
    def noun(self) -> str:
        """Return the noun for one of the texts."""
        ...

    @property
    def root(self) -> str:
        """Return the location of the texts, as shown to a person."""
        ...

    def opened(self) -> AbstractContextManager[object]:
        """Return a context that stays open while the texts are processed."""
        ...

    def scan(self, known: Collection[str] = ()) -> FolderScan:
        """List the texts, each with a mark that changes when the text does.

        Raises ``Refused`` if they cannot be listed.
        """
        ...

    def read(self, path: str, mark: FileMark) -> bytes:
        """Return the bytes of a text.

        Raises ``Unsettled``, and ``UnreadableFile`` for a text that cannot be read.
        """
        ...

    def bring(self, path: str, was_hash: str, wanted: bytes) -> FileMark | None:
        """Write a text whose SHA-256 is still ``was_hash``; return None if it is not.

        Text of others is never overwritten. Doing it again does nothing. Raises ``Unwritable`` and ``OSError``.
        """
        ...

    def committable(self, paths: Sequence[str]) -> frozenset[str]:
        """Return the texts whose change can be committed alone; must be called before they are written."""
        ...

    def commit(self, written: Collection[str], clean: Collection[str], subject: str, body: str) -> Commit:
        """Record what was written in the source's own history, if it has one."""
        ...

    def segments(self, text: str, path: str) -> list[Segment]:
        """Return the segments of a text."""
        ...

    def written_at(self, mark: FileMark) -> float | None:
        """Return when a text was written, in seconds since 1970.

        None means that the source does not know this; its texts are complete at any time.
        """
        ...

    def shut(self, paths: Collection[str]) -> list[str]:
        """Return the texts that this login cannot write, as far as can be determined without writing."""
        ...


def is_folder(of: ConnectedStore) -> bool:
    """Return whether the rows of a connected store follow texts: a folder, or blocks of Letta's API."""
    return of.kind in (TREE, LETTA)


def source_of(of: ConnectedStore) -> TextSource:
    """Return the source of the texts of a connected folder."""
    root = of.parameters.get("root", "")
    if of.kind == LETTA:
        return LettaBlocks(root)
    return FileTree(Path(root))


class FileTree:
    """The Markdown files under a folder."""

    noun = "file"

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def root(self) -> str:
        """Return the path of the folder."""
        return str(self._root)

    def opened(self) -> AbstractContextManager[object]:
        """Return an empty context, because nothing is held open."""
        return nullcontext()

    def scan(self, known: Collection[str] = ()) -> FolderScan:
        """List the files with their sizes and times, without reading any file."""
        return scan_folder(self._root, profile(_PROFILE), known)

    def read(self, path: str, mark: FileMark) -> bytes:
        """Return the bytes of a regular file that still matches its mark."""
        return read_bytes(self._root / path, mark, profile(_PROFILE).largest_file)

    def bring(self, path: str, was_hash: str, wanted: bytes) -> FileMark | None:
        """Replace the file as a whole, never through a link."""
        if bring_file(self._root, path, was_hash, wanted, content_hash(wanted)):
            return None
        return FileMark.from_stat((self._root / path).stat(follow_symlinks=False))

    def committable(self, paths: Sequence[str]) -> frozenset[str]:
        """Return the files that git tracks and that are as in the last commit."""
        return committable(self._root, paths)

    def commit(self, written: Collection[str], clean: Collection[str], subject: str, body: str) -> Commit:
        """Make one commit, if the folder is in a git work tree."""
        return commit_files(self._root, written, clean, subject, body)

    def segments(self, text: str, path: str) -> list[Segment]:
        """Return the segments of a text; a block is an item of a list, or a paragraph."""
        return segments_of(text, path)

    def written_at(self, mark: FileMark) -> float | None:
        """Return the modification time of the file in seconds."""
        return mark.mtime / 1e9

    def shut(self, paths: Collection[str]) -> list[str]:
        """Return the files in whose folder this login may not write."""
        return [path for path in paths if not os.access((self._root / path).parent, os.W_OK)]


# Memory blocks of a Letta server as texts of a folder, read and written only through its REST API.
#
# A block is the text ``LABEL/BLOCK-ID.md``. The API has no conditional write, so a block is read right before it is written and right
# after. What another client wrote in between is kept, except within the milliseconds of the write itself. The key comes from the
# environment, is sent in one header, and is in no message. Redirects are not followed, because they would send it elsewhere.

KEY: Final = "LETTA_API_KEY"
"""The variable that holds the key, as Letta's own clients call it; a server without a password needs none."""

_SECONDS: Final = 30.0
_PAGE: Final = 100
_ID: Final = re.compile(r"block-[A-Za-z0-9-]{8,64}")
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9_/-]+")


class LettaBlocks:
    """The blocks of a Letta server that a key can access.

    Templates and read-only blocks are left out.
    """

    noun = "block"

    def __init__(self, root: str, environment: Mapping[str, str] = os.environ) -> None:
        self.root = root
        key = environment.get(KEY, "").strip()
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client: httpx.Client | None = None

    @contextmanager
    def opened(self) -> Generator[None]:
        """Open one connection for all requests in the block; without it, each scan opens one."""
        if self._client is not None:
            yield
            return
        try:
            client = httpx.Client(headers=self._headers, timeout=_SECONDS, follow_redirects=False)
        except UnicodeEncodeError:
            raise Refused(
                f"{KEY} holds what no header can carry. Set it to the key alone; nothing was looked at."
            ) from None
        with client:
            self._client = client
            try:
                yield
            finally:
                self._client = None

    def scan(self, known: Collection[str] = ()) -> FolderScan:
        """List every block with its value, because Letta lists blocks with their values."""
        found = FolderScan()
        with self.opened():
            for block in self._all():
                path, value = _path(block), str(block.get("value") or "")
                if reason := _why_left(block):
                    found.left_out.append(LeftOut(path, 0, reason))
                else:
                    found.files[path] = _mark(value.encode())
        found.files = dict(sorted(found.files.items()))
        found.left_out.sort(key=lambda out: out.path)
        return found

    def read(self, path: str, mark: FileMark) -> bytes:
        """Return the current value of the block."""
        block = self._one(path)
        if block is None or _why_left(block):
            raise Unsettled
        return str(block.get("value") or "").encode()

    def bring(self, path: str, was_hash: str, wanted: bytes) -> FileMark | None:
        """Read a block, write it if it is as it was, and read it again."""
        block, text = self._one(path), wanted.decode()
        if block is None:
            return None
        if reason := _why_left(block):
            raise Unwritable(reason)
        now = content_hash(str(block.get("value") or "").encode())
        if now == content_hash(wanted):
            return _mark(wanted)
        if now != was_hash:
            return None
        limit = block.get("limit")
        if isinstance(limit, int) and len(text) > limit:
            raise Unwritable(f"it would have {len(text):,} characters, and Letta keeps {limit:,} of it")
        answer = self._ask("PATCH", f"/v1/blocks/{_id(path)}", value=text)
        if answer is None or answer.status_code != 200:
            outcome = (
                f"answered {answer.status_code}" if answer is not None else "did not answer, so it may have written it"
            )
            raise Unwritable(f"Letta {outcome}")
        after = self._one(path)
        stands = after is not None and content_hash(str(after.get("value") or "").encode()) == content_hash(wanted)
        return _mark(wanted) if stands else None

    def committable(self, paths: Sequence[str]) -> frozenset[str]:
        """Return an empty set, because Letta keeps no history to which a plan could be added."""
        return frozenset()

    def commit(self, written: Collection[str], clean: Collection[str], subject: str, body: str) -> Commit:
        """Commit nothing, because Letta keeps no history."""
        return NOTHING

    def segments(self, text: str, path: str) -> list[Segment]:
        """Return the segments of a text; a block is an item of a list, or a line of a paragraph.

        Lines count as blocks because values are written without wrapping.
        """
        return lines_of(segments_of(text, path))

    def written_at(self, mark: FileMark) -> float | None:
        """Return None, because Letta does not report the time."""
        return None

    def shut(self, paths: Collection[str]) -> list[str]:
        """Return an empty list, because this cannot be determined without writing."""
        return []

    def _all(self) -> Generator[dict[str, Any]]:
        """Return every block, page by page, until a page has nothing new."""
        seen: set[str] = set()
        after: dict[str, str] = {}
        while True:
            answer = self._ask("GET", "/v1/blocks/", {"limit": str(_PAGE), "order": "asc", **after})
            blocks = self._content(answer)
            if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
                raise self._refused("answers what is no list of blocks")
            fresh = [block for block in blocks if str(block.get("id")) not in seen]
            if not fresh:
                return
            yield from fresh
            seen.update(str(block.get("id")) for block in fresh)
            after = {"after": str(fresh[-1].get("id"))}

    def _one(self, path: str) -> dict[str, Any] | None:
        """Return the block as it is now, or None if it no longer exists."""
        answer = self._ask("GET", f"/v1/blocks/{_id(path)}")
        if answer is not None and answer.status_code == 404:
            return None
        block = self._content(answer)
        if not isinstance(block, dict) or block.get("id") != _id(path):
            raise self._refused("answers another block than it was asked for")
        return block

    def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None = None, **body: object
    ) -> httpx.Response | None:
        """Send a request and return the answer, or None if there is none."""
        with self.opened():
            assert self._client is not None  # noqa: S101 - as opened() leaves it
            try:
                return self._client.request(method, f"{self.root}{path}", params=query, json=body or None)
            except httpx.HTTPError:
                return None

    def _content(self, answer: httpx.Response | None) -> Any:
        if answer is None:
            raise self._refused("does not answer")
        if answer.status_code in (401, 403):
            raise self._refused(f"does not take the key ({answer.status_code}): set {KEY} to one that may read blocks")
        if answer.status_code != 200:
            raise self._refused(f"answered {answer.status_code}")
        try:
            return answer.json()
        except ValueError:
            raise self._refused("answers what is no JSON") from None

    def _refused(self, why: str) -> Refused:
        return Refused(
            f"Letta at {self.root} {why}. No block was taken for gone; the next night, apply or undo goes on where this one ended."
        )


def checked_address(url: str) -> str:
    """Return the address of a server in its stored form.

    Raises ``Refused`` for an invalid address, and for one that holds a password, without repeating it.
    """
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise Refused(
            "The address of Letta's server begins with http:// or https:// and names a host. Nothing was connected."
        )
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise Refused(
            f"The address of Letta's server holds more than host and path. A key belongs into {KEY}; nothing was connected."
        )
    return str(parsed).rstrip("/").removesuffix("/v1")


def _why_left(block: Mapping[str, Any]) -> str:
    """Return why a block is left out; empty if it is not."""
    value = block.get("value")
    if not _ID.fullmatch(str(block.get("id"))):
        return "its id is none of Letta's"
    if block.get("read_only"):
        return "it is read-only in Letta"
    if block.get("is_template"):
        return "it is a template"
    if value is not None and not isinstance(value, str):
        return "its value is no text"
    try:
        (value or "").encode()
    except UnicodeEncodeError:
        return "its value is no Unicode text"
    return ""


def _path(block: Mapping[str, Any]) -> str:
    label = _UNUSUAL.sub("_", str(block.get("label") or "block"))
    id_ = _UNUSUAL.sub("_", str(block.get("id"))).replace("/", "_")
    return f"{label.strip('/')[:100] or 'block'}/{id_}.md"


def _id(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def _mark(value: bytes) -> FileMark:
    """Return the size and, in place of a time, which Letta does not report, 60 bits of the text's hash."""
    return FileMark(len(value), int(content_hash(value)[:15], 16))


# What prevents a connected folder from being read or written, for ``slowwave doctor``: by names and rights. Only files are read that no
# night took so far.

_SHOWN = 3
_TAKEN: Final = "SELECT path FROM memory.folder_files WHERE folder = %s"


def diagnose_folders(store: Store) -> list[Diagnosis]:
    """Report on every connected folder.

    Returns nothing if the stores cannot be read, because the diagnosis of the stores reports that already.
    """
    try:
        with store.connect("reader") as connection:
            folders = [of for of in connected_stores(connection) if is_folder(of)]
            taken = {of.name: {str(path) for (path,) in connection.execute(_TAKEN, (of.name,))} for of in folders}
    except SlowwaveError:
        return []
    return [diagnosis for of in folders for diagnosis in _diagnose(of, taken[of.name])]


def _diagnose(of: ConnectedStore, taken: Collection[str]) -> list[Diagnosis]:
    source = source_of(of)
    try:
        scan = source.scan()
    except Refused as problem:
        if of.kind == LETTA:
            return [
                Diagnosis(
                    f"{problem} The nights and applies of {of.name} are refused.",
                    f"Mend it, or `slowwave connect remove {of.name}`.",
                )
            ]
        return [
            Diagnosis(
                f"The folder {of.name} lies at {source.root}, where there is none that can be read: its nights and applies are refused.",
                f"Mount it, or `slowwave connect remove {of.name}`.",
            )
        ]
    found: list[Diagnosis] = []
    if of.writing and (shut := source.shut(scan.files)):
        found.append(
            Diagnosis(
                f"Files of the folder {of.name} could not follow what is applied: {_few(shut)} cannot be replaced by this login.",
                f"Give it the right to write there, or let no plan be applied: `slowwave connect write {of.name} --off`.",
            )
        )
    left = [*scan.left_out, *_unreadable(source, {p: mark for p, mark in scan.files.items() if p not in taken})]
    if left:
        skipped = [f"{out.path} ({out.reason})" for out in left]
        found.append(
            Diagnosis(
                f"Of the folder {of.name}, {counted(len(skipped), f'{source.noun} is', f'{source.noun}s are')} left out: {_few(skipped)}.",
                "Look at them.",
                problem=False,
            )
        )
    return found


def _unreadable(source: TextSource, files: Mapping[str, FileMark]) -> list[LeftOut]:
    """Return those of the files that cannot be read as text, each with the reason."""
    found: list[LeftOut] = []
    with source.opened():
        for path, mark in files.items():
            try:
                source.segments(decoded(source.read(path, mark)), path)
            except UnreadableFile as problem:
                line = f"line {problem.line}: " if problem.line else ""
                found.append(LeftOut(path, problem.line, f"{line}{problem}"))
            except (Refused, Unsettled, OSError):  # it is being written, or gone since
                continue
    return found


def _few(said: list[str]) -> str:
    more = f", and {len(said) - _SHOWN:,} more" if len(said) > _SHOWN else ""
    return ", ".join(line[:120] for line in said[:_SHOWN]) + more
