"""What agents propose: kept by day, planned by whoever plans, decided by tokens that may approve."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
