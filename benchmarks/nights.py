"""``python -m benchmarks.nights [DATA] [--conversations N] [--nights N] [--write]``: what a week of nights does to what an agent finds.

Conversations are imported as an agent would write them, and a night is run seven times at default settings, a day apart; every item is
approved but those that ask a person, whom nobody answers. Before and after each, every question is put to the agent's own search. Two sets:
generated ones with a calendar of facts (``benchmarks.calendars``), and where DATA holds them the conversations of ``memorybank``, of
which ``memorybank_answers.json`` says which turns answer which question.

Beside it stand three controls: nothing done (the first line), as many tokens dropped as the nights saved by leaving out random
memories, and the same by keeping the newest. Figures are over memories alone, and over all that search finds, passages as well.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console

from benchmarks.calendars import Asked, conversations
from benchmarks.machine import commit
from benchmarks.report import Part, put, show
from slowwave.models.embedder import Embedder
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.operations import permits
from slowwave.plans.gate import approve
from slowwave.search.request import SearchRequest, SearchScope
from slowwave.search.search import search_on
from slowwave.sources.pipeline import import_messages
from slowwave.store import server
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.migrate import open_store
from slowwave.store.namespaces import namespace_id
from slowwave.store.settings import Settings
from slowwave.text.tokens import count

DATA: Final = Path(__file__).parents[2] / "shared" / "data"
PAGE: Final = Path(__file__).parents[1] / "docs" / "nights.md"
MARKS: Final = ("<!-- nights -->", "<!-- end of nights -->")
ANSWERS: Final = Path(__file__).with_name("memorybank_answers.json")
K: Final = 10

CONTROLS: Final = ("control: random memories deleted", "control: only the newest kept")
_KINDS: Final = ("episodic", "semantic", "procedural", "working", "event", "claim", "topic", "summary")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a namespace; ``right`` and ``stale`` judge a row by its id, and those it stands for, and its text."""

    query: str
    right: Callable[[Collection[str], str], bool]
    stale: Callable[[Collection[str], str], bool]


@dataclass(slots=True)
class Figures:
    """Sums over questions and namespaces at one time, and how many questions there are."""

    asked: int = 0
    found: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    ranks: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    stale: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    untold: int = 0
    tokens: int = 0
    read: int = 0
    items: int = 0
    reviews: int = 0
    failed: int = 0

    def cells(self) -> list[str]:
        """As a table has them."""
        n = max(self.asked, 1)
        both = [
            cell
            for where in WHERE
            for cell in (f"{self.found[where] / n:.3f}", f"{self.ranks[where] / n:.3f}", f"{self.stale[where] / n:.2f}")
        ]
        read = f"{self.read / max(self.found['memories'], 1):.0f}"
        return [*both, f"{self.untold:,}", f"{self.tokens:,}", read]


