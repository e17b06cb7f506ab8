"""``python -m benchmarks.search [--data DIR] [--rows 100000] [--write]``: how well and how fast searches find.

Quality: each mode through the real search, in a store of its own, for both offline models, beside the library bm25s. Questions are titles,
headings, and turns that ask; what is to be found is the document, the section, and the turn that answers. Speed: hybrid searches beside the
bare pgvector query and the bare GIN query of the same run, on generated texts and vectors.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any, Final

import bm25s
import numpy as np
from rich.console import Console

from benchmarks.machine import commit, load, machine
from benchmarks.report import Part, show
from slowwave.language.embedder import Embedder, OfflineEmbedder
from slowwave.language.minilm import MiniLMEmbedder
from slowwave.search.recall_log import logged
from slowwave.search.request import SearchRequest
from slowwave.search.search import search
from slowwave.store import server, tables
from slowwave.store.connect import Store
from slowwave.store.load import load_rows
from slowwave.store.opening import open_store

DATA: Final = Path(__file__).parents[2] / "shared" / "data"
PAGE: Final = Path(__file__).parents[1] / "docs" / "search.md"
MODES: Final = ("bm25", "vector", "hybrid")
K: Final = 10

_SPACE: Final = uuid.UUID("6a7c1c5e-0000-4000-8000-000000000000")
_FRONTMATTER: Final = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_TITLE: Final = re.compile(r"^title: *(.*)$", re.MULTILINE)
_LONGEST: Final = 1_500  # characters of a passage


@dataclass(frozen=True, slots=True)
class Questions:
    """Texts to be searched, and questions with the places of the texts that answer and of those that do not count."""

    name: str
    texts: Sequence[str]
    asked: Sequence[tuple[str, frozenset[int], frozenset[int]]]


def questions(data: Path) -> Iterator[Questions]:
    """The sets of a folder."""
    texts, titles, headings = _sections(sorted((data / "eips_md").glob("*.md")))
    yield Questions("EIPs by their titles", texts, titles)
    yield Questions("EIPs by headings", texts, headings)
    rows = [json.loads(line) for line in (data / "memorybank" / "messages.jsonl").read_text().splitlines()]
    turns = [
        (first["content"], frozenset({n + 1}), frozenset({n}))
        for n, (first, second) in enumerate(pairwise(rows))
        if (first["role"], second["role"]) == ("user", "assistant")
        and first["namespace"] == second["namespace"]
        and first["content"].rstrip().endswith("?")
    ]
    yield Questions("turns that answer", [row["content"] for row in rows], turns)
    texts, titles, _ = _sections(sorted((data / "dory_sample").rglob("*.md")))
    yield Questions("dory's pages by titles", texts, titles)


def _sections(files: Sequence[Path]) -> tuple[list[str], list[Any], list[Any]]:
    """Passages of documents; questions by title (any passage of the document) and by heading under a title (its passages)."""
    texts: list[str] = []
    titles: list[tuple[str, frozenset[int], frozenset[int]]] = []
    headings: list[tuple[str, frozenset[int], frozenset[int]]] = []
    for file in files:
        text = file.read_text()
        header = _FRONTMATTER.match(text)
        named = _TITLE.search(header[1]) if header else None
        title, first = named[1] if named else file.stem, len(texts)
        for part in re.split(r"(?m)^(?=##+ )", text[header.end() if header else 0 :]):
            heading, _, body = part.partition("\n") if part.startswith("#") else ("", "", part)
            start = len(texts)
            texts += [
                body[n : n + _LONGEST]
                for n in range(0, len(body), _LONGEST)
                if len(body[n : n + _LONGEST].strip()) > 40
            ]
            if len(texts) > start and heading.startswith("###") and len(heading) > 12:
                headings.append((f"{title} {heading.strip('# ')}", frozenset(range(start, len(texts))), frozenset()))
        if len(texts) > first:
            titles.append((title, frozenset(range(first, len(texts))), frozenset()))
    return texts, titles, headings


def filled(store: Store, name: str, texts: Sequence[str], model: str, vectors: np.ndarray) -> None:
    """A namespace with one document of passages and their vectors."""
    namespace, document = uuid.uuid5(_SPACE, name), uuid.uuid5(_SPACE, f"{name} document")
    with store.connect("owner") as connection:
        with connection.transaction():
            connection.execute(
                "INSERT INTO memory.namespaces (id, slug, settings) VALUES (%s, %s, '{\"recall_log_share\": 0}')",
                (namespace, name),
            )
            connection.execute(
                "INSERT INTO memory.vector_models (model, dimensions) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (model, vectors.shape[1]),
            )
            load_rows(connection, tables.documents, [{"id": document, "namespace_id": namespace}])
            load_rows(
                connection,
                tables.chunks,
                (
                    {"id": place(name, n), "namespace_id": namespace, "document_id": document, "content": text}
                    for n, text in enumerate(texts)
                ),
            )
            load_rows(
                connection,
                tables.chunk_vectors,
                (
                    {"id": place(name, n), "model": model, "namespace_id": namespace, "vector": vector}
                    for n, vector in enumerate(vectors)
                ),
            )
        connection.execute("SET maintenance_work_mem = '1GB'")
        connection.execute("SELECT memory.index_vector_model(%s, %s)", (model, vectors.shape[1]))
        connection.execute("VACUUM ANALYZE memory.search_texts, memory.chunk_vectors, memory.chunks")


def place(name: str, number: int) -> str:
    """The id of a passage."""
    return str(uuid.uuid5(_SPACE, f"{name} {number}"))


def figures(
    ranked: Sequence[Sequence[int]], asked: Sequence[tuple[str, frozenset[int], frozenset[int]]]
) -> list[float]:
    """Recall@10 (whether one that answers is found), MRR and nDCG@10 over the questions."""
    recall, reciprocal, gain = [], [], []
    for found, (_, right, _) in zip(ranked, asked, strict=True):
        hits = [n in right for n in found[:K]]
        recall.append(float(any(hits)))
        reciprocal.append(next((1 / n for n, hit in enumerate(hits, 1) if hit), 0.0))
        ideal = sum(1 / math.log2(n + 2) for n in range(min(K, len(right))))
        gain.append(sum(hit / math.log2(n + 2) for n, hit in enumerate(hits)) / ideal)
    return [fmean(recall), fmean(reciprocal), fmean(gain)]


def quality(store: Store, data: Path) -> Iterator[list[str]]:
    """Rows of the table: the library, then each model's modes."""
    for number, each in enumerate(questions(data)):
        library = bm25s.BM25()
        library.index(bm25s.tokenize(list(each.texts), show_progress=False), show_progress=False)
        depth = min(len(each.texts), K + 1)
        found, _ = library.retrieve(
            bm25s.tokenize([q for q, _, _ in each.asked], show_progress=False), k=depth, show_progress=False
        )
        ranked = [[int(n) for n in row if n not in out] for row, (_, _, out) in zip(found, each.asked, strict=True)]
        title = f"{each.name} ({len(each.texts):,} texts, {len(each.asked)} questions)"
        yield [title, "bm25s", *(f"{value:.3f}" for value in figures(ranked, each.asked))]
        for embedder in (OfflineEmbedder(), MiniLMEmbedder()):
            name = f"set{number} {embedder.model}"
            filled(store, name, each.texts, embedder.model, embedder.embed(list(each.texts)))
            of = {place(name, n): n for n in range(len(each.texts))}
            for mode in MODES:
                if mode == "bm25" and isinstance(embedder, MiniLMEmbedder):
                    continue
                ranked = [
                    [of[id_] for id_ in _found(store, name, query, mode, embedder) if of[id_] not in out]
                    for query, _, out in each.asked
                ]
                said = mode if mode == "bm25" else f"{mode}, {embedder.model}"
                yield ["", said, *(f"{value:.3f}" for value in figures(ranked, each.asked))]


