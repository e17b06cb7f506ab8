"""What the operations of a night are given: the snapshot, its models, settings, language models, and the figures of the night before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from slowwave.config.settings import Settings
from slowwave.language.chat import judges_for
from slowwave.language.embedder import embedder_for
from slowwave.language.writer import consolidator_for, writer_for
from slowwave.operations import Inputs
from slowwave.operations.setting_names import check_setting_names
from slowwave.plans.token_budget import open_budget
from slowwave.snapshots.models import load_models, run_models
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Store

_BASELINES: Final = """
SELECT p.summary -> 'baselines' FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id WHERE n.slug = %s
  ORDER BY p.recorded_at DESC LIMIT 1
"""


def read_inputs(
    store: Store, snapshot: Snapshot, models: Mapping[str, pa.Table] | None = None, *, run_id: str = ""
) -> Inputs:
    """What audits and planners read and ask: the snapshot, its models, the namespace's settings and the last night's figures.

    Without ``run_id`` tokens are booked on the namespace's run that is planning.
    """
    check_setting_names(snapshot.settings)
    settings = Settings.for_namespace(snapshot.settings)
    embedder = embedder_for(settings)
    if models is None:
        models = run_models(load_models(), snapshot, settings)
    usable = snapshot.vectors["entity_vectors"].model in ("", embedder.model)
    return Inputs(
        snapshot,
        models,
        settings,
        baselines(store, snapshot.namespace),
        embedder.embed if usable else None,
        judges_for(settings),
        budget=open_budget(store, snapshot.namespace_id, settings, run_id),
        writer=writer_for(settings),
        consolidator=consolidator_for(settings),
    )


def baselines(store: Store, namespace: str) -> Mapping[str, Mapping[str, object]]:
    """``details`` of the reports of the last night that was planned."""
    with store.connect("reader") as connection:
        row = connection.execute(
            _BASELINES,
            (namespace,),
        ).fetchone()
    found: Any = row[0] if row else None
    return found if isinstance(found, dict) else {}
