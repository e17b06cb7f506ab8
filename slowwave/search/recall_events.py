"""Recall events: what an agent asked its memory, what was found and what of it was used. The nights' signals, probes and thresholds
rest on them. Reading them belongs to ``slowwave.scoring.signals`` and the SQL models.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import psycopg

from slowwave.errors import Refused, StoreError
from slowwave.store.connect import Connection, Store
from slowwave.store.opening import open_store

_LOG_RECALL: Final = """
SELECT memory.log_recall(%s, %s, %s::uuid[], %s::float8[], %s::uuid[], coalesce(%s::timestamptz, now()), %s)
"""


def log_recall(
    namespace: str,
    query: str,
    hits: Sequence[str | UUID],
    *,
    scores: Sequence[float] = (),
    selected: Sequence[str | UUID] = (),
    occurred_at: datetime | None = None,
    external_id: str | None = None,
    store: Store | None = None,
    connection: Connection | None = None,
) -> str:
    """Log one recall of a namespace (its name or id); returns the event's id. The same as ``memory.log_recall`` in SQL.

    ``hits`` are ids of entities, chunks or memories, best first; ``scores`` one number for each hit, or none; ``selected`` those of the
    hits that the agent used. ``occurred_at`` is now unless it is given; without a zone it is UTC. An ``external_id`` that is logged
    for that instant already gives the event that is there. Events lie in partitions by month, made as they are needed. It is written on
    ``connection`` where one is given, whose login may insert events; else as the owner of ``store``, or of the environment's.

    Raises ``Refused`` in words for an unknown namespace, ids that are none, scores of another length, and what was selected without
    being found.
    """
    try:
        found, used = [UUID(str(h)) for h in hits], [UUID(str(s)) for s in selected]
    except ValueError:
        raise Refused("A hit is named by the id of its row, a UUID. Nothing was logged.") from None
    try:
        numbers = [float(score) for score in scores]
    except (TypeError, ValueError):
        raise Refused("A score is a number. Nothing was logged.") from None
    at = occurred_at and (occurred_at if occurred_at.tzinfo else occurred_at.replace(tzinfo=UTC))
    with nullcontext(connection) if connection else (store or open_store()).connect("owner") as session:
        try:
            row = session.execute(_LOG_RECALL, (namespace, query, found, numbers, used, at, external_id)).fetchone()
        except psycopg.errors.InvalidParameterValue as problem:
            raise Refused(problem.diag.message_primary or "The recall was refused.") from None
        except psycopg.DataError:
            raise Refused(
                "The recall holds text that no database takes, such as a zero byte. Nothing was logged."
            ) from None
    if row is None:
        raise StoreError(
            "memory.log_recall gave no event. `slowwave doctor` says whether the database is as this version needs it."
        )
    return str(row[0])
