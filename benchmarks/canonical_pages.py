"""``python -m benchmarks.canonical_pages [--subjects 1000]``: what the pages of many subjects cost a plan, in memory and without a server.

Ten claims a subject, each with a page of evidence; all settings at their defaults but for the number of new pages a night. Told are the
texts of all pages (``drafts``), all that the planner does with its mutations (``plan``, which screens and parses each page and embeds
nothing), the next night, when every page stands and says what is known (``again``), and the reference: markdown-it-py reads the texts of
the plan once, by the rules of CommonMark (``markdown-it``). In seconds of this process's CPU; the hash tells whether a plan is another one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

import pyarrow as pa
from markdown_it import MarkdownIt

from benchmarks.machine import load, machine
from slowwave.changes.simulate import simulate
from slowwave.operations import Inputs, permits
from slowwave.plans.seal import Header, seal
from slowwave.snapshots.models import load_models, run_models
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, Snapshot, Vectors, arrow_schema
from slowwave.store.settings import Settings
from slowwave.store.tables import VECTORS
from slowwave.wiki.claims.canonical_pages import PageShelf, canonical_drafts
from slowwave.wiki.operations.canonical_pages import canonical_pages
from slowwave.wiki.pages.subject_page import subject_statements

CLAIMS: Final = 10
_NOW: Final = datetime(2026, 5, 1, 3, tzinfo=UTC)
_KINDS: Final = ("fact", "state", "note", "decision", "preference")
_FAMILIES: Final = ("project", "person", "concept")
_SETTINGS: Final = {"operations": {"canonical_pages": {"max_new_pages": 1_000_000}}}


def namespace(subjects: int) -> Snapshot:
    """A namespace in which ten things are claimed of each subject."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SNAPSHOT_TABLES}
    rows["corpora"].append({"id": _id("evidence"), "root": "evidence:", "profile": "dory", "settings": "{}"})
    for n in range(subjects):
        family, subject = _FAMILIES[n % 3], _id(f"subject {n}")
        ref = {"source": "semantic", "external_id": f"{family}:rowan-{n}", "state": "active"}
        rows["entities"].append({"id": subject, "name": f"Rowan {n}", "entity_type": family, "attributes": "{}", **ref})
        for k in range(CLAIMS):
            _claim(rows, subject, n, k)
    tables = {name: _table(name, found) for name, found in rows.items()}
    none = {name: Vectors.empty() for name in VECTORS}
    return Snapshot(_id("namespace"), "bench", "bench", _NOW, 1, settings=_SETTINGS, tables=tables, vectors=none)


def measure(subjects: int) -> tuple[dict[str, float], str]:
    """Seconds of CPU of the drafts, of a whole plan, of the plan of the night after it and of the reference; and the plan's hash."""
    inputs = _inputs(namespace(subjects))
    began = time.process_time()
    said = subject_statements(inputs.snapshot, inputs.settings)
    drafts = canonical_drafts(PageShelf.of_snapshot(inputs.snapshot), said, _NOW, 3).drafts
    drafted = time.process_time() - began
    began = time.process_time()
    items = canonical_pages(inputs).items
    planned = time.process_time() - began
    if not subjects <= len(drafts) < len(items):
        raise AssertionError(f"{len(drafts)} drafts and {len(items)} items of {subjects} subjects")
    after = _inputs(simulate(inputs.snapshot, items))
    began = time.process_time()
    if canonical_pages(after).items:
        raise AssertionError("The second night wrote a page.")
    again = time.process_time() - began
    texts = [str(i.values["content"]) for item in items for i in item.mutation.inserts if i.table == "documents"]
    began = time.process_time()
    parser = MarkdownIt("commonmark")
    for text in texts:
        parser.parse(text)
    reference = time.process_time() - began
    plan = seal(Header(inputs.snapshot.namespace_id, "bench", "bench", "bench"), items, permits())
    return {"drafts": drafted, "plan": planned, "again": again, "markdown-it": reference}, plan.plan_hash


def _claim(rows: Mapping[str, list[dict[str, Any]]], subject: str, n: int, k: int) -> None:
    claim, version, page = (_id(f"{what} {n} {k}") for what in ("claim", "version", "page"))
    text = f"The part {k} of matter {n} lies in store {k * 7 + n % 13} until the {k + 1}th week."
    kind = _KINDS[k % len(_KINDS)]
    plain = {"valid_from": _NOW - timedelta(days=k), "recorded_at": _NOW, "confidence": 1.0, "state": "active"}
    rows["memories"].append(
        {
            **{"id": claim, "kind": "claim", "subject": f"Rowan {n}", "current_version_id": version, **plain},
            **{"attributes": f'{{"claim_kind": "{kind}", "entity_id": "{subject}"}}', "visibility": "private"},
            **{"source_document_ids": [page], "scope": "", "author": "codex", "sensitivity": "", "pinned": False},
        }
    )
    rows["memory_versions"].append({"id": version, "memory_id": claim, "content": text})
    place = {"corpus_id": _id("evidence"), "path": f"sources/semantic/2026/05/{k + 1:02d}/rowan-{n}-{k}.md"}
    rows["documents"].append(
        {"id": page, "title": "Rowan", "content": text, "metadata": "{}", "plane": "durable", **place}
    )


def _inputs(snapshot: Snapshot) -> Inputs:
    settings = Settings.for_namespace(_SETTINGS)
    return Inputs(snapshot, run_models(load_models(), snapshot, settings), settings)


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    schema = arrow_schema(SNAPSHOT_TABLES[name])
    columns = {column: [row.get(column) for row in rows] for column in schema.names}
    return pa.table(columns, schema=schema).sort_by("id")


def _id(name: str) -> str:
    return str(uuid5(NAMESPACE_OID, name))


def main() -> None:
    """Print the seconds of each part, and how often the reference's they are."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.canonical_pages", description=__doc__)
    parser.add_argument("--subjects", type=int, default=1_000)
    given = parser.parse_args()
    print(", ".join(f"{name} {value}" for name, value in machine().items()), f"load {load()}", sep=", ")
    measure(5)  # patterns are made, modules read
    found, hash_ = measure(given.subjects)
    for name, seconds in found.items():
        print(f"{name:12} {seconds:6.2f} s {seconds / found['markdown-it']:6.1f}")
    print(f"plan {hash_}")


if __name__ == "__main__":
    main()
