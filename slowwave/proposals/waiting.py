"""Namespaces in which a proposal waits to be sealed, or a token's verdict to be acted on: what the sensor in Dagster asks."""

from __future__ import annotations

from typing import Any, Final

from slowwave.operations import operations
from slowwave.proposals.planned import OPERATION
from slowwave.search.namespace_settings import settings_of
from slowwave.store.connect import Store

_WAITING: Final = """
SELECT n.slug, left(encode(sha256(convert_to(string_agg(concat_ws(':', p.id, p.state, p.verdict), ' ' ORDER BY p.id), 'UTF8')), 'hex'), 16)
  FROM memory.proposals p JOIN memory.namespaces n ON n.id = p.namespace_id AND NOT n.read_only
 WHERE p.state = 'kept' OR p.state = 'planned' AND p.verdict IN ('approve', 'reject') GROUP BY n.slug ORDER BY n.slug"""


def waiting_proposals(store: Store) -> dict[str, str]:
    """Namespace → a fingerprint of what waits in it, where nights and the operation ``proposed_changes`` are on."""
    operation = operations()[OPERATION]
    with store.connect("reader") as connection:
        rows: Any = connection.execute(_WAITING).fetchall()
        settings = {name: settings_of(connection, name) for name, _ in rows}
    return {name: mark for name, mark in rows if settings[name].enabled and operation.is_on(settings[name])}
