"""Recalls are logged behind the answers: what was found, what was told, what was read."""

from __future__ import annotations

import pytest

from slowwave.search import recall_events
from slowwave.search.recall_events import Lines, Recalled, log_behind, logged
from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.snapshots import uid
from tests.wiki.recall.test_wake_rows import put_document


def events(store: Store) -> list[tuple[object, ...]]:
    """Queries with hits, scores and what was used, in the order in which they came."""
    logged()
    query = "SELECT query, hit_ids::text[], scores, selected_ids::text[] FROM memory.recall_events ORDER BY occurred_at"
    return ask(store, query)


def page(store: Store) -> None:
    """``core/user.md``, of two chunks that share a line, one of them retired before."""
    remember(store, "acme")
    put_document(store, "core/user.md", "Mara.\nTea.\nBees.\n")
    lines = {"first": (1, 2), "second": (2, 3), "gone": (1, 3)}
    chunks = [
        {"id": name, "document_id": "core/user.md", "ordinal": n, "content": name, "start_line": a, "end_line": b}
        for n, (name, (a, b)) in enumerate(lines.items())
    ]
    remember(store, "acme", chunks=chunks)
    ask(store, "UPDATE memory.chunks SET invalidated_at = now() WHERE content = 'gone'")


def test_lines_of_a_page_are_the_chunks_that_hold_them(store: Store) -> None:
    """What was read on purpose counts as used; no question was asked, so no probe asks it again."""
    page(store)
    log_behind(store, "server", "acme", [Recalled(pages=(Lines("core/user.md", 3, 9),), used=True)])
    log_behind(store, "owner", "acme", [Recalled(hits=(uid("m"),), pages=(Lines("core/user.md"),))])
    log_behind(store, "owner", "acme", [Recalled(pages=(Lines("core/none.md"),))])
    assert events(store) == [
        ("", [uid("second")], [], [uid("second")]),
        ("", [uid("m"), uid("first")], [], []),
    ]


def test_a_question_that_nothing_answers_is_logged(store: Store) -> None:
    """It is what abstention rests on; a share of 0 logs none."""
    remember(store, "acme")
    log_behind(store, "owner", "acme", [Recalled("tea"), Recalled("bees", (uid("m"),), (0.5,))])
    assert events(store) == [("tea", [], [], []), ("bees", [uid("m")], [0.5], [])]
    ask(store, "UPDATE memory.namespaces SET settings = settings || '{\"recall_log_share\": 0}'")
    log_behind(store, "owner", "acme", [Recalled("tea")])
    assert len(events(store)) == 2


def test_a_store_that_takes_none_is_a_line_of_the_log(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """A namespace that is gone, and more recalls than can wait; neither is the answer's trouble, and neither says what was asked."""
    log_behind(store, "owner", "gone", [Recalled("secret question")])
    logged()
    held = [recall_events._room.acquire(blocking=False) for _ in range(recall_events.MOST_WAITING)]
    log_behind(store, "owner", "gone", [Recalled("secret question")])
    for _ in filter(None, held):
        recall_events._room.release()
    assert [record.message.partition(":")[2] for record in caplog.records] == [" UnknownName", " 1000 wait already."]
