"""``python -m benchmarks.memory_quality [FOLDER] [--write]``: what the operations on memories do to what an agent remembers.

Each operation is planned alone, and all of them together, on snapshots of the demo and, where FOLDER is given, of the
conversations in ``FOLDER/memorybank``. Everything a plan decides is simulated; reviews are left to a person and not counted. Beside
it stand the parts that the labelled sets of FOLDER measure: dates, contradictions, clusters and screening.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console

from benchmarks import dates, memories, screening, word_pairs
from benchmarks.machine import commit
from benchmarks.operations import planned
from benchmarks.report import Part, put, show
from slowwave.changes.simulate import simulate
from slowwave.models.embedder import Embedder
from slowwave.operations import PLANNERS, Inputs, permits
from slowwave.plans.items import Item
from slowwave.plans.probes.recall import recall_probe
from slowwave.plans.probes.texts import specifics_probe
from slowwave.plans.seal import Header, Plan, seal
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.models import load_models, run_models
from slowwave.snapshots.snapshot import Snapshot
from slowwave.sources.pipeline import import_messages
from slowwave.store import server
from slowwave.store.configured_models import embedder_for
from slowwave.store.migrate import open_store
from slowwave.store.settings import Settings
from slowwave.surfaces.demo import NAMESPACES, load_demo
from slowwave.text.tokens import counts

PAGE: Final = Path(__file__).parents[1] / "docs" / "quality.md"
MARKS: Final = ("<!-- measured -->", "<!-- end of measured -->")


@dataclass(frozen=True, slots=True)
class Effect:
    """What one operation, or all, do to a group of namespaces: counts of items, live tokens before and after, specifics looked at and
    lost, Recall@10 before and after over all questions, and what a second night would plan that the first did not defer.
    """

    name: str
    items: int
    reviews: int
    deferred: int
    tokens: tuple[int, int]
    specifics: tuple[int, int]
    questions: int
    recall: tuple[float, float]
    again: int

    @property
    def harms(self) -> bool:
        """Whether recall falls by more than a plan may, or something specific is out of reach."""
        return self.recall[1] - self.recall[0] < Settings().recall_floor or self.specifics[1] > 0


def effects(snapshots: Sequence[Snapshot], embedder: Embedder, say: Callable[[str], None]) -> list[Effect]:
    """Each operation alone, those that plan nothing left out, and all together."""
    found: list[Effect] = []
    for name in planned():
        say(name)
        found.append(effect(name, (name,), snapshots, embedder))
    say("all together")
    return [*(e for e in found if e.items or e.reviews), effect("all together", planned(), snapshots, embedder)]


def effect(name: str, operations: Sequence[str], snapshots: Sequence[Snapshot], embedder: Embedder) -> Effect:
    """What these operations do, over all snapshots."""
    ones = [_one(name, operations, snapshot, embedder) for snapshot in snapshots]
    asked = [e.questions for e in ones]
    mean = [float(np.average([e.recall[k] for e in ones], weights=asked)) if sum(asked) else 0.0 for k in (0, 1)]
    return Effect(
        name,
        sum(e.items for e in ones),
        sum(e.reviews for e in ones),
        sum(e.deferred for e in ones),
        (sum(e.tokens[0] for e in ones), sum(e.tokens[1] for e in ones)),
        (sum(e.specifics[0] for e in ones), sum(e.specifics[1] for e in ones)),
        sum(asked),
        (mean[0], mean[1]),
        sum(e.again for e in ones),
    )


def _one(name: str, operations: Sequence[str], snapshot: Snapshot, embedder: Embedder) -> Effect:
    inputs = _inputs(snapshot, embedder)
    header = Header(snapshot.namespace_id, snapshot.namespace, snapshot.snapshot_id, "benchmark")
    plan = seal(header, _proposed(inputs, operations), permits())
    decided = [i for i in plan.items if i.decision != "review"]
    losing = specifics_probe(snapshot, simulate(snapshot, decided), decided).items_losing()
    decided = [i for i in decided if i.id not in losing]
    after = simulate(snapshot, decided)
    terms = specifics_probe(snapshot, after, decided)
    recall = recall_probe(snapshot, after, inputs.settings, embedder.embed)
    return Effect(
        name,
        len(decided),
        len(plan.items) - len(decided),
        len(plan.deferred_items),
        (live_tokens(snapshot), live_tokens(after)),
        (terms.terms, len(terms.lost)),
        recall.queries,
        (recall.recall_before, recall.recall_after),
        _again(plan, decided, _proposed(_inputs(after, embedder), operations)),
    )


def _again(plan: Plan, decided: Sequence[Item], second: Iterable[Item]) -> int:
    """Items of a second night, but pages, reviews, and those about rows of which the first one deferred an item or asks a person."""
    done = {i.id for i in decided}
    waiting = {r for i in (*plan.items, *plan.deferred_items) if i.id not in done for r in i.mutation.row_ids()}
    return sum(
        i.decision != "review" and i.operation != "compile_pages" and waiting.isdisjoint(i.mutation.row_ids())
        for i in second
    )


def live_tokens(snapshot: Snapshot) -> int:
    """Tokens of what recall can find of the memories."""
    return int(counts(active_memories(snapshot)["text"]).sum())


def _proposed(inputs: Inputs, operations: Iterable[str]) -> list[Item]:
    return [item for name in operations for item in PLANNERS[name](inputs).items]


def _inputs(snapshot: Snapshot, embedder: Embedder) -> Inputs:
    settings = Settings.for_namespace(snapshot.settings)
    return Inputs(snapshot, run_models(load_models(), snapshot, settings), settings, embed=embedder.embed)


def table_of(title: str, says: str, found: Sequence[Effect]) -> Part:
    """The effects of a group of namespaces."""
    header = [
        *("operation", "items", "reviews", "deferred", "tokens before", "after", "specifics", "lost"),
        *("questions", "Recall@10 before", "after", "second night"),
    ]
    rows = [
        [
            *(f"**{e.name}**" if e.harms else e.name, f"{e.items:,}", f"{e.reviews:,}", f"{e.deferred:,}"),
            *(f"{e.tokens[0]:,}", f"{e.tokens[1]:,}", f"{e.specifics[0]:,}", f"{e.specifics[1]:,}"),
            *(f"{e.questions:,}", f"{e.recall[0]:.3f}", f"{e.recall[1]:.3f}", f"{e.again:,}"),
        ]
        for e in found
    ]
    return Part(title, says, header, rows)


def conversations(folder: Path, embedder: Embedder, say: Callable[[str], None]) -> list[Snapshot]:
    """The namespaces of ``folder/messages.jsonl``, imported as an agent would write them."""
    store = open_store()
    say("importing the conversations")
    with store.connect("owner") as connection:
        found = import_messages(connection, folder / "messages.jsonl", embedder=embedder)
    return [export_snapshot(store, slug, model=embedder.model) for slug in found.namespaces]


def demo(embedder: Embedder, say: Callable[[str], None]) -> list[Snapshot]:
    """The demo's namespaces."""
    store = open_store()
    with store.connect("owner") as connection:
        load_demo(connection, embedder, progress=say)
    return [export_snapshot(store, slug, model=embedder.model) for slug in NAMESPACES]


