"""Fix which run a row of ``night.runs`` is, and keep its times within the database's clock."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    """Run the script unchanged inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
