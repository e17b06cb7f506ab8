"""A namespace names its embedding model, so that a new default is for new namespaces: those there are keep the model of their vectors."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
