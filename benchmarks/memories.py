"""``python -m benchmarks.memories [FOLDER] [--sizes 10000 100000]``: matching of memories, how right it is and what it costs.

FOLDER holds ``contradictions_dev`` (pairs of sentences, JSON lines with a, b and label), ``clusters_dev`` (CSV with text and cluster) and
``memorybank`` (messages, of which pairs are made here: sentences told again in another form, and told otherwise). Without FOLDER only
speed is measured, on vectors made here. Every size is a process of its own.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.machine import peak_mb
from benchmarks.remembered import given, memory_id
from benchmarks.report import Part, show
from benchmarks.retellings import DEVELOPED, LOOKED_AT, UNSEEN, told
from slowwave.matching.vectors import neighbours
from slowwave.models.embedding_models import MINILM_MODEL, OFFLINE_MODELS, minilm_is_installed
from slowwave.operations import Inputs
from slowwave.operations.audits.contradictions import contradictions
from slowwave.operations.planners.consolidate_clusters import consolidate_clusters
from slowwave.operations.planners.dedupe_memories import dedupe_memories
from slowwave.store.settings import Settings
from slowwave.text.contradictions import find

DIMENSIONS: Final = 512
NEAREST: Final = 3
FLOOR: Final = 0.75
SPECTRA: Final = {"realistic": 0.6, "crowded": 2.5}
"""Name → weight of a direction that all rows share: of the crowded ones a tenth of all pairs reach the floor."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Pairs of one label: how many there are, a night merges and its audit flags, and how many the rule for sentences says contradict."""

    label: str
    pairs: int
    merged: int
    flagged: int
    opposed: int


@dataclass(frozen=True, slots=True)
class Grouped:
    """Clusters against labels. ``purity``: members that have their group's commonest label; ``coverage``: labelled rows in a group;
    ``foreign``: rows without a label in a group."""

    groups: int
    purity: float
    coverage: float
    foreign: int


@dataclass(frozen=True, slots=True)
class Timed:
    """Neighbours of ``rows`` vectors; ``start_mb`` is what the process held before, ``peak_mb`` the most it ever held."""

    rows: int
    spectrum: str
    wall: float
    cpu: float
    edges: int
    start_mb: float
    peak_mb: float


def judge(pairs: Sequence[tuple[str, str, str]]) -> list[Judged]:
    """What a night at default settings says of pairs (a, b, label): memories of one namespace, both of a pair of one subject.

    ``dedupe_memories`` merges and the audit of contradictions flags; ``find`` is the rule by which both tell what contradicts, asked alone.
    """
    n = len(pairs)
    snapshot = given([p[side] for side in (0, 1) for p in pairs], [f"matter {k}" for _ in "ab" for k in range(n)])
    inputs = Inputs(snapshot, {}, Settings())
    place = {memory_id(k): k % n for k in range(2 * n)}
    merged = {
        place[item.mutation.row_ids()[0]]
        for item in dedupe_memories(inputs).items
        if len({place[row] for row in item.mutation.row_ids()}) == 1
    }
    flagged = {place[f.rows[0]] for f in contradictions(inputs).findings if len({place[r] for r in f.rows}) == 1}
    opposed = {k for k, kind in enumerate(find([(a, b) for a, b, _ in pairs])) if kind}
    labels = dict.fromkeys(label for _, _, label in pairs)
    of = {label: {k for k, p in enumerate(pairs) if p[2] == label} for label in labels}
    return [
        Judged(label, len(own), len(own & merged), len(own & flagged), len(own & opposed)) for label, own in of.items()
    ]


def group(texts: Sequence[str], labels: Sequence[str], model: str = "", **settings: object) -> Grouped:
    """What a night of ``consolidate_clusters`` puts into one summary, compared with labels; an empty label is none. Vectors are of the
    model of the wheels that is named, else of the default."""
    place = {memory_id(k): k for k in range(len(texts))}
    own = Settings.for_namespace(settings)
    found = consolidate_clusters(Inputs(given(texts, model=model), {}, own))
    members = [[labels[place[row]] for row in item.sources] for item in found.items]
    held = sum(map(len, members))
    pure = sum(max((c for label, c in Counter(m).items() if label), default=0) for m in members)
    foreign = sum(label == "" for m in members for label in m)
    labelled = sum(label != "" for label in labels)
    return Grouped(len(members), pure / max(held, 1), (held - foreign) / max(labelled, 1), foreign)


