"""OpenLineage: START and COMPLETE, ABORT or FAIL of every run, with the tables it read and wrote as datasets. Names only.

On when the extra ``openlineage`` is installed and its client is configured where to send: ``OPENLINEAGE_URL``, ``OPENLINEAGE_CONFIG`` or
``OPENLINEAGE__TRANSPORT__…``. Lineage between Dagster's assets is Dagster's to record, and is not sent here.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from slowwave.reports.events import Event, OperationEvent, RunCompleted, RunFailed, RunStarted
from slowwave.reports.outbox import Deadline, Outbox
from slowwave.store.tables import metadata

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient

NAMESPACE: Final = "OPENLINEAGE_NAMESPACE"
PRODUCER: Final = "urn:slowwave"

_LOG: Final = logging.getLogger(__name__)
_CLOSING_SECONDS: Final = 5.0
_MEMORY: Final = tuple(
    sorted(t.name for t in metadata.tables.values() if t.schema == "memory" and "namespace_id" in t.columns)
)
_PLAN: Final = ("night.plans", "night.plan_items")
_READ: Final[Mapping[str, tuple[str, ...]]] = {
    "plan": tuple(f"memory.{table}" for table in _MEMORY),
    "apply": _PLAN,
    "undo": ("night.journal", "night.before_images"),
}


def lineage_wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the client is configured where to send. Says so in the log when it has and is not installed."""
    configured = any(
        name in ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG") or name.startswith("OPENLINEAGE__TRANSPORT")
        for name in environment
    )
    if not configured or environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return False
    if importlib.util.find_spec("openlineage") is None:
        _LOG.warning(
            "OpenLineage is configured and its client is not installed, so nothing is sent. Install slowwave[openlineage]."
        )
        return False
    return True


class LineageSink:
    """Tells an OpenLineage backend of one run, from a thread of its own, with the client that the environment configures.

    A job is a namespace's mode (``acme.plan``), a dataset one of its tables (``acme.memory.entities``), both in the OpenLineage
    namespace ``OPENLINEAGE_NAMESPACE``, or ``slowwave``. What apply and undo wrote is known from their items, and sent at the end.
    """

    name = "lineage"

    def __init__(self) -> None:
        self._space = os.environ.get(NAMESPACE, "").strip() or "slowwave"
        self._outbox = Outbox[object](self._send, most=100)
        self._client: OpenLineageClient | None = None
        self._written: set[str] = set()

    def emit(self, event: Event) -> None:
        """Take one event; few of them are sent on."""
        match event:
            case RunStarted():
                self._enqueue(event, event.mode, "START")
            case OperationEvent():
                table = event.inputs.get("table")
                if event.phase in ("apply", "undo") and event.status in ("applied", "undone") and table in _MEMORY:
                    self._written.add(f"memory.{table}")
            case RunCompleted():
                self._enqueue(event, event.mode, "ABORT" if event.state in ("cancelled", "refused") else "COMPLETE")
            case RunFailed():
                self._enqueue(event, event.mode, "FAIL")
            case _:
                pass

    def close(self) -> None:
        """Send what waits, for five seconds at most."""
        if lost := self._outbox.close(_CLOSING_SECONDS):
            _LOG.warning("OpenLineage did not get %d events of this run. The run stands.", lost)

    def _enqueue(self, event: Event, mode: str, state: str) -> None:
        from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState

        written: Iterable[str] = _PLAN if mode == "plan" else sorted(self._written)
        self._outbox.put(
            RunEvent(
                eventType=RunState[state],
                eventTime=event.at.isoformat(),
                run=Run(runId=event.run_id),
                job=Job(namespace=self._space, name=f"{event.namespace}.{mode}"),
                inputs=[InputDataset(self._space, f"{event.namespace}.{name}") for name in _READ.get(mode, ())],
                outputs=[OutputDataset(self._space, f"{event.namespace}.{name}") for name in written],
                producer=PRODUCER,
            ),
            vital=True,
        )

    def _send(self, event: object, _: Deadline) -> bool:
        """The client tries again by itself."""
        from openlineage.client import OpenLineageClient
        from openlineage.client.event_v2 import RunEvent

        try:
            self._client = self._client or OpenLineageClient()
            if isinstance(event, RunEvent):
                self._client.emit(event)
        except Exception as problem:  # noqa: BLE001 - whatever a transport raises, the run goes on
            _LOG.warning("OpenLineage did not take an event (%s). The run goes on.", type(problem).__name__)
            return False
        return True
