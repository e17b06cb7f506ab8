"""Schema drift: types that no one declared, declared types that no one uses, and counts that jumped since last night.

The audit compares the live types with the declared ones and with the previous night (khora 8.1, six buckets).

Type names are compared exactly. A side without declared types has no new and no unused types; without a report of a previous night the
deltas are empty. The headline states both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from slowwave.operations import Inputs
from slowwave.plans.report import Bars, Finding, Report

_SIDES = {"entity": "entities", "relationship": "relationships"}
_DELTA = 0.5  # relative change of a type's count that is reported: below it lies the ordinary growth of a night


@dataclass(frozen=True, slots=True)
class _Drift:
    """Three buckets of one side; ``delta`` maps each type to (previous, current)."""

    side: str
    frequencies: Mapping[str, int]
    declared: Sequence[str]
    new: Sequence[str]
    unused: Sequence[str]
    delta: Mapping[str, tuple[int, int]]


def schema_drift(inputs: Inputs) -> Report:
    """Compare the types in use with those that the namespace declares, and with those of the previous night."""
    expertise = inputs.settings.expertise
    baseline = inputs.baselines.get("schema_drift")
    declared = {
        "entity": () if expertise is None else expertise.entity_types,
        "relationship": () if expertise is None else expertise.relationship_types,
    }
    drifts = [
        _drift(
            side,
            _frequencies(inputs.models["type_census"], table),
            declared[side],
            _baseline_of(baseline, side),
            _DELTA,
        )
        for side, table in _SIDES.items()
    ]
    numbers: dict[str, int | float] = {}
    details: dict[str, object] = {}
    for drift in drifts:
        numbers |= {
            f"{drift.side}_total": sum(drift.frequencies.values()),
            f"{drift.side}_types": len(drift.frequencies),
            f"{drift.side}_types_declared": len(drift.declared),
            f"new_{drift.side}_types": len(drift.new),
            f"unused_{drift.side}_types": len(drift.unused),
            f"changed_{drift.side}_frequencies": len(drift.delta),
        }
        details |= {
            f"new_{drift.side}_types": list(drift.new),
            f"unused_{drift.side}_types": list(drift.unused),
            f"{drift.side}_frequency_delta": {name: list(pair) for name, pair in drift.delta.items()},
            f"{drift.side}_frequencies": dict(drift.frequencies),
            f"{drift.side}_total": sum(drift.frequencies.values()),
        }
    undeclared = [(drift.side, name, drift.frequencies[name]) for drift in drifts for name in drift.new]
    undeclared.sort(key=lambda new: (-new[2], new[:2]))
    return Report(
        operation="schema_drift",
        headline=_headline(drifts, baseline is None),
        numbers=numbers,
        findings=tuple(finding for drift in drifts for finding in _findings(drift)),
        table=tuple(row for drift in drifts for row in _rows(drift))[:10],
        plots=(
            (
                Bars(
                    "Live rows of undeclared types",
                    [n for _, n, _ in undeclared[:10]],
                    [c for _, _, c in undeclared[:10]],
                ),
            )
            if undeclared
            else ()
        ),
        details={
            **details,
            "frequency_delta_threshold": _DELTA,
            "baseline": baseline is not None,
        },
    )


def frequency_delta(
    previous: Mapping[str, int], current: Mapping[str, int], threshold: float
) -> dict[str, tuple[int, int]]:
    """Map each type whose count moved by at least ``threshold`` to (previous, current).

    The count moves by ``|current - previous| / max(previous, current)``. A type that appears or vanishes moves by 1; one that is absent
    on both sides is left out. Sorted by name.
    """
    pairs = {name: (previous.get(name, 0), current.get(name, 0)) for name in sorted({*previous, *current})}
    return {n: (a, b) for n, (a, b) in pairs.items() if max(a, b) > 0 and abs(b - a) / max(a, b) >= threshold}


def _drift(
    side: str,
    frequencies: Mapping[str, int],
    declared: Sequence[str],
    previous: Mapping[str, int] | None,
    threshold: float,
) -> _Drift:
    return _Drift(
        side=side,
        frequencies=frequencies,
        declared=declared,
        new=sorted({*frequencies} - {*declared}) if declared else [],
        unused=sorted({*declared} - {*frequencies}),
        delta={} if previous is None else frequency_delta(previous, frequencies, threshold),
    )


def _frequencies(census_of_types: pa.Table, table: str) -> dict[str, int]:
    """Map each type to its live rows, sorted by name; types without live rows are left out."""
    rows = [r for r in census_of_types.to_pylist() if r["table_name"] == table and r["live_rows"]]
    return {r["type"]: r["live_rows"] for r in sorted(rows, key=lambda r: r["type"])}


def _baseline_of(baseline: Mapping[str, object] | None, side: str) -> dict[str, int] | None:
    """Return the counts of the previous night, or None if its report has none."""
    counts = None if baseline is None else baseline.get(f"{side}_frequencies")
    return {str(k): int(v) for k, v in counts.items()} if isinstance(counts, Mapping) else None


def _headline(drifts: Sequence[_Drift], first_night: bool) -> str:
    new, unused, delta = (sum(len(getattr(d, bucket)) for d in drifts) for bucket in ("new", "unused", "delta"))
    parts: list[str] = []
    if any(d.declared for d in drifts):
        sides = [d.side for d in drifts if d.declared]
        only = f" (only {sides[0]} types are declared)" if len(sides) == 1 else ""
        parts.append(f"{new:,} types in use are not declared and {unused:,} declared types are not in use{only}")
    else:
        parts.append("No types are declared for this namespace, so none can be called new or unused")
    if first_night:
        parts.append("there is no earlier night to compare counts with")
    else:
        parts.append(f"{delta:,} counts moved sharply since the previous night")
    return "; ".join(parts) + "."


def _findings(drift: _Drift) -> Iterable[Finding]:
    spelling = {_folded(name): name for name in reversed(drift.declared)}
    for name in drift.new:
        count, like = drift.frequencies[name], spelling.get(_folded(name))
        yield Finding(
            f"{count:,} live {_SIDES[drift.side]} have the undeclared type “{name}”"
            + (f", which is written like the declared “{like}”." if like else "."),
            severity="warning",
            details={"bucket": f"new_{drift.side}_types", "type": name, "count": count, "like": like},
        )
    for name in drift.unused:
        yield Finding(
            f"The declared {drift.side} type “{name}” has no live row.",
            details={"bucket": f"unused_{drift.side}_types", "type": name},
        )
    for name, (before, now) in drift.delta.items():
        yield Finding(
            f"Live {_SIDES[drift.side]} of type “{name}” went from {before:,} to {now:,}.",
            details={"bucket": f"{drift.side}_frequency_delta", "type": name, "previous": before, "current": now},
        )


def _rows(drift: _Drift) -> Iterable[dict[str, object]]:
    def row(what: str, name: str, before: object, now: int) -> dict[str, object]:
        return {"what": what, "of": drift.side, "type": name, "previous": before, "current": now}

    for name in sorted(drift.new, key=lambda n: (-drift.frequencies[n], n)):
        yield row("new", name, "", drift.frequencies[name])
    for name, (before, now) in sorted(drift.delta.items(), key=lambda d: (-abs(d[1][1] - d[1][0]), d[0])):
        yield row("moved", name, before, now)
    for name in drift.unused:
        yield row("unused", name, "", 0)


def _folded(name: str) -> str:
    """Return the letters and digits in lower case: ``Works at`` and ``WORKS_AT`` are spellings of one name."""
    return "".join(c for c in name.casefold() if c.isalnum())
