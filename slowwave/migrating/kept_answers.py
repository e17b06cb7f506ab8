"""What models answered while a namespace was migrated, by a hash of what they were asked. Retention removes it."""

from __future__ import annotations

from typing import Final

from slowwave.store.connect import Store

_KEPT: Final = "SELECT key, answer FROM night.model_answers WHERE namespace_id = %s AND model = %s"
_KEEP = """
INSERT INTO night.model_answers (namespace_id, key, model, answer) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"""


def kept_answers(store: Store, namespace_id: str, model: str) -> dict[str, str]:
    """The answers of a model, by their key."""
    with store.connect("reader") as connection:
        rows = connection.execute(_KEPT, (namespace_id, model)).fetchall()
    return {str(key): str(answer) for key, answer in rows}


def keep_answer(store: Store, namespace_id: str, model: str, key: str, answer: str) -> None:
    """Keep an answer at once, so that a run that is ended has not asked in vain. What no database holds is not kept."""
    if "\0" in answer:
        return
    with store.connect("planner") as connection:
        connection.execute(_KEEP, (namespace_id, key, model, answer.encode("utf-8", "replace").decode()))
