"""The SQL models: how files are read, what the models say, and what their SQL cannot reach."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from slowwave.errors import ModelError
from slowwave.snapshots import models as module
from slowwave.snapshots.models import (
    Check,
    check_models,
    column_lineage,
    load_models,
    model_database,
    one_database,
    run_models,
)
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, Snapshot, arrow_schema
from slowwave.store.settings import Settings
from slowwave.store.tables import entity_vectors, memories
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

PAST, FUTURE = TAKEN_AT - timedelta(days=1), TAKEN_AT + timedelta(days=1)


def rows(snapshot: Snapshot, model: str) -> list[dict[str, object]]:
    """One model's result over one snapshot."""
    return make_inputs(snapshot).models[model].to_pylist()


def edge(source: str, target: str, kind: str = "KNOWS", **more: object) -> dict[str, object]:
    """A relationship between entities named by ``uid``."""
    ends = {"source_entity_id": uid(source), "target_entity_id": uid(target)}
    return {"id": uid((source, target, kind, *more)), **ends, "relationship_type": kind, **more}


def entities(*names: str) -> list[dict[str, object]]:
    """Live entities of one type."""
    return [{"id": uid(name), "name": name, "entity_type": "PERSON"} for name in names]


def most_rows(step: Mapping[str, Any]) -> int:
    """The rows that the largest step of a profile of DuckDB gives or reads."""
    return max(int(step.get("operator_cardinality", 0)), *map(most_rows, step["children"]), 0)


# What the files say


def test_models_come_parents_first_with_their_dependencies_checks_and_parameters() -> None:
    """The asset graph is what the SQL says; nobody keeps it by hand."""
    models = {model.name: model for model in load_models()}
    order = list(models)
    assert order == [m.name for m in load_models()]
    assert {*order} == {
        "type_census", "live_entities", "live_relationships", "dead_references", "recall_signals",
        "recall_signals_compat", "page_recalls",
    }  # fmt: skip
    assert all(order.index(parent) < order.index(m.name) for m in models.values() for parent in m.parents)
    assert models["live_relationships"].parents == ("live_entities",)
    assert models["live_relationships"].sources == ("relationships",)
    assert models["recall_signals"].parameters == ("frequency_cap", "taken_at", "window_days")
    assert (
        Check("unique", ("source_entity_id", "target_entity_id", "relationship_type"))
        in models["live_relationships"].checks
    )
    assert all(model.description.endswith(".") and "check:" not in model.description for model in models.values())


def test_names_that_stand_together_as_often_as_chance_has_it_are_not_associated() -> None:
    """Jonas is in every chunk, so that Mara beside him says nothing; Mara and Tea always come together. Other types are what they say."""
    chunks = [uid(("chunk", n)) for n in range(8)]
    named = {"jonas": chunks, "mara": chunks[:2], "tea": chunks[:2]}
    snapshot = make_snapshot(
        entities=[row | {"source_chunk_ids": named[row["name"]]} for row in entities(*named)],  # type: ignore[index]
        relationships=[
            edge("jonas", "mara", "ASSOCIATED_WITH", source_chunk_ids=chunks[:2]),
            edge("mara", "tea", "associated_with", source_chunk_ids=chunks[:2]),
            edge("jonas", "mara", "KNOWS", source_chunk_ids=chunks[:2]),
            edge("jonas", "tea", "ASSOCIATED_WITH"),
        ],
    )
    found = {
        (r["source_entity_id"], r["target_entity_id"], r["relationship_type"]): r["association"]
        for r in rows(snapshot, "live_relationships")
    }
    assert found == {
        (uid("jonas"), uid("mara"), "ASSOCIATED_WITH"): pytest.approx(math.log(9 / 8) / math.log(9 / 2)),
        (uid("mara"), uid("tea"), "associated_with"): pytest.approx(1),
        (uid("jonas"), uid("mara"), "KNOWS"): 1,
        (uid("jonas"), uid("tea"), "ASSOCIATED_WITH"): 1,
    }


