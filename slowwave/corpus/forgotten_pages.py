"""Pages that a plan forgets: what a request to forget comes to on a snapshot, as ``forget_rows`` takes it, and what else holds the words.

It is to a plan what ``slowwave.corpus.page_write`` is to forgetting by day.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow.compute as pc

from slowwave.config.settings import Settings
from slowwave.corpus.page_file import PageFile
from slowwave.corpus.page_request import HeldElsewhere, WriteRequest
from slowwave.corpus.page_rows import PageChanged, PagePlace
from slowwave.corpus.page_write import forgotten_files, refuse_unforgettable
from slowwave.mutations.cells import Value
from slowwave.mutations.forget_rows import forget_page
from slowwave.mutations.mutation import MADE_FROM, Mutation
from slowwave.mutations.rows import rows_where
from slowwave.mutations.write_page import PageCorpus, PageText
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.connect import Connection

_HELD: Final = "SELECT memory.held_elsewhere(d) FROM memory.documents d WHERE d.id = %s"


def planned_forgetting(
    snapshot: Snapshot, settings: Settings, place: PagePlace, request: WriteRequest, made_from: str = ""
) -> Mutation:
    """The page at a place is forgotten, for the reason of the request. Raises as forgetting by day does, and ``PageChanged`` for one that
    is no longer what the snapshot holds.
    """
    refuse_unforgettable(request, place)
    corpus = place.corpus
    if corpus is None:
        raise AssertionError  # a page that is there has one
    page, stone = forgotten_files(place, request.reason, request.agent, settings, snapshot.taken_at)
    rows = rows_where(
        snapshot, "documents", "path", {page.path, stone.path}, ("corpus_id", *_KEPT, "version_of", "invalidated_at")
    )
    mine = (r for r in rows if r["corpus_id"] == corpus.id and r["version_of"] is None and r["invalidated_at"] is None)
    there = {str(r["path"]): r for r in mine}
    if there.get(page.path, {}).get("content_hash") != place.hash:
        raise PageChanged(f"{page.path} has changed since it was read. Nothing was planned.")
    roots = snapshot.table("corpora")
    (known,) = roots.filter(pc.equal(roots["id"], corpus.id)).to_pylist()
    at = PageCorpus(corpus.id, known["root"], known["profile"])
    made = {MADE_FROM: made_from} if made_from else {}
    return forget_page(
        snapshot,
        _text(at, page, there[page.path], {**_GONE, "superseded_by": stone.path, **made}),
        _text(
            at,
            stone,
            there.get(stone.path, {"title": stone.path, "valid_from": None}),
            {"type": "tombstone", **_GONE, **made},
        ),
    )


def page_held(connection: Connection, document_id: str) -> HeldElsewhere:
    """What else will hold the words of a page once a plan has forgotten it: what it says now will be a version."""
    row: Any = connection.execute(_HELD, (document_id,)).fetchone()
    return HeldElsewhere(**{**row[0], "versions": row[0]["versions"] + 1})


_KEPT: Final = ("title", "valid_from", "content_hash")
_GONE: Final = {"status": "superseded", "canonical": False, "temperature": "cold"}


def _text(corpus: PageCorpus, file: PageFile, seen: Mapping[str, Value], marks: Mapping[str, object]) -> PageText:
    values = {**file.fields.values, "frontmatter": dict(file.written), **marks}
    values.pop("problems", None)  # no profile has the type of tombstones
    return PageText(
        *(corpus, file.path, str(seen["title"]), file.text, file.content_hash, values),
        valid_from=None if seen["valid_from"] is None else str(seen["valid_from"]),
    )
