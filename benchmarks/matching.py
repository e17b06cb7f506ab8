"""``python -m benchmarks.matching [DIR] [--scale 1] [--only NAME …] [--write]``: how good the merges are, set by set.

Every labelled set of the folder (see ``benchmarks.trial``), the generated worlds and the hard negatives are matched at default
settings, each in a process of its own. Pairs of sentences labelled as contradictions (``*.jsonl`` with a, b, label) in the folder
or in ``contradictions_dev`` beside it are one more set, in which no pair may merge.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from benchmarks import hard_negatives, quality, worlds
from benchmarks.machine import commit
from benchmarks.quality import Bin, Counted, wilson
from benchmarks.report import Part, put, show
from benchmarks.tfidf import Reference
from benchmarks.trial import NEAR_MISSES, Trial, is_labelled, title

_ROOT: Final = Path(__file__).parents[1]
PAGE: Final = _ROOT / "docs" / "matching.md"
MARKS: Final = ("<!-- figures: written by python -m benchmarks.matching --write -->", "<!-- end of figures -->")

_CONTRADICTIONS: Final = "contradictions"  # a kind of near miss whose rows have no gold of their own
_WIDTH: Final = 150  # columns of a terminal that the tables need
PRECISION: Final = 0.95
FALSE_RATE: Final = 0.005


def main() -> None:
    """Run the sets, print the tables, write the page if asked. Ends with 1 when a set failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matching", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="labelled sets besides the generated ones")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the rows of the worlds")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only sets of these names")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.parent.name}/{PAGE.name} as well")
    given = parser.parse_args()
    if given.folder and not given.folder.is_dir():
        parser.error(f"{given.folder} is no folder. Name the one that holds the labelled sets.")
    console, trials, failed = Console(), [], []
    console.width = max(console.width, _WIDTH)
    with tempfile.TemporaryDirectory(prefix="slowwave-sets-") as made:
        paths = sets(given.folder, Path(made), given.scale)
        if unknown := set(given.only or ()) - {title(path) for path in paths}:
            parser.error(f"There is no set {' or '.join(sorted(unknown))}; there are {', '.join(map(title, paths))}.")
        chosen = [path for path in paths if not given.only or title(path) in given.only]
        for path in chosen:
            with console.status(f"{title(path)} ({len(trials) + 1} of {len(chosen)})"):
                trial = run(path)
            if isinstance(trial, Trial):
                trials.append(trial)
            else:
                failed.append(title(path))
                console.print(f"{title(path)} failed:\n{trial}", markup=False)
    found = parts(trials)
    show(found, console)
    if given.write and not failed:
        write(found)
        console.print(f"Written: {PAGE}")
    sys.exit(1 if failed else 0)


def sets(folder: Path | None, made: Path, scale: float) -> list[Path]:
    """The labelled sets of a folder and the generated ones; what is made is written into ``made``."""
    return [*_given(folder, made), *_generated(made, scale)]


