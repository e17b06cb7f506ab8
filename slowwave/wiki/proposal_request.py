"""Requests and answers of proposals."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from slowwave.wiki.claims.request import RememberRequest
from slowwave.wiki.corpus.requests import WriteRequest

# The requests and responses of proposals.

MOST_ACTIONS: Final = 20
MOST_SOURCES: Final = 50

Status = Literal[
    "kept", "pending", "approved", "applied", "partly_applied", "rejected", "stale", "refused", "undone", "expired"
]
Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f-]{4,36}$")]
SourcePath = Annotated[str, StringConstraints(min_length=1, max_length=300)]

_OWN: Final = frozenset({"actions", "source_paths", "reason", "agent", "session_id"})


class ProposedChange(BaseModel):
    """One change: a statement in the form of memory-write, or a page in the form of write. Either may forget something."""

    model_config = ConfigDict(extra="forbid")

    statement: RememberRequest | None = Field(
        default=None, description="What to remember, replace or forget, as for memory-write."
    )
    page: WriteRequest | None = Field(
        default=None, description="A page to create, append to, replace or forget, as for write."
    )

    @model_validator(mode="after")
    def _one(self) -> ProposedChange:
        if (self.statement is None) == (self.page is None):
            raise ValueError("a change is a statement or a page")
        if self.statement is not None and self.statement.force_inbox:
            raise ValueError("a statement for the inbox needs nobody's approval: memory-write keeps it")
        return self

    def over(self, surface: str) -> ProposedChange:
        """Return the change with the surface through which it came, if it is a statement that names none."""
        statement = self.statement
        return self if statement is None else self.model_copy(update={"statement": statement.over(surface)})

    def forgets(self) -> bool:
        """Return whether the change forgets something."""
        statement = self.statement
        return (self.page is not None and self.page.kind == "forget") or (
            statement is not None and statement.action == "forget"
        )

    def about(self) -> str:
        """Return in one line what the change is about."""
        if self.page is not None:
            return f"{self.page.kind} {self.page.target}"
        statement = self.statement
        return f"{statement.action} {statement.subject}" if statement is not None else ""


class ProposalRequest(BaseModel):
    """Changes for a person to decide on. One statement may be given by its fields alone, in the form of memory-write."""

    model_config = ConfigDict(extra="forbid")

    actions: tuple[ProposedChange, ...] = Field(
        min_length=1, max_length=MOST_ACTIONS, description="The changes; each may be approved by itself."
    )
    source_paths: tuple[SourcePath, ...] = Field(
        default=(),
        max_length=MOST_SOURCES,
        description="Pages on which they rest: rejected, they are proposed again when one of these has changed.",
    )
    reason: str = Field(default="", max_length=1_000, description="Why.")
    agent: str = Field(default="", max_length=200, description="Who proposes.")
    session_id: str = Field(default="", max_length=200, description="The session in which it is proposed.")

    def over(self, surface: str) -> ProposalRequest:
        """Return the proposal with the surface through which it came, in each of its statements that names none."""
        return self.model_copy(update={"actions": tuple(action.over(surface) for action in self.actions)})

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, given: Any) -> Any:
        """Accept the fields of one statement in the form of memory-write."""
        if not isinstance(given, dict) or "actions" in given:
            return given
        own = {name: value for name, value in given.items() if name in _OWN}
        statement = {name: value for name, value in given.items() if name not in ("actions", "source_paths")}
        return own | {"actions": [{"statement": statement}]}


class ProposalsRequest(BaseModel):
    """The selection of proposals to list."""

    model_config = ConfigDict(extra="forbid")

    status: Status | None = Field(default=None, description="Only those of this status.")
    limit: int = Field(default=50, ge=1, le=200, description="How many at most, the newest first.")


class ProposalByIdRequest(BaseModel):
    """A proposal by its id."""

    model_config = ConfigDict(extra="forbid")

    id: Id = Field(description="Id of a proposal, or its first characters.")


class ProposalApplyRequest(BaseModel):
    """The approval of a proposal's plan, as it was read."""

    model_config = ConfigDict(extra="forbid")

    id: Id = Field(description="Id of a proposal, or its first characters.")
    plan_hash: str = Field(
        pattern="^[0-9a-f]{64}$", description="The plan that is approved, as memory-proposal gave it."
    )
    reason: str = Field(default="", max_length=1_000, description="Why.")


class ProposalRejectRequest(BaseModel):
    """The rejection of a proposal, with a reason."""

    model_config = ConfigDict(extra="forbid")

    id: Id = Field(description="Id of a proposal, or its first characters.")
    reason: str = Field(min_length=1, max_length=1_000, description="Why.")


class ProposalResponse(BaseModel):
    """A proposal, with its status and the plan to approve (``plan_hash``).

    ``status``: kept (no plan yet), pending (its plan is to be decided), or its outcome. ``actions``: the requested ``changes``; a list of
    proposals leaves them out, and a proposal that is read by its id has them. ``known``: it was proposed before, and its sources have not
    changed. ``still_held``: for each change that would forget something, what still holds the words afterwards.
    """

    id: str
    status: Status
    about: str
    actions: tuple[ProposedChange, ...] = ()
    changes: int = 0
    reason: str = ""
    source_paths: tuple[str, ...] = ()
    agent: str = ""
    session_id: str = ""
    recorded_at: datetime
    plan_hash: str | None = None
    decided_by: str | None = None
    message: str = ""
    known: bool | None = None
    still_held: tuple[str, ...] = ()


class ProposalsResponse(BaseModel):
    """Proposals, the newest first."""

    proposals: tuple[ProposalResponse, ...]
