"""``python -m benchmarks.search [--data DIR] [--rows 100000] [--write]``: how well and how fast searches find.

With ``--rows 0`` speed is left out, and left as it is on the page: quality does not depend on what else the machine does.

Quality: each mode through the real search, in a store of its own, for both offline models, beside the library bm25s. Questions are titles
and headings of pages, turns that ask (to be found: the turn that answers, the question itself left out) and questions about conversations
(``memorybank_answers.json`` says which turns answer which of them). Speed: hybrid searches beside the bare pgvector query and the bare GIN
query of the same run, on generated texts and vectors, and searches a second over HTTP.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import bm25s
import httpx
import numpy as np
import psycopg
from rich.console import Console

from benchmarks.machine import load, machine
from benchmarks.report import Part, put, show
from slowwave.models.embedder import MINILM_DIMENSIONS, Embedder, MiniLMEmbedder, OfflineEmbedder
from slowwave.models.embedding_models import MINILM_MODEL
from slowwave.search import candidates as fusion
from slowwave.search.recall_events import logged
from slowwave.search.request import SearchRequest
from slowwave.search.search import search
from slowwave.store import server, tables
from slowwave.store.connect import Store
from slowwave.store.load import load_rows
from slowwave.store.migrate import open_store
from slowwave.text.sentences import sentences

DATA: Final = Path(__file__).parents[2] / "shared" / "data"
PAGE: Final = Path(__file__).parents[1] / "docs" / "search.md"
QUALITY_MARKS: Final = ("<!-- figures -->", "<!-- end of figures -->")
SPEED_MARKS: Final = ("<!-- speed -->", "<!-- end of speed -->")
ANSWERS: Final = Path(__file__).with_name("memorybank_answers.json")
MODES: Final = ("bm25", "vector", "hybrid")
K: Final = 10
CLIENTS: Final = 8

_SPACE: Final = uuid.UUID("6a7c1c5e-0000-4000-8000-000000000000")
_FRONTMATTER: Final = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_TITLE: Final = re.compile(r"^title: *(.*)$", re.MULTILINE)
_LONGEST: Final = 1_500  # characters of a passage
_SHORTEST: Final = 25  # characters of a sentence that is a memory


class Passage(NamedTuple):
    """A text with the title of its document, and its place there; passages without one stand alone. ``memory`` is what a memory says that
    was made of it, if one was. ``is_turn``: it is a message of a conversation.
    """

    text: str
    title: str = ""
    document: str = ""
    ordinal: int = 0
    memory: str = ""
    is_turn: bool = False


class Asked(NamedTuple):
    """A question with the places of the passages that answer, and of those that do not count."""

    query: str
    right: frozenset[int]
    out: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Questions:
    """Passages to be searched, and what is asked of them."""

    name: str
    passages: Sequence[Passage]
    asked: Sequence[Asked]


def questions(data: Path) -> Iterator[Questions]:
    """The sets of a folder."""
    passages, titles, headings = _sections(sorted((data / "eips_md").glob("*.md")))
    yield Questions("EIPs by their titles", passages, titles)
    yield Questions("EIPs by headings", passages, headings)
    yield Questions("EIPs by headings, a memory of each first sentence", [*map(_told_short, passages)], headings)
    rows = [json.loads(line) for line in (data / "memorybank" / "messages.jsonl").read_text().splitlines()]
    turns = [
        Asked(first["content"], frozenset({n + 1}), frozenset({n}))
        for n, (first, second) in enumerate(pairwise(rows))
        if (first["role"], second["role"]) == ("user", "assistant")
        and first["namespace"] == second["namespace"]
        and first["content"].rstrip().endswith("?")
    ]
    yield Questions("turns that answer, each alone", [Passage(row["content"]) for row in rows], turns)
    talks = [(row["namespace"], row["created_at"][:10]) for row in rows]
    passages = [
        Passage(row["content"], f"Conversation of {day}", f"{name} {day}", n - talks.index((name, day)), is_turn=True)
        for n, (row, (name, day)) in enumerate(zip(rows, talks, strict=True))
    ]
    about = _about(data, [row["id"] for row in rows])
    yield Questions("questions about conversations", passages, about)
    yield Questions("conversations, each turn a memory", [p._replace(memory=p.text) for p in passages], about)
    yield Questions("conversations, a memory of each first sentence", [*map(_told_short, passages)], about)
    passages, titles, _ = _sections(sorted((data / "dory_sample").rglob("*.md")))
    yield Questions("dory's pages by titles", passages, titles)


def _told_short(passage: Passage) -> Passage:
    """The passage, with a memory that says its first sentence of some length."""
    found = sentences(" ".join(passage.text.split()))
    return passage._replace(memory=next((s for s in found if len(s) >= _SHORTEST), passage.text)[:_LONGEST])


def _about(data: Path, turns: Sequence[str]) -> list[Asked]:
    """The questions that people ask of their conversations, with the turns that answer them."""
    lines = (data / "memorybank" / "questions.jsonl").read_text().splitlines()
    place = {turn: n for n, turn in enumerate(turns)}
    found: list[Asked] = []
    for number, answers in json.loads(ANSWERS.read_text()).items():
        question = json.loads(lines[int(number)])
        right = frozenset(place[f"{question['namespace']}-2023-{turn}"] for turn in answers)
        found.append(Asked(question["question"], right))
    return found


def _sections(files: Sequence[Path]) -> tuple[list[Passage], list[Asked], list[Asked]]:
    """Passages of documents, without headings; questions by title (any passage of the document) and by heading under a title."""
    passages: list[Passage] = []
    titles: list[Asked] = []
    headings: list[Asked] = []
    for file in files:
        text = file.read_text()
        header = _FRONTMATTER.match(text)
        named = _TITLE.search(header[1]) if header else None
        title, first = named[1] if named else file.stem, len(passages)
        for part in re.split(r"(?m)^(?=##+ )", text[header.end() if header else 0 :]):
            heading, _, body = part.partition("\n") if part.startswith("#") else ("", "", part)
            start = len(passages)
            texts = (body[n : n + _LONGEST] for n in range(0, len(body), _LONGEST))
            passages += [
                Passage(text, title, str(file), start - first + n)
                for n, text in enumerate(text for text in texts if len(text.strip()) > 40)
            ]
            if len(passages) > start and heading.startswith("###") and len(heading) > 12:
                headings.append(Asked(f"{title} {heading.strip('# ')}", frozenset(range(start, len(passages)))))
        if len(passages) > first:
            titles.append(Asked(title, frozenset(range(first, len(passages)))))
    return passages, titles, headings


def filled(
    store: Store,
    name: str,
    passages: Sequence[Passage],
    model: str,
    vectors: np.ndarray,
    told: np.ndarray | None = None,
) -> None:
    """A namespace with documents, their passages and vectors; ``told`` are those of the memories, by the places of their passages."""
    namespace = uuid.uuid5(_SPACE, name)
    documents = {p.document or f"alone {n}": p.title for n, p in enumerate(passages)}
    id_of = {document: uuid.uuid5(_SPACE, f"{name} {document}") for document in documents}
    with store.connect("owner") as connection:
        with connection.transaction():
            connection.execute(
                "INSERT INTO memory.namespaces (id, slug, settings) VALUES (%s, %s, %s)",
                (namespace, name, json.dumps({"recall_log_share": 0, "embedding_model": model})),
            )
            connection.execute(
                "INSERT INTO memory.vector_models (model, dimensions) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (model, vectors.shape[1]),
            )
            load_rows(
                connection,
                tables.documents,
                [{"id": id_of[d], "namespace_id": namespace, "title": title} for d, title in documents.items()],
            )
            load_rows(
                connection,
                tables.chunks,
                (
                    {
                        "id": place(name, n),
                        "namespace_id": namespace,
                        "document_id": id_of[passage.document or f"alone {n}"],
                        "ordinal": passage.ordinal,
                        "content": passage.text,
                        "external_id": f"{name} {n}" if passage.is_turn else None,
                    }
                    for n, passage in enumerate(passages)
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
            if told is not None:
                _remembered(connection, name, passages, model, told)
        connection.execute("SET maintenance_work_mem = '1GB'")
        connection.execute("SELECT memory.index_vector_model(%s, %s)", (model, vectors.shape[1]))
        connection.execute("VACUUM ANALYZE memory.search_texts, memory.chunk_vectors, memory.chunks, memory.documents")


def _remembered(
    connection: psycopg.Connection[Any], name: str, passages: Sequence[Passage], model: str, vectors: np.ndarray
) -> None:
    """A memory of each passage that has one; it cites the passage."""
    namespace = uuid.uuid5(_SPACE, name)
    made = [(place(f"{name} memory", n), place(name, n), n) for n, p in enumerate(passages) if p.memory]
    load_rows(
        connection,
        tables.memories,
        (
            {
                "id": memory,
                "namespace_id": namespace,
                "kind": "episodic",
                "source_chunk_ids": [passage],
                "current_version_id": place(f"{name} version", n),
            }
            for memory, passage, n in made
        ),
    )
    load_rows(
        connection,
        tables.memory_versions,
        (
            {
                "id": place(f"{name} version", n),
                "namespace_id": namespace,
                "memory_id": memory,
                "content": passages[n].memory,
            }
            for memory, _, n in made
        ),
    )
    load_rows(
        connection,
        tables.memory_vectors,
        ({"id": memory, "model": model, "namespace_id": namespace, "vector": vectors[n]} for memory, _, n in made),
    )


def place(name: str, number: int) -> str:
    """The id of a passage."""
    return str(uuid.uuid5(_SPACE, f"{name} {number}"))


def hits_of(found: Sequence[int], question: Asked) -> list[bool]:
    """Return which of the first ten places answer; what is found again is no hit."""
    return [n in question.right and n not in found[:at] for at, n in enumerate(found) if n not in question.out][:K]


def figures(ranked: Sequence[Sequence[int]], asked: Sequence[Asked]) -> list[str]:
    """Recall@10 (whether one that answers is found), MRR and nDCG@10 over the questions."""
    recall, reciprocal, gain = [], [], []
    for found, question in zip(ranked, asked, strict=True):
        hits = hits_of(found, question)
        recall.append(float(any(hits)))
        reciprocal.append(next((1 / n for n, hit in enumerate(hits, 1) if hit), 0.0))
        ideal = sum(1 / math.log2(n + 2) for n in range(min(K, len(question.right))))
        gain.append(sum(hit / math.log2(n + 2) for n, hit in enumerate(hits)) / ideal)
    return [f"{fmean(values):.3f}" for values in (recall, reciprocal, gain)]


def compared(name: str, hits: Mapping[str, Sequence[bool]]) -> list[str]:
    """Return a row: the number of questions, each search's recall, and that of hybrid less that of the better of its halves.

    ``hits`` has for each search, of which three are ``MODES``, whether each question was answered, in one order. The difference has a
    95 % interval of 10,000 paired bootstrap samples.
    """
    found = {mode: np.array(values, np.float64) for mode, values in hits.items()}
    better = max((found[mode] for mode in MODES[:2]), key=lambda values: values.mean())
    difference = found["hybrid"] - better
    samples = np.random.default_rng(5).integers(len(difference), size=(10_000, len(difference)))
    low, high = np.quantile(difference[samples].mean(axis=1), (0.025, 0.975))
    recalls = (f"{values.mean():.3f}" for values in found.values())
    return [name, f"{len(difference)}", *recalls, f"{difference.mean():+.3f} ({low:+.3f} … {high:+.3f})"]


def quality(store: Store, data: Path) -> list[Part]:
    """Measure each set with each model: hybrid compared with its halves, and every figure beside bm25s and the plain cosine."""
    rows: list[list[str]] = []
    halves: list[list[str]] = []
    for number, each in enumerate(questions(data)):
        name = f"{each.name} ({len(each.passages):,} passages, {len(each.asked)} questions)"
        for titled in (False, True):
            texts = [f"{p.title}\n{p.text}" if titled else p.text for p in each.passages]
            library = _library(texts, each)
            found = figures(library, each.asked)
            rows.append([name, "bm25s, titles in the texts" if titled else "bm25s", *found])
            name = ""
        for embedder in (OfflineEmbedder(), MiniLMEmbedder()):
            vectors = embedder.embed([p.text for p in each.passages])
            cosines = embedder.embed([asked.query for asked in each.asked]) @ vectors.T
            nearest = np.argsort(-cosines, axis=1, kind="stable")[:, : K + 1].tolist()
            rows.append(["", f"plain cosine, {embedder.model}", *figures(nearest, each.asked)])
            told = embedder.embed([p.memory or p.text for p in each.passages]) if each.passages[0].memory else None
            space = f"set{number} {embedder.model}"
            filled(store, space, each.passages, embedder.model, vectors, told)
            of = {place(of, n): n for of in (space, f"{space} memory") for n in range(len(each.passages))}

            def ranks(mode: str) -> list[list[int]]:
                return [[of[id_] for id_ in _found(store, space, q.query, mode, embedder)] for q in each.asked]  # noqa: B023

            by_mode = {mode: ranks(mode) for mode in MODES}
            rows += [["", f"{mode}, {embedder.model}", *figures(by_mode[mode], each.asked)] for mode in MODES]
            with patch.object(fusion, "CONTEXT", 0.0):
                rows.append(["", f"hybrid, {embedder.model}, no context", *figures(ranks("hybrid"), each.asked)])
            ranked = {"bm25s": library, "cosine": nearest, **by_mode}
            hits = {m: [any(hits_of(f, q)) for f, q in zip(r, each.asked, strict=True)] for m, r in ranked.items()}
            halves.append(compared(f"{each.name}, {embedder.model}", hits))
    says = "Recall@10 and its paired difference with a 95 % interval; bm25s reads titles with the texts."
    names = ("questions", "number", "bm25s", "cosine", "words", "vectors", "hybrid", "less the better half")
    header = ("questions", "search", "Recall@10", "MRR", "nDCG@10")
    return [
        Part("Hybrid and its halves", says, names, halves),
        Part("Quality", "A text that answers among ten; places; gains.", header, rows),
    ]


def _library(texts: Sequence[str], each: Questions) -> list[list[int]]:
    library = bm25s.BM25()
    library.index(bm25s.tokenize(list(texts), show_progress=False), show_progress=False)
    queries = bm25s.tokenize([asked.query for asked in each.asked], show_progress=False)
    found, _ = library.retrieve(queries, k=min(len(texts), K + 1), show_progress=False)
    return [[int(n) for n in row] for row in found]


def _found(store: Store, name: str, query: str, mode: str, embedder: Embedder) -> list[str]:
    request = SearchRequest.model_validate({"query": query[:8_000], "mode": mode, "k": K + 1})
    return [result.id for result in search(store, name, request, embedder=embedder).results]


class _Drawn:
    """Vectors drawn for a query, at no cost: the model's own time is another figure."""

    model, dimensions = MINILM_MODEL, MINILM_DIMENSIONS

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([drawn_vectors(1, abs(hash(text)) % 2**32)[0] for text in texts])


