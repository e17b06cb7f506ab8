"""``python -m benchmarks.changed_facts``: whether the later of two notes is seen to end the earlier one, by the audit of contradictions.

The pairs are in ``unseen/changed_facts*.toml``. Each pair has a dedicated scope, and the later note is a day younger. In *ended* pairs a
night at default settings ends the earlier note; about *asked* pairs it asks a person.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pyarrow as pa
from rich.console import Console

from benchmarks.remembered import given, memory_id
from benchmarks.report import Part, show
from slowwave.operations.conflicts.decide import decide, read_sides
from slowwave.operations.conflicts.find import find_conflicts
from slowwave.operations.options import ResolveConflictsOptions
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings

PAIRS: Final = Path(__file__).with_name("unseen") / "changed_facts.toml"
MORE_PAIRS: Final = PAIRS.with_name("changed_facts_2.toml")
PLAIN_PAIRS: Final = PAIRS.with_name("changed_facts_3.toml")
MIXED_PAIRS: Final = PAIRS.with_name("changed_facts_4.toml")
TASKS: Final = PAIRS.with_name("changed_facts_5.toml")
WITHDRAWN: Final = PAIRS.with_name("changed_facts_6.toml")
ONE_FORM: Final = PAIRS.with_name("changed_facts_7.toml")


def read(path: Path = PAIRS) -> list[dict[str, str | bool]]:
    """Return the pairs: earlier, later, ends, kind, and in ``turns`` the sides that are turns of a conversation."""
    with path.open("rb") as file:
        return tomllib.load(file)["pair"]


def snapshot_of(pairs: Sequence[dict[str, str | bool]]) -> Snapshot:
    """The earlier note of pair k is memory 2k, the later one 2k + 1."""
    now = datetime(2026, 6, 1, tzinfo=UTC)
    snapshot = given([str(pair[side]) for pair in pairs for side in ("earlier", "later")], now=now)
    memories = snapshot.table("memories")
    scopes = pa.array([f"pair {k // 2}" for k in range(len(memories))])
    kinds = pa.array(
        [
            "episodic" if side in str(pair.get("turns", "")) else "semantic"
            for pair in pairs
            for side in ("earlier", "later")
        ]
    )
    starts = pa.array([now - timedelta(days=9 - k % 2) for k in range(len(memories))], pa.timestamp("us", tz="UTC"))
    for name, column in (("scope", scopes), ("kind", kinds), ("valid_from", starts), ("recorded_at", starts)):
        at = memories.schema.get_field_index(name)
        memories = memories.set_column(at, memories.schema.field(at), column.cast(memories.schema.field(at).type))
    return replace(snapshot, tables={**snapshot.tables, "memories": memories})


def quality() -> list[Part]:
    """What becomes of the pairs, class by class, of the first file those that were looked at apart from the others."""
    sets = {
        "Half of them were looked at once.": (read(), 2),
        "None was looked at.": (read(MORE_PAIRS), 1),
        "Plain notes; none was looked at before it was counted.": (read(PLAIN_PAIRS), 1),
        "Turns, news, corrections and verbs; none was looked at before it was counted.": (read(MIXED_PAIRS), 1),
        "Tasks, and statements that close them or look like it. Half of them were looked at.": (read(TASKS), 2),
        "Withdrawals, reassignments and reopenings, or what looks like them. Half of them were looked at.": (
            read(WITHDRAWN),
            2,
        ),
        "Statements of one form with another value, or that both hold. Half of them were looked at.": (
            read(ONE_FORM),
            2,
        ),
    }
    return [_counted(pairs, says, halves) for says, (pairs, halves) in sets.items()]


def _counted(pairs: Sequence[dict[str, str | bool]], says: str, halves: int) -> Part:
    """A table of pairs; with two halves every other one, from the first on, was looked at."""
    settings = Settings()
    snapshot = snapshot_of(pairs)
    conflicts = find_conflicts(snapshot, settings).conflicts
    sides = read_sides(snapshot, conflicts, settings)
    became: dict[int, str] = {}
    for conflict in conflicts:
        decision = decide(settings.options("resolve_conflicts", ResolveConflictsOptions).policy, conflict, sides)
        k = int(conflict.a[-12:])
        loser = conflict.b if decision.winner == "a" else conflict.a
        became[k // 2] = "ended" if decision.sure and loser == memory_id(k - k % 2) else "asked"
    counted: Counter[tuple[str, bool, str]] = Counter(
        (str(pair["kind"]), halves > 1 and k % halves == 0, became.get(k, "")) for k, pair in enumerate(pairs)
    )
    kinds = dict.fromkeys((str(pair["kind"]), bool(pair["ends"])) for pair in pairs)
    header = ["pairs", "should end", "ended", "asked", "neither", "ended, looked at", "asked", "neither"]
    seen = (False, True)[:halves]
    rows = [
        [
            kind,
            "yes" if ends else "no",
            *(str(counted[kind, s, state]) for s in seen for state in ("ended", "asked", "")),
        ]
        for kind, ends in kinds
    ]
    return Part(f"Changed facts: {len(pairs)} pairs of notes", says, header[: 2 + 3 * halves], rows)


if __name__ == "__main__":
    show(quality(), Console(width=140))
