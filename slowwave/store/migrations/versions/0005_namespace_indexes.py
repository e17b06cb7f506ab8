"""Index the large tables by namespace, so that what one namespace costs does not grow with the others.

The statements are in 0005_namespace_indexes.sql. There is no downgrade: a store that holds memory is restored from a backup.
"""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0005_namespace_indexes"
down_revision = "0004_snapshot_digests"


def upgrade() -> None:
    """Send the script unchanged, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
