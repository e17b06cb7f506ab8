"""The budget of tokens that a run and its namespace may spend on language models, by what ``night.llm_usage`` has on record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from slowwave.config.settings import Settings
from slowwave.language.budget import Budget, Usage
from slowwave.store.connect import Store

_BUDGET: Final = """
SELECT r.id::text AS run_id, coalesce((SELECT sum(input_tokens + output_tokens) FROM night.llm_usage u WHERE u.run_id = r.id), 0)::bigint
  AS tokens
FROM night.runs r WHERE r.namespace_id = %(namespace)s AND CASE WHEN %(run)s = '' THEN r.mode = 'plan' AND r.state = 'planning'
  ELSE r.id::text = %(run)s END ORDER BY r.started_at DESC LIMIT 1
"""
_TODAY: Final = """
SELECT '' AS run_id, coalesce(sum(input_tokens + output_tokens), 0)::bigint AS tokens FROM night.llm_usage
WHERE namespace_id = %s AND recorded_at > now() - interval '24 hours'
"""
_BOOK: Final = """
INSERT INTO night.llm_usage (id, namespace_id, run_id, operation, model, input_tokens, output_tokens)
VALUES (gen_random_uuid(), %s, %s, %s, %s, %s, %s)
"""


def open_budget(store: Store, namespace_id: str, settings: Settings, run_id: str = "") -> Budget:
    """What a run may still spend on models, by ``night.llm_usage``; every call is written there at once.

    Without ``run_id`` the run is the namespace's newest that is planning; without one, calls are allowed and booked nowhere.
    """
    with store.connect("reader") as connection, connection.cursor(row_factory=class_row(_Spent)) as cursor:
        run = cursor.execute(_BUDGET, {"namespace": namespace_id, "run": run_id}).fetchone() or _Spent("", 0)
        today = cursor.execute(_TODAY, (namespace_id,)).fetchone() or _Spent("", 0)

    def record(usage: Usage) -> None:
        with store.connect("planner") as writing:
            writing.execute(_BOOK, (namespace_id, run.run_id, usage.operation, usage.model, usage.input, usage.output))

    return Budget(
        settings.llm_max_tokens_per_run,
        settings.llm_max_tokens_per_namespace_per_day,
        run.tokens,
        today.tokens,
        record if run.run_id else None,
    )


@dataclass(frozen=True, slots=True)
class _Spent:
    """Tokens that models have read and written for a run, or for all of a namespace."""

    run_id: str
    tokens: int
