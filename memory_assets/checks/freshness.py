"""Freshness alarms as checks; the questions are those of ``slowwave.night.retention`` and ``slowwave.wiki.corpus.sync``."""

from collections.abc import Callable, Iterator, Sequence

import dagster as dg

from memory_assets.applied import applied
from memory_assets.checks.scope import namespaces_of
from memory_assets.folders import FOLDERS
from slowwave.night.retention import Freshness, audited, decided, effective
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.wiki.corpus.sync import chunks_have_vectors, folders_are_synced

ALARMS: dict[str, Callable[[Connection, Sequence[str]], Freshness]] = {
    "namespaces_are_audited": audited,
    "plans_are_decided": decided,
    "applies_change_something": effective,
    "folders_are_synced": folders_are_synced,
    "chunks_have_vectors": chunks_have_vectors,
}
_OF_FOLDERS = frozenset(("folders_are_synced", "chunks_have_vectors"))


def asset_of(name: str) -> dg.AssetKey:
    """Return the asset that an alarm is a check of."""
    return FOLDERS if name in _OF_FOLDERS else applied.key


@dg.multi_asset_check(
    name="freshness",
    specs=[
        dg.AssetCheckSpec(
            name, asset=asset_of(name), description=" ".join((run.__doc__ or "").split("\n\n")[0].split())
        )
        for name, run in ALARMS.items()
    ],
    can_subset=True,
)
def freshness(context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[dg.AssetCheckResult]:
    """Ask the ledger and look at the folders, for the run's namespace or for all; an alarm is a warning, since no memory is at risk."""
    chosen = {key.name for key in context.selected_asset_check_keys}
    names = namespaces_of(context, store)
    with store.connect("reader") as connection:
        for name, run in ALARMS.items():
            if name in chosen:
                answer = run(connection, names)
                yield dg.AssetCheckResult(
                    check_name=name,
                    asset_key=asset_of(name),
                    passed=not answer.late,
                    severity=dg.AssetCheckSeverity.WARN,
                    description=" ".join(answer.late)[:2000] or f"All {answer.looked_at:,} namespaces are well.",
                    metadata={"namespaces": answer.looked_at, "late": len(answer.late)},
                )
