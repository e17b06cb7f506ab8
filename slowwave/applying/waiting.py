"""Approvals that wait for a run: what sensors and the command line may start an apply for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from slowwave.runs.heartbeat import expiry_of, has_expired
from slowwave.runs.states import HOLDING
from slowwave.store.connect import Connection, Store

_OPEN: Final = """
SELECT a.id::text AS approval_id, n.slug AS namespace FROM night.open_approvals a JOIN memory.namespaces n ON n.id = a.namespace_id
WHERE (%(namespace)s::text IS NULL OR n.slug = %(namespace)s)
AND NOT EXISTS (SELECT 1 FROM night.runs r WHERE r.approval_id = a.id AND r.state = ANY(%(closed)s)) ORDER BY a.recorded_at
"""
_HELD: Final = """
SELECT n.slug AS namespace, n.settings AS overlay, extract(epoch FROM clock_timestamp() - r.heartbeat_at)::float AS age FROM night.runs r
JOIN memory.namespaces n ON n.id = r.namespace_id WHERE r.state = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class _Held:
    """A namespace that a run says it holds: its own settings, and the age of the run's heartbeat in seconds."""

    namespace: str
    overlay: object
    age: float


def waiting_approvals(store: Store, namespace: str | None = None, *, cancelled: bool = False) -> list[tuple[str, str]]:
    """Approvals that a run may be started for (``night.open_approvals``): (approval, namespace), oldest first.

    Left out are those applied, expired or withdrawn and, unless a person asks (``cancelled``), those whose run a person cancelled and
    those of a namespace that a run holds now: it would be in vain.
    """
    closed = [] if cancelled else ["cancelled"]
    with store.connect("reader") as connection:
        rows = connection.execute(_OPEN, {"namespace": namespace, "closed": closed}).fetchall()
        held = frozenset() if cancelled else _held(connection)
    return [(str(a), str(n)) for a, n in rows if str(n) not in held]


def _held(connection: Connection) -> frozenset[str]:
    """The namespaces in which a run is alive."""
    with connection.cursor(row_factory=class_row(_Held)) as cursor:
        held = cursor.execute(_HELD, (list(HOLDING),)).fetchall()
    return frozenset(one.namespace for one in held if not has_expired(one.age, expiry_of(one.overlay)))
