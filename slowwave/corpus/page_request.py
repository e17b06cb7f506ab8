"""The requests and answers of pages that agents write and purge. What becomes of them belongs to ``slowwave.corpus.page_write``."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from slowwave.texts.page_paths import LONGEST_PATH, path_fault

PATH: Final = r"^[^./\\\x00-\x1f\x7f][^\\\x00-\x1f\x7f]*\.md$"
"""Paths of pages, as a schema shows them; ``path_fault`` decides. Matches ``People/Li Na.md``, not ``../x.md``."""
LONGEST: Final = 256_000
"""Characters of a request; the setting ``max_write_bytes`` is asked besides."""

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
    """A page by its path. ``expected_hash`` is what ``get`` gave."""

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
    """What else holds the words of a page, as counts: its own versions, live pages that say a passage of it, live memories that cite it,
    snapshots and runs with reports since it came, and histories in git around its folder (None: nobody who answers can see the folder).
    """

    versions: int
    other_pages: int
    memories: int
    snapshots: int
    reports: int
    git: int | None = None

    def sentence(self) -> str:
        """In words."""
        found = [f"{name} ({n:,})" for field, name in _HOLDERS.items() if (n := getattr(self, field))]
        told = f"Its words stand elsewhere: {', '.join(found)}."
        return told if found else "Nothing else that is known here holds its words."


class WriteResponse(BaseModel):
    """``hash`` is that of the page now, ``indexed`` whether the search index knows of it at once. ``file``: whether its file has
    followed, where it has one; ``superseded``: a person edited the file, and the next sync takes that text over this one. ``proposal`` is
    the id of what was kept for a person to decide, and nothing was written.
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
    """A page that is deleted for good: a dry run unless ``dry_run`` is false."""

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
    """``paths`` of the pages that went, or would; ``bytes_deleted`` with all their versions; ``held``: what else holds the words."""

    path: str
    action: Literal["would_purge", "purged"]
    paths: tuple[str, ...]
    bytes_deleted: int
    hash: str
    indexed: bool
    dry_run: bool
    file: FileState = "none"
    held: HeldElsewhere | None = None
