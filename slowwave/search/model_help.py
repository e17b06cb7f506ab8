"""The model that helps those who ask by day, within what it may cost their namespace in 24 hours.

Every call is booked in ``memory.model_calls`` as it ends, so that neither a restart nor another process forgets it. What the model is asked
belongs to ``slowwave.search.planner``, ``slowwave.search.reranker`` and ``slowwave.recall``.
"""

from __future__ import annotations

from typing import Final

from slowwave.errors import SettingsError
from slowwave.language.budget import Budget, Usage
from slowwave.language.searcher import Searcher, searcher_for
from slowwave.search.namespace_settings import KnownNamespace
from slowwave.store.connect import Connection

_SPENT: Final = """
SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM memory.model_calls
 WHERE namespace_id = %s AND recorded_at > now() - interval '24 hours'"""

_BOOK: Final = "SELECT memory.book_model_call(%s::uuid, %s::text, %s::text, %s::bigint, %s::bigint)"


def helper(
    connection: Connection, known: KnownNamespace, *, timeout: float | None = None
) -> tuple[Searcher | None, str]:
    """The model that the settings name, or none and why there is none where one is wanted.

    ``connection`` may book costs (``memory.book_model_call``), as the role ``server`` may. ``timeout`` as for ``searcher_for``.
    """
    settings = known.settings
    if not (settings.search_model and settings.search_steps):
        return None, ""
    try:
        return searcher_for(settings, day_budget(connection, known), timeout=timeout), ""
    except SettingsError as problem:
        return None, str(problem)


def day_budget(connection: Connection, known: KnownNamespace) -> Budget:
    """What models may still cost a namespace today; what they cost is booked by this connection."""
    row = connection.execute(_SPENT, (known.id,)).fetchone()

    def record(usage: Usage) -> None:
        connection.execute(_BOOK, (known.id, usage.operation, usage.model, usage.input, usage.output))

    return Budget(
        per_day=known.settings.search_max_tokens_per_day,
        spent_today=int(str(row[0])) if row else 0,
        record=record,
    )
