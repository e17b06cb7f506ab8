"""Index memories by the passages that they cite.

The statements are in 0007_cited_passages.sql. There is no downgrade: a store that holds memory is restored from a backup.
"""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0007_cited_passages"
down_revision = "0006_processes_of_runs"


def upgrade() -> None:
    """Send the script unchanged, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
