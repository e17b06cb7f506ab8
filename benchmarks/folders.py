"""``python -m benchmarks.folders [--files 10000] [--write]``: what following a folder costs, and wake blocks and pages beside their SQL.

Files are generated: sixty words and a link each. Vectors are drawn, as embedding is another figure. The time of SQL is that of the calls of
psycopg in the same run.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import psycopg
from rich.console import Console

import slowwave
from benchmarks.machine import load, machine
from benchmarks.report import Part, put, show
from benchmarks.search import drawn_vectors
from slowwave.models.embedder import MINILM_DIMENSIONS
from slowwave.models.embedding_models import MINILM_MODEL
from slowwave.search.recall_events import logged
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store
from slowwave.wiki.corpus.corpora import add_corpus
from slowwave.wiki.corpus.sync import CorpusSync, sync_corpus

PAGE: Final = Path(__file__).parents[1] / "docs" / "corpus.md"
MARKS: Final = ("<!-- speed -->", "<!-- end of speed -->")
ASKED: Final = 40
"""How often a wake block and a page are asked for."""


class DrawnEmbedder:
    """Vectors that cost nothing."""

    model, dimensions = MINILM_MODEL, MINILM_DIMENSIONS

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """One for each text; the same for as many texts."""
        return drawn_vectors(len(texts), 1)


def write_files(folder: Path, files: int) -> None:
    """A hundred folders of Markdown."""
    rng = random.Random(1)  # noqa: S311 - the same files every time
    words = [f"word{n}" for n in range(5_000)]
    for n in range(files):
        file = folder / f"part{n % 100}" / f"page{n}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Page {n}\n\n{' '.join(rng.choices(words, k=60))}\n\nSee [[page{rng.randrange(files)}]].\n")


def followed(store: Store, folder: Path, files: int) -> Iterator[list[str]]:
    """Seconds, and CPU seconds of this process, of a first sync, one that finds nothing, and one of a changed hundredth."""

    def synced() -> tuple[CorpusSync, list[str]]:
        wall, cpu = time.perf_counter(), time.process_time()
        with store.connect("owner") as connection:
            done = sync_corpus(
                connection, "folders", add_corpus(connection, "folders", folder, "plain"), DrawnEmbedder()
            )
        return done, [f"{time.perf_counter() - wall:.2f}", f"{time.process_time() - cpu:.2f}"]

    write_files(folder, files)
    done, took = synced()
    yield [f"{done.new:,} new", *took]
    done, took = synced()
    yield [f"{done.unchanged:,} unchanged", *took]
    for n in range(0, files, 100):
        with (folder / f"part{n % 100}" / f"page{n}.md").open("a") as file:
            file.write("\nMore is known now.\n")
    done, took = synced()
    yield [f"{done.changed:,} changed, {done.unchanged:,} unchanged", *took]


def beside_their_sql(store: Store) -> Iterator[list[str]]:
    """Milliseconds of a wake block and of a page, in all and in SQL."""
    memory = slowwave.Memory("folders", store)
    execute = psycopg.Cursor.execute
    spent = 0.0
    within = False

    def timed(self: Any, *given: Any, **named: Any) -> Any:
        nonlocal spent, within
        if within or threading.current_thread() is not threading.main_thread():  # recalls are logged behind an answer
            return execute(self, *given, **named)
        within, began = True, time.perf_counter()
        try:
            return execute(self, *given, **named)
        finally:
            within, spent = False, spent + time.perf_counter() - began

    asked: dict[str, Callable[[], object]] = {
        "wake": lambda: memory.wake("bench"),
        "get": lambda: memory.get("part5/page5.md"),
    }
    with patch.object(psycopg.Cursor, "execute", timed):
        for name, ask in asked.items():
            ask()
            spent, began = 0.0, time.perf_counter()
            for _ in range(ASKED):
                ask()
            whole = time.perf_counter() - began
            yield [name, f"{whole / ASKED * 1000:.1f}", f"{spent / ASKED * 1000:.1f}", f"{whole / spent:.2f}"]
    logged()


def measured(store: Store, folder: Path, files: int) -> list[Part]:
    """All of it."""
    rows = [*followed(store, folder, files)]
    header = ("files", "seconds", "CPU seconds of the sync")
    told = ("asked for", "ms", "ms of SQL", "ratio")
    return [
        Part("A folder is followed", "Without embedding; the database's own work is in the seconds.", header, rows),
        Part(f"Among {files:,} pages", f"The mean of {ASKED}.", told, [*beside_their_sql(store)]),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it and print; with ``--write`` write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="slowwave-folders-") as home:
        os.environ["SLOWWAVE_HOME"] = home
        store = open_store()
        try:
            found = measured(store, Path(home) / "folder", asked.files)
        finally:
            server.stop(Path(home))
    show(found, Console())
    if asked.write:
        told = "; ".join(f"{name} {value}" for name, value in machine().items())
        put(found, PAGE, MARKS, f"Measured on: {told}; load {load()}.")


if __name__ == "__main__":
    main()
