"""Attempts at an approval that came to nothing, as a finding for a person."""

from __future__ import annotations

from typing import Final

from slowwave.plans.commands import argument
from slowwave.store.connect import Store

_FINDING: Final = """
INSERT INTO night.findings (id, namespace_id, operation, severity, message, details)
SELECT gen_random_uuid(), n.id, 'apply', 'error', %(message)s, jsonb_build_object('approval_id', %(id)s::text)
FROM memory.namespaces n WHERE n.slug = %(slug)s AND NOT EXISTS (
  SELECT 1 FROM night.findings f WHERE f.operation = 'apply' AND f.details ->> 'approval_id' = %(id)s::text)
"""


def give_up(store: Store, approval_id: str, namespace: str, attempts: int) -> bool:
    """Write the finding that an approval could not be applied; False when it is written already."""
    message = (
        f"Approval {approval_id} was not applied in {attempts} attempts. Look at the failed runs, remove the cause, and run "
        f"`slowwave apply {argument(namespace)}`."
    )
    with store.connect("planner") as connection:
        written = connection.execute(_FINDING, {"message": message, "id": approval_id, "slug": namespace})
        return written.rowcount == 1
