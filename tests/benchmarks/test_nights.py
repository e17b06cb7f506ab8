"""A night of the benchmark on a conversation of four turns: what is found before and after, and with the controls."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.nights import CONTROLS, HEADER, Question, Remembering, Trial, nights
from slowwave.sources.pipeline import import_messages
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.settings import Settings
from slowwave.text.tokens import count

SAID = (
    "I drive a Fiat Panda.",
    "I water the fern.",
    "I water the fern.",
    "I sold the Fiat Panda and bought a Kia Niro.",
)


@pytest.mark.usefixtures(
    "every_rule_decides"
)  # that the old car is over is a question otherwise, which nobody answers here
def test_what_is_stale_before_a_night_is_not_after_it(store: Store, tmp_path: Path) -> None:
    """The copy is merged, the old car ends in memories and in the passage that told it; both controls have as many tokens at most."""
    embedder = Remembering(embedder_for(Settings()))
    day = datetime.now(UTC) - timedelta(days=9)

    def load(connection: Connection, prefix: str) -> None:
        lines = [
            {
                "namespace": f"{prefix}talk",
                "created_at": (day + timedelta(days=n)).isoformat(),
                "role": "user",
                "content": text,
            }
            for n, text in enumerate(SAID)
        ]
        file = tmp_path / f"{prefix}talk.jsonl"
        file.write_text("\n".join(map(json.dumps, lines)))
        import_messages(connection, file, embedder=embedder)

    def right(_: Collection[str], text: str) -> bool:
        return "Kia" in text

    def stale(_: Collection[str], text: str) -> bool:
        return "Fiat" in text and "Kia" not in text

    trial = Trial("talk", {"talk": [Question("Which car do I drive?", right, stale)]}, load, datetime.now(UTC).date())
    rows = nights(store, trial, 1, embedder, lambda _: None)
    assert [row[0] for row in rows] == ["nothing", "night 1", *CONTROLS]
    assert [row[HEADER.index("items")] for row in rows[:2]] == ["–", "2"]
    found, old, old_of_all, tokens = (HEADER.index(name) for name in ("Recall@10", "stale", "stale of all", "tokens"))
    assert [(row[found], row[old], row[old_of_all]) for row in rows[:2]] == [
        ("1.000", "1.00", "1.00"),
        ("1.000", "0.00", "0.00"),
    ]
    assert [int(row[HEADER.index("to the answer")]) for row in rows[1:2]] == [count(SAID[3])]
    assert int(rows[1][tokens]) < int(rows[0][tokens])
    assert all(int(row[tokens]) <= int(rows[1][tokens]) for row in rows[2:])
