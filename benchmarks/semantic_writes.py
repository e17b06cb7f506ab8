"""``python -m benchmarks.semantic_writes [--writes 2000]``: what a statement costs beside bare inserts of the rows that it is.

Statements are told one at a time by the login of a server, each in its transaction, on a server of its own. After each block the very rows
that it left are inserted once more under other ids, one statement's rows a transaction, with prepared statements: the same triggers and
indexes, and nothing else. Blocks alternate, so that both meet the same machine. Embedding is a part of telling and not of the inserts.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import UUID, uuid5

from psycopg import sql

from slowwave.models.embedding_models import STATIC_MODEL
from slowwave.search.request import settings_of
from slowwave.store import server
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.migrate import migrate
from slowwave.store.server import create_database
from slowwave.store.settings import Settings
from slowwave.wiki.claims.remember import remember
from slowwave.wiki.claims.request import RememberRequest

BLOCK: Final = 100
WARM: Final = 10
"""Statements that are told before anything is measured."""

_SPACE: Final = UUID("6f0c7a52-5b7e-4f0e-9d4e-0f8f7d6a1c11")
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TABLES: Final = (
    *("corpora", "entities", "entity_vectors", "documents", "chunks", "chunk_vectors"),
    *("memories", "memory_versions", "memory_vectors", "claim_events"),
)
_THINGS: Final = (
    "review",
    "crane",
    "budget",
    "north quay",
    "invoice",
    "ferry line",
    "survey",
    "permit",
    "pump house",
    "roof",
    "lease",
    "tide gate",
)
_SAYS: Final = (
    "The {thing} of {place} is looked after by {who}.",
    "{who} wants the {thing} to be painted {colour} before the {season}.",
    "In {place} the {thing} was put off for lack of {lack}.",
    "The {thing} needs a second look by {who}, as the {season} brings storms to {place}.",
    "{who} has asked {place} for {lack} and a {colour} sign at the {thing}.",
)
_WORDS: Final = {
    "place": ("Ostrava", "Varde", "Larnaca", "Porto", "Tromso", "Gdansk", "Bari", "Cork", "Nantes", "Izmir"),
    "who": ("Mara", "Nils", "Zora", "Petra", "Anton", "Yusuf", "Ines", "Bram"),
    "colour": ("red", "green", "white", "grey", "blue", "yellow"),
    "season": ("winter", "spring", "summer", "autumn"),
    "lack": ("money", "timber", "steel", "divers", "permits", "daylight", "drawings"),
}


@dataclass(slots=True)
class Writes:
    """Milliseconds of each statement, of the inserts of its rows, and of embedding it."""

    told: list[float] = field(default_factory=lambda: list[float]())
    inserted: list[float] = field(default_factory=lambda: list[float]())
    embedded: list[float] = field(default_factory=lambda: list[float]())

    @property
    def ratio(self) -> float:
        """Telling to inserting, over all."""
        return sum(self.told) / sum(self.inserted)


def statements(count: int, subjects: int, seed: int = 7) -> list[tuple[str, str]]:
    """(subject, statement) in the order of telling; one in ten is said again, word for word."""
    r = Random(seed)  # noqa: S311 - made-up statements
    found: list[tuple[str, str]] = []
    for _ in range(count):
        if found and r.random() < 0.1:
            found.append(r.choice(found))
            continue
        words = {name: r.choice(choices) for name, choices in _WORDS.items()}
        said = r.choice(_SAYS).format(thing=r.choice(_THINGS), **words)
        found.append((f"Harbour {r.randrange(subjects)}", f"{said[:-1]} since week {r.randrange(400)}."))
    return found


def measure(store: Store, count: int, subjects: int) -> Writes:
    """Tell ``count`` statements about ``subjects`` subjects in a new namespace of the store."""
    model = embedder_for(Settings(embedding_model=STATIC_MODEL))
    writes = Writes()
    with store.connect("owner") as owner:
        owner.execute("SELECT memory.register_vector_model(%s, %s)", (STATIC_MODEL, model.dimensions))
        for slug in ("told", "inserted"):
            owner.execute(
                "INSERT INTO memory.namespaces (id, slug, settings) VALUES (gen_random_uuid(), %s, %s)",
                (slug, f'{{"embedding_model": "{STATIC_MODEL}"}}'),
            )
        (told,), (inserted,) = owner.execute("SELECT id::text FROM memory.namespaces ORDER BY slug DESC").fetchall()
        copy = _Copy(owner, str(told), str(inserted))
        every = statements(count, subjects)
        with store.connect("server") as connection:  # the first ones load code and models, whoever asks for them
            for number, (_, said) in enumerate(statements(WARM, 1, seed=8)):
                _tell(connection, f"Warm {'AB'[number % 2]}", said, Writes())
        copy.insert(Writes())
        for start in range(0, len(every), BLOCK):
            block = every[start : start + BLOCK]
            with store.connect("server") as connection:
                for subject, said in block:
                    _tell(connection, subject, said, writes)
            copy.insert(writes)
            for _, said in block:
                began = time.perf_counter()
                model.embed([said])
                writes.embedded.append(1000 * (time.perf_counter() - began))
    return writes


def _tell(connection: Connection, subject: str, said: str, writes: Writes) -> None:
    request = RememberRequest(subject=subject, content=said, scope="project", agent="benchmark", session_id="s")
    settings = settings_of(connection, "told")
    began = time.perf_counter()
    remember(connection, "told", request, settings)
    writes.told.append(1000 * (time.perf_counter() - began))


class _Copy:
    """Inserts what was told into another namespace, a statement a transaction."""

    def __init__(self, connection: Connection, told: str, inserted: str) -> None:
        self._connection, self._told = connection, told
        self._ids = {told: inserted}
        self._seen: dict[str, str] = {}
        self._columns = {table: self._of(table) for table in _TABLES}

    def insert(self, writes: Writes) -> None:
        """The rows that came since the last time, those of each statement together: they have its instant."""
        for rows in self._fresh():
            began = time.perf_counter()
            with self._connection.transaction():
                for table, values in rows:
                    self._connection.execute(self._statement(table), values, prepare=True)
            writes.inserted.append(1000 * (time.perf_counter() - began))

    def _fresh(self) -> list[list[tuple[str, Sequence[Any]]]]:
        groups: dict[str, list[tuple[str, Sequence[Any]]]] = {}
        for table in _TABLES:
            columns = sql.SQL(", ").join(sql.SQL("t.{}::text").format(sql.Identifier(c)) for c in self._columns[table])
            since = self._seen.get(table, "-infinity")
            query = sql.SQL(
                "SELECT {at}::text, {columns} FROM memory.{table} t WHERE t.namespace_id = %s AND {at} > %s::timestamptz ORDER BY 1"
            ).format(columns=columns, table=sql.Identifier(table), at=self._at(table))
            for group, *values in self._connection.execute(query, (self._told, since)).fetchall():
                groups.setdefault(str(group), []).append((table, [self._renamed(v) for v in values]))
        (now,) = self._connection.execute("SELECT clock_timestamp()::text").fetchone() or ("",)
        self._seen = dict.fromkeys(_TABLES, str(now))
        return [groups[group] for group in sorted(groups)]

    def _at(self, table: str) -> sql.SQL:
        of = {"entity_vectors": "entities", "chunk_vectors": "chunks", "memory_vectors": "memories"}.get(table)
        return sql.SQL(f"(SELECT o.recorded_at FROM memory.{of} o WHERE o.id = t.id)" if of else "t.recorded_at")

    def _of(self, table: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attidentity = '' "
            "ORDER BY attnum",
            (f"memory.{table}",),
        ).fetchall()
        return [str(name) for (name,) in rows]

    def _statement(self, table: str) -> sql.Composed:
        columns = self._columns[table]
        return sql.SQL("INSERT INTO memory.{} ({}) VALUES ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, columns)),
            sql.SQL(", ").join(sql.Placeholder() * len(columns)),
        )

    def _renamed(self, value: object) -> object:
        if not isinstance(value, str):
            return value
        return _UUID.sub(lambda found: self._ids.get(found[0]) or str(uuid5(_SPACE, found[0])), value)


def main() -> None:
    """Measure on a server of its own in a temporary home, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.semantic_writes", description=__doc__)
    parser.add_argument("--writes", type=int, default=2_000)
    parser.add_argument("--subjects", type=int, default=40)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as folder:
        home = Path(folder)
        running = server.start(home)
        try:
            create_database(running.url, "semantic_writes")
            store = Store.embedded_in(running.url("semantic_writes"), home)
            migrate(store)
            found = measure(store, given.writes, given.subjects)
        finally:
            server.stop(home)
    for name in ("told", "inserted", "embedded"):
        times = sorted(getattr(found, name))
        mean, last = sum(times) / len(times), getattr(found, name)[-len(times) // 10 :]
        print(
            f"{name:9} {len(times):6,} times, mean {mean:6.2f} ms, median {times[len(times) // 2]:6.2f} ms, "
            f"95 % under {times[int(0.95 * len(times))]:6.2f} ms, mean of the last tenth {sum(last) / len(last):6.2f} ms"
        )
    print(f"ratio {found.ratio:.2f}")


if __name__ == "__main__":
    main()
