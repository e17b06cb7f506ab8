"""Token budgets: what a run and a namespace's last 24 hours may still spend on language models.

An estimate is asked for before every call, so a limit is exceeded by no more than one call's error of estimate. What was spent
is written down by ``record`` at once, call by call, so that a killed process cannot forget it. Where the figures are kept
belongs to the ledger.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock


@dataclass(frozen=True, slots=True)
class Usage:
    """One call: who asked which model, and the tokens it cost (``output`` is 0 where a server tells only their sum).

    ``at`` is when it ended, ``seconds`` how long it took, 0 where nobody measured.
    """

    operation: str
    model: str
    input: int
    output: int = 0
    seconds: float = field(default=0.0, compare=False)
    at: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input + self.output


Record = Callable[[Usage], None]
"""Writes one call down where it outlives the process."""


@dataclass(slots=True)
class Budget:
    """Limits in tokens, 0 for none. ``spent_before`` is the run's own, ``spent_today`` the namespace's in the last 24 hours.

    Safe for calls from several threads: what is allowed but not yet spent counts as spent.
    """

    per_run: int = 0
    per_day: int = 0
    spent_before: int = 0
    spent_today: int = 0
    record: Record | None = None
    calls: list[Usage] = field(default_factory=list)
    refused: int = 0
    _held: int = 0
    _lock: Lock = field(default_factory=Lock)

    @property
    def spent(self) -> int:
        """Tokens of the run so far."""
        return self.spent_before + sum(call.tokens for call in self.calls)

    def left(self) -> int | None:
        """Tokens that may still be spent; None without a limit."""
        now = sum(call.tokens for call in self.calls) + self._held
        limits = [
            *([self.per_run - self.spent_before - now] if self.per_run else []),
            *([self.per_day - self.spent_today - now] if self.per_day else []),
        ]
        return max(0, min(limits)) if limits else None

    def allow(self, estimate: int) -> bool:
        """Whether a call of at most ``estimate`` tokens may be made; if so they are held until ``spend`` or ``release``."""
        with self._lock:
            left = self.left()
            if left is not None and estimate > left:
                self.refused += 1
                return False
            self._held += estimate
            return True

    def spend(self, usage: Usage, estimate: int = 0) -> None:
        """Note what a call cost, and let go of what was held for it."""
        with self._lock:
            self._held = max(0, self._held - estimate)
            self.calls.append(usage)
        if self.record:
            self.record(usage)

    def release(self, estimate: int) -> None:
        """Let go of what was held for a call that was not made."""
        with self._lock:
            self._held = max(0, self._held - estimate)
