"""``python -m benchmarks.agent_stores [--items 1000]``: ``SlowwaveStore`` beside LangGraph's ``PostgresStore``, putting and finding items.

Both are on one PostgreSQL of their own, in one run, with the same embedding model and the same items; what each does for an item differs:
ours keeps versions, screens texts, indexes words as well as vectors and logs what is recalled.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.postgres import PostgresStore
from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from slowwave.models.embedder import OfflineEmbedder
from slowwave.models.embedding_models import STATIC_MODEL
from slowwave.search.recall_events import logged
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store
from slowwave.wiki.agents.langgraph_store import SlowwaveStore

BATCH: Final = 100
ALONE: Final = 200
QUERIES: Final = 100
_WHO: Final = ("Mara", "Ada", "The harbour master", "My neighbour", "Our baker", "The pilot", "Her sister")
_DOES: Final = ("drinks", "repairs", "sells", "paints", "carries", "counts", "forgets", "collects", "prefers")
_WHAT: Final = ("green tea", "old bicycles", "red boats", "maps of Bergen", "rye bread", "tide tables", "wool hats")
_WHEN: Final = ("in the morning", "on Fridays", "before the ferry leaves", "when it rains", "after lunch", "in March")


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """Milliseconds: a put within batches, one alone, one that changes nothing, a get, and a search (the median of each)."""

    batched: float
    alone: float
    again: float
    get: float
    search: float


def sentences(count: int, seed: int = 1) -> list[str]:
    """Texts, each with a number of its own."""
    draw = random.Random(seed)  # noqa: S311 - the same texts each time
    return [
        f"{draw.choice(_WHO)} {draw.choice(_DOES)} {draw.choice(_WHAT)} {draw.choice(_WHEN)}, note {n}."
        for n in range(count)
    ]


def measured(items: BaseStore, texts: Sequence[str]) -> StoreFigures:
    """Figures of an empty store that takes ``texts``, in batches of 100, and some more one by one."""
    items.put(("warm",), "k", {"content": "Warm."})
    items.search(("warm",), query="warm")
    space = ("memories", "mara")
    batches = [
        [PutOp(space, f"b{n}", {"content": text}) for n, text in enumerate(texts)][start : start + BATCH]
        for start in range(0, len(texts), BATCH)
    ]
    batched = sum(_took(lambda ops=ops: items.batch(ops)) for ops in batches) / len(texts)
    some = list(enumerate(texts[:ALONE]))
    alone = median(
        _took(lambda n=n, t=t: items.put(("memories", "ada"), f"a{n}", {"content": f"{t} Alone."})) for n, t in some
    )
    again = median(
        _took(lambda n=n, t=t: items.put(("memories", "ada"), f"a{n}", {"content": f"{t} Alone."})) for n, t in some
    )
    get = median(_took(lambda n=n: items.get(space, f"b{n}")) for n, _ in some)
    queries = [f"Who {does} {what}?" for does in _DOES for what in _WHAT][:QUERIES]
    search = median(_took(lambda query=query: items.search(space, query=query, limit=10)) for query in queries)
    return StoreFigures(batched, alone, again, get, search)


def compared(store: Store, count: int) -> tuple[StoreFigures, StoreFigures]:
    """(ours, LangGraph's) in one database, whose owner makes the tables of the other."""
    embedder = OfflineEmbedder()
    texts = sentences(count)
    index = {"dims": 512, "embed": lambda texts: embedder.embed(list(texts)).tolist(), "fields": ["content"]}
    with PostgresStore.from_conn_string(store.owner, index=index) as other:  # pyright: ignore[reportArgumentType]
        other.setup()
        theirs = measured(other, texts)
    with SlowwaveStore("acme", store, fields=["content"]) as items:
        ours = measured(items, texts)
    logged()
    return ours, theirs


def _took(call: object) -> float:
    began = time.perf_counter()
    call()  # type: ignore[operator]
    return (time.perf_counter() - began) * 1_000


def main() -> None:
    """Print both, and how many times as long ours takes."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--items", type=int, default=1_000)
    count = asked.parse_args().items
    with tempfile.TemporaryDirectory(prefix="slowwave-agents-") as home:
        os.environ |= {"SLOWWAVE_HOME": home, "SLOWWAVE_EMBEDDING_MODEL": STATIC_MODEL}
        try:
            ours, theirs = compared(open_store(), count)
        finally:
            server.stop(Path(home))
    table = Table(
        "milliseconds", "SlowwaveStore", "PostgresStore", "ratio", title=f"{count:,} items, {machine()['commit']}"
    )
    for name in StoreFigures.__slots__:
        mine, other = getattr(ours, name), getattr(theirs, name)
        table.add_row(name, f"{mine:.2f}", f"{other:.2f}", f"{mine / other:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
