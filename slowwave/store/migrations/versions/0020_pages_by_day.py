"""Pages that agents write by day: create, change, move, forget and purge, each by one function, and the files that follow them."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
