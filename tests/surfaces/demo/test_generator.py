"""What a generated demo namespace must be: large enough, the same every night, sound but for what was planted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta

import pytest

from slowwave.errors import Refused
from slowwave.operations.options import AbstentionDriftOptions, NormalizeSchemaOptions
from slowwave.store import tables
from slowwave.store.settings import Settings
from slowwave.surfaces.demo import NAMESPACES, DemoNamespace, generate
from slowwave.surfaces.demo.scribe import resolve

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DEMOS = {slug: generate(slug, NOW) for slug in NAMESPACES}


@pytest.fixture(params=NAMESPACES)
def demo(request: pytest.FixtureRequest) -> DemoNamespace:
    """Each demo namespace in turn."""
    return DEMOS[request.param]


def ids(demo: DemoNamespace, table: str) -> set[str]:
    """Ids of a table's rows."""
    return {row["id"] for row in demo.rows[table]}


def test_a_namespace_has_the_promised_size(demo: DemoNamespace) -> None:
    """Some 300 memories, 150 entities, 650 relationships and sixty days of recall."""
    assert 290 <= len(demo.rows["memories"]) <= 330
    assert 150 <= len(demo.rows["entities"]) <= 175
    assert 640 <= len(demo.rows["relationships"]) <= 670
    assert len(demo.rows["memory_facts"]) >= 90
    assert 150 <= len(demo.rows["recall_events"]) <= 300
    asked = [row["occurred_at"] for row in demo.rows["recall_events"]]
    assert min(asked) >= NOW - timedelta(days=60)
    assert max(asked) - min(asked) > timedelta(days=45)


def test_the_same_day_gives_the_same_namespace_and_another_day_the_same_ids(demo: DemoNamespace) -> None:
    """A demo can be regenerated for its key; only instants and the dates in the key move with the day."""
    assert generate(demo.slug, NOW) == demo
    later = generate(demo.slug, NOW + timedelta(days=17))
    for table in demo.rows:
        assert [row["id"] for row in later.rows[table]] == [row["id"] for row in demo.rows[table]]
    shift = {
        b["recorded_at"] - a["recorded_at"] for a, b in zip(demo.rows["chunks"], later.rows["chunks"], strict=True)
    }
    assert shift == {timedelta(days=17)}


def test_rows_fit_the_tables(demo: DemoNamespace) -> None:
    """Columns exist, required ones are given or have defaults, every row of a table has the same ones, ids are unique."""
    for name, rows in demo.rows.items():
        table = tables.metadata.tables[f"memory.{name}"]
        given = set(rows[0])
        assert all(set(row) == given for row in rows)
        assert given <= {column.name for column in table.columns}
        required = {c.name for c in table.columns if not c.nullable and c.server_default is None}
        assert required <= given
        assert len({row["id"] for row in rows}) == len(rows)
    everything = [row["id"] for rows in demo.rows.values() for row in rows]
    assert len(set(everything)) == len(everything)


def test_every_reference_leads_somewhere_but_the_planted_ones(demo: DemoNamespace) -> None:
    """The key's dead references are all of them: nothing else points at an absent or a retracted chunk."""
    live = {row["id"] for row in demo.rows["chunks"] if row["invalidated_at"] is None}
    dead = {
        (table, row["id"]): {chunk for chunk in row["source_chunk_ids"] if chunk not in live}
        for table in ("entities", "relationships", "memory_facts", "memories")
        for row in demo.rows[table]
    }
    planted = {(item.table, item.row_id): set(item.chunk_ids) for item in demo.key.dead_references}
    assert {key: chunks for key, chunks in dead.items() if chunks} == planted
    retracted = ids(demo, "chunks") - live
    assert retracted & set().union(*planted.values())
    assert set().union(*planted.values()) - ids(demo, "chunks")
    assert len(planted) >= 0.09 * len(dead)

    entities, memories, documents = ids(demo, "entities"), ids(demo, "memories"), ids(demo, "documents")
    recallable = entities | memories | live
    (namespace,) = ids(demo, "namespaces")
    for name, rows in demo.rows.items():
        assert name == "namespaces" or {row["namespace_id"] for row in rows} == {namespace}
    assert {row["document_id"] for row in demo.rows["chunks"]} <= documents
    for name in ("entities", "memories"):
        assert {document for row in demo.rows[name] for document in row["source_document_ids"]} <= documents
    for edge in demo.rows["relationships"]:
        assert {edge["source_entity_id"], edge["target_entity_id"]} <= entities
        assert edge["source_entity_id"] != edge["target_entity_id"]
    assert {row["entity_id"] for row in demo.rows["entity_aliases"]} <= entities
    versions = {row["id"]: row["memory_id"] for row in demo.rows["memory_versions"]}
    assert all(versions[row["current_version_id"]] == row["id"] for row in demo.rows["memories"])
    for event in demo.rows["recall_events"]:
        assert set(event["selected_ids"]) <= set(event["hit_ids"]) <= recallable
        assert len(set(event["hit_ids"])) == len(event["hit_ids"]) == len(event["scores"])
        assert event["scores"] == sorted(event["scores"], reverse=True)


