"""Figures for people: one table of all steps, ratios to references, expectations with what was measured.

Both forms come from the same rows: rich tables on the terminal, Markdown in ``docs/benchmarks.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from benchmarks import peer
from benchmarks.report import Part
from benchmarks.speed import Figures
from benchmarks.steps import Measured
from slowwave.operations import AUDITS

AT: Final = 50_000
"""The size for which something is expected."""
STEP_BY_STEP: Final = "The night with every operation, step by step"
"""Title of the table that only the terminal shows."""
STEPS_TITLE: Final = "Steps"
SHORTEST_SECONDS: Final = 0.3
"""Wall seconds at the largest size below which a step is left out of the page; the terminal shows all."""

_RATIOS: Final = (
    ("export", "reference: COPY to nowhere", "the same rows by COPY … TO STDOUT, bytes thrown away, nothing parsed"),
    (
        "apply gc_references",
        "reference: UPDATE gc_references",
        "one bare UPDATE of the same arrays: no check, journal or events",
    ),
    ("apply merge", "reference: UPDATE merge", "one bare UPDATE of the same cells a table"),
    ("apply merge_with_vectors", "reference: UPDATE merge_with_vectors", "one bare UPDATE of those vectors alone"),
    ("pagerank", "reference: networkx", "networkx to the same error, construction included"),
)

_WALL_EXPECTED: Final = (
    ("Export of all tables and vectors", ("export",), 2.0),
    *((f"Audit {name}", (f"audit {name}",), 1.0) for name in AUDITS),
    ("The whole night with every operation: snapshot to sealed plan", ("whole night",), 40.0),
    ("Apply of 15,000 gc items", ("apply gc_references",), 8.0),
    ("Apply of some 3,800 merges without their vectors", ("apply merge",), 5.0),
    ("An unchanged night", ("unchanged night",), 5.0),
)
_PEAK_EXPECTED_MB: Final = 1_000.0
_RATE_EXPECTED: Final = 2_000
"""Items a second that an apply without vectors must reach."""

Rows = list[list[str]]


def parts(figures: Figures) -> list[Part]:
    """Everything that is shown, in order."""
    found = [_steps(figures), _night(figures), _applies(figures), _beside(figures), _ratios(figures)]
    if AT in figures.sizes:
        found.append(_expectations(figures))
    return found


def markdown(figures: Figures) -> str:
    """The page ``docs/benchmarks.md``."""
    machine = ", ".join(f"{name}: {value}" for name, value in figures.machine.items())
    lines = [
        "# Speed",
        "",
        "How long does each step of a night take, and how much memory? `make bench` prints these tables, and `make bench WRITE=1` "
        "writes this page. Each step ran once, alone, in its own process. CPU is the client's, without the server's; peak is "
        "the resident memory of the whole process, mapped files included. The load includes other work on the machine: compare ratios "
        "and CPU, not wall seconds. Embedding is not included, and steps under 0.3 s at the largest size are left out.",
        "",
        f"Machine: {machine}.",
        "",
        "The data are generated. A namespace of size E holds E entities, chunks and events with vectors of 384 numbers, 3E "
        f"relationships, E facts and 500 recalls. Injected defects at {max(figures.sizes):,}: {_planted(figures)}.",
    ]
    for part in parts(figures):
        if part.title == STEP_BY_STEP:  # a finer view of the same night, for whoever works on its speed
            continue
        lines += ["", f"## {part.title}", "", part.says, ""]
        lines.append("| " + " | ".join(part.header) + " |")
        lines.append("| --- |" + " ---: |" * (len(part.header) - 1))
        rows = [row for row in part.rows if part.title != STEPS_TITLE or not _is_short(row, len(figures.sizes))]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _is_short(row: Sequence[str], sizes: int) -> bool:
    """Return whether a step took less than ``SHORTEST_SECONDS`` at the largest size."""
    wall = row[3 * sizes - 2]
    return bool(wall) and float(wall) < SHORTEST_SECONDS


def _planted(figures: Figures) -> str:
    planted = figures.steps["fill"][max(figures.sizes)].facts["planted"]
    return ", ".join(f"{n:,} {what}" for what, n in planted.items())


def _steps(figures: Figures) -> Part:
    header = ["step"]
    for size in figures.sizes:
        header += [f"{size:,}: wall s", "CPU s", "peak MB"]
    header += [f"growth to {b:,}" for _, b in pairwise(figures.sizes)]
    rows: Rows = []
    for step, by_size in figures.steps.items():
        row = [step]
        for size in figures.sizes:
            m = by_size.get(size)
            row += [f"{m.wall:.2f}", f"{m.cpu:.2f}", f"{m.peak_mb:,.0f}"] if m else ["", "", ""]
        for a, b in pairwise(figures.sizes):
            row.append(_quotient(by_size, b, by_size, a, lambda m: m.wall))
        rows.append(row)
    return Part(STEPS_TITLE, f"Growth is that of wall seconds. {_did(figures)}", header, rows)


def _did(figures: Figures) -> str:
    """What the steps of the largest size worked on."""
    size = max(figures.sizes)

    def fact(step: str, name: str) -> object:
        return figures.steps[step][size].facts[name]

    undone = [step for step in figures.steps if step.startswith("undo ")]
    exact = sum(bool(m.facts["exact"]) for step in undone for m in figures.steps[step].values())
    of = sum(len(figures.steps[step]) for step in undone)
    return (
        f"At {size:,} the night with every operation proposed {_items_of(fact('whole night', 'counts'))}. The digest after undo "
        f"equalled that before apply in {exact} of {of} cases."
    )


def _items_of(counts: object) -> str:
    if not isinstance(counts, dict):
        return "nothing"
    found: dict[str, dict[str, int]] = counts
    return "; ".join(f"{name}: {', '.join(f'{n:,} {d}' for d, n in of.items())}" for name, of in found.items())


def _night(figures: Figures) -> Part:
    """Where the time of the night with every operation goes."""
    nights = figures.steps["whole night"]
    names = dict.fromkeys(step for m in nights.values() for step in m.facts["spent"])
    header = ["step"]
    for size in figures.sizes:
        header += [f"{size:,}: wall s", "CPU s"]
    rows: Rows = []
    for name in names:
        planted = [nights[size].facts["spent"].get(name) if size in nights else None for size in figures.sizes]
        rows.append([name, *(cell for t in planted for cell in ([f"{t[0]:.2f}", f"{t[1]:.2f}"] if t else ["", ""]))])
    return Part(
        STEP_BY_STEP,
        "In one process; `plan` is sealing, simulating, the probes (with a second run of all planners on what the plan touches) and "
        "writing the plan.",
        header,
        rows,
    )


def _applies(figures: Figures) -> Part:
    """Items a second of each apply and undo."""
    header = ["apply"]
    for size in figures.sizes:
        header += [f"{size:,}: items", "items/s", "undo items/s"]
    rows: Rows = []
    for step, by_size in figures.steps.items():
        if not step.startswith("apply "):
            continue
        row = [step.removeprefix("apply ")]
        for size in figures.sizes:
            applied, undone = by_size.get(size), figures.steps[f"undo {row[0]}"].get(size)
            if applied is None or undone is None:
                row += ["", "", ""]
                continue
            items = int(applied.facts["counts"]["applied"])
            row += [f"{items:,}", _rate(items, applied), _rate(items, undone)]
        rows.append(row)
    return Part(
        "Applies",
        "From reading and verifying the plan to the last commit: checks, journal, before-images and the event chain included.",
        header,
        rows,
    )


def _rate(items: int, measured: Measured) -> str:
    return f"{items / measured.wall:,.0f}" if items and measured.wall else ""


def _beside(figures: Figures) -> Part:
    """Ours beside khora's, by its own operations."""
    sizes = [size for size in figures.sizes if size in (2_000, 10_000, 50_000)]
    header = ["work", "khora 0.26", *(f"{size:,}: khora s, ours s (with reading)" for size in sizes)]
    rows: Rows = []
    for step, (name, theirs) in peer.DRY_RUN.items():
        if step not in figures.steps:
            continue
        cells: list[str] = []
        for size in sizes:
            ours = figures.steps[step][size].wall
            reading = figures.steps["export"][size].wall + figures.steps["SQL models"][size].wall
            cells.append(f"{theirs[size]:g}, {ours:.2f} ({ours + reading:.2f})" if size in theirs else "")
        rows.append([step, name, *cells])
    for kind, (name, applied) in peer.APPLY.items():
        if f"apply {kind}" not in figures.steps:
            continue
        cells = []
        for size in sizes:
            ours, (seconds, items) = figures.steps[f"apply {kind}"][size], applied[size]
            count = int(ours.facts["counts"]["applied"])
            cells.append(f"{seconds:g} ({items:,} items), {ours.wall:.2f} ({count:,} items)")
        rows.append([f"apply {kind}", name, *cells])
    return Part(
        "Beside khora",
        "Dry runs: khora reads its rows for each operation, we once a night; in brackets ours with all of that reading (export and SQL "
        "models). Applies: seconds and items; khora's have no journal, no checks and no undo.",
        header,
        rows,
    )


