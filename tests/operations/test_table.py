"""The table of operations in the docs is what they declare."""

from __future__ import annotations

import pytest

from slowwave.operations import operations
from slowwave.operations.settings_page import MARKS, renewed, table
from tests.operations.chapter import ROOT


def test_the_page_has_the_table() -> None:
    """Renew it with ``make docs``."""
    page = (ROOT / "docs" / "operations.md").read_text()
    assert page == renewed(page)


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
