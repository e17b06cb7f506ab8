"""``retention_job``: what is past its retention goes, in every namespace. What that is belongs to ``slowwave.night.retention``."""

import dagster as dg

from resources.store import STORE_PROBLEMS, error_text
from slowwave.night.retention import retain
from slowwave.night.run_events import in_words
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespace_settings, namespaces


@dg.op
def remove_expired(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """One namespace after the other; one that cannot be read does not keep the others waiting."""
    total: dict[str, int] = {}
    failed: list[str] = []
    try:
        names = namespaces(store)
    except STORE_PROBLEMS as problem:
        raise dg.Failure(error_text(problem)) from None
    for name in names:
        try:
            with store.connect("reader") as connection:
                settings = namespace_settings(connection, name)
            removed = retain(store, name, settings)
        except STORE_PROBLEMS as problem:
            failed.append(f"{name}: {error_text(problem)}")
            continue
        except Exception as problem:  # noqa: BLE001 - the other namespaces follow, whatever it is
            failed.append(f"{name}: {in_words(problem, 'all')}.")
            continue
        if any(removed.values()):
            context.log.info(f"{name}: {', '.join(f'{n:,} {what}' for what, n in removed.items() if n)} removed.")
        total = {what: total.get(what, 0) + n for what, n in removed.items()}
    context.add_output_metadata({"namespaces": len(names), **total})
    if failed:
        raise dg.Failure(" ".join(failed)[:2000], allow_retries=False)


@dg.job(
    executor_def=dg.in_process_executor,
    description="Remove what is past its retention: report files, findings, token counts, items nobody will decide, before-images.",
)
def retention_job() -> None:
    """One op."""
    remove_expired()
