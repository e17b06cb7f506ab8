"""Links of planned pages await the pages that the same plan brings."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
