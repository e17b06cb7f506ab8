"""The Dagster instance that a night of the command line reports to, where there is one: ``DAGSTER_HOME``, else that of ``slowwave dev``.

Dagster is not imported here: what writes to it belongs to the checkout's ``memory_assets``, which is looked for only when an instance is
configured. It is never an obstacle: what cannot be reported is one line on standard error, and the night stands.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from slowwave.cli.session import err, say
from slowwave.errors import Refused
from slowwave.store import server

if TYPE_CHECKING:
    from slowwave.night.outcome import Night
    from slowwave.operations import Inputs, Proposal
    from slowwave.store.connect import Store


SHELL: Final = "memory_assets.reported"
"""The module that knows Dagster; the packaged program has none, and reports to nobody."""

WHOLE: Final = 20
"""Nights of one command up to which each is told whole; of more, their plans alone."""

_SECONDS: Final = "5"
"""How long an instance's database may take to answer at all."""


@dataclass(slots=True)
class Reporter:
    """Tells the instance in ``home`` of nights of ``store`` that are done, ``whole`` or their plans alone, and after a whole one how all
    namespaces stand. After a failure it says so once and rests."""

    store: Store
    home: Path
    whole: bool
    failed: bool = False

    def __call__(self, night: Night, inputs: Inputs, proposals: Mapping[str, Proposal]) -> None:
        """A night that is done, what it read, and what its planners proposed."""
        if self.failed:
            return
        try:
            with _environment(self.home):
                shell: Any = importlib.import_module(SHELL)
                shell.report_night(night, inputs, proposals, whole=self.whole, store=self.store)
                if self.whole:
                    shell.report_status(self.store)
        except Exception as problem:  # noqa: BLE001 - whatever an instance raises, the night stands
            self.failed = True
            say(
                f"Dagster was not told of this run's nights: its instance in {self.home} does not answer ({type(problem).__name__}). "
                "The plans stand, and `slowwave status` shows them.",
                console=err,
            )


def reporter(store: Store, nights: int) -> Reporter | None:
    """What tells the instance of each of so many nights of a store, or None where none is configured."""
    home = _home()
    if home is None or any(importlib.util.find_spec(name) is None for name in ("dagster", SHELL.partition(".")[0])):
        return None
    return Reporter(store, home, whole=nights <= WHOLE)


def _home() -> Path | None:
    """The folder of an instance: that of ``DAGSTER_HOME`` where it holds one, else that of ``slowwave dev``."""
    chosen = os.environ.get("DAGSTER_HOME", "").strip()
    folder = Path(chosen).expanduser() if chosen else server.default_home() / "dagster"
    return folder if (folder / "dagster.yaml").is_file() else None


@contextmanager
def _environment(home: Path) -> Generator[None]:
    """What Dagster reads of the environment to open the instance, for as long as it is told."""
    wanted = {"DAGSTER_HOME": str(home), "DAGSTER_DISABLE_TELEMETRY": "1", "PGCONNECT_TIMEOUT": _SECONDS}
    if home == server.default_home() / "dagster":
        from slowwave.cli.dev import REVIEW_URL, instance_environment  # it brings what reads addresses
        from slowwave.reviewing.running import running_page

        wanted |= instance_environment(server.default_home())
        if REVIEW_URL not in os.environ:
            with suppress(Refused):  # none runs, or several do
                wanted[REVIEW_URL] = running_page(server.default_home()).origin
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
