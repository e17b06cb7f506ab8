"""``undo_job``: an apply run is taken back, whole or item by item. Undoing belongs to ``slowwave.night.undo``."""

import re
from typing import Final

import dagster as dg

from memory_assets.applied import APPLIED
from resources.store import STORE_PROBLEMS, error_text
from slowwave.night.undo import Undoing, undo_run
from slowwave.store.connect import Store

_NAME: Final = re.compile(r"last|[0-9a-fA-F-]{4,36}")


@dg.op(
    config_schema={
        "run": dg.Field(str, description="Id of the apply run or its first characters, or `last`."),
        "namespace": dg.Field(str, default_value="", description="Which namespace's `last`, where there are several."),
        "items": dg.Field([str], default_value=[], description="Ids of the items to take back; by default all."),
        "leave_changed": dg.Field(
            bool, default_value=False, description="Leave items on which later changes stand; take back all others."
        ),
    }
)
def undo_applied_run(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """Restore what the run changed. Where later changes stand on it, nothing is undone and the rows are named, unless they may be left."""
    run, items = context.op_config["run"].strip(), [item.strip() for item in context.op_config["items"]]
    if not all(_NAME.fullmatch(name) for name in (run, *items)):
        raise dg.Failure(
            "A run is named by `last`, its id or 4 or more of its first characters, an item likewise. Nothing was undone.",
            allow_retries=False,
        )
    try:
        result = undo_run(
            store,
            run,
            items=items or None,
            namespace=context.op_config["namespace"].strip() or None,
            leave_changed=context.op_config["leave_changed"],
            dagster_run_id=context.run_id,
            announce=lambda about: _log(context, about),
        )
    except STORE_PROBLEMS as refusal:
        raise dg.Failure(error_text(refusal), allow_retries=False) from None
    metadata = {"run_id": result.run_id, "undo_of": result.undo_of, "undone_items": len(result.items)}
    metadata |= {"left_items": len(result.left)} if result.left else {}
    context.log_event(dg.AssetObservation(APPLIED, metadata=metadata, partition=result.namespace))


def _log(context: dg.OpExecutionContext, about: Undoing) -> None:
    counted = ", ".join(f"{n:,} of {name}" for name, n in about.operations.items()) or "nothing"
    began = f"{about.started_at:%Y-%m-%d %H:%M} UTC"
    context.log.info(f"Undoing {about.mode} run {about.run_id} of {about.namespace}, begun {began}: {counted}.")


@dg.job(executor_def=dg.in_process_executor, description="Take an apply run back exactly, or some of its items.")
def undo_job() -> None:
    """One op."""
    undo_applied_run()
