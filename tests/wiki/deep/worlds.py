"""A namespace that a deep pass finds something to do in: memories of two subjects, a page, the index, sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowwave.store.connect import Store
from tests.memories import ago, ask, remember
from tests.snapshots import uid

SLUG = "acme"

SAID: Mapping[str, tuple[str, str]] = {
    "pier": ("ferry", "The night ferry leaves from pier nine at six."),
    "pier again": ("ferry", "The night ferry leaves from pier nine."),
    "keeper": ("ferry", "Mara Olsen keeps the timetable of the ferry."),
    "crane": ("crane", "The harbor crane lifts 12 tons."),
    "cables": ("crane", "The north arm of the crane has worn cables."),
    "cash": ("", "The harbour office accepts cash payments."),
}
"""Memory → subject and text."""

SESSION = "sessions/2026-05-04-s{}.md"


def world(
    store: Store,
    *,
    sessions: Sequence[str] = ("Mara: the harbor crane lifts 14 tons since Ilse Brandt tested it.",),
    said: Mapping[str, tuple[str, str]] = SAID,
    days: float = 5,
    **options: Any,
) -> str:
    """Write it; ``options`` are those of the deep pass. Returns the namespace's id."""
    return remember(
        store,
        SLUG,
        settings={"operations": {"deep_pass": {"model": "player", **options}}},
        corpora=[
            {"id": "talks", "root": "sessions:", "profile": "dory"},
            {"id": "wiki", "root": "/srv/wiki", "profile": "plain"},
        ],
        documents=[
            {
                **{
                    "id": f"talk {n}",
                    "corpus_id": "talks",
                    "plane": "sessions",
                    "recorded_at": ago(days),
                    "content": text,
                },
                **{"path": f"logs/sessions/mara/{SESSION.format(n).rpartition('/')[2]}", "content_hash": str(n)},
            }
            for n, text in enumerate(sessions)
        ]
        + [
            {
                **{
                    "id": "page",
                    "corpus_id": "wiki",
                    "path": "harbour.md",
                    "content_hash": "p",
                    "recorded_at": ago(days),
                },
                **{"content": "# Harbour\n\nThe harbour has nine piers.\n"},
            }
        ],
        memories=[
            {
                **{"id": name, "kind": "semantic", "subject": subject, "current_version_id": f"{name} text"},
                **{"recorded_at": ago(days)},
            }
            for name, (subject, _) in said.items()
        ],
        memory_versions=[
            {"id": f"{name} text", "memory_id": name, "content": text} for name, (_, text) in said.items()
        ],
    )


def entry(name: str, said: Mapping[str, tuple[str, str]] = SAID) -> str:
    """The line of a memory in its topic file, with its end."""
    return f"- [mem:{uid(name)}] {said[name][1]}\n"


def runs(store: Store) -> list[tuple[object, ...]]:
    """State and error of each run, in order."""
    return ask(store, "SELECT state, coalesce(error, '') FROM night.runs ORDER BY started_at")
