"""Remove a row of the search index with the text that it is made of."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    """Run the script as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
