"""Pages and claims that plans write: events of claims are rows like others, and files follow pages that a plan wrote."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
