"""What a step may leave in the event log: the level of its namespace, and its errors in words that obey it.

Events stay for ever, so this is settled when they are made. What the levels mean belongs to ``slowwave.plans.run_events``.
"""

from collections.abc import Generator
from contextlib import contextmanager

import dagster as dg

from resources.tables import mapped_snapshot
from slowwave.plans.run_events import Level, in_words, level_of, levels_in, strictest
from slowwave.store.connect import Store


def level_at(location: str) -> Level:
    """``redact_text`` as a snapshot has it: what is computed from it obeys it."""
    return level_of(mapped_snapshot(location).settings)


def level_now(store: Store, *namespaces: str) -> Level:
    """The strictest ``redact_text`` of some namespaces as it is now."""
    with store.connect("reader") as connection:
        return strictest(levels_in(connection, namespaces))


@contextmanager
def discreet(level: Level) -> Generator[None]:
    """An error inside is kept with its place in the code, and with what it says as far as the level lets it."""
    try:
        yield
    except dg.Failure:
        raise
    except Exception as problem:
        if level == "none":
            raise
        raise dg.Failure(in_words(problem, level)).with_traceback(problem.__traceback__) from None
