"""Which database this is: what keeps apart the files of several databases that share a folder."""

from __future__ import annotations

import hashlib
from typing import Final

import psycopg

from slowwave.errors import StoreError
from slowwave.store.connect import Store

_STORE_AND_DATABASE: Final = """
SELECT (SELECT id::text FROM night.store), (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_SERVER: Final = "SELECT system_identifier FROM pg_control_system()"


def identity(store: Store) -> str:
    """16 hexadecimal digits that no other database has: neither one made for itself, nor a copy, nor one restored from a dump.

    Made of the store's own id, which a copy shares, of the database's number on its server, and of the server's identifier where the
    login may read it. So a database that moves to another server is another one, and its files are written anew.
    """
    with store.connect("reader") as connection:
        row = connection.execute(_STORE_AND_DATABASE).fetchone()
        if row is None or row[0] is None:
            raise StoreError(
                "The store has lost its id (the row of night.store), so its files cannot be distinguished from another store's. "
                "Restore it from a backup, or INSERT a new id as the owner: snapshots then begin anew."
            )
        try:
            server = connection.execute(_SERVER).fetchone()
        except psycopg.errors.InsufficientPrivilege:
            server = None
    return hashlib.sha256(f"{row[0]}|{row[1]}|{server[0] if server else ''}".encode()).hexdigest()[:16]
