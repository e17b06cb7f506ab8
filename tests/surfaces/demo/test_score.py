"""Found against planted: what counts as found, and what as a false alarm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime

from slowwave.changes.cells import Cell, Delete, Insert, Write
from slowwave.changes.mutation import Mutation, Row
from slowwave.plans.items import Item
from slowwave.plans.report import Finding, Report
from slowwave.surfaces.demo import Score, found_against_planted, generate
from slowwave.surfaces.demo.scribe import resolve

DEMO = generate("demo-maple", datetime(2026, 3, 1, tzinfo=UTC))
KEY = DEMO.key
CLASHES = [clash for clash in KEY.contradictions if clash.table != "memories"]
DRIFT = {
    "new_entity_types": list(KEY.schema_drift.new_entity_types),
    "unused_entity_types": list(KEY.schema_drift.unused_entity_types),
    "new_relationship_types": list(KEY.schema_drift.new_relationship_types),
    "unused_relationship_types": list(KEY.schema_drift.unused_relationship_types),
}


def merge(
    ids: Iterable[str], *, operation: str = "dedupe_entities", table: str = "entities", decision: str = "merge"
) -> Item:
    """An item that makes rows one."""
    keep, *absorb = sorted(ids)
    return Item(operation, decision, Mutation("merge_rows", table, keep=Row(keep), absorb=tuple(map(Row, absorb))))


def clean(row: str) -> Item:
    """An item that cleans a row's references."""
    return Item("gc_references", "clean", Mutation("filter_references", "entities", rows=(Row(row),)))


def close(operation: str, table: str, row: str) -> Item:
    """An item that retires a row."""
    write = Write(Cell(table, row, "invalidated_at"), "now", None, None)
    return Item(operation, "invalidate", Mutation("invalidate_rows", table, (write,), rows=(Row(row),)))


def rename(table: str, row: str, new: str) -> Item:
    """An item that gives a row another type."""
    column = {"entities": "entity_type", "relationships": "relationship_type"}[table]
    write = Write(Cell(table, row, column), "set", "old", new)
    return Item("normalize_schema", "rename", Mutation("rename_type", table, (write,), rows=(Row(row),)))


def purge(table: str, row: str) -> Item:
    """An item that deletes a row."""
    return Item(
        "purge_expired", "purge", Mutation("purge_rows", table, rows=(Row(row),), deletes=(Delete(table, row, "", {}),))
    )


def summary(members: int) -> Item:
    """An item that writes the summary of a community."""
    insert = Insert("communities", {"member_ids": tuple(map(str, range(members)))})
    return Item("community_summaries", "summarise", Mutation("insert_summary", "communities", inserts=(insert,)))


def dated(memory: str, phrase: str, said_on: str, value: str = "") -> Item:
    """An item that writes the day of a phrase out, by default the right one."""
    day = value or resolve(phrase, date.fromisoformat(said_on)).isoformat()
    evidence = {"said_on": said_on, "rewrites": [{"phrase": phrase[:1].upper() + phrase[1:], "value": day}]}
    return Item("absolutize_dates", "reword", Mutation("new_version", "memories", rows=(Row(memory),)), evidence)


PERFECT: tuple[Item, ...] = (
    *(merge(group.ids) for group in KEY.duplicates),
    *(clean(dead.row_id) for dead in KEY.dead_references),
    *(close("resolve_conflicts", clash.table, clash.ids[0]) for clash in CLASHES),
    *(merge(group, operation="dedupe_facts", table="memory_facts") for group in KEY.duplicate_facts),
    *(close("supersede_facts", "memory_facts", old) for old, _ in KEY.superseded),
    *(merge(group, operation="dedupe_memories", table="memories") for group in KEY.duplicate_events),
    *(rename(r.table, r.row_id, r.new) for r in KEY.renames if not r.merges_into),
    *(merge((r.row_id, r.merges_into), operation="normalize_schema") for r in KEY.renames if r.merges_into),
    *(close("prune_edges", "relationships", row) for row in KEY.weak_edges),
    *(summary(6) for _ in range(KEY.communities)),
    *(purge(table, row) for table, row in KEY.expired),
    *(dated(d.memory_id, d.phrase, "2026-04-15") for d in KEY.relative_dates),
)
"""The items of a night that finds everything."""

