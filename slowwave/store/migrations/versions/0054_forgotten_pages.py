"""Let plans forget pages, conflicts, findings, proposals and answers of models, and keep a tombstone of each page."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0054"
down_revision = "0053"


def upgrade() -> None:
    """Send the script as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
