"""The gate of writing: whether what a night plans in a namespace can be applied to where its rows lie."""

from __future__ import annotations

from slowwave.bindings.connected import connected_store
from slowwave.store.connect import Connection


def why_not_writable(connection: Connection, namespace_id: str) -> str:
    """Why nothing may be sealed for a namespace, as a sentence; empty where plans can be applied, as in our own memory."""
    found = connected_store(connection, namespace_id)
    if found is None:
        return ""
    return f"The store {found[0].name} is connected to be read: nights audit it and say what they would propose, and no plan is made."
