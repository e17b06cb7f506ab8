"""The settings page says what the settings are, and forgets none of the settings of other systems."""

from __future__ import annotations

from pathlib import Path

from slowwave.operations import operations
from slowwave.operations.settings_page import SEEDS, page, reason, settings
from slowwave.store.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_the_model() -> None:
    assert (DOCS / "settings.md").read_text() == page(), "docs/settings.md is out of date. Run `make docs`."


def test_every_counterpart_exists_and_every_difference_has_a_reason() -> None:
    """A setting that has no counterpart here says why."""
    there = {*settings(), *(f"operations.{name}.enabled" for name in operations())}
    for system, seeds in SEEDS.items():
        for seed in seeds:
            assert seed.ours in (there if seed.ours else {""}), (system, seed.name)
            assert seed.ours or seed.note, (system, seed.name)


def test_every_setting_of_khora_that_has_our_name_is_ours() -> None:
    """khora's users find their variables by name."""
    (khora,) = [seeds for system, seeds in SEEDS.items() if system.startswith("khora")]
    assert len(khora) > 50
    shared = {seed.name: seed.ours for seed in khora if seed.name in Settings.model_fields}
    assert shared == {name: name for name in shared}
    assert len(shared) > 10


def test_every_setting_has_a_reason() -> None:
    """A setting is named by another system, or its declaration states who changes it; others become constants."""
    missing = [name for name in settings() if not reason(name)]
    assert not missing, (
        f"No reason is given for {missing}. State in the Field of each who changes it and why: "
        'json_schema_extra={"why": "…"}. A value that no user changes is a constant.'
    )