def drawn_vectors(count: int, seed: int) -> np.ndarray:
    """Unit vectors with the spectrum of sentences: most of their energy in a few axes."""
    rng = np.random.default_rng(seed)
    raw = rng.normal(size=(count, 384)).astype(np.float32) / np.sqrt(np.arange(1, 385, dtype=np.float32))
    return raw / np.linalg.norm(raw, axis=1, keepdims=True)


def drawn(store: Store, rows: int) -> list[str]:
    """A namespace ``speed`` of drawn passages; 200 questions of three words."""
    rng = random.Random(7)  # noqa: S311 - the same texts every time
    vocabulary = [f"w{n:x}" for n in range(20_000)]
    weights = np.cumsum([1 / (n + 10) for n in range(20_000)]).tolist()
    texts = [" ".join(rng.choices(vocabulary, cum_weights=weights, k=rng.randint(20, 100))) for _ in range(rows)]
    passages = [Passage(text, "", f"document {n // 20}", n % 20) for n, text in enumerate(texts)]
    filled(store, "speed", passages, _Drawn.model, drawn_vectors(rows, 1))
    return [" ".join(rng.choices(vocabulary[50:], k=2) + rng.choices(vocabulary[50:500], k=1)) for _ in range(200)]


def speed(store: Store, asked: Sequence[str]) -> Iterator[list[str]]:
    """Milliseconds of questions, each asked in every way in turn."""
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