def test_mentions_are_real(demo: DemoNamespace) -> None:
    """An entity's live sources name it, and its count is their number."""
    text = {row["id"]: row["content"].casefold() for row in demo.rows["chunks"] if row["invalidated_at"] is None}
    for entity in demo.rows["entities"]:
        sources = [chunk for chunk in entity["source_chunk_ids"] if chunk in text]
        assert len(sources) == entity["mention_count"] > 0
        assert all(entity["name"].casefold() in text[chunk] for chunk in sources)


def test_nothing_happens_after_now_and_recall_follows_what_it_recalls(demo: DemoNamespace) -> None:
    """The past is past: no instant lies after ``now``, no question is asked before its answer was heard."""
    for rows in demo.rows.values():
        for row in rows:
            assert all(value is None or value <= NOW for value in row.values() if isinstance(value, datetime | None))
    heard = {row["id"]: row["valid_from"] for row in demo.rows["memories"]}
    for event in demo.rows["recall_events"]:
        answer = next(hit for hit in event["selected_ids"] if hit in heard)
        assert heard[answer] < event["occurred_at"]


def test_duplicates_are_many_and_of_one_type(demo: DemoNamespace) -> None:
    """At least 20 groups and 8 % of the entities, pairs and triples, each side with mentions and edges of its own."""
    groups = demo.key.duplicates
    members = [row for group in groups for row in group.ids]
    assert len(groups) >= 20
    assert len(members) - len(groups) >= 0.08 * len(demo.rows["entities"])
    assert {len(group.ids) for group in groups} == {2, 3}
    assert len({group.kind for group in groups}) >= 7
    assert len(set(members)) == len(members)
    entities = {row["id"]: row for row in demo.rows["entities"]}
    edges = Counter(
        end for row in demo.rows["relationships"] for end in (row["source_entity_id"], row["target_entity_id"])
    )
    for group in groups:
        rows = [entities[row] for row in group.ids]
        assert len({row["entity_type"] for row in rows}) == 1
        assert len({row["name"] for row in rows}) == len(rows)
        assert len({json.dumps(row["attributes"], sort_keys=True) for row in rows}) == 1
        assert all(edges[row["id"]] > 1 and row["mention_count"] > 1 for row in rows)


def test_merges_share_edges_and_some_become_self_loops(demo: DemoNamespace) -> None:
    """The shapes that break a careless merge are there."""
    group = {row: number for number, planted in enumerate(demo.key.duplicates) for row in planted.ids}
    ends = [
        (group.get(row["source_entity_id"]), group.get(row["target_entity_id"])) for row in demo.rows["relationships"]
    ]
    assert sum(a == b is not None for a, b in ends if a is not None) >= 3
    assert sum(a is not None and b is not None and a != b for a, b in ends) >= 5
    dead = {item.row_id for item in demo.key.dead_references}
    assert len(dead & set(group)) >= 4


