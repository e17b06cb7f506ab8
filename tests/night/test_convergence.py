"""A second night on the simulated outcome plans nothing, or the plan says what and why."""

from slowwave.changes.merges import Alike, Merge, merge_facts, merge_rows
from slowwave.changes.rows import Summary, filter_references, insert_summary
from slowwave.changes.simulate import simulate
from slowwave.night import proof
from slowwave.night.proof import Remaining, changed_tables, convergence_probe, sees, touched
from slowwave.operations import PLANNERS, Inputs, run_planner
from slowwave.plans.seal import Header
from slowwave.snapshots.models import load_models, stale_models
from slowwave.store.settings import Settings
from tests.plans.probes.plans import entity, item, merged, merges
from tests.snapshots import make_inputs, make_snapshot, uid


def inputs(snapshot) -> Inputs:
    return Inputs(snapshot, models={}, settings=Settings())


def clean(given: Inputs):
    """A planner: clean what is dirty."""
    ids = given.snapshot.live("entities")["id"].to_pylist()
    return [item(m, "gc_references", "clean") for m in filter_references(given.snapshot, "entities", ids)]


def test_a_whole_plan_converges_and_the_models_are_run_on_its_outcome():
    before = make_snapshot(entities=[entity("a", source_chunk_ids=[uid("dead")]), entity("b")])
    seen = []
    after = simulate(before, clean(inputs(before)))
    probe = convergence_probe(inputs(before), after, clean, lambda s: seen.append(s) or {})
    assert (len(clean(inputs(before))), probe.items, probe.remaining, probe.passed) == (1, 0, (), True)
    assert seen == [after]
    assert "nothing new" in probe.sentence()


def test_what_a_plan_leaves_undone_is_new():
    before = make_snapshot(entities=[entity("a", source_chunk_ids=[uid("dead")])])
    probe = convergence_probe(inputs(before), before, clean, lambda _: {})
    assert probe.remaining == (Remaining("gc_references", "clean", (uid("a"),), "new"),)
    assert (probe.items, probe.passed) == (1, False)
    assert "1 of gc_references" in probe.sentence()


def test_an_item_that_lost_a_conflict_is_expected_to_come_back():
    """It comes back on other values, with another id, but it is the same proposal about the same rows."""
    before = make_snapshot(entities=[entity("a", source_chunk_ids=[uid("dead")]), entity("b"), entity("c")])
    (deferred,) = clean(inputs(before))
    after, _ = merged(before, {"c": ["b"]})
    probe = convergence_probe(inputs(before), after, clean, lambda _: {}, deferred=[deferred])
    assert [r.why for r in probe.remaining] == ["deferred"]
    assert (probe.items, probe.passed) == (0, True)
    assert "It plans 1 of the items that this plan leaves for a later night." in probe.sentence()


def test_a_summary_that_waited_for_a_merge_comes_back_as_agreed():
    """A new row has no id to be known by: it is known by its members, one of which is another row by then."""
    before = make_snapshot(entities=[entity(name) for name in "abcd"])

    def about(snapshot, *names: str):
        (mutation,) = insert_summary(snapshot, [Summary(tuple(map(uid, names)), {"text": "x"})])
        return item(mutation, "community_summaries", "summarise")

    after, _ = merged(before, {"a": ["b"]})
    again = lambda given: [about(given.snapshot, "a", "c"), about(given.snapshot, "d")]  # noqa: E731
    probe = convergence_probe(inputs(before), after, again, lambda _: {}, deferred=[about(before, "b", "c")])
    assert [r.why for r in probe.remaining] == ["deferred", "new"]
    assert touched([about(before, "a", "c")], []) == frozenset()


def test_a_standing_review_is_not_planned_again_even_about_the_survivor():
    """Tonight a person is asked about (b, x) while b is absorbed by a: tomorrow's question (a, x) is the same one."""
    before = make_snapshot(entities=[entity("a"), entity("b"), entity("x"), entity("y")])
    (asked,) = merges(before, {"b": ["x"]})
    after, _ = merged(before, {"a": ["b"]})

    def replan(given: Inputs):
        pairs = [("a", "x"), ("a", "y")]
        return [item(*merge_rows(given.snapshot, [Merge(uid(k), (uid(v),))]), decision="review") for k, v in pairs]

    probe = convergence_probe(inputs(before), after, replan, lambda _: {}, reviews=[asked])
    assert [r.rows for r in probe.remaining] == [tuple(sorted((uid("a"), uid("y"))))]
    assert probe.items == 1
    assert probe.to_json()["remaining"][0]["decision"] == "review"


