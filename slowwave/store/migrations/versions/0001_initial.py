"""Create the store: schemas, tables, functions, triggers and rights.

The statements are in 0001_initial.sql. There is no downgrade: a store that holds memory is restored from a backup.
"""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0001_initial"
down_revision = None


def upgrade() -> None:
    """Send the script unchanged, inside the migration's transaction; ``slowwave.store.logins`` creates the roles before it."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
