"""Functions that run with rights of their owner: whose they are, who may use them, and where they look names up.

A later migration that needs one writes ``CREATE FUNCTION`` as always and then ``SELECT night.as_definer('memory.name(types)')``, which
does the rest: SECURITY DEFINER, a fixed search_path with pg_temp last, nothing for PUBLIC, and an owner that nobody logs in as. Rights
that such a function needs are granted to that owner (slowwave_recorder unless another is named), and EXECUTE to whom it is for.
``CREATE OR REPLACE FUNCTION`` keeps owner and grants, but not SECURITY DEFINER and search_path: call ``night.as_definer`` again.
Inside, check the types of what comes in before using it: a value of a caller's own type brings casts that run with these rights.
``slowwave.store.roles.unsafe_definers`` finds what was forgotten; tests/security walks the whole database with it.
"""

from pathlib import Path
from typing import cast

import psycopg
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """One script, sent as it is, inside the migration's transaction; ``slowwave.store.roles`` provides the roles before it."""
    connection = cast("psycopg.Connection", op.get_bind().connection.driver_connection)
    connection.execute(Path(__file__).with_suffix(".sql").read_bytes())
