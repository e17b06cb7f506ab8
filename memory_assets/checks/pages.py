"""Checks of a night's reports about pages: what an audit lists, as a check of the audit that turns green when it is mended."""

from collections.abc import Iterator, Mapping
from typing import Final

import dagster as dg

from slowwave.plans.report import Report

CHECKS: Final = {
    "links_lead_somewhere": (
        "dead_links",
        ("dead",),
        "Every link that somebody wrote means a page, and a heading or block of it.",
    ),
    "pages_agree_with_themselves": (
        "page_health",
        ("state conflict", "contradictions", "event mismatch"),
        "No page has fields that exclude each other, a section of contradictions, or a timeline that goes on after its date.",
    ),
}
"""Check → the audit, those of its numbers that are zero where it holds, and what it asks."""


def page_checks(audit: str) -> list[dg.AssetCheckSpec]:
    """Declare the checks of an audit. The step of the audit evaluates them, because it has read the rows of its partition."""
    return [
        dg.AssetCheckSpec(name, asset=["audit", audit], description=about)
        for name, (of, _, about) in CHECKS.items()
        if of == audit
    ]


def page_results(reports: Mapping[str, Report]) -> Iterator[dg.AssetCheckResult]:
    """Yield the results of the checks for the given reports, by audit."""
    for name, (audit, numbers, _) in CHECKS.items():
        if audit in reports:
            yield _result(name, audit, numbers, reports[audit])


def _result(name: str, audit: str, numbers: tuple[str, ...], report: Report) -> dg.AssetCheckResult:
    found = report.numbers
    return dg.AssetCheckResult(
        asset_key=["audit", audit],
        check_name=name,
        passed=not any(found.get(number, 0) for number in numbers),
        severity=dg.AssetCheckSeverity.WARN,
        description=report.skipped or ", ".join(f"{number}: {found.get(number, 0):,}" for number in numbers),
        metadata={"pages": found.get("pages", 0), **{number: found.get(number, 0) for number in numbers}},
    )
