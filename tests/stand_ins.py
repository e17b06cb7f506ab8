"""Operations that a test puts in the place of one of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from slowwave.operations import operations


def instead(monkeypatch: pytest.MonkeyPatch, name: str, run: Callable[[Any], Any]) -> None:
    """Have the operation ``name`` do something else while the test lasts; what it declares stays."""
    monkeypatch.setitem(operations(), name, replace(operations()[name], function=run))
