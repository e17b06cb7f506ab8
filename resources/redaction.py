"""Redaction of events: the level of a namespace, and errors in words that obey it.

Dagster keeps events for ever, so the level is applied when they are made. ``slowwave.night.run_events`` defines the levels.
"""

from collections.abc import Generator
from contextlib import contextmanager

import dagster as dg

from resources.tables import mapped_snapshot
from slowwave.night.run_events import Level, in_words, level_of, levels_in, strictest
from slowwave.store.connect import Store


def level_at(location: str) -> Level:
    """``redact_text`` as a snapshot has it: what is computed from it obeys it."""
    return level_of(mapped_snapshot(location).settings)


def level_now(store: Store, *namespaces: str) -> Level:
    """Return the strictest ``redact_text`` that some namespaces have now."""
    with store.connect("reader") as connection:
        return strictest(levels_in(connection, namespaces))


@contextmanager
def discreet(level: Level) -> Generator[None]:
    """Record an error with its place in the code, and with as much of its message as the level allows."""
    try:
        yield
    except dg.Failure:
        raise
    except Exception as problem:
        if level == "none":
            raise
        raise dg.Failure(in_words(problem, level)).with_traceback(problem.__traceback__) from None
