"""Proposals: items that somebody asked for, by day or in a pass of its own, sealed as a plan like a night's.

It is proven, diffed, decided, applied and undone like any other. It never takes the place of a night's plan that waits, nor does a night's
take its: what a night changes meanwhile makes the items stale that rest on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from slowwave.night.night import make_plan, read_inputs
from slowwave.night.runs import Night, begin, completed, ending, expiry, open_stream, report_done
from slowwave.night.sinks import Callback
from slowwave.night.snapshot import snapshot_of_night
from slowwave.operations import Inputs, Proposal
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.runs import beating

Propose = Callable[[Inputs], Proposal]
"""What a planner is: items of one operation with its account, of a fresh snapshot."""


def seal_proposal(
    store: Store,
    namespace: str,
    operation: str,
    propose: Propose,
    *,
    of: str,
    trigger: str = "manual",
    callbacks: Sequence[Callback] = (),
    wait: float = 0.0,
    by: str = "",
    after: Callable[[Snapshot], Snapshot] | None = None,
) -> Night:
    """Seal what ``propose`` proposes of a fresh snapshot, all of it items of ``operation``, which permits them.

    ``of`` names what it is about: a plan of the same operation and name that still waits is superseded, and no other. What was rejected or
    undone is left out while what it rests on stands; with nothing left the plan is ``empty`` and asks nobody. ``by`` is sealed with it as
    whoever asked for it, and may not sign it where the rule of the namespace keeps authors out. Raises as ``run_night`` does; ``wait`` are
    seconds for which another run may hold the namespace. With ``after`` the plan is made of what that makes of the snapshot: the state in
    which answers that are not applied yet leave memory. Its items are stale until those are applied.
    """
    asked = {"proposal": {"operation": operation, "of": of}}
    run_id = begin(store, namespace, trigger=trigger, parameters=asked, wait=wait)
    stream, began = open_stream(store, run_id, namespace, callbacks), time.monotonic()
    with ending(store, run_id, stream, began):
        stream.started("plan", trigger)
        with beating(store, "planner", run_id, expiry(store, namespace)):
            with stream.phase("snapshot"):
                snapshot = snapshot_of_night(store, namespace)
                snapshot = after(snapshot) if after else snapshot
            inputs = read_inputs(store, snapshot, {}, run_id=run_id)
            with stream.phase("plan") as phase:
                made = propose(inputs)
                report_done(stream, "plan", made.report, len(made.items))
                phase.operations = 1
            with stream.phase("probe"):
                night = make_plan(store, run_id, inputs, {}, {operation: made}, ops=(), by=by)
        completed(stream, night, inputs, began)
        return night
