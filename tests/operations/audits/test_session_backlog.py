"""Session backlog: what came in, what no summary has taken up, and no word of either."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from slowwave.operations import AUDITS
from slowwave.plans.report import Report
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

session_backlog = AUDITS["session_backlog"]


def memory(name: str, session: str | None, days: float = 1.0, **columns: object) -> dict[str, object]:
    """A memory of a session, as old as that many days."""
    when = TAKEN_AT - timedelta(days=days)
    version = {"current_version_id": uid(f"v {name}")}
    return {
        "id": uid(name),
        "kind": "episodic",
        "session_id": session,
        "valid_from": when,
        "recorded_at": when,
        **version,
        **columns,
    }


def report(baselines: dict[str, dict[str, object]] | None = None) -> Report:
    """Three sessions: one digested, one of three memories, one that is archived but for one; a memory without a session."""
    summary = {"kind": "summary", "session_id": None}
    merged = {"state": "merged", "merged_into": uid("summary"), "invalidated_at": TAKEN_AT}
    memories = [
        memory("a1", "a <b>", 9, **merged),
        memory("a2", "a <b>", 9),
        *(memory(f"b{n}", "b", 5 - n, source_document_ids=[uid("read")]) for n in range(3)),
        memory("c1", "c", 0.5),
        memory("c2", "c", 0.5, state="archived"),
        memory("alone", None),
        memory("summary", None, **summary),
    ]
    snapshot = make_snapshot(
        memories=memories,
        memory_versions=[{"id": m["current_version_id"], "memory_id": m["id"], "content": "12345"} for m in memories],
        documents=[
            {"id": uid("read")},
            {"id": uid("unread")},
            {"id": uid("gone"), "invalidated_at": TAKEN_AT},
            {"id": uid("said"), "plane": "sessions"},
        ],
    )
    return session_backlog(make_inputs(snapshot, baselines=baselines))


def test_sessions_sizes_ages_and_what_is_digested() -> None:
    """A session of which one memory became part of a summary is digested; archived memories have no size."""
    found = report()
    expected = {
        "sessions": 3, "new sessions": 3, "undigested sessions": 2, "undigested memories": 4, "undigested tokens": 8,
        "largest undigested session": 3, "median undigested session": 2.0, "days since the oldest undigested session": 5.0,
        "memories without a session": 1, "documents": 3, "documents that no memory cites": 2,
        "session pages": 1, "session pages that no memory cites": 1,
    }  # fmt: skip
    assert dict(found.numbers) == expected
    assert found.headline == "2 of 3 sessions are undigested, 4 memories in all; 3 are new."


@pytest.mark.parametrize(("days", "new"), [(10, 3), (4, 2), (1, 1), (0, 0)])
def test_new_is_what_was_recorded_since_the_last_night(days: float, new: int) -> None:
    """The audit's own note of the night before says when that was; a note in another form counts as none."""
    at = (TAKEN_AT - timedelta(days=days)).isoformat()
    assert report({"session_backlog": {"at": at}}).numbers["new sessions"] == new
    assert report({"session_backlog": {"at": "yesterday"}}).numbers["new sessions"] == 3
    assert report().details == {"at": TAKEN_AT.isoformat()}


def test_it_says_numbers_only(rendered: Callable[[Report], str]) -> None:
    """A session's name is the agent's, and nobody needs it here."""
    found = report()
    assert "a <b>" not in json.dumps([found.headline, dict(found.numbers), dict(found.details)])
    assert (found.findings, found.table) == ((), ())
    assert "<b>" not in rendered(found)


def test_an_empty_namespace_says_so() -> None:
    """Zeros with their denominators."""
    found = session_backlog(make_inputs(make_snapshot()))
    assert found.headline == "No memory names a session; 0 documents were looked at."
    assert not any(found.numbers.values())
