"""``python -m benchmarks.speakers [--data DIR]``: how often searches find a message by the name of its speaker.

The conversations of ``memorybank`` are put into one namespace, twice: with the names of people as roles, and with the role `user`, which
names no one, so that their messages are embedded and indexed without a speaker. The questions are those of ``speakers.toml``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import tempfile
import tomllib
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from rich.console import Console

from benchmarks.nights import Remembering
from benchmarks.report import Part, show
from benchmarks.search import DATA, MODES, K, compared
from slowwave.models.embedder import Embedder
from slowwave.search.request import SearchRequest
from slowwave.search.search import search
from slowwave.sources.pipeline import import_messages
from slowwave.store import server
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store
from slowwave.store.settings import Settings

QUESTIONS: Final = Path(__file__).with_name("speakers.toml")
TABLES: Final = {"questions": "about a person", "after": "answered in reply", "days": "about a day"}
"""Tables of ``speakers.toml`` → name of their questions."""
TODAY: Final = date(2023, 5, 7)
"""The day after the last turn."""

_IDS: Final = """
SELECT id::text, external_id FROM memory.chunks WHERE external_id IS NOT NULL
UNION ALL SELECT id::text, external_id FROM memory.memories WHERE external_id IS NOT NULL
"""


def is_kept_back(key: str) -> bool:
    """Whether a question belongs to the half by which nothing was chosen."""
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2 == 1


def load(
    store: Store, slug: str, turns: Sequence[dict[str, Any]], home: Path, embedder: Embedder, *, named: bool
) -> None:
    """Import all conversations into one namespace; ``named`` says whether people are named as the speakers.

    All people speak at nine: each gets a time of day, so that a turn follows the one that it answers.
    """
    file = home / f"{slug}.jsonl"
    people = list(dict.fromkeys(turn["namespace"] for turn in turns))
    with file.open("w", encoding="utf-8") as out:
        for turn in turns:
            name = turn["namespace"].removeprefix("memorybank-").split("-")[0].capitalize()
            role = name if named and turn["role"] == "user" else turn["role"]
            begins = timedelta(minutes=20 * people.index(turn["namespace"]))
            at = (datetime.fromisoformat(turn["created_at"]) + begins).isoformat()
            out.write(json.dumps({**turn, "namespace": slug, "role": role, "created_at": at}) + "\n")
    with store.connect("owner") as connection:
        import_messages(connection, file, embedder=embedder)


def reciprocal_ranks(store: Store, slug: str, mode: str, embedder: Embedder, table: str) -> dict[str, float]:
    """Return question → 1 / the rank of the turn that answers among the first ten, 0 if it is not there.

    ``table`` names the questions in ``speakers.toml``.
    """
    with store.connect("owner") as connection:
        turn_of = {str(id_): str(key) for id_, key in connection.execute(_IDS).fetchall()}
    found: dict[str, float] = {}
    for key, query in tomllib.loads(QUESTIONS.read_text())[table].items():
        request = SearchRequest.model_validate({"query": query, "mode": mode, "k": K})
        turns = [turn_of.get(r.id, "") for r in search(store, slug, request, embedder=embedder, today=TODAY).results]
        person, day, number = key[:-10], key[-9:-4], key[-3:]
        right = f"memorybank-{person}-2023-{day}-{number}"
        found[key] = 1 / (turns.index(right) + 1) if right in turns else 0.0
    return found


def measured(store: Store, data: Path, home: Path, embedder: Embedder) -> list[Part]:
    """Return hybrid compared with its halves, and for each mode recall and MRR of both halves of the questions."""
    turns = [json.loads(line) for line in (data / "memorybank" / "messages.jsonl").read_text().splitlines()]
    rows: list[list[str]] = []
    halves: list[list[str]] = []
    for slug, (table, name) in product(("without", "with"), TABLES.items()):
        if table == next(iter(TABLES)):
            load(store, slug, turns, home, embedder, named=slug == "with")
        ranks = {mode: reciprocal_ranks(store, slug, mode, embedder, table) for mode in MODES}
        hits = {mode: [rank > 0 for rank in by_key.values()] for mode, by_key in ranks.items()}
        halves.append(compared(f"{name}, {slug} the speaker", hits))
        for mode, by_key in ranks.items():
            parts = [[rank for key, rank in by_key.items() if is_kept_back(key) == kept] for kept in (False, True)]
            cells = [f"{fmean(values):.3f}" for part in parts for values in ([rank > 0 for rank in part], part)]
            rows.append([f"{slug} the speaker", name, mode, *cells])
    header = ("messages", "questions", "mode", "Recall@10", "MRR", "Recall@10, kept back", "MRR, kept back")
    count = sum(map(len, tomllib.loads(QUESTIONS.read_text()).values()))
    says = f"{count} questions that name a person, in one namespace of all conversations."
    names = ("questions", "number", "words", "vectors", "hybrid", "less the better half")
    return [
        Part("Hybrid and its halves", "Recall@10 and its paired difference with a 95 % interval.", names, halves),
        Part("Messages found by their speakers", says, header, rows),
    ]


def main() -> None:
    """Measure on an embedded server of its own, in a temporary home."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speakers", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with memorybank")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as home:
        os.environ["SLOWWAVE_HOME"] = home
        os.environ.pop("SLOWWAVE_DATABASE_URL", None)
        try:
            parts = measured(open_store(), given.data, Path(home), Remembering(embedder_for(Settings())))
        finally:
            server.stop(Path(home))
    show(parts, Console(width=140))


if __name__ == "__main__":
    main()
