"""How fast to apply: batches shrink where they take long, and wait while a replica of the database is behind.

Nothing here sleeps: the executor asks before every batch and waits as long as there is a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import psycopg

from slowwave.config.settings import Settings
from slowwave.store.connect import Connection

_REPLAY_LAG: Final = "SELECT extract(epoch FROM max(replay_lag))::float FROM pg_stat_replication"


@dataclass(slots=True)
class Throttle:
    """The size of the next batch, between one item and ``most``; limits in seconds, 0 for none."""

    most: int
    max_lag: float
    max_batch: float
    pause: float
    size: int = 0
    slow: float = 0.0

    def __post_init__(self) -> None:
        self.size = self.size or self.most

    @classmethod
    def of(cls, settings: Settings) -> Throttle:
        """By a namespace's settings."""
        return cls(
            settings.batch_items,
            settings.apply_max_replication_lag_seconds,
            settings.apply_max_batch_seconds,
            settings.apply_pause_seconds,
        )

    def took(self, seconds: float) -> None:
        """A batch was committed after ``seconds``: one over the limit halves the next, one under half of it lets it grow."""
        if not self.max_batch:
            return
        if seconds > self.max_batch:
            self.size, self.slow = max(1, self.size // 2), seconds
        elif seconds < self.max_batch / 2:
            self.size = min(self.most, self.size * 2)

    def reason(self, connection: Connection) -> str:
        """Why to wait before the next batch, or an empty string. After a slow batch there is one pause."""
        if self.slow:
            message = f"The last batch took {self.slow:.1f} s, so the next ones hold {self.size:,} items."
            self.slow = 0.0
            return message
        lag = replication_lag(connection) if self.max_lag else None
        if lag is not None and lag > self.max_lag:
            return f"A replica is {lag:.0f} s behind; apply waits until it is under {self.max_lag:g} s."
        return ""


def replication_lag(connection: Connection) -> float | None:
    """Seconds by which the slowest replica is behind in replaying; None where there is none, none is behind, or it may not be seen.

    A role without ``pg_read_all_stats`` sees that there are replicas, not how far they are.
    """
    try:
        row = connection.execute(_REPLAY_LAG).fetchone()
    except psycopg.errors.InsufficientPrivilege:
        return None
    return None if row is None or row[0] is None else float(str(row[0]))