REPORTS = {
    "orphans": Report("orphans", "", findings=tuple(Finding("alone", rows=(row,)) for row in KEY.orphans)),
    "schema_drift": Report("schema_drift", "", details=DRIFT),
    "tombstones": Report(
        "tombstones", "", {"inactive_count": sum(table == "memory_facts" for table, _ in KEY.retired)}
    ),
    "abstention_drift": Report("abstention_drift", "", details={"recommendation": KEY.abstention}),
    "contradictions": Report(
        "contradictions", "", findings=tuple(Finding("clash", rows=clash.ids, severity="warning") for clash in CLASHES)
    ),
    **{
        name: Report(name, "")
        for name in ("resolve_conflicts", "dedupe_facts", "supersede_facts", "dedupe_memories", "normalize_schema")
    },
    **{name: Report(name, "") for name in ("prune_edges", "community_summaries", "purge_expired", "absolutize_dates")},
}


def scores(
    *more: Item, without: Iterable[str] = (), reports: Mapping[str, Report] = REPORTS, **changed: Report
) -> dict[str, Score]:
    """Scores of a perfect night with ``more`` items, ``without`` those of some operations, and with other reports."""
    items = [i for i in PERFECT if i.operation not in set(without)]
    found = found_against_planted(KEY, items=[*items, *more], reports={**reports, **changed})
    return {score.problem: score for score in found}


def test_a_perfect_night_finds_everything_and_merges_no_trap() -> None:
    """All found, no false alarm, and the denominators are those of the key."""
    result = scores()
    assert len(result) == 17
    assert all(score.planted and not score.false for score in result.values())
    assert result["merge traps"].found == 0
    assert result["merge traps"].planted == len(KEY.merge_traps)
    assert [name for name, score in result.items() if score.found != score.planted] == ["merge traps"]


def test_a_phrase_that_is_given_another_day_is_false() -> None:
    """And one that is not looked at is not found."""
    first = KEY.relative_dates[0]
    wrong = dated(first.memory_id, first.phrase, "2026-04-15", "1999-01-01")
    found = scores(wrong, dated("elsewhere", "yesterday", "2026-04-15"), without=["absolutize_dates"])["relative dates"]
    assert (found.planted, found.found, found.false) == (len(KEY.relative_dates), 0, 1)


def test_a_night_that_did_nothing_found_nothing() -> None:
    """Reports that are missing say so."""
    result = scores(without={i.operation for i in PERFECT}, reports={})
    assert all(score.found == 0 for score in result.values())
    assert "did not run" in result["orphans"].note
    off = Report("purge_expired", "Did not run: it is off.", skipped="op_disabled_by_config")
    assert scores(without=["purge_expired"], purge_expired=off)["expired rows"].note == off.headline


def test_a_triple_merged_by_two_pairs_is_found_and_by_one_is_not() -> None:
    """Groups that share a row are one merge; two of three rows are not the whole."""
    triple = next(group.ids for group in KEY.duplicates if len(group.ids) == 3)
    half, rest = {triple[0], triple[1]}, {triple[1], triple[2]}
    alone = {"dedupe_entities"}
    assert scores(merge(half), merge(rest), without=alone)["duplicates"].found == 1
    only = scores(merge(half), without=alone)["duplicates"]
    assert (only.found, only.false) == (0, 0)


def test_a_merged_trap_is_counted_twice_over() -> None:
    """It is a trap sprung, and a merge of no planted group."""
    result = scores(merge(KEY.merge_traps[0].ids), without=["dedupe_entities"])
    assert (result["merge traps"].found, result["merge traps"].false) == (1, 1)
    assert (result["duplicates"].found, result["duplicates"].false) == (0, 1)


def test_two_groups_merged_together_are_found_but_false() -> None:
    """A chain over two things is a false merge although each of them became one row."""
    one, two = KEY.duplicates[0].ids, KEY.duplicates[1].ids
    result = scores(merge({*one, *two}), without=["dedupe_entities"])["duplicates"]
    assert (result.found, result.false) == (2, 1)


def test_pairs_in_review_are_told_apart() -> None:
    """A duplicate that waits for a person is not found, and is named in the note."""
    pair = KEY.duplicates[0].ids[:2]
    result = scores(merge(pair, decision="review"), without=["dedupe_entities"])["duplicates"]
    assert result.found == 0
    assert "1 more wait for review" in result.note


def test_a_merge_cleans_the_references_of_its_members() -> None:
    """Rows that a merge absorbs need no cleaning of their own; cleaning a sound row is a false alarm."""
    merging = {row for group in KEY.duplicates for row in group.ids}
    planted = {dead.row_id for dead in KEY.dead_references}
    cleaned = [clean(row) for row in planted - merging]
    result = scores(*cleaned, without=["gc_references"])["dead references"]
    assert result.found == result.planted
    sound = next(row["id"] for row in DEMO.rows["memories"] if row["id"] not in planted)
    assert scores(clean(sound))["dead references"].false == 1


