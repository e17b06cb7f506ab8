"""DREAMS.md: what nights did, day by day, told from the rows they left."""

from __future__ import annotations

from typing import Any

from slowwave.snapshots.snapshot import Snapshot
from slowwave.sources.blocks import is_page
from slowwave.store.settings import Settings
from slowwave.wiki.pages.index import dream_diary
from slowwave.wiki.pages.lines import Rendered
from tests.snapshots import uid
from tests.wiki.pages.notes import day, notes, snapshot_of
from tests.wiki.pages.test_index import SECRET, link


def diary(snapshot: Snapshot, **settings: object) -> Rendered:
    return dream_diary(snapshot, Settings.for_namespace(settings))


def told(page: Rendered) -> list[str]:
    return [line for line in page.body.split("\n")[4:-1] if line]


def gone(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "kind": "semantic", "invalidated_at": day(2), **more}


def history() -> dict[str, list[dict[str, Any]]]:
    """Two promotions, one of them revoked, merges, a summary, a rewriting, an archived memory, and one that an agent retired."""
    rows = notes("Tea is at four.", {"text": "Coffee is at ten.", "promoted": day(0), "revoked": day(2)})
    rows["memories"] += [
        gone("dup", state="merged", merged_into="m0", invalidated_by="item"),
        *(gone(f"part {n}", state="merged", merged_into="sum", invalidated_by="item") for n in range(5)),
        gone("faded", invalidated_by="item"),
        gone("by an agent"),
        {"id": "sum", "kind": "summary", "current_version_id": "vs"},
        {"id": "old", "kind": "semantic", "state": "archived"},
    ]
    rows["memory_versions"] += [
        {"id": "vs", "memory_id": "sum", "content": "all five", "recorded_by": "item", "recorded_at": day(2)},
        {
            "id": "v0b",
            "memory_id": "m0",
            "ordinal": 2,
            "content": "x",
            "reason": "absolutize_dates",
            "recorded_at": day(3),
        },
        {"id": "v1b", "memory_id": "m1", "ordinal": 2, "content": "x", "reason": "an agent's", "recorded_at": day(3)},
    ]
    rows["memory_versions"][-2]["recorded_by"] = "item"
    return rows


def test_a_diary_tells_each_day_with_its_sources() -> None:
    """Newest first; what an agent did is not a dream's."""
    parts = sorted(uid(f"part {n}") for n in range(5))[:3]
    linked = ", ".join(f"[{i[:8]}](mem:{i})" for i in parts)
    promoted = ", ".join(sorted([link("m0"), link("m1")]))
    page = diary(snapshot_of(history()))
    assert told(page) == [
        "Out of recall at present: 1 archived.",
        "## 2026-02-04",
        f"- 1 memory rewritten by absolutize_dates: {link('m0')}",
        "## 2026-02-03",
        f"- 1 promotion revoked: {link('m1')}",
        f"- 1 memory merged into another: {link('dup')}",
        f"- 5 memories folded into summaries: {linked} and 2 more",
        f"- 1 summary written: {link('sum')}",
        f"- 1 memory retired: {link('faded')}",
        "## 2026-02-01",
        f"- 2 memories promoted: {promoted}",
        "### Promoted",
        f"- Tea is at four. — score 0.90, hits 3 {link('m0')}",
        f"- Coffee is at ten. — score 0.89, hits 4 {link('m1')}",
    ]
    assert is_page(page.body)
    assert (page.entries, page.omitted) == (3, 0)
    assert {uid("m0"), uid("m1"), uid("sum"), uid("faded")} <= set(page.sources)


def test_nothing_happened_no_diary() -> None:
    """nexo wrote an entry for every empty sweep."""
    assert diary(snapshot_of({})).body == ""
    assert diary(snapshot_of({"memories": [{"id": "m", "kind": "semantic", "state": "archived"}]})).body == ""


def test_the_diary_is_the_same_whenever_it_is_told() -> None:
    """It is made of the rows, not of the hour."""
    assert diary(snapshot_of(history())) == diary(snapshot_of(history()))
    more = history()
    more["memories"] += [{"id": "new", "kind": "episodic"}]
    assert diary(snapshot_of(more)) == diary(snapshot_of(history()))


def test_the_diary_keeps_its_limits_by_whole_days() -> None:
    """The newest days stay; a day that fills a page alone is told without its list."""
    rows = notes(*(f"Memory {n}" for n in range(90)))
    page = diary(snapshot_of(rows), operations={"compile_pages": {"max_lines": 60}})
    assert page.body.count("\n") + 1 <= 60
    assert page.entries + page.omitted == 90
    assert f"_{page.omitted} earlier days are not shown._" in page.body
    assert told(page)[0] == f"## {day(89):%Y-%m-%d}"
    one_day = notes(*({"text": f"Memory {n}", "promoted": day(0)} for n in range(90)))
    page = diary(snapshot_of(one_day), operations={"compile_pages": {"max_lines": 10}})
    assert page.body.count("\n") + 1 <= 10
    assert [line[:22] for line in told(page)] == ["## 2026-02-01", "- 90 memories promoted"]


def test_words_of_a_hidden_memory_are_not_told() -> None:
    """A promotion of a memory that was quarantined, or that holds a secret, is counted without its words."""
    rows = notes({"text": "private matter", "state": "quarantined"}, SECRET, {"text": "c", "promoted": day(0)})
    page = diary(snapshot_of(rows))
    assert "private" not in page.body
    assert "ghp" not in page.body
    assert page.unsafe == (uid("m1"),)


def test_a_reason_is_no_markup() -> None:
    """A version's reason is text like any other."""
    rows = notes("a")
    rows["memory_versions"] += [
        {
            "id": "w",
            "memory_id": "m0",
            "ordinal": 2,
            "content": "x",
            "reason": "# <b>\n[x](y)",
            "recorded_by": "i",
            "recorded_at": day(1),
        }
    ]
    assert f"- 1 memory rewritten by \\# \\<b\\> \\[x\\](y): {link('m0')}" in diary(snapshot_of(rows)).body.split("\n")
