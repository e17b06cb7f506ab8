"""``status_job``: the page of a morning goes to ``night/status``, and to a webhook where one is set. See ``slowwave.night.status``."""

import dagster as dg

from memory_assets.status import STATUS, status_metadata
from resources.store import STORE_PROBLEMS, error_text
from slowwave.night.delivery import endpoint
from slowwave.night.status import morning_page, send_page
from slowwave.store.connect import Store


@dg.op(out=dg.Out(dg.Nothing))
def record_status(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """Look at all namespaces."""
    try:
        page, statuses = morning_page(store)
    except STORE_PROBLEMS as problem:
        raise dg.Failure(error_text(problem), allow_retries=False) from None
    context.log_event(dg.AssetMaterialization(STATUS, metadata=status_metadata(page, statuses)))


@dg.op(ins={"recorded": dg.In(dg.Nothing)})
def send_status(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """Send the status page to the webhook if one is set and the schedule started the run."""
    if "dagster/schedule_name" not in context.run.tags:
        return
    try:
        if endpoint("status") is not None:
            context.log.info(f"Sent to {send_page(store, morning_page(store)[0])}.")
    except STORE_PROBLEMS as problem:
        raise dg.Failure(error_text(problem), allow_retries=False) from None


@dg.job(
    executor_def=dg.in_process_executor,
    description="How every namespace stands, as one page. A run of the schedule sends it to the webhook, if one is set.",
)
def status_job() -> None:
    """Materialize the status page, and send it. The page is in the UI even if the webhook fails."""
    send_status(recorded=record_status())
