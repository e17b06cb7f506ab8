"""A verdict of a token names the plan that it read; forgetting leaves evidence on which others rest."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
