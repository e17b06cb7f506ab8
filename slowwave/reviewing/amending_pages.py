"""The page on which a reviewer makes something else of a question: takes members out of a merge, or words a proposed text anew.

What is made is a plan of its own (``slowwave.proposals.amended_items``), and its page follows: it is looked at and signed there.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from slowwave.errors import Refused
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.proposals.amended_items import MOST_CHARACTERS, Amended, amendable, edit, split
from slowwave.review.drafts import read_drafts
from slowwave.review.queue import queue, title_of
from slowwave.reviewing.desk import Desk
from slowwave.reviewing.guard import Posted
from slowwave.reviewing.plan_pages import bar_values
from slowwave.reviewing.rendering import page
from slowwave.texts.quotation import quotable


class AmendingPages:
    """The pages of a desk on which items are amended."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """Their routes, from ``/plans/`` on."""
        plan = "/plans/{plan:str}"
        return [
            Route(f"{plan}/amend", self.asked),
            Route(f"{plan}/split", self.split, methods=["POST"]),
            Route(f"{plan}/edit", self.edit, methods=["POST"]),
        ]

    def asked(self, request: Request) -> Response:
        """The members of a merge, or the text that is proposed, with what would come of a change."""
        return self._shown(request, request.query_params.get("item", ""))

    def split(self, request: Request) -> Response:
        """Take the members out that a form names."""
        plan, form = self._plan(request), _form(request)
        item, out = form.get("item", [""])[0], form.get("out", [])
        try:
            made = split(
                *(self._desk.store, plan.header.namespace, plan.plan_hash, item),
                out=out,
                by=request.state.reviewer.name,
            )
        except Refused as problem:
            return self._shown(request, item, str(problem))
        return _to(made)

    def edit(self, request: Request) -> Response:
        """Propose the words of a form in place of a planner's."""
        plan, form = self._plan(request), _form(request)
        item, text = form.get("item", [""])[0], form.get("text", [""])[0]
        try:
            made = edit(
                *(self._desk.store, plan.header.namespace, plan.plan_hash, item),
                text=text,
                by=request.state.reviewer.name,
            )
        except Refused as problem:
            return self._shown(request, item, str(problem), typed=text)
        return _to(made)

    def _shown(self, request: Request, item: str, problem: str = "", typed: str = "") -> Response:
        plan = self._plan(request)
        stored = next((s for s in plan.items if s.id == item), None)
        way = amendable(stored) if stored else ""
        if stored is None or not way:
            raise Refused("Of that question nothing can be taken out, and it proposes no text. Nothing was changed.")
        drafts = read_drafts(self._desk.store, plan.header.namespace, plan.plan_hash)
        values: Mapping[str, object] = {
            **bar_values(plan, queue(plan, drafts), request.state.reviewer),
            "item": item,
            "title": quotable(title_of(stored)),
            "way": way,
            "members": _members(stored) if way == "split" else [],
            "text": typed or (_text(stored) if way == "edit" else ""),
            "most": MOST_CHARACTERS,
            "problem": problem,
        }
        return page("amend.html", values, 409 if problem else 200)

    def _plan(self, request: Request) -> StoredPlan:
        return self._desk.plan(str(request.path_params["plan"]))


def _members(stored: StoredItem) -> list[tuple[str, str]]:
    """Id and name of each member of a merge, the survivor first."""
    item = stored.item
    rows = (*((item.mutation.keep,) if item.mutation.keep else ()), *item.mutation.absorb)
    given = item.evidence.get("names")
    names = [str(quotable(str(n))) for n in given] if isinstance(given, list) and len(given) == len(rows) else []
    return [(row.id, names[n] if names else row.external_id or row.id) for n, row in enumerate(rows)]


def _text(stored: StoredItem) -> str:
    """The text that an item proposes, without secrets."""
    said = (i.values.get("content") for i in stored.item.mutation.inserts if i.table == "memory_versions")
    return str(quotable(str(next(said, ""))))


def _to(made: Amended) -> Response:
    return RedirectResponse(f"/plans/{made.plan_hash}?item={made.item}", 303)


def _form(request: Request) -> dict[str, list[str]]:
    said: Posted = request.state.said
    return said.form
