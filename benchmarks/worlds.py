"""``python -m benchmarks.worlds OUTDIR [--scale 1] [--only NAME …]``: labelled sets like those that matching meets.

Each world is one domain with the variants, gaps and near misses that its sources have in life; all of it is made up from
``benchmarks.vocabulary`` with a seed. A world is written as ``slowwave import entities`` reads it, with the gold in
``cluster_id``. ``--scale`` multiplies the rows of all worlds: ``--only filings --scale 26.6`` makes 133,000 mentions.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from benchmarks.filings import filings
from benchmarks.goods import products, restaurants, software
from benchmarks.listings import Row
from benchmarks.mentioned import memories
from benchmarks.persons import births, electors, inventors, organisations, people
from benchmarks.registers import albums, suppliers, tools
from benchmarks.vocabulary import (
    Dice,
)
from benchmarks.works import citations, music, papers

COLUMNS: Final = ("id", "source", "entity_type", "name", "attrs", "cluster_id")


WORLDS: Final[Mapping[str, tuple[Callable[[Dice, int], list[Row]], int]]] = {
    "restaurants": (restaurants, 900),
    "products": (products, 2_200),
    "software": (software, 2_500),
    "papers": (papers, 4_500),
    "citations": (citations, 1_300),
    "music": (music, 5_000),
    "people": (people, 5_000),
    "electors": (electors, 5_000),
    "births": (births, 5_000),
    "organisations": (organisations, 2_200),
    "inventors": (inventors, 5_000),
    "filings": (filings, 5_000),
    "memories": (memories, 3_000),
    "albums": (albums, 2_400),
    "tools": (tools, 2_400),
    "suppliers": (suppliers, 2_400),
}
"""World → its maker and its rows at scale 1 (about: the last cluster is finished, inventors, filings and citations are exact)."""


def make(world: str, scale: float = 1.0, seed: int = 7) -> list[Row]:
    """The rows of one world; ids are distinct, in an order that tells nothing. The same arguments make the same rows."""
    maker, size = WORLDS[world]
    rows = maker(Dice(world, seed), max(40, round(size * scale)))
    return [row._replace(id=f"{row.entity_type}-{row.id}") for row in rows] if world == "memories" else rows


def write(rows: Iterable[Row], path: Path) -> None:
    """As CSV (``.csv`` or ``.csv.gz``), the same bytes for the same rows."""
    text = io.StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    lines.writerows((*row[:4], json.dumps(row.attrs, ensure_ascii=False), row.cluster_id) for row in rows)
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def main() -> None:
    """Write all worlds, or those that are named, into a folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worlds", description=__doc__)
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", nargs="+", choices=list(WORLDS), default=list(WORLDS), metavar="NAME")
    given = parser.parse_args()
    given.outdir.mkdir(parents=True, exist_ok=True)
    for world in given.only:
        rows = make(world, given.scale)
        write(rows, given.outdir / f"{world}.csv")
        print(f"{world}: {len(rows):,} rows of {len({row.cluster_id for row in rows}):,} entities")


if __name__ == "__main__":
    main()
