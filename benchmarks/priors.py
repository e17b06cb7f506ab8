"""``python -m benchmarks.priors [--write]``: what each prior of searches does alone.

A corpus in the layout of Dory is generated and synced as any folder is: projects whose owner, database, host, budget and release change,
told by a canonical page (as it is now), daily logs (as it was on the day), a wiki page and a report that lag, raw notes in the inbox and
private pages. Most questions ask what holds now, where pages that tell the former value match as well; the others ask for a detail
that only one page tells, mostly one that the priors lower. So the first column shows what a prior is for, the second what it costs.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from rich.console import Console

from benchmarks.machine import commit
from benchmarks.report import Part, put, show
from slowwave.models.embedder import Embedder, MiniLMEmbedder
from slowwave.models.embedding_models import MINILM_MODEL
from slowwave.search import priors
from slowwave.search.request import SearchRequest
from slowwave.search.search import search
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store
from slowwave.wiki.corpus.corpora import add_corpus
from slowwave.wiki.corpus.sync import sync_corpus

PAGE: Final = Path(__file__).parents[1] / "docs" / "search.md"
MARKS: Final = ("<!-- priors -->", "<!-- end of priors -->")
NAMESPACE: Final = "priors"
K: Final = 10

_NAMES: Final = (
    *("Alder", "Basalt", "Cobalt", "Dahlia", "Ember", "Fjord", "Garnet", "Heron", "Indigo", "Juniper"),
    *("Kestrel", "Larch", "Marlin", "Nimbus", "Onyx", "Poplar", "Quartz", "Rowan", "Saffron", "Tamarind"),
    *("Umber", "Vervain", "Willow", "Yarrow", "Zephyr", "Birch", "Cedar", "Delta", "Elm", "Falcon"),
    *("Glacier", "Hazel", "Iris", "Jasper", "Kite", "Linden", "Maple", "Nettle", "Opal", "Pine"),
)
_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "owner": ("Ines", "Tomas", "Priya", "Marek", "Lotte", "Samuel"),
    "database": ("Postgres", "MySQL", "SQLite", "DuckDB", "MongoDB"),
    "host": ("the rack in Oslo", "the machine under the desk", "a rented server", "the old laptop"),
    "budget": ("4,000 euros", "9,500 euros", "12,000 euros", "700 euros"),
    "release": ("in the spring", "before the fair", "after the audit", "at the end of the year"),
}
_DETAILS: Final = (
    "fan rattles whenever the window is open",
    "label on the blue cable is wrong",
    "password hint is a song about rain",
    "invoice was printed twice",
    "second monitor flickers at noon",
    "spare key hangs behind the map",
    "coffee was paid by the visitors",
    "scanner only reads left pages",
    "backup tape smells of smoke",
    "door code changed on a Friday",
    "whiteboard photo is upside down",
    "badge printer needs yellow ink",
)


class Asked(NamedTuple):
    """A question, and the paths of the pages that answer it."""

    query: str
    right: frozenset[str]


def corpus(folder: Path, today: date) -> tuple[list[Asked], list[Asked]]:
    """Write the pages; the questions about what holds now, and those about details."""
    rng = random.Random(11)  # noqa: S311 - the same pages every time
    now: list[Asked] = []
    details: list[Asked] = []
    logs: dict[date, list[str]] = {}
    told: list[tuple[date, str, str]] = []  # day, line, query of a detail in a log

    def write(path: str, day: date, body: str, **fields: object) -> str:
        head = "\n".join(
            f"{k}: {v}" for k, v in {"title": path.rpartition("/")[2][:-3], "created": day, **fields}.items()
        )
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\n{head}\n---\n\n{body}\n", encoding="utf-8")
        return path

    for name in _NAMES:
        slug = name.lower()
        old = {what: rng.choice(values) for what, values in _VALUES.items()}
        new = {what: rng.choice([v for v in values if v != old[what]]) for what, values in _VALUES.items()}
        before, changed = today - timedelta(rng.randint(90, 200)), today - timedelta(rng.randint(3, 60))
        lines = [f"The {what} of {name} is {value}." for what, value in new.items()]
        stale = [f"{name}: {what} {value}." for what, value in old.items()]
        state = write(
            f"projects/{slug}/state.md", changed, "\n".join(lines), type="project", status="active", canonical="true"
        )
        write(
            f"wiki/projects/{slug}.md",
            before,
            "\n".join(f"The {what} of {name} is {v}." for what, v in old.items()),
            type="wiki",
        )
        write(f"references/reports/{slug}.md", before, " ".join(stale), type="report", source_kind="generated")
        for what in _VALUES:
            logs.setdefault(before, []).append(f"The {what} of {name} is {old[what]}.")
            logs.setdefault(changed, []).append(f"The {what} of {name} is now {new[what]}, no longer {old[what]}.")
            now.append(Asked(f"What is the {what} of {name}?", frozenset((state, f"logs/daily/{changed}.md"))))
        odd = [f"{name}'s {detail}" for detail in rng.sample(_DETAILS, 3)]
        note = write(f"inbox/{slug}.md", before, f"{odd[0]}. {stale[0]} {stale[1]}", type="capture", status="raw")
        private = write(
            f"knowledge/personal/{slug}.md", before, f"{odd[1]}. {stale[2]}", type="knowledge", visibility="private", sensitivity="personal"
        )  # fmt: skip
        logs.setdefault(before, []).append(f"{odd[2]}.")
        asked = [f"Where is it said that {o.partition(' ')[2]}, for {name}?" for o in odd]
        details += [Asked(asked[0], frozenset((note,))), Asked(asked[1], frozenset((private,)))]
        told.append((before, odd[2], asked[2]))
    for day, texts in logs.items():
        write(f"logs/daily/{day}.md", day, "\n\n".join(f"- {text}" for text in texts), type="daily", date=day)
    details += [Asked(query, frozenset((f"logs/daily/{day}.md",))) for day, _, query in told]
    return now, details


def figures(store: Store, embedder: Embedder, asked: Sequence[Asked]) -> tuple[float, float]:
    """Recall@1 and MRR of the first ten, hybrid."""
    ranks: list[int] = []
    for question in asked:
        request = SearchRequest.model_validate({"query": question.query, "mode": "hybrid", "k": K})
        found = [result.path for result in search(store, NAMESPACE, request, embedder=embedder).results]
        ranks.append(next((n for n, path in enumerate(found, 1) if path in question.right), 0))
    return fmean(rank == 1 for rank in ranks), fmean(1 / rank if rank else 0.0 for rank in ranks)


def rows(store: Store, embedder: Embedder, groups: Sequence[Sequence[Asked]]) -> Iterator[list[str]]:
    """No prior, each alone, all together."""
    table = priors._table()
    weights: Mapping[str, float] = table["weights"]
    kept = {"none": {}, **{name: {name: weight} for name, weight in weights.items()}, "all": weights}
    for name, some in kept.items():
        changed: dict[str, Any] = {**table, "weights": {**dict.fromkeys(weights, 0.0), **some}}
        with patch.object(priors, "_table", lambda changed=changed: changed):
            found = [value for group in groups for value in figures(store, embedder, group)]
        yield [name, f"{weights[name]:+.3f}" if name in weights else "", *(f"{value:.3f}" for value in found)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it and print; with ``--write`` write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="slowwave-priors-") as home:
        os.environ["SLOWWAVE_HOME"] = home
        folder = Path(home) / "corpus"
        groups = corpus(folder, datetime.now(UTC).date())
        store, embedder = open_store(), MiniLMEmbedder()
        try:
            with store.connect("owner") as connection:
                connection.execute(
                    "INSERT INTO memory.namespaces (id, slug, settings) VALUES (gen_random_uuid(), %s, "
                    "jsonb_build_object('recall_log_share', 0, 'embedding_model', %s::text))",
                    (NAMESPACE, MINILM_MODEL),
                )
                sync_corpus(connection, NAMESPACE, add_corpus(connection, NAMESPACE, folder, "dory"), embedder)
            header = ("prior", "weight", "now: first", "now: MRR", "details: first", "details: MRR")
            part = Part(
                "Priors",
                f"Hybrid, {len(groups[0])} questions about what holds now and {len(groups[1])} for one page's detail; "
                "the share of them that a right page answers first, and MRR.",
                header,
                [*rows(store, embedder, groups)],
            )
        finally:
            server.stop(Path(home))
    show([part], Console())
    if asked.write:
        put([part], PAGE, MARKS, f"Measured at {commit()}.")


if __name__ == "__main__":
    main()
