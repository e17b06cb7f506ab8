"""Addresses that are right stay as they are meant; what is wrong is told in tests/regressions/test_18_addresses.py."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from slowwave.errors import StoreError
from slowwave.store.logins import checked


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("postgresql://me:p%40ss%2Fword@db.example:5433/memory", "db.example"),
        ("postgres+psycopg://me:pw@10.0.0.7/memory?sslmode=require", "10.0.0.7"),
        ("POSTGRESQL://me@[fe80::1]:5432/memory", "fe80::1"),
        ("postgresql://me:pw@one:5432,two:5433/memory?target_session_attrs=read-write", "one,two"),
        ("postgresql:///memory?host=/var/run/postgresql", "/var/run/postgresql"),
        ("host=/run/pg dbname='my db' user=me password='p@/ss'", "/run/pg"),
        ("  postgresql://my_host-1.internal/memory\n", "my_host-1.internal"),
    ],
)
def test_every_form_that_libpq_reads_is_taken(address: str, host: str) -> None:
    """URLs with and without a driver, several hosts, sockets, and libpq's own form."""
    assert conninfo_to_dict(checked("V", address)).get("host") == host


def test_a_driver_leaves_the_scheme_and_nothing_else_changes() -> None:
    """Query, user and password stand as they were."""
    assert checked("V", "postgresql+psycopg2://u:p%40@h/d?sslmode=require") == "postgresql://u:p%40@h/d?sslmode=require"


@pytest.mark.parametrize(
    "address", ["nowhere", "http://h/d", "postgresql://h:0/d", "host=h port=5432,x", "postgresql://a b/d"]
)
def test_a_refusal_names_the_variable(address: str) -> None:
    """And never the address."""
    with pytest.raises(StoreError, match="SLOWWAVE_DATABASE_URL") as told:
        checked("SLOWWAVE_DATABASE_URL", address)
    assert address not in str(told.value)