def run(path: Path) -> Trial | str:
    """The set in a process of its own; the end of what it said when it failed."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.trial", str(path.absolute())],
        capture_output=True,
        text=True,
        check=False,
        cwd=_ROOT,
    )
    if done.returncode:
        return done.stderr[-2_000:] or f"It ended with {done.returncode} and said nothing: out of memory, as a rule."
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    counted = {
        name: Counted(*found[name]) for name in ("merges", "reviewed", "asked", "accepted", "review", "candidates")
    }
    return Trial(
        **found
        | counted
        | {"reliability": [Bin(*b) for b in found["reliability"]], "reference": Reference(*found["reference"])}
        | {name: tuple(found[name]) for name in ("b_cubed", "links")}
        | {"near_misses": {kind: tuple(n) for kind, n in found["near_misses"].items()}}
    )


def _given(folder: Path | None, made: Path) -> list[Path]:
    """The labelled sets of the folder, and contradictions in it or beside it as a set."""
    if folder is None:
        return []
    found = sorted(path for path in folder.iterdir() if path.is_file() and is_labelled(path))
    for beside in (folder, folder.absolute().parent / "contradictions_dev"):
        found += [contradictions(path, made) for path in sorted(beside.glob("*.jsonl")) if _contradicts(path)]
    return found


def _contradicts(path: Path) -> bool:
    with path.open(encoding="utf-8") as file:
        first = file.readline()
    return {"a", "b", "label"} <= (json.loads(first).keys() if first.startswith("{") else set())


def contradictions(path: Path, made: Path) -> Path:
    """Sentence pairs labelled as contradictions → a set of memories; only those of the same words are the same."""
    pairs = [p for p in map(json.loads, path.read_text(encoding="utf-8").splitlines()) if p["label"] == "contradiction"]
    sides = [(f"{k}{side}", pair[side]) for k, pair in enumerate(pairs) for side in "ab"]
    target = made / f"{path.stem}.csv"
    rows = [
        worlds.Row(id_, path.stem, "memory", text, {}, " ".join(re.findall(r"\w+", text.lower())))
        for id_, text in sides
    ]
    worlds.write(rows, target)
    _write_pairs([(f"{k}a", f"{k}b", _CONTRADICTIONS) for k in range(len(pairs))], target)
    return target


def _generated(made: Path, scale: float) -> Iterable[Path]:
    """The worlds and the hard negatives."""
    for world in worlds.WORLDS:
        worlds.write(worlds.make(world, scale), made / f"world-{world}.csv")
        yield made / f"world-{world}.csv"
    for namespace in hard_negatives.KINDS:
        hard = hard_negatives.make(namespace)
        worlds.write(hard.rows, made / f"near-misses-{namespace}.csv")
        _write_pairs(hard.pairs, made / f"near-misses-{namespace}.csv")
        yield made / f"near-misses-{namespace}.csv"


def _write_pairs(pairs: Iterable[tuple[str, str, str]], beside: Path) -> None:
    with beside.with_name(title(beside) + NEAR_MISSES).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("a", "b", "kind"), *pairs])


def parts(trials: Sequence[Trial]) -> list[Part]:
    """All tables, in order."""
    hard = [trial for trial in trials if trial.near_misses]
    labelled = [trial for trial in trials if _CONTRADICTIONS not in trial.near_misses]
    return [
        *(_quality(labelled), _review(labelled)),
        _costs(trials),
        _reliability(trials),
        *([_near_misses(hard)] if hard else []),
    ]


def _quality(trials: Sequence[Trial]) -> Part:
    rows = []
    for t in trials:
        low, high = wilson(t.merges.said - t.merges.right, t.merges.said)
        rows.append(
            [
                *(t.name, f"{t.rows:,}", f"{t.merges.gold:,}", _share(t.candidates.recall)),
                *(_share(t.merges.precision, PRECISION), _share(t.merges.recall), _share(t.merges.f1)),
                f"{100 * low:.2f}–{100 * high:.2f}" if t.merges.said else "",
                *map(_share, t.b_cubed),
            ]
        )
    header = [
        *("set", "rows", "gold pairs", "recall of candidates", "precision of merges", "recall", "F1"),
        *("false merges, 95 % (%)", "B³ precision", "B³ recall", "B³ F1"),
    ]
    says = f"Pairs within the clusters of the plan. Bold: precision under {PRECISION}."
    return Part("Merges", says, header, rows)


def _review(trials: Sequence[Trial]) -> Part:
    rows = [
        [
            *(t.name, f"{t.review.said:,}", f"{t.review.said / t.rows:.2f}", _share(t.review.precision)),
            *(_share(t.reviewed.precision), _share(t.reviewed.recall, t.reference.recall)),
            *(_share(t.asked.recall, t.reference.recall), _share(t.accepted.recall)),
            *(_share(t.reference.precision), _share(t.reference.recall), _share(t.reference.f1)),
            f"{t.reference.features} ≥ {t.reference.threshold:.2f}",
        ]
        for t in trials
    ]
    header = [
        *("set", "review pairs", "a row", "right", "precision with review", "recall with review"),
        *("recall of all that is asked", "recall after review"),
        *("tf-idf precision", "recall", "F1", "its best"),
    ]
    says = (
        "With review: pairs within clusters, and the review pairs themselves. All that is asked: pairs within clusters, and all pairs "
        "between the two clusters of a review pair, which one answer settles. After review: pairs within clusters once the right ones of "
        "them are accepted. Bold: recall under that of the tf-idf cosine at the threshold of its best F1."
    )
    return Part("Merges and review, compared with a tf-idf cosine", says, header, rows)


def _costs(trials: Sequence[Trial]) -> Part:
    rows = [
        [
            *(t.name, f"{t.rows:,}", f"{t.candidates.said:,}", f"{t.seconds:.1f}", f"{t.cpu:.1f}", f"{t.peak_mb:,.0f}"),
            *(f"{t.links[0]:,}", f"{t.expected_false:,.1f}", f"{t.links[0] - t.links[1]:,}"),
            _share(quality.calibration_error(t.reliability)),
        ]
        for t in trials
    ]
    header = [
        "set",
        "rows",
        "candidates",
        "s",
        "CPU s",
        "peak MB",
        "links",
        "expected false",
        "false",
        "calibration error",
    ]
    says = (
        "Seconds of `match_entities` alone; the peak is that of the process until then. Links are the pairs that hold "
        "clusters together. Calibration error: how far the mean probability of a bin lies from the share that is right, on average over "
        "the decided pairs, links and review."
    )
    return Part("Cost, and what the plan expects of its merges", says, header, rows)


def _reliability(trials: Sequence[Trial]) -> Part:
    rows = []
    for bins in zip(*(t.reliability for t in trials), strict=True):
        pairs = sum(b.pairs for b in bins)
        expected, right = sum(b.expected for b in bins), sum(b.right for b in bins)
        if pairs:
            rows.append([f"≥ {bins[0].low:g}", f"{pairs:,}", _share(expected / pairs), _share(right / pairs)])
    header = ["probability", "pairs", "mean probability", "share that is right"]
    return Part(
        "Reliability", "Decided pairs of all sets (links and review) by the probability they were given.", header, rows
    )


def _near_misses(trials: Sequence[Trial]) -> Part:
    rows = []
    for t in trials:
        rows += [_rate(t.name, kind, *counts, 1.0) for kind, counts in t.near_misses.items()]
    generated = [t.near_misses.values() for t in trials if _CONTRADICTIONS not in t.near_misses]
    if generated:
        pairs, merged = (sum(counts[k] for near in generated for counts in near) for k in (0, 1))
        rows.append(_rate("all generated", "", pairs, merged, FALSE_RATE))
    says = f"Pairs that must not end in one cluster. At most {100 * FALSE_RATE:g} % of the generated ones may."
    return Part("Near misses", says, ["set", "kind", "pairs", "merged", "%", "95 % (%)"], rows)


def _rate(name: str, kind: str, pairs: int, merged: int, limit: float) -> list[str]:
    low, high = wilson(merged, pairs)
    share = f"{100 * merged / pairs:.2f}"
    shown = f"**{share}**" if merged / pairs > limit else share
    return [name, kind, f"{pairs:,}", f"{merged:,}", shown, f"{100 * low:.2f}–{100 * high:.2f}"]


def _share(value: float | None, least: float = 0.0) -> str:
    """Three digits, bold when under what is asked; nothing where nothing was counted."""
    if value is None:
        return ""
    shown = f"{value:.3f}".replace("0.", ".", 1) if value < 1 else "1"
    return f"**{shown}**" if value < least else shown


def write(found: Sequence[Part]) -> None:
    """Put the tables between the marks of the page."""
    put(found, PAGE, MARKS, f"Commit {commit()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}.")


if __name__ == "__main__":
    main()
