"""``python -m benchmarks.before COMMIT [--sizes 10000 50000] [--nights] [--write]``: nights of an earlier commit beside those of today.

The earlier code runs in a worktree of its own on a server of its own, with the packages that are installed here, one step after the
same step of today, so that both meet the same machine. ``--nights`` leaves out the steps of a night by themselves, applies and undos.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql
from rich.console import Console

from benchmarks.machine import load, machine
from benchmarks.report import Part, put, show
from benchmarks.speed import ROOT, Figures, Workbench
from slowwave.operations import PLANNERS
from slowwave.store.server import create_database

PAGE: Final = ROOT / "benchmarks" / "before.md"
MARKS: Final = ("<!-- figures -->", "<!-- /figures -->")
KINDS: Final = ("gc_references", "merge", "dedupe_memories", "prune_edges", "purge_expired")
"""Planners whose items are applied and undone."""
_READING: Final = ("export", "models")


def main() -> None:
    """Measure, show, and write the page if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before", description=__doc__)
    parser.add_argument("commit", help="the earlier commit")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 50_000], metavar="ENTITIES")
    parser.add_argument("--nights", action="store_true", help="whole nights alone")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.parent.name}/{PAGE.name} as well")
    given = parser.parse_args()
    console = Console()
    with console.status("starting") as status:
        before, after, says = compare(given.commit, sorted(given.sizes), status.update, nights_alone=given.nights)
    found = parts(before, after)
    show(found, console)
    if given.write:
        put(found, PAGE, MARKS, says)
        console.print(f"Written: {PAGE}")


def compare(
    commit: str, sizes: Sequence[int], say: Callable[[str], None], *, nights_alone: bool = False
) -> tuple[Figures, Figures, str]:
    """Figures of a commit and of this checkout, and a sentence on what they were measured."""
    before, after = Figures(tuple(sizes)), Figures(tuple(sizes), machine=machine() | {"load before": load()})
    with _worktree(commit) as then, _server(then) as old, _server(ROOT) as new:
        provided = (
            "bootstrap",
            "logins",
        )  # the modules, of earlier and of today's layout, that give databases to their roles
        create = create_database if any((then / f"slowwave/store/{n}.py").exists() for n in provided) else _create
        planners = json.loads(
            _run(then, "import json; from benchmarks.speed import PLANNERS; print(json.dumps([*PLANNERS]))")
        )
        for size in sizes:
            with (
                Workbench(*old, size, before, lambda s: say(f"{commit}, {s}"), then, create) as earlier,
                Workbench(*new, size, after, lambda s: say(f"now, {s}")) as now,
            ):
                works = [[Workbench.nights]] * 2 if nights_alone else [_work(planners), _work([*PLANNERS])]
                for former, present in zip(*works, strict=True):
                    former(earlier)
                    present(now)
    after.machine["load after"] = load()
    return before, after, f"{commit} and now. {', '.join(f'{name}: {value}' for name, value in after.machine.items())}."


def parts(before: Figures, after: Figures) -> list[Part]:
    """A table of steps, and one of the steps of the night with every operation, for each size."""
    found: list[Part] = []
    for size in after.sizes:
        rows = [
            [step, *_cells((old.wall, old.cpu, old.peak_mb), (new.wall, new.cpu, new.peak_mb))]
            for step, by_size in after.steps.items()
            if (old := before.steps.get(step, {}).get(size)) and (new := by_size.get(size))
        ]
        header = ["step", "wall s", "now", "CPU s", "now", "peak MB", "now", "CPU ratio"]
        found.append(Part(f"At {size:,}", "Each step alone, in a process of its own.", header, rows))
        spent = [figures.steps["whole night"][size].facts["spent"] for figures in (before, after)]
        rows = [
            [step, *(f"{times[1]:.2f}" if (times := of.get(step)) else "" for of in spent)]
            for step in dict.fromkeys((*spent[0], *spent[1]))
        ]
        title = f"The night with every operation at {size:,}"
        found.append(Part(title, "CPU seconds, in one process.", ["step", "before", "after"], rows))
    return found


def _cells(old: tuple[float, float, float], new: tuple[float, float, float]) -> Iterator[str]:
    for digits, was, now in zip((2, 2, 0), old, new, strict=True):
        yield f"{was:,.{digits}f}"
        yield f"{now:,.{digits}f}"
    yield f"{new[1] / old[1]:.2f}" if old[1] else ""


def _work(planners: Sequence[str]) -> Iterator[Callable[[Workbench], object]]:
    yield from (partial(Workbench.step, title=step, step=step) for step in _READING)
    yield partial(Workbench.planners, names=planners)
    yield from (Workbench.ledger, Workbench.nights)
    yield from (partial(Workbench.apply, kind=kind) for kind in KINDS)


def _create(url: Callable[[str], str], name: str, template: str) -> None:
    """A database as stores had it before roles owned them."""
    made, copied = sql.Identifier(name), sql.Identifier(template)
    with psycopg.connect(url("postgres"), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(made, copied))


@contextmanager
def _worktree(commit: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="slowwave-before-") as folder:
        path = Path(folder) / "checkout"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(path), commit], cwd=ROOT, check=True)
        try:
            _declare_entry_points(path)
            yield path
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(path)], cwd=ROOT, check=True)


def _declare_entry_points(checkout: Path) -> None:
    """Let processes in the checkout find its own entry points before those of the installed version, which name today's modules."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["project"]
    folder = checkout / f"{project['name']}-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n", "utf-8")
    lines = [
        line
        for group, points in project.get("entry-points", {}).items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in points.items()))
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")


@contextmanager
def _server(checkout: Path) -> Iterator[tuple[Path, Callable[[str], str]]]:
    """A home and the addresses of its databases, on a server that the checkout's own code starts: its roles are its own."""
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as folder:
        code = "from pathlib import Path; from slowwave.store import server; "
        address = _run(checkout, f"{code}print(server.start(Path({folder!r})).url('DATABASE'))")
        try:
            yield Path(folder), lambda database: address.replace("DATABASE", database)
        finally:
            _run(checkout, f"{code}server.stop(Path({folder!r}))")


def _run(checkout: Path, code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=checkout, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


if __name__ == "__main__":
    main()
