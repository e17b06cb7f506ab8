"""The gate in the database: sealed plans, states that only move forward, approvals that can be revoked."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
