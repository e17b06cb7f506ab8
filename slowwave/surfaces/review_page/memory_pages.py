"""The memory pages: lists and searches of a namespace, one row with its history, and forms that propose a change or forget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn
from urllib.parse import quote as quoted
from urllib.parse import urlencode

from markupsafe import escape
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from slowwave.errors import NotInCorpus, Refused, plain_fault
from slowwave.plans.commands import argument
from slowwave.plans.questions import plain_name
from slowwave.store.namespaces import namespaces, refuse_connected
from slowwave.surfaces.review_page.desk import Desk, page, visible
from slowwave.surfaces.review_page.guard import form_of, reviewer_of
from slowwave.surfaces.review_page.memory_rows import (
    COUNTED,
    KINDS,
    LISTS,
    MOST_NEAR,
    PAGE,
    MemoryRow,
    NamespaceRows,
    WholeRow,
)
from slowwave.wiki.corpus.corpora import EVIDENCE_ROOT, SESSIONS_ROOT

# Nothing here writes a row. A form makes a proposal as an agent's, or a plan of ``slowwave forget``, in the reviewer's name; the plan is
# reviewed, approved and applied like any other.

LABELS: Final[Mapping[str, str]] = {
    "memories": "Memories",
    "entities": "Entities",
    "facts": "Facts",
    "relationships": "Relationships",
    "pages": "Pages",
}
"""List → its label."""

PIECE: Final = 20_000
"""Maximum characters of a text on one page."""

EDITED: Final = 100_000
"""Maximum characters of a page that its form can send: with escapes they fit into one request."""

_FAMILIES: Final = ("person", "project", "concept", "decision", "core")
_SEARCHED: Final = ("memories", "entities", "pages")
_BY_TEXT: Final = "A connected store is searched for these words, in any case."
_COLUMNS: Final = {
    "valid_from": "True from",
    "valid_to": "True until",
    "recorded_at": "Stored",
    "invalidated_at": "Ended",
    "last_accessed_at": "Last recalled",
    "access_count": "Recalls",
    "session_id": "Session",
    "external_id": "Id where it came from",
}
"""Column → its label, where the column's name says too little."""

_HIDDEN: Final = frozenset(
    (
        *(
            "id",
            "name",
            "title",
            "fact_text",
            "current_version_id",
            "merged_into",
            "superseded_by",
            "version_of",
            "invalidated_by",
        ),
        *(
            "source_chunk_ids",
            "source_document_ids",
            "source_entity_id",
            "target_entity_id",
            "corpus_id",
            "input_hash",
            "content_hash",
        ),
    )
)
"""Columns that a page shows elsewhere, as links, or not at all."""

_STATES: Final = {
    "merged": "It was merged into another row. Searches find that one.",
    "archived": "It is archived: searches leave it out. An undo of the change below restores it.",
    "quarantined": "It is in quarantine: no search finds it until a person decides about it.",
    "retired": "It was retired: searches leave it out, and it stays on record.",
    "ended": "It is no longer true: the time in which it held is over.",
    "forgotten": "It was forgotten: its words are not shown. They stay on record until the claim is deleted for good.",
    "superseded": "A newer fact supersedes it.",
    "inactive": "It is no longer active: searches leave it out.",
    "earlier version": "This is how the page read before it was changed.",
}
"""State of a row that is not live → what that means."""

_GONE_TO: Final = ("Merged into", "Replaced by", "Superseded by", "Current version")
"""Headings of the neighbours that took the place of a row."""

_NO_FORGET: Final = {
    "facts": "A part of this text is not shown here. `slowwave forget NAMESPACE --match TEXT` plans to delete rows by their text.",
    "relationships": "One relationship cannot be forgotten by itself. Forget one of its entities, or propose a statement that corrects it.",
    "pages": "This page is rendered from memories by nights, so it changes with them. Forget or correct the memories that it shows.",
    "documents": "This document was imported and has no path, so it is not a page that can be changed. Forget the memories made from it.",
}
"""Kind of row that cannot be forgotten → the sentence that says so, with the remedy."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The part of a namespace that an address selects; empty fields select everything."""

    list: str = ""
    text: str = ""
    session: str = ""
    every: bool = False
    page: int = 1

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> Shown:
        """Build the selection from the parameters of an address; unknown values are ignored."""
        name, number = parameters.get("list", ""), parameters.get("page", "")
        text = parameters.get("text", "").replace("\x00", "").strip()[:500]
        return cls(
            name if name in LISTS else "" if text else "memories",
            text,
            parameters.get("session", "").replace("\x00", "")[:200],
            parameters.get("state", "") == "all",
            max(1, int(number)) if number.isascii() and number.isdecimal() and len(number) < 6 else 1,
        )

    def query(self, **more: Any) -> str:
        """Return the selection as the query of an address, with the fields in ``more`` replaced."""
        other = replace(self, **more)
        values = {
            "list": other.list,
            "text": other.text,
            "session": other.session,
            "state": "all" if other.every else "",
            "page": other.page if other.page > 1 else "",
        }
        return urlencode({name: value for name, value in values.items() if value})