def test_traps_and_duplicates_are_disjoint_and_traps_disagree(demo: DemoNamespace) -> None:
    """No row is both; an entity trap always has attributes that differ, so that a sound matcher can refuse."""
    traps = [trap for trap in demo.key.merge_traps if trap.table == "entities"]
    trapped = {row for trap in traps for row in trap.ids}
    assert not trapped & {row for group in demo.key.duplicates for row in group.ids}
    assert len(traps) >= 18
    entities = {row["id"]: row for row in demo.rows["entities"]}
    for trap in traps:
        first, second = (entities[row] for row in trap.ids)
        shared = first["attributes"].keys() & second["attributes"].keys()
        assert shared
        assert all(first["attributes"][name] != second["attributes"][name] for name in shared)
        assert first["entity_type"] == second["entity_type"]


def test_the_key_names_only_rows_that_exist(demo: DemoNamespace) -> None:
    """And it can be written as JSON."""
    key = demo.key
    assert {row for group in key.duplicates for row in group.ids} <= ids(demo, "entities")
    for item in (*key.merge_traps, *key.contradictions):
        assert set(item.ids) <= ids(demo, item.table)
    for dead in key.dead_references:
        assert dead.row_id in ids(demo, dead.table)
    for trap in key.traps:
        assert set(trap.ids) <= ids(demo, trap.table), trap
    assert {row for group in key.duplicate_facts for row in group} <= ids(demo, "memory_facts")
    assert {row for pair in key.superseded for row in pair} <= ids(demo, "memory_facts")
    assert {row for group in key.duplicate_events for row in group} <= ids(demo, "memories")
    assert set(key.weak_edges) <= ids(demo, "relationships")
    for table, row in (*key.expired, *key.retired):
        assert row in ids(demo, table)
    for rename in key.renames:
        assert rename.row_id in ids(demo, rename.table)
    assert {*key.orphans, *key.orphan_traps} <= ids(demo, "entities")
    assert {item.memory_id for item in key.relative_dates} <= ids(demo, "memories")
    assert {item.table for item in key.contradictions} == {"memories", "memory_facts", "relationships"}
    assert json.loads(json.dumps(asdict(key)))["namespace"] == demo.slug


def test_contradicting_rows_share_a_subject_and_differ(demo: DemoNamespace) -> None:
    """Each planted contradiction can be seen in the rows themselves."""
    facts = {row["id"]: row for row in demo.rows["memory_facts"]}
    edges = {row["id"]: row for row in demo.rows["relationships"]}
    for item in demo.key.contradictions:
        if item.table == "memory_facts":
            first, second = (facts[row] for row in item.ids)
            assert (first["subject"], first["predicate"]) == (second["subject"], second["predicate"])
            assert (first["object"], second["object"]) == item.values
        if item.table == "relationships":
            first, second = (edges[row] for row in item.ids)
            ends = [(row["source_entity_id"], row["target_entity_id"]) for row in (first, second)]
            assert first["relationship_type"] == second["relationship_type"]
            if item.kind == "reversed":
                assert ends[0] == ends[1][::-1]
            elif item.kind in ("values", "other object"):
                assert ends[0][0] == ends[1][0]
                assert ends[0][1] != ends[1][1]
            else:
                assert ends[0] == ends[1]
            assert item.kind != "property" or first["properties"] != second["properties"]
        assert item.values[0] != item.values[1] or item.kind == "property"


def test_edges_beside_the_planted_ones_do_not_contradict_by_accident(demo: DemoNamespace) -> None:
    """No two edges share both ends and the type, either way round, but those that were planted so."""
    single = next(row["relationship_type"] for row in demo.rows["relationships"] if row["id"] in stated_twice(demo))
    planted = {frozenset(item.ids) for item in (*demo.key.contradictions, *demo.key.traps)}
    seen: dict[tuple[str, str, str], str] = {}
    symmetric = {"KNOWS", "RELATED_TO", "WORKS_WITH", "ASSOCIATED_WITH"}
    for row in demo.rows["relationships"]:
        source, kind, target = row["source_entity_id"], row["relationship_type"], row["target_entity_id"]
        for other in (seen.get((source, kind, target)), seen.get((target, kind, source))):
            accident = other is not None and frozenset((other, row["id"])) not in planted
            assert not accident or kind in symmetric | {single}, row["description"]
        seen[(source, kind, target)] = row["id"]


