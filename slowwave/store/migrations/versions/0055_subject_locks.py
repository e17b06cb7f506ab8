"""Let a server lock the subject of a claim, and no other name."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0055"
down_revision = "0054"


def upgrade() -> None:
    """Send the script as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
