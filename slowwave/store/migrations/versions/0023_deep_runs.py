"""Runs of the mode ``deep``: a model's work on a scratch copy, and the plan that comes of it."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