def _found(store: Store, name: str, query: str, mode: str, embedder: Embedder) -> list[str]:
    request = SearchRequest.model_validate({"query": query[:8_000], "mode": mode, "k": K + 1})
    return [result.id for result in search(store, name, request, embedder=embedder).results]


class _Drawn:
    """Vectors drawn for a query, at no cost: the model's own time is another figure."""

    model, dimensions = "drawn-384", 384

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([_vectors(1, abs(hash(text)) % 2**32)[0] for text in texts])


def _vectors(count: int, seed: int) -> np.ndarray:
    """Unit vectors with the spectrum of sentences: most of their energy in a few axes."""
    rng = np.random.default_rng(seed)
    raw = rng.normal(size=(count, 384)).astype(np.float32) / np.sqrt(np.arange(1, 385, dtype=np.float32))
    return raw / np.linalg.norm(raw, axis=1, keepdims=True)


def speed(store: Store, rows: int) -> Iterator[list[str]]:
    """Milliseconds of 200 questions of three words, each asked in every way in turn."""
    rng = random.Random(7)  # noqa: S311 - the same texts every time
    vocabulary = [f"w{n:x}" for n in range(20_000)]
    weights = np.cumsum([1 / (n + 10) for n in range(20_000)]).tolist()
    texts = [" ".join(rng.choices(vocabulary, cum_weights=weights, k=rng.randint(20, 100))) for _ in range(rows)]
    filled(store, "speed", texts, _Drawn.model, _vectors(rows, 1))
    asked = [" ".join(rng.choices(vocabulary[50:], k=2) + rng.choices(vocabulary[50:500], k=1)) for _ in range(200)]
    namespace = str(uuid.uuid5(_SPACE, "speed"))
    embedder = _Drawn()
    took: dict[str, list[float]] = {"pgvector": [], "GIN": [], "bm25": [], "vector": [], "hybrid": []}

    def timed(name: str, call: Callable[[], object]) -> None:
        began = time.perf_counter()
        call()
        took[name].append((time.perf_counter() - began) * 1000)

    with store.connect("reader") as connection:
        for query in asked:
            vector = "[" + ",".join(map(str, embedder.embed([query])[0].tolist())) + "]"
            terms = "|".join(f"'{namespace[:8]}:{word}'" for word in query.split())
            near = (
                f"SELECT id FROM memory.chunk_vectors WHERE model = '{_Drawn.model}' "
                "ORDER BY vector::vector(384) <=> %s::vector(384) LIMIT 60"
            )
            timed("pgvector", lambda: connection.execute(near.encode(), (vector,)).fetchall())  # noqa: B023
            timed(
                "GIN",
                lambda: connection.execute(
                    "SELECT id FROM memory.search_texts WHERE words @@ %s::tsquery",
                    (terms,),  # noqa: B023
                ).fetchall(),
            )
            for mode in MODES:
                timed(mode, lambda: _found(store, "speed", query, mode, embedder))  # noqa: B023
    for name, times in took.items():
        middle, late = quantiles(times, n=20)[9], quantiles(times, n=20)[18]
        bare = quantiles(took["pgvector"], n=20)[9] + quantiles(took["GIN"], n=20)[9]
        yield [name, f"{middle:.1f}", f"{late:.1f}", f"{middle / bare:.2f}"]