def test_a_document_associates_forty_pairs() -> None:
    """The strongest; what another document associates among its own first forty stays."""
    pairs = [(f"a{n}", f"b{n}") for n in range(45)]
    chunk = [uid("chunk")]
    names = [name for pair in pairs for name in pair]
    snapshot = make_snapshot(
        entities=[row | {"source_chunk_ids": chunk} for row in entities(*names)],
        relationships=[
            edge(
                *pair,
                "ASSOCIATED_WITH",
                weight=float(100 - n),
                source_chunk_ids=chunk,
                source_document_ids=[uid("long"), *([uid("short")] if n == 44 else [])],
            )
            for n, pair in enumerate(pairs)
        ],
    )
    found = {r["source_entity_id"]: r["association"] for r in rows(snapshot, "live_relationships")}
    assert [n for n, (a, _) in enumerate(pairs) if found[uid(a)] == 0] == [40, 41, 42, 43]


def test_what_was_recalled_without_a_question_counts_as_no_question() -> None:
    """A wake and a page that is read log none; they are recalls all the same."""
    events = [{"query": query, "occurred_at": TAKEN_AT, "hit_ids": [uid("told")]} for query in ("", " ", "who?")]
    (told,) = rows(make_snapshot(recall_events=events), "recall_signals")
    assert (told["recalls"], told["queries"]) == (3, 1)


