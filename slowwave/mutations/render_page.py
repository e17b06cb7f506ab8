"""``render_page``: a page gets a body, the first one a row of its own.

The row is the page; files follow it (``slowwave.pages.workspace``). A path has one live row in a namespace, so a plan that would
insert a page which somebody inserted meanwhile is stale.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.errors import Refused
from slowwave.mutations.cells import Cell, Guard, Insert, Value, Write, canonical
from slowwave.mutations.mutation import Mutation, Row, check
from slowwave.snapshots.snapshot import Snapshot

PATH: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.md")
"""What a page may be called: the plain name of a Markdown file."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it shall be; ``input_hash`` is that of what its body was rendered from."""

    path: str
    title: str
    body: str
    input_hash: str


def render_pages(snapshot: Snapshot, pages: Sequence[Page]) -> list[Mutation]:
    """One mutation a page, in path order: a new row, or the new values of the live one, as the plan saw it.

    Raises ``Refused`` for a path that is no plain name of a Markdown file. Cost: one pass over the pages.
    """
    columns = ("path", "title", "body", "input_hash", "invalidated_at")
    live = snapshot.live("pages").select(["id", *columns])
    live = live.filter(pc.is_in(live["path"], value_set=pa.array([p.path for p in pages], pa.string())))
    rows = {row["path"]: {c: canonical(v) for c, v in row.items()} for row in live.to_pylist()}
    mutations = [_render(page, rows.get(page.path)) for page in sorted(pages, key=lambda p: p.path)]
    for mutation in mutations:
        check(mutation)
    return mutations


def _render(page: Page, seen: dict[str, Value] | None) -> Mutation:
    if not PATH.fullmatch(page.path):
        raise Refused(f"A page cannot be called {page.path[:64]!r}: its path is the plain name of a Markdown file.")
    wanted: dict[str, Value] = {"title": page.title, "body": page.body, "input_hash": page.input_hash}
    if seen is None:
        return Mutation("render_page", "pages", inserts=(Insert("pages", {"path": page.path, **wanted}),))
    id_ = str(seen["id"])
    writes = tuple(Write(Cell("pages", id_, c), "set", seen[c], v) for c, v in wanted.items() if seen[c] != v)
    stay = [c for c, v in wanted.items() if seen[c] == v]
    guards = (Guard.on("pages", id_, seen, ("invalidated_at", "path", *stay)),)
    return Mutation("render_page", "pages", writes=writes, guards=guards, rows=(Row(id_),))
