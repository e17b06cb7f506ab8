"""Tokens of agents that reach a namespace through a server, and the role that the server has."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
