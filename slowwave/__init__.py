"""Slowwave, the night shift for an agent's memory.

``slowwave.plan(namespace)``, ``slowwave.dream(namespace)`` and their companions are the Python API. They are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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
        UnknownName,
    )
    from slowwave.night.undo import Undoing, UndoResult
    from slowwave.plans.seal import DreamScope
    from slowwave.search.recall_events import log_recall
    from slowwave.store.settings import Settings as DreamConfig
    from slowwave.surfaces.api.coroutines import adream, anight
    from slowwave.surfaces.api.dreams import (
        DreamDiff,
        DreamProgress,
        DreamResult,
        DreamRun,
        DreamStatus,
        ModelUsage,
        OpSummary,
        SkipReason,
        dream,
        dream_cancel,
        dream_history,
        dream_pause,
        dream_resume,
        dream_status,
        dream_undo,
        token_savings,
    )
    from slowwave.surfaces.api.graph import graph
    from slowwave.surfaces.api.memory import Memory
    from slowwave.surfaces.api.op_kind import OpKind
    from slowwave.surfaces.api.outcomes import DreamOutcome, dream_now
    from slowwave.surfaces.api.plan import AppliedRun, NightPlan, PlannedItem, forget, plan

__all__ = [
    "AppliedRun",
    "DreamApplyDisabled",
    "DreamConfig",
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
    "OpKind",
    "OpSummary",
    "PlannedItem",
    "Refused",
    "SkipReason",
    "SlowwaveError",
    "UndoBlocked",
    "UndoResult",
    "Undoing",
    "UnknownName",
    "adream",
    "anight",
    "dream",
    "dream_cancel",
    "dream_history",
    "dream_now",
    "dream_pause",
    "dream_resume",
    "dream_status",
    "dream_undo",
    "forget",
    "graph",
    "log_recall",
    "plan",
    "token_savings",
]

_ELSEWHERE: Final = {
    "DreamConfig": "slowwave.store.settings:Settings",
    "DreamScope": "slowwave.plans.seal",
    "Memory": "slowwave.surfaces.api.memory",
    "OpKind": "slowwave.surfaces.api.op_kind",
    "graph": "slowwave.surfaces.api.graph",
    "log_recall": "slowwave.search.recall_events",
    **dict.fromkeys(("adream", "anight"), "slowwave.surfaces.api.coroutines"),
    **dict.fromkeys(("UndoResult", "Undoing"), "slowwave.night.undo"),
    **dict.fromkeys(("AppliedRun", "NightPlan", "PlannedItem", "forget", "plan"), "slowwave.surfaces.api.plan"),
    **dict.fromkeys(("DreamOutcome", "dream_now"), "slowwave.surfaces.api.outcomes"),
    **dict.fromkeys(
        (
            *("DreamDiff", "DreamProgress", "DreamResult", "DreamRun", "DreamStatus"),
            *("ModelUsage", "OpSummary", "SkipReason"),
        ),
        "slowwave.surfaces.api.dreams",
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
            "UnknownName",
        ),
        "slowwave.errors",
    ),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'slowwave' has no attribute {name!r}")
    from importlib import import_module

    module, _, other = _ELSEWHERE.get(name, "slowwave.surfaces.api.dreams").partition(":")
    value = getattr(import_module(module), other or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
