"""Statements become claims: what is said twice is one, an update ends the one before it, and contradictions are decided."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from slowwave.wiki.migration.claim_policy import MigratedClaim, RecordedClaim, SubjectPlan, subject_plan
from slowwave.wiki.migration.pages import classified_page
from slowwave.wiki.migration.subjects import MigratedSubjects, migrated_subjects
from tests.wiki.migration.folders import page, staged

JANUARY, MARCH, MAY = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 3, 5))


def planned(root: Path, files: dict[str, str], *known: RecordedClaim) -> SubjectPlan:
    pages = [classified_page(found) for found in staged(root, files).pages]
    (subject,) = migrated_subjects(pages, MigratedSubjects())
    return subject_plan(subject, known)


def told(claim: MigratedClaim) -> tuple[str, str, str, str | None]:
    return claim.kind, claim.statement, f"{claim.since:%m}", claim.until and f"{claim.until:%m}"


def rowan(month: int, body: str) -> str:
    return page("project", "Rowan", body, updated=f"2026-{month:02}-01")


def test_dory_an_update_replaces_the_state_before_it_and_what_comes_back_is_another(tmp_path: Path) -> None:
    """Statements of one update stand together; each update ends where the next begins."""
    plan = planned(
        tmp_path,
        {
            "a/projects/rowan.md": rowan(1, "The yard is open.\n\n- The crane works."),
            "b/projects/rowan.md": rowan(3, "The yard is closed."),
            "c/projects/rowan.md": rowan(5, "The yard is open."),
        },
    )
    assert [told(claim) for claim in plan.claims] == [
        ("state", "The yard is open.", "01", "03"),
        ("state", "The crane works.", "01", "03"),
        ("state", "The yard is closed.", "03", "05"),
        ("state", "The yard is open.", "05", None),
    ]
    assert [claim.ended_by for claim in plan.claims] == ["The yard is closed."] * 2 + ["The yard is open.", ""]


def test_a_state_on_record_is_ended_by_a_newer_one_and_ends_an_older_one(tmp_path: Path) -> None:
    """Whenever they were said."""
    known = RecordedClaim("k", "state", "The yard is half open.", MARCH, stands=True)
    files = {
        "a/projects/rowan.md": rowan(1, "The yard is open."),
        "b/projects/rowan.md": rowan(5, "The yard is closed."),
    }
    first, second = planned(tmp_path, files, known).claims
    assert (told(first), first.closes, first.ended_by) == (("state", "The yard is open.", "01", "03"), (), "k")
    assert (told(second), second.closes) == (("state", "The yard is closed.", "05", None), ("k",))


def test_what_is_said_twice_is_one_claim_with_two_sources(tmp_path: Path) -> None:
    """Whatever its case, marks and stops; the best placed evidence comes first, the earliest day counts."""
    files = {
        "notes/rowan.md": rowan(1, "## Goals\n\n- launch the heron"),
        "projects/rowan.md": rowan(3, "## Goals\n\n- Launch the **Heron**!"),
    }
    (claim,) = planned(tmp_path, files).claims
    assert told(claim) == ("note", "Launch the Heron!", "01", None)
    assert [said.page.page.source for said in claim.sources] == ["projects/rowan.md", "notes/rowan.md"]


def test_dory_what_is_on_record_is_not_said_again(tmp_path: Path) -> None:
    """Not what was migrated, not what was forgotten; of what stands from elsewhere it is evidence, once."""
    files = {"people/mara.md": page("person", "Mara", "Mara sails boats.", updated="2026-03-01")}
    plan = planned(tmp_path, files, RecordedClaim("k", "fact", "mara sails boats", JANUARY, stands=True))
    assert [(claim.supports, claim.closes) for claim in plan.claims] == [("k", ())]
    for known in (
        RecordedClaim("k", "fact", "Mara sails boats", JANUARY, True, ("sources/imported/x/claims/y.md",)),
        RecordedClaim("k", "fact", "Mara sails boats", JANUARY, stands=False),
    ):
        plan = planned(tmp_path, files, known)
        assert (plan.claims, plan.known) == ((), 1)


def test_dory_of_two_that_contradict_each_other_the_better_placed_is_believed(tmp_path: Path) -> None:
    """Then the newer; only one can hold: the loser is history where it is older, a conflict where it is not."""
    older = page("person", "Mara", "Mara lives in Lisbon.", updated="2026-01-01")
    newer = page("person", "Mara", "Mara lives in Oslo.", updated="2026-03-01")
    plan = planned(tmp_path / "1", {"a/people/mara.md": older, "b/people/mara.md": newer})
    assert [told(claim) for claim in plan.claims] == [
        ("fact", "Mara lives in Lisbon.", "01", "03"),
        ("fact", "Mara lives in Oslo.", "03", None),
    ]
    assert [claim.ended_by for claim in plan.claims] == ["Mara lives in Oslo.", ""]
    assert [tuple(one) for one in plan.contradictions] == [("Mara lives in Oslo.", "Mara lives in Lisbon.", "history")]
    plan = planned(tmp_path / "2", {"people/mara.md": older, "research/mara.md": newer})
    assert [told(claim)[3] for claim in plan.claims] == [None, None]
    assert [tuple(one) for one in plan.contradictions] == [("Mara lives in Lisbon.", "Mara lives in Oslo.", "conflict")]


def test_a_claim_on_record_is_ended_by_a_newer_one_that_contradicts_it(tmp_path: Path) -> None:
    """And an older one takes its place in history before it."""
    known = RecordedClaim("k", "fact", "Mara lives in Lisbon.", MARCH, stands=True)
    (claim,) = planned(
        tmp_path, {"people/mara.md": page("person", "Mara", "Mara lives in Oslo.", updated="2026-05-01")}, known
    ).claims
    assert (claim.closes, claim.until, claim.since) == (("k",), None, MAY)
    (claim,) = planned(
        tmp_path, {"people/mara.md": page("person", "Mara", "Mara lives in Oslo.", updated="2026-01-01")}, known
    ).claims
    assert (claim.closes, claim.until, claim.ended_by) == ((), MARCH, "k")
