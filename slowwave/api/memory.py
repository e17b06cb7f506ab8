"""``slowwave.Memory``: a namespace as an agent uses it by day."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import ValidationError

from slowwave.errors import Refused
from slowwave.search.request import CorpusChoice, Mode, SearchRequest, SearchResponse, SearchScope
from slowwave.store.connect import Store
from slowwave.store.opening import open_store


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


def request_of(**fields: Any) -> SearchRequest:
    """A search's request. Raises ``Refused`` with the first field that cannot be what it is."""
    try:
        return SearchRequest.model_validate(fields)
    except ValidationError as problem:
        first = problem.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise Refused(f"{name} cannot be {str(first['input'])[:64]!r}: {first['msg']}. Nothing was searched.") from None
