"""Line 20: the progress bar of a night stayed at 0 %.

Its whole was one namespace, and one namespace was done when the night was over: a person watched 0 % for minutes.
"""

from __future__ import annotations

from typing import Any

import pytest
from rich.progress import Progress

from slowwave.store.connect import Store
from tests.dreamers import OPS, forgetful
from tests.surfaces.cli.conftest import Run


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The per cent that a bar stood at after each step."""
    found: list[float] = []
    for name in ("update", "advance"):
        original: Any = getattr(Progress, name)

        def noting(self: Progress, *args: Any, _original: Any = original, **more: Any) -> None:
            _original(self, *args, **more)
            found.extend(task.percentage for task in self.tasks if task.total)

        monkeypatch.setattr(Progress, name, noting)
    return found


def test_the_bar_moves_with_the_steps(store: Store, run: Run, seen: list[float]) -> None:
    """It rises, step by step, and never falls."""
    slug = forgetful(store, rows=3)
    assert run("night", slug, "--ops", OPS)[0] == 0
    between = [share for share in seen if 0 < share < 100]
    assert len(set(between)) >= 20
    assert seen == sorted(seen)


def test_several_namespaces_share_one_bar(store: Store, run: Run, seen: list[float]) -> None:
    """`night ALL`: half of it is half of the namespaces."""
    for n in range(2):
        forgetful(store, f"acme-{n}", 2)
    assert run("night", "ALL", "--ops", OPS)[0] == 0
    assert seen == sorted(seen)
    assert any(0 < share < 50 for share in seen)
    assert any(50 < share < 100 for share in seen)
    assert seen[-1] == 100