def test_an_isolated_entity_in_use_is_a_false_orphan() -> None:
    """Recently recalled or often mentioned ones must not be reported; other weak ones are only counted in the note."""
    weak = next(row["id"] for row in DEMO.rows["entities"] if row["id"] not in {*KEY.orphans, *KEY.orphan_traps})
    rows = (*KEY.orphans, KEY.orphan_traps[0], weak)
    result = scores(orphans=Report("orphans", "", findings=(Finding("alone", rows=rows),)))["orphans"]
    assert (result.found, result.false) == (len(KEY.orphans), 1)
    assert "1 weakly connected" in result.note


def test_a_declared_type_reported_as_new_is_false() -> None:
    """Schema drift is compared bucket by bucket."""
    wrong = {**DRIFT, "new_entity_types": ["PERSON", "persn"]}
    result = scores(schema_drift=Report("schema_drift", "", details=wrong))["schema drift"]
    assert (result.planted - result.found, result.false) == (1, 1)


def test_a_fact_merge_is_no_merge_of_entities() -> None:
    """Each table is scored by its own line, and a trap counts in both."""
    trap = next(t for t in KEY.traps_of("duplicate events") if t.kind == "another number")
    result = scores(merge(trap.ids, operation="dedupe_memories", table="memories"))
    assert result["duplicates"].false == 0
    assert result["duplicate events"].false == 1
    assert result["merge traps"].found == 1
    assert "1 traps" in result["duplicate events"].note


def test_a_contradiction_of_nothing_is_false_and_a_superseded_pair_is_not() -> None:
    """What changed contradicts as well; what is only complementary does not."""
    clashes = [Finding("clash", rows=clash.ids, severity="warning") for clash in CLASHES]
    changed = Finding("clash", rows=KEY.superseded[0], severity="warning")
    calm, odd = (Finding("clash", rows=trap.ids, severity="warning") for trap in KEY.traps_of("contradictions")[:2])
    odd = replace(odd, severity="info")
    report = Report("contradictions", "", findings=(*clashes[1:], changed, calm, odd))
    result = scores(contradictions=report)["contradictions"]
    assert (result.planted - result.found, result.false) == (1, 1)
    assert "1 superseded facts besides, 2 traps, 1 doubtful ones" in result.note
    assert f"missed: {CLASHES[0].kind}" in result.note


def test_a_conflict_loses_one_side_only() -> None:
    """To retire both statements of a conflict is a false alarm; the older of what changed may lose as well as be closed."""
    clash = CLASHES[0]
    both = scores(close("resolve_conflicts", clash.table, clash.ids[1]))["conflicts to resolve"]
    assert (both.found, both.false) == (both.planted, 1)
    lost = [close("resolve_conflicts", "memory_facts", old) for old, _ in KEY.superseded]
    assert scores(*lost, without=["supersede_facts"])["superseded facts"].found == len(KEY.superseded)
    standing = KEY.traps_of("superseded facts")[0].ids[0]
    assert scores(close("supersede_facts", "memory_facts", standing))["superseded facts"].false == 1


def test_rows_that_must_stay_are_false_alarms() -> None:
    """A supported edge, a row retired last month, a type without a mapping, a community of four."""
    weak, lately = KEY.traps_of("weak edges")[0].ids[0], KEY.traps_of("expired rows")[0]
    unmapped = KEY.traps_of("drifted types")[0]
    result = scores(
        close("prune_edges", "relationships", weak),
        purge(lately.table, lately.ids[0]),
        rename(unmapped.table, unmapped.ids[0], "OTHER"),
        summary(4),
        tombstones=Report("tombstones", "", {"inactive_count": 9}),
        abstention_drift=Report("abstention_drift", "", details={"recommendation": "raise"}),
    )
    for problem in ("weak edges", "expired rows", "drifted types", "communities", "abstention drift"):
        assert result[problem].false == 1, problem
    assert result["tombstones"].false == 9 - result["tombstones"].planted


def test_a_pruned_row_needs_no_cleaning() -> None:
    """Its dead references leave with it."""
    pruned = set(KEY.weak_edges)
    rest = [clean(dead.row_id) for dead in KEY.dead_references if dead.row_id not in pruned]
    result = scores(*rest, without=["gc_references"])["dead references"]
    assert result.found == result.planted
