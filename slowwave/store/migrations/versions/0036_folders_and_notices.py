"""The blocks of folders that are worked on in place, as rows; and word of what was written to stores whose bindings ask for it."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
