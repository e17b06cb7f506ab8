"""Pairs of statements that differ in words which exclude each other, or which do not: what the benchmark of memories judges by class.

``word_pairs.toml`` was written by hand; of ``word_kinds.toml``, on which the rules were developed, pairs are made
here. How they are judged belongs to ``benchmarks.memories``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

from benchmarks.memories import Judged, judge
from benchmarks.report import Part

UNSEEN: Final = Path(__file__).with_name("word_pairs.toml")
DEVELOPED: Final = Path(__file__).with_name("word_kinds.toml")

_PLACE: Final = re.compile(r"\{([^{}|]*)\|([^{}]*)\}")

Pair = tuple[str, str, str]
"""Two statements and their class, which begins with what they are to each other: contradiction, entailment or neutral."""


def unseen(path: Path = UNSEEN) -> list[Pair]:
    """The pairs written by hand: each place of a sentence has two readings."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        (_PLACE.sub(r"\1", text), _PLACE.sub(r"\2", text), f"{label}: {name}")
        for label, classes in tables.items()
        for name, texts in classes.items()
        for text in texts
    ]


def developed(path: Path = DEVELOPED) -> list[Pair]:
    """Each two words of a kind, and each two opposites, in each sentence of theirs; and words that agree."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    found: list[Pair] = []
    for name, kind in tables["kinds"].items():
        words = [word.replace("_", " ") for word in kind["words"].split()]
        found += _framed(kind["frames"], combinations(words, 2), f"contradiction: {name}")
    for name, kind in tables["opposites"].items():
        found += _framed(kind["frames"], _pairs(kind["pairs"]), f"contradiction: {name}")
    agreeing = tables["agreeing"]
    return found + list(_framed(agreeing["frames"], _pairs(agreeing["pairs"]), "entailment: words that agree"))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for pair in text.split():
        one, _, two = pair.partition("|")
        yield one, two


def _framed(frames: Sequence[str], pairs: Iterator[tuple[str, str]], label: str) -> list[Pair]:
    return [(frame.format(a), frame.format(b), label) for a, b in pairs for frame in frames]


def quality() -> list[Part]:
    """Both sets by class, the worst first, below their sums."""
    return [
        part(
            "Words that exclude each other, written by hand",
            "Written by hand. Contradictions are to be found, and no entailment or neutral pair is one.",
            judge(unseen()),
        ),
        part(
            "Words that exclude each other, developed on", "Each two words of a kind in sentences.", judge(developed())
        ),
    ]


def part(title: str, says: str, judged: Sequence[Judged]) -> Part:
    """A table: what all pairs of a label come to, then each class, those in which the rule errs most first."""
    labels = list(dict.fromkeys(j.label.partition(":")[0] for j in judged))
    sums = [
        Judged(f"all: {label}", *(sum(getattr(j, f) for j in of) for f in ("pairs", "merged", "flagged", "opposed")))
        for label in labels
        if (of := [j for j in judged if j.label.startswith(f"{label}:")])
    ]
    rows = [*sums, *sorted(judged, key=lambda j: (labels.index(j.label.partition(":")[0]), -_wrong(j), j.label))]
    header = ["pairs", "count", "merged", "flagged as a contradiction", "rule alone", "wrong"]
    return Part(
        title,
        says,
        header,
        [
            [
                *(j.label, f"{j.pairs:,}"),
                *(f"{n:,} ({n / j.pairs:.1%})" for n in (j.merged, j.flagged, j.opposed)),
                f"{_wrong(j):.3f}",
            ]
            for j in rows
        ],
    )


def _wrong(judged: Judged) -> float:
    """The share of which the rule says what is not: contradictions that it misses, others that it takes for one."""
    share = judged.opposed / max(judged.pairs, 1)
    return 1 - share if "contradiction" in judged.label else share
