"""Which rules decide without a question."""

from __future__ import annotations

import pytest

from slowwave.changes.mutation import Mutation
from slowwave.night.night import run_night
from slowwave.night.runs import Night
from slowwave.operations import PLANNERS
from slowwave.plans.items import (
    PATTERNS,
    Change,
    Item,
    Pattern,
    ask_unless_measured,
    decides_alone,
    lower_bound,
    why_asked,
)
from slowwave.plans.permitted import retired
from slowwave.store.connect import Store
from slowwave.surfaces.demo import NAMESPACES
from tests.toy import toy


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


_REWRITES = {"merge_rows", "new_version", "rename_type", "filter_references", "purge_rows"}


def test_planners_that_retire_or_rewrite_rows_have_a_pattern() -> None:
    """A planner whose items pass by the patterns would decide without a measurement."""
    changing = {
        name
        for name, made in PLANNERS.items()
        if made.module.startswith("slowwave.operations.planners.")
        and any(permit.retires != 0 or permit.kind in _REWRITES for permit in made.permits)
    }
    missing = sorted(changing - {pattern.operation for pattern in PATTERNS})
    assert not missing, (
        f"PATTERNS in slowwave/plans/items.py has no pattern of {missing}. Add a line for each kind of change that the planner makes, and "
        "let it pass its items through ask_unless_measured."
    )


def test_mechanical_patterns_decide_alone() -> None:
    mechanical = [p for p in PATTERNS if p.change == "mechanical"]
    assert mechanical
    assert all(decides_alone(p.operation, p.name) and not why_asked(p.operation, p.name) for p in mechanical)


def _changes(item: Item) -> bool:
    """Whether an item retires, ends, rewords, merges or replaces anything; one that only adds rows does not."""
    mutation = item.mutation
    if mutation.kind in ("merge_rows", "new_version", "rename_type", "filter_references", "purge_rows"):
        return True
    if mutation.kind in ("render_page", "write_page"):
        return any(w.cell.column in ("body", "content", "invalidated_at") for w in mutation.writes)
    return bool(retired(item))


def _undeclared(one: Night) -> set[str]:
    """Return the operations that decided a change without a declared pattern that allows it."""
    assert one.plan is not None
    allowed = {p.operation for p in PATTERNS if p.decides_alone}
    return {i.operation for i in one.plan.items if i.decision != "review" and _changes(i)} - allowed


@pytest.mark.parametrize("slug", NAMESPACES)
def test_night_over_the_demo_decides_only_declared_changes(demo: Store, slug: str) -> None:
    one = run_night(demo, slug, force=True, ops="all")
    assert one.plan is not None
    assert sum(_changes(i) for i in one.plan.items) > 100
    assert _undeclared(one) == set()


def test_night_over_every_kind_of_memory_decides_only_declared_changes(store: Store) -> None:
    toy(store)
    assert _undeclared(run_night(store, "toy", force=True, ops="all")) == set()
    alone = run_night(store, "toy", force=True, ops=("consolidate_clusters",))
    assert alone.plan is not None
    assert {i.decision for i in alone.plan.items} == {"review"}


def test_item_of_an_undeclared_pattern_becomes_a_question_with_its_reason() -> None:
    item = Item("decay_transition", "shorten", Mutation("new_version", "memories"), evidence={"text": "short"})
    asked = ask_unless_measured(item, "shorter text")
    assert (asked.decision, asked.risk, asked.evidence["text"]) == ("review", "high", "short")
    assert "90 of 98" in str(asked.evidence["reason"])
    assert asked.subject() == item.subject()
    assert ask_unless_measured(item, "stage with the same text") is item


def test_mechanical_and_chosen_patterns_give_their_reason() -> None:
    assert all(p.data for p in PATTERNS if p.change in ("mechanical", "chosen"))
