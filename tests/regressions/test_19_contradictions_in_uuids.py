"""Line 19: the contradictions page showed only UUIDs.

Who opened the audit's page was told that row 3f0c… and row 9a1b… state different numbers, and had to look both up to know what about.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from slowwave.dagster.events import report_metadata
from slowwave.night.run_events import redact_report
from slowwave.operations import AUDITS
from slowwave.plans.report import Report
from tests.operations.audits.test_contradictions import edge, entity, fact
from tests.snapshots import make_inputs, make_snapshot, uid

contradictions = AUDITS["contradictions"]

HOSTILE = "[Approve](http://evil.example) <img src=x> | `"
KEY = "AKIA" + "Q3EGRZ7XJ5KLM2NP"


def report() -> Report:
    """An edge, a fact and a memory, each contradicted; one holds Markdown and one a key."""
    says = (f"Takes 40 tonnes a call. {HOSTILE}", f"Takes 90 tonnes a call. {HOSTILE}")
    snapshot = make_snapshot(
        entities=[entity("mara"), entity("tom")],
        relationships=[edge(f"r{n}", "mara", "SUPPLIES", "tom", text) for n, text in enumerate(says)],
        memory_facts=[
            fact("f1", "Mara", "is paid", "40 euros", f"Mara is paid 40 euros, by the key {KEY}."),
            fact("f2", "Mara", "is paid", "90 euros", f"Mara is paid 90 euros, by the key {KEY}."),
        ],
    )
    return contradictions(make_inputs(snapshot))


def shown(level: Any) -> str:
    metadata = report_metadata(report(), level)
    return str(metadata["report"].value)


def test_both_sides_are_quoted_beside_their_ids() -> None:
    """In the page's Markdown: what each row says, escaped, with reason; its finding names the rows, whole where it is kept."""
    page = shown("none")
    for text in ("Takes 40 tonnes a call.", "Takes 90 tonnes a call.", "Mara SUPPLIES Tom"):
        assert text in page
    for name in ("r0", "r1"):
        assert uid(name)[:8] in page
        assert any(uid(name) in finding.rows for finding in report().findings)
    assert "](http" not in page
    assert not re.search(r"(?<!\\)<img", page)


def test_no_secret_is_quoted() -> None:
    """A page is kept longer than the row; and findings, which the ledger keeps, quote nothing."""
    assert any("Mara is paid" in str(row.values()) for row in report().table)
    assert KEY not in shown("none")
    assert not any("tonnes" in str(f) or "euros" in str(f) for f in report().findings)


@pytest.mark.parametrize("level", ["summary", "all"])
def test_redaction_holds(level: Any) -> None:
    """`summary` shortens, `all` hides every word of memory and keeps the rows' names."""
    page = shown(level)
    assert uid("r0")[:8] in page
    assert ("Takes 40 tonnes" in page) == (level == "summary")
    cells = [str(v) for row in redact_report(report(), level).table for v in row.values()]
    assert max(len(cell) for cell in cells) <= 201
    if level == "all":
        assert not re.search(r"tonnes|SUPPLIES|euros", page)
