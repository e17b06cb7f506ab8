"""Proposals: items that a user requested, at run time or in a separate pass, sealed as a plan like a night's.

Such a plan is proven, diffed, decided, applied and undone like any other. It never replaces a pending plan of a night, nor is it replaced
by one: changes of a night in between make the items stale that depend on the changed data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from slowwave.errors import Refused
from slowwave.night.night import make_plan, read_inputs
from slowwave.night.runs import Night, begin, completed, ending, expiry, open_stream, report_done
from slowwave.night.sinks import Callback
from slowwave.night.snapshot import snapshot_of_night
from slowwave.operations import Inputs, Proposal
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store
from slowwave.store.runs import beating

Propose = Callable[[Inputs], Proposal]
"""A function that, like a planner, proposes items of one operation with its report, from a fresh snapshot."""


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
    """Seal what ``propose`` proposes for a fresh snapshot, all of it items of ``operation``, which permits them.

    ``of`` names the subject: a pending plan of the same operation and name is superseded, and no other. Items that were rejected or
    undone are left out as long as the data that they depend on is unchanged. If nothing is left, the plan is ``empty`` and asks no one.
    ``by`` is sealed with it as its author, and may not approve it if the rule of the namespace excludes authors. Raises as ``run_night``
    does; ``wait`` is the number of seconds for which another run may hold the namespace.

    With ``after``, the plan is made from what that function makes of the snapshot: the state in which answers that are not applied yet
    leave memory. Its items are stale until those answers are applied.
    """
    asked = {"proposal": {"operation": operation, "of": of}}
    run_id = begin(store, namespace, trigger=trigger, parameters=asked, wait=wait)
    stream, began = open_stream(store, run_id, namespace, callbacks), time.monotonic()
    with ending(store, run_id, stream, began, cancels=Refused):  # what was asked for cannot be: no night has failed
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
