"""Writing of pages at run time, each text screened and in one transaction, and permanent deletion of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final, cast

from slowwave.changes.mutation import tombstone_path
from slowwave.errors import AlreadyThere, NotInCorpus, Refused
from slowwave.models.embedder import Embedder
from slowwave.sources.page_files import PageFile, content_hash, page_file
from slowwave.sources.profile import Profile
from slowwave.store.configured_models import embedder_for
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.settings import Settings
from slowwave.text.findings import Detection
from slowwave.text.frontmatter import UnreadableFile, frontmatter
from slowwave.wiki.corpus.page_text import (
    appended_page,
    forgotten_page,
    new_page,
    quarantined_page,
    replaced_page,
    tombstone_page,
)
from slowwave.wiki.corpus.pages import (
    PageChanged,
    PagePlace,
    Stored,
    Writer,
    forget_page,
    page_place,
    purge_page,
    store_page,
)
from slowwave.wiki.corpus.pending_files import SUPERSEDED, follow_files, histories_of
from slowwave.wiki.corpus.requests import (
    HeldElsewhere,
    PurgeRequest,
    PurgeResponse,
    WriteRequest,
    WriteResponse,
    Written,
)
from slowwave.wiki.recall.research import ResearchArtifact, ResearchResponse

# Writing a page at run time: create, append, replace and forget, each screened, and each in one transaction or not at all.
#
# The rows are written first; the file of a followed folder is updated afterwards (``slowwave.wiki.corpus.pending_files``). The store's
# own functions (``slowwave.wiki.corpus.pages``) decide whether the login may write; a dry run calls them as well.

_DONE: Final = {
    "create": "created",
    "append": "appended",
    "replace": "replaced",
    "forget": "forgotten",
    "move": "moved",
}
_ATTEMPTS: Final = 5
"""Attempts of an append if another writer changes the page: it does not depend on the current text, so it can be repeated."""
_UNSAFE: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Screened:
    """Result of screening a text before it is written: the text, the reason to refuse it, and warnings if it may be stored."""

    text: str
    refused: str = ""
    warnings: tuple[str, ...] = ()


def write(
    connection: Connection,
    namespace: str,
    request: WriteRequest,
    settings: Settings,
    *,
    token: str = "",
    follow: bool = False,
    embedder: Callable[[Settings], Embedder] = embedder_for,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> WriteResponse:
    """Write a page of a namespace, given by name.

    ``token`` is the token of a login that does not own memory. With ``follow``, this process has the rights to a followed folder and
    writes the file as well. Raises ``Refused`` for a request that cannot be accepted, ``AlreadyThere`` for a path that is taken or a page
    that changed since it was read, ``NotInCorpus`` for a page that does not exist, and ``Forbidden`` without a token that permits the
    write.
    """
    writer = Writer(connection, namespace, namespace_id(connection, namespace), settings, token, embedder)
    check_size(request.content, settings)
    attempts = _ATTEMPTS if request.kind == "append" else 1
    while True:
        attempts -= 1
        place = page_place(connection, writer.namespace_id, request.target, request.corpus)
        try:
            response = (
                _forgotten(writer, request, place, now)
                if request.kind == "forget"
                else _stored(writer, request, place, now)
            )
            break
        except PageChanged:
            if not attempts:
                raise
    return followed(writer, response, place) if follow and response.file == "pending" else response


def check_size(text: str, settings: Settings) -> None:
    """Raise ``Refused`` if a text is larger than one call may write."""
    size = len(text.encode("utf-8", "replace"))
    if size > settings.max_write_bytes:
        raise Refused(
            f"The content has {size:,} bytes and may have {settings.max_write_bytes:,} (SLOWWAVE_MAX_WRITE_BYTES). Write less, or in "
            "parts by append. Nothing was stored."
        )


def screened(text: str, before: str, settings: Settings) -> Screened:
    """Screen a text that is to be written, according to the setting ``screening_on_write``.

    ``before`` is the current text: kinds of findings that it already contains are ignored.
    """
    found = _found(text)
    known = {(f.kind, f.rule) for f in _found(before)} if found and before else set[tuple[str, str]]()
    found = [f for f in found if (f.kind, f.rule) not in known]
    if found and settings.screening_on_write == "redact":
        from slowwave.text.screening import redact

        text = redact(text)
        found = _found(text)
    if not found:
        return Screened(text)
    worst = found[0]
    if settings.screening_on_write == "warn":
        return Screened(text, warnings=(f"Screening found in the text: {worst.kind} ({worst.rule}).",))
    return Screened(text, f"{worst.kind}: {worst.rule}")


def parsed(path: str, text: str, layout: Profile) -> PageFile:
    """Parse a page from its text. Raises ``Refused`` if the page could not be parsed again."""
    try:
        return page_file(path, text.encode("utf-8", "surrogatepass"), layout)
    except (UnreadableFile, UnicodeEncodeError) as problem:
        raise Refused(f"The page cannot be taken: {problem}. Nothing was stored.") from None


def answer(action: str, file: PageFile, stored: Stored, *, dry: bool, indexed: bool, size: int) -> WriteResponse:
    """Build the response to a write that was done, or would be done in a dry run."""
    word = f"would_{action}" if dry else _DONE.get(action, action)
    return WriteResponse(
        path=file.path,
        action=cast("Written", word),
        bytes_written=0 if dry else size,
        hash=stored.hash,
        indexed=indexed and not dry,
        edges_added=stored.edges,
        file="pending" if stored.followed and not dry else "none",
        tombstone=stored.tombstone or None,
        held=HeldElsewhere(**stored.held) if stored.held else None,
        warnings=stored.warnings,
    )


def followed(writer: Writer, told: WriteResponse, place: PagePlace) -> WriteResponse:
    """Update the files of the folder, where this process can write them, and return the response with the result."""
    corpus = place.corpus
    assert corpus is not None  # noqa: S101 - a folder's
    done = follow_files(writer.connection, corpus, (told.path, told.tombstone or told.path, place.path))
    held = told.held and told.held.model_copy(update={"git": histories_of(corpus)})
    state = "pending" if done.left else "superseded" if done.edited else "written"
    warnings = (
        *told.warnings,
        *(f"{path}: {why}" for path, why in done.left.items()),
        *(f"{path}: {SUPERSEDED}" for path in done.edited),
        *(
            f"{path}: somebody edited the file since the last sync. The addition was merged into it."
            for path in done.merged
        ),
    )
    update: dict[str, Any] = {"file": state, "held": held, "warnings": warnings}
    return told.model_copy(update=update)


def _stored(writer: Writer, request: WriteRequest, place: PagePlace, now: Callable[[], datetime]) -> WriteResponse:
    today = now().astimezone(UTC).date().isoformat()
    _refuse_unmet(request, place)
    given = _given(request)
    content = request.content.replace("\r\n", "\n").replace("\0", "")
    before = place.text if place.there else ""
    body = screened(content, "", writer.settings)
    fields = screened(json.dumps(given, ensure_ascii=False), "", writer.settings)
    refused = body.refused or fields.refused
    if not refused:
        given = json.loads(fields.text) if fields.text != json.dumps(given, ensure_ascii=False) else given
        file = parsed(place.path, _text(request, place, given, body.text, today), place.layout)
        refused = screened(file.text, before, writer.settings).refused  # harmless parts may form a finding together
    else:
        file = None
    if refused or file is None:
        return _quarantined(writer, request, place, refused, today)
    kind = "change" if place.there else "create"
    stored = store_page(writer, kind, place, file, note=_note(request), dry=request.dry_run)
    size = len(file.text.encode())
    response = answer(request.kind, file, stored, dry=request.dry_run, indexed=True, size=size)
    return response.model_copy(update={"warnings": (*response.warnings, *body.warnings, *fields.warnings)})


def text_of(request: WriteRequest, place: PagePlace, now: datetime) -> str:
    """Return the unscreened text that a request would give the page, for use in a plan. Raises as ``write`` does."""
    _refuse_unmet(request, place)
    content = request.content.replace("\r\n", "\n").replace("\0", "")
    return _text(request, place, _given(request), content, now.astimezone(UTC).date().isoformat())


def _refuse_unmet(request: WriteRequest, place: PagePlace) -> None:
    """Raise an error if a precondition of this kind of write does not hold."""
    if "quarantined" in place.metadata:
        raise Refused(f"{place.path} is quarantined, and stays as it is. Nothing was stored.")
    if request.kind == "create" and place.there:
        raise AlreadyThere(
            f"{place.path} is there already. Append to it, or replace it by its hash. Nothing was stored."
        )
    if request.kind == "replace" and not place.there:
        raise NotInCorpus(f"There is no page {place.path} to replace. Create it. Nothing was stored.")
    if request.kind == "replace" and request.expected_hash != place.hash:
        raise PageChanged(f"{place.path} has changed: get gives its text and hash. Nothing was stored.")


def _given(request: WriteRequest) -> dict[str, Any]:
    """Return the fields that a request names. Raises ``Refused`` for names that no head can hold."""
    for name in request.frontmatter:
        if not name.strip() or len(name) > 64 or any(not c.isprintable() for c in name):
            raise Refused("A field's name is a word of at most 64 characters. Nothing was stored.")
    return {name: value for name, value in request.frontmatter.items() if value is not None}


def _text(request: WriteRequest, place: PagePlace, given: Mapping[str, Any], content: str, today: str) -> str:
    """Return the text of the page after the write."""
    try:
        if place.there and request.kind == "append":
            return appended_page(place.text, given, content, today)
        if place.there:
            return replaced_page(place.text, given, content, today)
        named = {**frontmatter(content).fields, **given}
        if missing := [name for name in ("title", "type") if not str(named.get(name) or "").strip()]:
            raise Refused(f"A new page needs {' and '.join(missing)} in its frontmatter. Nothing was stored.")
        return new_page(given, place.path, content, place.layout, today)
    except UnreadableFile as problem:
        raise Refused(f"The page cannot be taken: {problem}. Nothing was stored.") from None


def _quarantined(writer: Writer, request: WriteRequest, place: PagePlace, refused: str, today: str) -> WriteResponse:
    """Store a refused text under inbox/quarantine/ if the request or the settings ask for that; otherwise raise ``Refused``."""
    if not request.soft and writer.settings.screening_on_write != "quarantine":
        raise Refused(
            f"The text holds what screening refuses ({refused}). Take it out, or say soft to keep it in quarantine. Nothing was stored."
        )
    fields = {name: value for name, value in request.frontmatter.items() if isinstance(value, str | int | float | bool)}
    text = quarantined_page(request.target, request.kind, refused, fields, request.content.replace("\0", ""), today)
    slug = _UNSAFE.sub("-", PurePosixPath(request.target).stem).strip("-")[:80] or "page"
    digest = content_hash(f"{request.target}\0{request.content}".encode("utf-8", "replace"))[:12]
    corpus = place.corpus.root if place.corpus else None
    at = page_place(writer.connection, writer.namespace_id, f"inbox/quarantine/{slug}-{digest}.md", corpus)
    if at.hash:
        file, stored = parsed(at.path, at.text, at.layout), Stored(at.hash)
    else:
        file = parsed(at.path, text, at.layout)
        stored = store_page(writer, "create", at, file, note=_note(request), hidden=True, dry=request.dry_run)
    size = 0 if at.hash else len(file.text.encode())
    action = "quarantine" if request.dry_run else "quarantined"
    response = answer(action, file, stored, dry=request.dry_run, indexed=False, size=size)
    warning = f"Screening refuses the text ({refused}), so it is in quarantine, where no search finds it."
    return response.model_copy(update={"quarantined": True, "warnings": (warning,)})


def _forgotten(writer: Writer, request: WriteRequest, place: PagePlace, now: Callable[[], datetime]) -> WriteResponse:
    refuse_unforgettable(request, place)
    return forgotten(writer, place, request.reason, request.agent, now, dry=request.dry_run)


def refuse_unforgettable(request: WriteRequest, place: PagePlace) -> None:
    """Raise an error if the page cannot be forgotten.

    Raises ``NotInCorpus`` if there is no page to forget, and ``PageChanged`` if its hash differs from the one in the request.
    """
    if not place.there or place.path.endswith(".tombstone.md"):
        raise NotInCorpus(f"There is no page {place.path} to forget. Nothing was stored.")
    if request.expected_hash and request.expected_hash != place.hash:
        raise PageChanged(f"{place.path} has changed: get gives its text and hash. Nothing was stored.")


def forgotten(
    writer: Writer, place: PagePlace, reason: str, agent: str, now: Callable[[], datetime], *, dry: bool = False
) -> WriteResponse:
    """Forget the page at a place; the reason is screened like a text."""
    file, stone = forgotten_files(place, reason, agent, writer.settings, now())
    stored = forget_page(writer, place, file, stone, dry=dry)
    return answer("forget", file, stored, dry=dry, indexed=True, size=len(file.text.encode()))


def forgotten_files(
    place: PagePlace, reason: str, agent: str, settings: Settings, now: datetime
) -> tuple[PageFile, PageFile]:
    """Return the forgotten version of the page at a place, and its tombstone.

    Raises ``Refused`` for a reason that screening refuses.
    """
    screened_reason = screened(reason, "", settings)
    if screened_reason.refused:
        raise Refused(f"The reason holds what screening refuses ({screened_reason.refused}). Nothing was stored.")
    today, beside = now.astimezone(UTC).date().isoformat(), tombstone_path(place.path)
    file = parsed(place.path, forgotten_page(place.text, beside, today), place.layout)
    return file, parsed(beside, tombstone_page(place.path, screened_reason.text, agent, today), place.layout)


def _note(request: WriteRequest) -> dict[str, object]:
    """Return a note of who wrote this version, and with which kind of write."""
    fields = {"kind": request.kind, "agent": request.agent, "session_id": request.session_id}
    return {name: value for name, value in fields.items() if value}


def _found(text: str) -> list[Detection]:
    """Return the findings in a text that require action, the worst first."""
    from slowwave.text.findings import KINDS
    from slowwave.text.screening import counting, screen  # its rules take a while to load

    return sorted(counting(screen(text)), key=lambda f: (KINDS.index(f.kind), f.start))


# Purging a page: it is deleted permanently with its versions, passages and links, in one transaction. The default is a dry run.
#
# All other operations on pages keep them; this one is for text that should never have been stored. The store's own function decides what
# may be purged, and ensures that nothing is deleted that an undo would need.


def purge(
    connection: Connection,
    namespace: str,
    request: PurgeRequest,
    settings: Settings,
    *,
    token: str = "",
    follow: bool = False,
) -> PurgeResponse:
    """Delete a page of a namespace permanently, or report what that would delete.

    ``token`` and ``follow`` as in ``slowwave.wiki.corpus.page_write``. Raises ``NotInCorpus``, ``PageChanged``, ``Forbidden`` for a
    protected page, and ``Refused`` for a page that an undo could still need.
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
    held = HeldElsewhere(**{**done.held, "versions": 0})  # the versions are deleted with the page
    response = PurgeResponse(
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
    if not follow or response.file != "pending" or place.corpus is None:
        return response
    followed = follow_files(connection, place.corpus, done.paths)
    state = "pending" if followed.left else "superseded" if followed.edited else "written"
    held = response.held and response.held.model_copy(update={"git": histories_of(place.corpus)})
    return response.model_copy(update={"file": state, "held": held})


# The page of a research answer. It is stored by the same rules as any other page that agents write.


def keep_research(
    connection: Connection,
    namespace: str,
    told: ResearchResponse,
    settings: Settings,
    *,
    token: str = "",
    follow: bool = False,
) -> ResearchResponse:
    """Store a research answer as a page of a namespace, given by name, and return the answer with its ``artifact``.

    ``token`` and ``follow`` as in ``page_write.write``. If the page cannot be kept, the answer is returned with the reason in
    ``warnings``.
    """
    page = told.research
    request = WriteRequest(kind="create", target=page.target, content=page.page)
    try:
        done = write(connection, namespace, request, settings, token=token, follow=follow)
    except Refused as problem:
        return told.model_copy(update={"warnings": (*told.warnings, f"The page was not kept. {problem}")})
    artifact = ResearchArtifact(path=done.path, kind=page.kind, bytes_written=done.bytes_written)
    return told.model_copy(update={"artifact": artifact, "warnings": (*told.warnings, *done.warnings)})
