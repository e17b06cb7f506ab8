"""The page of questions that look decided by the answers so far: what they have in common, the least sure of them, one answer for all."""

from __future__ import annotations

import hashlib
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from slowwave.errors import Refused
from slowwave.plans.ledger import StoredPlan
from slowwave.proposals.answers import answer_many
from slowwave.reports.waterfall import percent
from slowwave.review.drafts import NewDraft, Verdict, read_drafts
from slowwave.review.learning import ENOUGH, LIKE, LikeQuestions
from slowwave.review.queue import Queue, queue
from slowwave.reviewing.desk import Desk
from slowwave.reviewing.entrance import Reviewer
from slowwave.reviewing.guard import Posted
from slowwave.reviewing.plan_pages import SAMPLE, bar_values, refuse_problem
from slowwave.reviewing.queue_view import queue_row
from slowwave.reviewing.rendering import page
from slowwave.texts.quotation import quotable

_AS: Final[dict[str, Verdict]] = {"yes": "yes", "no": "no"}


class DecidedPages:
    """The pages of a desk on which the rest of a kind is answered as some of it were."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """Their routes, from ``/plans/`` on."""
        plan = "/plans/{plan:str}/decided"
        return [Route(plan, self.asked), Route(plan, self.answer, methods=["POST"])]

    def asked(self, request: Request) -> Response:
        """The groups that look decided, each with a sample."""
        plan, found = self._read(request)
        waiting, path = {w.id: w for w in found.items}, f"/plans/{plan.plan_hash}"
        groups = [
            {
                "of": group,
                "says": quotable(group.says),
                "known_by": known_by(group),
                "sample": [
                    (queue_row(w, f"{path}?item={w.id}"), percent(w.probability if w.learnt is None else w.learnt))
                    for w in (waiting[id_] for id_ in group.items[:SAMPLE])
                ],
            }
            for group in found.look_decided
        ]
        reviewer: Reviewer = request.state.reviewer
        values = {**bar_values(plan, found, reviewer), "groups": groups, "enough": ENOUGH, "like": LIKE}
        return page("decided.html", values)

    def answer(self, request: Request) -> Response:
        """Draft the verdict of a group for all of its questions: those of the page, or none."""
        plan, found = self._read(request)
        said: Posted = request.state.said
        named = said.form.get("known_by", [""])[0]
        group = next((g for g in found.look_decided if known_by(g) == named), None)
        if group is None:
            raise Refused(
                "Other questions look decided now than the page said: somebody answered meanwhile. Nothing was written. "
                "Go back and look again."
            )
        drafts = [NewDraft(id_, _AS[group.verdict], group.note) for id_ in group.items]
        reviewer: Reviewer = request.state.reviewer
        refuse_problem(answer_many(self._desk.store, plan, drafts, by=reviewer.name))
        return RedirectResponse(f"/plans/{plan.plan_hash}", 303)

    def _read(self, request: Request) -> tuple[StoredPlan, Queue]:
        plan = self._desk.plan(str(request.path_params["plan"]))
        return plan, queue(plan, read_drafts(self._desk.store, plan.header.namespace, plan.plan_hash))


def known_by(group: LikeQuestions) -> str:
    """What names a group: its verdict and its very items, so that an answer never covers others than were shown."""
    return hashlib.sha256("\n".join((group.verdict, *group.items)).encode()).hexdigest()[:32]
