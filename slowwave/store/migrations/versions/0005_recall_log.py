"""Recalls are logged by a function of their own, a store knows itself, and events are found by run."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