def test_no_edge_contradicts_another_by_chance(demo: DemoNamespace) -> None:
    """Nobody is tied to both of two things that look alike, nor to two where there is one, unless it was planted so."""
    planted = {row for item in (*demo.key.contradictions, *demo.key.traps) for row in item.ids}
    alike = [set(trap.ids) for trap in demo.key.merge_traps if trap.table == "entities"]
    same = {row: group.ids[0] for group in demo.key.duplicates for row in group.ids}
    objects: dict[tuple[str, str], set[str]] = {}
    for row in demo.rows["relationships"]:
        if row["id"] not in planted:
            source, target = (same.get(row[end], row[end]) for end in ("source_entity_id", "target_entity_id"))
            objects.setdefault((source, row["relationship_type"]), set()).add(target)
    assert not [key for key, found in objects.items() if any(pair <= found for pair in alike)]
    assert not [key for key, found in objects.items() if key[1] == "REPORTS_TO" and len(found) > 1]


def stated_twice(demo: DemoNamespace) -> set[str]:
    """The edges of the relation that takes one object."""
    clash = next(item for item in demo.key.contradictions if item.kind == "other object")
    return set(clash.ids)


def test_facts_of_one_group_say_the_same_and_replaced_ones_do_not(demo: DemoNamespace) -> None:
    """Duplicates differ in case, spaces and punctuation alone; of what changed, the newer one has another object."""
    facts = {row["id"]: row for row in demo.rows["memory_facts"]}

    def said(row: str, *columns: str) -> tuple[str, ...]:
        return tuple(" ".join(re.sub(r"[^\w\s]", "", facts[row][c]).casefold().split()) for c in columns)

    for group in demo.key.duplicate_facts:
        assert len({said(row, "subject", "predicate", "object") for row in group}) == 1
        assert len({(facts[row]["subject"], facts[row]["object"]) for row in group}) == len(group) > 1
    for old, new in demo.key.superseded:
        assert said(old, "subject", "predicate") == said(new, "subject", "predicate")
        assert facts[old]["object"] != facts[new]["object"]
        assert facts[old]["valid_from"] < facts[new]["valid_from"] - timedelta(days=30)
    for trap in demo.key.traps_of("superseded facts"):
        first, second = trap.ids
        assert said(first, "subject", "predicate") == said(second, "subject", "predicate")


def test_weak_edges_have_nothing_to_stand_on_and_their_traps_have(demo: DemoNamespace) -> None:
    """Pruned are associations under 0.4 whose sources are all dead; each trap misses one of these."""
    live = {row["id"] for row in demo.rows["chunks"] if row["invalidated_at"] is None}
    edges = {row["id"]: row for row in demo.rows["relationships"]}

    def weak(row: str) -> tuple[bool, bool, bool]:
        edge = edges[row]
        dead = bool(edge["source_chunk_ids"]) and not live & set(edge["source_chunk_ids"])
        return edge["relationship_type"] == "ASSOCIATED_WITH", edge["confidence"] < 0.4, dead

    assert len(demo.key.weak_edges) >= 4
    assert all(weak(row) == (True, True, True) for row in demo.key.weak_edges)
    traps = {trap.kind: weak(trap.ids[0]) for trap in demo.key.traps_of("weak edges")}
    assert traps == {
        "supported": (True, True, False),
        "strong": (True, False, True),
        "asserted": (True, True, False),
        "typed": (False, True, True),
    }
    assert {row for row in edges if weak(row) == (True, True, True)} == set(demo.key.weak_edges)


def test_events_are_one_within_days_and_two_a_month_apart(demo: DemoNamespace) -> None:
    """And a number makes another event."""
    events = {row["id"]: row for row in demo.rows["memories"] if row["kind"] == "event"}
    assert {row for group in demo.key.duplicate_events for row in group} < set(events)
    for group in demo.key.duplicate_events:
        when = [events[row]["valid_from"] for row in group]
        assert len({events[row]["subject"] for row in group}) == 1
        assert max(when) - min(when) <= timedelta(days=7)
    apart = {}
    for trap in demo.key.traps_of("duplicate events"):
        first, second = (events[row] for row in trap.ids)
        assert first["subject"] == second["subject"]
        apart[trap.kind] = abs(first["valid_from"] - second["valid_from"])
    assert apart["a month apart"] > timedelta(days=7) > apart["another number"]


