"""Store requests of agents for a night, and let the server read the list of runs.

The statements are in 0003_night_requests.sql. There is no downgrade: a store that holds memory is restored from a backup.
"""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0003_night_requests"
down_revision = "0002_policies_and_notices"


def upgrade() -> None:
    """Send the script unchanged, inside the migration's transaction."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
