"""A plan's item as an event: rows by id, how many cells would change, evidence."""

from __future__ import annotations

from datetime import UTC, datetime

from slowwave.plans.items import Item
from slowwave.reports.events import OperationEvent, Rationale
from slowwave.reports.stream import Stream


def item_event(stream: Stream, item: Item, phase: str, status: str, duration_ms: float = 0.0) -> OperationEvent:
    """One item as the stream tells it; an applied item's duration is its share of its batch."""
    return OperationEvent(
        run_id=stream.run_id,
        namespace=stream.namespace,
        at=datetime.now(UTC),
        op_id=item.id,
        phase=phase,
        op_type=item.operation,
        decision=item.decision,
        status=status,
        inputs={
            "rows": list(item.mutation.row_ids()),
            "table": item.mutation.table,
            "kind": item.mutation.kind,
            "risk": item.risk,
        },
        outputs={"evidence": dict(item.evidence), "cells": _cells(item)},
        rationale=Rationale(strategy=item.operation, score=item.probability),
        duration_ms=duration_ms,
        tokens=item.tokens,
    )


def _cells(item: Item) -> int:
    mutation = item.mutation
    return len(mutation.writes) + len(mutation.inserts) + len(mutation.deletes)
