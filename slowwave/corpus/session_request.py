"""The request and the answer of a session that an agent hands in. What becomes of it belongs to ``slowwave.corpus.session_ingest``."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

PATH: Final = r"^logs/sessions/([A-Za-z0-9][A-Za-z0-9._-]*/)*[A-Za-z0-9][A-Za-z0-9._-]*\.md$"
LONGEST: Final = 250_000
"""Characters of a session; a request over HTTP has fewer bytes than that."""


def _of_sessions(path: str) -> str:
    if not re.fullmatch(PATH, path):
        raise ValueError(
            "a session's page lies under logs/sessions/ and ends in .md; names have letters, digits, dots, hyphens and _"
        )
    return path


class SessionIngestRequest(BaseModel):
    """A session as Markdown."""

    model_config = ConfigDict(extra="forbid")

    path: Annotated[str, AfterValidator(_of_sessions)] = Field(
        max_length=300, json_schema_extra={"pattern": PATH}, description="Where its page lies: logs/sessions/….md."
    )
    content: str = Field(
        min_length=1, max_length=LONGEST, description="What was said, in Markdown; all of it, each time."
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
    """``result`` says what was done. ``reindexed``: whether other pages were indexed anew, which never takes place; what was stored is
    found at once, unless it is ``quarantined``.
    """

    stored: bool
    path: str
    reindexed: bool
    result: Literal["new", "changed", "unchanged"]
    quarantined: bool | None = None
    warnings: tuple[str, ...] = ()
