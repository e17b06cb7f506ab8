"""Generated sets can be repeated, are read as any other set, and hold what they promise: duplicates between near misses."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from benchmarks import hard_negatives, worlds
from benchmarks.listings import Row
from slowwave.sources.rows import RowCheck
from slowwave.sources.tables import read_records


@pytest.mark.parametrize("world", worlds.WORLDS)
def test_a_world_is_made_again_row_by_row(world: str, tmp_path: Path) -> None:
    """The same seed makes the same rows, another one others; import reads every line of the file."""
    rows = worlds.make(world, 0.2)
    assert rows == worlds.make(world, 0.2)
    assert rows != worlds.make(world, 0.2, seed=8)
    worlds.write(rows, tmp_path / "set.csv.gz")
    check = RowCheck(world, "stop")
    read = list(read_records(tmp_path / "set.csv.gz", check))
    assert [(r.external_id, r.name, r.attributes) for r in read] == [(r.id, r.name, r.attrs) for r in rows]


@pytest.mark.parametrize("world", worlds.WORLDS)
def test_a_world_has_duplicates_and_its_size(world: str) -> None:
    """About the rows that were asked for, ids of their own, clusters of several rows and rows that stand alone or apart."""
    rows = worlds.make(world, 0.5)
    asked = worlds.WORLDS[world][1] * 0.5
    assert 0.85 * asked <= len(rows) <= asked + 70
    assert len({row.id for row in rows}) == len(rows)
    sizes = Counter(row.cluster_id for row in rows)
    assert max(sizes.values()) > 1
    assert len(sizes) > 20
    assert all(row.name and "" not in row.attrs.values() for row in rows)


@pytest.mark.parametrize(
    "world",
    ["restaurants", "papers", "citations", "music", "people", "electors", "births", "inventors", "filings", "memories"],
)
def test_some_names_belong_to_several(world: str) -> None:
    """Where names repeat in life, equal names decide nothing by themselves."""
    holders: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in worlds.make(world):
        holders[row.entity_type, row.name.lower()].add(row.cluster_id)
    assert sum(len(clusters) > 1 for clusters in holders.values()) >= 3


def test_scale_makes_large_clusters_and_common_names() -> None:
    """At a fifth of the large set a name is shared by many inventors."""
    rows = worlds.make("inventors", 5.0)
    assert len(rows) == 25_000
    assert max(Counter(row.cluster_id for row in rows).values()) > 80
    holders = {(row.name, row.cluster_id) for row in rows}
    assert max(Counter(name for name, _ in holders).values()) >= 5


def test_those_on_one_filing_share_all_but_their_names() -> None:
    """Colleagues, kin among them, agree in title, class, employer and year; one office writes their names in one way."""
    rows = worlds.make("filings", 1.0)
    filed: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        filed[row.id.rsplit("-", 1)[0]].append(row)
    teams = [team for team in filed.values() if len(team) > 1]
    assert len(teams) > 800
    assert all(
        len({row.attrs["title"] for row in team}) == 1 == len({row.attrs["year"] for row in team}) for team in teams
    )
    assert all(len({row.cluster_id for row in team}) == len(team) for team in teams)
    spellings: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        spellings[row.cluster_id].add(row.name)
    assert max(map(len, spellings.values())) > 10
    assert sum("," in row.name for row in rows) > 0.2 * len(rows)


def test_near_misses_are_never_the_same_and_many() -> None:
    """At least five thousand pairs; the rows of each are of one type and two clusters."""
    total = 0
    for namespace, kinds in hard_negatives.KINDS.items():
        hard = hard_negatives.make(namespace)
        rows = {row.id: row for row in hard.rows}
        assert len(rows) == len(hard.rows)
        assert Counter(kind for *_, kind in hard.pairs) == dict.fromkeys(kinds, hard_negatives.PER_KIND)
        assert all(rows[a].cluster_id != rows[b].cluster_id for a, b, _ in hard.pairs)
        assert all(rows[a].entity_type == rows[b].entity_type for a, b, _ in hard.pairs)
        sizes = Counter(row.cluster_id for row in hard.rows)
        assert sum(size > 1 for size in sizes.values()) > 0.5 * len(hard.pairs)
        total += len(hard.pairs)
    assert total >= 5_000


def test_near_misses_differ_in_what_can_be_seen() -> None:
    """Only one kind leaves nothing to tell the two apart by; it is named so."""
    for namespace in hard_negatives.KINDS:
        hard = hard_negatives.make(namespace, per_kind=40)
        rows = {row.id: row for row in hard.rows}
        for a, b, kind in hard.pairs:
            equal = (rows[a].name.lower(), rows[a].attrs) == (rows[b].name.lower(), rows[b].attrs)
            assert equal == (kind == "namesakes, nothing else known"), (kind, rows[a], rows[b])
