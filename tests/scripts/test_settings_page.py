"""The settings page says what the settings are, and forgets none of the settings of other systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.settings_page import MARKS, SEEDS, page, reason, renewed, settings, table
from slowwave.operations import operations
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


def test_the_page_has_the_table() -> None:
    """Renew it with ``make docs``."""
    text = (DOCS / "operations.md").read_text()
    assert text == renewed(text)


def test_there_is_a_line_for_every_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it runs is the default, whatever this machine's environment says."""
    monkeypatch.setenv("SLOWWAVE_OPERATIONS__ARCHIVE_STALE__ENABLED", "true")
    lines = table().splitlines()[2:]
    assert [line.split("`")[1] for line in lines] == list(operations())
    ends = {line.split("`")[1]: line.split(" | ")[-1] for line in lines}
    assert (ends["census"], ends["archive_stale"], ends["decay_transition"]) == ("on |", "off |", "weekly |")


def test_a_page_without_a_place_for_it_is_refused() -> None:
    """It is not appended somewhere."""
    with pytest.raises(ValueError, match="no place"):
        renewed("# Title\n")
    assert renewed(f"{MARKS[0]}\nold\n{MARKS[1]}\nrest") == f"{MARKS[0]}\n{table()}\n{MARKS[1]}\nrest"
