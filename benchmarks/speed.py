"""Running the steps: a server, a database a size, a process a step; ``Figures`` is what came out.

Every step that writes memory starts on a fresh clone of the filled database, so that no step pays for another. What the steps
do is in ``benchmarks.steps``, how figures are shown in ``benchmarks.tables``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from benchmarks.machine import load, machine
from benchmarks.operations import REFERRED, applied
from benchmarks.steps import Measured
from slowwave.operations import AUDITS, PLANNERS
from slowwave.store import server
from slowwave.store.server import create_database

PROBES: Final = ("specifics", "statements", "recall", "blast_radius", "isolation", "convergence")
ROOT: Final = Path(__file__).parents[1]
NETWORKX_SIZE: Final = 10_000
"""The one size at which networkx ranks: it takes minutes beyond."""
_AS_THE_PROGRAM: Final = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
"""What ``slowwave`` chooses where it begins (``slowwave.store.connect``)."""


@dataclass(slots=True)
class Figures:
    """Step → size → figures, in the order of measuring, and the machine they were measured on."""

    sizes: tuple[int, ...]
    steps: dict[str, dict[int, Measured]] = field(default_factory=dict)
    machine: dict[str, str] = field(default_factory=dict)


def measure(home: Path, sizes: Sequence[int], say: Callable[[str], None]) -> Figures:
    """All steps at all sizes in databases of their own on the server of ``home``, which are dropped in the end."""
    running = server.start(home)
    figures = Figures(tuple(sizes), machine=_machine(running))
    for size in sizes:
        Workbench(running.home, running.url, size, figures, say).measure()
    figures.machine["load after"] = load()
    return figures


class Workbench:
    """The steps at one size, by the code of a checkout: a filled database, and a clone of it for what writes."""

    def __init__(
        self,
        home: Path,
        url: Callable[[str], str],
        size: int,
        figures: Figures,
        say: Callable[[str], None],
        checkout: Path = ROOT,
        create: Callable[[Callable[[str], str], str, str], None] = create_database,
    ) -> None:
        self._home, self._url, self._size, self._figures = home, url, size, figures
        self._say, self._checkout, self._database = say, checkout, create
        self._filled, self._clone = f"bench_{size}", f"bench_{size}_clone"

    def measure(self) -> None:
        """Every step, and the databases dropped."""
        with self:
            self._read()
            self._plan()
            for kind in (*REFERRED, *applied()):
                self.apply(kind)

    def __enter__(self) -> Workbench:
        self._create(self._filled)
        self.step("fill", "fill_database", size=self._size)
        return self

    def __exit__(self, *problem: object) -> None:
        self._drop(self._clone)
        self._drop(self._filled)

    def _read(self) -> None:
        self.step("export", "export")
        self.step("reference: COPY to nowhere", "copy_floor")
        self.step("save and load files", "save_and_load")
        self.step("SQL models", "models")
        for name in AUDITS:
            self.step(f"audit {name}", "audit", name=name)
        self.step("pagerank", "ranks")
        if self._size == NETWORKX_SIZE:
            self.step("reference: networkx", "ranks_networkx")

    def _plan(self) -> None:
        self.planners(PLANNERS)
        self.step("simulate", "simulation")
        for name in PROBES:
            self.step(f"probe {name}", "probe", name=name)
        self.ledger()
        self.nights()
        self.dagster_night()

    def planners(self, names: Iterable[str]) -> None:
        """Each planner, and the plan sealed from what they propose."""
        for name in names:
            self.step(f"planner {name}", "planner", name=name)
        self.step("seal", "sealing")

    def ledger(self) -> None:
        """The plan of ``planners`` written, and read again."""
        self._create(self._clone, self._filled)
        written = self.step("write plan", "plan_write", self._clone, of=self._filled)
        self.step("read and verify plan", "plan_read", self._clone, plan_hash=written.facts["plan_hash"])

    def nights(self) -> None:
        """Whole nights: with every operation, by default, and with nothing new."""
        self._create(self._clone, self._filled)
        self.step("whole night", "whole_night", self._clone, ops="all")
        self._create(self._clone, self._filled)
        self.step("night by default", "whole_night", self._clone)
        self.step("unchanged night", "unchanged_night", self._clone)

    def dagster_night(self) -> None:
        """The night with every operation as Dagster runs it."""
        self._create(self._clone, self._filled)
        self.step("whole night through Dagster", "dagster_night", self._clone, ops="all")

    def apply(self, kind: str) -> None:
        """Apply and undo what one planner proposes, if it proposes anything."""
        if kind in REFERRED:
            self._create(self._clone, self._filled)
            self.step(f"reference: UPDATE {kind}", "bare_update", self._clone, kind=kind)
        self._create(self._clone, self._filled)
        signed = self._run("approval", self._clone, kind=kind)
        if not signed.facts["approval"]:
            return
        self.step(f"apply {kind}", "apply", self._clone, approval=signed.facts["approval"])
        self.step(f"undo {kind}", "undo", self._clone, digest=signed.facts["digest"])

    def step(self, title: str, step: str, database: str = "", **arguments: object) -> Measured:
        """One step in a process of its own."""
        self._say(f"{self._size:,}: {title}")
        measured = self._run(step, database or self._filled, **arguments)
        self._figures.steps.setdefault(title, {})[self._size] = measured
        return measured

    def _run(self, step: str, database: str, **arguments: object) -> Measured:
        given = {"home": str(self._home), "database": database, **arguments}
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SLOWWAVE_")}
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.steps", step, json.dumps(given)],
            env=environment | {"SLOWWAVE_HOME": str(self._home)} | _AS_THE_PROGRAM,
            cwd=self._checkout,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(
                f"The step {step} at {self._size:,} failed, so there are no figures:\n{done.stderr[-3000:]}"
            )
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return Measured(**found)

    def _create(self, name: str, template: str = "") -> None:
        self._drop(name)
        self._database(self._url, name, template or "template1")

    def _drop(self, name: str) -> None:
        with psycopg.connect(self._url("postgres"), autocommit=True) as admin:
            admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _machine(running: server.Server) -> dict[str, str]:
    with psycopg.connect(running.url("postgres"), autocommit=True) as admin:
        postgres = admin.execute("SHOW server_version").fetchone()
        vector = admin.execute("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'").fetchone()
    return machine() | {
        "PostgreSQL": str(postgres[0]) if postgres else "",
        "pgvector": str(vector[0]) if vector else "",
        "load before": load(),
    }
