"""Options of the wiki's operations: one model for each operation that has options (``slowwave.operations.options``)."""

from __future__ import annotations

from pydantic import BaseModel, Field


class CompilePagesOptions(BaseModel):
    """Options of ``compile_pages``."""

    max_lines: int = Field(default=200, ge=10, description="Lines of an index page.")
    max_bytes: int = Field(default=25_000, ge=1_000, description="Bytes of an index page.")


class DeepPassOptions(BaseModel):
    """Options of ``deep_pass``."""

    model: str = Field(
        default="",
        description="Model that works on the scratch copy; empty means no deep pass.",
        json_schema_extra={"why": "A deep pass runs only where an operator names the model that may read the memory."},
    )
    answer_seconds: float = Field(
        default=120.0,
        gt=0,
        description="Longest time of one answer of the model.",
        json_schema_extra={"why": "A local model on a machine without a GPU takes longer."},
    )
    timeout_seconds: float = Field(
        default=300.0, ge=10, le=86_400, description="Longest time of a whole pass; its work is discarded then."
    )
    max_turns: int = Field(default=30, ge=1, le=200, description="Turns of the model; its work is discarded then.")
    max_tokens: int = Field(
        default=400_000,
        ge=0,
        description="Tokens that a pass may spend; 0 is no limit.",
        json_schema_extra={"why": "The price that an operator accepts for one pass."},
    )
    max_tokens_per_week: int = Field(
        default=1_000_000,
        ge=0,
        description="Tokens that passes of a namespace may spend in seven days; 0 is no limit.",
        json_schema_extra={"why": "The price that an operator accepts for a namespace."},
    )
    min_hours: float = Field(default=24.0, ge=1, description="Hours between two scheduled passes (too_soon).")
    scan_minutes: float = Field(default=10.0, ge=0, description="Minutes after any pass, failed or not (scanned).")
    min_sessions: int = Field(
        default=5, ge=1, description="Sessions since the last pass that a scheduled one needs (too_few_sessions)."
    )


class PageHealthOptions(BaseModel):
    """Options of ``page_health``."""

    stale_days: int = Field(
        default=30,
        ge=1,
        description="Days after which a canonical, active page is stale.",
        json_schema_extra={"why": "Corpora change at their own speed: runbooks weekly, decisions yearly."},
    )


class CanonicalPagesOptions(BaseModel):
    """Options of ``canonical_pages``."""

    min_claims: int = Field(
        default=3,
        ge=1,
        le=1_000,
        description="Valid statements that a subject needs to get a page.",
        json_schema_extra={"why": "How much a subject needs to be worth a page differs between corpora."},
    )
    max_new_pages: int = Field(
        default=200,
        ge=0,
        description="Pages that a night makes for subjects without one.",
        json_schema_extra={"why": "The first night over an imported corpus."},
    )


class DigestOptions(BaseModel):
    """Options of ``digest_sessions``."""

    notes: bool = Field(
        default=True,
        description="Whether each session that states something gets a note.",
        json_schema_extra={"why": "Teams with many sessions want the digests of days and weeks alone."},
    )
    may_tell: tuple[str, ...] = Field(
        default=(),
        description="Privacy classes that digests may state (credentials, financial, health, legal, contact, personal), and private.",
        json_schema_extra={"why": "Only the owner of the data may release a privacy class."},
    )


class ClaimOptions(BaseModel):
    """Options of ``extract_claims``."""

    pages: bool = Field(
        default=True,
        description="Whether durable pages are read in addition to sessions.",
        json_schema_extra={"why": "Corpora whose pages are drafts, so that only sessions state facts."},
    )
    may_claim: tuple[str, ...] = Field(
        default=(),
        description="Privacy classes that may be claimed (credentials, financial, health, legal, contact, personal), and private.",
        json_schema_extra={"why": "Only the owner of the data may release a privacy class."},
    )
