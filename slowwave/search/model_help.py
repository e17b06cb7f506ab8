"""Help of a model at run time, within its budget: more queries for one question, and another order of the results."""

from __future__ import annotations

from typing import Final

from slowwave.errors import SettingsError
from slowwave.models.panel import Budget, Searcher, Usage
from slowwave.search.request import KnownNamespace
from slowwave.store.configured_models import searcher_for
from slowwave.store.logins import Connection

# The model that helps at run time, within the budget of a namespace for 24 hours.
#
# Every call is recorded in ``memory.model_calls`` as it ends, so that restarts and other processes count it. ``slowwave.wiki.recall`` uses
# the model as well.

_SPENT: Final = """
SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM memory.model_calls
 WHERE namespace_id = %s AND recorded_at > now() - interval '24 hours'"""

_BOOK: Final = "SELECT memory.book_model_call(%s::uuid, %s::text, %s::text, %s::bigint, %s::bigint)"


def helper(
    connection: Connection, known: KnownNamespace, *, timeout: float | None = None
) -> tuple[Searcher | None, str]:
    """Return the model that the settings name, or None and the reason if a wanted model is missing.

    ``connection`` may book costs (``memory.book_model_call``), as the role ``server`` may. ``timeout`` is that of ``searcher_for``.
    """
    settings = known.settings
    if not (settings.search_model and settings.search_steps):
        return None, ""
    try:
        return searcher_for(settings, day_budget(connection, known), timeout=timeout), ""
    except SettingsError as problem:
        return None, str(problem)


def day_budget(connection: Connection, known: KnownNamespace) -> Budget:
    """Return the budget that a namespace has left for models today; this connection books the costs."""
    row = connection.execute(_SPENT, (known.id,)).fetchone()

    def record(usage: Usage) -> None:
        connection.execute(_BOOK, (known.id, usage.operation, usage.model, usage.input, usage.output))

    return Budget(
        per_day=known.settings.search_max_tokens_per_day,
        spent_today=int(str(row[0])) if row else 0,
        record=record,
    )
