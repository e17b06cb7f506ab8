"""A wake's request and answer: what is told without debug, and what it rests on with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.wiki.recall.wake import WakeRequest, wake
from tests.memories import remember
from tests.wiki.recall.test_wake_rows import put_document


def test_without_debug_the_block_alone_is_said(store: Store) -> None:
    """Fields that nobody asked for are not set, so that no answer over HTTP carries them."""
    remember(store, "acme")
    put_document(store, "core/user.md", "Mara, in Lisbon.")
    with store.connect("reader") as connection:
        bare = wake(connection, "acme", WakeRequest(agent="tests"), Settings()).answer
        full = wake(connection, "acme", WakeRequest(agent="tests", debug=True), Settings()).answer
    assert bare.model_dump(exclude_unset=True) == {"profile": "default", "block": "## User\n\nMara, in Lisbon."}
    assert (full.block, full.sources, full.left_out) == (bare.block, ("core/user.md",), 0)
    assert full.tokens_estimated is not None
    assert full.frozen_at is not None


def test_the_profiles_are_those_of_the_settings(store: Store, tmp_path: Path) -> None:
    """A file of one's own adds a profile."""
    file = tmp_path / "profiles.toml"
    file.write_text('[profiles.pilot]\nsections = ["user"]\n')
    remember(store, "acme")
    put_document(store, "core/user.md", "Mara, in Lisbon.")
    request = WakeRequest(agent="tests", profile="pilot")
    with store.connect("reader") as connection:
        told = wake(connection, "acme", request, Settings(wake_profiles=str(file))).answer
    assert (told.profile, told.block) == ("pilot", "## User\n\nMara, in Lisbon.")


def test_a_request_is_bounded() -> None:
    """Budgets and sessions lie within their bounds, and no field is unknown."""
    for wrong in ({"budget_tokens": 1501}, {"budget_tokens": 49}, {"include_recent_sessions": 51}, {"mood": "good"}):
        with pytest.raises(ValidationError):
            WakeRequest.model_validate({"agent": "tests", **wrong})


def test_what_a_page_tells_is_not_remembered_beside_it(store: Store) -> None:
    """A memory that was made of a page which is told; one that the page no longer tells, and one of another page, are told."""
    remember(store, "acme")
    put_document(store, "core/user.md", "Mara lives in Lisbon and keeps bees.")
    put_document(store, "people/ana.md", "Ana is Mara's friend.")
    made = {
        "bees": ("core/user.md", "Mara keeps bees."),
        "oslo": ("core/user.md", "Mara was born in Oslo."),
        "ana": ("people/ana.md", "Mara keeps bees in Lisbon."),
    }
    remember(
        store,
        "acme",
        memories=[
            {"id": name, "kind": "semantic", "current_version_id": f"{name} v", "source_document_ids": [page]}
            for name, (page, _) in made.items()
        ],
        memory_versions=[{"id": f"{name} v", "memory_id": name, "content": text} for name, (_, text) in made.items()],
    )
    with store.connect("reader") as connection:
        told = wake(connection, "acme", WakeRequest(agent="tests", debug=True), Settings()).answer
    lines = told.block.splitlines()
    assert "- Mara keeps bees." not in lines
    assert {"- Mara was born in Oslo.", "- Mara keeps bees in Lisbon."} < set(lines)
