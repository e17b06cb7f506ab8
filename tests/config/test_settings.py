"""Settings: variables below, a namespace's own on top, and a fingerprint that covers them."""

from __future__ import annotations

import pytest

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError


def test_a_namespace_overlays_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable holds where the namespace says nothing; names that are no setting are left alone."""
    monkeypatch.setenv("SLOWWAVE_BATCH_ITEMS", "50")
    monkeypatch.setenv("SLOWWAVE_PLAN_EXPIRY_DAYS", "3")
    settings = Settings.for_namespace({"batch_items": 7, "colour": "red", "expertise": {"entity_types": ["person"]}})
    assert (settings.batch_items, settings.plan_expiry_days) == (7, 3)
    assert settings.expertise is not None
    assert settings.expertise.entity_types == ("person",)


def test_a_namespace_cannot_send_its_memory_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses come from the environment alone: the key and the texts go where the operator says."""
    monkeypatch.setenv("SLOWWAVE_JUDGE_ENDPOINT", "http://judges.example/v1")
    overlay = {"judge_endpoint": "http://elsewhere.example", "embedding_endpoint": "http://elsewhere.example"}
    found = Settings.for_namespace(overlay)
    assert (found.judge_endpoint, found.embedding_endpoint) == ("http://judges.example/v1", "")


def test_a_namespace_cannot_have_git_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a program runs in the workspace, whose configuration it obeys, is the operator's decision too."""
    assert not Settings.for_namespace({"pages_git": True}).pages_git
    monkeypatch.setenv("SLOWWAVE_PAGES_GIT", "true")
    assert Settings.for_namespace({"pages_git": False}).pages_git


def test_the_fingerprint_moves_with_any_setting() -> None:
    """A plan names the settings that it was made under."""
    base = Settings().fingerprint()
    assert base == Settings().fingerprint()
    assert base != Settings(recall_window_days=30).fingerprint()


@pytest.mark.parametrize(
    ("overlay", "name"), [({"batch_items": 0}, "batch_items"), ({"expertise": {"types": []}}, "expertise")]
)
def test_a_value_that_cannot_be_is_named(overlay: dict[str, object], name: str) -> None:
    """Which setting, what is wrong, where to correct it."""
    with pytest.raises(SettingsError, match=name):
        Settings.for_namespace(overlay)