def labelled(folder: Path) -> list[Part]:
    """What the labelled sets of the folder measure."""
    found = memories.quality(folder)
    for path in sorted(folder.glob("dates_dev/*.jsonl")):
        scored = dates.score(path)
        shares = [f"{share:.3f}" for share in scored.shares().values()]
        header = ["set", "relative dates", "right", "wrong", "missed"]
        says = (
            "Right: the exact days, or an interval that contains them or begins with them. The set is about the future, "
            "memories are about the past."
        )
        found.append(Part("Relative dates", says, header, [[path.stem, f"{scored.texts:,}", *shares]]))
    rows: list[list[str]] = []
    for name, texts in (("security_dev", screening.labelled(folder)), ("ordinary", screening.ordinary(folder))):
        flagged = screening.score(texts)
        rows += [
            [f"{name}: {label}", f"{n:,}", f"{flagged.flagged.get(label, 0):,}", f"{flagged.share(label):.3f}"]
            for label, n in sorted(flagged.texts.items())
        ]
    found.append(
        Part(
            "Screening",
            "Texts in which screening finds something that it acts on.",
            ["set", "texts", "flagged", "share"],
            rows,
        )
    )
    return found


def measured(folder: Path | None, say: Callable[[str], None]) -> list[Part]:
    """All tables, on a store of its own."""
    embedder = embedder_for(Settings())
    found: list[Part] = []
    if folder and (folder / "memorybank" / "messages.jsonl").exists():
        snapshots = conversations(folder / "memorybank", embedder, say)
        title = f"Conversations: {len(snapshots)} people, {sum(len(s.table('memories')) for s in snapshots):,} turns"
        found.append(table_of(title, "Questions are sentences of the turns.", effects(snapshots, embedder, say)))
    snapshots = demo(embedder, say)
    title = f"The demo: {sum(len(s.table('memories')) for s in snapshots):,} memories of {len(snapshots)} namespaces"
    found.append(table_of(title, "Questions are the agent's own recalls.", effects(snapshots, embedder, say)))
    say("words that exclude each other")
    found += word_pairs.quality()
    if folder:
        say("labelled sets")
        found += labelled(folder)
    return found


def write(found: Sequence[Part]) -> None:
    """Put the tables between the marks of the page."""
    put(found, PAGE, MARKS, f"Measured on {datetime.now(UTC):%Y-%m-%d} at commit {commit()}.")


def main() -> None:
    """Measure on an embedded server of its own, in a temporary home."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory_quality", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="folder with memorybank and labelled sets")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.parent.name}/{PAGE.name}")
    given = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as home:
        os.environ["SLOWWAVE_HOME"] = home
        os.environ.pop("SLOWWAVE_DATABASE_URL", None)
        try:
            with console.status("starting") as status:
                found = measured(given.folder, status.update)
        finally:
            server.stop(Path(home))
    show(found, console)
    if given.write:
        write(found)
        console.print(f"Written: {PAGE}")


if __name__ == "__main__":
    main()
