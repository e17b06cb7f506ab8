"""The title of a document is part of what its chunks are searched by, the subject of a memory of what it is; chunks have their place."""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
