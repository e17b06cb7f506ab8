"""``compile_pages``: a page is rendered when what it tells has changed, and only then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from slowwave.changes.simulate import simulate
from slowwave.operations import PLANNERS, Inputs, Proposal
from slowwave.plans.items import Item
from slowwave.plans.why import why
from slowwave.snapshots.snapshot import Snapshot
from slowwave.sources.blocks import block, is_page
from slowwave.store.settings import Settings
from tests.snapshots import make_snapshot, uid
from tests.wiki.pages.notes import day, notes, snapshot_of
from tests.wiki.pages.test_index import SECRET

compile_pages = PLANNERS["compile_pages"]


def plan(snapshot: Snapshot, **settings: object) -> Proposal:
    return compile_pages(Inputs(snapshot, {}, Settings.for_namespace({**snapshot.settings, **settings})))


def values(item: Item) -> Mapping[str, Any]:
    """What the page's row gets."""
    return (
        item.mutation.inserts[0].values
        if item.mutation.inserts
        else {w.cell.column: w.value for w in item.mutation.writes}
    )


def by_path(found: Proposal) -> dict[str, Item]:
    return {str(i.evidence["path"]): i for i in found.items}


def with_(snapshot: Snapshot, **tables: Any) -> Snapshot:
    given = make_snapshot(**tables)
    return replace(snapshot, tables={**snapshot.tables, **{name: given.table(name) for name in tables}})


def test_promotions_make_both_pages_and_a_second_night_makes_none() -> None:
    """Two low-risk items that name their sources; rendered once, the same inputs plan nothing."""
    snapshot = snapshot_of(notes("Tea is at four.", "Coffee is at ten."))
    found = plan(snapshot)
    pages = by_path(found)
    assert pages.keys() == {"MEMORY.md", "DREAMS.md"}
    assert {(i.operation, i.decision, i.risk, i.tokens, i.mutation.kind) for i in found.items} == {
        ("compile_pages", decision, "low", 0, "render_page") for decision in ("render", "follow")
    }
    assert pages["MEMORY.md"].sources == (uid("m0"), uid("m1"))
    assert is_page(values(pages["MEMORY.md"])["body"])
    assert (found.report.numbers["items"], found.report.numbers["live promotions"]) == (2, 2)
    after = simulate(snapshot, found.items)
    assert not plan(after).items
    assert after.live("pages").num_rows == 2


def test_nothing_to_tell_makes_no_page_and_says_what_was_looked_at() -> None:
    """A silent night proves that it looked."""
    found = plan(snapshot_of({}))
    assert found.items == ()
    assert found.report.headline == "No page has anything new to tell."
    assert found.report.numbers["promotions on record"] == 0


def test_a_new_promotion_renders_the_page_that_it_is_on_again() -> None:
    """The row is written as it was seen; words of the same promotions leave the other page alone where it does not tell them."""
    snapshot = snapshot_of(notes("a", "b"))
    first = simulate(snapshot, plan(snapshot).items)
    rows = notes("a", "b", "c")
    second = with_tables(rows, first)
    pages = by_path(plan(second))
    assert pages.keys() == {"MEMORY.md", "DREAMS.md"}
    item = pages["MEMORY.md"]
    assert {w.cell.column for w in item.mutation.writes} == {"body", "input_hash"}
    assert item.evidence["new_lines"] == 1
    assert not plan(simulate(second, list(pages.values()))).items


def with_tables(rows: Mapping[str, Any], pages: Snapshot) -> Snapshot:
    """The rows with the pages of another snapshot."""
    fresh = snapshot_of(rows)
    return replace(fresh, tables={**fresh.tables, "pages": pages.table("pages")})


def test_a_page_of_which_nothing_is_left_becomes_empty_once() -> None:
    """Its row stays, so that undo and a later promotion find it; the file's block goes."""
    snapshot = snapshot_of(notes("a"))
    rendered = simulate(snapshot, plan(snapshot).items)
    empty = with_tables(notes({"text": "a", "revoked": day(4)}), rendered)
    item = by_path(plan(empty))["MEMORY.md"]
    assert values(item)["body"] == ""
    after = simulate(empty, plan(empty).items)
    assert not plan(after).items
    again = with_tables(notes("a"), after)
    assert values(by_path(plan(again))["MEMORY.md"])["body"]


@pytest.mark.parametrize("body", ["# an agent's own page", block("x").replace("x", "y"), block("x") + "\nmine"])
def test_a_page_that_somebody_edited_is_left_alone_and_told(body: str) -> None:
    """A row that no render left so is not ours."""
    page = {"id": uid("p"), "path": "MEMORY.md", "body": body, "input_hash": "x"}
    found = plan(with_(snapshot_of(notes("a")), pages=[page]))
    assert by_path(found).keys() == {"DREAMS.md"}
    (finding,) = found.report.findings
    assert (finding.severity, "MEMORY.md was edited" in finding.message) == ("error", True)


def test_one_secret_blocks_one_line_and_never_the_page() -> None:
    """The finding names the memory and not what it says."""
    found = plan(snapshot_of(notes("a", SECRET)))
    assert by_path(found).keys() == {"MEMORY.md", "DREAMS.md"}
    assert {f.rows for f in found.report.findings} == {(uid("m1"),)}
    assert found.report.numbers["left out as unsafe"] == 2
    assert not any("ghp" in str(i.to_json()) for i in found.items)
    assert "ghp" not in found.report.markdown()


def test_order_and_recalls_of_other_memories_change_nothing() -> None:
    """Only what is told is an input."""
    snapshot = snapshot_of(notes("a"))
    rendered = simulate(snapshot, plan(snapshot).items)
    more = notes({"text": "a", "access_count": 7})
    more["memories"] += [{"id": f"other {n}", "kind": "episodic"} for n in range(20)]
    assert not plan(with_tables(more, rendered)).items


def test_why_tells_what_a_page_would_become() -> None:
    """One sentence, for a new page and for one that is rendered again."""
    snapshot = snapshot_of(notes("a"))
    first = plan(snapshot)
    told = why(by_path(first)["MEMORY.md"], {})
    assert told.sentence.startswith("MEMORY.md would be rendered: 1 entries, 1 of its lines new.")
    again = by_path(plan(with_tables(notes("a", "b"), simulate(snapshot, first.items))))["MEMORY.md"]
    assert "2 entries, 1 of its lines new" in why(again, {}).sentence


def test_it_stands_behind_what_changes_memories() -> None:
    """What it renders follows from everything else, a night later."""
    names = list(PLANNERS)
    assert names.index("purge_expired") < names.index("compile_pages")