def installed() -> list[str]:
    """The models of the wheels that are here."""
    return [m for m in OFFLINE_MODELS if m != MINILM_MODEL or minilm_is_installed()]


def retold(texts: Sequence[str], seed: int = 0) -> list[tuple[str, str, str]]:
    """Pairs (text, changed text, how) of statements: in another form, which may merge, or otherwise, which must not."""
    random = Random(seed)  # noqa: S311 - not for secrets
    found: list[tuple[str, str, str]] = []
    for text in texts:
        for how, change in CHANGES.items():
            changed = change(text, random)
            if changed and changed != text:
                found.append((text, changed, how))
    return found


def _slip(text: str, random: Random) -> str:
    words = list(re.finditer(r"\b[a-z]{7,}\b", text))
    if not words:
        return ""
    word = random.choice(words)
    k = random.randrange(word.start() + 1, word.end() - 2)
    return text[:k] + text[k + 1] + text[k] + text[k + 2 :]


def _negated(text: str, _: Random) -> str:
    if re.search(r"\b(?:not?|never)\b|n't", text):
        return ""
    return re.sub(r"\b(is|are|was|were|can|will|have)\b(?! not)", r"\1 not", text, count=1)


def _number(text: str, random: Random) -> str:
    return re.sub(r"\b\d+\b", lambda m: str(int(m.group()) + random.randint(1, 9)), text, count=1)


