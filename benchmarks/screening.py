"""``python -m benchmarks.screening FOLDER``: injections found, false alarms, and flags on ordinary texts, of the public sets in FOLDER.

``FOLDER/security_dev/*.jsonl`` hold texts labelled malicious or benign with a category; ``FOLDER/memorybank/messages.jsonl`` and
``FOLDER/clusters_dev/*.csv`` ordinary ones, of which each flag is a false alarm. What is missing is left out.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slowwave.texts.screening import screen


@dataclass(frozen=True, slots=True)
class Scored:
    """Texts of one set by label: all, and those with a finding that is more than a stray mark; ``missed`` by category; ``seconds``."""

    texts: Mapping[str, int]
    flagged: Mapping[str, int]
    missed: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def share(self, label: str) -> float:
        """The part of a label's texts that is flagged; 0 where there are none."""
        return self.flagged.get(label, 0) / max(self.texts.get(label, 0), 1)

    def speed(self) -> float:
        """Texts a second."""
        return sum(self.texts.values()) / max(self.seconds, 1e-9)


def score(rows: Iterable[tuple[str, str, str]]) -> Scored:
    """Of (label, category, text)."""
    texts: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    began = time.perf_counter()
    for label, category, text in rows:
        texts[label] += 1
        if any(f.severity != "low" for f in screen(text)):
            flagged[label] += 1
        elif label == "malicious":
            missed[category] += 1
    return Scored(dict(texts), dict(flagged), dict(missed), time.perf_counter() - began)


def labelled(folder: Path) -> list[tuple[str, str, str]]:
    """The rows of every labelled set."""
    rows = (_json(line) for path in sorted(folder.glob("security_dev/*.jsonl")) for line in _lines(path))
    return [(r["label"], r.get("category", ""), r["text"]) for r in rows]


def ordinary(folder: Path) -> list[tuple[str, str, str]]:
    """What people said to assistants."""
    turns = [_json(line)["content"] for path in folder.glob("memorybank/messages.jsonl") for line in _lines(path)]
    for path in sorted(folder.glob("clusters_dev/*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            turns += [row["text"] for row in csv.DictReader(file)]
    return [("ordinary", "", text) for text in turns]


def main(arguments: Sequence[str]) -> None:
    """Print one line a measure."""
    folder = Path(arguments[0])
    if rows := labelled(folder):
        scored = score(rows)
        for label in sorted(scored.texts):
            print(
                f"{label}: {scored.flagged.get(label, 0)} of {scored.texts[label]} flagged ({scored.share(label):.3f})"
            )
        print(f"missed by category: {dict(scored.missed)}")
    if rows := ordinary(folder):
        scored = score(rows)
        print(
            f"ordinary: {scored.flagged.get('ordinary', 0)} of {scored.texts['ordinary']} flagged; {scored.speed():,.0f} texts a second"
        )


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def _json(line: str) -> dict[str, Any]:
    return json.loads(line)


if __name__ == "__main__":
    main(sys.argv[1:])
