"""``relative_dates``: how many memories use "yesterday" and the like, what can be written out, and what cannot and why.

The audit counts the relative dates of active memories by kind of phrase, and those that remain by reason.

Cost: a pass over the texts; Python parses only those with a word of time.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from slowwave.operations import Inputs
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.rows import candidates
from slowwave.text.dates import Rewrite, looked_at
from slowwave.text.foreign_dates import INSTALL, can_find_foreign_dates
from slowwave.text.tokens import counted

_SHOWN: Final = 10
_EXAMPLES: Final = 3
_NAMED: Final = 20


def relative_dates(inputs: Inputs) -> Report:
    """Count memories with relative dates such as "yesterday", by kind, and the dates that cannot be resolved, with the reason."""
    found = candidates(inputs.snapshot, inputs.settings)
    kinds: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}
    resolvable: list[str] = []
    pinned: list[str] = []
    for memory in found.memories:
        phrases = looked_at(memory.text, memory.day, idle=False, language=memory.language)
        written = [p for p in phrases if isinstance(p, Rewrite)]
        reasons.update(p.reason for p in phrases if not isinstance(p, Rewrite))
        if not written:
            continue
        (pinned if memory.pinned else resolvable).append(memory.id)
        kinds.update(p.kind for p in written)
        for p in written:
            seen = examples.setdefault(p.kind, [])
            if len(seen) < _EXAMPLES and (said := f"{p.phrase} → {p.value}") not in seen:
                seen.append(said)
    total = kinds.total()
    numbers = {
        **found.numbers,
        "memories with relative dates": len(resolvable) + len(pinned),
        "of these pinned": len(pinned),
        "relative dates": total,
        **{f"left as they are: {reason}": n for reason, n in sorted(reasons.items())},
    }
    return Report(
        "relative_dates",
        f"{len(resolvable) + len(pinned):,} of {numbers['active memories']:,} active memories hold {total:,} relative dates "
        "that can be written out.",
        numbers=numbers,
        findings=_findings(
            pinned,
            int(numbers["with a time zone that is not known"]),
            0 if can_find_foreign_dates() else sum(memory.language != "" for memory in found.memories),
        ),
        table=tuple(
            {"kind": kind, "phrases": n, "for example": "; ".join(examples[kind])}
            for kind, n in kinds.most_common(_SHOWN)
        ),
        plots=(
            (
                Bars(
                    "Relative dates by kind",
                    [k for k, _ in kinds.most_common(_SHOWN)],
                    [float(n) for _, n in kinds.most_common(_SHOWN)],
                    own=True,
                ),
            )
            if kinds
            else ()
        ),
        details={"kinds": dict(kinds), "left": dict(reasons), "memories": len(resolvable) + len(pinned)},
    )


def _findings(pinned: list[str], zones: int, unread: int) -> tuple[Finding, ...]:
    found: list[Finding] = []
    if unread:
        found.append(
            Finding(
                f"The dates of {counted(unread, 'memory')} in other languages were not read, because the library with their phrases is "
                f"not installed. {INSTALL}.",
                coverage=True,
            )
        )
    if pinned:
        found.append(
            Finding(
                f"{len(pinned):,} pinned memories hold relative dates. Nobody rewords what is pinned: look at them by hand.",
                rows=tuple(pinned[:_NAMED]),
            )
        )
    if zones:
        found.append(
            Finding(
                f"{counted(zones, 'memory names', 'memories name')} an unknown time zone; the dates use the zone of the settings "
                "(SLOWWAVE_DATES_ZONE).",
                severity="warning",
            )
        )
    return tuple(found)
