"""Options of matching: settings give them, and callers without settings get the defaults."""

from __future__ import annotations

import pytest

from slowwave.matching.options import DefaultSettings, MatchSettings
from slowwave.store.settings import Settings


def test_default_settings_have_the_defaults_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings read the variable, and the defaults do not."""
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__DEDUPE_ENTITIES__DEFAULT_THRESHOLD", "0.97")
    given: MatchSettings = Settings()
    default: MatchSettings = DefaultSettings()
    assert given.operations.dedupe_entities.default_threshold == 0.97
    assert default.operations.dedupe_entities.default_threshold == 0.90
    assert default.operations.recompute_centroids == given.operations.recompute_centroids
