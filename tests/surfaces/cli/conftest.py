"""The program on a test's store."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from slowwave.store.connect import Store
from slowwave.surfaces.cli import session
from slowwave.surfaces.cli.main import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the program on the test's store; gives exit code, standard output and standard error."""
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
    monkeypatch.setenv("COLUMNS", "200")
    for console in (session.out, session.err):  # one that was made in a worker has the worker's width
        monkeypatch.setattr(console, "_width", 200)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["slowwave", *arguments])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call
