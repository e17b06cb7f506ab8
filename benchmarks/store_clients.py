"""What a night does to what the client of a store finds: Mem0's own and LangGraph's own, asked before and after.

Each fills its store with the same conversations: those of ``benchmarks.calendars``, in which facts are told again and changed, and those
of memorybank where they are. A tenth of what is said is written twice. Questions are put to the client's search; what it returns is judged
by its text, and one that was written anew, or that another stands for since the night, counts as what it was. Every item but those for a
person is applied.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.calendars import conversations
from benchmarks.vocabulary import Dice
from slowwave.bindings.connect import connect_store
from slowwave.bindings.stores import let_write
from slowwave.models.embedder import Embedder
from slowwave.night.executor import apply_approval
from slowwave.night.runs import Night
from slowwave.night.several import run_nights
from slowwave.operations import permits
from slowwave.plans.gate import approve
from slowwave.store.connect import Store
from slowwave.store.namespaces import namespaces
from slowwave.text.tokens import count

K: Final = 10
ANSWERS: Final = Path(__file__).with_name("memorybank_answers.json")
HEADER: Final = (
    *("store, set", "rows", "after", "tokens", "after", f"Recall@{K}", "after", "stale among ten", "after"),
    *("applied", "for a person"),
)
SAYS: Final = (
    "Rows and tokens are those that the client lists. Recall: questions with an answer among the ten that the client's search returns. "
    "Stale: how many of the ten state a former value."
)


@dataclass(frozen=True, slots=True)
class Told:
    """A person's texts, what is asked, and of a text whether it answers and whether it misleads."""

    user: str
    texts: tuple[str, ...]
    asked: tuple[tuple[str, Callable[[str], bool], Callable[[str], bool]], ...]


@dataclass(frozen=True, slots=True)
class Client:
    """What is asked of a store's own client: writing a user's text, listing his, searching among them."""

    kind: str
    parameters: Mapping[str, str]
    prefix: str
    put: Callable[[str, int, str], object]
    listed: Callable[[str], list[str]]
    found: Callable[[str, str], list[str]]


def calendar_told(many: int, end: datetime) -> list[Told]:
    """What people of the generated conversations said."""
    return [
        Told(
            c.name,
            _twice(c.name, [t.text for t in c.turns if t.role == "user"]),
            tuple(
                (
                    a.question,
                    lambda text, a=a, others=c.others: a.tells(text, others),
                    lambda text, a=a, others=c.others: a.misleads(text, others),
                )
                for a in c.asked
            ),
        )
        for c in conversations(many, end)
    ]


def memorybank_told(folder: Path) -> list[Told]:
    """What both sides of the public conversations said, and the turns that answer, by their texts."""
    turns = [json.loads(line) for line in (folder / "messages.jsonl").read_text().splitlines()]
    lines = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
    by_id = {t["id"]: t["content"] for t in turns}
    said: defaultdict[str, list[str]] = defaultdict(list)
    for turn in turns:
        said[turn["namespace"]].append(turn["content"])
    asked: defaultdict[str, list[Any]] = defaultdict(list)
    for number, answers in json.loads(ANSWERS.read_text()).items():
        line = lines[int(number)]
        right = frozenset(by_id.get(f"{line['namespace']}-2023-{turn}", "") for turn in answers) - {""}
        asked[line["namespace"]].append((line["question"], lambda text, right=right: text in right, lambda _: False))
    return [Told(user, _twice(user, texts), tuple(asked[user])) for user, texts in said.items()]


