"""The request and the response of ``remember``, references of subjects, and screening of requests."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from slowwave.text.tokens import counted

# References of subjects (``project:rowan``): a family, a slug, and the path of the page of such a subject. Pure.

Family = Literal["person", "project", "concept", "decision", "core"]
FAMILIES: Final[tuple[Family, ...]] = get_args(Family)

CORE: Final = ("user", "identity", "soul", "env", "active", "defaults")
"""The subjects of the family ``core``, one per page."""

_PAGES: Final = {
    "person": "people/{}.md",
    "project": "projects/{}/state.md",
    "concept": "concepts/{}.md",
    "decision": "decisions/{}.md",
    "core": "core/{}.md",
}
_FORM: Final = re.compile(rf"({'|'.join(FAMILIES)}):([a-z0-9][a-z0-9-]{{0,119}})", re.IGNORECASE)
_LONGEST: Final = 80
_LEADING_DAY: Final = re.compile(r"^\d{4}-\d\d(?:-\d\d)?[-_ ]+")


class SubjectRef(NamedTuple):
    """A reference of a subject: its family and its slug."""

    family: Family
    slug: str

    def __str__(self) -> str:
        return f"{self.family}:{self.slug}"

    @property
    def path(self) -> str:
        """Return the path of the subject's canonical page, whether the page exists or not."""
        return _PAGES[self.family].format(self.slug)

    @classmethod
    def read(cls, text: str) -> SubjectRef | None:
        """Parse a reference that a user wrote; return None if the text is not a reference."""
        form = _FORM.fullmatch(text.strip())
        return None if form is None else cls(_family(form[1].lower()), form[2].lower())


def family_of(entity_type: str) -> Family:
    """Return the family of an entity type; a type that is not a family counts as a concept."""
    return _family(entity_type.casefold())


def slug_of(name: str) -> str:
    """Convert a name to a path segment of Latin letters and digits.

    A name without such characters gets a slug from its hash.
    """
    from slowwave.matching.names import latin  # it imports NumPy, which pure reads do not need

    bare = re.sub(r"[^a-z0-9]+", "-", latin(name)).strip("-")[:_LONGEST].strip("-")
    return bare or f"n-{hashlib.sha256(name.strip().casefold().encode()).hexdigest()[:10]}"


def undated(stem: str) -> str:
    """Return a file's name without its leading date or month."""
    return _LEADING_DAY.sub("", stem)


def _family(text: str) -> Family:
    known: dict[str, Family] = {family: family for family in FAMILIES}
    return known.get(text, "concept")


# The request and the response of ``remember`` (Dory's memory-write), one model for every surface. ``slowwave.wiki.claims.remember`` and
# ``slowwave.wiki.claims.forgetting`` handle them.

LONGEST: Final = 10_000
"""Longest statement, in characters."""

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
    """A request to remember or forget statements about one subject."""

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
        """Return the request with the surface that received it, unless the request names one."""
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
    """A possible subject of a request."""

    subject_ref: str
    subject_id: str
    name: str
    family: Family


class KnownStatement(BaseModel):
    """A known statement near to the new one; ``relation`` is the relation between the two."""

    id: str
    kind: str
    statement: str
    relation: Relation
    since: str
    until: str | None = None


class RememberPreview(BaseModel):
    """Result of a dry run. ``resolved_mode`` is whether the subject is known, would be created, or is ambiguous."""

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
    """Counts of the places that still hold forgotten words.

    These are retired versions and evidence, snapshots until their retention ends, sealed plans that wrote them, and live memories and
    passages with the same text.
    """

    versions: int
    evidence: int
    snapshots: int
    memories: int
    passages: int
    plans: int = 0

    def sentence(self) -> str:
        """Describe the counts in words."""
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
    """Result of a request to remember or forget.

    - ``resolved``: whether the subject was found, created, ambiguous (see ``candidates``) or unknown.
    - ``confidence``: the certainty of ``resolved``.
    - ``known``: known statements near to the new one.
    - ``conflicts_with``: claims that contradict it and are kept.
    - ``replaced``: claims that ended where it begins.
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
        """Build a response with the plain string fields always set, and the other given fields only if they have a value."""
        bare = {"evidence_path": "", "matched_by": ""}
        return cls.model_validate(bare | {name: value for name, value in fields.items() if value not in (None, ())})
