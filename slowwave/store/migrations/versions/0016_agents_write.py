"""What agents write through a server, each by one function: a session of theirs, and what models that help by day have cost."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
