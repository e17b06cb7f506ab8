"""Run control: what a run was asked for and how far it is, pauses, switches, and who resolved a conflict."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