class MemoryPages:
    """The pages of a desk on which people look at stored rows."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """Return the routes of these pages, which begin with ``/memory``."""
        row = "/memory/{namespace:path}/{kind:str}/{row:uuid}"
        return [
            Route("/memory", self.index),
            Route(f"{row}/propose", self.propose, methods=["POST"]),
            Route(f"{row}/forget", self.forget, methods=["POST"]),
            Route(row, self.row),
            Route("/memory/{namespace:path}", self.rows),
        ]

    def index(self, request: Request) -> Response:
        """List the namespaces, or show the only one."""
        names = [self._desk.only] if self._desk.only else namespaces(self._desk.store)
        if len(names) == 1:
            return RedirectResponse(address(names[0]), 303)
        return page("memory_index.html", {**_bar(request), "namespaces": [(name, address(name)) for name in names]})

    def rows(self, request: Request) -> Response:
        """Show a list of a namespace, or what a search found in it."""
        namespace, shown = self._namespace(request), Shown.from_parameters(request.query_params)
        with self._desk.store.connect("reader") as connection:
            rows = NamespaceRows(connection, namespace)
            counts = rows.counts(every=shown.every)
            warnings: tuple[str, ...] = ()
            ranked = bool(shown.text) and rows.store is None and shown.list in ("", *_SEARCHED) and not shown.session
            if ranked:
                found, warnings = rows.search(shown.text, every=shown.every)
                wanted = LISTS.get(shown.list, ())
                found = [row for row in found if not wanted or row.kind in wanted]
            else:
                shown = replace(shown, list=shown.list or "memories")
                found = rows.listed(
                    shown.list, text=shown.text, session=shown.session, every=shown.every, page=shown.page
                )
                warnings = (_BY_TEXT,) if shown.text and rows.store else ()
            store = rows.store.name if rows.store else ""
        path = address(namespace)
        more = not ranked and len(found) > PAGE
        values = {
            **_bar(request),
            "namespace": namespace,
            "path": path,
            "store": store,
            "shown": shown,
            "tabs": [
                *(
                    [("", "All found", f"{path}?{shown.query(list='', page=1)}", "")]
                    if shown.text and not store
                    else []
                ),
                *(
                    (
                        name,
                        label,
                        f"{path}?{shown.query(list=name, page=1)}",
                        "" if shown.text else _count(counts[name]),
                    )
                    for name, label in LABELS.items()
                ),
            ],
            "rows": [(row, row_address(namespace, row)) for row in found[:PAGE]],
            "stored": sum(counts.values()),
            "all": "" if shown.text or shown.session else _count(counts[shown.list]),
            "first": (shown.page - 1) * PAGE + 1,
            "warnings": warnings,
            "ranked": ranked,
            "best": PAGE,
            "label": LABELS.get(shown.list, "rows").lower(),
            "previous": f"{path}?{shown.query(page=shown.page - 1)}" if shown.page > 1 else "",
            "next": f"{path}?{shown.query(page=shown.page + 1)}" if more else "",
            "all_states": f"{path}?{shown.query(every=True, page=1)}",
            "bare": f"{path}?{shown.query(text='', session='', page=1)}",
        }
        return page("memory_list.html", values)

    def row(self, request: Request) -> Response:
        """Show one row."""
        try:
            return self._row_page(request)
        except NotInCorpus as problem:
            return page("refusal.html", {"message": str(problem)}, 404)

    def propose(self, request: Request) -> Response:
        """Make a proposal of the form's statement or page, and its plan."""
        return self._planned(request, self._propose)

    def forget(self, request: Request) -> Response:
        """Make a plan, or a proposal with its plan, that forgets a row."""
        return self._planned(request, self._forget)

    def _planned(self, request: Request, make: Callable[[Request, WholeRow], str]) -> Response:
        """Open the plan that ``make`` seals, or show the row with the reason for a refusal."""
        try:
            made = make(request, self._read(request))
        except Refused as problem:
            return self._row_page(request, str(problem))
        return RedirectResponse(f"/plans/{made}/sign", 303)  # such a plan has no questions to answer first

    def _propose(self, request: Request, whole: WholeRow) -> str:
        form = form_of(request)
        if whole.row.kind == "documents":
            page_change = {
                "kind": "replace",
                "target": str(whole.properties.get("path") or ""),
                "content": form.get("content", "").replace("\r\n", "\n"),
                "expected_hash": form.get("expected_hash", ""),
            }
            return self._sealed(request, {"page": page_change}, form.get("reason", ""))
        statement: dict[str, object] = {
            "subject": form.get("subject", ""),
            "content": form.get("statement", "").replace("\r\n", "\n"),
            "scope": form.get("scope") or None,
            "origin_surface": "review",
        }
        if claim := _claim(whole):
            statement |= claim | {"action": "replace"}
        return self._sealed(request, {"statement": statement}, form.get("reason", ""))

    def _forget(self, request: Request, whole: WholeRow) -> str:
        form, row = form_of(request), whole.row
        reason = form.get("reason", "")
        if row.kind == "documents" and whole.properties.get("path"):
            gone = {"kind": "forget", "target": str(whole.properties["path"]), "reason": reason}
            return self._sealed(request, {"page": gone}, reason)
        if (claim := _claim(whole)) and row.state != "forgotten" and form.get("how") != "delete":
            ended = {"action": "forget", "reason": reason, "origin_surface": "review"}
            return self._sealed(request, {"statement": ended | claim}, reason)
        from slowwave.wiki.forget import plan_forgetting

        if (selector := _selector(whole)) is None:
            raise Refused(f"{_NO_FORGET[row.kind]} Nothing was planned.")
        by, value = selector
        namespace = self._namespace(request)
        planned = plan_forgetting(
            self._desk.store, namespace, by, value, reason=reason, author=reviewer_of(request).name
        )
        return planned.plan_hash

    def _sealed(self, request: Request, change: Mapping[str, object], reason: str) -> str:
        """Store a proposal of one change, seal its plan and return the plan's hash.

        Raises ``Refused`` if it cannot be planned or was decided before.
        """
        from slowwave.search.request import settings_of
        from slowwave.wiki.proposal_request import ProposalByIdRequest, ProposalRequest
        from slowwave.wiki.proposals import proposal, propose, settle

        store, namespace = self._desk.store, self._namespace(request)
        try:
            asked = ProposalRequest.model_validate(
                {"actions": [change], "reason": reason, "agent": reviewer_of(request).name}
            )
        except ValidationError as problem:
            _refuse_fault(problem)
        with store.connect("owner") as connection:
            refuse_connected(connection, [namespace])
            kept = propose(connection, namespace, asked, settings_of(connection, namespace))
        if kept.status == "kept":
            settle(store, namespace, id_=kept.id)
            with store.connect("reader") as connection:
                kept = proposal(connection, namespace, ProposalByIdRequest(id=kept.id))
        if kept.plan_hash is None:
            raise Refused(
                kept.message
                or f"The proposal {kept.id[:8]} is stored, and `slowwave proposals plan {argument(namespace)}` makes its plan."
            )
        if kept.status not in ("pending", "approved"):
            raise Refused(
                f"The same change was proposed before, and its plan {kept.plan_hash[:12]} is {kept.status.replace('_', ' ')}. "
                "Nothing was planned again, because what it rests on has not changed."
            )
        return kept.plan_hash

    def _read(self, request: Request) -> WholeRow:
        kind, id_ = str(request.path_params["kind"]), str(request.path_params["row"])
        namespace = self._namespace(request)
        if kind in KINDS:
            with self._desk.store.connect("reader") as connection:
                found = NamespaceRows(connection, namespace).row(kind, id_)
            if found is not None:
                return found
        raise NotInCorpus(f"{namespace} has no such row. It was forgotten or deleted, or the address is incomplete.")

    def _row_page(self, request: Request, problem: str = "") -> Response:
        namespace, whole = self._namespace(request), self._read(request)
        kind, id_ = whole.row.kind, whole.row.id
        with self._desk.store.connect("reader") as connection:
            rows = NamespaceRows(connection, namespace)
            wanted = request.query_params.get("passage", "")
            passage = rows.passage(id_, wanted) if _is_id(wanted) and kind == "documents" else None
            store = rows.store.name if rows.store else ""
        text = whole.body if kind in ("documents", "pages") else whole.text
        begin, end, marked = _piece(text, request.query_params.get("begin", ""), passage)
        path = row_address(namespace, whole.row)
        form = form_of(request) if problem else {}
        gone = _plain(whole.properties.get("invalidated_at") or "", "invalidated_at")
        # One time is enough: a row that ended in the world on the day on which it was retired shows the latter, in its first sentence.
        over = (
            ("invalidated_at", *(("valid_to",) if gone[:10] in str(whole.properties.get("valid_to")) else ()))
            if gone
            else ()
        )
        values = {
            **_bar(request),
            "namespace": namespace,
            "path": path,
            "list_path": address(namespace),
            "list": next(name for name, kinds in LISTS.items() if kind in kinds),
            "labels": LABELS,
            "row": whole.row,
            "whole": whole,
            "heading": whole.row.text if kind in ("documents", "pages") else "",
            "pieces": [visible(text[at:to]) for at, to in ((begin, marked[0]), marked, (marked[1], end))],
            "length": len(text),
            "begin": begin,
            "end": end,
            "before": f"{path}?begin={max(0, begin - PIECE)}" if begin else "",
            "after": f"{path}?begin={end}" if end < len(text) else "",
            "properties": _properties({name: value for name, value in whole.properties.items() if name not in over}),
            "origin": ", ".join(
                dict.fromkeys(str(part) for name in ("source", "external_id") if (part := whole.properties.get(name)))
            ),
            "session": str(whole.properties.get("session_id") or ""),
            "sources": [
                (one, f"{_address(namespace, 'documents', one.document)}?{urlencode({'passage': one.passage})}#passage")
                for one in whole.sources
            ],
            "state": _STATES.get(whole.row.state, whole.row.state)
            + (f" It ended on {gone.replace(' ', ' at ', 1)}." if gone else ""),
            "successors": _linked(namespace, whole, successors=True),
            "neighbours": _linked(namespace, whole, successors=False),
            "history": [
                (
                    event,
                    [
                        (_label(name), _plain(before, name), _plain(after, name))
                        for name, before, after in event.cells
                        if name not in over
                    ],
                )
                for event in whole.history
            ],
            "events": whole.claim.events if whole.claim else (),
            "most": MOST_NEAR,
            "problem": problem,
            "change": _change(whole, form, store),
            "forget": _forgetting(whole, store),
            "form": {name: form.get(name, "") for name in ("reason", "scope")},
            "families": _FAMILIES,
        }
        return page("memory_row.html", values, 409 if problem else 200)

    def _namespace(self, request: Request) -> str:
        """Return the namespace of an address; raise ``Refused`` for one that this server does not show."""
        namespace = str(request.path_params["namespace"])
        if self._desk.only not in (None, namespace):
            raise Refused(f"There is no namespace {namespace[:64]!r} here: this page shows {self._desk.only}.")
        return namespace


