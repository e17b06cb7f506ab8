"""The two locks of a namespace: each is held by one transaction at a time, and neither stands in the other's way."""

from __future__ import annotations

import psycopg
import pytest

from slowwave.runs.locks import lock_batches, lock_claims
from slowwave.store.connect import Store
from tests.memories import remember


def test_a_lock_is_held_until_its_transaction_ends(store: Store) -> None:
    one, other = remember(store, "acme"), remember(store, "other")
    with store.connect("applier") as holder, store.connect("planner") as comer:
        comer.execute("SET lock_timeout = '50ms'")
        for lock, free in ((lock_claims, lock_batches), (lock_batches, lock_claims)):
            with holder.transaction():
                lock(holder, one)
                lock(holder, one)
                with comer.transaction():
                    lock(comer, other)
                    free(comer, one)
                with pytest.raises(psycopg.errors.LockNotAvailable), comer.transaction():
                    lock(comer, one)
            with comer.transaction():
                lock(comer, one)
        comer.execute("RESET lock_timeout")
