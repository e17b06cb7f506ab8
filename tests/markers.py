"""A marker in every text that a namespace remembers, to look for wherever nothing of it may be."""

from __future__ import annotations

import base64
import json
import re
import uuid
from typing import Final

from sqlalchemy import Text
from sqlalchemy.dialects.postgresql import JSONB

from slowwave.store.connect import Store
from slowwave.store.tables import EXPORTED

MARKER: Final = "zqxmarker"

_OURS: Final = {
    ("memories", "kind"),
    ("memories", "state"),
    ("entities", "state"),
    ("documents", "plane"),
    ("links", "kind"),
}
"""Columns that planners read as words of a closed list, or that the database holds to one."""

_BASE64: Final = re.compile(r"base64,([A-Za-z0-9+/=]+)")


def plant(store: Store, namespace: str) -> None:
    """Put the marker into every text and JSON column of every memory table of a namespace, keys of attributes included."""
    scope = "namespace_id = (SELECT id FROM memory.namespaces WHERE slug = %(slug)s)"
    with store.connect("owner") as connection, connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")  # names and versions are append-only
        for statement in _ROWS:
            connection.execute(statement.encode(), {"slug": namespace, "id": str(uuid.uuid4())})
        for table in EXPORTED:
            changes = [
                change
                for c in table.columns
                if (table.name, c.name) not in _OURS and (change := _change(c.name, c.type))
            ]
            if changes:
                query = f"UPDATE memory.{table.name} SET {', '.join(changes)} WHERE {scope}"
                connection.execute(query.encode(), {"slug": namespace})


def found(text: str) -> bool:
    """Whether the marker stands in a text, or in a picture in it."""
    return MARKER in text.casefold() or any(
        MARKER.encode() in base64.b64decode(part).lower() for part in _BASE64.findall(text)
    )


_NAMED: Final = "(SELECT id FROM memory.namespaces WHERE slug = %(slug)s)"
_ROWS: Final = (
    f"INSERT INTO memory.pages (id, namespace_id, path, title, body) VALUES (%(id)s, {_NAMED}, 'p', 't', 'b')",
    f"INSERT INTO memory.communities (id, namespace_id, payload, member_ids) SELECT %(id)s, {_NAMED}, '{{}}', "
    f"array_agg(id) FROM (SELECT id FROM memory.entities WHERE namespace_id = {_NAMED} AND invalidated_at IS NULL ORDER BY id LIMIT 6) m",
    f"INSERT INTO memory.promotions (id, namespace_id, memory_id, from_ring, to_ring) SELECT %(id)s, {_NAMED}, id, 'a', 'b' "
    f"FROM memory.memories WHERE namespace_id = {_NAMED} LIMIT 1",
)
"""Tables that an import leaves empty get a row."""


def _change(name: str, kind: object) -> str:
    if isinstance(kind, JSONB):
        inner = json.dumps({f"{MARKER}_key": {f"{MARKER} inner": [f"{MARKER} value", 5], "phone": 5551234}})
        if name == "tags":
            return f"""{name} = {name} || '["{MARKER} tag"]'::jsonb"""
        return f"{name} = {name} || '{inner}'::jsonb"
    if not isinstance(kind, Text):
        return ""
    if name in ("external_id", "session_id"):
        return f"{name} = coalesce({name}, '') || '{MARKER}-' || id"
    return f"{name} = {name} || ' {MARKER}'"
