"""``deep_job``: one deep pass of one namespace, unless a gate is closed. What that is belongs to ``slowwave.wiki.deep.run``."""

import dagster as dg

from memory_assets.partitions import namespaces
from resources.store import STORE_PROBLEMS, error_text
from slowwave.store.connect import Store


@dg.op
def deep_pass_of_namespace(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """Let a model work on a scratch copy, and seal its changes as a plan for a person.

    A closed gate is not a failure; a change outside the scratch copy is.
    """
    from slowwave.surfaces.api.outcomes import deep_now

    try:
        found = deep_now(
            context.partition_key,
            "the weekly schedule",
            store=store,
            force=False,
            trigger="schedule",
            dagster_run_id=context.run_id,
        )
    except STORE_PROBLEMS as problem:
        raise dg.Failure(error_text(problem), allow_retries=False) from None
    metadata = {"outcome": found.outcome, "gate": found.gate, "run_id": found.run_id, "plan_hash": found.plan_hash}
    context.add_output_metadata({name: value for name, value in metadata.items() if value})
    context.log.info(f"{found.namespace}: {found.outcome}. {found.message}")
    if found.outcome in ("errored", "timed_out", "escape_audit"):
        raise dg.Failure(found.message[:2000], allow_retries=False)


@dg.job(
    executor_def=dg.in_process_executor,
    partitions_def=namespaces,
    description="A deep pass of one namespace: a model works on a scratch copy, and what comes of it is a plan that waits. Off by default.",
)
def deep_job() -> None:
    """One op."""
    deep_pass_of_namespace()
