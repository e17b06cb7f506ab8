"""``python -m benchmarks.reminders [--data DIR]``: how often `active` returns the page that answers, and nothing for other topics.

The prompts of ``reminders.toml`` are asked plainly, at ordinary length, with slips of the pen and in capitals. Questions about
conversations (``memorybank_answers.json``) are asked as they are. Prompts that a corpus cannot answer are those of ``off_topic``
and those of the other sets.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

from rich.console import Console

from benchmarks.report import Part, show
from benchmarks.search import ANSWERS, DATA
from slowwave.models.embedder import MiniLMEmbedder
from slowwave.sources.pipeline import import_messages
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.migrate import open_store
from slowwave.store.settings import Settings
from slowwave.wiki.corpus.corpora import add_corpus
from slowwave.wiki.corpus.sync import sync_corpus
from slowwave.wiki.recall.active import ActiveMemoryRequest, active_memory

PROMPTS: Final = Path(__file__).with_name("reminders.toml")
OFF_TOPIC: Final = "off-topic"


class Prompt(NamedTuple):
    """A prompt to a namespace, with the sources that answer it; none for one that is off-topic."""

    namespace: str
    form: str
    text: str
    right: frozenset[str] = frozenset()


def load_prompts(store: Store, data: Path, home: Path) -> list[Prompt]:
    """Fill the namespaces and return their prompts."""
    table = tomllib.loads(PROMPTS.read_text())
    for page in table["pages"]:
        file = home / "vault" / page["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page["text"])
    shutil.copytree(data / "eips_md", home / "eips")
    shutil.copytree(data / "dory_sample" / "dory_sample", home / "dory")
    shutil.copytree(data / "dory_sample" / "examples_corpus", home / "dory", dirs_exist_ok=True)
    with store.connect("owner") as connection:
        for name, profile in (("vault", "vault"), ("eips", "plain"), ("dory", "dory")):
            sync_corpus(connection, name, add_corpus(connection, name, home / name, profile), MiniLMEmbedder())
        import_messages(connection, data / "memorybank" / "messages.jsonl", embedder=MiniLMEmbedder())
        said = [*_about_pages(table["prompts"]), *_about_conversations(connection, data)]
    return [*said, *_off_topic(said, table["off_topic"])]


def _about_pages(rows: Sequence[dict[str, str]]) -> Iterator[Prompt]:
    for row in rows:
        right = frozenset({row["page"]})
        yield Prompt(row["set"], "plain", row["plain"], right)
        yield Prompt(row["set"], "long", row["long"], right)
        yield Prompt(row["set"], "with slips", with_slips(row["plain"]), right)
        yield Prompt(row["set"], "in capitals", row["plain"].upper(), right)


def with_slips(text: str) -> str:
    """The text with two letters exchanged in each of its two longest words."""
    rng = random.Random(text)  # noqa: S311 - the same slips every time
    parts = text.split(" ")
    for n in sorted(range(len(parts)), key=lambda n: -len(parts[n]))[:2]:
        if len(parts[n]) > 4:
            at = rng.randrange(1, len(parts[n]) - 2)
            parts[n] = parts[n][:at] + parts[n][at + 1] + parts[n][at] + parts[n][at + 2 :]
    return " ".join(parts)


def _about_conversations(connection: Connection, data: Path) -> Iterator[Prompt]:
    lines = (data / "memorybank" / "questions.jsonl").read_text().splitlines()
    for number, answers in json.loads(ANSWERS.read_text()).items():
        question = json.loads(lines[int(number)])
        wanted = [f"{question['namespace']}-2023-{turn}" for turn in answers]
        rows = connection.execute(_TURNS, (question["namespace"], wanted)).fetchall()
        days = {
            f"messages:2023-{turn[:5]}" for turn in answers
        }  # a turn is told as a memory or as a passage of its day
        right = frozenset(str(path) for (path,) in rows) | days
        yield Prompt(question["namespace"], "about conversations", question["question"], right)


_TURNS: Final = """
SELECT r.path FROM memory.memories m JOIN memory.namespaces n ON n.id = m.namespace_id JOIN memory.search_rows r ON r.id = m.id
 WHERE n.slug = %s AND m.external_id = ANY (%s)"""


def _off_topic(said: Sequence[Prompt], general: Sequence[str]) -> Iterator[Prompt]:
    namespaces = sorted({one.namespace for one in said})
    for n, namespace in enumerate(namespaces):
        own = namespace.startswith("memorybank-")
        for text in general if not own else general[n % 3 :: 3]:
            yield Prompt(namespace, OFF_TOPIC, text)
        others = [p for p in said if p.namespace != namespace and p.form in ("plain", "long")]
        others = [p for p in others if "eips" in (p.namespace, namespace)]  # the other sets share everyday topics
        for one in others[n % 6 :: 6] if own else others:
            yield Prompt(namespace, OFF_TOPIC, one.text)


def returned(connection: Connection, prompt: Prompt) -> tuple[str, ...]:
    """The sources of a reminder, best first."""
    request = ActiveMemoryRequest(
        prompt=prompt.text, agent="bench", profile="general", timeout_ms=30_000, budget_tokens=1_200
    )
    return active_memory(connection, prompt.namespace, request, Settings()).answer.sources


def measured(store: Store, prompts: Sequence[Prompt]) -> Part:
    """Shares of prompts whose page is returned, or for which nothing is."""
    rows: dict[tuple[str, str], list[tuple[bool, bool, int]]] = defaultdict(list)
    with store.connect("server") as connection:
        for prompt in prompts:
            found = returned(connection, prompt)
            name = "conversations" if prompt.namespace.startswith("memorybank-") else prompt.namespace
            hit = not prompt.right.isdisjoint(found) if prompt.right else not found
            first = not prompt.right.isdisjoint(found[:1]) if prompt.right else not found
            for key in {(name, prompt.form), ("all", prompt.form)}:
                rows[key].append((hit, first, len(found)))
    shares = [
        [
            form,
            name,
            str(len(own)),
            *(f"{fmean(value[n] for value in own):.3f}" for n in (0, 1)),
            f"{fmean(v[2] for v in own):.1f}",
        ]
        for (name, form), own in sorted(rows.items(), key=lambda one: (one[0][1], one[0][0]))
    ]
    header = (
        "prompts",
        "set",
        "number",
        "right page returned (off-topic: nothing)",
        "right page first",
        "pages a prompt",
    )
    return Part("Reminders", "Each prompt is asked once, with the profile general.", header, shares)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="slowwave-reminders-") as home:
        os.environ["SLOWWAVE_HOME"] = home
        store = open_store()
        try:
            show([measured(store, load_prompts(store, asked.data, Path(home)))], Console())
        finally:
            server.stop(Path(home))


if __name__ == "__main__":
    main()