def test_what_a_plan_touches_is_what_a_matcher_would_see_otherwise():
    """The merged rows, and rows that wait for a person; not their neighbours, nor a row whose dead references go."""
    before = make_snapshot(
        entities=[*(entity(name) for name in "abxyz"), entity("dirty", source_chunk_ids=[uid("dead")])],
        relationships=[{"source_entity_id": uid("b"), "target_entity_id": uid("z")}],
    )
    cleaned, merge, asked = clean(inputs(before)), merges(before, {"a": ["b"]}), merges(before, {"x": ["y"]})
    assert touched([*merge, *cleaned], asked) == {uid(n) for n in "abxy"}
    assert touched(cleaned, []) == frozenset()


def test_a_question_about_a_fact_is_the_same_about_its_survivor():
    """Tonight (b, x) is asked while a absorbs b. A fact that was replaced is not merged, and stands for itself."""
    facts = [{"id": uid(n), "subject": "s", "predicate": "p", "object": n} for n in "abx"]
    before = make_snapshot(memory_facts=facts)

    def pair(snapshot, keep: str, gone: str, decision: str):
        (mutation,) = merge_facts(snapshot, [Alike(uid(keep), (uid(gone),))])
        return item(mutation, "dedupe_facts", decision)

    asked, merge = pair(before, "b", "x", "review"), pair(before, "a", "b", "merge")
    after = simulate(before, [merge])
    probe = convergence_probe(
        inputs(before), after, lambda g: [pair(g.snapshot, "a", "x", "review")], lambda _: {}, reviews=[asked]
    )
    assert (probe.items, probe.remaining) == (0, ())


def test_only_what_reads_a_changed_table_looks_again(monkeypatch):
    """Cleaning an entity changes the graph and its models; facts and pages are as they were, and so is what is proposed of them."""
    before = make_snapshot(entities=[entity("a", source_chunk_ids=[uid("dead")])])
    assert changed_tables(before, before) == frozenset()
    after = simulate(before, clean(inputs(before)))
    assert changed_tables(before, after) == {"entities"}
    stale = stale_models(load_models(), {"entities"})
    assert {"live_entities", "live_relationships"} <= stale
    assert "recall_signals" not in stale
    assert not sees(PLANNERS["supersede_facts"], {"entities"}, stale)
    ops, again = ("gc_references", "supersede_facts", "compile_pages", "dedupe_entities"), []
    given = make_inputs(before)
    proposals = {name: run_planner(planner, given, ops) for name, planner in PLANNERS.items()}

    def noting(planner, changed, ops, *, items_alone):
        again.append(planner.name)
        assert set(planner.models) <= set(changed.models) <= {"dead_references", "live_entities"}
        return run_planner(planner, changed, ops, items_alone=items_alone)

    monkeypatch.setattr(proof, "run_planner", noting)
    items = [i for p in proposals.values() for i in p.items]
    assert [i.operation for i in items] == ["gc_references"]
    _, probes = proof.prove(Header("n", "acme", "s", "f"), items, given, proposals, ops=ops)
    assert probes.results["convergence"]["items"] == 0
    assert {"gc_references", "dedupe_entities"} <= set(again)
    assert not {"supersede_facts", "compile_pages"} & set(again)


def test_a_plan_that_leaves_out_an_item_tells_what_its_planner_proposed_before():
    """A planner that is not run again stands by what it proposed."""
    before = make_snapshot(entities=[entity("a", source_chunk_ids=[uid("dead")])])
    given, ops = make_inputs(before), ("gc_references",)
    proposals = {name: run_planner(planner, given, ops) for name, planner in PLANNERS.items()}
    _, probes = proof.prove(Header("n", "acme", "s", "f"), [], given, proposals, ops=ops)
    assert probes.results["convergence"]["items"] == 1
