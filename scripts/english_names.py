"""Writes slowwave/text/english_names.txt.gz: words of the lexicon that SCOWL has with a capital only.

``python scripts/english_names.py american-english-huge british-english-huge`` with the files of Debian's packages wamerican-huge and
wbritish-huge.
"""

from __future__ import annotations

import gzip
import sys
import unicodedata
from pathlib import Path

TEXTS = Path(__file__).parents[1] / "slowwave" / "texts"


def plain(word: str) -> str:
    """Without accents and possessive."""
    letters = (c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    return "".join(letters).removesuffix("'s")


def main(paths: list[str]) -> None:
    """Read the lists, write the words."""
    lexicon = set(gzip.decompress((TEXTS / "english_words.txt.gz").read_bytes()).decode().split())
    words = {plain(line.strip()) for path in paths for line in Path(path).read_text("utf-8").splitlines()}
    small = {word for word in words if word == word.lower()}
    names = sorted(({word.lower() for word in words} - small) & lexicon)
    (TEXTS / "english_names.txt.gz").write_bytes(gzip.compress("".join(f"{n}\n" for n in names).encode(), 9, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1:])
