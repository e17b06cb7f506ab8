"""The states that may follow one another in a run are those of ``slowwave.runs.states``, in the database as well."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
