"""Which pairs are looked at: each key finds what it is for, nothing explodes, and what is left out is said."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from benchmarks import generate
from slowwave.matching.candidates import CandidatePairs, find
from slowwave.matching.population import Population

DATA = Path(__file__).parents[2] / "../shared/data/er"


def entity(id_: str, name: str, kind: str = "thing", **attributes: object) -> dict[str, object]:
    return {"id": id_, "entity_type": kind, "name": name, "attributes": json.dumps(attributes)}


def people(entities: Sequence[Mapping[str, object]], **more: object) -> Population:
    return Population.from_table(
        pa.table(
            {c: pa.array([e[c] for e in entities], pa.string()) for c in ("id", "entity_type", "name", "attributes")}
        ),
        **more,  # type: ignore[arg-type]
    )


def candidates(
    entities: Sequence[Mapping[str, object]], focus: np.ndarray | None = None, **more: object
) -> CandidatePairs:
    return find(people(entities, **more), 0.75, 0.9, focus)


def pairs(found: CandidatePairs) -> set[tuple[int, int]]:
    return set(zip(found.i.tolist(), found.j.tolist(), strict=True))


def by(found: CandidatePairs) -> set[str]:
    """The keys that found something."""
    return {key for key, count in found.counts().items() if count}


def strangers(n: int, kind: str = "thing") -> list[dict[str, object]]:
    """Entities that look like nothing else."""
    rng = np.random.default_rng(n)
    words = [
        "".join(rng.choice(list("bcdfghklmnprstvz"), 2)) + "".join(rng.choice(list("aeiou"), 1)) for _ in range(4 * n)
    ]
    return [
        entity(
            f"x{k:05d}", " ".join(f"{a}{b}" for a, b in zip(*[iter(words[4 * k : 4 * k + 4])] * 2, strict=True)), kind
        )
        for k in range(n)
    ]


@pytest.mark.parametrize(
    ("key", "a", "b"),
    [
        ("name", entity("a", "Mara Reyes"), entity("b", "Reyes, Mara")),
        ("words", entity("a", "Reyes Mara"), entity("b", "Mara Reyes")),
        ("compact", entity("a", "Northwind Ltd"), entity("b", "North Wind")),
        ("acronym", entity("a", "IBM"), entity("b", "International Business Machines")),
        ("nickname", entity("a", "Bob Marsh"), entity("b", "Robert Marsh")),
        ("initials", entity("a", "J. Quillfeather"), entity("b", "Jane Quillfeather")),
        ("initials", entity("a", "Quillfeather J R"), entity("b", "Jane Ruth Quillfeather")),
        ("ends", entity("a", "Debra T. Quillfeather"), entity("b", "Debra Anne Quillfeather")),
        ("slip", entity("a", "Jansen Boats"), entity("b", "Jasnen Boats")),
        ("ngram", entity("a", "Kubernetes operators"), entity("b", "Kubernets operatr")),
        ("name", entity("a", "Пётр Чайковский"), entity("b", "Pyotr Chaykovskiy")),
        ("record", entity("a", "Jürgen Müller"), entity("b", "Juergen Mueller")),
        (
            "attribute",
            entity("a", "Ada", email="ada@acme.example"),
            entity("b", "The Countess", email="Ada@acme.example"),
        ),
        ("record", entity("a", "Lantern", by="Crooked River Band"), entity("b", "Crooked River Band - Lantern")),
        ("record", entity("a", "Sony 46in television KDL-46XBR4"), entity("b", "Bravia LCD kdl46xbr4")),
    ],
)
def test_each_key_finds_its_pair_among_strangers(key: str, a: dict[str, object], b: dict[str, object]) -> None:
    """And says that it was this key."""
    found = candidates([a, b, *strangers(200)])
    assert (0, 1) in pairs(found)
    assert key in by(candidates([a, b]))


def test_aliases_and_vectors_are_keys_too() -> None:
    """Names that share nothing."""
    rows = [entity("a", "IBM"), entity("b", "Big Blue")]
    aliases = pa.table({"entity_id": ["a"], "alias": ["big blue"]})
    assert by(candidates(rows, aliases=aliases)) == {"alias"}
    near = np.array([[1, 0], [0.8, 0.6]], np.float32)
    assert by(candidates(rows, matrix=near, rows=np.arange(2))) == {"vector"}
    assert not pairs(candidates(rows))


def test_types_are_never_mixed() -> None:
    """The same name, attributes and vector in two types make no pair."""
    rows = [
        entity(f"{k}", "Mercury", kind, email="m@acme.example") for k, kind in enumerate(("planet", "metal", "Planet"))
    ]
    found = candidates(rows, matrix=np.ones((3, 2), np.float32), rows=np.arange(3))
    assert pairs(found) == {(0, 2)}


def test_the_initials_of_strangers_pair_nothing() -> None:
    """John and Jane Smith share no more than a letter; only a name that is but a letter asks for it."""
    rows = [entity(f"{k}", f"{n} Smith") for k, n in enumerate(("John", "Jane", "Jonas", "Jill", "J."))]
    initials = candidates(rows)
    asked = {
        p
        for p, bits in zip(zip(initials.i, initials.j, strict=True), initials.found_by, strict=True)
        if bits & (1 << 5)
    }
    assert asked == {(k, 4) for k in range(4)}


def mentions(clusters: int, each: int) -> list[dict[str, object]]:
    """Mentions of people who all have the same name; who is meant shows in where they work and with whom."""
    rng = np.random.default_rng(7)
    rows: list[dict[str, object]] = []
    for c in range(clusters):
        peers = [f"Peer {c}-{k}" for k in range(5)]
        rows += [
            entity(
                f"{c:03d}-{k:03d}",
                "John Smith",
                "inventor",
                employer=f"Firm {c % 29}",
                city=f"Town {c % 31}",
                peer=str(rng.choice(peers)),
            )
            for k in range(each)
        ]
    return rows


def test_a_name_that_explodes_is_split_and_every_person_stays_connected() -> None:
    """Two thousand mentions of forty John Smiths: a small part of two million pairs, each person in one piece, and it is said."""
    rows = mentions(40, 50)
    found = candidates(rows)
    n = len(rows)
    assert len(found.i) < 40 * n
    person = np.arange(n) // 50
    same = person[found.i] == person[found.j]
    _, part = connected_components(
        sparse.coo_array((np.ones(same.sum()), (found.i[same], found.j[same])), shape=(n, n))
    )
    assert len(np.unique(part)) == 40
    assert any(text.startswith("name: 1 blocks of 2000 rows in all are split") for text in found.dropped)


def test_rows_that_nothing_tells_apart_are_paired_with_one_of_them() -> None:
    """Fifteen hundred entities called "User" and nothing else: n - 1 pairs join them, not a million."""
    found = candidates([entity(f"{k:04d}", "User") for k in range(1_500)])
    assert {(0, k) for k in range(1, 1_500)} <= pairs(found)
    assert len(found.i) < 100 * 1_500
    assert found.dropped


def test_a_value_that_says_nothing_is_left_out_and_it_is_said() -> None:
    """A placeholder in a column of dates: a thousand strangers are not compared for it."""
    others = [r | {"attributes": json.dumps({"born": "1900-01-01"})} for r in strangers(1_200)]
    found = candidates(
        [*others, entity("a", "Ann Marsh", born="1974-05-12"), entity("b", "Marsh, A.", born="1974-05-12")]
    )
    assert any(t.startswith("attribute: 1 blocks of 1200 rows in all are left out") for t in found.dropped)
    assert "attribute" in by(found)
    assert len(found.i) < 60_000


def test_too_many_near_vectors_are_looked_at_from_the_threshold_only() -> None:
    """A type whose vectors all point one way tells nothing apart."""
    rng = np.random.default_rng(1)
    matrix = (rng.standard_normal((1_200, 16)) * 0.2 + np.eye(16)[0] * 2).astype(np.float32)
    found = candidates(strangers(1_200), matrix=matrix, rows=np.arange(1_200))
    assert "vector: thing is too dense, compared only from 0.90 (1200 rows)" in found.dropped


def test_shuffled_rows_give_the_same_pairs() -> None:
    """The order of the input means nothing, also where blocks are split and neighbours tie."""
    rows = [*mentions(30, 40), *strangers(100), entity("a", "Bob Marsh"), entity("b", "Robert Marsh")]
    order = np.random.default_rng(3).permutation(len(rows))
    one, other = candidates(rows), candidates([rows[k] for k in order])
    for column in ("i", "j", "found_by"):
        assert np.array_equal(getattr(one, column), getattr(other, column))
    assert one.dropped == other.dropped


def test_a_focus_gives_the_pairs_of_its_rows() -> None:
    """What one change touches is matched again, and nothing else."""
    rng = np.random.default_rng(5)
    rows = [
        *(entity(f"+{k}", n) for k, n in enumerate(("Bob Marsh", "Robert Marsh", "R. Marsh"))),
        *strangers(300),
        *mentions(4, 20),
    ]
    matrix = rng.standard_normal((len(rows), 8)).astype(np.float32)
    more = {"matrix": matrix, "rows": np.arange(len(rows))}
    every = pairs(candidates(rows, **more))
    touched = np.zeros(len(rows), bool)
    touched[[0, 150, len(rows) - 3]] = True
    found = pairs(candidates(rows, touched, **more))
    assert all(touched[a] or touched[b] for a, b in found)
    assert found <= every
    mine = {(a, b) for a, b in every if touched[a] or touched[b]}
    assert len(found) > 0.7 * len(mine)  # a row may be among the nearest of another that is not among its own
    assert (0, 1) in found
    nothing = candidates(rows, np.zeros(len(rows), bool), **more)
    assert len(nothing.i) == 0


@pytest.mark.parametrize("names", [[], ["Alone"], ["", ""], ["x" * 5_000, "y" * 5_000]])
def test_nothing_to_compare_is_no_error(names: list[str]) -> None:
    """Empty namespaces, lonely entities, names without a letter, prose."""
    assert not pairs(candidates([entity(f"{k}", n) for k, n in enumerate(names)]))


@pytest.mark.slow
def test_planted_variants_of_a_generated_namespace_are_all_candidates() -> None:
    """Case, slips, word order and suffixes at a few pairs a row."""
    made = generate.make(20_000, now=datetime(2026, 1, 1, tzinfo=UTC))
    entities = made.tables["entities"]
    crowd = Population.from_table(entities)
    found = find(crowd, 0.75, 0.9)
    place = {id_: k for k, id_ in enumerate(crowd.ids.tolist())}
    gold = [tuple(sorted((place[c[0]], place[v]))) for c in generate.planted(entities) for v in c[1:]]
    got = pairs(found)
    assert sum(g in got for g in gold) >= 0.999 * len(gold)
    assert len(found.i) < 30 * len(crowd)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "recall", "a_row"), [("febrl1.csv", 0.999, 10), ("historical_people_25k.csv.gz", 0.93, 60)]
)
def test_candidates_keep_the_pairs_of_real_people(file: str, recall: float, a_row: int) -> None:
    """Share of gold pairs that are looked at, at so many pairs a row."""
    path = DATA / file
    if not path.exists():
        pytest.skip(f"{path} is not here: it belongs to the data beside the repository")
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    records = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    crowd = people([{**r, "attributes": r["attrs"]} for r in records])
    cluster = {r["id"]: r["cluster_id"] for r in records}
    _, gold = np.unique(np.array([cluster[i] for i in crowd.ids]), return_inverse=True)
    found = find(crowd, 0.75, 0.9)
    sizes = np.bincount(gold)
    assert (gold[found.i] == gold[found.j]).sum() >= recall * (sizes * (sizes - 1) // 2).sum()
    assert len(found.i) <= a_row * len(crowd)
