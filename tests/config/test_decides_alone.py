"""Which rules decide without a question."""

from __future__ import annotations

import pytest

from slowwave.config.decides_alone import PATTERNS, Change, Pattern, decides_alone, lower_bound, why_asked


@pytest.mark.parametrize(
    ("change", "decisions", "errors", "alone"),
    [
        ("meaning", 381, 0, True),
        ("meaning", 380, 0, False),
        ("meaning", 381, 1, False),
        ("merge", 125, 0, True),
        ("merge", 124, 0, False),
        ("date", 300, 3, True),
        ("mechanical", 0, 0, True),
        ("meaning", 0, 0, False),
    ],
)
def test_pattern_decides_alone_when_its_lower_bound_suffices(
    change: Change, decisions: int, errors: int, alone: bool
) -> None:
    assert Pattern("any", "pattern", change, decisions, errors).decides_alone is alone


def test_lower_bound_without_decisions_is_zero() -> None:
    assert lower_bound(0, 0) == 0.0
    assert lower_bound(10, 10) < 0.01


def test_undeclared_pattern_asks_and_gives_its_reason() -> None:
    assert not decides_alone("resolve_conflicts", "no such pattern")
    assert "not measured" in why_asked("resolve_conflicts", "no such pattern")


def test_patterns_have_unique_names_and_name_their_data() -> None:
    assert len({(p.operation, p.name) for p in PATTERNS}) == len(PATTERNS)
    assert all(p.data for p in PATTERNS if p.decisions)


def test_mechanical_patterns_decide_alone() -> None:
    mechanical = [p for p in PATTERNS if p.change == "mechanical"]
    assert mechanical
    assert all(decides_alone(p.operation, p.name) and not why_asked(p.operation, p.name) for p in mechanical)
