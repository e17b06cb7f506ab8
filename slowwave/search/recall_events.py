"""The log of what agents recall: a thread writes events after the answers, and nights read them as signals."""

from __future__ import annotations

import atexit
import logging
import random
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from threading import BoundedSemaphore
from typing import Final, Generic, TypeVar
from uuid import UUID

import psycopg

from slowwave.errors import Refused, SlowwaveError, StoreError
from slowwave.search.request import SearchResponse, settings_of
from slowwave.store.connect import Store
from slowwave.store.logins import Connection, Role
from slowwave.store.migrate import open_store
from slowwave.store.namespaces import namespace_id

# Recall events: the query of an agent, the results, and which of them it used. They are the basis of the nights' signals, probes and
# thresholds. ``slowwave.operations.scoring`` and the SQL models load them.

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
    """Log one recall of a namespace (its name or id), and return the event's id.

    It does the same as ``memory.log_recall`` in SQL. ``hits`` are ids of entities, chunks or memories, best first; ``scores`` is one
    number for each hit, or none; ``selected`` are the hits that the agent used. ``occurred_at`` defaults to now; without a zone it is
    UTC. If the same ``external_id`` is already logged for that instant, the existing event is returned. Events are stored in partitions
    by month, which are created as needed. The event is written on ``connection`` if one is given, whose login must be allowed to insert
    events; otherwise as the owner of ``store``, or of the environment's store.

    Raises ``Refused`` with a message for an unknown namespace, invalid ids, scores of another length, and selected rows that are not
    among the hits.
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


# Log of recalls, written by one thread after the answers: the share of recalls that ``recall_log_share`` sets.

Told = TypeVar("Told")

MOST_WAITING: Final = 1_000
"""Maximum number of recalls in the queue; while it is full, new ones are not logged."""

_LOG: Final = logging.getLogger(__name__)
_room: Final = BoundedSemaphore(MOST_WAITING)

_CHUNKS: Final = """
SELECT c.id::text FROM unnest(%s::text[], %s::integer[], %s::integer[]) WITH ORDINALITY AS p (path, first, last, place)
  JOIN memory.documents d ON d.namespace_id = %s AND d.path = p.path AND d.invalidated_at IS NULL
  JOIN memory.chunks c ON c.document_id = d.id AND c.invalidated_at IS NULL AND c.start_line <= p.last AND c.end_line >= p.first
 ORDER BY p.place, c.ordinal, c.id LIMIT 100"""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a page that were shown, from 1, both included."""

    path: str
    first: int = 1
    last: int = 1


@dataclass(frozen=True, slots=True)
class Recalled:
    """One recall: rows by their ids with their scores, or lines of pages, which represent the chunks that hold them.

    Without a ``query`` no one asked a question: signals count such a recall, and no probe asks it again. ``used`` means that all of it
    was read on purpose.
    """

    query: str = ""
    hits: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    pages: tuple[Lines, ...] = ()
    used: bool = False

    @classmethod
    def of_search(cls, found: SearchResponse) -> Recalled:
        """Build the recall of a search.

        Its hits are the rows of the results, followed by the memories among ``also_in``, because these were found as well.
        """
        also_found = [(o.id, r.score) for r in found.results for o in r.also_in if o.kind == "memories"]
        scores = dict(also_found) | {r.id: r.score for r in found.results}
        hits = tuple(dict.fromkeys([*(r.id for r in found.results), *(id_ for id_, _ in also_found)]))
        return cls(found.query, hits, tuple(scores[id_] for id_ in hits))


@dataclass(frozen=True, slots=True)
class Answered(Generic[Told]):
    """An answer, and the recalls that it causes."""

    answer: Told
    recalls: tuple[Recalled, ...] = ()


def log_behind(store: Store, role: Role, namespace: str, recalls: Iterable[Recalled]) -> None:
    """Log recalls of a namespace (its name) as ``role`` in the background, as far as its setting allows.

    Never blocks: if too many recalls are pending, further ones are dropped with a warning.
    """
    for recalled in recalls:
        if _room.acquire(blocking=False):
            _recorder().submit(_write, store, role, namespace, recalled)
        else:
            _LOG.warning("A recall was not logged: %d wait already.", MOST_WAITING)


def logged() -> None:
    """Wait until all recalls so far are logged."""
    _recorder().submit(int).result()


@cache
def _recorder() -> ThreadPoolExecutor:
    """Return the executor with one thread; tasks that have started are completed before the process ends."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="slowwave-recall")
    atexit.register(pool.shutdown)
    return pool


def _write(store: Store, role: Role, namespace: str, recalled: Recalled) -> None:
    """Write one event.

    If the store refuses it, the answer is unaffected and the program's log gets a line.
    """
    try:
        with store.connect(role) as connection:
            if settings_of(connection, namespace).recall_log_share <= random.random():  # noqa: S311 - a sample
                return
            hits = [*recalled.hits, *_chunks(connection, namespace, recalled.pages)]
            if not hits and not recalled.query:
                return
            used = hits if recalled.used else ()
            log_recall(namespace, recalled.query, hits, scores=recalled.scores, selected=used, connection=connection)
    except (SlowwaveError, psycopg.Error) as problem:
        _LOG.warning("A recall was not logged: %s", type(problem).__name__)
    finally:
        _room.release()


def _chunks(connection: Connection, namespace: str, pages: tuple[Lines, ...]) -> list[str]:
    """Return the live chunks that hold lines of pages, in the order of the pages."""
    if not pages:
        return []
    columns = ([p.path for p in pages], [p.first for p in pages], [p.last for p in pages])
    rows = connection.execute(_CHUNKS, (*columns, namespace_id(connection, namespace))).fetchall()
    return list(dict.fromkeys(str(id_) for (id_,) in rows))