def served(asked: Sequence[str]) -> Iterator[list[str]]:
    """A server of the namespace ``speed`` in a process of its own: how long it starts, what memory it takes, what it answers a second."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    program = [str(Path(sys.executable).with_name("slowwave")), "serve", "speed", "--port", port, "--rate", "0"]
    began = time.perf_counter()
    process = subprocess.Popen(program, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            while time.perf_counter() - began < 60:
                if process.poll() is not None:
                    raise SystemExit(f"{' '.join(program)} ended with status {process.returncode} before it answered.")
                with suppress(httpx.TransportError):
                    client.get("/healthz")
                    break
                time.sleep(0.02)
            yield ["seconds until it answers", f"{time.perf_counter() - began:.2f}"]
            yield ["MB before a search", _resident(process.pid)]
            client.post("/v1/search", json={"query": asked[0]}).raise_for_status()
            yield ["MB with MiniLM loaded", _resident(process.pid)]
        for mode in ("bm25", "hybrid"):
            with ThreadPoolExecutor(CLIENTS) as pool:
                began = time.perf_counter()
                done = sum(pool.map(lambda part: _asks(port, mode, part), (asked[n::CLIENTS] for n in range(CLIENTS))))  # noqa: B023
                yield [f"searches a second, {mode}, {CLIENTS} clients", f"{done / (time.perf_counter() - began):.0f}"]
    finally:
        process.terminate()
        process.wait()


def _asks(port: str, mode: str, asked: Sequence[str]) -> int:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        for query in asked:
            client.post("/v1/search", json={"query": query, "mode": mode}).raise_for_status()
    return len(asked)


def _resident(pid: int) -> str:
    """Megabytes of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return f"{int(status.partition('VmRSS:')[2].split()[0]) / 1024:.0f}"


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


