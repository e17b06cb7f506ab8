"""Measure how often texts count as their language: ``python -m benchmarks.languages FOLDER``.

The folder has one file for each language, named by its code (``en.txt``, ``de.txt``), with one text on each line. English texts that
count as another language are errors, because rules for English would miss them. Other texts that count as English are left to these rules.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa

from slowwave.text.languages import languages


def main(folder: str) -> None:
    """Print a row for each language: texts, shares that count as it and as another language, and CPU per text."""
    print("| language | texts | counted as it | as another | µs of CPU per text |\n| --- | ---: | ---: | ---: | ---: |")
    languages(pa.array(["Ein Satz, der das Modell lädt."]))
    for path in sorted(Path(folder).glob("*.txt")):
        texts = [line for line in path.read_text("utf-8", "replace").splitlines() if line.strip()]
        if not texts:
            continue
        began = time.process_time()
        found = Counter(languages(pa.array(texts, pa.large_string())))
        cost = (time.process_time() - began) / len(texts) * 1e6
        right = found["" if path.stem == "en" else path.stem]
        other = len(texts) - right - (0 if path.stem == "en" else found[""])
        print(f"| {path.stem} | {len(texts):,} | {right / len(texts):.3f} | {other / len(texts):.4f} | {cost:.0f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
