"""Answering a call: the scope, the request's model, the store in a thread, and what went wrong as a ``Failure``.

The one way in for HTTP and MCP. The log says which call, how it ended and how long it took; never what was asked or answered, so of an
error that nobody foresaw it says the kind alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeVar, cast
from uuid import uuid4

import psycopg
from anyio import CapacityLimiter, to_thread
from pydantic import BaseModel, ValidationError

from slowwave.errors import AlreadyThere, Forbidden, NotInCorpus, Refused, StoreError
from slowwave.search.recall_log import Answered, log_behind
from slowwave.serving.call_metrics import CallMetrics
from slowwave.serving.calls import Call
from slowwave.serving.failures import Failure, invalid
from slowwave.serving.tokens import Caller, caller_of, has_tokens
from slowwave.store.connect import Connection, Store
from slowwave.store.idle import MOST

Looked = TypeVar("Looked")
Surface = Literal["http", "mcp"]

_LOG: Final = logging.getLogger(__name__)
_STATUSES: Final[Mapping[type[Refused], int]] = {NotInCorpus: 404, AlreadyThere: 409, Forbidden: 403}
_UNREACHABLE: Final = Failure(503, "The store does not answer. Try again later.", retry_after=5)


@dataclass(slots=True)
class Answering:
    """Answers calls from a store. As many at once as connections wait to be used again: more would only open and close them."""

    store: Store
    metrics: CallMetrics = field(default_factory=CallMetrics)
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MOST))

    async def answer(
        self, call: Call, caller: Caller, arguments: Mapping[str, object], surface: Surface, request_id: str = ""
    ) -> BaseModel | Failure:
        """The answer to a call, or why there is none."""
        began = time.perf_counter()
        asking = replace(caller, surface=surface)
        found = await to_thread.run_sync(self._answer, call, asking, arguments, limiter=self._threads)
        seconds = time.perf_counter() - began
        status = found.status if isinstance(found, Failure) else 200
        self.metrics.count(caller.namespace, call.name, surface, status, seconds)
        told = (surface, call.name, status, seconds * 1000, caller.token_id or "-", request_id or uuid4().hex)
        _LOG.info("%s %s %d in %.1f ms, token %s, request %s", *told)
        return found

    async def read(self, caller: Caller, look: Callable[[Connection, str], Looked]) -> Looked | Failure:
        """What somebody sees of the caller's namespace, without a line in the log: for what looks again and again."""
        return await to_thread.run_sync(self._read, caller, look, limiter=self._threads)

    async def caller_of(self, token: str) -> Caller | Failure | None:
        """Whose token it is; None where it opens nothing."""
        return await to_thread.run_sync(self._caller_of, token, limiter=self._threads)

    async def asks_for_tokens(self, namespace: str) -> bool | Failure:
        """Whether a namespace has a valid token, so that its callers need one."""
        return await to_thread.run_sync(self._has_tokens, namespace, limiter=self._threads)

    def _has_tokens(self, namespace: str) -> bool | Failure:
        try:
            with self.store.connect("server") as connection:
                return has_tokens(connection, namespace)
        except (StoreError, psycopg.OperationalError) as problem:
            return _unreachable(problem)

    def _read(self, caller: Caller, look: Callable[[Connection, str], Looked]) -> Looked | Failure:
        try:
            with self.store.connect("server") as connection:
                return look(connection, caller.namespace)
        except Refused as refusal:
            return Failure(400, str(refusal))
        except (StoreError, psycopg.OperationalError) as problem:
            return _unreachable(problem)

    def _caller_of(self, token: str) -> Caller | Failure | None:
        try:
            with self.store.connect("server") as connection:
                return caller_of(connection, token)
        except (StoreError, psycopg.OperationalError) as problem:
            return _unreachable(problem)

    def _answer(self, call: Call, caller: Caller, arguments: Mapping[str, object]) -> BaseModel | Failure:
        if call.scope not in caller.scopes:
            return Failure(403, f"The token lacks the scope {call.scope}.")
        try:
            request = call.request.model_validate(arguments)
        except ValidationError as problem:
            return invalid(problem)
        try:
            with self.store.connect("server") as connection:
                found = _answer_or_failure(call, connection, caller, request)
        except (StoreError, psycopg.OperationalError) as problem:
            return _unreachable(problem)
        except Exception as problem:  # noqa: BLE001 - whatever it is, its message may hold memory text
            _LOG.error("%s failed: %s.", call.name, type(problem).__name__)
            return Failure(
                500, "The call failed for a reason that nobody foresaw. The server's log says of which kind."
            )
        if isinstance(found, Answered):
            log_behind(self.store, "server", caller.namespace, found.recalls)
            return cast("BaseModel", found.answer)
        return found


def _unreachable(problem: Exception) -> Failure:
    _LOG.error("The store did not answer: %s.", type(problem).__name__)
    return _UNREACHABLE


def _answer_or_failure(
    call: Call, connection: Connection, caller: Caller, request: BaseModel
) -> BaseModel | Answered[Any] | Failure:
    """A refusal is an answer: the connection stands."""
    try:
        return call.answer(connection, caller, request)
    except Refused as refusal:
        status = next((status for kind, status in _STATUSES.items() if isinstance(refusal, kind)), 400)
        return Failure(status, str(refusal))
