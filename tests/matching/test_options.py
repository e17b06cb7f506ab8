"""Options of matching: settings of a namespace and the defaults are taken alike."""

from __future__ import annotations

from slowwave.matching.options import DefaultSettings, MatchSettings
from slowwave.store.settings import Settings


def test_default_settings_equal_the_settings_of_an_empty_environment() -> None:
    ours: MatchSettings = DefaultSettings()
    theirs: MatchSettings = Settings.model_construct()
    assert ours.operations.dedupe_entities == theirs.operations.dedupe_entities
    assert ours.operations.recompute_centroids == theirs.operations.recompute_centroids
