"""Items of agents' sessions, as they gave them, and an index of the items that LangGraph keeps."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