def address(namespace: str) -> str:
    """Return the address of a namespace's memory page."""
    return f"/memory/{quoted(namespace, safe='')}"


def row_address(namespace: str, row: MemoryRow) -> str:
    """Return the address of a row; that of a document's passage leads to the passage."""
    passage = f"?{urlencode({'passage': row.passage})}#passage" if row.passage else ""
    return f"{_address(namespace, row.kind, row.id)}{passage}"


def _address(namespace: str, kind: str, id_: str) -> str:
    return f"{address(namespace)}/{kind}/{id_}"


def _linked(namespace: str, whole: WholeRow, *, successors: bool) -> list[tuple[str, list[tuple[MemoryRow, str]]]]:
    """Return the neighbours of a row with their addresses: those that took its place, or the others."""
    return [
        (heading, [(row, row_address(namespace, row)) for row in near])
        for heading, near in whole.neighbours
        if (heading in _GONE_TO) == successors
    ]


def _claim(whole: WholeRow) -> dict[str, object] | None:
    """Return the claim that a row is, as the fields of a statement; None for other rows."""
    if whole.claim is None:
        return None
    return {"subject": whole.claim.subject_ref, "kind": whole.claim.kind, "claim_ids": [whole.row.id]}


def _selector(whole: WholeRow) -> tuple[Any, str] | None:
    """Return the selector of ``slowwave forget`` that means a row, or None."""
    match whole.row.kind:
        case "memories":
            return "memory", whole.row.id
        case "entities":
            return "entity", whole.row.id
        case "facts" if whole.raw:
            return "match", whole.raw
        case _:
            return None


