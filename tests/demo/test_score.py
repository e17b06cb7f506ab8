"""Found against planted: what counts as found, and what as a false alarm."""

from __future__ import annotations

from datetime import UTC, datetime

from slowwave.demo import Score, found_against_planted, generate
from slowwave.reports.model import Finding, Report

DEMO = generate("demo-maple", datetime(2026, 3, 1, tzinfo=UTC))
KEY = DEMO.key
DRIFT = {
    "new_entity_types": list(KEY.schema_drift.new_entity_types),
    "unused_entity_types": list(KEY.schema_drift.unused_entity_types),
    "new_relationship_types": list(KEY.schema_drift.new_relationship_types),
    "unused_relationship_types": list(KEY.schema_drift.unused_relationship_types),
}


def scores(**changes: object) -> dict[str, Score]:
    """Scores of a perfect night, with some of its results replaced."""
    night: dict[str, object] = {
        "merged_groups": [set(group.ids) for group in KEY.duplicates],
        "review_pairs": [],
        "reports": {
            "orphans": Report("orphans", "", findings=tuple(Finding("alone", rows=(row,)) for row in KEY.orphans)),
            "schema_drift": Report("schema_drift", "", details=DRIFT),
        },
        "gc_rows": {dead.row_id for dead in KEY.dead_references},
        **changes,
    }
    return {score.problem: score for score in found_against_planted(KEY, **night)}  # type: ignore[arg-type]


def test_a_perfect_night_finds_everything_and_merges_no_trap() -> None:
    """All found, no false alarm, and the denominators are those of the key."""
    result = scores()
    assert list(result) == ["duplicates", "merge traps", "dead references", "orphans", "schema drift"]
    assert all(score.planted and not score.false for score in result.values())
    assert result["merge traps"].found == 0
    assert result["merge traps"].planted == len(KEY.merge_traps)
    assert all(score.found == score.planted for name, score in result.items() if name != "merge traps")


def test_a_night_that_did_nothing_found_nothing() -> None:
    """Reports that are missing say so."""
    result = scores(merged_groups=[], reports={}, gc_rows=set())
    assert all(score.found == 0 for score in result.values())
    assert "did not run" in result["orphans"].note


def test_a_triple_merged_by_two_pairs_is_found_and_by_one_is_not() -> None:
    """Groups that share a row are one merge; two of three rows are not the whole."""
    triple = next(group.ids for group in KEY.duplicates if len(group.ids) == 3)
    half, rest = {triple[0], triple[1]}, {triple[1], triple[2]}
    assert scores(merged_groups=[half, rest])["duplicates"].found == 1
    only = scores(merged_groups=[half])["duplicates"]
    assert (only.found, only.false) == (0, 0)


def test_a_merged_trap_is_counted_twice_over() -> None:
    """It is a trap sprung, and a merge of no planted group."""
    result = scores(merged_groups=[set(KEY.merge_traps[0].ids)])
    assert (result["merge traps"].found, result["merge traps"].false) == (1, 1)
    assert (result["duplicates"].found, result["duplicates"].false) == (0, 1)


def test_two_groups_merged_together_are_found_but_false() -> None:
    """A chain over two things is a false merge although each of them became one row."""
    one, two = KEY.duplicates[0].ids, KEY.duplicates[1].ids
    result = scores(merged_groups=[{*one, *two}])["duplicates"]
    assert (result.found, result.false) == (2, 1)


def test_pairs_in_review_are_told_apart() -> None:
    """A duplicate that waits for a person is not found, and is named in the note."""
    pair = KEY.duplicates[0].ids[:2]
    result = scores(merged_groups=[], review_pairs=[pair])["duplicates"]
    assert result.found == 0
    assert "1 more wait for review" in result.note


def test_a_merge_cleans_the_references_of_its_members() -> None:
    """Rows that a merge absorbs need no cleaning of their own; cleaning a sound row is a false alarm."""
    merging = {row for group in KEY.duplicates for row in group.ids}
    planted = {dead.row_id for dead in KEY.dead_references}
    result = scores(gc_rows=planted - merging)["dead references"]
    assert result.found == result.planted
    sound = next(row["id"] for row in DEMO.rows["memories"] if row["id"] not in planted)
    assert scores(gc_rows=planted | {sound})["dead references"].false == 1


def test_an_isolated_entity_in_use_is_a_false_orphan() -> None:
    """Recently recalled or often mentioned ones must not be reported; other weak ones are only counted in the note."""
    weak = next(row["id"] for row in DEMO.rows["entities"] if row["id"] not in {*KEY.orphans, *KEY.orphan_traps})
    rows = (*KEY.orphans, KEY.orphan_traps[0], weak)
    reports = {"orphans": Report("orphans", "", findings=(Finding("alone", rows=rows),))}
    result = scores(reports=reports)["orphans"]
    assert (result.found, result.false) == (len(KEY.orphans), 1)
    assert "1 weakly connected" in result.note


def test_a_declared_type_reported_as_new_is_false() -> None:
    """Schema drift is compared bucket by bucket."""
    wrong = {**DRIFT, "new_entity_types": ["PERSON", "persn"]}
    result = scores(reports={"schema_drift": Report("schema_drift", "", details=wrong)})["schema drift"]
    assert (result.planted - result.found, result.false) == (1, 1)
