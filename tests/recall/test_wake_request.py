"""A wake's request and answer: what is told without debug, and what it rests on with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from slowwave.config.settings import Settings
from slowwave.recall.wake_request import WakeRequest, wake
from slowwave.store.connect import Store
from tests.memories import remember
from tests.recall.test_wake_rows import put_document


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