def embedding(data: Path) -> Iterator[list[str]]:
    """Texts a second of CPU, and what a question costs."""
    rows = [json.loads(line)["content"] for line in (data / "memorybank" / "messages.jsonl").read_text().splitlines()]
    for embedder in (OfflineEmbedder(), MiniLMEmbedder()):
        embedder.embed(rows[:2])
        began = time.process_time()
        embedder.embed(rows[:300])
        many = time.process_time() - began
        began = time.process_time()
        for row in rows[300:350]:
            embedder.embed([row[:60]])
        yield [embedder.model, f"{300 / many:.0f}", f"{(time.process_time() - began) / 50 * 1000:.1f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it and print; with ``--write`` write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="slowwave-search-") as home:
        os.environ["SLOWWAVE_HOME"] = home
        store = open_store()
        try:
            header = ("questions", "search", "Recall@10", "MRR", "nDCG@10")
            parts = [
                Part("Quality", "A text that answers among ten; places; gains.", header, [*quality(store, asked.data)]),
                Part(
                    "Embedders",
                    "CPU on one thread.",
                    ("model", "turns a second", "ms a question"),
                    [*embedding(asked.data)],
                ),
            ]
            if asked.rows:
                says = "Milliseconds of 200 questions of three words; bare is pgvector and GIN together."
                rows = [*speed(store, asked.rows)]
                parts.append(
                    Part(f"Speed at {asked.rows:,} passages", says, ("query", "p50", "p95", "p50 / bare"), rows)
                )
            logged()
        finally:
            server.stop(Path(home))
    show(parts, Console(width=140))
    if asked.write:
        PAGE.write_text(page(parts))


def page(parts: Sequence[Part]) -> str:
    """The page of figures, between the lines that a person wrote."""
    head = PAGE.read_text().partition("<!-- figures -->")[0] if PAGE.exists() else "# Search\n\n"
    told = "; ".join(f"{name} {value}" for name, value in machine().items())
    lines = [head.rstrip(), "", "<!-- figures -->", "", f"Measured at {commit()} on {told}; load {load()}.", ""]
    for part in parts:
        lines += [
            f"## {part.title}",
            "",
            part.says,
            "",
            f"| {' | '.join(part.header)} |",
            "| --- " * len(part.header) + "|",
        ]
        lines += [f"| {' | '.join(row)} |" for row in part.rows]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