def test_column_lineage_names_the_tables_a_model_reads_itself() -> None:
    """The operator asks where a number comes from, one step at a time."""
    models = {model.name: model for model in load_models()}
    lineage = {name: column_lineage(model, models.values()) for name, model in models.items()}
    assert lineage["live_entities"]["name"] == [("snapshot.entities", "name")]
    assert ("live_entities", "source_chunk_ids") in lineage["dead_references"]["dead_ids"]
    results = make_inputs(make_snapshot()).models
    assert {name: list(columns) for name, columns in lineage.items()} == {n: t.column_names for n, t in results.items()}


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"a": "select 1 as id from memory.entities"}, r"a\.sql reads memory\.entities, which is neither"),
        ({"a": "select id from snapshot.secrets"}, r"a\.sql reads snapshot\.secrets"),
        ({"a": "select id from b"}, r"a\.sql reads b, which is neither"),
        ({"a": "select id from a"}, r"a\.sql reads a, which is neither"),
        ({"a": "select * from read_csv('/etc/passwd')"}, r"a\.sql reads READ_CSV"),
        ({"a": "select * from '/etc/passwd'"}, r"a\.sql reads"),
        (
            {"a": "select id from b", "b": "select id from a"},
            r"circle: (a\.sql → b\.sql → a\.sql|b\.sql → a\.sql → b\.sql)",
        ),
        ({"a": "select 1 as x; select 2 as x"}, r"a\.sql must hold exactly one SELECT"),
        ({"a": "drop table x"}, r"a\.sql must hold exactly one SELECT"),
        ({"a": ""}, r"a\.sql must hold exactly one SELECT"),
        ({"a": "select from where ("}, r"a\.sql is not SQL that can be read"),
        ({"a": "select $password as x"}, r"a\.sql names the parameter \$password"),
        ({"a": "-- check: positive id\nselect 1 as id"}, r"a\.sql has a check that is not known: 'check: positive id'"),
        ({}, "There is no SQL model in"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_it(tmp_path: Path, files: dict[str, str], sentence: str) -> None:
    """At load, before a night has begun."""
    for name, sql in files.items():
        (tmp_path / f"{name}.sql").write_text(sql)
    with pytest.raises(ModelError, match=sentence):
        load_models(tmp_path)


def test_a_cte_may_bear_the_name_of_a_table(tmp_path: Path) -> None:
    """A name belongs to the query that defines it; the snapshot's table keeps its schema."""
    (tmp_path / "a.sql").write_text("with chunks as (select id from snapshot.chunks) select id from chunks")
    (model,) = load_models(tmp_path)
    assert (model.parents, model.sources) == ((), ("chunks",))


@pytest.mark.parametrize(
    "sql",
    [
        "select id, nonsense as x from snapshot.entities",
        "select (select content from read_text('/etc/hostname')) as x",
        "select getenv('HOME') as x",
        "select * from duckdb_settings()",
    ],
)
def test_sql_that_fails_or_reaches_outside_stops_with_the_name_of_its_file(tmp_path: Path, sql: str) -> None:
    """Models see Arrow tables and nothing else: no file, no environment, no extension."""
    (tmp_path / "curious.sql").write_text(sql)
    with pytest.raises(ModelError, match=r"curious\.sql"):
        run_models(load_models(tmp_path), make_snapshot(), Settings())


def test_models_add_up_on_one_thread_so_that_equal_snapshots_give_equal_numbers(tmp_path: Path) -> None:
    """On two, sums of many rows differ in their last bits from run to run."""
    (tmp_path / "alone.sql").write_text("select current_setting('threads') as threads")
    assert run_models(load_models(tmp_path), make_snapshot(), Settings())["alone"].to_pylist() == [{"threads": 1}]


def test_broken_promises_are_counted_in_sentences(tmp_path: Path) -> None:
    """A check fails in words that say how many rows."""
    (tmp_path / "kinds.sql").write_text(
        "-- Kinds.\n-- check: unique entity_type\n-- check: not_null external_id\n-- check: not_null absent\n"
        "select entity_type, external_id from snapshot.entities"
    )
    models = load_models(tmp_path)
    results = run_models(models, make_snapshot(entities=entities("Anna", "Ben")), Settings())
    assert check_models(models, results) == (
        "Model kinds: 1 values of (entity_type) occur more than once.",
        "Model kinds: 2 of 2 rows have no external_id.",
        "Model kinds has no column absent, which its check “not_null absent” needs.",
    )


# What the models say


def test_live_is_what_the_snapshot_calls_live() -> None:
    """One meaning of live in Python and in SQL: retired rows and rows that ended in the world are out, later ends are in."""
    named = entities("stands", "ends later", "ended", "retired", "ends now")
    for row, more in zip(
        named,
        ({}, {"valid_to": FUTURE}, {"valid_to": PAST}, {"invalidated_at": FUTURE}, {"valid_to": TAKEN_AT}),
        strict=True,
    ):
        row |= more
    snapshot = make_snapshot(entities=named)
    live = rows(snapshot, "live_entities")
    assert {row["name"] for row in live} == {"stands", "ends later"}
    assert [row["id"] for row in live] == snapshot.live("entities")["id"].to_pylist()


def test_parallel_edges_fold_and_edges_of_the_dead_vanish() -> None:
    """Two merges may leave three edges where one is meant; a reader sees one with everything that the three knew."""
    people = [*entities("a", "b"), {"id": uid("gone"), "name": "gone", "entity_type": "PERSON", "invalidated_at": PAST}]
    one, two = sorted([uid("c1"), uid("c2")])
    snapshot = make_snapshot(
        entities=people,
        relationships=[
            edge("a", "b", weight=0.5, source_chunk_ids=[two, one], source_document_ids=[uid("d")]),
            edge("a", "b", weight=2.0, confidence=0.3, source_chunk_ids=[two]),
            edge("a", "b", weight=9.0, invalidated_at=PAST),
            edge("b", "a"),
            edge("a", "b", "WORKS_WITH"),
            edge("a", "gone"),
        ],
    )
    folded = {
        (r["source_entity_id"], r["target_entity_id"], r["relationship_type"]): r
        for r in rows(snapshot, "live_relationships")
    }
    assert {*folded} == {
        (uid("a"), uid("b"), "KNOWS"),
        (uid("b"), uid("a"), "KNOWS"),
        (uid("a"), uid("b"), "WORKS_WITH"),
    }
    both = folded[uid("a"), uid("b"), "KNOWS"]
    assert (both["weight"], both["confidence"], both["parallel_edges"]) == (2.0, 1.0, 2)
    assert (both["source_chunk_ids"], both["source_document_ids"]) == ([one, two], [uid("d")])


def test_type_census_counts_types_as_they_are_written() -> None:
    """``Person`` and ``PERSON`` are two types until somebody renames one."""
    people = [*entities("a", "b"), {"name": "c", "entity_type": "Person", "invalidated_at": PAST}]
    snapshot = make_snapshot(entities=people, relationships=[edge("a", "b")])
    assert {(r["table_name"], r["type"], r["all_rows"], r["live_rows"]) for r in rows(snapshot, "type_census")} == {
        ("entities", "PERSON", 2, 2),
        ("entities", "Person", 1, 0),
        ("relationships", "KNOWS", 1, 1),
    }


def test_dead_references_are_those_to_missing_and_invalidated_rows() -> None:
    """Every table with provenance is looked at; a document that merely ended in the world is still a source."""
    dead = [uid("missing"), uid("retired")]
    snapshot = make_snapshot(
        documents=[{"id": uid("old"), "valid_to": PAST}],
        chunks=[{"id": uid("kept"), "content": ""}, {"id": uid("retired"), "content": "", "invalidated_at": PAST}],
        entities=[
            {"id": uid("e"), "name": "", "entity_type": "", "source_chunk_ids": [*dead, uid("kept"), dead[0]],
             "source_document_ids": [uid("old")]},
            {"name": "", "entity_type": "", "source_chunk_ids": dead, "invalidated_at": PAST},
        ],
        relationships=[edge("e", "e", source_document_ids=[uid("none")])],
        memories=[{"id": uid("m"), "kind": "episodic", "source_chunk_ids": [uid("kept")]}],
        memory_facts=[{"id": uid("f"), "subject": "", "predicate": "", "object": "", "source_chunk_ids": [dead[0]]}],
    )  # fmt: skip
    found = {(r["kind"], r["table_name"]): r for r in rows(snapshot, "dead_references")}
    assert {*found} == {("chunk", "entities"), ("document", "relationships"), ("chunk", "memory_facts")}
    entity = found["chunk", "entities"]
    assert entity["dead_ids"] == sorted(dead)
    assert (entity["row_id"], entity["length_before"], entity["length_after"]) == (uid("e"), 4, 1)
    assert found["document", "relationships"]["column_name"] == "source_document_ids"


def test_recall_signals_saturate_fold_queries_and_forget_what_is_outside_the_window() -> None:
    """Thirty recalls by two spellings of one question on two days are thirty, one and two."""
    often = [
        {"query": " Where is  ANNA?" if i % 2 else "where is anna?", "occurred_at": TAKEN_AT - timedelta(days=i % 2),
         "hit_ids": [uid("other"), uid("often")], "selected_ids": [uid("often")] if i < 15 else [], "scores": [0.9, 0.5]}
        for i in range(30)
    ]  # fmt: skip
    snapshot = make_snapshot(
        recall_events=[
            *often,
            {"query": "q", "occurred_at": TAKEN_AT - timedelta(days=90), "hit_ids": [uid("forgotten")]},
            {"query": "q", "occurred_at": TAKEN_AT + timedelta(seconds=1), "hit_ids": [uid("tomorrow")]},
            {
                "query": "q",
                "occurred_at": TAKEN_AT - timedelta(days=45),
                "hit_ids": [uid("x"), uid("once"), uid("once")],
            },
        ]
    )
    signals = {r["row_id"]: r for r in rows(snapshot, "recall_signals")}
    assert {*signals} == {uid("often"), uid("other"), uid("x"), uid("once")}
    often_row, once = signals[uid("often")], signals[uid("once")]
    assert (often_row["recalls"], often_row["queries"], often_row["days"], often_row["selections"]) == (30, 1, 2, 15)
    expected = {
        "frequency": 1,
        "relevance": 0.5,
        "diversity": 0.2,
        "consolidation": 0.4,
        "recency": 1,
        "selected_rate": 0.5,
    }
    assert {k: often_row[k] for k in expected} == pytest.approx(expected)
    weights = {
        "frequency": 0.24,
        "relevance": 0.3,
        "diversity": 0.15,
        "consolidation": 0.1,
        "recency": 0.15,
        "selected_rate": 0.06,
    }
    assert often_row["score"] == pytest.approx(sum(w * expected[k] for k, w in weights.items()))
    assert once["recalls"] == 1, "a row counts once an event"
    assert once["frequency"] == pytest.approx(math.log(2) / math.log(21))
    assert once["relevance"] == pytest.approx(1 / 2), "without scores the rank speaks"
    assert once["recency"] == pytest.approx(0.5**0.5)


def test_the_models_of_this_version_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each of a store's users, and twice for each."""
    models = load_models()
    monkeypatch.setattr(Path, "read_text", None)
    assert load_models() is models


def test_all_checks_hold_and_an_empty_namespace_is_no_special_case() -> None:
    """The first night of a namespace has no rows at all, and results keep their types."""
    models = load_models()
    results = run_models(models, make_snapshot(), Settings())
    assert check_models(models, results) == ()
    assert {name: table.num_rows for name, table in results.items()} == dict.fromkeys(results, 0)
    assert results["dead_references"].schema.field("dead_ids").type == pa.list_(pa.string())


def test_arrow_schemas_leave_out_what_triggers_keep_and_refuse_vectors() -> None:
    """A snapshot of one namespace names it once; vectors travel in a matrix."""
    schema = arrow_schema(memories)
    assert not {"namespace_id", "content_version", "updated_at"} & {*schema.names}
    assert schema.field("valid_from").type == pa.timestamp("us", tz="UTC")
    assert schema.field("source_chunk_ids").type == pa.list_(pa.string())
    assert (schema.field("access_count").type, schema.field("pinned").type) == (pa.int64(), pa.bool_())
    assert {"rejections", "conflicts"} < {*SNAPSHOT_TABLES}
    with pytest.raises(TypeError, match="has no place in a snapshot"):
        arrow_schema(entity_vectors)


def test_what_models_give_of_nothing_is_not_asked_twice_and_rows_are_always_looked_at() -> None:
    """A store that is not ours has most tables empty. Rows that come, and a result with rows, are never answered from memory."""
    models = load_models()
    empty = run_models(models, make_snapshot(), Settings())
    again = run_models(models, make_snapshot(), Settings())
    assert all(again[name] is empty[name] for name in empty)
    with_rows = run_models(models, make_snapshot(entities=entities("Anna")), Settings())
    assert [with_rows[n].num_rows for n in ("live_entities", "type_census")] == [1, 1]
    assert all(table.equals(empty[name]) for name, table in run_models(models, make_snapshot(), Settings()).items())


def test_a_model_that_says_which_columns_its_rows_come_from_is_not_asked_where_they_hold_nothing() -> None:
    """Memories of another store name no chunk and no document. One that does is looked at, whatever was remembered before."""
    models = load_models()
    plain: dict[str, object] = {"id": uid("m"), "kind": "semantic", "source_chunk_ids": []}
    unnamed = make_snapshot(memories=[plain, {"id": uid("n"), "kind": "semantic"}])
    first = run_models(models, unnamed, Settings())["dead_references"]
    assert run_models(models, unnamed, Settings())["dead_references"] is first
    naming = make_snapshot(memories=[plain | {"source_chunk_ids": [uid("gone")]}])
    assert run_models(models, naming, Settings())["dead_references"]["dead_ids"].to_pylist() == [[uid("gone")]]
    entity = make_snapshot(entities=[row | {"source_document_ids": [uid("gone")]} for row in entities("Anna")])
    assert run_models(models, entity, Settings())["dead_references"].num_rows == 1


@pytest.mark.parametrize("named", ["snapshot.memories", "memories.nothing", "chunks.id"])
def test_a_model_names_only_columns_that_it_reads(tmp_path: Path, named: str) -> None:
    """A promise about a column that is not there would never be broken, and hold rows back."""
    (tmp_path / "of.sql").write_text(f"-- no row without: {named}\nselect id from snapshot.memories")
    with pytest.raises(ModelError, match=r"of\.sql names"):
        load_models(tmp_path)


def test_snapshots_that_share_a_database_share_nothing_else(tmp_path: Path) -> None:
    """One after another, with a model between that DuckDB refuses: each has the rows that it has alone."""
    (tmp_path / "wrong.sql").write_text("select no_such_column from snapshot.entities")
    wrong, models, settings = load_models(tmp_path), load_models(), Settings.for_namespace({})
    snapshots = [
        make_snapshot(entities=entities("Ada", "Ben"), relationships=[edge("Ada", "Ben")]),
        make_snapshot(memories=[{"id": uid("m"), "kind": "semantic"}]),
        make_snapshot(entities=entities("Cleo")),
    ]
    alone = [run_models(models, one, settings) for one in snapshots]
    with one_database() as kept:
        for one, expected in zip([*snapshots, *snapshots], [*alone, *alone], strict=True):
            found = run_models(models, one, settings, kept=kept)
            assert all(found[name].equals(table) for name, table in expected.items())
        for one, expected in zip(snapshots, alone, strict=True):
            found = run_models(models, one, settings, kept=kept)
            assert all(found[name].equals(table) for name, table in expected.items())
            with pytest.raises(ModelError, match=r"wrong\.sql"):
                run_models(wrong, snapshots[0], settings, kept=kept)
        opened: list[object] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_connection", lambda: opened.append(1))
            again = run_models(models, snapshots[-1], settings, known=alone[-1], kept=kept)
        assert again["live_entities"] is alone[-1]["live_entities"]
        assert opened == [], "what is known is asked of no database"


def test_connection_that_read_many_rows_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB gives memory back only when it is closed."""
    models, settings = load_models(), Settings.for_namespace({})
    with one_database() as kept:
        run_models(models, make_snapshot(entities=entities("Ada", "Ben")), settings, kept=kept)
        assert len(kept) == 1
        monkeypatch.setattr(module, "ROWS_OF_KEPT", 2)
        run_models(models, make_snapshot(entities=entities("Ada", "Ben", "Cleo")), settings, kept=kept)
        assert kept == []


def test_no_step_of_a_model_meets_all_pairs_of_rows() -> None:
    """A join that the optimizer turns into all pairs gives the same rows, and takes minutes where there are 50,000: rows are counted, as
    DuckDB counts them, in a world of 1,500 entities that name each other's passages."""
    names = [f"n{k}" for k in range(1_500)]
    about = {name: {"source_chunk_ids": [uid(("chunk", k)), uid(("chunk", k + 1))]} for k, name in enumerate(names)}
    edges = [
        edge(a, b, "ASSOCIATED_WITH" if k % 2 else "KNOWS", source_chunk_ids=about[b]["source_chunk_ids"][:1])
        for k, (a, b) in enumerate(zip(names, names[1:] + names[:1], strict=True))
    ]
    world = make_snapshot(entities=[row | about[str(row["name"])] for row in entities(*names)], relationships=edges)
    models, results = load_models(), make_inputs(world).models
    for model in models:
        with model_database() as database:
            for source in model.sources:
                database.offer(source, world.table(source))
            for parent in model.parents:
                database.register(parent, results[parent])
            settings = {"taken_at": TAKEN_AT, "window_days": 30, "frequency_cap": 10}
            asked = {name: settings[name] for name in model.parameters}
            profile = database.connection.execute(f"explain (analyze, format json) {model.sql}", asked).fetchall()
        assert most_rows(json.loads(profile[0][1])) <= 20 * len(names), model.name