def _twice(user: str, texts: Sequence[str]) -> tuple[str, ...]:
    return (*texts, *Dice("twice", user).sample(texts, len(texts) // 10))


class _Local:
    """An embedder as Mem0 asks for one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self._embedder.embed([text])[0].tolist()

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        return self._embedder.embed(list(texts)).tolist()


@contextmanager
def mem0(store: Store, folder: Path, embedder: Embedder) -> Generator[Client]:
    """Mem0's own client; it asks nobody, as texts are added without a model."""
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0")}
    from mem0 import Memory

    nobody = {"model": "none", "openai_base_url": "http://127.0.0.1:9/v1", "api_key": "none"}
    vectors = {
        "connection_string": store.owner,
        "collection_name": "said",
        "embedding_model_dims": embedder.dimensions,
        "hnsw": True,
        "user": "unused",
        "password": "unused",
    }
    client: Any = Memory.from_config(
        {
            "vector_store": {"provider": "pgvector", "config": vectors},
            "llm": {"provider": "openai", "config": nobody},
            "embedder": {"provider": "openai", "config": {**nobody, "embedding_dims": embedder.dimensions}},
            "history_db_path": str(folder / "history.db"),
        }
    )
    client.embedding_model = _Local(embedder)
    yield Client(
        "mem0",
        {"collection": "said"},
        "",
        lambda user, _, text: client.add(text, user_id=user, infer=False),
        lambda user: [m["memory"] for m in client.get_all(filters={"user_id": user}, top_k=10_000)["results"]],
        lambda user, asked: [m["memory"] for m in client.search(asked, filters={"user_id": user}, top_k=K)["results"]],
    )


@contextmanager
def langgraph(store: Store, embedder: Embedder) -> Generator[Client]:
    """LangGraph's own store."""
    from langgraph.store.postgres import PostgresStore

    index: Any = {
        "dims": embedder.dimensions,
        "embed": lambda texts: embedder.embed(list(texts)).tolist(),
        "fields": ["content"],
    }
    with PostgresStore.from_conn_string(store.owner, index=index) as client:
        client.setup()
        yield Client(
            "langgraph",
            {},
            "memories.",
            lambda user, n, text: client.put(("memories", user), f"note-{n}", {"content": text}),
            lambda user: [i.value["content"] for i in client.search(("memories", user), limit=10_000)],
            lambda user, asked: [i.value["content"] for i in client.search(("memories", user), query=asked, limit=K)],
        )


def tried(store: Store, client: Client, name: str, told: Sequence[Told], embedder: Embedder) -> list[str]:
    """One line of the table: filled, looked at, a night with all that asks nobody applied, looked at again."""
    for one in told:
        for n, text in enumerate(one.texts):
            client.put(one.user, n, text)
    before = _looked(client, told, {})
    connect_store(store, client.kind, parameters=client.parameters, embedding_model=embedder.model, grant=True)
    let_write(store, client.kind, grant=True)
    users = {one.user for one in told}
    names = [n for n in namespaces(store) if any(n.endswith(f"{client.prefix}{user}") for user in users)]
    applied, open_ = 0, 0
    stands: dict[str, set[str]] = defaultdict(set)
    for slug, night in run_nights(store, names, force=True):
        if not isinstance(night, Night) or night.plan is None:
            raise SystemExit(f"{slug}: {night}")
        decided = [i for i in night.plan.items if i.decision != "review"]
        open_ += len(night.plan.items) - len(decided)
        if decided:
            texts = _texts(store, slug, client.kind)
            for item in decided:
                keep = item.mutation.keep
                for made in item.mutation.inserts:
                    if made.table == "memory_versions" and str(made.values["memory_id"]) in texts:
                        stands[str(made.values["content"])].add(texts[str(made.values["memory_id"])])
                for row in item.mutation.row_ids():
                    if keep is not None and row != keep.id and row in texts and keep.id in texts:
                        stands[texts[keep.id]].add(texts[row])
            signed = approve(
                store,
                slug,
                night.plan.plan_hash,
                approver="bench",
                permits=permits(),
                force=True,
                note="The benchmark.",
            )
            applied += apply_approval(store, signed.id).counts["applied"]
    after = _looked(client, told, stands)
    cells = [f"{a}" for pair in zip(before, after, strict=True) for a in pair]
    return [f"{client.kind}, {name}", *cells, f"{applied:,}", f"{open_:,}"]


def _texts(store: Store, slug: str, kind: str) -> dict[str, str]:
    """Id → text of a namespace's memories."""
    from slowwave.snapshots.export import export_snapshots

    rows = export_snapshots(store, kind, [slug])[slug].table("memory_versions")
    return dict(zip(rows["memory_id"].to_pylist(), rows["content"].to_pylist(), strict=True))


def _looked(client: Client, told: Sequence[Told], stands: Mapping[str, set[str]]) -> tuple[str, str, str, str]:
    """Rows, tokens, recall and stale rows, as the client shows them."""
    rows, tokens, hits, asked, stale = 0, 0, 0, 0, 0
    for one in told:
        listed = client.listed(one.user)
        rows, tokens = rows + len(listed), tokens + sum(map(count, listed))
        for question, right, misleads in one.asked:
            found = client.found(one.user, question)
            hits += any(right(text) or any(map(right, stands.get(text, ()))) for text in found)
            stale += int(np.sum([misleads(text) for text in found]))
            asked += 1
    return f"{rows:,}", f"{tokens:,}", f"{hits / max(asked, 1):.3f}", f"{stale / max(asked, 1):.2f}"
