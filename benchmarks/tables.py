"""Figures for people: one table of all steps, ratios to references, expectations with what was measured.

Both forms come from the same rows: rich tables on the terminal, Markdown in ``docs/benchmarks.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final

from benchmarks.report import Part
from benchmarks.speed import Figures
from benchmarks.steps import Measured
from slowwave.audits import AUDITS

AT: Final = 50_000
"""The size for which something is expected."""

_RATIOS: Final = (
    ("export", "reference: COPY to nowhere", "the same rows by COPY … TO STDOUT, bytes thrown away, nothing parsed"),
    ("apply gc", "reference: UPDATE gc", "one bare UPDATE of the same arrays: no check, journal or events"),
    ("apply merge", "reference: UPDATE merge", "one bare UPDATE of the same cells a table"),
    ("apply merge_with_vectors", "reference: UPDATE merge_with_vectors", "one bare UPDATE of those vectors alone"),
    ("pagerank", "reference: networkx", "networkx to the same error, construction included"),
)

_WALL_EXPECTED: Final = (
    ("Export of all tables and vectors", ("export",), 2.0),
    *((f"Audit {name}", (f"audit {name}",), 1.0) for name in AUDITS),
    ("The whole plan: snapshot to sealed plan", ("whole night",), 15.0),
    ("Apply of 15,000 gc items", ("apply gc",), 8.0),
    ("Apply of some 3,800 merges without their vectors", ("apply merge",), 5.0),
    ("An unchanged night", ("unchanged night",), 5.0),
)
_PEAK_EXPECTED_MB: Final = 800.0

Rows = list[list[str]]


def parts(figures: Figures) -> list[Part]:
    """Everything that is shown, in order."""
    found = [_steps(figures), _ratios(figures)]
    if AT in figures.sizes:
        found.append(_expectations(figures))
    return found


def markdown(figures: Figures) -> str:
    """The page ``docs/benchmarks.md``."""
    machine = ", ".join(f"{name}: {value}" for name, value in figures.machine.items())
    lines = [
        "# Benchmarks",
        "",
        "Written by `python -m benchmarks --write` (`make bench` prints the same). Seconds are those of a step alone, once, in a "
        "process of its own; CPU is the client's, without the server's; peak is the resident memory of the whole process, "
        "mapped files included. The load is that of other work on the machine too: compare ratios and CPU, not wall seconds. "
        "Embedding is not part: the vectors are of a model that none can make.",
        "",
        f"Machine: {machine}.",
        "",
        "A namespace of size E holds E entities and chunks with vectors of 384 numbers, 3E relationships, E facts and 500 recall "
        "events; 30 % of the entities name dead chunks, 8 % are variants of another one.",
    ]
    for part in parts(figures):
        lines += ["", f"## {part.title}", "", part.says, ""]
        lines.append("| " + " | ".join(part.header) + " |")
        lines.append("| --- |" + " ---: |" * (len(part.header) - 1))
        lines += ["| " + " | ".join(row) + " |" for row in part.rows]
    return "\n".join(lines) + "\n"


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
    return Part("Steps", f"Growth is that of wall seconds. {_did(figures)}", header, rows)


def _did(figures: Figures) -> str:
    """What the steps of the largest size worked on."""
    size = max(figures.sizes)

    def fact(step: str, name: str) -> object:
        return figures.steps[step][size].facts[name]

    undone = [step for step in figures.steps if step.startswith("undo ")]
    exact = sum(bool(m.facts["exact"]) for step in undone for m in figures.steps[step].values())
    of = sum(len(figures.steps[step]) for step in undone)
    return (
        f"At {size:,} the planners proposed {fact('whole night', 'counts')}; {fact('undo gc', 'items'):,} gc items and "
        f"{fact('undo merge', 'items'):,} merges, which absorb {round(0.08 * size):,} entities, were applied and undone; the digest after "
        f"undo equalled that before apply in {exact} of {of} cases."
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
    peak = figures.steps["whole night"][AT].peak_mb
    rows.append(
        [
            "Peak memory of the whole plan",
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
