"""What answers teach is offered with how right it was, and counts what a person answered one by one."""

from __future__ import annotations

import pytest

from slowwave.errors import Refused
from slowwave.plans.policies import Policy, read_policies
from slowwave.plans.review.drafts import NewDraft, read_drafts, save_drafts
from slowwave.plans.review.rules import ENOUGH, LearntRule, accept_rule, learnt_rules, wilson
from slowwave.store.connect import Store
from tests.plans.review.reviews import Review, asking_of_a_kind

TEN = 10
"""Answers, of which the bound is .722 and the limit 3."""


def answer(review: Review, items: list[str], verdict: str = "yes", by: str = "mara") -> None:
    """One by one, as a person does."""
    for item in items:
        save_drafts(review.store, review.slug, review.hash, [NewDraft(item, verdict)], reviewer=by)  # type: ignore[arg-type]


def rules(review: Review, policies: list[Policy] | None = None) -> list[LearntRule]:
    return learnt_rules(review.stored(), read_drafts(review.store, review.slug, review.hash), policies or [])


def likeliest(review: Review) -> list[str]:
    return [s.id for s in sorted(review.stored().items, key=lambda s: -s.probability)]


def test_enough_alike_make_a_rule_with_its_bound_and_a_limit(store: Store) -> None:
    """Fewer do not; the open ones that are less likely than any answered are not of it; what is accepted is offered no more."""
    review = asking_of_a_kind(store, 14)
    items = likeliest(review)
    answer(review, items[2 : ENOUGH + 1])
    assert rules(review) == []
    answer(review, items[ENOUGH + 1 : ENOUGH + 2])
    (least,) = rules(review)
    assert (least.answered, least.per_night, least.open) == (ENOUGH, 2, tuple(items[:2]))
    answer(review, items[ENOUGH + 2 : TEN + 2])
    (rule,) = rules(review)
    assert (rule.answered, rule.agreed, rule.open) == (TEN, TEN, tuple(items[:2]))
    assert (round(rule.bound, 3), rule.per_night) == (0.722, 3)
    assert "10 of 10 answered yes (at least 72.2 %" in rule.sentence()
    policy = accept_rule(store, review.stored(), rule.key, accepted_by="mara")
    assert (policy.per_night, policy.accepted_by, policy.stands, policy.least) == (3, "mara", True, rule.least)
    with store.connect("reader") as connection:
        assert rules(review, read_policies(connection, review.slug)) == []
    with pytest.raises(Refused, match="already"):
        accept_rule(store, review.stored(), rule.key, accepted_by="otto")


def test_what_was_answered_at_once_or_by_two_that_disagree_bears_nothing_out(store: Store) -> None:
    """An answer to many, what looked decided, one no in ten: no rule of these."""
    review = asking_of_a_kind(store, 14)
    items = likeliest(review)
    at_once = [NewDraft(item, "yes") for item in items[:TEN]]
    save_drafts(store, review.slug, review.hash, at_once, reviewer="mara")
    assert rules(review) == []
    for item in items[:TEN]:
        note = "As 4 like it were answered: the same evidence speaks"
        save_drafts(store, review.slug, review.hash, [NewDraft(item, "yes", note)], reviewer="mara")
    assert rules(review) == []
    answer(review, items[:TEN])
    (rule,) = rules(review)
    answer(review, items[:1], "no", by="otto")
    assert [found.answered for found in rules(review)] == [TEN - 1], "what reviewers disagree on does not count"
    answer(review, items[:1], "no")
    assert rules(review) == []
    with pytest.raises(Refused, match="do not bear"):
        accept_rule(store, review.stored(), rule.key, accepted_by="mara")


def test_a_rule_of_no_reaches_up_to_the_likeliest_no(store: Store) -> None:
    """What is likelier is not of it; with one yes above them a rule of each verdict, and each is accepted by itself."""
    review = asking_of_a_kind(store, 14)
    items = likeliest(review)[::-1]
    answer(review, items[2 : ENOUGH + 2], "no")
    (rule,) = rules(review)
    assert (rule.verdict, rule.answered, rule.agreed, rule.open) == ("no", ENOUGH, ENOUGH, tuple(items[:2]))
    found = {s.id: s.probability for s in review.stored().items}
    assert (rule.least, rule.most) == (0, found[items[ENOUGH + 1]])
    assert "5 of 5 answered no (at least 56.6 % are" in rule.sentence()
    answer(review, items[-ENOUGH:])
    assert {(r.verdict, r.agreed) for r in rules(review)} == {("no", ENOUGH), ("yes", ENOUGH)}
    policy = accept_rule(store, review.stored(), rule.key, accepted_by="mara")
    assert (policy.verdict, policy.least, policy.most, policy.per_night) == ("no", 0, rule.most, 2)
    with store.connect("reader") as connection:
        (other,) = rules(review, read_policies(connection, review.slug))
    assert other.verdict == "yes"
    assert accept_rule(store, review.stored(), other.key, accepted_by="mara").verdict == "yes"


@pytest.mark.parametrize(
    ("agreed", "answered", "bound"), [(0, 0, 0.0), (10, 10, 0.7225), (41, 41, 0.9143), (45, 50, 0.7864)]
)
def test_the_bound_is_that_of_wilson(agreed: int, answered: int, bound: float) -> None:
    """Against values computed by statsmodels' proportion_confint(method='wilson')."""
    assert wilson(agreed, answered) == pytest.approx(bound, abs=1e-4)
