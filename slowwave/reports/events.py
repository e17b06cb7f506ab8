"""What a run tells while it goes on: one stream of events, which any number of sinks read. Nothing here writes anywhere.

An operation's ``inputs`` and ``outputs`` may hold memory text; every other field is ours: ids, names of operations, decisions
and states, numbers and instants. So redaction knows where text can stand (``slowwave.reports.redaction``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Literal

Outcome = Literal["success", "skipped", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Of every event: the run, its namespace by name, and when it happened (UTC)."""

    run_id: str
    namespace: str
    at: datetime

    def to_json(self) -> dict[str, object]:
        """All fields under the event's name; instants as ISO 8601."""
        return {"event": type(self).__name__, **{f.name: _plain(getattr(self, f.name)) for f in fields(self)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A run began. ``mode`` is plan, apply or undo; ``trigger`` manual, schedule, sensor or resume."""

    mode: str
    trigger: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseStarted(Event):
    """A phase began: snapshot, audit, plan, probe, apply or undo."""

    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rationale:
    """Why an operation decided so, in numbers; its words appear as a hash only."""

    strategy: str
    score: float | None = None
    threshold: float | None = None
    llm_confidence: float | None = None
    rationale_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationEvent(Event):
    """One operation, or one item of one: what went in, what was decided, what came out, and how long it took.

    ``op_id`` is the item's id, or the operation's name where a whole audit or planner is meant.
    """

    op_id: str
    phase: str
    op_type: str
    decision: str
    status: str = ""  # of an item: pending, deferred, applied, skipped_stale, failed, undone
    inputs: Mapping[str, object] = field(default_factory=dict)
    outputs: Mapping[str, object] = field(default_factory=dict)
    rationale: Rationale | None = None
    started_at: datetime | None = None
    duration_ms: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmCalled(Event):
    """A language model was asked."""

    op_type: str
    model: str
    input_tokens: int
    output_tokens: int
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmThrottled(Event):
    """Calls of language models were left out because a token budget was spent."""

    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseCompleted(Event):
    """A phase ended."""

    phase: str
    outcome: Outcome
    ops_total: int
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompleted(Event):
    """A run ended as it should. ``state`` is the ledger's: awaiting_approval, approved, completed, cancelled, refused."""

    mode: str
    state: str
    ops_total: int
    counts: Mapping[str, int]
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed(Event):
    """A run ended with an error; its text stays out, as it may quote memory."""

    mode: str
    error_type: str
    error_hash: str
    duration_ms: float = 0.0


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, Rationale):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    return dict(value) if isinstance(value, Mapping) else value
