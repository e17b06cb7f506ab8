"""Refuse values of memory that a night cannot read."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    """Run the script unchanged inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
