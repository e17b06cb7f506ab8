"""What a canonical page tells: the statements of each section, their times, their claims, and nothing that it may not tell."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from slowwave.sources.profile import profile
from slowwave.wiki.pages.subject_page import (
    CONTRADICTIONS,
    KINDS,
    MOST,
    SECTIONS,
    EvidencePlace,
    ProseWords,
    SubjectStatement,
    claim_link,
    subject_page,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PROJECT = "projects/rowan/state.md"


def day(month: int, number: int = 1) -> datetime:
    return datetime(2026, month, number, tzinfo=UTC)


def said(
    name: str, text: str, kind: str = "fact", month: int = 1, until: datetime | None = None, **more: object
) -> SubjectStatement:
    statement = SubjectStatement(name * 8 + "-0000-4000-8000-000000000000", kind, text, day(month), until, day(month))
    return replace(statement, **more)  # type: ignore[arg-type]


def test_dory_statements_stand_in_the_sections_of_their_kind() -> None:
    """A project's notes are open work, its decisions key decisions; one statement is plain, several are bullets, the newest first."""
    page = subject_page(
        PROJECT,
        "project",
        [
            said("a", "It is late.", "state"),
            said("b", "Ship it.", "note", 2),
            said("c", "Use tea.", "decision", 3),
            said("d", "Blue.", month=4),
        ],
        {},
        NOW,
    )
    links = {name: claim_link(name * 8 + "-0000-4000-8000-000000000000") for name in "abcd"}
    assert page.contents["Open Work"] == f"Ship it. {links['b']}"
    assert page.contents["Key Decisions"] == f"Use tea. {links['c']}"
    assert page.contents["Current State"] == f"- Blue. {links['d']}\n- It is late. {links['a']}"
    assert page.contents["Summary"].count("- ") == 4
    assert page.contents["Timeline"].splitlines()[:2] == [
        f"- 2026-01-01: State: It is late. {links['a']}",
        f"- 2026-02-01: Note: Ship it. {links['b']}",
    ]
    assert len(page.claims) == 4


@pytest.mark.parametrize("place", SECTIONS)
def test_dory_every_kind_has_a_section_of_the_profile_on_every_page(place: str) -> None:
    """So that nothing that is said of a subject is left out of its page."""
    family = "core" if "/" in place else place
    path = place if "/" in place else {"project": PROJECT}.get(place, f"{place}/rowan.md")
    sections = profile("dory").sections_of(path, family)
    assert set(SECTIONS[place]) <= set(sections)
    for kind in KINDS:
        page = subject_page(path, family, [said("a", "Tea.", kind)], {}, NOW)
        assert any(page.contents.get(heading, "").startswith("Tea.") for heading in SECTIONS[place]), kind
        assert set(page.contents) <= {*sections, CONTRADICTIONS}


def test_dory_what_has_ended_stands_in_the_timeline_alone_with_when_it_was_so_and_when_it_was_said() -> None:
    """Until it ends it stands where it stood."""
    old = said("a", "Mara lives in Oslo.", until=day(3), said_at=day(5))
    page = subject_page("people/mara.md", "person", [old, said("b", "Mara lives in Bergen.", month=3)], {}, NOW)
    assert "Oslo" not in page.contents["Current Facts"] + page.contents["Summary"]
    assert (
        page.contents["Timeline"]
        .splitlines()[0]
        .startswith("- 2026-01-01 to 2026-03-01: Mara lives in Oslo. (said 2026-05-01) [aaaaaaaa]")
    )
    then = subject_page("people/mara.md", "person", [old], {}, day(2))
    assert then.contents["Current Facts"].startswith("Mara lives in Oslo. [aaaaaaaa]")


def test_dory_statements_that_differ_in_case_alone_stand_once_with_the_claims_of_all() -> None:
    """As do those that differ in the mark at their end."""
    page = subject_page(PROJECT, "project", [said("a", "Use tea"), said("b", "USE TEA!", month=2)], {}, NOW)
    assert page.contents["Current State"].startswith("USE TEA! [bbbbbbbb]")
    assert page.contents["Current State"].count("claim:") == 2
    assert "\n" not in page.contents["Current State"]


def test_what_stands_on_the_page_is_left_out_and_so_is_evidence_that_it_names() -> None:
    """A line of the timeline only where the timeline has it; both sides of a contradiction are shown as ever."""
    claims = [said("a", "Tea.", documents=("one",)), said("b", "Cake.", month=2, documents=("two",))]
    places = {"one": EvidencePlace("notes/tea.md"), "two": EvidencePlace("notes/cake.md")}
    body = "Tea.\n\n## Timeline\n\n- 2026-01-01: Tea. (`notes/tea.md`)\n"
    page = subject_page(PROJECT, "project", claims, places, NOW, own=ProseWords.from_body(body))
    assert set(page.contents) == {"Summary", "Current State", "Timeline", "Evidence"}
    assert not any("Tea." in content or "tea.md" in content for content in page.contents.values())
    assert subject_page(PROJECT, "project", claims[:1], places, NOW, own=ProseWords.from_body(body)).contents == {}
    undated = subject_page(PROJECT, "project", claims, places, NOW, own=ProseWords.from_body("Tea."))
    assert "Tea." in undated.contents["Timeline"]
    sides = [replace(claims[0], against=(claims[1].id,)), replace(claims[1], against=(claims[0].id,))]
    both = subject_page(PROJECT, "project", sides, places, NOW, own=ProseWords.from_body("Tea. Cake."))
    assert set(both.contents) == {CONTRADICTIONS, "Timeline", "Evidence"}


