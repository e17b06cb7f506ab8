"""``proposals_job``: what agents proposed in one namespace is sealed as plans that wait. How belongs to ``slowwave.wiki.proposals``."""

import dagster as dg

from memory_assets.partitions import namespaces
from memory_assets.proposals import PROPOSALS
from resources.store import STORE_PROBLEMS, error_text
from slowwave.store.connect import Store


@dg.op
def settle_proposals(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """Seal each proposal as a plan that waits for approval, and approve or reject what tokens decided. Nothing is applied."""
    from slowwave.wiki.proposals import settle

    try:
        done = settle(store, context.partition_key, wait=60.0)
    except STORE_PROBLEMS as problem:
        raise dg.Failure(error_text(problem), allow_retries=False) from None
    counts = {name: len(getattr(done, name)) for name in ("sealed", "refused", "signed", "rejected")}
    context.log_event(dg.AssetMaterialization(PROPOSALS, metadata=counts, partition=context.partition_key))


@dg.job(
    partitions_def=namespaces,
    executor_def=dg.in_process_executor,
    description="Seal what agents proposed in one namespace as plans that wait for approval. The sensor open_proposals starts it.",
)
def proposals_job() -> None:
    """One op."""
    settle_proposals()
