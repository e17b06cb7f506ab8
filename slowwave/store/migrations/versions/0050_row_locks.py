"""Lock namespaces, pages and subjects by rows instead of advisory locks."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    """Run the script unchanged inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
