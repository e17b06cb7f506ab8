"""Slowwave: the night shift for an agent's memory.

``slowwave.plan(namespace)``, ``slowwave.dream(namespace)`` and their companions are the Python API; they are loaded when they are first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from slowwave.api.dream_outcome import DreamOutcome, dream_now
    from slowwave.api.dream_results import (
        DreamDiff,
        DreamProgress,
        DreamResult,
        DreamRun,
        DreamStatus,
        ModelUsage,
        OpSummary,
        SkipReason,
    )
    from slowwave.api.dreams import (
        dream,
        dream_cancel,
        dream_history,
        dream_pause,
        dream_resume,
        dream_status,
        dream_undo,
    )
    from slowwave.api.memory import Memory
    from slowwave.api.night_plan import AppliedRun, NightPlan, PlannedItem, forget, plan
    from slowwave.applying.undo import Undoing, UndoResult
    from slowwave.errors import (
        DreamApplyDisabled,
        DreamDisabledError,
        DreamForbiddenOpError,
        DreamLockUnavailable,
        DreamRunStuckError,
        JournalDamaged,
        Refused,
        SlowwaveError,
        UndoBlocked,
    )
    from slowwave.plans.scope import DreamScope
    from slowwave.search.recall_events import log_recall

__all__ = [
    "AppliedRun",
    "DreamApplyDisabled",
    "DreamDiff",
    "DreamDisabledError",
    "DreamForbiddenOpError",
    "DreamLockUnavailable",
    "DreamOutcome",
    "DreamProgress",
    "DreamResult",
    "DreamRun",
    "DreamRunStuckError",
    "DreamScope",
    "DreamStatus",
    "JournalDamaged",
    "Memory",
    "ModelUsage",
    "NightPlan",
    "OpSummary",
    "PlannedItem",
    "Refused",
    "SkipReason",
    "SlowwaveError",
    "UndoBlocked",
    "UndoResult",
    "Undoing",
    "dream",
    "dream_cancel",
    "dream_history",
    "dream_now",
    "dream_pause",
    "dream_resume",
    "dream_status",
    "dream_undo",
    "forget",
    "log_recall",
    "plan",
]

_ELSEWHERE: Final = {
    "DreamScope": "slowwave.plans.scope",
    "Memory": "slowwave.api.memory",
    "log_recall": "slowwave.search.recall_events",
    **dict.fromkeys(("UndoResult", "Undoing"), "slowwave.applying.undo"),
    **dict.fromkeys(("AppliedRun", "NightPlan", "PlannedItem", "forget", "plan"), "slowwave.api.night_plan"),
    **dict.fromkeys(("DreamOutcome", "dream_now"), "slowwave.api.dream_outcome"),
    **dict.fromkeys(
        (
            *("DreamDiff", "DreamProgress", "DreamResult", "DreamRun", "DreamStatus"),
            *("ModelUsage", "OpSummary", "SkipReason"),
        ),
        "slowwave.api.dream_results",
    ),
    **dict.fromkeys(
        (
            "DreamApplyDisabled",
            "DreamDisabledError",
            "DreamForbiddenOpError",
            "DreamLockUnavailable",
            "DreamRunStuckError",
            "JournalDamaged",
            "Refused",
            "SlowwaveError",
            "UndoBlocked",
        ),
        "slowwave.errors",
    ),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'slowwave' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_ELSEWHERE.get(name, "slowwave.api.dreams")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