def _change(whole: WholeRow, form: Mapping[str, str], store: str) -> dict[str, object] | None:
    """Return what the form for a change shows; None if nothing can be proposed about the row."""
    kind, properties = whole.row.kind, whole.properties
    if store or kind == "pages" or whole.row.state:
        return None
    raw = (
        whole.raw if visible(whole.raw) == escape(whole.raw) else ""
    )  # characters that nobody sees are no text to start from
    if kind == "documents":
        can = properties.get("path") and whole.root not in (EVIDENCE_ROOT, SESSIONS_ROOT, "")
        if not can or not raw or len(raw) > EDITED:
            return None
        return {"way": "page", "content": form.get("content", raw), "hash": properties.get("content_hash") or ""}
    subject = {
        "memories": properties.get("subject"),
        "entities": properties.get("name"),
        "facts": properties.get("subject"),
    }.get(kind) or (whole.neighbours[0][1][0].text if kind == "relationships" and whole.neighbours else "")
    return {
        "way": "claim" if _claim(whole) else "statement",
        "subject": form.get("subject", str(subject or "")),
        "statement": form.get("statement", "" if kind == "entities" else raw),
    }


def _forgetting(whole: WholeRow, store: str) -> dict[str, str]:
    """Return how a row can be forgotten: ``way`` is its form, empty if there is none, and ``says`` what follows."""
    kind = whole.row.kind
    if store:
        return {
            "way": "",
            "says": f"Slowwave changes the store {store} only by plans of nights. Change or delete this row with the program that owns it.",
        }
    if whole.row.state == "earlier version":
        return {"way": "", "says": "This is an earlier version of a page: it is forgotten with the page."}
    if kind == "documents" and whole.properties.get("path"):
        if whole.root in (EVIDENCE_ROOT, SESSIONS_ROOT):
            return {
                "way": "",
                "says": "This page is evidence: it is kept unchanged, and is forgotten with what was made from it.",
            }
        return {"way": "page", "says": "The plan ends this page and leaves a page that states why. It can be undone."}
    if _selector(whole) is None:
        return {"way": "", "says": _NO_FORGET[kind]}
    says = {
        "memories": "The plan deletes this memory for good, with its versions and passage. It cannot be undone once applied.",
        "entities": "The plan deletes this entity for good, and each row that contains one of its names. It cannot be undone once applied.",
        "facts": "The plan deletes each row that contains the text of this fact, for good. It cannot be undone once applied.",
    }[kind]
    return {"way": "claim" if _claim(whole) and whole.row.state != "forgotten" else "delete", "says": says}


