"""The store of the environment, ready to use."""

from __future__ import annotations

from slowwave.errors import Refused
from slowwave.store.connect import Store
from slowwave.store.migrate import migrate, pending_migrations


def open_store() -> Store:
    """The store of the environment. The embedded one is brought up to date by itself; another only by `slowwave migrate`."""
    store = Store.from_environment()
    if pending_migrations(store):
        if not store.embedded:
            raise Refused(
                f"The database at {store.address()} lacks migrations of this version. Run `slowwave migrate` as its owner."
            )
        migrate(store)
    return store
