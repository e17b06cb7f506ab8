"""``python -m benchmarks.trial FILE``: one labelled set matched at default settings and measured, as one line of JSON.

A process of its own, so that seconds and memory are those of this set. The file is CSV (``.csv`` or ``.csv.gz``) with the columns
of ``slowwave import entities`` and the gold in ``cluster_id``. Near misses may stand beside it in ``NAME.pairs.csv`` with the
columns a, b, kind: ids that must not end in one cluster.
"""

from __future__ import annotations

import csv
import gzip
import json
import resource
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.sparse import csgraph

from benchmarks import quality, tfidf
from benchmarks.quality import Bin, Counted
from benchmarks.tfidf import Reference
from slowwave.matching import Matches, match_entities
from slowwave.store.settings import Settings

NEAR_MISSES: Final = ".pairs.csv"
_EXPLAINED: Final = 20_000  # links whose probability is asked for; of more, a sample


@dataclass(frozen=True, slots=True)
class Trial:
    """What was measured on one set.

    ``merges`` counts pairs within clusters, ``reviewed`` those and the pairs for a person, ``asked`` those and all pairs between the two
    clusters of such a pair, ``accepted`` the clusters after a person has accepted the right ones of them; ``links`` (said, right) the pairs
    that hold clusters together and ``expected_false`` how many of them the model expects to be wrong; ``candidates`` what was looked at;
    ``near_misses`` kind → (pairs, merged).
    """

    name: str
    rows: int
    merges: Counted
    reviewed: Counted
    asked: Counted
    accepted: Counted
    review: Counted
    b_cubed: tuple[float, float, float]
    candidates: Counted
    links: tuple[int, int]
    expected_false: float
    reliability: list[Bin]
    reference: Reference
    seconds: float
    cpu: float
    peak_mb: float
    dropped: list[str]
    near_misses: dict[str, tuple[int, int]] = field(default_factory=dict)


def is_labelled(path: Path) -> bool:
    """Whether the file is a set that can be tried."""
    if not path.name.endswith((".csv", ".csv.gz")) or path.name.endswith(NEAR_MISSES):
        return False
    with _opened(path) as file:
        return "cluster_id" in next(csv.reader(file), [])


def title(path: Path) -> str:
    """The name of a set."""
    return path.name.removesuffix(".gz").removesuffix(".csv")


def measure(path: Path) -> Trial:
    """Match the set and compare with its gold."""
    table, gold_texts = read(path)
    ids = table["id"].to_pylist()
    started, cpu = time.perf_counter(), time.process_time()
    matches = match_entities(table, Settings())
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    place = {id_: k for k, id_ in enumerate(ids)}
    _, gold = np.unique(np.array(gold_texts, np.object_), return_inverse=True)
    clusters = [[place[id_] for id_ in ids_] for ids_ in matches.merges]
    labels = quality.labels_of(len(ids), clusters)
    i, j = _rows(place, [(pair.a, pair.b) for pair in matches.review])
    merges, right = quality.closure(labels, gold), gold[i] == gold[j]
    held = [[place[a], place[b]] for links in matches.merge_links for a, b in links]
    x, y = (np.array(held, np.int64).reshape(-1, 2)[:, k] for k in (0, 1))
    probabilities, same = _decided(matches, ids, gold, x, y)
    near = [pair.probability for pair in matches.review]
    kinds = np.unique(np.array(table["entity_type"].to_pylist(), np.object_), return_inverse=True)[1]
    at = np.array([place[str(id_)] for id_ in matches.ids], np.int64)
    a, b = (at[rows] for rows in matches.candidate_pairs)
    found = gold[a] == gold[b]
    return Trial(
        name=title(path),
        rows=len(ids),
        merges=merges,
        reviewed=quality.closure_with(labels, gold, i, j),
        asked=quality.closure_between(labels, gold, i, j),
        accepted=quality.closure(_joined(labels, i[right], j[right]), gold),
        review=Counted(len(i), int(right.sum()), merges.gold),
        b_cubed=quality.b_cubed(labels, gold),
        candidates=Counted(len(a), int(found.sum()), merges.gold),
        links=(len(x), int((gold[x] == gold[y]).sum())),
        expected_false=matches.expected_false,
        reliability=quality.reliability(np.concatenate([probabilities, np.array(near)]), np.concatenate([same, right])),
        reference=tfidf.best(table["name"].to_pylist(), table["attributes"].to_pylist(), kinds, gold),
        seconds=seconds,
        cpu=cpu,
        peak_mb=peak_mb,
        dropped=list(matches.dropped),
        near_misses=_near_misses(path, place, labels),
    )


def read(path: Path) -> tuple[pa.Table, list[str]]:
    """The set as ``match_entities`` takes it, and its gold. Ids that sources share are told apart by the source."""
    with _opened(path) as file:
        rows = list(csv.DictReader(file))
    ids = [row["id"] for row in rows]
    if len(set(ids)) < len(ids):
        ids = [f"{row['source']}/{row['id']}" for row in rows]
    columns = {"entity_type": "entity_type", "name": "name", "attributes": "attrs", "source": "source"}
    table = pa.table({"id": ids, **{ours: [row[theirs] for row in rows] for ours, theirs in columns.items()}})
    return table, [row["cluster_id"] for row in rows]


def _opened(path: Path) -> Any:
    return (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig", newline="")


def _rows(place: dict[str, int], pairs: list[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    rows = np.array([(place[a], place[b]) for a, b in pairs], np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def _decided(
    matches: Matches, ids: list[str], gold: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of links and whether they are right; of very many, those of a sample."""
    chosen = np.sort(np.random.default_rng(7).permutation(len(x))[:_EXPLAINED])
    x, y = x[chosen], y[chosen]
    pairs = matches.explain_all([(ids[a], ids[b]) for a, b in zip(x.tolist(), y.tolist(), strict=True)])
    return np.array([pair.probability for pair in pairs]), gold[x] == gold[y]


def _joined(labels: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Clusters with more pairs joined, however long the chain."""
    n = len(labels)
    ones = sparse.coo_matrix((np.ones(n + len(i), bool), (np.r_[np.arange(n), i], np.r_[labels, j])), shape=(n, n))
    return csgraph.connected_components(ones, directed=False)[1].astype(np.int64)


def _near_misses(path: Path, place: dict[str, int], labels: np.ndarray) -> dict[str, tuple[int, int]]:
    beside = path.with_name(title(path) + NEAR_MISSES)
    if not beside.exists():
        return {}
    found: dict[str, tuple[int, int]] = {}
    with beside.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            pairs, merged = found.get(row["kind"], (0, 0))
            found[row["kind"]] = pairs + 1, merged + int(labels[place[row["a"]]] == labels[place[row["b"]]])
    return found


if __name__ == "__main__":
    print(json.dumps(asdict(measure(Path(sys.argv[1])))))
