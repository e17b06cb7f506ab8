"""The morning's page: what needs somebody first, in a minute, and nothing of memory that speaks Markdown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from slowwave.night.status import MOST, NamespaceStatus, ago, ahead, digest

NOW = datetime(2026, 11, 23, 7, tzinfo=UTC)


def one(namespace: str, **more: object) -> NamespaceStatus:
    quiet = {
        "plan_hash": "",
        "state": "",
        "counts": {},
        "to_approve": 0,
        "questions": 0,
        "operations": {},
        "failed": (),
    }
    times = {
        "last_night": NOW - timedelta(hours=4),
        "last_failure": None,
        "last_apply": None,
        "next_night": "unchanged",
    }
    return NamespaceStatus(
        namespace, **{**quiet, "approvals": 0, "half_signed": 0, "conflicts": 0, "run": "", **times, **more}
    )  # type: ignore[arg-type]


ASKS = {"plan_hash": "ab" * 32, "state": "awaiting_approval", "to_approve": 211, "questions": 17}


def test_what_is_wrong_comes_before_what_asks_and_that_before_the_rest() -> None:
    """Each with the command that is next."""
    page = digest(
        [
            one("calm", state="applied", plan_hash="cd" * 32, counts={"applied": 3, "skipped_stale": 1}),
            one("asks", operations={"dedupe_entities merge": 22, "prune_edges prune": 4}, **ASKS),
            one("signed", state="approved", approvals=1),
            one("failed", failed=("Recall@10 fell by 0.2.",), **ASKS),
            one("dead", last_failure=NOW),
        ],
        NOW,
    )
    order = ("## Look at", "**failed**", "**dead**", "## Decide", "**asks**", "**signed**", "## Nothing", "**calm**")
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    said = ("5 namespaces", "422 changes", "34 questions", "22 dedupe entities merge")
    for part in (*said, "`slowwave plans show asks`", "`slowwave apply signed`"):
        assert part in page
    assert "1 of it stale" in page
    assert "`slowwave runs list dead`" in page


def test_a_name_and_a_sentence_of_memory_are_text() -> None:
    """A link, a tag, a line end and a backtick neither show nor break the page."""
    hostile = "x](http://evil.example) <img src=x>\n# Approve `rm`"
    page = digest([one(hostile, **ASKS), one("y", failed=(hostile,), **ASKS)], NOW)
    assert "](http" not in page
    assert "\n# Approve" not in page
    assert "<img" not in page.replace("\\<img", "")
    assert "`rm`" not in page.replace("\\`", "")


def test_many_namespaces_are_a_page_all_the_same() -> None:
    """A minute: some of each section, and how many more."""
    page = digest([one(f"n-{n}", **ASKS) for n in range(500)], NOW)
    assert page.count("- **") == MOST
    assert f"{500 - MOST} more" in page
    assert "no namespace" in digest([], NOW)


@pytest.mark.parametrize(
    ("seconds", "told"), [(5, "5 s"), (150, "2 min"), (7_300, "2 h"), (90_000, "25 h"), (200_000, "2 days")]
)
def test_times_in_one_unit(seconds: int, told: str) -> None:
    """As far as a line needs it."""
    assert ago(NOW - timedelta(seconds=seconds), NOW) == f"{told} ago"
    assert ahead(NOW + timedelta(seconds=seconds), NOW) == f"in {told}"
    assert (ago(None, NOW), ahead("off", NOW)) == ("never", "off")
