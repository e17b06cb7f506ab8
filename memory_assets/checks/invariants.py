"""The invariants of ``slowwave.plans.approval`` as checks of ``night/applied``."""

from collections.abc import Callable, Iterator

import dagster as dg

from memory_assets.applied import applied
from memory_assets.checks.scope import namespaces_of
from slowwave.plans.approval import InvariantResult, changed_as_planned, event_chain, retired_endpoints
from slowwave.store.connect import Store
from slowwave.store.logins import Connection

INVARIANTS: dict[str, Callable[[Connection, str], InvariantResult]] = {
    "no_live_relationship_touches_a_retired_entity": retired_endpoints,
    "cells_changed_are_cells_planned": changed_as_planned,
    "event_chain_verifies": event_chain,
}


@dg.multi_asset_check(
    name="invariants",
    specs=[
        dg.AssetCheckSpec(name, asset=applied.key, description=(run.__doc__ or "").split("\n\n")[0])
        for name, run in INVARIANTS.items()
    ],
    can_subset=True,
)
def invariants(context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[dg.AssetCheckResult]:
    """Ask the database, for the run's namespace or for all."""
    chosen = {key.name for key in context.selected_asset_check_keys}
    names = namespaces_of(context, store)
    with store.connect("reader") as connection:
        for name, run in INVARIANTS.items():
            if name not in chosen:
                continue
            answers = {namespace: run(connection, namespace) for namespace in names}
            broken = [f"{namespace}: {answer.sentence}" for namespace, answer in answers.items() if not answer.holds]
            yield dg.AssetCheckResult(
                check_name=name,
                asset_key=applied.key,
                passed=not broken,
                description=" ".join(broken or [a.sentence for a in answers.values()])[:2000],
                metadata={
                    "namespaces": len(answers),
                    "looked_at": sum(answer.looked_at for answer in answers.values()),
                    "wrong": sum(answer.wrong for answer in answers.values()),
                },
            )
