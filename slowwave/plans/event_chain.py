"""The event chain of a namespace: one event per item applied or undone, each linked to the previous one by its hash.

An event's payload is the hash of the item's journal entries in the run, so the chain protects the journal: an entry that is changed,
removed or added later no longer fits it. Links are made under the batch lock, so the chain has no branches and no gaps.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from typing import Final

from slowwave.store.logins import Connection

_LAST_EVENT: Final = """
SELECT sequence, hash FROM night.memory_events WHERE namespace_id = %s ORDER BY sequence DESC LIMIT 1
"""
_EVENTS: Final = """
SELECT sequence, run_id::text, item_id::text, event, payload_hash, previous_hash, hash FROM night.memory_events
  WHERE namespace_id = %s ORDER BY sequence
"""

GENESIS: Final = "0" * 64

PAYLOAD: Final = (
    "'v2:' || encode(sha256(convert_to(coalesce(string_agg(jsonb_build_array(table_name, row_id, row_key, column_name, action, "
    "before_hash, after_hash, undoes)::text, E'\\n' ORDER BY id), ''), 'UTF8')), 'hex')"
)
"""SQL: the payload of an item's journal entries, as an aggregate; without entries it is the hash of the empty string."""

FIRST_PAYLOAD: Final = (
    "encode(sha256(convert_to(string_agg(concat_ws('|', table_name, row_id, row_key, column_name, action, before_hash, after_hash), "
    "E'\\n' ORDER BY id), 'UTF8')), 'hex')"
)
"""The payload as events of version 0.1.0 have it. It skips nulls, so it cannot tell which of two hashes is missing."""

_PAYLOADS: Final = f"""
SELECT i.item_id::text, p.payload FROM unnest(%s::uuid[]) i(item_id) CROSS JOIN LATERAL (SELECT {PAYLOAD} AS payload
  FROM night.journal j WHERE j.run_id = %s AND j.item_id = i.item_id) p ORDER BY i.item_id
"""
_COPY_EVENTS: Final = """
COPY night.memory_events (id, namespace_id, sequence, run_id, item_id, event, payload_hash, previous_hash, hash) FROM STDIN
"""


def append_events(connection: Connection, namespace_id: str, run_id: str, event: str, item_ids: Sequence[str]) -> None:
    """Append one event for each item that this run applied or undid, in item order, in bulk."""
    last = connection.execute(
        _LAST_EVENT,
        (namespace_id,),
    ).fetchone()
    sequence, previous = (int(str(last[0])), str(last[1])) if last else (0, GENESIS)
    payloads = connection.execute(_PAYLOADS, (list(item_ids), run_id)).fetchall()
    with connection.cursor() as cursor, cursor.copy(_COPY_EVENTS) as copy:
        for item_id, payload in payloads:
            sequence += 1
            linked = link(previous, sequence, run_id, str(item_id), event, str(payload))
            copy.write_row((uuid.uuid4(), namespace_id, sequence, run_id, item_id, event, payload, previous, linked))
            previous = linked


def link(previous: str, sequence: int, run_id: str, item_id: str, event: str, payload: str) -> str:
    """Return the SHA-256 hash that binds an event to the previous one."""
    return hashlib.sha256(f"{previous}|{sequence}|{run_id}|{item_id}|{event}|{payload}".encode()).hexdigest()


def verify_chain(connection: Connection, namespace_id: str) -> tuple[int, int | None]:
    """Return (events, sequence of the first event that does not fit, or None if the chain is intact)."""
    previous, expected, count = GENESIS, 0, 0
    rows = connection.execute(
        _EVENTS,
        (namespace_id,),
    )
    for sequence, run_id, item_id, event, payload, before, hash_ in rows:
        expected, count, number = expected + 1, count + 1, int(str(sequence))
        right = link(previous, expected, str(run_id), str(item_id), str(event), str(payload))
        if number != expected or before != previous or hash_ != right:
            return count, number
        previous = str(hash_)
    return count, None
