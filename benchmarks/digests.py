"""``python -m benchmarks.digests [--sizes 125 250 500 1000]``: digests and claims of sessions without a model, and how the time grows.

Made-up sessions of a team, 50 turns each and eight a day: four of five turns are talk, the others decisions, states, preferences, followups
and outcomes about a few dozen projects. Both planners run on a snapshot in memory, without an embedder, and with the default one where
asked; nothing is written. Time is that of the CPU; its growth is the power of the number of sessions with which it rises.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any, Final

import numpy as np
import pyarrow as pa

from slowwave.models import Embed
from slowwave.operations import Inputs
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, Snapshot, Vectors, arrow_schema
from slowwave.store.configured_models import embedder_for
from slowwave.store.settings import Settings
from slowwave.store.tables import VECTORS
from slowwave.wiki.corpus.requests import session_page
from slowwave.wiki.operations.digest_sessions import digest_sessions
from slowwave.wiki.operations.extract_claims import extract_claims

TURNS: Final = 50
A_DAY: Final = 8
BEGUN: Final = date(2026, 1, 5)

_SPACE: Final = uuid.UUID("0d1a6a0e-59a2-4f29-8c1b-7a5a2b6f3e10")
_PEOPLE: Final = ("Mara", "Jonas", "Ines", "Tomas", "Elif", "Nils", "Petra", "Anton", "Clara", "Oscar", "Greta", "Hugo")
_PARTS: Final = ("Kes", "Tor", "Vel", "Dra", "Mon", "Sil", "Bran", "Quin", "Ost", "Ald")
_ENDS: Final = ("trix", "vane", "mora", "dell")
PROJECTS: Final = tuple(f"{part}{end}" for part in _PARTS for end in _ENDS)

_TALK: Final = (
    "Can you look at the log once more?",
    "Sure, here is what I found in it.",
    "Thanks, that helps a lot.",
    "Hmm, maybe we could try another way.",
    "Let me think about that for a moment.",
    "What does the second column mean?",
    "It counts the retries of each worker.",
    "If that fails again I would restart the queue.",
    "Haha, good one.",
    "I am back from lunch.",
)
_TELLS: Final = (
    "We decided to drop the {thing} from {project}.",
    "We agreed to use {tool} for {project}.",
    "{project} is {status}.",
    "{project} is due on {day} {month}.",
    "{who} leads {project}.",
    "The budget for {project} is {number},000 euros.",
    "I prefer {tool} over {other} for the {thing}.",
    "I'll send the {thing} report to {who} by Friday.",
    "I fixed the {thing} of {project}.",
    "{project} uses {tool} for the {thing}.",
)
_WORDS: Final = {
    "thing": ("importer", "scheduler", "parser", "search page", "exporter", "login form", "audit log", "cache", "mailer", "dashboard"),
    "tool": ("Postgres", "Valkey", "Polars", "Terraform", "Grafana", "Astro", "Go", "Rust", "Kotlin", "Svelte"),
    "other": ("pandas", "Bash", "Excel", "Redis", "Perl", "Jenkins"),
    "status": ("on track", "blocked by a review", "paused", "live", "in beta", "at risk"),
    "month": ("March", "April", "June", "July"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DigestFigures:
    """Of one number of sessions: seconds of both planners without an embedder and with one, items, claims and sentences told."""

    sessions: int
    digests: float
    claims: float
    digests_embedded: float
    claims_embedded: float
    pages: int
    written: int
    told: int

    @property
    def seconds(self) -> float:
        """Both planners, with vectors."""
        return self.digests_embedded + self.claims_embedded


def sessions_of(count: int, seed: int = 7) -> list[tuple[str, date, str]]:
    """(path, day, page) of made-up sessions."""
    r = Random(seed)  # noqa: S311 - made-up talk
    made: list[tuple[str, date, str]] = []
    for number in range(count):
        day = BEGUN + timedelta(days=number // A_DAY)
        two = r.sample(_PEOPLE, 2)
        turns = [_turn(r, [*two, "assistant"][k % 3], day, number % A_DAY, k) for k in range(TURNS)]
        head = {"title": f"Session {number}", "type": "session", "status": "done", "session_id": f"s{number}"}
        made.append((f"logs/sessions/team/{day}-s{number}.md", day, session_page(head, "\n\n".join(turns))))
    return made


def snapshot_of(sessions: Sequence[tuple[str, date, str]], model: str) -> Snapshot:
    """A snapshot that holds them and nothing else."""
    corpus = str(uuid.uuid5(_SPACE, "sessions:"))
    rows: list[dict[str, Any]] = [
        {
            "id": str(uuid.uuid5(_SPACE, path)),
            "title": path,
            "content": page,
            "metadata": json.dumps({"status": "done", "updated": f"{day}"}),
            "recorded_at": datetime(day.year, day.month, day.day, 22, tzinfo=UTC),
            "corpus_id": corpus,
            "path": path,
            "content_hash": hashlib.sha256(page.encode()).hexdigest(),
            "plane": "sessions",
        }
        for path, day, page in sessions
    ]
    tables = {name: arrow_schema(table).empty_table() for name, table in SNAPSHOT_TABLES.items()}
    tables["documents"] = _filled(tables["documents"], rows)
    tables["corpora"] = _filled(
        tables["corpora"], [{"id": corpus, "root": "sessions:", "profile": "dory", "standing": 0.5}]
    )
    taken = datetime.combine(max(day for _, day, _ in sessions) + timedelta(days=8), datetime.min.time(), UTC)
    vectors = {name: Vectors.empty(model) for name in VECTORS}
    return Snapshot(str(_SPACE), "benchmark", "benchmark", taken, 1, tables=tables, vectors=vectors)


def measure(sizes: Sequence[int], embed: Embed | None = None) -> list[DigestFigures]:
    """Both planners on each number of sessions, after a first small run that loads their code."""
    settings = Settings()
    _timed(snapshot_of(sessions_of(A_DAY), settings.embedding_model), settings, embed)
    found: list[DigestFigures] = []
    for size in sizes:
        snapshot = snapshot_of(sessions_of(size), settings.embedding_model)
        digests, claims, pages, written, told = _timed(snapshot, settings, None)
        embedded = _timed(snapshot, settings, embed)[:2] if embed is not None else (digests, claims)
        found.append(DigestFigures(size, digests, claims, *embedded, pages, written, told))
    return found


def growth(figures: Sequence[DigestFigures]) -> float:
    """The power of the number of sessions with which the time of both planners grows, between the first and the last."""
    first, last = figures[0], figures[-1]
    return math.log((last.digests + last.claims) / (first.digests + first.claims)) / math.log(
        last.sessions / first.sessions
    )


def _timed(snapshot: Snapshot, settings: Settings, embed: Embed | None) -> tuple[float, float, int, int, int]:
    inputs = Inputs(snapshot, {}, settings, embed=embed)
    began = time.process_time()
    digests = digest_sessions(inputs)
    between = time.process_time()
    claims = extract_claims(inputs)
    ended = time.process_time()
    numbers = claims.report.numbers
    told = int(digests.report.numbers["sentences told"])
    return between - began, ended - between, len(digests.items), int(numbers["new claims"]), told


def _turn(r: Random, who: str, day: date, hour: int, minute: int) -> str:
    words = {name: r.choice(choices) for name, choices in _WORDS.items()}
    words |= {
        "project": r.choice(PROJECTS),
        "who": r.choice(_PEOPLE),
        "day": str(r.randint(1, 28)),
        "number": str(r.randint(10, 90)),
    }
    told = who != "assistant" and r.random() < 0.3
    said = r.choice(_TELLS).format(**words) if told else r.choice(_TALK)
    return f"**{who}** {day} {9 + hour:02}:{minute:02}\n\n{said}"


def _filled(empty: pa.Table, rows: Sequence[dict[str, Any]]) -> pa.Table:
    plain: dict[str, Any] = dict.fromkeys(empty.column_names)
    return pa.Table.from_pylist([plain | row for row in rows], schema=empty.schema).sort_by("id")


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.digests", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[125, 250, 500, 1000], metavar="SESSIONS")
    parser.add_argument("--vectors", action="store_true", help="measure with the default embedder as well")
    given = parser.parse_args()
    embedder = embedder_for(Settings())

    def embed(texts: Sequence[str]) -> np.ndarray:
        return embedder.embed(texts)

    figures = measure(sorted(given.sizes), embed if given.vectors else None)
    print("| sessions | told | digests | claims | digests, with vectors | claims, with vectors | pages | new claims |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for f in figures:
        print(
            f"| {f.sessions:,} | {f.told:,} | {f.digests:.1f} s | {f.claims:.1f} s | {f.digests_embedded:.1f} s "
            f"| {f.claims_embedded:.1f} s | {f.pages:,} | {f.written:,} |"
        )
    last = figures[-1]
    print(
        f"{1000 * (last.digests + last.claims) / last.sessions:.1f} ms a session; it grows with the power {growth(figures):.2f}."
    )


if __name__ == "__main__":
    main()
