"""The store as a resource: the library's own object, from the environment of the process that connects.

It has no configuration. So nothing typed into the Launchpad can point a run at another database, and nothing shows there.
"""

import dagster as dg
import psycopg

from slowwave.errors import SlowwaveError
from slowwave.night.run_events import refusal
from slowwave.store.connect import Store


@dg.resource(description="The database that the environment names (SLOWWAVE_DATABASE_URL), else the embedded server's.")
def environment_store() -> Store:
    """Read the environment when a run or a tick needs the store, never when definitions are loaded."""
    return Store.from_environment()


STORE_PROBLEMS = (SlowwaveError, psycopg.Error)
"""What a store that is missing, unreachable or not migrated raises."""


def error_text(problem: SlowwaveError | psycopg.Error) -> str:
    """Return the problem as a sentence, without the rows that a database error quotes: Dagster keeps it with the run."""
    if isinstance(problem, SlowwaveError):
        return str(problem)
    return (
        f"The database refused it ({refusal(problem)}). `slowwave doctor` says whether it is as this version needs it."
    )
