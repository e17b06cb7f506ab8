"""``slowwave.Memory``: a namespace as an agent uses it by day."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from slowwave.config.settings import Settings
from slowwave.errors import Refused
from slowwave.search.request import CorpusChoice, Mode, SearchRequest, SearchResponse, SearchScope
from slowwave.store.connect import Store
from slowwave.store.opening import open_store

if TYPE_CHECKING:
    from slowwave.recall.active_request import ActiveMemoryResponse
    from slowwave.recall.wake_request import WakeResponse

Request = TypeVar("Request", bound=BaseModel)


class Memory:
    """One namespace's memory, by its name. The store is the environment's unless it is given."""

    def __init__(self, namespace: str, store: Store | None = None) -> None:
        self.namespace = namespace
        self.store = store or open_store()

    def search(
        self,
        query: str,
        *,
        mode: Mode | str = "hybrid",
        k: int = 10,
        corpus: CorpusChoice | str = "durable",
        scope: SearchScope | dict[str, Any] | None = None,
        as_of: datetime | None = None,
        min_relevance_score: float = 0.0,
        include_content: bool = True,
        include_retired: bool = False,
        debug: bool = False,
    ) -> SearchResponse:
        """What is found, best first; see ``slowwave.search.request.SearchRequest``. Raises ``Refused`` for what cannot be asked."""
        from slowwave.search.search import search  # loads what an empty `import slowwave` does without

        request = request_of(
            query=query,
            mode=mode,
            k=k,
            corpus=corpus,
            scope=scope or SearchScope(),
            as_of=as_of,
            min_relevance_score=min_relevance_score,
            include_content=include_content,
            include_retired=include_retired,
            debug=debug,
        )
        return search(self.store, self.namespace, request)

    def wake(
        self,
        agent: str,
        *,
        budget_tokens: int = 600,
        profile: str = "default",
        project: str = "",
        include_recent_sessions: int = 5,
        include_pinned_decisions: bool = True,
        debug: bool = False,
    ) -> WakeResponse:
        """What an agent is told when it begins; see ``slowwave.recall.wake_request.WakeRequest``. Raises ``Refused`` as ``search`` does."""
        from slowwave.recall.wake_request import WakeRequest, wake

        request = _valid(
            WakeRequest,
            agent=agent,
            budget_tokens=budget_tokens,
            profile=profile,
            project=project,
            include_recent_sessions=include_recent_sessions,
            include_pinned_decisions=include_pinned_decisions,
            debug=debug,
        )
        with self.store.connect("reader") as connection:
            return wake(connection, self.namespace, request, Settings())

    def active(
        self,
        prompt: str,
        agent: str,
        *,
        profile: str = "auto",
        project: str = "",
        cwd: str = "",
        scope: SearchScope | dict[str, Any] | None = None,
        budget_tokens: int = 400,
        timeout_ms: int = 3_000,
        include_wake: bool = False,
        debug: bool = False,
    ) -> ActiveMemoryResponse:
        """What an agent is reminded of; see ``slowwave.recall.active_request.ActiveMemoryRequest``. Raises as ``search`` does."""
        from slowwave.recall.active_request import ActiveMemoryRequest, active_memory
        from slowwave.search.search import log_search, settings_of

        request = _valid(
            ActiveMemoryRequest,
            prompt=prompt,
            agent=agent,
            profile=profile,
            project=project,
            cwd=cwd,
            scope=scope or SearchScope(),
            budget_tokens=budget_tokens,
            timeout_ms=timeout_ms,
            include_wake=include_wake,
            debug=debug,
        )
        with self.store.connect("reader") as connection:
            settings = settings_of(connection, self.namespace)
            told = active_memory(connection, self.namespace, request, settings)
        for found in told.searches:
            log_search(self.store, self.namespace, found, settings)
        return told.answer


def request_of(**fields: Any) -> SearchRequest:
    """A search's request. Raises ``Refused`` with the first field that cannot be what it is."""
    return _valid(SearchRequest, **fields)


def _valid(kind: type[Request], **fields: object) -> Request:
    try:
        return kind.model_validate(fields)
    except ValidationError as problem:
        first = problem.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise Refused(f"{name} cannot be {str(first['input'])[:64]!r}: {first['msg']}. Nothing was read.") from None
