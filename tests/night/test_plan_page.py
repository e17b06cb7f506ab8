"""What a person reads of a plan first: the verdict and the link fit where the UI shows them without a click, whatever else there is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slowwave.night.plan_page import INLINE, PlanPage
from slowwave.night.runs import Night
from slowwave.plans.report import Report

LINK = "/locations/slowwave/jobs/approve_plan/playground/setup?config=x"

PAGE = PlanPage(
    namespace="acme",
    plan_hash="ab" * 32,
    snapshot_id="20260102T030405Z-1",
    state="awaiting_approval",
    expiry_days=7,
    level="none",
    new_items=1_200,
    carried_items=3,
    decided_items=1_000,
    questions=200,
    counts={"dedupe_entities": {"merge": 1_000, "review": 200}},
    items=[{"item": f"{n}", "change": "Grafana"} for n in range(120)],
    deferred=[{"change": "Mara is merged into Maria", "conflicts with": "“Mara” ends", "item": "late"}],
    explained={},
    reports={"census": Report("census", "7 rows [x](http://evil.example)")},
    proven=("Recall@10 stays.",),
    needs_force=(),
    why_nothing=(),
)


def test_a_plan_that_waits_shows_what_it_holds_and_where_it_is_approved() -> None:
    """The table of operations stands between the verdict and the link."""
    text = PAGE.summary(LINK)
    assert (
        text.index("1,000 items and 200 questions wait for approval")
        < text.index("| 1,000 |")
        < text.index(f"]({LINK})")
        < text.index("ab" * 32)
    )


def test_one_item_waits_and_two_wait() -> None:
    """In the number that fits."""
    one = replace(PAGE, decided_items=1, questions=1, carried_items=0, expiry_days=1).summary(LINK)
    assert "**1 item and 1 question wait for approval**, for 1 day." in one
    assert f"[Approve 1 item, leave 1 question open]({LINK})" in one
    assert "1 review item waits in" in replace(PAGE, state="empty", carried_items=1).summary(LINK)


def test_summary_says_which_approvals_the_plan_supersedes() -> None:
    """After the number of items that were asked before; nothing where none lapses."""
    lapse = Night("acme", lapsed=1).lapse()
    assert f"3 of them were asked before. {lapse}" in replace(PAGE, lapse=lapse).summary(LINK)
    assert lapse.startswith("1 item of an earlier plan had been approved and not applied.")
    assert Night("acme").lapse() == ""


def test_summary_of_a_plan_counts_what_its_link_approves_and_leaves_open() -> None:
    """The link approves decided items alone, and says so; without any there is no link, as it would be refused (F13)."""
    text = PAGE.summary(LINK)
    assert f"[Approve 1,000 items, leave 200 questions open]({LINK})" in text
    assert "3 of them were asked before" in text
    assert f"[Approve 1,000 items]({LINK})" in replace(PAGE, questions=0).summary(LINK)
    only_questions = replace(PAGE, decided_items=0).summary(LINK)
    assert (LINK in only_questions, PAGE.plan_hash in only_questions) == (False, True)
    assert "No item can be approved before its question is answered" in only_questions


def test_rows_of_the_table_go_before_the_link_does() -> None:
    """Forty operations do not fit in a thousand characters."""
    many = replace(PAGE, counts={f"operation_{n}": {"merge": n} for n in range(40)})
    text = many.summary(LINK)
    assert len(text) <= INLINE
    assert f"]({LINK})" in text
    assert "operation\\_0" in text
    assert "operation\\_39" not in text


@pytest.mark.parametrize(
    ("state", "link", "shown"),
    [("partly_approved", True, True), ("approved", False, True), ("empty", False, False)],
)
def test_a_plan_on_which_nothing_is_to_be_decided_has_no_link(state: str, link: bool, shown: bool) -> None:
    """Where the policy approved all of it, its hash is named; where it is empty, the reviews that wait are."""
    text = replace(PAGE, state=state).summary(LINK)
    assert (LINK in text, PAGE.plan_hash in text, "3 review items" in text) == (link, shown, not shown)


def test_a_probe_that_failed_is_quoted_and_a_name_that_breaks_out_of_code_is_left_out() -> None:
    """Both come from outside: the sentence is escaped, the command stands without its argument."""
    hostile = replace(PAGE, needs_force=("Recall [fell](x).", "b", "c"), namespace="a`b", level="all")
    text = hostile.summary(LINK)
    assert "Recall \\[fell\\]\\(x\\). (2 more failed)" in text
    assert "`slowwave plans show` shows them" in text
    assert "`slowwave plans show 'a b'` shows" in replace(hostile, namespace="a b").summary(LINK)


def test_the_report_lists_a_hundred_items_and_says_of_how_many() -> None:
    """Headlines are escaped; an item that is left out names the change it conflicts with; nothing is said to be missing."""
    text = PAGE.markdown()
    assert "(100 of 120; `slowwave plans show acme --json` lists all)" in text
    assert "1 item left for another night" in text
    assert "| Mara is merged into Maria | “Mara” ends | late |" in text
    assert "](http" not in text
    assert "nothing new" not in text
    assert "- census: 7 rows." in replace(PAGE, why_nothing=("census: 7 rows.",)).markdown()
