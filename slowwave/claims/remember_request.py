"""The request and the answer of ``remember`` (Dory's memory-write), one model for every surface. What becomes of it belongs to
``slowwave.claims.remember`` and ``slowwave.claims.forgetting``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from slowwave.claims.subject_ref import Family
from slowwave.texts.counted import counted

LONGEST: Final = 10_000
"""Characters of a statement."""

Action = Literal["write", "replace", "forget"]
ClaimKind = Literal["fact", "preference", "state", "decision", "note"]
ClaimId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Relation = Literal["same", "near", "contradicts"]
Matched = Literal["", "id", "name", "alias", "slug", "page", "matching", "model", "scope"]
Sureness = Literal["high", "medium", "low"]

_ALIASES: Final = {"add": "write", "create": "write", "remove": "forget", "delete": "forget"}


def _action(value: object) -> object:
    return _ALIASES.get(value, value) if isinstance(value, str) else value


class RememberRequest(BaseModel):
    """Something to keep, or to forget, about one subject."""

    model_config = ConfigDict(extra="forbid")

    subject: str = Field(
        default="",
        max_length=200,
        description="Whom or what it is about: a name, an alias, or a reference (project:rowan).",
    )
    content: str = Field(
        default="",
        max_length=LONGEST,
        description="One plain statement. With action=forget: which one; all of them where it is empty.",
    )
    action: Annotated[Action, BeforeValidator(_action)] = Field(
        default="write", description="write (add, create), replace what was so until now, or forget (remove, delete)."
    )
    kind: ClaimKind = Field(
        default="fact",
        description="What sort of statement. With action=forget: of which sort; note, or none said, means all.",
    )
    scope: Family | None = Field(
        default=None, description="The family of the subject; a subject that is not known yet needs it."
    )
    confidence: float = Field(default=1.0, ge=0, le=1, description="How sure it is, from 0 to 1.")
    occurred_at: datetime | None = Field(
        default=None, description="Since when it is true, where that is not now: a day or a time; UTC unless it says."
    )
    reason: str = Field(default="", max_length=1_000, description="Why it is said, or forgotten.")
    source: str = Field(default="", max_length=500, description="Where it comes from: a page, a call, a person.")
    claim_ids: tuple[ClaimId, ...] = Field(
        default=(),
        max_length=50,
        description="With action=replace or forget: these claims alone; where none is named, all of the subject and kind.",
    )
    soft: bool = Field(
        default=False,
        description="Put it aside for a person, rather than refuse it, where its subject is unknown or it speaks to a model.",
    )
    dry_run: bool = Field(default=False, description="Only say what would be done.")
    force_inbox: bool = Field(default=False, description="Keep it as it came, in the inbox, about no subject.")
    allow_canonical: bool = Field(
        default=False, description="Accepted; a canonical page is changed by a plan, never by day."
    )
    agent: str = Field(default="", max_length=200, description="Who says it.")
    session_id: str = Field(default="", max_length=200, description="The session in which it is said.")
    origin_surface: str = Field(default="", max_length=100, description="By which surface it comes.")

    def over(self, surface: str) -> RememberRequest:
        """The request with the surface by which it came, where whoever asks named none."""
        return self if self.origin_surface else self.model_copy(update={"origin_surface": surface})

    @model_validator(mode="after")
    def _is_whole(self) -> RememberRequest:
        if self.action != "forget" and not self.content.strip():
            raise ValueError("content is what to remember: a statement")
        if self.action == "forget" and self.force_inbox:
            raise ValueError("force_inbox keeps something: it cannot be forgotten at the same time")
        if self.action == "forget" and "kind" not in self.model_fields_set:
            self.kind = "note"
        if self.claim_ids and self.action == "write":
            raise ValueError("claim_ids are the claims to replace or to forget; write adds to what is there")
        if not self.subject.strip() and not self.force_inbox:
            raise ValueError("subject is whom or what it is about: a name, an alias or a reference")
        return self


class SubjectCandidate(BaseModel):
    """A subject that may be meant."""

    subject_ref: str
    subject_id: str
    name: str
    family: Family


class KnownStatement(BaseModel):
    """What is known already and near to what was said. ``relation``: what the two are to each other."""

    id: str
    kind: str
    statement: str
    relation: Relation
    since: str
    until: str | None = None


class RememberPreview(BaseModel):
    """What a dry run would have done. ``resolved_mode``: whether the subject is known, would be made, or is in doubt."""

    action: Action
    subject: str
    subject_ref: str
    target_subject_ref: str
    target_path: str
    family: Family | None
    kind: ClaimKind
    resolved_mode: str
    matched_by: Matched
    match_confidence: Sureness
    evidence_path: str
    canonical_target: bool


class StillHeld(BaseModel):
    """What holds forgotten words after all, as counts: versions and evidence on record, retired; snapshots until their retention is
    over, sealed plans that wrote them, live memories and passages that say the same."""

    versions: int
    evidence: int
    snapshots: int
    memories: int
    passages: int
    plans: int = 0

    def sentence(self) -> str:
        """In words."""
        kept = f"{counted(self.versions, 'version')} and {counted(self.evidence, 'page')} of evidence are kept, retired"
        if self.snapshots:
            hold = "holds them until its" if self.snapshots == 1 else "hold them until their"
            kept += f"; {counted(self.snapshots, 'snapshot')} {hold} retention is over"
        if self.plans:
            kept += f"; {counted(self.plans, 'sealed plan')} {'holds' if self.plans == 1 else 'hold'} them"
        if not self.memories + self.passages:
            return f"{kept}."
        says = "says" if self.memories + self.passages == 1 else "say"
        others = [counted(n, one) for n, one in ((self.memories, "memory"), (self.passages, "passage")) if n]
        return f"{kept}. {' and '.join(others)} still {says} the same words."


class RememberResponse(BaseModel):
    """``resolved``: whether the subject was found, made, in doubt (``candidates``) or unknown; ``confidence`` how sure that is. ``known``:
    what is near to what was said. ``conflicts_with`` contradict it and stand beside it; ``replaced`` ended where it begins.
    """

    resolved: Literal["known", "created", "ambiguous", "unresolved"]
    action: Action
    kind: ClaimKind
    subject_ref: str
    target_path: str
    result: Literal["preview", "written", "replaced", "forgotten", "quarantined", "rejected"]
    confidence: Sureness
    indexed: bool
    quarantined: bool
    message: str
    evidence_path: str = ""
    matched_by: Matched = ""
    claim_id: str | None = None
    known: tuple[KnownStatement, ...] = ()
    conflicts_with: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    still_held: StillHeld | None = None
    candidates: tuple[SubjectCandidate, ...] = ()
    warnings: tuple[str, ...] = ()
    preview: RememberPreview | None = None

    @classmethod
    def of_fields(cls, **fields: Any) -> RememberResponse:
        """An answer with all of its plain fields said, and of the others those that say something."""
        bare = {"evidence_path": "", "matched_by": ""}
        return cls.model_validate(bare | {name: value for name, value in fields.items() if value not in (None, ())})
