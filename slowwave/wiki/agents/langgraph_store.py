"""LangGraph's ``BaseStore`` in a namespace of Slowwave, so that nights maintain what its agents remember.

The data of items belongs to the module ``items`` of this package.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Final

import psycopg

from slowwave.errors import Refused
from slowwave.models.embedder import Embedder
from slowwave.search.recall_events import Recalled, log_behind
from slowwave.search.request import KnownNamespace, SearchScope, known_namespace
from slowwave.sources.loading import LoadedVectors
from slowwave.sources.rows import chosen_slug
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.load import MANY, analyse
from slowwave.store.logins import Connection
from slowwave.store.migrate import open_store
from slowwave.store.settings import Settings
from slowwave.wiki.agents.items import (
    WHOLE,
    AgentItem,
    ItemDomain,
    ItemPut,
    ItemWriter,
    found_items,
    json_text,
    listed_items,
    listed_namespaces,
    named_items,
    screened,
)

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        validate_op_namespace,
    )
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "LangGraph's store interface is not installed. Install slowwave[langgraph].", name=missing.name
    ) from None

_UNTRIED: Final = 1.0
"""Idle seconds after which the writer's connection is tested before it is used."""

_TRY: Final = "SELECT 1"


class SlowwaveStore(BaseStore):
    """A store of LangGraph in one namespace of Slowwave (its name), which is created with the first item.

    ``store`` defaults to the environment's. ``fields`` are the paths of a value by which a search finds it, as in the ``index`` of
    LangGraph's own stores; without any, all texts of a value are used. Vectors are of the namespace's own embedding model. Writing keeps
    one connection with the owner's login open until ``close``; reading borrows one. Threads may share the store.

    ``get``, ``search`` and the others raise ``Refused`` for arguments that cannot be accepted, and ``StoreError`` if the database does
    not answer.
    """

    supports_ttl = False

    def __init__(self, namespace: str, store: Store | None = None, *, fields: Sequence[str] = ()) -> None:
        self._slug = chosen_slug(namespace) or namespace
        self._store = store or open_store()
        self._fields = tuple(fields) or (WHOLE,)
        self._lock = threading.Lock()
        self._writer: Connection | None = None
        self._open = ExitStack()
        self._tried = 0.0
        self._added = 0

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in one transaction: reads return the state before it, and of two puts of a key the last one counts."""
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        last = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        if not last:
            with self._store.connect("server") as connection:
                return self._answers(connection, asked)
        puts = [ItemPut.from_arguments(op.namespace, op.key, op.value, op.index, self._fields) for op in last.values()]
        with self._writing() as connection:
            known = _known(connection, self._slug)
            settings = known.settings if known else Settings.for_namespace({})
            vectors = LoadedVectors(embedder_for(settings))
            writer = ItemWriter(self._slug, screened(puts, self._slug, settings), vectors)
            writer.prepare(connection, known.id if known else None)
            with connection.transaction():
                answers = self._answers(connection, asked)
                self._added += writer.write(connection)
            if self._added >= MANY:
                analyse(connection, dict.fromkeys(("memories", "memory_versions", "memory_vectors"), self._added))
                self._added = 0
        return answers

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run ``batch`` in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def close(self) -> None:
        """Close the connection that writes; the next put opens another."""
        with self._lock:
            self._forget()

    def __enter__(self) -> SlowwaveStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _answers(self, connection: Connection, ops: Sequence[Op]) -> list[Result]:
        """Return the answers to operations that read, and None for the others.

        The recalls of agents are logged after the answers.
        """
        if all(isinstance(op, PutOp) for op in ops):
            return [None] * len(ops)
        known = _known(connection, self._slug)
        if known is None:
            return [None if isinstance(op, PutOp | GetOp) else [] for op in ops]
        named = named_items(connection, known.id, [(op.namespace, op.key) for op in ops if isinstance(op, GetOp)])
        recalls: list[Recalled] = []
        answers: list[Result] = []
        for op in ops:
            if isinstance(op, GetOp):
                found = named.get((op.namespace, op.key))
                answers.append(found and _as_item(found))
            elif isinstance(op, SearchOp):
                answers.append([_scored(item) for item in _searched(connection, known, op, recalls)])
            elif isinstance(op, ListNamespacesOp):
                met = [(c.match_type, c.path) for c in op.match_conditions or ()]
                spaces = listed_namespaces(connection, known.id, met, op.max_depth, op.limit, op.offset)
                answers.append(spaces)
            else:
                answers.append(None)
        if named:
            recalls.append(Recalled(hits=tuple(dict.fromkeys(item.id for item in named.values())), used=True))
        log_behind(self._store, "server", self._slug, recalls)
        return answers

    @contextmanager
    def _writing(self) -> Generator[Connection]:
        """Yield the connection for writes, to one caller at a time, because writers of a namespace take turns in any case."""
        with self._lock:
            try:
                yield self._opened()
            except BaseException:
                if self._writer is not None and (self._writer.closed or self._writer.broken):
                    self._forget()
                raise
            self._tried = time.monotonic()

    def _opened(self) -> Connection:
        if self._writer is not None and time.monotonic() - self._tried > _UNTRIED:
            try:
                self._writer.execute(_TRY)
            except psycopg.OperationalError:
                self._forget()
        if self._writer is None or self._writer.closed:
            self._writer = self._open.enter_context(self._store.connect("owner"))
        return self._writer

    def _forget(self) -> None:
        self._writer = None
        self._open.close()


def _searched(connection: Connection, known: KnownNamespace, op: SearchOp, recalls: list[Recalled]) -> list[AgentItem]:
    """Return the items of one search; a search with a query counts as a recall."""
    if op.limit < 0 or op.offset < 0:
        raise ValueError("limit and offset are at least 0.")
    if not op.query:
        return listed_items(connection, known.id, op.namespace_prefix, op.filter, op.limit, op.offset)
    json_text(op.query, "the query")
    domain = ItemDomain(known.id, ("durable",), SearchScope(), prefix=op.namespace_prefix, wanted=op.filter)
    found = found_items(connection, domain, op.query, _embedder(known.settings), op.limit, op.offset)
    recalls.append(Recalled(op.query, tuple(i.id for i in found), tuple(i.score or 0.0 for i in found)))
    return found


def _embedder(settings: Settings) -> Callable[[], Embedder]:
    return lambda: embedder_for(settings)


def _known(connection: Connection, slug: str) -> KnownNamespace | None:
    """Return a namespace, or None if it does not exist."""
    try:
        return known_namespace(connection, slug)
    except Refused:
        return None


def _fields(item: AgentItem) -> Mapping[str, Any]:
    """Return the fields of an item that LangGraph shows."""
    return {
        "namespace": item.labels,
        "key": item.key,
        "value": item.value,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _as_item(item: AgentItem) -> Item:
    return Item(**_fields(item))


def _scored(item: AgentItem) -> SearchItem:
    return SearchItem(**_fields(item), score=item.score)
