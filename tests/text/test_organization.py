"""Organization reports by mnemo's grammar, with its golden values (systems.md 5.1)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from slowwave.text.turns import HEADING, OrganizationReport, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## ORGANIZATION REPORT\nConsolidated: 4\nremoved = 1\nRe-indexed:9", (4, 1, 9)),
        ("## Organization Report", (0, 0, 0)),
        ("# Organization Report\nconsolidated: 4", None),
        ("### Organization Report\nconsolidated: 4", None),
        ("Organization Report\nconsolidated: 4", None),
        ("I read the ## Organization Report, consolidated: 4", None),
        ("## Organization Reporters\nconsolidated: 4", None),
        ("consolidated: 4", None),
        ("", None),
        ("consolidated: 4\r\n## organization report\r\nremoved: 2 and re_indexed=3, re indexed: 7", (0, 2, 3)),
        (
            "## Organization Report\nreindexed : 5\n## Other\nconsolidated=1\n## Organization Report\nremoved: 8",
            (1, 8, 5),
        ),
        ("## Organization Report\nunconsolidated: 4 consolidatedly: 3 consolidated 2 consolidated: x", (0, 0, 0)),
        ("## Organization Report\nconsolidated: 6\nconsolidated: 7", (6, 0, 0)),
        ("## Organization Report\nconsolidated: 18446744073709551615 removed: 18446744073709551616", (2**64 - 1, 0, 0)),
        ("## Organization Report\nconsolidated: " + "9" * 5000 + " removed: " + "0" * 5000 + "3", (0, 3, 0)),
    ],
)
def test_the_grammar(text: str, expected: tuple[int, int, int] | None) -> None:
    """First heading, first number of each key, any order, any line; nothing in it can crash or count twice."""
    assert parse(text) == (None if expected is None else OrganizationReport(*expected))


def test_arrow_finds_the_same_headings() -> None:
    """The planner asks Arrow for candidates: what it leaves out is never parsed."""
    texts = [
        "x\n  ##\tOrganization   report\n",
        "###Organization Report",
        "## organization reports",
        "a\n## ORGANIZATION REPORT: x",
    ]
    found = pc.match_substring_regex(pa.array(texts, pa.large_string()), HEADING).to_pylist()
    assert found == [parse(text) is not None for text in texts] == [True, False, False, True]
