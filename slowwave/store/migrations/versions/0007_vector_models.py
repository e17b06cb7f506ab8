"""A model is registered by the first vectors that are applied; its search index is built apart, by the owner."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
