"""Rows that a plan forgets for good, and the record that keeps imports from bringing them back."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0052"
down_revision = "0051"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
