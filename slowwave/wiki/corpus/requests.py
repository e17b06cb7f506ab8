"""Requests and answers of pages and sessions that agents write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from slowwave.text.markdown import LONGEST_PATH, path_fault

# Requests for pages that agents write, and the text of a page after each request.

# The requests and responses of pages that agents write and purge; ``slowwave.wiki.corpus.page_write`` handles them.

PATH: Final = r"^[^./\\\x00-\x1f\x7f][^\\\x00-\x1f\x7f]*\.md$"
"""Paths of pages in a schema; ``path_fault`` makes the final check. Matches ``People/Li Na.md``, not ``../x.md``."""
LONGEST: Final = 256_000
"""Longest text of a request, in characters; the setting ``max_write_bytes`` applies as well."""

Kind = Literal["create", "append", "replace", "forget"]
Written = Literal[
    "created", "appended", "replaced", "forgotten", "moved", "quarantined", "proposed",
    "would_create", "would_append", "would_replace", "would_forget", "would_move", "would_quarantine",
]  # fmt: skip
FileState = Literal["none", "written", "pending", "superseded"]

_HOLDERS: Final = {
    "versions": "its versions",
    "other_pages": "other pages that say a passage of it",
    "memories": "memories that cite it",
    "snapshots": "snapshots",
    "reports": "runs with reports",
    "git": "histories in git",
}


def path_of_page(path: str) -> str:
    """Return the path if a page can have it. Raises ``ValueError``."""
    if fault := path_fault(path):
        raise ValueError(f"a page's path {fault}")
    return path


PagePath = Annotated[str, AfterValidator(path_of_page)]


class WriteRequest(BaseModel):
    """Request to write a page by its path. ``expected_hash`` is the hash that ``get`` returned."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind = Field(description="create, append, replace or forget.")
    target: PagePath = Field(
        max_length=LONGEST_PATH,
        json_schema_extra={"pattern": PATH},
        description="Path of the page, like notes/tides.md.",
    )
    content: str = Field(
        default="", max_length=LONGEST, description="The text, in Markdown; what is added, for append."
    )
    frontmatter: dict[str, Any] = Field(
        default_factory=dict, description="Fields of the page: title and type for a new one, others as they change."
    )
    expected_hash: str = Field(default="", max_length=64, description="Hash of the page as get gave it (replace).")
    reason: str = Field(default="", max_length=1_000, description="Why it is forgotten.")
    soft: bool = Field(
        default=False, description="Store what screening refuses in quarantine, where no search finds it."
    )
    dry_run: bool = Field(default=False, description="Say what would be done; write nothing.")
    agent: str = Field(default="", max_length=200, description="Who writes.")
    session_id: str = Field(default="", max_length=200, description="The session in which it is written.")
    corpus: str | None = Field(
        default=None, max_length=1_000, description="Name of a corpus's folder, where several are followed."
    )

    @model_validator(mode="after")
    def _whole(self) -> WriteRequest:
        if self.kind == "forget" and not self.reason.strip():
            raise ValueError("what is forgotten is forgotten for a reason")
        if self.kind == "replace" and not re.fullmatch("[0-9a-f]{64}", self.expected_hash):
            raise ValueError("a page is replaced by the expected_hash that get gave")
        if self.kind in ("create", "append", "replace") and not self.content.strip():
            raise ValueError("a page needs a content")
        return self


class HeldElsewhere(BaseModel):
    """Counts of the other places that hold the words of a page.

    - ``versions``: versions of the page.
    - ``other_pages``: live pages that contain a passage of it.
    - ``memories``: live memories that cite it.
    - ``snapshots`` and ``reports``: snapshots, and runs with reports, since the page was stored.
    - ``git``: git histories around its folder; None if the answering process cannot see the folder.
    """

    versions: int
    other_pages: int
    memories: int
    snapshots: int
    reports: int
    git: int | None = None

    def sentence(self) -> str:
        """Describe the counts in words."""
        found = [f"{name} ({n:,})" for field, name in _HOLDERS.items() if (n := getattr(self, field))]
        sentence = f"Its words stand elsewhere: {', '.join(found)}."
        return sentence if found else "Nothing else that is known here holds its words."


class WriteResponse(BaseModel):
    """Result of a write.

    - ``hash``: the hash of the page after the write.
    - ``indexed``: whether the search index covers the page at once.
    - ``file``: whether the page's file was updated, if it has one. ``superseded`` means that a person edited the file, and that the next
      sync uses that text instead of this one.
    - ``proposal``: the id of the proposal that was stored for a person to decide; nothing was written then.
    """

    path: str
    action: Written
    bytes_written: int
    hash: str
    indexed: bool
    edges_added: int
    file: FileState = "none"
    quarantined: bool | None = None
    tombstone: str | None = None
    held: HeldElsewhere | None = None
    proposal: str | None = None
    warnings: tuple[str, ...] = ()


