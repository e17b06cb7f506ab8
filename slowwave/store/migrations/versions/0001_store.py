"""The store: tables, indexes, triggers, roles.

The statements stand in 0001_store.sql, in the order in which they run. There is no downgrade: a store that holds memory is
restored from a backup, never taken apart.
"""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create everything: one script, sent as it is, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
