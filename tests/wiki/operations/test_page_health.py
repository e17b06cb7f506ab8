"""Page health: each list by a page that is on it and one that is not."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from slowwave.operations import AUDITS
from slowwave.plans.report import Report
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid
from tests.wiki.claims.test_canonical_pages import PAGES, THREE, document, drafted, world
from tests.wiki.pages.test_subject_statements import claim

page_health = AUDITS["page_health"]

MISMATCHES = ("claim mismatch", "claim-event mismatch", "claim-evidence mismatch")


def page(path: str, content: str = "", **metadata: Any) -> dict[str, object]:
    row = {"id": uid(path), "corpus_id": uid("corpus"), "plane": "durable", "path": path, "content": content}
    return row | {"metadata": {"status": "active", **metadata}}


def health(*pages: dict[str, object], **options: object) -> Report:
    return page_health(make_inputs(make_snapshot(settings={"operations": {"page_health": options}}, documents=pages)))


def on(report: Report, name: str) -> list[str]:
    """Who is on a list; its number is theirs."""
    found = [one.message.split("”")[0][1:] for one in report.findings if f"({name})" in one.message]
    assert report.numbers[name] == len(found)
    return found


def test_a_canonical_page_is_stale_after_a_month() -> None:
    """By the day that it says, at 03:00 on the first of March; what is no truth of today cannot be stale."""
    report = health(
        page("a.md", canonical=True, updated="2026-01-29"),
        page("b.md", canonical=True, updated="2026-01-30"),
        page("by created.md", canonical=True, created="2025-12-01"),
        page("note.md", canonical=False, updated="2020-01-01"),
        page("done.md", canonical=True, status="done", updated="2020-01-01"),
        page("undated.md", canonical=True),
    )
    assert on(report, "stale") == ["a.md", "by created.md"]
    assert on(health(page("b.md", canonical=True, updated="2026-01-30"), stale_days=29), "stale") == ["b.md"]


def test_what_a_page_doubts_asks_and_contradicts_by_its_own_words() -> None:
    """Sections with a word in them; headings in code and empty sections are none."""
    report = health(
        page("both.md", "# A\n\n## Contradictions\n\n- Two tons, or three.\n\n## Open questions\n\n- Which?\n"),
        page("neither.md", "## Contradictions\n\n## Open Questions\n\n# Log\n\n```\n## Contradictions\n\nx\n```\n"),
        page("low.md", confidence="Low"),
        page("figure.md", confidence="0.4"),
        page("sure.md", confidence="high"),
    )
    assert on(report, "contradictions") == on(report, "open questions") == ["both.md"]
    assert on(report, "low confidence") == ["figure.md", "low.md"]


def test_evidence_and_timeline_are_missing_where_the_profile_asks_for_them_or_they_are_empty() -> None:
    report = health(
        page("asked.md", canonical=True, missing_sections=["Timeline", "Evidence"]),
        page("empty.md", "## Timeline\n\n- 2026-01-01: moved\n\n## Evidence\n", canonical=True),
        page("note.md", "## Evidence\n"),
    )
    assert (on(report, "missing evidence"), on(report, "missing timeline")) == (["asked.md", "empty.md"], ["asked.md"])


def test_a_block_that_was_emptied_says_nothing() -> None:
    """Its marks and those of the timeline are left: the section is empty, as it is where nothing stands."""
    empty = f"<!-- slowwave:begin {{}} hash={'0' * 64} -->\n<!-- slowwave:end -->\n"
    names = ("Contradictions", "Open Questions", "Evidence")
    text = "".join(f"## {name}\n\n{empty.format(name.lower().replace(' ', '-'))}\n" for name in names)
    full = text.replace("<!-- slowwave:end -->", "- Two tons.\n<!-- slowwave:end -->")
    report = health(
        page("empty.md", f"{text}<!-- timeline -->\n## Timeline\n", canonical=True),
        page("full.md", f"{full}## Timeline\n\n- <!-- aside --> 2026-01-01: Said.\n", canonical=True),
    )
    assert (on(report, "contradictions"), on(report, "open questions")) == (["full.md"], ["full.md"])
    assert (on(report, "missing evidence"), on(report, "missing timeline")) == (["empty.md"], ["empty.md"])


def test_a_timeline_that_goes_on_after_the_page_was_brought_up_to_date() -> None:
    """A day that is to come is a plan, and no event."""
    line = "## Timeline\n\n- {}: repaired\n- 2026-09-01: next inspection\n"
    report = health(
        page("later.md", line.format("2026-02-11"), updated="2026-02-10"),
        page("same.md", line.format("2026-02-10"), updated="2026-02-10"),
        page("undated.md", line.format("2026-02-10")),
    )
    assert on(report, "event mismatch") == ["later.md"]


def test_fields_that_exclude_each_other() -> None:
    report = health(
        page("alive.md", superseded_by="new.md"),
        page("lost.md", status="superseded", superseded_by="nowhere.md"),
        page("canonical.md", status="superseded", frontmatter={"canonical": True}),
        page("well.md", status="superseded", superseded_by="new"),
        page("new.md"),
    )
    assert on(report, "state conflict") == ["alive.md", "canonical.md", "lost.md"]


def test_sensitive_words_without_a_class() -> None:
    """In the text, not in the head; what says that it is private or personal is well."""
    words = "Her salary is told to nobody."
    report = health(
        page("bare.md", words),
        page("head.md", "---\nauthor: a@b.example\n---\nNothing.\n"),
        page("private.md", words, visibility="private"),
        page("classed.md", words, sensitivity="financial"),
    )
    assert on(report, "missing privacy metadata") == ["bare.md"]
    assert "financial" in report.findings[0].message


def test_dory_a_page_that_says_something_else_than_the_claims_about_its_subject_is_told() -> None:
    """What is new, what has ended, what a person keeps otherwise in one of our blocks; a page that says what is claimed is on none."""
    ((draft, *_), now) = drafted(world()).drafts, TAKEN_AT
    pages = {draft.path: draft.text}

    def lists(snapshot: Snapshot) -> set[str]:
        return {name for name in MISMATCHES if on(page_health(make_inputs(snapshot)), name)}

    assert lists(world(pages=pages)) == set()
    said = [claim(f"c{n}", valid_from=now - timedelta(days=n), source_document_ids=[uid("said")]) for n in range(4)]
    evidence = {"id": uid("said"), "corpus_id": PAGES["id"], "path": "sources/said.md", "plane": "durable"}
    rows = [document(draft.path, draft.text, PAGES), evidence]
    assert lists(world((*THREE, "Rum at seven."), claims=said, documents=rows)) == set(MISMATCHES)
    ended = [claim(f"c{n}", valid_from=now - timedelta(days=n), valid_to=None if n else now) for n in range(3)]
    assert lists(world(claims=ended, pages=pages)) == {"claim mismatch", "claim-event mismatch"}
    edited = {draft.path: draft.text.replace("Cake at five.", "Cake at nine.", 1)}
    assert lists(world(pages=edited)) == {"claim mismatch"}
    assert lists(world((), pages=pages)) >= {"claim mismatch", "claim-event mismatch"}


def test_sessions_quarantined_pages_and_rows_of_imports_are_left_out() -> None:
    bad = {"content": "## Contradictions\n\nx\n", "confidence": "low"}
    report = health(
        page("session.md", **bad) | {"plane": "sessions"},
        page("hidden.md", **bad, quarantined=True),
        page("gone.md", **bad) | {"invalidated_at": TAKEN_AT},
        page("import.md", **bad) | {"corpus_id": None, "path": None},
    )
    assert (report.findings, report.numbers["pages on a list"]) == ((), 0)


def test_the_worst_come_first_and_json_survives() -> None:
    """Findings by list and path, whatever the order of the rows; the table shows the first ten."""
    pages = [page(f"{n:02}.md", confidence="low", superseded_by="x") for n in range(12)]
    report, turned = health(*pages), health(*reversed(pages))
    assert report.findings == turned.findings
    assert [row["path"] for row in report.table] == [f"{n:02}.md" for n in range(10)]
    assert json.loads(json.dumps(report.details))["low_confidence"] == 12
    assert {one.severity for one in report.findings} == {"info", "warning"}
