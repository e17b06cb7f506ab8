"""What a server's login may do without a token, and what a capture or session may say of itself, is narrower."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
