"""Logging recalls from Python: what is taken as an id, an instant or a score."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from slowwave.errors import Refused
from slowwave.search.recall_events import log_recall
from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.snapshots import uid


def test_ids_and_instants_in_every_form(store: Store) -> None:
    """UUIDs and their text; an instant without a zone is UTC, and none is now."""
    remember(store, "acme")
    log_recall("acme", "q", [UUID(uid("a")), uid("b").upper()], occurred_at=datetime(2026, 3, 1, 9), store=store)  # noqa: DTZ001
    log_recall("acme", "nothing found", [], store=store)
    rows = ask(store, "SELECT hit_ids::text[], occurred_at FROM memory.recall_events ORDER BY occurred_at")
    assert rows[0] == ([uid("a"), uid("b")], datetime(2026, 3, 1, 9, tzinfo=UTC))
    assert rows[1][0] == []


@pytest.mark.parametrize("scores", [["high"], [None]])
def test_a_score_is_a_number(store: Store, scores: list[object]) -> None:
    """Words are refused before anything is asked of the database."""
    with pytest.raises(Refused, match="score"):
        log_recall("acme", "q", [uid("a")], scores=scores, store=store)  # type: ignore[arg-type]
