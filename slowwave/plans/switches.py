"""The switches that stop all writes: the kill switch of the environment, that of the database, and read-only namespaces.

The environment's switch applies to the processes that have it, the database's to all processes. Both are read before every batch.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from slowwave.errors import DreamApplyDisabled, Refused
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import unknown_namespace

KILL_SWITCH: Final = "SLOWWAVE_DISABLE_APPLY"
_KHORA_KILL_SWITCH: Final = (
    "KHORA_DREAM_DISABLE_APPLY"  # a machine that khora must not write from is one that nothing must write from
)
SWITCH: Final = "apply_disabled"
"""The name of the kill switch in ``night.switches``."""

_READ_SWITCHES: Final = "SELECT is_on AS disabled, set_by, note, set_at FROM night.switches WHERE name = %s"
_SET: Final = """
INSERT INTO night.switches (name, is_on, set_by, note, set_at) VALUES (%s, %s, %s, %s, clock_timestamp())
ON CONFLICT (name) DO UPDATE SET is_on = excluded.is_on, set_by = excluded.set_by, note = excluded.note, set_at = excluded.set_at
"""
_WRITABLE: Final = "SELECT id::text FROM memory.namespaces WHERE slug = %s AND NOT read_only"
_SET_READ_ONLY: Final = "UPDATE memory.namespaces SET read_only = %s WHERE slug = %s"


@dataclass(frozen=True, slots=True)
class Switch:
    """The database's kill switch: whether apply is off, who set it, when and why."""

    disabled: bool
    set_by: str = ""
    note: str = ""
    set_at: datetime | None = None

    def to_json(self) -> dict[str, object]:
        """Return the switch as the command line shows it, with the environment's switch of this process."""
        return {
            "apply": "off" if self.disabled or apply_disabled() else "on",
            "database": "off" if self.disabled else "on",
            "environment": "off" if apply_disabled() else "on",
            "set_by": self.set_by,
            "note": self.note,
            "set_at": self.set_at.isoformat() if self.set_at else None,
        }


def apply_disabled() -> str:
    """Return the environment's kill switch that is set, which any value except empty, 0, false and no does, or an empty string."""
    off = ("", "0", "false", "no")
    return next(
        (name for name in (KILL_SWITCH, _KHORA_KILL_SWITCH) if os.environ.get(name, "").strip().lower() not in off), ""
    )


def read_switch(connection: Connection) -> Switch:
    """Return the database's kill switch; without a row, apply was never switched off."""
    with connection.cursor(row_factory=class_row(Switch)) as cursor:
        return cursor.execute(_READ_SWITCHES, (SWITCH,)).fetchone() or Switch(disabled=False)


def why_disabled(connection: Connection) -> str:
    """Return the reason why nothing may be written now, or an empty string."""
    if name := apply_disabled():
        return f"{name} is set, so nothing is written. Unset it to apply or undo; plans stay as they are."
    switch = read_switch(connection)
    if not switch.disabled:
        return ""
    note = f": {switch.note}" if switch.note else ""
    return (
        f"{switch.set_by} switched apply off on {switch.set_at:%Y-%m-%d %H:%M} UTC{note}. Nothing is written; plans stay as they are. "
        "`slowwave switch apply on --by NAME` lets it go on."
    )


def refuse_disabled(connection: Connection) -> None:
    """Raise ``DreamApplyDisabled`` if a kill switch is set."""
    if reason := why_disabled(connection):
        raise DreamApplyDisabled(reason)


def refuse_unwritable(connection: Connection, namespace: str) -> str:
    """Return the namespace's id; raise ``DreamApplyDisabled`` if it cannot be written.

    A namespace cannot be written if a kill switch is set or if it is read-only or gone.
    """
    refuse_disabled(connection)
    row = connection.execute(_WRITABLE, (namespace,)).fetchone()
    if row is None:
        raise DreamApplyDisabled(f"Namespace {namespace!r} is read-only or gone, so nothing is written to it.")
    return str(row[0])


def switch_apply(store: Store, *, on: bool, by: str, note: str = "") -> Switch:
    """Allow apply and undo, or stop them in every process before their next batch."""
    from slowwave.plans.gate import APPROVER  # with the probes, which a status does not need

    if not APPROVER.fullmatch(by):
        raise Refused(
            "Who sets the switch must be named: --by with 2 to 64 letters, digits or . _ @ -. It is as it was."
        )
    with store.connect("approver") as connection:
        connection.execute(_SET, (SWITCH, not on, by, note[:2000]))
        return read_switch(connection)


def set_read_only(store: Store, namespace: str, *, read_only: bool) -> None:
    """Make a namespace read-only for apply and undo, or writable again. Needs the owner's login.

    A run that has claimed the namespace is stopped before its next batch.
    """
    with store.connect("owner") as connection:
        if connection.execute(_SET_READ_ONLY, (read_only, namespace)).rowcount != 1:
            raise unknown_namespace(connection, namespace)
