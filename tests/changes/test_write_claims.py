"""``write_claims``: what is said of a subject comes as one change, and goes again exactly."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.cells import CLAIMS, Cell, Guard, Insert, Value, Write
from slowwave.changes.mutation import Mutation, check
from slowwave.changes.simulate import simulate
from slowwave.errors import Refused, UndoBlocked
from slowwave.search.request import settings_of
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from slowwave.wiki.claims.planned_claims import NewSubject, PlannedClaim, SubjectClaims, planned_claims
from slowwave.wiki.claims.remember import remember
from slowwave.wiki.claims.request import RememberRequest
from slowwave.wiki.claims.trail import SubjectHistoryRequest, subject_history
from slowwave.wiki.corpus.planned_pages import PlannedPage
from tests.changes.test_properties import apply, plan, undo
from tests.changes.test_write_page import embed
from tests.memories import ask
from tests.snapshots import make_snapshot
from tests.wiki.claims import tell
from tests.wiki.corpus.pages import put
from tests.worlds import MODEL, World, assert_same, few, load_world, make_world, worlds

KINDS = ["fact", "preference", "state", "decision", "note"]


def groups(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
    """New subjects and known ones, of whom something is said, ended, contradicted or said again, some with a page."""
    live = snapshot.live("memories")
    claims = live.filter(pc.and_(pc.equal(live["kind"], "claim"), pc.is_null(live["valid_to"])))["id"].to_pylist()
    earlier = timedelta(days=0 if claims else 1)
    r.shuffle(claims)
    known = snapshot.live("entities")
    subjects: list[str | NewSubject] = [*known["id"].filter(pc.equal(known["state"], "active")).to_pylist()]
    there = set(snapshot.table("entities")["external_id"].to_pylist())
    names = [f"project:rowan-{n}" for n in range(4) if f"project:rowan-{n}" not in there]
    subjects += [NewSubject(ref, ref.title(), ("Rowan", ref)[: r.randrange(3)]) for ref in names]
    found: list[SubjectClaims] = []
    for n, subject in enumerate(r.sample(subjects, min(len(subjects), 3))):
        said: list[PlannedClaim] = []
        for k in range(r.randint(1, 3)):
            since = snapshot.taken_at - earlier - timedelta(microseconds=r.randrange(10**3))
            closes = (claims.pop(),) if claims and r.random() < 0.5 else ()
            against = (claims.pop(),) if claims and r.random() < 0.3 else ()
            kind = r.choice(KINDS)
            said.append(
                PlannedClaim(
                    kind, f"Said {n}.{k} with ü.", since, closes=closes, contradicts=against, agent="deep", reason="why"
                )
            )
        if claims and r.random() < 0.6:
            said.append(
                PlannedClaim("fact", "Said again.", snapshot.taken_at, supports=claims.pop(), quote="Said again.")
            )
        text = f"---\ntitle: Rowan {n}\ntype: source\n---\n\nSaid {n}.0 with ü. Said again.\n"
        root = r.choice(["pages:", "evidence:"])
        page = PlannedPage(f"sources/semantic/2026/05/04/rowan-{n}-{snapshot.change_counter}.md", text, root)
        found.append(SubjectClaims(subject, tuple(said), (page,) if r.random() < 0.7 else ()))
    return planned_claims(snapshot, Settings(), embed if r.random() < 0.8 else None, found)


@few
@given(world=worlds(most=3), r=st.randoms(use_true_random=False))
def test_what_was_simulated_is_what_happens_once_and_undo_takes_it_back(store: Store, world: World, r: Random) -> None:
    """Claims, then others that end them: simulated = stored, twice = once, undone = never, one by one in any order."""
    load_world(store, world)
    digests, done = [digest(store, world.slug)], list[list[str]]()
    for _ in range(2):
        snapshot, items = plan(store, world, groups, r)
        r.shuffle(items)
        runs = [apply(store, world, [item]) for item in items]
        assert all(stale == {} for _, stale in runs)
        assert_same(export_snapshot(store, world.slug, model=MODEL), simulate(snapshot, items), items)
        digests.append(digest(store, world.slug))
        _, stale = apply(store, world, items)
        assert stale.keys() >= {i.id for i in items if i.mutation.writes}  # what only inserts finds its own rows
        assert digest(store, world.slug) == digests[-1], "applied twice = applied once"
        done.append(r.sample([run for run, _ in runs], len(runs)))
    for runs_, before, after in zip(reversed(done), reversed(digests[:-1]), reversed(digests[1:]), strict=True):
        backs = [undo(store, world, run)[0] for run in runs_]
        assert digest(store, world.slug) == before
        again = [undo(store, world, back)[0] for back in backs]
        assert digest(store, world.slug) == after
        for run in again:
            undo(store, world, run)
        assert digest(store, world.slug) == before


def test_claims_by_day_and_by_plan_are_one_history(store: Store) -> None:
    """A plan ends what an agent said; what an agent then says of the plan's claim keeps the plan from being undone."""
    world = make_world(Random(3), 3)
    load_world(store, world)
    first = tell(store, "Rowan is planned.", "project:rowan", world.slug, kind="state", role="owner")

    def ended(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
        (entity,) = snapshot.table("entities").filter(
            pc.equal(snapshot.table("entities")["external_id"], "project:rowan")
        )["id"]
        claim = PlannedClaim("state", "Rowan is live.", snapshot.taken_at, closes=(str(first.claim_id),))
        return planned_claims(snapshot, Settings(), None, [SubjectClaims(entity.as_py(), (claim,))])

    before = digest(store, world.slug)
    _, items = plan(store, world, ended, Random(1))
    run, stale = apply(store, world, items)
    assert stale == {}
    with store.connect("owner") as connection:
        events = connection.execute(
            "SELECT event FROM memory.claim_events WHERE claim_id = %s ORDER BY recorded_at", (first.claim_id,)
        ).fetchall()
        assert events == [("added",), ("replaced",)]
    assert apply(store, world, items)[1].keys() == {items[0].id}
    back, _ = undo(store, world, run)
    assert digest(store, world.slug) == before
    again, _ = undo(store, world, back)
    tell(store, "Rowan is live.", "project:rowan", world.slug, kind="state", role="owner")
    with pytest.raises(UndoBlocked, match="memories"):
        undo(store, world, again)


def test_a_subject_that_agents_spoke_of_since_is_not_taken_back(store: Store) -> None:
    """Their claims would be about nobody; without them it goes, and a mention of it in a page with it."""
    world = make_world(Random(3), 3)
    load_world(store, world)

    def made(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
        group = SubjectClaims(
            NewSubject("project:heron", "Heron"), (PlannedClaim("fact", "It is grey.", snapshot.taken_at),)
        )
        return planned_claims(snapshot, Settings(), None, [group])

    _, items = plan(store, world, made, Random(1))
    run, _ = apply(store, world, items)
    put(store, content="Heron stands in the tide.", namespace=world.slug)
    back, _ = undo(store, world, run)
    again, _ = undo(store, world, back)
    tell(store, "Heron waits for nobody else.", "project:heron", world.slug, role="owner")
    with pytest.raises(UndoBlocked, match=r"memories\.attributes"):
        undo(store, world, again)


def test_what_ended_before_it_was_told_names_what_ended_it(store: Store) -> None:
    """A claim that stands, or one that comes with it: what became of a claim is told of a plan's as of one that was said by day."""
    world = make_world(Random(3), 3)
    load_world(store, world)
    live = str(tell(store, "Rowan is live.", "project:rowan", world.slug, kind="state", role="owner").claim_id)
    before = digest(store, world.slug)

    def late(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
        table = snapshot.table("entities")
        (rowan,) = table.filter(pc.equal(table["external_id"], "project:rowan"))["id"].to_pylist()
        memories = snapshot.table("memories")
        (since,) = memories.filter(pc.equal(memories["id"], live))["valid_from"].to_pylist()
        first = PlannedClaim(
            *("state", "Rowan is planned.", since - timedelta(days=9)),
            until=since - timedelta(days=4),
            ended_by="Rowan is built.",
        )
        then = PlannedClaim("state", "Rowan is built.", since - timedelta(days=4), until=since, ended_by=live)
        with pytest.raises(Refused, match="what is to end it"):
            planned_claims(snapshot, Settings(), None, [SubjectClaims(rowan, (replace(then, ended_by="Nothing."),))])
        return planned_claims(snapshot, Settings(), None, [SubjectClaims(rowan, (first, then))])

    _, items = plan(store, world, late, Random(1))
    run, stale = apply(store, world, items)
    assert stale == {}
    with store.connect("reader") as connection:
        found = subject_history(connection, world.slug, SubjectHistoryRequest(subject="project:rowan")).claims
    of = {c.statement: c for c in found}
    ends = {s: [e.other_id for e in c.events if e.event == "replaced"] for s, c in of.items()}
    assert ends == {
        "Rowan is planned.": [of["Rowan is built."].id],
        "Rowan is built.": [live],
        "Rowan is live.": [],
    }
    undo(store, world, run)
    assert digest(store, world.slug) == before


def said_of_rowan(kind: str, statement: str, **more: Any) -> Callable[[Snapshot, World, Random], list[Mutation]]:
    """A plan that says one thing of a subject that is there."""

    def build(snapshot: Snapshot, world: World, r: Random) -> list[Mutation]:
        entities = snapshot.table("entities")
        (entity,) = entities.filter(pc.equal(entities["external_id"], "project:rowan"))["id"].to_pylist()
        claim = PlannedClaim(kind, statement, snapshot.taken_at, **more)
        return planned_claims(snapshot, Settings(), None, [SubjectClaims(entity, (claim,))])

    return build


def told_of_rowan(store: Store, world: World, statement: str, **more: Any) -> str:
    return str(tell(store, statement, "project:rowan", world.slug, role="owner", **more).claim_id)


def test_of_two_plans_about_a_subject_the_second_is_stale(store: Store) -> None:
    """Neither knows what the other says, so they would stand side by side unmarked. About another subject both apply."""
    world = make_world(Random(3), 3)
    load_world(store, world)
    told_of_rowan(store, world, "Rowan is green.")
    tell(store, "Heron is grey.", "project:heron", world.slug, role="owner")
    _, oslo = plan(store, world, said_of_rowan("fact", "Rowan lives in Oslo."), Random(1))
    _, bergen = plan(store, world, said_of_rowan("fact", "Rowan lives in Bergen."), Random(1))
    run, stale = apply(store, world, oslo)
    assert stale == {}
    assert list(apply(store, world, bergen)[1]) == [bergen[0].id]
    undo(store, world, run)
    assert apply(store, world, bergen)[1] == {}, "what was undone is no longer said"


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "meanwhile", ["Rowan is cancelled.", "Rowan is in test.", "forgotten", "said again", "of another subject"]
)
def test_what_is_said_by_day_of_a_subject_makes_a_plan_about_it_stale(
    store: Store, meanwhile: str, known: bool
) -> None:
    """Another state, the same one, or a claim that was forgotten; more evidence of what the plan saw does not."""
    world = make_world(Random(3), 3)
    load_world(store, world)
    first = told_of_rowan(store, world, "Rowan is planned.", kind="state")
    _, items = plan(
        store, world, said_of_rowan("state", "Rowan is in test.", closes=(first,) if known else ()), Random(1)
    )
    before = ask(store, "SELECT count(*) FROM memory.memories WHERE kind = 'claim'")
    match meanwhile:
        case "forgotten":
            told_of_rowan(store, world, "", action="forget", claim_ids=[first], reason="Asked.")
        case "said again":
            told_of_rowan(store, world, "Rowan is planned.", kind="state")
        case "of another subject":
            tell(store, "Heron is grey.", "project:heron", world.slug, role="owner")
        case _:
            told_of_rowan(store, world, meanwhile, kind="state")
    _, stale = apply(store, world, items)
    assert (stale == {}) is (meanwhile in ("said again", "of another subject"))
    assert (before == ask(store, "SELECT count(*) FROM memory.memories WHERE kind = 'claim'")) is (
        meanwhile == "forgotten"
    )


def test_a_plan_waits_for_what_is_being_said_of_its_subject(store: Store) -> None:
    """An agent's statement that is not committed yet is seen once it is: apply waits for the subject, not for rows that are not there."""
    world = make_world(Random(3), 3)
    load_world(store, world)
    told_of_rowan(store, world, "Rowan is planned.", kind="state")
    _, items = plan(store, world, said_of_rowan("fact", "Rowan lives in Oslo."), Random(1))
    request = RememberRequest(content="Rowan lives in Bergen.", subject="project:rowan")
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"
    with ThreadPoolExecutor(1) as pool, store.connect("owner") as day:
        with day.transaction():
            remember(day, world.slug, request, settings_of(day, world.slug))
            applied = pool.submit(apply, store, world, items)
            while not applied.done() and ask(store, waiting) == [(0,)]:
                wait([applied], timeout=0.02)
        _, stale = applied.result()
    assert [*stale] == [items[0].id]


def test_a_claim_rests_on_what_still_stands(store: Store) -> None:
    """Evidence that was forgotten since the plan carries no claim."""
    world = make_world(Random(3), 3)
    load_world(store, world)
    first = told_of_rowan(store, world, "Rowan is planned.", kind="state")
    said = tell(store, "Heron nests by Rowan.", "project:heron", world.slug, role="owner")
    ((evidence,),) = ask(
        store, f"SELECT source_document_ids[1]::text FROM memory.memories WHERE id = '{said.claim_id}'"
    )
    for more in ({}, {"supports": first}):
        build = said_of_rowan("fact", "Rowan has a heron.", documents=(str(evidence),), **more)
        _, items = plan(store, world, build, Random(1))
        assert any(g.row == evidence for g in items[0].mutation.guards)
    tell(store, "", "project:heron", world.slug, role="owner", action="forget", reason="Asked.")
    assert [*apply(store, world, items)[1]] == [items[0].id]


def test_what_does_not_stand_is_refused(store: Store) -> None:
    """A claim is ended once, where it holds; a retired subject, a reference that is taken, and what screening refuses are no plan."""
    world = make_world(Random(3), 3)
    load_world(store, world)
    first = str(tell(store, "Rowan is planned.", "project:rowan", world.slug, kind="state", role="owner").claim_id)
    snapshot = export_snapshot(store, world.slug, model=MODEL)
    now, new = snapshot.taken_at, NewSubject("project:heron", "Heron")
    ends = PlannedClaim("state", "Rowan is live.", now, closes=(first,))
    secret = PlannedClaim("fact", "The key is AKIA" + "Q7RZ4KPLM2XW9TNB.", now)
    refused = {
        "already": SubjectClaims(NewSubject("project:rowan", "Rowan"), (ends,)),
        "twice": SubjectClaims(new, (ends, ends)),
        "does not hold": SubjectClaims(new, (PlannedClaim("state", "x", now - timedelta(days=9), closes=(first,)),)),
        "no reference": SubjectClaims(NewSubject("Rowan", "Rowan"), (ends,)),
        "screening refuses": SubjectClaims(new, (secret,)),
        "begun": SubjectClaims(new, (PlannedClaim("fact", "x", now + timedelta(days=1)),)),
        "Nothing is said": SubjectClaims(new, ()),
    }
    for why, group in refused.items():
        with pytest.raises(Refused, match=why):
            planned_claims(snapshot, Settings(), None, [group])


def test_a_claim_that_was_not_weighed_against_others_is_refused(store: Store) -> None:
    """By its cells alone: what says something of a subject holds what is said of it already."""
    world = make_world(Random(3), 3)
    load_world(store, world)
    told_of_rowan(store, world, "Rowan is planned.", kind="state")
    _, (item,) = plan(store, world, said_of_rowan("fact", "Rowan lives in Oslo."), Random(1))
    loose = replace(item.mutation, guards=tuple(g for g in item.mutation.guards if CLAIMS not in g.columns))
    check(item.mutation)
    with pytest.raises(Refused, match="of which it does not hold what is said"):
        check(loose)


def inserted(table: str, row: str = "", key: str = "", **values: Value) -> Callable[[Mutation], Mutation]:
    """One row more that it would insert."""
    return lambda m: replace(m, inserts=(*m.inserts, Insert(table, values, row, key)))


def ended(column: str, value: Value, **held: Value) -> Callable[[Mutation], Mutation]:
    """A cell of a memory that it would write too, of which it holds what is said."""
    row = str(uuid.uuid4())
    guard = Guard.on("memories", row, held, held)
    write = Write(Cell("memories", row, column), "set", None, value)
    return lambda m: replace(m, writes=(*m.writes, write), guards=(*m.guards, guard))


LATER = "2026-01-01T00:00:00+00:00"
CLAIM: dict[str, Value] = {"kind": "claim", "invalidated_at": None}
FORGED: dict[str, tuple[str, Callable[[Mutation], Mutation]]] = {
    "a memory": ("may make no memory but claims", lambda m: changed(m, "memories", kind="semantic")),
    "an archived claim": ("retired row of memories", lambda m: changed(m, "memories", state="archived")),
    "a retired claim": ("retired row of memories", lambda m: changed(m, "memories", invalidated_at=LATER)),
    "a merged subject": ("retired row of entities", lambda m: changed(m, "entities", state="merged")),
    "a subject of an import": ("may not make a subject", lambda m: changed(m, "entities", source="import")),
    "a subject without a reference": ("may not make a subject", lambda m: changed(m, "entities", external_id="Rowan")),
    "a subject without a name": (
        "may not make a subject",
        lambda m: replace(m, inserts=tuple(replace(i, row="") if i.table == "entities" else i for i in m.inserts)),
    ),
    "a name for another": ("may name no subject", lambda m: changed(m, "entity_aliases", entity_id=str(uuid.uuid4()))),
    "a vector for another subject": (
        "may give no subject a vector",
        inserted("entity_vectors", str(uuid.uuid4()), MODEL, vector="AAAAAA=="),
    ),
    "a text for another": (
        "may give no memory a text",
        inserted("memory_versions", memory_id=str(uuid.uuid4()), content="x"),
    ),
    "a vector for another": (
        "may give no memory a vector",
        inserted("memory_vectors", str(uuid.uuid4()), MODEL, vector="AAAAAA=="),
    ),
    "an event of another": (
        "may note an event of no claim",
        inserted("claim_events", claim_id=str(uuid.uuid4()), event="added"),
    ),
    "an event of none": ("may note an event of no claim", inserted("claim_events", event="added")),
    "an event of another kind": ("may note an event", lambda m: changed(m, "claim_events", event="retired")),
    "the end of what it does not hold": ("may not write memory", ended("valid_to", LATER)),
    "the end of what is no claim": (
        "may not write memory",
        ended("valid_to", LATER, kind="semantic", invalidated_at=None),
    ),
    "the end of what is retired": (
        "may not write memory",
        ended("valid_to", LATER, kind="claim", invalidated_at=LATER),
    ),
    "the end of what may be retired": ("may not write memory", ended("valid_to", LATER, kind="claim")),
    "a claim opened again": ("may not open claim", ended("valid_to", None, **CLAIM)),
    "a state": ("may not write memories.state", ended("state", "archived", **CLAIM)),
}


def changed(mutation: Mutation, table: str, **values: Value) -> Mutation:
    """The mutation with other values in the rows that it inserts into a table."""
    inserts = (replace(i, values={**i.values, **values}) if i.table == table else i for i in mutation.inserts)
    return replace(mutation, inserts=tuple(inserts))


@pytest.mark.parametrize(("why", "forge"), FORGED.values(), ids=FORGED)
def test_a_forged_claim_is_refused(why: str, forge: Callable[[Mutation], Mutation]) -> None:
    """By its cells alone: it makes claims and their subject, and touches no memory that its guards do not hold to be a claim."""
    snapshot = make_snapshot()
    claim = PlannedClaim("state", "Rowan is live.", snapshot.taken_at)
    group = SubjectClaims(NewSubject("project:rowan", "Rowan", ("The rowan",)), (claim,))
    (mutation,) = planned_claims(snapshot, Settings(), None, [group])
    check(mutation)
    with pytest.raises(Refused, match=why):
        check(forge(mutation))
    check(ended("valid_to", LATER, **CLAIM)(mutation))
