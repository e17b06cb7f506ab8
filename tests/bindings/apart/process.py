"""Clients that run in an environment of their own: where their Python is, and calls of what they do."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from slowwave.store.connect import Store

_ROOT: Final = Path(__file__).parents[3]
ENVIRONMENTS: Final = Path(os.environ.get("SLOWWAVE_CLIENTS", _ROOT / ".venv-stores"))
"""One folder for each client, made by ``make test-stores``."""

NOT_INSTALLED: Final = "the client is not installed: make test-stores"


def python_of(client: str) -> Path:
    """The Python of a client's environment, installed or not."""
    return ENVIRONMENTS / client / "bin" / "python"


class Client:
    """A running client. ``log`` is where it says what it does."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log

    def answer(self) -> Any:
        """What it answers next; a failed call is an error with its words."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the client has ended: {self._log.read_text()[-3000:]}"
        found = json.loads(line)
        assert "problem" not in found, found["problem"]
        return found["found"]

    def __call__(self, do: str, bank: str, **given: object) -> Any:
        """Have it do something in a bank, and wait for the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps({'do': do, 'bank': bank, **given})}\n")
        self._process.stdin.flush()
        return self.answer()


@contextmanager
def client(name: str, folder: Path, *arguments: str) -> Iterator[Client]:
    """The client of ``NAME_client.py``, once it is ready; it ends with its input."""
    log = folder / f"{name}.log"
    script = Path(__file__).with_name(f"{name}_client.py")
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [python_of(name), str(script), *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            running = Client(process, log)
            assert running.answer() == "ready"
            yield running
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def rows_of_all(store: Store, tables: Sequence[str]) -> Counter[tuple[str, str]]:
    """Every row of some tables of the schema ``public``, as text."""
    with store.connect("owner") as connection:
        return Counter(
            (table, str(row))
            for table in tables
            for (row,) in connection.execute(f"SELECT t::text FROM public.{table} t".encode())
        )
