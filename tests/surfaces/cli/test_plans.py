"""What ``slowwave plans`` prints of a plan's writing can be copied, and no text in it passes for the program's own words."""

from __future__ import annotations

import re

import pytest

from slowwave.surfaces.cli import session
from slowwave.surfaces.cli.plans import print_writing
from tests.snapshots import uid


def test_what_is_wrapped_stays_beneath_its_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal of 80 columns breaks no id, and no padded text begins a line where a sentence of ours does; markup is text."""
    monkeypatch.setattr(session.out, "_width", 80)
    monkeypatch.setattr(session.out, "_force_terminal", True)
    long = f"contradicts: claim {uid('x')}, {'a ' * 40}ends: [red]all[/]\x1b[31m since"
    print_writing([long, f"+ {'b ' * 40}says of Mara:"], indent=2)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert [n for n, line in enumerate(shown) if line[:4].strip()] == [0]
    assert uid("x") in shown[0]
    assert "[red]all[/] [31m" in "\n".join(shown)