def _ratios(figures: Figures) -> Part:
    header = ["step", "reference", *(f"{size:,}: wall ratio" for size in figures.sizes)]
    rows = [
        [
            step,
            says,
            *(
                _quotient(figures.steps[step], size, figures.steps[reference], size, lambda m: m.wall)
                for size in figures.sizes
            ),
        ]
        for step, reference, says in _RATIOS
        if step in figures.steps and reference in figures.steps
    ]
    return Part(
        "Ratios to references", "Both sides measured in this run; under 1 is faster than the reference.", header, rows
    )


def _quotient(
    over: dict[int, Measured], a: int, under: dict[int, Measured], b: int, of: Callable[[Measured], float]
) -> str:
    if a not in over or b not in under or of(under[b]) < 0.002:
        return ""
    return f"x{of(over[a]) / of(under[b]):.2g}"


def _expectations(figures: Figures) -> Part:
    rows: Rows = []
    for title, steps, limit in _WALL_EXPECTED:
        wall = sum(figures.steps[step][AT].wall for step in steps)
        cpu = sum(figures.steps[step][AT].cpu for step in steps)
        rows.append([title, f"under {limit:g} s", f"{wall:.2f} s ({cpu:.2f} s CPU)", _verdict(wall < limit)])
    for step in figures.steps:
        if step.startswith("apply ") and not step.endswith("_with_vectors"):
            measured = figures.steps[step][AT]
            items = int(measured.facts["counts"]["applied"])
            rate = items / measured.wall
            says = f"{rate:,.0f} a second ({items:,} items)"
            rows.append(
                [f"Rate of {step}", f"{_RATE_EXPECTED:,} items a second", says, _verdict(rate >= _RATE_EXPECTED)]
            )
    peak = figures.steps["whole night"][AT].peak_mb
    rows.append(
        [
            "Peak memory of the night with every operation",
            f"under {_PEAK_EXPECTED_MB:,.0f} MB",
            f"{peak:,.0f} MB",
            _verdict(peak < _PEAK_EXPECTED_MB),
        ]
    )
    return Part(
        f"Expected at {AT:,}",
        "Wall seconds, on this machine under its load.",
        ["what", "expected", "measured", "verdict"],
        rows,
    )


def _verdict(met: bool) -> str:
    return "met" if met else "**not met**"
