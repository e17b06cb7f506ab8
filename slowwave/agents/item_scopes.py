"""Where an item of LangGraph lies: its namespace, a tuple of labels, as a memory's scope, and its key as part of the external id.

A scope is the labels with ``/`` between them; ``%`` and ``/`` within a label are written ``%25`` and ``%2F``, so that every tuple has a
scope of its own and reading gives it back. Reading and writing rows belongs to the modules beside this one.
"""

from __future__ import annotations

import re
from typing import Any, Final
from uuid import UUID

from psycopg import sql

from slowwave.errors import Refused
from slowwave.imports.rows import LONGEST_ID, BadRow, storable

SOURCE: Final = "langgraph"
"""What the rows say of where they come from; their external ids begin with it."""

LABELS: Final = sql.SQL("string_to_array(m.scope, '/')")
"""The written labels of ``memory.memories m``."""

Labels = tuple[str, ...]
"""A namespace of LangGraph."""


def scope_of(labels: Labels) -> str:
    """The scope of a namespace of LangGraph."""
    return "/".join(map(written, labels))


def labels_of(scope: str) -> Labels:
    """The namespace that a scope is written from."""
    return tuple(map(read, scope.split("/"))) if scope else ()


def written(label: str) -> str:
    """A label as it stands in a scope."""
    return label.replace("%", "%25").replace("/", "%2F")


def read(label: str) -> str:
    """The label that is so written."""
    return label.replace("%2F", "/").replace("%25", "%")


def external_id(labels: Labels, key: str) -> str:
    """What an item's memory is known by. Raises ``Refused`` for what is too long, or no text that a database takes."""
    named = f"{SOURCE}:{scope_of(labels)}/{written(key)}"
    try:
        storable(named, "its namespace or key")
    except BadRow as problem:
        raise Refused(f"An item cannot be addressed: {problem}. Nothing was done.") from None
    if len(named) > LONGEST_ID:
        raise Refused(
            f"An item's namespace and key have {len(named):,} characters together, more than {LONGEST_ID}. Nothing was done. "
            "Choose shorter ones."
        )
    return named


def key_of(known: str, scope: str) -> str:
    """The key in the external id of a memory of this scope."""
    return read(known[len(f"{SOURCE}:{scope}/") :])


def subject_of(key: str) -> str:
    """What a memory under this key is about: the key where somebody named it, nothing where a program drew it at random.

    Memories of two subjects are never merged, so that two settings of one value stay two.
    """
    try:
        UUID(key)
    except ValueError:
        return "" if re.fullmatch(r"[0-9a-fA-F]{16,}", key) else key
    return ""


def within(prefix: Labels, values: dict[str, Any], name: str = "scope") -> sql.Composable:
    """The condition that ``memory.memories m`` lies in a namespace or below it; what it compares with goes to ``values``.

    Compared by bytes, as the index ``memories_items`` has them: "0" is the character after "/".
    """
    if not prefix:
        return sql.SQL("true")
    scope = scope_of(prefix)
    values |= {name: scope, f"{name}_below": f"{scope}/", f"{name}_beyond": f"{scope}0"}
    return sql.SQL("(m.scope = {at} OR (m.scope ~>=~ {below} AND m.scope ~<~ {beyond}))").format(
        at=sql.Placeholder(name), below=sql.Placeholder(f"{name}_below"), beyond=sql.Placeholder(f"{name}_beyond")
    )


def is_id(key: str) -> bool:
    """Whether a key is a row's id as the store writes it: a summary that a night wrote has no other key."""
    try:
        return str(UUID(key)) == key
    except ValueError:
        return False
