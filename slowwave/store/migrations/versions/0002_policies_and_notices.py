"""Turn the setting ``auto_approve`` into accepted policies, and make notices the one way to send messages to an endpoint.

The statements are in 0002_policies_and_notices.sql. There is no downgrade: a store that holds memory is restored from a backup.
"""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0002_policies_and_notices"
down_revision = "0001_initial"


def upgrade() -> None:
    """Send the script unchanged, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
