"""Items here carry mutations for their own sake; which operation may carry which is ``tests/plans/test_permitted.py``'s matter."""

from __future__ import annotations

import pytest

from slowwave.plans.permitted import Permits


@pytest.fixture(autouse=True)
def _any_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sealing takes an item of any operation."""
    monkeypatch.setattr(Permits, "violation", lambda self, item: "")
