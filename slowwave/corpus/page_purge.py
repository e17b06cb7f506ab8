"""Purging a page: it is deleted for good with its versions, passages and links, in one transaction. A dry run unless it is said to be live.

Everything else that is done with pages keeps them; this is for what should never have been stored. What may be purged, and that nothing
goes that an undo would need, is decided by the store's own function.
"""

from __future__ import annotations

from slowwave.config.settings import Settings
from slowwave.corpus.page_request import HeldElsewhere, PurgeRequest, PurgeResponse
from slowwave.corpus.page_rows import PageChanged, Writer, page_place, purge_page
from slowwave.corpus.pending_files import follow_files, histories_of
from slowwave.errors import NotInCorpus
from slowwave.language.embedder import embedder_for
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id


def purge(
    connection: Connection,
    namespace: str,
    request: PurgeRequest,
    settings: Settings,
    *,
    token: str = "",
    follow: bool = False,
) -> PurgeResponse:
    """Delete a page of a namespace for good, or say what that would delete. ``token`` and ``follow`` as for ``slowwave.corpus.page_write``.

    Raises ``NotInCorpus``, ``PageChanged``, ``Forbidden`` for a protected page, ``Refused`` for one that an undo could still need.
    """
    writer = Writer(connection, namespace, namespace_id(connection, namespace), settings, token, embedder_for)
    place = page_place(connection, writer.namespace_id, request.target, request.corpus)
    if not place.hash:
        raise NotInCorpus(f"There is no page {place.path}. Nothing was deleted.")
    if request.expected_hash and request.expected_hash != place.hash:
        raise PageChanged(f"{place.path} has changed: get gives its text and hash. Nothing was deleted.")
    done = purge_page(
        writer,
        place,
        place.hash,
        request.reason,
        request.agent,
        canonical=request.allow_canonical,
        tombstone=request.include_related_tombstone,
        dry=request.dry_run,
    )
    held = HeldElsewhere(**{**done.held, "versions": 0})  # they go with it
    told = PurgeResponse(
        path=place.path,
        action="would_purge" if request.dry_run else "purged",
        paths=done.paths,
        bytes_deleted=done.bytes,
        hash=done.hash,
        indexed=not request.dry_run,
        dry_run=request.dry_run,
        file="pending" if done.followed and not request.dry_run else "none",
        held=held,
    )
    if not follow or told.file != "pending" or place.corpus is None:
        return told
    followed = follow_files(connection, place.corpus, done.paths)
    state = "pending" if followed.left else "superseded" if followed.edited else "written"
    held = told.held and told.held.model_copy(update={"git": histories_of(place.corpus)})
    return told.model_copy(update={"file": state, "held": held})