def _properties(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the properties of a row that have a value, as label and text."""
    found: list[tuple[str, str]] = []
    for column, value in row.items():
        if column in _HIDDEN or _is_empty(value):
            continue
        if isinstance(value, dict):
            found += [(f"{column}: {key}", _plain(part)) for key, part in value.items() if not _is_empty(part)]
        else:
            found.append((_label(column), _plain(value, column)))
    return found


def _is_empty(value: object) -> bool:
    return value in (None, "", [], {}) or value is False


def _label(column: str) -> str:
    return _COLUMNS.get(column) or plain_name(column).capitalize()


def _plain(value: object, column: str = "") -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    text = str(value)
    is_instant = text[:4].isdecimal() and (column.endswith("_at") or column.startswith("valid_"))
    return f"{text[:16].replace('T', ' ')} UTC" if is_instant else text


def _piece(text: str, asked: str, passage: tuple[str, int] | None) -> tuple[int, int, tuple[int, int]]:
    """Return where the piece of a text begins and ends that a page shows, and the part in it that is marked.

    The part is a passage: its text, or the line where it begins if the text differs, as after a redaction.
    """
    begin = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 8 else 0
    marked = (0, 0)
    if passage is not None:
        at = text.find(passage[0]) if passage[0] else -1
        if at >= 0:
            marked = (at, at + len(passage[0]))
        elif passage[1]:
            lines = text.splitlines(keepends=True)
            at = sum(map(len, lines[: passage[1] - 1]))
            marked = (at, at + len(lines[passage[1] - 1].rstrip())) if passage[1] <= len(lines) else (0, 0)
        begin = marked[0] // PIECE * PIECE
    begin = min(begin, max(0, len(text) - 1))
    end = min(begin + PIECE, len(text))
    inside = (max(marked[0], begin), min(marked[1], end))
    return begin, end, inside if inside[0] < inside[1] else (end, end)


def _count(number: int) -> str:
    return f"{COUNTED:,}+" if number > COUNTED else f"{number:,}"


def _is_id(text: str) -> bool:
    return len(text) == 36 and all(c in "0123456789abcdef-" for c in text)


def _bar(request: Request) -> dict[str, object]:
    return {"reviewer": reviewer_of(request).name, "form_token": reviewer_of(request).form_token}


def _refuse_fault(problem: ValidationError) -> NoReturn:
    """Raise ``Refused`` with the first invalid field of a form."""
    first = problem.errors()[0]
    name = str(first["loc"][-1]) if first["loc"] else ""
    raise Refused(f"{f'{name}: ' if name else ''}{plain_fault(first['msg'])}. Nothing was proposed.") from None
