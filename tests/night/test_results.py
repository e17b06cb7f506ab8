"""Results of a night as files: what goes in comes out, locally and behind a URL, and never of two snapshots."""

from __future__ import annotations

import uuid
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pytest

from slowwave.changes.rows import set_columns
from slowwave.errors import SnapshotError
from slowwave.night.snapshot import (
    Result,
    latest,
    load_proposal,
    load_report,
    load_table_result,
    one_location,
    point,
    save_result,
)
from slowwave.operations import PLANNERS, Inputs, Proposal
from slowwave.plans.items import Item
from slowwave.plans.report import Bars, Finding, Report
from slowwave.snapshots.export import export_snapshot
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.nights import new_world
from tests.snapshots import make_snapshot, uid

dedupe_entities = PLANNERS["dedupe_entities"]

REPORT = Report(
    "census",
    "Two rows.",
    {"rows": 2, "share": 0.5},
    (Finding("One is odd.", ("a", "b"), "warning", {"n": 1}),),
    ({"name": "Zoë", "rows": 1},),
    (Bars("Rows", ["a"], [1.0]),),
    {"types": {"person": 2}},
)


@pytest.fixture(params=["folder", "memory"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A snapshot's folder, on disk and behind an fsspec URL."""
    if request.param == "folder":
        folder = tmp_path / "acme" / "20260301T000000-aaaaaaaa"
        folder.mkdir(parents=True)
        return str(folder)
    url = f"memory://{uuid.uuid4().hex}/acme/20260301T000000-aaaaaaaa"
    system, path = fsspec.url_to_fs(url)
    system.makedirs(path)
    return url


def test_tables_and_reports_come_back_as_they_were(location: str) -> None:
    """Tuples and figures of NumPy survive JSON."""
    table = pa.table({"id": ["a", "b"], "n": [[1], []]})
    save_result(Result(location, table), "model.x")
    assert load_table_result(location, "model.x").equals(table)
    save_result(Result(location, REPORT), "audit.census")
    found = load_report(location, "audit.census")
    assert found == REPORT or found.markdown() == REPORT.markdown()
    assert (found.findings, found.details, found.numbers) == (REPORT.findings, REPORT.details, REPORT.numbers)
    odd = Report("x", "x", {"n": np.int64(3).item()}, details={"n": np.int64(3), "f": np.float32(0.5)})
    save_result(Result(location, odd), "audit.census")
    assert load_report(location, "audit.census").details == {"n": 3, "f": 0.5}


def test_items_keep_their_ids(store: Store, location: str) -> None:
    """An id is the content: a proposal that came back with another one would be another proposal."""
    snapshot = export_snapshot(store, new_world(store).slug)
    ids = snapshot.table("memories")["id"].to_pylist()
    mutations = set_columns(snapshot, "set_state", "memories", {i: {"state": "archived"} for i in ids})
    items = tuple(Item("archive_stale", "archive", m, evidence={"p": 0.1 + 0.2}) for m in mutations)
    save_result(Result(location, Proposal(items, REPORT)), "plan.archive_stale")
    found = load_proposal(location, "plan.archive_stale")
    assert found.items == items
    assert [i.id for i in found.items] == [i.id for i in items]


def test_weights_come_back_to_the_last_bit(location: str) -> None:
    """What the convergence probe weighs with is what the planner learnt in another process."""
    rows = [
        {"id": uid(n), "name": n, "entity_type": "array", "attributes": {"born": "1990-01-02"}} for n in ("Zoë", "zoe")
    ]
    proposal = dedupe_entities(Inputs(make_snapshot(entities=rows), {}, Settings()))
    save_result(Result(location, proposal), "plan.dedupe_entities")
    learnt = load_proposal(location, "plan.dedupe_entities").learnt
    assert learnt is not None
    assert proposal.learnt is not None
    assert [*learnt] == [*proposal.learnt] == ["array"]
    before, after = proposal.learnt["array"], learnt["array"]
    assert [c.name for c in after.comparisons] == [c.name for c in before.comparisons]
    for name in ("m", "u", "weight"):
        for one, other in zip(getattr(before, name), getattr(after, name), strict=True):
            assert one.tobytes() == other.tobytes()
    assert after.prior == before.prior


def test_the_newest_result_is_that_of_the_snapshot_pointed_at(location: str) -> None:
    """A pointer a name; what was never computed is a sentence."""
    base = location.rsplit("/", 2)[0]
    point(location, "audit.census")
    assert latest(base, "acme", "audit.census") == location
    with pytest.raises(SnapshotError, match=r"no result of audit\.orphans"):
        latest(base, "acme", "audit.orphans")
    for load in (load_table_result, load_report, load_proposal):
        with pytest.raises(SnapshotError, match="retention removed its snapshot"):
            load(location, "audit.orphans")


def test_results_of_two_snapshots_do_not_mix() -> None:
    """Named by their snapshots, with what to do; and no result at all is no snapshot."""
    one, two = Result("/b/acme/1", None), Result("/b/acme/2", None)
    assert one_location({"a": one, "b": one}) == "/b/acme/1"
    with pytest.raises(SnapshotError, match=r"a of 1, b of 2.*from the snapshot on"):
        one_location({"a": one, "b": two})
    with pytest.raises(SnapshotError, match="there are none"):
        one_location({})


def test_only_results_are_saved(location: str) -> None:
    """A mistake in an asset is a TypeError, and no file."""
    with pytest.raises(TypeError, match="no result of a night"):
        save_result(Result(location, {"a": 1}), "audit.x")