def test_rows_past_their_retention_are_old_and_the_others_lately_retired_or_alive(demo: DemoNamespace) -> None:
    """A year and more for facts and edges; a trap was retired last month, or is as old and stands."""
    rows = {(table, row["id"]): row for table in ("memory_facts", "relationships") for row in demo.rows[table]}
    gone = {key: row["invalidated_at"] for key, row in rows.items() if row["invalidated_at"] is not None}
    assert set(gone) == set(demo.key.retired)
    assert {key for key, when in gone.items() if when < NOW - timedelta(days=365)} == set(demo.key.expired)
    assert {table for table, _ in demo.key.expired} == {"memory_facts", "relationships"}
    kinds = {trap.kind: rows[(trap.table, trap.ids[0])] for trap in demo.key.traps_of("expired rows")}
    assert kinds["retired lately"]["invalidated_at"] > NOW - timedelta(days=60)
    assert kinds["old but valid"]["recorded_at"] < NOW - timedelta(days=365)
    assert kinds["old but valid"]["invalidated_at"] is None


def test_the_settings_map_what_drifted_and_one_rename_meets_its_name(demo: DemoNamespace) -> None:
    """Every mapped row is in the key, one of them is the namesake of a row that has the type already, one type has no mapping."""
    options = Settings.for_namespace(demo.settings).options("normalize_schema", NormalizeSchemaOptions)
    maps = {
        "entities": ("entity_type", options.entity_types),
        "relationships": ("relationship_type", options.relationship_types),
    }
    mapped = {
        (table, row["id"], mapping[row[column]])
        for table, (column, mapping) in maps.items()
        for row in demo.rows[table]
        if row[column] in mapping
    }
    assert mapped == {(rename.table, rename.row_id, rename.new) for rename in demo.key.renames}
    names = {row["id"]: (row["name"], row["entity_type"]) for row in demo.rows["entities"]}
    (twin,) = (rename for rename in demo.key.renames if rename.merges_into)
    assert names[twin.merges_into] == (names[twin.row_id][0], twin.new)
    assert {trap.table for trap in demo.key.traps_of("drifted types")} == {"relationships"}


def test_thresholds_are_too_low_too_high_and_right_in_turn() -> None:
    """Each namespace shows another answer of the audit, with scores enough for it to speak."""
    said = [demo.key.abstention for demo in DEMOS.values()]
    assert sorted(said) == ["calibrated", "lower", "raise"]
    for demo in DEMOS.values():
        assert Settings.for_namespace(demo.settings).options(
            "abstention_drift", AbstentionDriftOptions
        ).min_samples <= len(demo.rows["recall_events"])


def test_orphans_are_alone_and_their_traps_are_in_use(demo: DemoNamespace) -> None:
    """An orphan has no edge, at most one mention and no recall; a trap is as isolated, but recalled or often mentioned."""
    joined = {row[end] for row in demo.rows["relationships"] for end in ("source_entity_id", "target_entity_id")}
    recalled = {hit for event in demo.rows["recall_events"] for hit in event["hit_ids"]}
    entities = {row["id"]: row for row in demo.rows["entities"]}
    assert len(demo.key.orphans) >= 6
    for orphan in demo.key.orphans:
        assert orphan not in joined | recalled
        assert entities[orphan]["mention_count"] <= 1
    reasons = [(trap in recalled, entities[trap]["mention_count"] > 1) for trap in demo.key.orphan_traps]
    assert {(True, False), (False, True)} == set(reasons)
    assert not joined & set(demo.key.orphan_traps)
    isolated = set(entities) - joined
    assert isolated == {*demo.key.orphans, *demo.key.orphan_traps}
    assert len(isolated) > 0.05 * len(entities), "the bottom five per cent of PageRank must be the isolated ones"