WHERE: Final[Mapping[str, SearchScope]] = {"memories": SearchScope(type=_KINDS), "all": SearchScope()}
HEADER: Final = (
    *("after", "items", "asked", "Recall@10", "MRR", "stale", "Recall@10 of all", "MRR of all", "stale of all"),
    *("no answer", "tokens", "to the answer"),
)
SAYS: Final = (
    "Recall@10, MRR and stale rows among ten are those of memories alone, then of everything that is searched, with passages. No answer: "
    "questions that no stored memory answers. Tokens: of the memories that search finds. To the answer: tokens up to the first answer, for "
    "questions with an answer among ten. Asked: items that are questions."
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A set of conversations: its name, the namespaces with their questions, how to import them under a prefix, and the day of asking."""

    name: str
    questions: Mapping[str, Sequence[Question]]
    load: Callable[[Connection, str], None]
    today: date


class Remembering:
    """An embedder that embeds each text once: the same conversations are imported for every control."""

    def __init__(self, embedder: Embedder) -> None:
        self.model, self.dimensions = embedder.model, embedder.dimensions
        self._embedder = embedder
        self._known: dict[str, np.ndarray] = {}

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See ``Embedder``."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known |= dict(zip(new, self._embedder.embed(new), strict=True))
        return np.array([self._known[text] for text in texts], np.float32).reshape(len(texts), self.dimensions)


def calendar_trial(many: int, end: datetime, embedder: Embedder) -> Trial:
    """The generated conversations: who was told what, judged by the words of a row."""
    made = {c.name: c for c in conversations(many, end)}

    def question(asked: Asked, others: Sequence[str]) -> Question:
        return Question(
            asked.question,
            lambda _, text: asked.tells(text, others),
            lambda _, text: asked.misleads(text, others),
        )

    def load(connection: Connection, prefix: str) -> None:
        rows = (
            {"namespace": f"{prefix}{c.name}", "created_at": t.at.isoformat(), "role": t.role, "content": t.text}
            for c in made.values()
            for t in c.turns
        )
        _import(connection, rows, embedder)

    asked = {name: [question(a, c.others) for a in c.asked] for name, c in made.items()}
    turns = sum(len(c.turns) for c in made.values())
    return Trial(
        f"Calendars: {len(made)} people, {turns:,} turns, {sum(map(len, asked.values())):,} questions",
        asked,
        load,
        end.date() + timedelta(days=1),
    )


def memorybank_trial(folder: Path, embedder: Embedder) -> Trial:
    """The public conversations, asked about the day after their last, as some questions name a day: the turns that answer, or what stands
    for them, are right.
    """
    turns = [json.loads(line) for line in (folder / "messages.jsonl").read_text().splitlines()]
    end = max(datetime.fromisoformat(t["created_at"]) for t in turns)
    lines = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
    asked: defaultdict[str, list[Question]] = defaultdict(list)
    for number, answers in json.loads(ANSWERS.read_text()).items():
        line = lines[int(number)]
        right = frozenset(f"{line['namespace']}-2023-{turn}" for turn in answers)
        asked[line["namespace"]].append(
            Question(line["question"], lambda ids, _, right=right: not right.isdisjoint(ids), lambda *_: False)
        )

    def load(connection: Connection, prefix: str) -> None:
        rows = ({**turn, "namespace": prefix + turn["namespace"]} for turn in turns)
        _import(connection, rows, embedder)

    many = sum(map(len, asked.values()))
    name = f"memorybank: {len(asked)} people, {len(turns):,} turns, {many} questions"
    return Trial(name, dict(asked), load, end.date() + timedelta(days=1))


def _import(connection: Connection, rows: Iterator[Mapping[str, object]], embedder: Embedder) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
        file.flush()
        import_messages(connection, Path(file.name), embedder=embedder)


def nights(store: Store, trial: Trial, count: int, embedder: Embedder, say: Callable[[str], None]) -> list[list[str]]:
    """Rows of the table: before, after each night, and the controls."""
    say(f"{trial.name}: importing")
    with store.connect("owner") as connection:
        trial.load(connection, "")
    after = looked(store, trial, "", embedder)
    rows = [_row("nothing", after)]
    for night in range(1, count + 1):
        done = Figures()
        for name in trial.questions:
            say(f"{trial.name}: night {night}, {name}")
            _night(store, name, datetime.now(UTC) + timedelta(days=night - 1), done)
        if done.items:
            after = looked(store, trial, "", embedder)
        after.items, after.reviews, after.failed = done.items, done.reviews, done.failed
        rows.append(_row(f"night {night}", after))
    for number, control in enumerate(CONTROLS):
        say(f"{trial.name}: {control}")
        prefix = f"control{number}-"
        with store.connect("owner") as connection:
            trial.load(connection, prefix)
            for name in trial.questions:
                _drop(connection, name, prefix + name, newest=number == 1)
        rows.append(_row(control, looked(store, trial, prefix, embedder)))
    return rows


def _row(name: str, found: Figures) -> list[str]:
    counts = [f"{found.items:,}", f"{found.reviews:,}"] if name.startswith("night") else ["–", "–"]
    return [name + (f" ({found.failed} forced)" if found.failed else ""), *counts, *found.cells()]


def _night(store: Store, name: str, now: datetime, done: Figures) -> None:
    night = run_night(store, name, now=now)
    if night.plan is None:
        return
    done.reviews += sum(i.decision == "review" for i in night.plan.items)
    done.items += sum(i.decision != "review" for i in night.plan.items)
    if any(i.decision != "review" for i in night.plan.items):
        failed = bool(night.probes and night.probes.needs_force)
        done.failed += failed
        note = "Every item of the benchmark is approved." if failed else ""
        signed = approve(
            store, name, night.plan.plan_hash, approver="bench", permits=permits(), force=failed, note=note
        )
        apply_approval(store, signed.id)


_LIVE: Final = """
SELECT m.id::text, v.content FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id
JOIN memory.search_texts s ON s.id = m.id WHERE m.namespace_id = (SELECT id FROM memory.namespaces WHERE slug = %s) AND s.live
"""


def _live(connection: Connection, name: str) -> list[tuple[str, str]]:
    """Ids and texts of the memories that search finds."""
    return [(str(r[0]), str(r[1])) for r in connection.execute(_LIVE, (name,)).fetchall()]


def _drop(connection: Connection, tidied: str, name: str, *, newest: bool) -> None:
    """Retire memories of a copy until it has as many tokens as the namespace that nights have tidied."""
    room = sum(count(text) for _, text in _live(connection, tidied))
    rows = connection.execute(
        _LIVE + " ORDER BY " + ("m.valid_from DESC, m.id" if newest else "md5(m.id::text)"), (name,)
    ).fetchall()
    spent = np.cumsum([count(str(r[1])) for r in rows])
    gone = [str(r[0]) for r, tokens in zip(rows, spent, strict=True) if tokens > room]
    connection.execute("UPDATE memory.memories SET invalidated_at = now() WHERE id = ANY (%s::uuid[])", (gone,))


_TOLD: Final = """
WITH RECURSIVE stands (id, row_id) AS (
  SELECT m.id, m.id FROM memory.memories m WHERE m.namespace_id = %(namespace)s
  UNION SELECT m.merged_into, s.row_id FROM stands s JOIN memory.memories m ON m.id = s.id WHERE m.merged_into IS NOT NULL
)
SELECT s.id::text, m.external_id FROM stands s JOIN memory.memories m ON m.id = s.row_id WHERE m.external_id IS NOT NULL
UNION SELECT c.id::text, c.external_id FROM memory.chunks c WHERE c.namespace_id = %(namespace)s AND c.external_id IS NOT NULL
"""

_TEXTS: Final = "SELECT id::text, text FROM memory.search_rows WHERE namespace_id = %(namespace)s"


def _stands_for(connection: Connection, namespace: str) -> defaultdict[str, set[str]]:
    """Ids of rows → external ids of the turns they were made of."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for id_, turn in connection.execute(_TOLD, {"namespace": namespace}).fetchall():
        found[str(id_)].add(str(turn))
    return found


def looked(store: Store, trial: Trial, prefix: str, embedder: Embedder) -> Figures:
    """What all questions find now."""
    figures = Figures()
    with store.connect("owner") as connection:
        for name, asked in trial.questions.items():
            live = _live(connection, prefix + name)
            namespace = namespace_id(connection, prefix + name)
            stands_for = _stands_for(connection, namespace)
            texts = {str(r[0]): str(r[1]) for r in connection.execute(_TEXTS, {"namespace": namespace}).fetchall()}
            figures.tokens += sum(count(text) for _, text in live)
            for question in asked:
                figures.asked += 1
                figures.untold += not any(question.right(stands_for[id_], text) for id_, text in live)
                for where, scope in WHERE.items():
                    request = SearchRequest(query=question.query, k=K, scope=scope)
                    results = search_on(
                        connection, prefix + name, request, embedder=embedder, today=trial.today
                    ).results
                    told = [
                        (stands_for[r.id], texts[r.id] if r.kind != "entities" else "") for r in results
                    ]  # a name says nothing
                    hits = [question.right(*row) for row in told]
                    figures.found[where] += any(hits)
                    if any(hits):
                        first = hits.index(True) + 1
                        figures.ranks[where] += 1 / first
                        figures.read += sum(count(text) for _, text in told[:first]) if where == "memories" else 0
                    figures.stale[where] += sum(question.stale(*row) for row in told)
    return figures


def measured(data: Path | None, many: int, count: int, say: Callable[[str], None]) -> list[Part]:
    """A table for each set, each in a store of its own."""
    end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(days=1)
    embedder = Remembering(embedder_for(Settings()))
    trials = [calendar_trial(many, end, embedder)] if many else []
    if data and (data / "memorybank" / "messages.jsonl").exists():
        trials.append(memorybank_trial(data / "memorybank", embedder))
    store = open_store()
    return [Part(t.name, SAYS, HEADER, nights(store, t, count, embedder, say)) for t in trials]


def main() -> None:
    """Measure on an embedded server of its own, in a temporary home."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nights", description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", default=DATA, help="folder with memorybank")
    parser.add_argument("--conversations", type=int, default=10, help="generated conversations")
    parser.add_argument("--nights", type=int, default=7)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.parent.name}/{PAGE.name}")
    given = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as home:
        os.environ["SLOWWAVE_HOME"] = home
        os.environ.pop("SLOWWAVE_DATABASE_URL", None)
        try:
            with console.status("starting") as status:
                found = measured(given.data, given.conversations, given.nights, status.update)
        finally:
            server.stop(Path(home))
    show(found, Console(width=150))
    if given.write:
        put(found, PAGE, MARKS, f"Measured on {datetime.now(UTC):%Y-%m-%d} at commit {commit()}.")


if __name__ == "__main__":
    main()
