"""Options of matching: settings give them, and callers without settings get the defaults."""

from __future__ import annotations

import pytest

from slowwave.matching.options import DedupeEntitiesOptions, DefaultSettings, MatchSettings
from slowwave.store.settings import Settings


def test_default_settings_have_the_defaults_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings read the variable, and the defaults do not."""
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__DEDUPE_ENTITIES__DEFAULT_THRESHOLD", "0.97")
    given: MatchSettings = Settings()
    default: MatchSettings = DefaultSettings()
    assert given.options("dedupe_entities", DedupeEntitiesOptions).default_threshold == 0.97
    assert default.options("dedupe_entities", DedupeEntitiesOptions).default_threshold == 0.90