class PurgeRequest(BaseModel):
    """Request to delete a page permanently: a dry run unless ``dry_run`` is false."""

    model_config = ConfigDict(extra="forbid")

    target: PagePath = Field(
        max_length=LONGEST_PATH, json_schema_extra={"pattern": PATH}, description="Path of the page."
    )
    expected_hash: str = Field(
        default="", max_length=64, description="Hash of the page as get gave it; a live purge needs it."
    )
    reason: str = Field(default="", max_length=1_000, description="Why; a live purge needs it.")
    dry_run: bool = Field(default=True, description="Say what would be deleted; delete nothing.")
    allow_canonical: bool = Field(
        default=False, description="Also a protected page; takes a token with the scope approve."
    )
    include_related_tombstone: bool = Field(default=False, description="The tombstone beside the page as well.")
    agent: str = Field(default="", max_length=200, description="Who purges.")
    corpus: str | None = Field(
        default=None, max_length=1_000, description="Name of a corpus's folder, where several are followed."
    )

    @model_validator(mode="after")
    def _whole(self) -> PurgeRequest:
        if not self.dry_run and not (self.reason.strip() and re.fullmatch("[0-9a-f]{64}", self.expected_hash)):
            raise ValueError("a live purge names a reason and the expected_hash that get gave")
        return self


class PurgeResponse(BaseModel):
    """Result of a purge.

    ``paths`` are the pages that were deleted, or would be. ``bytes_deleted`` includes all their versions. ``held`` counts the other
    places that hold the words.
    """

    path: str
    action: Literal["would_purge", "purged"]
    paths: tuple[str, ...]
    bytes_deleted: int
    hash: str
    indexed: bool
    dry_run: bool
    file: FileState = "none"
    held: HeldElsewhere | None = None


# Sessions as pages: followed transcripts, and sessions that agents submit.

# The page of a session as Markdown: its fields as frontmatter, and its text.

_UNPRINTABLE: Final = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
"""Characters that YAML accepts only as an escape."""


def session_page(fields: Mapping[str, object], said: str) -> str:
    """Build a session page from fields (None values are omitted) and the conversation.

    The same input gives the same output, byte for byte.
    """
    lines = (f"{name}: {_written(value)}\n" for name, value in fields.items() if value is not None)
    return f"---\n{''.join(lines)}---\n\n{said}\n".replace("\0", "")


def _written(value: object) -> str:
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


# The request and the response for a session that an agent submits.

SESSION_PATH: Final = r"^logs/sessions/([A-Za-z0-9][A-Za-z0-9._-]*/)*[A-Za-z0-9][A-Za-z0-9._-]*\.md$"
LONGEST_SESSION: Final = 250_000
"""Longest session, in characters; a request over HTTP has fewer bytes than that."""


def _of_sessions(path: str) -> str:
    if not re.fullmatch(SESSION_PATH, path):
        raise ValueError(
            "a session's page lies under logs/sessions/ and ends in .md; names have letters, digits, dots, hyphens and _"
        )
    return path


class SessionIngestRequest(BaseModel):
    """Request to store a session as Markdown."""

    model_config = ConfigDict(extra="forbid")

    path: Annotated[str, AfterValidator(_of_sessions)] = Field(
        max_length=300,
        json_schema_extra={"pattern": SESSION_PATH},
        description="Where its page lies: logs/sessions/….md.",
    )
    content: str = Field(
        min_length=1, max_length=LONGEST_SESSION, description="What was said, in Markdown; all of it, each time."
    )
    agent: str = Field(min_length=1, max_length=200, description="Who took part.")
    session_id: str = Field(min_length=1, max_length=200, description="The session's id at its agent.")
    device: str = Field(default="", max_length=200, description="Where it took place.")
    status: Literal["active", "interrupted", "done"] = Field(default="done", description="Whether it goes on.")
    captured_from: str = Field(default="", max_length=500, description="What it was taken from.")
    updated: datetime | None = Field(
        default=None, description="When something was last said; else the day it is stored."
    )


class SessionIngestResponse(BaseModel):
    """Result of storing a session.

    ``result`` is the action that was taken. ``reindexed`` is whether other pages were indexed again, which never happens. The stored
    session is searchable at once, unless it is ``quarantined``.
    """

    stored: bool
    path: str
    reindexed: bool
    result: Literal["new", "changed", "unchanged"]
    quarantined: bool | None = None
    warnings: tuple[str, ...] = ()
