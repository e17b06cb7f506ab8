"""An undo that was refused says so in its state; a notice is claimed for a while by whoever sends it."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
