"""How often somebody may ask: a bucket of tokens for each key, refilled steadily. The time is given, none is read here."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class RequestRate:
    """``per_second`` requests for each key on average, ``burst`` at once. One entry is kept for each key that asked, so keys are those
    of tokens that are known.
    """

    per_second: float
    burst: float
    _left: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def take(self, key: str, now: float) -> float:
        """Seconds until ``key`` may ask; 0 when it may now, which counts."""
        left, since = self._left.get(key, (self.burst, now))
        left = min(self.burst, left + max(now - since, 0) * self.per_second)
        allowed = left >= 1
        self._left[key] = (left - allowed, now)
        return 0.0 if allowed else (1 - left) / self.per_second