def _name(text: str, random: Random) -> str:
    others = ["Helga", "Omar", "Priya", "Lisbon", "Nairobi"]
    return re.sub(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b", lambda m: random.choice(others), text, count=1)


def _person(text: str, _: Random) -> str:
    return re.sub(r"\bmy\b", "your", text, count=1)


CHANGES: Final[dict[str, Callable[[str, Random], str]]] = {
    "same: case and punctuation": lambda t, _: t.lower().rstrip(".!"),
    "same: without articles": lambda t, _: re.sub(r"\b(?:the|a|an) ", "", t),
    "same: a slip of the finger": _slip,
    "same: introduced": lambda t, _: f"Note: {t}",
    "other: negated": _negated,
    "other: another number": _number,
    "other: another name": _name,
    "other: another person": _person,
    "other: asked": lambda t, _: f"Is it true that {t.rstrip('.!')}?",
    "other: planned": lambda t, _: re.sub(r"\bI (went|visited|bought|started|read)\b", r"I plan to \1", t, count=1),
}
"""How a statement is told again → the change, the text itself where it does not apply."""


def vectors(rows: int, spectrum: str) -> NDArray[np.float32]:
    """(rows, ``DIMENSIONS``) unit vectors with a falling spectrum, of which a tenth is near another and a tenth fairly near."""
    random = np.random.default_rng(rows)
    fall = (np.arange(1, DIMENSIONS + 1) ** -0.55).astype(np.float32)

    def drawn(count: int) -> NDArray[np.float32]:
        return random.standard_normal((count, DIMENSIONS), np.float32) * fall

    matrix = drawn(rows)
    matrix[:, 0] += SPECTRA[spectrum]
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    copies = rows // 5
    of = random.integers(0, rows - copies, copies)
    cosine = random.uniform(0.75, 0.995, copies).astype(np.float32)[:, None]
    for low in range(0, copies, 4_096):
        at = slice(low, min(low + 4_096, copies))
        base, other = matrix[of[at]], drawn(at.stop - low)
        other -= (other * base).sum(axis=1, keepdims=True) * base
        other /= np.linalg.norm(other, axis=1, keepdims=True)
        matrix[rows - copies + low : rows - copies + at.stop] = cosine[at] * base + np.sqrt(1 - cosine[at] ** 2) * other
    return matrix


def timed(rows: int, spectrum: str) -> Timed:
    """Measure in this process."""
    matrix, before = vectors(rows, spectrum), peak_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    found = neighbours(matrix, NEAREST, FLOOR)
    return Timed(
        rows, spectrum, time.perf_counter() - wall, time.process_time() - cpu, len(found[0]), before, peak_mb()
    )


def _child(rows: int, spectrum: str) -> Timed:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memories", "--child", json.dumps([rows, spectrum])],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"Neighbours of {rows:,} rows failed, so there are no figures:\n{done.stderr[-3000:]}")
    return Timed(**json.loads(done.stdout.splitlines()[-1]))


def quality(folder: Path) -> list[Part]:
    """Everything that the folder's sets measure."""
    pairs = [(r["a"], r["b"], r["label"]) for r in _lines(folder / "contradictions_dev" / "fever_symmetric_dev.jsonl")]
    turns = [r["content"] for r in _lines(folder / "memorybank" / "messages.jsonl") if r["role"] == "user"]
    sentences = dict.fromkeys(s for t in turns for s in re.split(r"(?<=[.!?]) ", t) if 30 <= len(s) <= 200)
    with (folder / "clusters_dev" / "clinc150_val.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    texts, labels = [r["text"] for r in rows], [r["cluster"] for r in rows]
    free = {"blast_radius_share": 1.0}  # else what a plan may retire bounds what is seen of the rule
    sets = {"requests": (texts, labels)}
    sets |= {"incidents, developed on": told(DEVELOPED), "incidents, looked at once": told(LOOKED_AT)}
    sets |= {"incidents, unseen": told(UNSEEN)}
    return [
        _judged_part(
            "Contradictions", "Pairs of sentences about the same thing. A contradiction must never merge.", judge(pairs)
        ),
        _judged_part(
            "Reworded statements",
            "Statements of conversations, changed by rules: *same* in another form, which may merge, and *other* with another meaning, "
            "which must not.",
            judge(retold([s for s in sentences if not s.endswith("?")])),
        ),
        Part(
            "Clusters",
            "Short requests with the same intent, and incidents that are described four times each, among others of their kind. Coverage "
            "is the share of them that the summaries of one night of `consolidate_clusters` replace, at default settings without the limit "
            "on retired rows.",
            ["texts", "model", "summaries", "purity", "coverage", "rows of no cluster"],
            [
                [name, model, str(c.groups), f"{c.purity:.3f}", f"{c.coverage:.3f}", str(c.foreign)]
                for name, own in sets.items()
                for model in installed()
                for c in [group(*own, model, **free)]
            ],
        ),
    ]


def _judged_part(title: str, says: str, judged: Sequence[Judged]) -> Part:
    rows = [
        [j.label, str(j.pairs), *(f"{n} ({n / j.pairs:.1%})" for n in (j.merged, j.flagged, j.opposed))] for j in judged
    ]
    return Part(title, says, ["pairs", "count", "merged", "flagged as a contradiction", "rule alone"], rows)


def speed(figures: Sequence[Timed]) -> Part:
    """Seconds and memory, and how they grow."""
    rows = [
        [
            *(f"{t.rows:,}", t.spectrum, f"{t.wall:.1f}", f"{t.cpu:.1f}", _grown(figures, t), f"{t.edges:,}"),
            *(f"{t.peak_mb:,.0f}", f"{t.peak_mb - t.start_mb:,.0f}"),
        ]
        for t in figures
    ]
    says = (
        f"The {NEAREST} nearest from {FLOOR} up, {DIMENSIONS} dimensions. Growth is that of CPU from the size before."
    )
    return Part(
        "Neighbours",
        says,
        ["rows", "vectors", "wall s", "CPU s", "growth", "edges", "peak MB", "beyond the vectors"],
        rows,
    )


def _grown(figures: Sequence[Timed], one: Timed) -> str:
    own = sorted((t for t in figures if t.spectrum == one.spectrum), key=lambda t: t.rows)
    before = next((a for a, b in pairwise(own) if b is one), None)
    return "" if before is None else f"x{one.cpu / before.cpu:.1f} for x{one.rows / before.rows:.1f} rows"


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memories", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="folder with contradictions_dev, clusters_dev, memorybank")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(asdict(timed(*json.loads(given.child)))))
        return
    console = Console()
    with console.status("matching"):
        found = quality(given.folder) if given.folder else []
    with console.status("neighbours"):
        figures = [_child(size, spectrum) for spectrum in SPECTRA for size in sorted(given.sizes)]
    show([*found, speed(figures)] if figures else found, console)


if __name__ == "__main__":
    main()
