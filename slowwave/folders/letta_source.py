"""Memory blocks of a Letta server as texts of a folder, read and written through its REST API alone.

A block is the text ``LABEL/BLOCK-ID.md``. The API has no conditional write, so a block is read right before it is written and right after:
what somebody wrote in between stands, save within the milliseconds of the write itself. The key comes from the environment, goes into one
header, and is in no message; redirects are not followed, as they would carry it elsewhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import httpx

from slowwave.corpus.folder_scan import FolderScan, LeftOut
from slowwave.corpus.page_file import FileMark, Unsettled, content_hash
from slowwave.corpus.pending_files import Unwritable
from slowwave.errors import Refused
from slowwave.folders.history import NOTHING, Commit
from slowwave.folders.segments import Segment, lines_of, segments_of

KEY: Final = "LETTA_API_KEY"
"""The variable that holds the key, as Letta's own clients call it; a server without a password needs none."""

_SECONDS: Final = 30.0
_PAGE: Final = 100
_ID: Final = re.compile(r"block-[A-Za-z0-9-]{8,64}")
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9_/-]+")


class LettaBlocks:
    """The blocks that a key may see. Templates and blocks that are read-only are left out."""

    noun = "block"

    def __init__(self, root: str, environment: Mapping[str, str] = os.environ) -> None:
        self.root = root
        key = environment.get(KEY, "").strip()
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client: httpx.Client | None = None

    @contextmanager
    def opened(self) -> Generator[None]:
        """One connection for all that follows; without it each scan has its own."""
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
        """Every block with its value, which Letta lists whole."""
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
        """The value as it is now."""
        block = self._one(path)
        if block is None or _why_left(block):
            raise Unsettled
        return str(block.get("value") or "").encode()

    def bring(self, path: str, was_hash: str, wanted: bytes) -> FileMark | None:
        """Read, written where it is as it was, and read again."""
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
            said = (
                f"answered {answer.status_code}" if answer is not None else "did not answer, so it may have written it"
            )
            raise Unwritable(f"Letta {said}")
        after = self._one(path)
        stands = after is not None and content_hash(str(after.get("value") or "").encode()) == content_hash(wanted)
        return _mark(wanted) if stands else None

    def committable(self, paths: Sequence[str]) -> frozenset[str]:
        """None: Letta keeps no history that a plan could be an entry of."""
        return frozenset()

    def commit(self, written: Collection[str], clean: Collection[str], subject: str, body: str) -> Commit:
        """Nothing, as above."""
        return NOTHING

    def segments(self, text: str, path: str) -> list[Segment]:
        """A block is an item of a list, or a line of a paragraph: who writes values wraps no lines."""
        return lines_of(segments_of(text, path))

    def written_at(self, mark: FileMark) -> float | None:
        """Letta does not tell."""
        return None

    def shut(self, paths: Collection[str]) -> list[str]:
        """None that could be told without writing."""
        return []

    def _all(self) -> Generator[dict[str, Any]]:
        """Every block, page by page, until a page brings nothing new."""
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
        """A block as it is now; None where there is none any more."""
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
        """An answer; None where there is none."""
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
    """The address of a server as it is kept. Raises ``Refused`` for what is none, and for one that holds a password, without saying it."""
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
    """Why a block is not worked on; empty where it is."""
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
    """Size, and in place of a time, which Letta does not tell, 60 bits of the text's hash."""
    return FileMark(len(value), int(content_hash(value)[:15], 16))
