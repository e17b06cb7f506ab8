"""Whatever of a plan is applied and taken back, in whatever order, while agents write the same blocks: no word of theirs is lost."""

from __future__ import annotations

from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.bindings.stores import let_write
from slowwave.errors import UndoBlocked
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.sources.following import connect_letta
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.memories import ask
from tests.permitting import approve
from tests.sources.letta_server import LettaServer

TOPICS = (
    ("tea", "Anna prefers green tea over coffee"),
    ("hens", "Ben feeds the hens before breakfast"),
    ("boat", "Clara keeps her boat at the north harbour"),
)
FEW = max(2, settings().max_examples // 12)
"""Examples: each is a night, and an apply and an undo for each of its items."""

_numbers = count(10)


@settings(max_examples=FEW)
@given(st.data())
def test_any_of_a_plan_is_applied_and_undone_in_any_order_while_agents_write(store: Store, data: st.DataObject) -> None:
    """An agent adds lines, or rewrites one that an item is about: then the item is stale, or its undo refused, and the block is named. What
    nobody else rewrote is in the end what it was, and the lines of agents stand in their order."""
    number, letta = next(_numbers), LettaServer()
    try:
        _story(store, letta, number, data)
    finally:
        letta.close()


def _story(store: Store, letta: LettaServer, number: int, data: st.DataObject) -> None:
    name = f"letta_{number}"
    slug = name.replace("_", "-")
    blocks = [letta.add(topic, f"{said}\nKept {topic}\nThe {topic} is old\n{said}.\n") for topic, said in TOPICS]
    before, added, rewritten = letta.values(), {id_: list[str]() for id_ in blocks}, set[str]()
    connect_letta(store, letta.url, embedder_for(Settings.for_namespace({})), name=name)
    let_write(store, name)
    plan = run_night(store, slug, force=True).plan
    assert plan is not None
    items = [item.id for item in plan.items if item.operation == "dedupe_memories"]
    assert len(items) == len(blocks), plan.items

    def agents_write() -> None:
        id_, how = data.draw(st.sampled_from(blocks)), data.draw(st.sampled_from(["not", "add", "rewrite"]))
        lines = letta.blocks[id_]["value"].splitlines()
        if how == "add":
            added[id_].append(f"An agent adds {sum(map(len, added.values()))}.")
            letta.blocks[id_]["value"] = "\n".join([*lines, added[id_][-1], ""])
        elif how == "rewrite" and id_ not in rewritten:
            rewritten.add(id_)
            added[id_].insert(0, f"{lines[0]}, says an agent")
            letta.blocks[id_]["value"] = "\n".join([added[id_][0], *lines[1:], ""])
        _stand(letta, added)

    runs: list[str] = []
    for item in data.draw(st.permutations(items))[: data.draw(st.integers(1, len(items)))]:
        agents_write()
        signed = approve(store, slug, plan.plan_hash, approver="mara", items=[item], force=True, note="a test")
        runs.append(apply_approval(store, signed.id).run_id)
        _stand(letta, added)
    stale = ask(
        store, "SELECT reason FROM night.plan_items WHERE plan_hash = %s AND status = 'skipped_stale'", plan.plan_hash
    )
    assert all(any(id_ in str(reason) for id_ in rewritten) for (reason,) in stale)
    for run in data.draw(st.permutations(runs)):
        agents_write()
        refused = _undone(store, run)
        assert not refused or any(id_ in refused for id_ in rewritten)
        _stand(letta, added)
    for id_ in set(blocks) - rewritten:
        assert letta.values()[id_] == before[id_] + "".join(f"{line}\n" for line in added[id_])


def _undone(store: Store, run: str) -> str:
    """Why it was not."""
    try:
        undo_run(store, run)
    except UndoBlocked as problem:
        return str(problem)
    return ""


def _stand(letta: LettaServer, added: dict[str, list[str]]) -> None:
    """Every line of an agent stands in its block once, in their order."""
    for id_, lines in added.items():
        assert [line for line in letta.values()[id_].splitlines() if " agent" in line] == lines
