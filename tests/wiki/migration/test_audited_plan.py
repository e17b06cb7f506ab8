"""The audit takes out what does not stand in its source, once, and proposes nothing of what fails after that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from slowwave.sources.page_files import page_file
from slowwave.sources.profile import profile
from slowwave.wiki.migration import claim_policy as audited
from slowwave.wiki.migration.claim_policy import MigratedClaim, SubjectPlan, subject_plan
from slowwave.wiki.migration.pages import Level, classified_page
from slowwave.wiki.migration.subjects import MigratedSubjects, Said, migrated_subjects
from slowwave.wiki.pages.subject_page import ProseWords
from tests.wiki.migration.folders import NOW, migrated, page, staged

BODY = "Mara sails boats.\n\n## Goals\n\n- Learn [French](https://example.org).\n\n## Timeline\n\n- 2026-02-03: Mara bought the *Heron*."


def plan_of(root: Path, files: dict[str, str] | None = None) -> SubjectPlan:
    found = staged(root, files or {"people/mara.md": page("person", "Mara", BODY, updated="2026-04-01")})
    (subject,) = migrated_subjects([classified_page(one) for one in found.pages], MigratedSubjects())
    return subject_plan(subject, ())


def test_what_stands_in_its_source_passes_and_gets_its_pages(tmp_path: Path) -> None:
    """The canonical page is one that its profile finds whole, and the evidence names file, line and hash of every statement."""
    plan = plan_of(tmp_path)
    found = audited.audited_plan([plan], "old", {}, NOW)
    assert (found.verdict, found.before, found.findings) == ("pass", "pass", ())
    (subject,) = found.subjects
    assert subject.canonical is not None
    assert subject.canonical.place == "people/mara.md"
    read = page_file(subject.canonical.place, subject.canonical.text.encode(), profile("dory"))
    assert {"canonical": True, "type": "person", "status": "active"}.items() <= read.fields.values.items()
    assert "missing_sections" not in read.fields.values
    assert "- 2026-02-03: Mara bought the Heron. (`sources/imported/old/claims/person-mara-" in subject.canonical.text
    words = ProseWords.from_body(read.text.partition("---\n")[2].partition("---\n")[2])
    assert all(words.says(c.statement) and words.dates(c.statement) for c in subject.plan.claims)
    assert words.names(subject.evidence.place)  # a night has nothing to add to it
    sha = plan.claims[0].sources[0].page.page.sha256[:12]
    assert f"Mara sails boats. (`people/mara.md` line 7, sha256 {sha})" in subject.evidence.text
    assert audited.audited_plan([plan], "old", {"people/mara.md": "x"}, NOW).subjects[0].canonical is None


def test_dory_a_statement_that_nobody_made_is_taken_out_once(tmp_path: Path) -> None:
    """A model's statement without its words, one that is not sure, one of a day to come; the others stay."""
    plan = plan_of(tmp_path)
    first = plan.claims[-1]
    said = first.sources[0]

    def other(text: str, **more: object) -> Said:
        return Said(said.page, replace(said.atom, text=text, quote=text, by="model", **more))  # type: ignore[arg-type]

    bad = (
        replace(first, statement="Mara owns a bank.", sources=(other("Mara owns a bank."),)),
        replace(first, level="low"),
        replace(first, since=NOW.replace(year=2030)),
    )
    found = audited.audited_plan([replace(plan, claims=(*plan.claims, *bad))], "old", {}, NOW)
    assert (found.before, found.verdict) == ("fail", "pass")
    assert len(found.repaired) == 3
    assert found.subjects[0].plan.claims == plan.claims
    assert "bank" not in found.subjects[0].evidence.text
    gone = audited.audited_plan([replace(plan, claims=bad)], "old", {}, NOW)
    assert (gone.subjects, gone.dropped) == ((), ("person:mara",))


def test_what_a_statement_taken_out_would_have_ended_goes_on_to_the_next(tmp_path: Path) -> None:
    """Or for good, where there is none; with another statement of that day it ends there all the same."""
    plan = plan_of(tmp_path)
    kind = plan.claims[-1]

    def state(text: str, month: int, until: int = 0, by: str = "", level: Level = "high") -> MigratedClaim:
        ends = NOW.replace(month=until) if until else None
        begins = NOW.replace(month=month, year=2025)
        ends = ends and ends.replace(year=2025)
        return replace(kind, statement=text, since=begins, until=ends, ended_by=by, level=level)

    def kept(*claims: MigratedClaim) -> list[tuple[str, int | None, str]]:
        (subject,) = audited.audited_plan([replace(plan, claims=claims)], "old", {}, NOW).subjects
        return [(c.statement, c.until and c.until.month, c.ended_by) for c in subject.plan.claims]

    first, last = state("A.", 1, 3, "B."), state("C.", 5)
    assert kept(first, state("B.", 3, 5, "C.", "low"), last) == [("A.", 5, "C."), ("C.", None, "")]
    assert kept(first, state("B.", 3, level="low")) == [("A.", None, "")]
    beside = state("D.", 3, 5, "C.")
    assert kept(first, state("B.", 3, 5, "C.", "low"), beside, last)[0] == ("A.", 3, "D.")


def test_a_subject_that_may_be_several_is_not_proposed_and_one_in_doubt_is_for_a_person(tmp_path: Path) -> None:
    """Ambiguity fails as a whole; a medium statement goes to review."""
    plan = plan_of(tmp_path)
    found = audited.audited_plan([replace(plan, subject=replace(plan.subject, may_be=("a", "b")))], "old", {}, NOW)
    assert (found.subjects, found.dropped) == ((), ("person:mara",))
    plan = plan_of(tmp_path / "2", {"people/mara.md": page("project", "Mara", "Mara sails.")})
    found = audited.audited_plan([plan], "old", {}, NOW)
    assert (found.verdict, len(found.subjects)) == ("review", 1)


def test_markup_in_a_statement_is_text_on_its_pages(tmp_path: Path) -> None:
    """It opens no link, no heading, no comment."""
    entry = {
        "family": "person",
        "title": "Mara",
        "summary": "Mara [likes](boat.md) [[tides]] and <b>oak</b>.",
        "facts": ["# Mara said <!-- TIMELINE --> `once`."],
    }
    (subject,) = migrated(tmp_path, {"mara.json": entry}).audited.subjects
    assert subject.canonical is not None
    read = page_file(subject.canonical.place, subject.canonical.text.encode(), profile("dory"))
    assert not read.page.links
    assert [heading.text for heading in read.page.headings] == [
        "Summary", "Current Facts", "Preferences And Working Style", "Goals And Priorities", "Related Decisions And Projects",
        "Timeline", "Evidence",
    ]  # fmt: skip
