"""What active memory tells of what was found: denials first, then worth, within the budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.tokens import count
from slowwave.wiki.recall.active import FoundPage, active_block, active_profiles, chosen, denied

PROFILES = active_profiles()
GENERAL, CODING, PRIVACY = (PROFILES.profiles[name] for name in ("general", "coding", "privacy"))
PAGE = FoundPage("projects/atlas/state.md", "Waits for the keys.", 0.5)


@pytest.mark.parametrize(
    "path",
    ["wiki/a.md", "inbox/a.md", "inbox/quarantine/a.md", "archive/a.md", "digests/daily/a.md", "logs/daily/a.md",
     "sources/semantic/2026/a.md", "people/ana.tombstone.md"],
)  # fmt: skip
def test_dory_some_paths_are_never_told(path: str) -> None:
    """In no profile."""
    assert denied(replace(PAGE, path=path), GENERAL, PROFILES) == "path"


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("status", "raw", "status"),
        ("status", "superseded", "status"),
        ("status", "quarantined", "status"),
        ("superseded_by", "core/user.md", "status"),
        ("source_kind", "generated", "source_kind"),
        ("source_kind", "imported", "source_kind"),
        ("sensitivity", "credentials", "sensitivity"),
    ],
)
def test_dory_some_pages_are_never_told(key: str, value: str, reason: str) -> None:
    """By what their frontmatter says; and pages that hardly match."""
    assert denied(PAGE, GENERAL, PROFILES) == ""
    assert denied(replace(PAGE, metadata={key: value}), GENERAL, PROFILES) == reason
    assert denied(replace(PAGE, confidence="low"), GENERAL, PROFILES) == "confidence"


@pytest.mark.parametrize(
    ("path", "reason"),
    [("People/Mara.md", "profile"), ("PEOPLE/mara.md", "profile"), ("Inbox/a.md", "path"), ("Peoples/a.md", "")],
)
def test_denied_path_in_another_case_is_denied(path: str, reason: str) -> None:
    """A vault has ``People/`` where Dory has ``people/`` (fixes D5)."""
    assert denied(replace(PAGE, path=path), CODING, PROFILES) == reason


def test_chosen_path_in_another_case_keeps_its_weight() -> None:
    """Of equal scores the decision comes first."""
    pages = [replace(PAGE, path="Anything/a.md"), replace(PAGE, path="Decisions/a.md")]
    assert [page.path for page in chosen(pages, GENERAL, PROFILES)] == ["Decisions/a.md", "Anything/a.md"]


def test_dory_a_profile_denies_besides() -> None:
    """Coding tells no people and nothing private; privacy tells no durable page at all."""
    person, private = replace(PAGE, path="people/ana.md"), replace(PAGE, metadata={"visibility": "private"})
    health = replace(PAGE, metadata={"sensitivity": "health"})
    assert [denied(page, GENERAL, PROFILES) for page in (person, private, health)] == ["", "", ""]
    assert [denied(page, CODING, PROFILES) for page in (person, private, health)] == [
        "profile",
        "visibility",
        "sensitivity",
    ]
    assert denied(PAGE, PRIVACY, PROFILES) == "profile"


def test_dory_a_session_is_told_by_its_status() -> None:
    """It lies under logs/ and is of low confidence, as all sessions are; one in quarantine is not told."""
    session = FoundPage("logs/sessions/cli/1.md", "We spoke.", 0.4, plane="sessions", confidence="low")
    assert denied(session, GENERAL, PROFILES) == ""
    assert denied(replace(session, metadata={"status": "quarantined"}), GENERAL, PROFILES) == "status"


def test_a_prior_lifts_no_page_over_one_that_matches_better() -> None:
    """Equal scores are ordered by the path; a tenth of a score outweighs every path."""
    active, other = replace(PAGE, path="core/active.md"), replace(PAGE, path="notes/a.md")
    assert [p.path for p in chosen([other, active], GENERAL, PROFILES)] == ["core/active.md", "notes/a.md"]
    better = replace(other, score=active.score + 0.1)
    assert chosen([active, better], GENERAL, PROFILES)[0] == better


def test_what_is_stale_or_was_found_late_comes_later() -> None:
    """Same path weight, same score: the fresh one, of the first query, at the first place."""
    pages = [
        replace(PAGE, path="notes/stale.md", stale=True),
        replace(PAGE, path="notes/later.md", query=1),
        replace(PAGE, path="notes/second.md", rank=1),
        replace(PAGE, path="notes/first.md"),
    ]
    order = [p.path for p in chosen(pages, GENERAL, PROFILES)]
    assert order == ["notes/first.md", "notes/second.md", "notes/later.md", "notes/stale.md"]


def test_each_plane_has_its_number_and_each_path_one_line() -> None:
    """Six pages and three sessions."""
    pages = [replace(PAGE, path=f"notes/{n}.md") for n in range(9)] * 2
    sessions = [FoundPage(f"logs/sessions/{n}.md", "We spoke.", 0.9, plane="sessions") for n in range(5)]
    told = chosen([*pages, *sessions], GENERAL, PROFILES)
    assert [p.plane for p in told] == ["sessions"] * 3 + ["durable"] * 6
    assert len({p.path for p in told}) == 9


@given(st.lists(st.text(alphabet="aé漢 \n", max_size=400), max_size=9), st.integers(1, 200))
def test_a_budget_is_never_exceeded(texts: list[str], budget: int) -> None:
    """Whatever stands in the pages."""
    block = active_block([replace(PAGE, text=text) for text in texts], budget)
    assert count(block.text) <= budget
    assert len(block.sources) == (block.text.count("\n") + 1 if block.text else 0)


def test_a_long_page_is_cut_and_a_stale_one_says_so() -> None:
    """Three hundred characters of a page; of a session a hundred and sixty."""
    block = active_block([replace(PAGE, text="word " * 100, stale=True)], 1200)
    assert block.text.endswith("… (projects/atlas/state.md) [may be out of date]")
    assert len(block.text) == 2 + 300 + len(" (projects/atlas/state.md) [may be out of date]")
