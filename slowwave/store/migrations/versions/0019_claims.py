"""Claims: what an agent says by day of a subject, with its evidence and its events, and what it wants forgotten."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
