"""``compile_pages``: MEMORY.md and DREAMS.md are rendered again when their inputs have changed (nexo 3.3).

There is one item for each page whose inputs have a new hash, and none for a page that does not exist and would be empty.

A row that was not written by a render, or was edited since, is left unchanged and reported. Unsafe words are left out of a page and never
block it. MEMORY.md includes the promotions of the same plan, and its item guards their rows: if one of them is not applied, the page is
skipped and a later night renders it. Other effects of a plan are rendered later: in MEMORY.md the night after, in DREAMS.md, which dates
what was done, on the first night that has other items, because it would otherwise need a plan after each plan. Cost: two passes over
memories, versions and promotions, and one over the night's items if it promotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from slowwave.changes.cells import Guard, inserted_id
from slowwave.changes.pages import Page, render_pages
from slowwave.changes.simulate import simulate
from slowwave.operations import Inputs, Proposal, permits
from slowwave.plans.items import Decision, Item, ask_unless_measured
from slowwave.plans.report import Finding, Report
from slowwave.plans.seal import arrange
from slowwave.sources.blocks import MEMORY, is_page
from slowwave.wiki.pages.index import dream_diary, memory_index
from slowwave.wiki.pages.lines import DREAMS, Rendered

_PROMOTION: Final = ("memory_id", "invalidated_at")


def compile_pages(inputs: Inputs) -> Proposal:
    """Render MEMORY.md and DREAMS.md from the ledger: the promoted memories, and the actions of the nights."""
    snapshot = inputs.snapshot
    live = snapshot.live("pages").select(["path", "body", "input_hash"]).to_pylist()
    rows = {row["path"]: row for row in live}
    findings: list[Finding] = []
    items: list[Item] = []
    promotions = _planned_promotions(inputs)
    promoted = simulate(snapshot, promotions) if promotions else snapshot
    rendered = (memory_index(promoted, inputs.settings), dream_diary(snapshot, inputs.settings))
    for page in rendered:
        row = rows.get(page.path)
        body, seen = (str(row["body"]), str(row["input_hash"])) if row else ("", "")
        if page.unsafe:
            findings.append(_left_out(page))
        if not is_page(body):
            findings.append(_edited(page))
        elif page.input_hash != seen and (page.body or body):
            (mutation,) = render_pages(snapshot, [Page(page.path, page.title, page.body, page.input_hash)])
            if page.path == MEMORY:
                mutation = replace(mutation, guards=(*mutation.guards, *_guards(promotions)))
            decision = Decision.FOLLOW if page.path == DREAMS else Decision.RENDER
            item = Item("compile_pages", decision, mutation, _evidence(page, body), sources=page.sources)
            items.append(ask_unless_measured(item, "generated page"))
    index, diary = rendered
    return Proposal(
        tuple(items),
        Report(
            "compile_pages",
            f"{len(items)} of {len(rendered)} pages would be rendered."
            if items
            else "No page has anything new to tell.",
            numbers={
                "promotions on record": snapshot.table("promotions").num_rows,
                "live promotions": snapshot.live("promotions").num_rows,
                "live pages": len(live),
                "index entries": index.entries,
                "index bytes": len(index.body.encode()),
                "diary days": diary.entries,
                "diary bytes": len(diary.body.encode()),
                "beyond the limits": sum(page.omitted for page in rendered),
                "left out as unsafe": sum(len(page.unsafe) for page in rendered),
                "items": len(items),
            },
            findings=tuple(findings),
        ),
    )


def _planned_promotions(inputs: Inputs) -> list[Item]:
    """Return tonight's promotions, without those that lose a conflict with another item and so are left out of the plan."""
    wanted = {item.id for item in inputs.planned if any(i.table == "promotions" for i in item.mutation.inserts)}
    if not wanted:
        return []
    rows = {row for item in inputs.planned if item.id in wanted for row in item.rows()}
    near = [item for item in inputs.planned if not rows.isdisjoint(item.rows())]
    return [item for item in arrange(near, permits()).items if item.id in wanted]


def _guards(promotions: Sequence[Item]) -> tuple[Guard, ...]:
    """Return guards on the rows that the promotions insert."""
    return tuple(
        Guard.on("promotions", inserted_id(item.id, n), {**insert.values, "invalidated_at": None}, _PROMOTION)
        for item in promotions
        for n, insert in enumerate(item.mutation.inserts)
    )


def _evidence(page: Rendered, before: str) -> dict[str, object]:
    known = frozenset(before.split("\n"))
    lines = page.body.split("\n") if page.body else []
    return {
        "path": page.path,
        "entries": page.entries,
        "lines": len(lines),
        "bytes": len(page.body.encode()),
        "new_lines": sum(line.startswith("- ") and line not in known for line in lines),
        "beyond_the_limits": page.omitted,
        "left_out_as_unsafe": len(page.unsafe),
        "input_hash": page.input_hash,
    }


def _left_out(page: Rendered) -> Finding:
    n = len(page.unsafe)
    what = "1 memory is" if n == 1 else f"{n:,} memories are"
    return Finding(
        f"{what} left out of {page.path}: what they say holds a secret, an instruction to the reader or hidden characters.",
        page.unsafe,
        "warning",
    )


def _edited(page: Rendered) -> Finding:
    return Finding(
        f"{page.path} was edited in the store, or was not written by a render, so it is left alone. "
        "Retire that row to have the page rendered again.",
        (),
        "error",
    )
