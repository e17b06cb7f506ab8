"""Followers are found by entry points, and the night works without the packages that add them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.night.followers import Follower, diagnose_installation, followers
from slowwave.operations import operations
from slowwave.sources.following import FolderFollower
from slowwave.store.connect import Store
from slowwave.wiki.followers import PageFollower

WITHOUT_THE_WIKI = """
import json, sys
from pathlib import Path

sys.modules["slowwave.wiki"] = None  # every import of it fails from here on

from slowwave.models.embedder import OfflineEmbedder
from slowwave.night.executor import apply_approval
from slowwave.night.followers import followers
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.operations import operations
from tests.permitting import approve
from slowwave.sources.pipeline import import_messages
from slowwave.store.connect import Store
from slowwave.store.doctor import digest

store = Store.from_environment()
with store.connect("owner") as connection:
    import_messages(connection, Path(sys.argv[1]), embedder=OfflineEmbedder())
before = digest(store, "acme")
night = run_night(store, "acme", ops="all")
approval = approve(store, "acme", night.plan.plan_hash, approver="ann", include_review=True, force=True, note="a test")
applied = apply_approval(store, approval.id)
after = digest(store, "acme")
undo_run(store, "last", namespace="acme")
print(json.dumps({
    "operations": sorted(operations()),
    "followers": [type(follower).__name__ for follower in followers()],
    "state": applied.state,
    "changed": after != before,
    "restored": digest(store, "acme") == before,
    "loaded": sorted(name for name in sys.modules if name.startswith("slowwave.wiki.")),
}))
"""

LINES = (
    ("2026-05-01T09:00:00Z", "I live in Oslo."),
    ("2026-05-02T09:00:00Z", "The depot opens at 06:00."),
    ("2026-05-03T09:00:00Z", "The depot opens at 06:00."),
    ("2026-05-04T09:00:00Z", "Thank you so much!"),
)


def test_followers_of_folders_and_pages_are_found_by_their_entry_points() -> None:
    found: tuple[Follower, ...] = followers()
    assert [type(follower) for follower in found] == [FolderFollower, PageFollower]


def test_installation_without_entry_points_is_a_problem_that_doctor_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert diagnose_installation() == []
    monkeypatch.setattr("slowwave.night.followers.entry_points", lambda group: ())
    (found,) = diagnose_installation()
    assert found.problem
    assert "slowwave.operations and slowwave.followers" in found.finding


def test_night_apply_and_undo_without_the_wiki_work_and_import_none_of_it(store: Store, tmp_path: Path) -> None:
    """Import, night, approval, apply and undo in a process in which ``slowwave.wiki`` cannot be imported."""
    exported = tmp_path / "messages.jsonl"
    exported.write_text(
        "".join(
            json.dumps({"namespace": "acme", "created_at": at, "role": "user", "content": text}) + "\n"
            for at, text in LINES
        )
    )
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_WIKI, str(exported)],
        capture_output=True,
        text=True,
        env={**os.environ, "SLOWWAVE_DATABASE_URL": store.owner},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["state"], result["changed"], result["restored"], result["loaded"]) == ("completed", True, True, [])
    assert result["followers"] == ["FolderFollower"]
    without = {name for name in operations() if operations()[name].module.startswith("slowwave.wiki.")}
    assert {"canonical_pages", "extract_claims", "page_health"} <= without
    assert set(result["operations"]) == set(operations()) - without
