"""``python -m benchmarks.screening [FOLDER]``: secrets and orders to models that screening finds, and what it takes for one.

The sets stand beside this module: ``tuned/`` are those that the rules were made with, ``unseen/`` those that were written after the
rules were done; each kind of text has a line, the worst first. ``FOLDER/security_dev/*.jsonl`` add texts labelled malicious or benign with
a category; ``FOLDER/memorybank/messages.jsonl``, ``FOLDER/clusters_dev/*.csv`` and ``FOLDER/eips_md/*.md`` ordinary ones, of which each
flag is a false alarm. What is missing is left out.
"""

from __future__ import annotations

import csv
import json
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.drawn import drawn
from slowwave.text.findings import Kind
from slowwave.text.screening import counting, screen

SETS: Final = Path(__file__).parent
_KINDS: Final[Mapping[str, Kind | None]] = {"secrets": "secret", "injections": None}
_DRAWS: Final = {"secrets": 5, "injections": 1}
"""Times that each text is drawn: one password is found where another is not."""


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


@dataclass(frozen=True, slots=True)
class Line:
    """One kind of text of a set: whether its texts should be ``found``, how many are flagged of how many, and the texts that went wrong."""

    kind: str
    found: bool
    flagged: int
    texts: int
    wrong: tuple[str, ...]

    @property
    def error(self) -> float:
        """The part that went wrong."""
        return len(self.wrong) / max(self.texts, 1)


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


def lines(path: Path) -> list[Line]:
    """Each kind of text of a set, the worst first: ``secrets.toml``, ``injections.toml`` or a further one such as ``injections_2.toml``."""
    whole = tomllib.loads(path.read_text(encoding="utf-8"))
    stem = path.stem.split("_")[0]
    random, kind = Random(path.stem), _KINDS[stem]  # noqa: S311 - nothing is kept secret here
    found: list[Line] = []
    for label in ("found", "harmless"):
        for name, templates in whole[label].items():
            texts = [drawn(t, random) for t in templates for _ in range(_DRAWS[stem])]
            flags = [any(kind in (None, f.kind) for f in counting(screen(text))) for text in texts]
            wrong = tuple(t for t, flag in zip(texts, flags, strict=True) if flag != (label == "found"))
            found.append(Line(name, label == "found", sum(flags), len(texts), wrong))
    return sorted(found, key=lambda line: (not line.found, -line.error))


def labelled(folder: Path) -> list[tuple[str, str, str]]:
    """The rows of every labelled set."""
    rows = (_json(line) for path in sorted(folder.glob("security_dev/*.jsonl")) for line in _lines(path))
    return [(r["label"], r.get("category", ""), r["text"]) for r in rows]


def ordinary(folder: Path) -> list[tuple[str, str, str]]:
    """What people said to assistants, and documents."""
    turns = [_json(line)["content"] for path in folder.glob("memorybank/messages.jsonl") for line in _lines(path)]
    for path in sorted(folder.glob("clusters_dev/*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            turns += [row["text"] for row in csv.DictReader(file)]
    turns += [path.read_text(encoding="utf-8") for path in sorted(folder.glob("eips_md/*.md"))]
    return [("ordinary", "", text) for text in turns]


def main(arguments: Sequence[str]) -> None:
    """Print one line a measure."""
    detailed = "--texts" in arguments
    folders = [a for a in arguments if not a.startswith("--")]
    for name in ("tuned", "unseen"):
        for path in sorted(p for stem in _KINDS for p in (SETS / name).glob(f"{stem}*.toml")):
            _print_set(f"{name} {path.stem}", lines(path), detailed)
    if not folders:
        return
    folder = Path(folders[0])
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


def _print_set(name: str, found: Sequence[Line], detailed: bool) -> None:
    for label, wanted in (("found", True), ("wrongly flagged", False)):
        own = [line for line in found if line.found == wanted]
        flagged, texts = sum(line.flagged for line in own), sum(line.texts for line in own)
        print(f"{name}, {label}: {flagged} of {texts} ({flagged / max(texts, 1):.3f})")
        for line in own:
            print(f"  {line.kind}: {line.flagged} of {line.texts}")
            for text in dict.fromkeys(line.wrong) if detailed else ():
                print(f"    {text[:160]!r}")


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def _json(line: str) -> dict[str, Any]:
    return json.loads(line)


if __name__ == "__main__":
    main(sys.argv[1:])
