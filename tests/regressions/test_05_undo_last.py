"""Line 5: ``slowwave undo last`` undid the wrong run.

``last`` was the newest *completed* apply run of *any* namespace. Whoever saw an apply of one namespace break off and typed it took
back the work of another namespace, or an older run, and learnt it afterwards. Now it is the newest apply run of one namespace,
finished or not, which a store with several must be told, and what will be undone is said before it is.
"""

from __future__ import annotations

import json

import pytest

import slowwave
from slowwave.night.executor import apply_approval
from slowwave.plans.waiting import waiting_approvals
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from tests.dreamers import OPS, forgetful
from tests.memories import ask
from tests.nights import new_world, write_a_plan
from tests.permitting import approve
from tests.surfaces.cli.conftest import Run, run  # noqa: F401 - run is a fixture


def interrupted(store: Store, seed: int) -> tuple[str, str, str]:
    """An apply run whose process failed after its second item: its namespace, its id, and the digest before it."""
    world = new_world(store, seed)
    before = digest(store, world.slug)
    _, plan = write_a_plan(store, world)
    approval = approve(store, world.slug, plan.plan_hash, approver="mara")

    def fail(done: int, _total: int) -> None:
        if done == 2:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        apply_approval(store, approval.id, settings=Settings(batch_items=1), progress=fail)
    ((run_id,),) = ask(store, "SELECT id::text FROM night.runs WHERE state = 'crashed'")
    return world.slug, str(run_id), before


def applied(store: Store, slug: str) -> str:
    """A namespace in which an apply run was completed just now; its id."""
    forgetful(store, slug, rows=3)
    return slowwave.dream(slug, "apply", ops=OPS, approver="mara", store=store).run.run_id


def test_last_of_several_namespaces_is_asked_for(store: Store, run: Run) -> None:  # noqa: F811
    """Nobody's work is taken back by a guess; the refusal names who there is."""
    first, second = applied(store, "acme"), applied(store, "borealis")
    digests = digest(store, "acme"), digest(store, "borealis")
    code, _, err = run("undo", "last")
    assert code == 2
    assert "acme" in err
    assert "borealis" in err
    assert (digest(store, "acme"), digest(store, "borealis")) == digests
    with pytest.raises(slowwave.Refused, match="acme, borealis"):
        slowwave.dream_undo("last", store=store)
    code, _, err = run("undo", "acme")
    assert code == 2
    assert "slowwave undo acme last" in " ".join(err.split())
    code, out, _ = run("undo", "acme", "last")
    assert (code, first in out, second in out) == (0, True, False)
    assert digest(store, "borealis") == digests[1]
    assert slowwave.dream_undo("last", namespace="borealis", store=store).undo_of == second


def test_an_interrupted_run_is_the_last_one_and_is_taken_back_as_far_as_it_came(store: Store) -> None:
    """Where there is one namespace, the name alone will do; no sensor goes on with what was taken back."""
    slug, run_id, before = interrupted(store, 7)
    undone = slowwave.dream_undo("last", store=store)
    assert (undone.undo_of, len(undone.items)) == (run_id, 2)
    assert digest(store, slug) == before
    assert waiting_approvals(store) == []


def test_a_newer_run_of_another_namespace_does_not_stand_before_it(store: Store) -> None:
    """Nor does it change; the result says that the run was unfinished and is cancelled."""
    slug, run_id, before = interrupted(store, 7)
    applied(store, "acme")
    elsewhere = digest(store, "acme")
    assert [name for _, name in waiting_approvals(store)] == [slug]
    undone = slowwave.dream_undo("last", namespace=slug, store=store)
    assert (undone.undo_of, len(undone.items), undone.cancelled) == (run_id, 2, True)
    assert digest(store, slug) == before
    assert digest(store, "acme") == elsewhere
    assert waiting_approvals(store) == []


def test_what_will_be_undone_is_said_first(store: Store, run: Run) -> None:  # noqa: F811
    """Run, namespace, instant and items by operation, in words and in the API, before anything changes."""
    run_id = applied(store, "acme")
    applied(store, "borealis")
    told: list[slowwave.Undoing] = []
    standing: list[bool] = []

    def announce(about: slowwave.Undoing) -> None:
        told.append(about)
        standing.append(digest(store, "acme") == after)

    after = digest(store, "acme")
    slowwave.dream_undo("last", namespace="acme", announce=announce, store=store)
    assert [(a.run_id, a.namespace, a.state, dict(a.operations)) for a in told] == [
        (run_id, "acme", "completed", {OPS: 3})
    ]
    assert standing == [True]
    _, out, _ = run("undo", "borealis", "last")
    said, done = out.splitlines()[:2]
    assert all(part in said for part in ("borealis", f"3 of {OPS}", "UTC"))
    assert "undid 3 items" in done


def test_a_run_of_another_namespace_is_refused(store: Store, run: Run) -> None:  # noqa: F811
    """A pasted id of the wrong namespace is found by the namespace that stands beside it."""
    run_id = applied(store, "acme")
    applied(store, "borealis")
    before = digest(store, "acme")
    code, _, err = run("undo", "borealis", run_id)
    assert (code, "acme" in err) == (2, True)
    assert digest(store, "acme") == before
    code, out, _ = run("undo", run_id[:8], "--json")
    assert (code, json.loads(out)["operations"]) == (0, {OPS: 3})


def test_last_is_asked_for_wherever_a_run_is_changed(store: Store, run: Run) -> None:  # noqa: F811
    """Cancelling and pausing another namespace's run is the same slip; going on with the last run is that of the namespace."""
    applied(store, "acme")
    applied(store, "borealis")
    for verb in ("cancel", "pause", "resume"):
        code, _, err = run("runs", verb, "last")
        assert (code, "borealis" in err) == (2, True), verb
    resumed = slowwave.dream("acme", resume_from="last", store=store)
    assert resumed.run.namespace == "acme"