def test_schema_drift_is_what_the_rows_show(demo: DemoNamespace) -> None:
    """The planted types are those in use but not declared, and the other way round."""
    expertise = Settings.for_namespace(demo.settings).expertise
    assert expertise is not None
    used = {row["entity_type"] for row in demo.rows["entities"]}
    edges = {row["relationship_type"] for row in demo.rows["relationships"]}
    drift = demo.key.schema_drift
    assert set(drift.new_entity_types) == used - set(expertise.entity_types) != set()
    assert set(drift.unused_entity_types) == set(expertise.entity_types) - used != set()
    assert set(drift.new_relationship_types) == edges - set(expertise.relationship_types) != set()
    assert set(drift.unused_relationship_types) == set(expertise.relationship_types) - edges != set()


def test_relative_dates_resolve_against_the_day_they_were_said(demo: DemoNamespace) -> None:
    """Every phrase stands in its memory, and its date follows from the memory's valid_from."""
    text = {row["memory_id"]: row["content"] for row in demo.rows["memory_versions"]}
    said = {row["id"]: row["valid_from"].date() for row in demo.rows["memories"]}
    assert len(demo.key.relative_dates) >= 10
    for item in demo.key.relative_dates:
        assert item.phrase in text[item.memory_id]
        days = (date.fromisoformat(item.resolved) - said[item.memory_id]).days
        assert days != 0
        assert (days < 0) == (
            item.phrase.startswith(("last", "yesterday", "the day before")) or item.phrase.endswith("ago")
        )


def test_a_named_weekday_is_the_latest_one_before_the_day() -> None:
    """``last Tuesday`` said on a Thursday, a Tuesday and a Monday."""
    assert resolve("last Tuesday", date(2026, 3, 5)) == date(2026, 3, 3)
    assert resolve("last Tuesday", date(2026, 3, 3)) == date(2026, 2, 24)
    assert resolve("last Tuesday", date(2026, 3, 2)) == date(2026, 2, 24)
    assert resolve("in two weeks", date(2026, 2, 20)) == date(2026, 3, 6)


def test_texts_are_complete_and_harmless(demo: DemoNamespace) -> None:
    """No slot was left open, and nothing reads as a link, an image, HTML, a table or a hidden character."""
    texts = [
        row[column]
        for table, columns in {
            "chunks": ("content",),
            "memory_versions": ("content",),
            "entities": ("name", "description"),
            "relationships": ("description",),
            "memory_facts": ("subject", "object", "fact_text"),
            "recall_events": ("query",),
        }.items()
        for row in demo.rows[table]
        for column in columns
    ]
    assert not [
        text
        for text in texts
        if re.search(r"[{}\[\]<>|`*#\\]|https?:|\]\(|[\x00-\x1f\u200b-\u200f\u202a-\u202e]", text)
    ]
    spaced = {row["id"]: row for row in demo.rows["memory_facts"]}
    other = {
        spaced[row][column]
        for group in demo.key.duplicate_facts
        for row in group
        for column in ("subject", "object", "fact_text")
    }
    assert not [text for text in texts if not text or text != text.strip() or ("  " in text and text not in other)]


def test_memories_do_not_repeat_themselves(demo: DemoNamespace) -> None:
    """A reader meets hardly any sentence twice."""
    texts = [row["content"] for row in demo.rows["memory_versions"]]
    assert len(set(texts)) >= 0.97 * len(texts)


def test_an_unknown_namespace_is_refused_with_the_known_ones() -> None:
    """The sentence says what can be asked for."""
    with pytest.raises(Refused, match="demo-harbor, demo-maple, demo-lattice"):
        generate("demo-nowhere", NOW)


def test_importing_the_demo_loads_no_data_frames() -> None:
    """``slowwave demo --help`` must not wait for pandas or DuckDB."""
    code = "import sys, slowwave.surfaces.demo; print([m for m in ('pandas', 'duckdb', 'dagster') if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_documents_of_the_demo_hold_no_second_copy_of_their_passages(demo: DemoNamespace) -> None:
    """As in an import: else forgetting one person deletes each document that mentions her, with all passages."""
    assert {row["content"] for row in demo.rows["documents"]} == {""}
