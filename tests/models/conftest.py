"""The pauses of the client ``openai``, which no test makes."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the pauses before retries in place of making them."""
    made: list[float] = []
    monkeypatch.setattr("openai._base_client.time", SimpleNamespace(sleep=made.append, time=time.time))
    return made
