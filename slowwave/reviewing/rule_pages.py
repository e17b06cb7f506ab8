"""The page of what answers teach in words: rules that a person accepts for the nights to come, and the policies that stand."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from slowwave.errors import Refused
from slowwave.plans.countersigning import read_rule
from slowwave.plans.ledger import StoredPlan
from slowwave.plans.policies import MOST_A_NIGHT, read_policies, revoke_policy
from slowwave.reports.waterfall import percent
from slowwave.review.drafts import read_drafts
from slowwave.review.queue import queue
from slowwave.review.rules import AGREED, ENOUGH, accept_rule, learnt_rules
from slowwave.reviewing.desk import Desk
from slowwave.reviewing.entrance import Reviewer
from slowwave.reviewing.guard import Posted
from slowwave.reviewing.plan_pages import SAMPLE, bar_values
from slowwave.reviewing.queue_view import queue_row
from slowwave.reviewing.rendering import page
from slowwave.texts.quotation import quotable


class RulePages:
    """The pages of a desk on which a kind of question is accepted or taken back."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """Their routes, from ``/plans/`` on."""
        path = "/plans/{plan:str}/rules"
        return [
            Route(path, self.shown),
            Route(path, self.accept, methods=["POST"]),
            Route(f"{path}/revoke", self.revoke, methods=["POST"]),
        ]

    def shown(self, request: Request) -> Response:
        """The rules that the drafts bear out, each with the questions that it would take now, and the policies of the namespace."""
        plan = self._plan(request)
        namespace, path = plan.header.namespace, f"/plans/{plan.plan_hash}"
        drafts = read_drafts(self._desk.store, namespace, plan.plan_hash)
        with self._desk.store.connect("reader") as connection:
            policies = read_policies(connection, namespace)
            signing = read_rule(connection, namespace)
        found = queue(plan, drafts)
        waiting = {w.id: w for w in found.items}
        rules: list[dict[str, Any]] = [
            {
                "of": rule,
                "key": rule.key,
                "says": quotable(_capital(rule.kind.sentence())),
                "bound": percent(rule.bound),
                "sample": [queue_row(waiting[id_], f"{path}?item={id_}") for id_ in rule.open[:SAMPLE]],
            }
            for rule in learnt_rules(plan, drafts, policies)
        ]
        values = {
            **bar_values(plan, found, self._reviewer(request)),
            **{"rules": rules, "enough": ENOUGH, "share": f"{AGREED:.0%}", "most": MOST_A_NIGHT},
            "more_eyes": signing.signatures > 1 or signing.not_author,
            "policies": [{"of": one, "says": quotable(_capital(one.says))} for one in reversed(policies)],
        }
        return page("rules.html", values)

    def accept(self, request: Request) -> Response:
        """Accept a rule in the reviewer's name, with a limit a night."""
        plan, form = self._plan(request), self._form(request)
        limit = form.get("per_night", "")
        if not (limit.isascii() and limit.isdecimal() and len(limit) < 6):
            raise Refused("The limit is a number of items a night. Nothing was accepted.")
        name = self._reviewer(request).name
        accept_rule(self._desk.store, plan, form.get("key", ""), accepted_by=name, per_night=int(limit))
        return RedirectResponse(f"/plans/{plan.plan_hash}/rules", 303)

    def revoke(self, request: Request) -> Response:
        """End a policy of the plan's namespace."""
        plan, form = self._plan(request), self._form(request)
        revoke_policy(
            *(self._desk.store, plan.header.namespace, form.get("policy", "")),
            revoked_by=self._reviewer(request).name,
            reason=form.get("reason", ""),
        )
        return RedirectResponse(f"/plans/{plan.plan_hash}/rules", 303)

    def _plan(self, request: Request) -> StoredPlan:
        return self._desk.plan(str(request.path_params["plan"]))

    def _reviewer(self, request: Request) -> Reviewer:
        return request.state.reviewer

    def _form(self, request: Request) -> dict[str, str]:
        said: Posted = request.state.said
        return {name: values[0] for name, values in said.form.items()}


def _capital(said: str) -> str:
    """A sentence as a heading begins."""
    return said[:1].upper() + said[1:]