def speeds(store: Store, data: Path, rows: int) -> Iterator[Part]:
    """What depends on the machine and on what else it does: embedding, searching ``rows`` drawn passages, and serving them."""
    yield Part("Embedders", "CPU on one thread.", ("model", "turns a second", "ms a question"), [*embedding(data)])
    queries = drawn(store, rows)
    says = "Milliseconds of 200 questions of three words; bare is pgvector and GIN together."
    yield Part(f"Speed at {rows:,} passages", says, ("query", "p50", "p95", "p50 / bare"), [*speed(store, queries)])
    says = "The server, its clients and its database on this machine; each hybrid search embeds its question."
    yield Part("Serving them", says, ("what", "figure"), [*served(queries)])


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
            found = quality(store, asked.data)
            show(found, Console(width=140))
            fast = [*speeds(store, asked.data, asked.rows)] if asked.rows else []
            logged()
        finally:
            server.stop(Path(home))
    show(fast, Console(width=140))
    if asked.write:
        told = "; ".join(f"{name} {value}" for name, value in machine().items())
        for parts, marks in ((found[:1], QUALITY_MARKS), (fast, SPEED_MARKS)):
            if parts:
                put(parts, PAGE, marks, f"Measured on: {told}; load {load()}.")


if __name__ == "__main__":
    main()
