"""Review pages that run on this machine: each leaves a note of itself, from which its account makes another link that lets in.

The note holds the key by which the page knows such a link, so it is readable by the account that serves the page and by nobody else. That
account could start a page of its own in any name: the note lets nobody do more. A page behind a proxy has no links, and leaves no note.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from slowwave.errors import Refused
from slowwave.reviewing.entrance import Entrance, granted

_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class RunningPage:
    """A page that answers at ``origin`` and lets in ``reviewer``; ``key`` signs links to it."""

    origin: str
    reviewer: str
    key: str = field(repr=False)

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self.origin).port or 0

    def link(self) -> str:
        """A new address that lets its holder in, once, within ``entrance.GRANT_SECONDS``."""
        return f"{self.origin}/enter?token={granted(self.key)}"


@contextmanager
def noted(home: Path, entrance: Entrance) -> Generator[None]:
    """Note the page of an entrance in ``home`` for as long as this lasts; nothing where people come in by a proxy."""
    if not entrance.reviewer:
        yield
        return
    page = RunningPage(entrance.origins[0], entrance.reviewer, entrance.key())
    home.mkdir(parents=True, exist_ok=True)
    note = _note(home, page.port)
    note.unlink(missing_ok=True)  # of a page that was killed; its mode would stay
    with os.fdopen(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(asdict(page), file)
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def running_page(home: Path, port: int | None = None) -> RunningPage:
    """The page that is noted in ``home`` and answers, of a port where several do. Raises ``Refused`` where none or several do."""
    notes = [_note(home, port)] if port else sorted(home.glob(_note(home, "*").name))
    found = [page for page in map(_read, notes) if page and _answers(page)]
    if len(found) == 1:
        return found[0]
    if found:
        told = ", ".join(f"{page.port} ({page.reviewer})" for page in found)
        raise Refused(f"Several review pages run here, at the ports {told}. Name one with --port. No link was made.")
    of = f" at port {port}" if port else ""
    raise Refused(
        f"No review page of this account runs{of} under {home}. Start one with `slowwave review --by NAME`, which prints its link, or set "
        "SLOWWAVE_HOME to the folder of the one that runs. No link was made."
    )


def _note(home: Path, port: int | str) -> Path:
    return home / f"review-{port}.json"


def _read(note: Path) -> RunningPage | None:
    try:
        told = json.loads(note.read_text())
        return RunningPage(str(told["origin"]), str(told["reviewer"]), str(told["key"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _answers(page: RunningPage) -> bool:
    """Whether something listens there still: who is killed leaves its note."""
    try:
        socket.create_connection((urlsplit(page.origin).hostname or "", page.port), timeout=_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True
