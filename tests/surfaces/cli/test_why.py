"""``slowwave why`` explains one item of a plan, of whatever kind, and is told no in sentences."""

from __future__ import annotations

import json

from slowwave.changes.merges import Merge, merge_rows
from slowwave.plans.items import Item
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from tests.nights import archive_items, new_world, write_a_plan
from tests.surfaces.cli.conftest import Run
from tests.worlds import World

FALL = [
    {"evidence": "prior", "weight": -3.0, "detail": "About one pair in 21 is a match"},
    {"evidence": "name", "weight": 9.5, "detail": "The names are the same", "value": "[bold]Mara[/] \x1b[31m| Mara"},
]


def planned(store: Store) -> tuple[World, list[Item]]:
    """A world with a merge that cites a chunk, and items without a waterfall."""
    world = new_world(store)
    with store.connect("owner") as connection:
        connection.execute(
            "UPDATE memory.entities SET name = %s || left(id::text, 4)", ("[bold red]run me[/] \x1b[31m",)
        )
        connection.execute("UPDATE memory.chunks SET content = 'They asked me to run it with red ink.'")
    snapshot = export_snapshot(store, world.slug)
    keep, absorbed = snapshot.live("entities")["id"].to_pylist()[:2]
    chunk = world.ids("chunks")[0]
    (mutation,) = merge_rows(snapshot, [Merge(keep, (absorbed,))])
    evidence = {"waterfall": FALL, "reason": "Look twice."}
    merge = Item("dedupe_entities", "merge", mutation, evidence, sources=(chunk,), probability=0.9985)
    items = [merge, *archive_items(snapshot)]
    write_a_plan(store, world, items=items)
    return world, items


def test_a_merge_is_explained_from_its_rows_to_its_sources(store: Store, run: Run) -> None:
    """Rows side by side, each piece of evidence with weight and running probability, verdict, sources, both answers."""
    world, items = planned(store)
    code, out, _ = run("why", world.slug, items[0].id[:8])
    assert code == 0
    assert "is merged into" in out
    for row in items[0].mutation.row_ids():
        assert row in out
    assert "The names are the same ([bold]Mara[/]" in out
    assert "+9.50" in out
    assert "█████████▌" in out
    assert "13,000 times likelier" in out
    assert "Of such merges, about one in 670 is wrong." in out
    assert "Look twice." in out
    assert items[0].sources[0] in out
    assert "also cites" not in out
    assert f"plans approve {world.slug}" in out
    assert f"plans reject {world.slug}" in out
    assert "[bold red]run me[/]" in out
    assert "\x1b[31m" not in out


def test_why_quotes_no_source_about_something_else(store: Store, run: Run) -> None:
    """A fact that cites an unrelated passage was explained by it."""
    world, items = planned(store)
    with store.connect("owner") as connection:
        connection.execute("UPDATE memory.chunks SET content = 'Lunch is at noon.'")
    out = run("why", world.slug, items[0].id)[1]
    assert "It cites 1 passage, and not one that is still stored contains its words." in out
    assert "Lunch" not in out


def test_a_planner_says_how_many_of_its_merges_are_wrong(store: Store, run: Run) -> None:
    """If its probabilities are right: the number that the plan's summary holds."""
    world, items = planned(store)
    numbers = {"planners": {"dedupe_entities": {"numbers": {"expected false merges": 0.0312}}}}
    with store.connect("owner") as connection:
        connection.execute("SET session_replication_role = replica")  # a plan is sealed, its summary too
        connection.execute("UPDATE night.plans SET summary = %s", (json.dumps(numbers),))
    assert "Of all merges of the plan, 0.031 are expected to be wrong." in run("why", world.slug, items[0].id)[1]


def test_json_holds_the_item_and_its_account(store: Store, run: Run) -> None:
    """For programs: the item as `plans show` gives it, and the same words and numbers."""
    world, items = planned(store)
    found = json.loads(run("why", world.slug, items[0].id, "--json")[1])
    shown = json.loads(run("plans", "show", world.slug, "--json")[1])
    assert found["plan_hash"] == shown["plan_hash"]
    assert found.items() >= shown["items"][0].items()
    assert [s["weight"] for s in found["why"]["steps"]] == [-3.0, 9.5]
    assert found["why"]["steps"][1]["probability"] == 0.998499
    assert [q["id"] for q in found["why"]["quotes"]] == list(items[0].sources)


def test_an_item_of_another_operation_shows_what_it_changes(store: Store, run: Run) -> None:
    """No waterfall, but its evidence and its cells."""
    world, items = planned(store)
    code, out, _ = run("why", world.slug, items[1].id)
    assert code == 0
    assert "No search returns the memory any more (state active → archived). It stays stored" in out
    assert "archived" in out


def test_an_older_plan_is_named_by_its_hash(store: Store, run: Run) -> None:
    """The latest plan is looked at unless another is named."""
    world, items = planned(store)
    first = json.loads(run("plans", "show", world.slug, "--json")[1])["plan_hash"]
    write_a_plan(store, world, items=items[1:])
    code, _, err = run("why", world.slug, items[0].id)
    assert (code, "is no item of plan" in err) == (2, True)
    assert "hash of another plan after the item" in err
    assert run("why", world.slug, items[0].id, first[:10])[0] == 0


def test_refusals_are_sentences(store: Store, run: Run) -> None:
    """An unknown item, one named by too little, no plan, no namespace."""
    world, _ = planned(store)
    other = new_world(store, 400)
    for arguments, sentence in [
        ((world.slug, "ffffffff"), "is no item of plan"),
        ((world.slug, ""), "Give more of the id"),
        ((other.slug, "ffff"), "has no plan yet"),
        (("nobody", "ffff"), "There is no namespace 'nobody'"),
        ((world.slug, "ffff", "0000"), "is no plan of"),
    ]:
        code, _, err = run("why", *arguments)
        assert (code, sentence in err) == (2, True), (arguments, err)


def test_a_prefix_of_several_items_is_refused(store: Store, run: Run) -> None:
    """Of seventeen ids two begin with the same letter; those that were deferred can be asked about too."""
    world, items = planned(store)
    write_a_plan(store, world, items=[Item("archive_stale", str(n), items[1].mutation) for n in range(17)])
    shown = json.loads(run("plans", "show", world.slug, "--json")[1])["items"]
    assert {i["status"] for i in shown} == {"pending", "deferred"}
    first = [item["id"][0] for item in shown]
    letter = max(first, key=first.count)
    code, _, err = run("why", world.slug, letter)
    assert (code, f"begins {first.count(letter)} items" in err) == (2, True)
    deferred = next(i for i in shown if i["status"] == "deferred")
    assert "of this plan changes the same values" in run("why", world.slug, deferred["id"])[1]