def test_both_sides_of_a_contradiction_are_shown_as_such() -> None:
    """Where they stand, and together in a section of their own; of a side that has ended nothing is left."""
    a = said("a", "It takes 40 days.", against=("b" * 8 + "-0000-4000-8000-000000000000",))
    b = said("b", "It takes 50 days.", month=2, against=("a" * 8 + "-0000-4000-8000-000000000000",))
    page = subject_page(PROJECT, "project", [a, b], {}, NOW)
    assert page.contents["Current State"].count("(contradicted, see below)") == 2
    assert page.contents[CONTRADICTIONS].count("claim:") == 2
    assert page.contents[CONTRADICTIONS].index("40 days") < page.contents[CONTRADICTIONS].index("50 days")
    later = subject_page(PROJECT, "project", [replace(a, until=day(3)), b], {}, NOW)
    assert CONTRADICTIONS not in later.contents
    assert "contradicted" not in later.contents["Current State"]


def test_what_is_doubtful_is_told_with_its_confidence() -> None:
    """Below a half; whoever said it surely is not told so."""
    page = subject_page(PROJECT, "project", [said("a", "It leaks.", confidence=0.41), said("b", "It sails.")], {}, NOW)
    assert "It leaks. (confidence 0.41) [" in page.contents["Current State"]
    assert "It sails. [" in page.contents["Current State"]


def test_a_section_has_sixty_statements_and_counts_the_others() -> None:
    """The newest stand; the summary has five and counts nothing."""
    many = [
        said(f"{n % 10}", f"Matter {n}.", id=f"{n:08d}-0000-4000-8000-000000000000", since=day(1, n // 4 + 1))
        for n in range(70)
    ]
    page = subject_page(PROJECT, "project", many, {}, NOW)
    lines = page.contents["Current State"].splitlines()
    assert (len(lines), lines[-1]) == (MOST + 1, "- _10 more are known._")
    assert ("Matter 69." in lines[0], "Matter 9." in page.contents["Current State"]) == (True, False)
    assert page.contents["Summary"].count("\n") == 4


def test_a_long_statement_is_cut() -> None:
    """A page is read, and the claim says the rest."""
    page = subject_page(PROJECT, "project", [said("a", "It is a long pier. " * 200)], {}, NOW)
    assert all(len(line) < 750 for content in page.contents.values() for line in content.splitlines())


def test_a_page_of_another_corpus_is_named_and_not_linked() -> None:
    """A link could not lead there."""
    one = said("a", "It sails.", documents=("x",))
    for beside, shown in ((True, "](../../notes/x.md)"), (False, "`notes/x.md`")):
        page = subject_page(PROJECT, "project", [one], {"x": EvidencePlace("notes/x.md", beside=beside)}, NOW)
        assert page.contents["Evidence"].endswith(shown)


def test_a_public_page_tells_public_claims_alone_and_an_unmarked_one_nothing_sensitive() -> None:
    """A page that says of itself that it is private or sensitive tells all."""
    claims = [
        said("a", "Tea."),
        said("b", "Public tea.", visibility="public"),
        said("c", "Asthma.", sensitivity="health"),
        said("d", "Public asthma.", visibility="public", sensitivity="health"),
    ]

    def told(**page: str) -> int:
        found = subject_page("people/mara.md", "person", claims, {}, NOW, **page)
        assert len(found.claims) + len(found.left_out) == 4
        return sum(claim_link(c.id) in "".join(found.contents.values()) for c in claims)

    assert (told(visibility="public"), told(), told(visibility="private"), told(sensitivity="health")) == (1, 2, 4, 4)


def test_evidence_is_named_where_a_link_leads_to_it_and_where_none_does() -> None:
    """Pages beside it by relative links, others by their paths, sessions by their names; each once."""
    claims = [
        said("a", "Tea.", documents=("one", "two", "gone")),
        said("b", "Cake.", month=2, documents=("one",)),
        said("c", "Milk.", month=3, session_id="s`1"),
    ]
    places = {"one": EvidencePlace("people/al`ex.md"), "two": EvidencePlace("notes/tea.md", beside=True)}
    page = subject_page(PROJECT, "project", claims, places, NOW)
    assert page.contents["Evidence"].splitlines() == [
        "- `people/al'ex.md`",
        "- [notes/tea.md](../../notes/tea.md)",
        "- session `s'1`",
    ]
    assert "(`people/al'ex.md`)" in page.contents["Timeline"]


def test_statements_are_words_whatever_they_hold() -> None:
    """No heading, link, HTML or mark of a block comes out of a claim, and no section grows without end."""
    hostile = "# x\n<!-- slowwave:end -->\n[a](http://b) <script>`"
    page = subject_page(PROJECT, "project", [said("a", hostile)], {}, NOW)
    text = "\n".join(page.contents.values())
    assert "<!--" not in text.replace(r"\<!--", "")
    assert not any(line.startswith("#") for line in text.splitlines())
    many = [replace(said("a", f"Tea {n}."), id=f"{n:08d}-0000-4000-8000-000000000000") for n in range(300)]
    page = subject_page(PROJECT, "project", many, {}, NOW)
    assert page.contents["Current State"].endswith("- _240 more are known._")
    assert page.contents["Timeline"].startswith("- _180 earlier entries are known._")
    assert "more are known" not in page.contents["Summary"]
