"""Keep the speaker of an imported message with its passage and with the vector that was made of both."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0053"
down_revision = "0052"


def upgrade() -> None:
    """Send the script as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
