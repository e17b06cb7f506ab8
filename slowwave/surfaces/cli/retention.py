"""``slowwave namespace retain``: remove report files, findings and ledger rows that are past their retention."""

from __future__ import annotations

import typer

from slowwave.errors import SlowwaveError
from slowwave.store.namespaces import namespace_settings
from slowwave.surfaces.cli.session import (
    AnyNamespace,
    Json,
    chosen_namespaces,
    open_store,
    show_failures,
    show_json,
    show_table,
)

# ``slowwave namespace retain``: remove what is past its retention now.


def retain(
    namespace: AnyNamespace,
    json: Json = False,
) -> None:
    """Remove reports and ledger rows that are past their retention.

    The schedule does so every day.
    """
    from slowwave.night.retention import retain as run

    store = open_store()
    removed: dict[str, dict[str, int]] = {}
    failures: list[tuple[str, SlowwaveError]] = []
    names = chosen_namespaces(store, namespace)
    for name in names:
        try:
            with store.connect("reader") as connection:
                settings = namespace_settings(connection, name)
            removed[name] = run(store, name, settings)
        except Exception as problem:
            if len(names) == 1:
                raise
            from slowwave.night.run_events import in_words  # it imports the settings

            known = isinstance(problem, SlowwaveError)
            failures.append((name, problem if known else SlowwaveError(f"{in_words(problem, 'all')}.")))
    if json:
        show_json(
            [
                *({"namespace": name, "removed": counts} for name, counts in removed.items()),
                *({"namespace": name, "error": str(problem)} for name, problem in failures),
            ]
        )
    elif removed:
        columns = tuple(next(iter(removed.values())))
        show_table("Removed", ("namespace", *columns), [[name, *counts.values()] for name, counts in removed.items()])
    show_failures(failures)
    if failures:
        raise typer.Exit(1)
