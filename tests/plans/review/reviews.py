"""A world whose plan asks: pairs of entities for review, memories to archive that need no person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from slowwave.night.night import run_night
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredPlan, read_plan
from slowwave.plans.seal import Plan
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from tests.memories import ago, ask, remember
from tests.nights import archive_items, pair_items, write_a_plan
from tests.worlds import World, load_world, make_world


@dataclass(frozen=True)
class Review:
    """A plan that waits: ids of the items that ask, and of those that need no person."""

    store: Store
    world: World
    plan: Plan
    asked: list[str]
    decided: list[str]

    @property
    def slug(self) -> str:
        return self.world.slug

    @property
    def hash(self) -> str:
        return self.plan.plan_hash

    def stored(self) -> StoredPlan:
        with self.store.connect("reader") as connection:
            return read_plan(connection, self.hash)

    def statuses(self) -> dict[str, str]:
        return {s.id: s.status for s in self.stored().items}

    def rows(self, table: str) -> int:
        ((n,),) = ask(
            self.store, f"SELECT count(*) FROM night.{table} WHERE namespace_id = '{self.world.namespace_id}'"
        )
        return int(str(n))


def asking(store: Store, seed: int = 7, *, expiry_days: int = 7) -> Review:
    """At least three pairs to ask about and one item that needs nobody."""
    world, snapshot = _loaded(store, seed, 12, 6)
    pairs: list[Item] = [
        replace(item, decision="review", risk="high", probability=p)
        for item, p in zip(pair_items(snapshot), (0.5, 0.9, 0.2, 0.7, 0.6, 0.4), strict=False)
    ]
    _, plan = write_a_plan(store, world, items=[*pairs, *archive_items(snapshot)], expiry_days=expiry_days)
    asked = [i.id for i in plan.items if i.decision == "review"]
    return Review(store, world, plan, asked, [i.id for i in plan.items if i.decision != "review"])


def asking_alike(store: Store, pairs: int) -> Review:
    """So many pairs whose evidence is the same in all, at least: the names differ in one word."""
    world, snapshot = _loaded(store, 7, 8 * pairs, 2 * pairs)
    step = {"evidence": "name", "weight": 2.0, "level": "contained", "detail": "One name says more"}
    items = [
        replace(
            item,
            decision="review",
            risk="high",
            probability=0.88,
            evidence={"waterfall": [step], "names": [f"Suite {k}", f"Suite {k} Windows"]},
        )
        for k, item in enumerate(pair_items(snapshot))
    ]
    _, plan = write_a_plan(store, world, items=items)
    return Review(store, world, plan, [i.id for i in plan.items], [])


def _loaded(store: Store, seed: int, most: int, live: int) -> tuple[World, Snapshot]:
    """The next world from a seed on that has so many live entities and a memory, in the store."""
    while True:
        world = make_world(Random(seed), most)
        if sum(e["invalidated_at"] is None for e in world.rows["entities"]) >= live and world.rows["memories"]:
            break
        seed += 1
    load_world(store, world)
    return world, export_snapshot(store, world.slug)


def asking_of_a_kind(store: Store, pairs: int, *, conflict: int = 0) -> Review:
    """So many pairs at least whose names differ by an initial and whose e-mail is equal; of the first ``conflict`` the phones differ."""
    world, snapshot = _loaded(store, 7, 8 * pairs, 2 * pairs)
    return Review(store, world, write_a_plan(store, world, items=alike_by_initial(snapshot, conflict))[1], [], [])


def alike_by_initial(snapshot: Snapshot, conflict: int = 0) -> list[Item]:
    """Pairs of entities for review with the evidence of one kind, each likelier than the one before it."""
    made: list[Item] = []
    for k, item in enumerate(pair_items(snapshot)):
        steps: list[dict[str, object]] = [
            {
                "evidence": "prior",
                "weight": -3.0,
                "detail": f"Of the pairs that were looked at, about one in {k + 20} is a match",
            },
            {"evidence": "name", "weight": 2.0, "level": "initials", "detail": "The names agree but for an initial"},
            {"evidence": "email", "weight": 4.0, "detail": "The values of email are equal", "value": f"{k}@x | {k}@x"},
        ]
        if k < conflict:
            steps.append(
                {"evidence": "phone", "weight": -2.0, "detail": "The values of phone differ", "value": "1 | 2"}
            )
        evidence = {
            "waterfall": steps,
            "names": [f"Mara {k} Reyes", f"M. {k} Reyes"],
            "reason": "The evidence is short.",
        }
        made.append(replace(item, decision="review", risk="high", probability=0.5 + k / 100, evidence=evidence))
    return made


SHIPS = tuple(
    f"{start}{end}"
    for start in ("Nor", "Sil", "Bel", "Tar", "Oss", "Gal", "Wim")
    for end in ("ander", "mouth", "iport", "ekken", "owina", "ulas")
)
"""Names that share no word, so that no two ships are taken for one subject."""

CAPTAINS = """
SELECT v.content FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
WHERE m.valid_to IS NULL AND m.invalidated_at IS NULL
"""


def captains(
    store: Store,
    pairs: int,
    *,
    ties: int = 0,
    posts: Sequence[str] = ("captain",),
    settings: dict[str, object] | None = None,
) -> StoredPlan:
    """Return the plan of a night over ``acme``: so many ships whose captain changed from Ada to Otto, and ships with two at one time.

    With several ``posts``, the ships have one of them in turn.
    """
    memories: list[dict[str, object]] = []
    versions: list[dict[str, object]] = []
    for n, ship in enumerate(SHIPS[: pairs + ties]):
        for name, day in (("Ada", 30), ("Otto", 30 if n >= pairs else 10)):
            id_ = f"{ship} {name}"
            memories.append(
                {
                    "id": id_,
                    "kind": "observation",
                    "current_version_id": f"{id_} v",
                    "valid_from": ago(day),
                    "recorded_at": ago(day),
                }
            )
            text = f"The {posts[n % len(posts)]} of the {ship} is {name}."
            versions.append({"id": f"{id_} v", "memory_id": id_, "ordinal": 1, "content": text})
    remember(store, "acme", settings, memories=memories, memory_versions=versions)
    night = run_night(store, "acme", ops="contradictions,resolve_conflicts", force=True)
    assert night.plan is not None
    with store.connect("reader") as connection:
        return read_plan(connection, night.plan.plan_hash)


def courtesies(store: Store, count: int) -> None:
    """Write thanks of an earlier year, which are small talk alone, and eight other memories."""
    texts = [f"Thank you so much{'!' * n}" for n in range(1, count + 1)]
    texts += [f"Room {100 + n} has {n} windows." for n in range(8)]
    rows = {f"m{n:02}": (text, ago(300 - n)) for n, text in enumerate(texts)}
    remember(
        store,
        "acme",
        memories=[
            {"id": name, "kind": "episodic", "valid_from": start, "current_version_id": f"{name} v"}
            for name, (_, start) in rows.items()
        ],
        memory_versions=[{"id": f"{name} v", "memory_id": name, "content": text} for name, (text, _) in rows.items()],
    )
