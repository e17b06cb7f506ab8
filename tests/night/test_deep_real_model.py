"""A deep pass with a real model, where one is named: how good it is nobody asserts, only that nothing it does gets past the gate."""

from __future__ import annotations

import os

import pytest

from slowwave.models.endpoint import ToolChat
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.surfaces.api.outcomes import deep_now
from tests.wiki.deep.worlds import SLUG, runs, world

ENDPOINT, MODEL = os.environ.get("TEST_DEEP_ENDPOINT", ""), os.environ.get("TEST_DEEP_MODEL", "")


@pytest.mark.skipif(
    not (ENDPOINT and MODEL),
    reason="TEST_DEEP_ENDPOINT and TEST_DEEP_MODEL name no server with a model that calls tools, as `python -m llama_cpp.server` runs one",
)
def test_deep_a_real_model_ends_in_an_outcome_and_writes_no_memory(store: Store) -> None:
    """Whatever it comes to, the memory is what it was, and its run has ended."""
    world(store, timeout_seconds=120, max_turns=6)
    before = digest(store, SLUG)
    found = deep_now(SLUG, "a real model", store=store, model=ToolChat(ENDPOINT, MODEL, timeout=60))
    assert found.outcome in ("awaiting_approval", "completed", "check_failed", "timed_out", "errored", "escape_audit")
    assert digest(store, SLUG) == before
    assert runs(store)[0][0] in ("awaiting_approval", "completed", "cancelled", "crashed")
