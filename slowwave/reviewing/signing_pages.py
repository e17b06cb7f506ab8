"""What follows the verdicts: the page on which a person signs them, and the one on which what was signed is applied and taken back.

Who signs is who came in. What is applied is an approval as the gate wrote it; nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from slowwave.applying.executor import apply_approval
from slowwave.applying.undo import undo_run
from slowwave.errors import ProbesFailed, Refused
from slowwave.plans.commands import argument, countersign_command
from slowwave.plans.countersigning import countersign
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.policies import read_policies
from slowwave.plans.signatures import read_rule, signed_by
from slowwave.review.drafts import read_drafts
from slowwave.review.item_diffs import ItemDiff, item_diffs
from slowwave.review.queue import queue
from slowwave.review.rules import learnt_rules
from slowwave.review.session import read_session, resting_on_decided, session_digest, sign_session
from slowwave.review.signing import CHANNEL
from slowwave.reviewing.card_view import marked_lines
from slowwave.reviewing.desk import Desk, SignedApproval
from slowwave.reviewing.entrance import Reviewer
from slowwave.reviewing.guard import Posted
from slowwave.reviewing.plan_pages import bar_values
from slowwave.reviewing.rendering import page

_PART: Final = 100
"""Items that one foldable part of a list holds; each list shows all of its items."""

_LISTED: Final = ("pending", "deferred")

_OPEN: Final = 50
"""A list of at most so many items is unfolded when the page opens."""


class SigningPages:
    """The pages of a desk on which verdicts begin to count."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """Their routes, from ``/plans/`` on."""
        plan = "/plans/{plan:str}"
        return [
            Route(f"{plan}/sign", self.asked),
            Route(f"{plan}/sign", self.sign, methods=["POST"]),
            Route(f"{plan}/signed", self.signed),
            Route(f"{plan}/countersign", self.countersign, methods=["POST"]),
            Route(f"{plan}/apply", self.apply, methods=["POST"]),
            Route(f"{plan}/take-back", self.take_back, methods=["POST"]),
        ]

    def asked(self, request: Request) -> Response:
        """What a signature would cover."""
        return self._sign_page(request)

    def sign(self, request: Request) -> Response:
        """Sign; where a probe fails, ask again with its reasons, and whether it is right all the same."""
        plan, form = self._plan(request), _form(request)
        decided, force, note = "include_decided" in form, "force" in form, form.get("note", "")
        if force and not note.strip():
            return self._sign_page(request, "To approve it all the same takes a note that says why.", failed=True)
        try:
            sign_session(
                self._desk.store,
                plan.header.namespace,
                plan.plan_hash,
                reviewer=_reviewer(request).name,
                include_decided=decided,
                force=force,
                note=note,
                shown=form.get("shown", ""),
            )
        except ProbesFailed as problem:
            return self._sign_page(request, str(problem), failed=True)
        except Refused as problem:
            return self._sign_page(request, str(problem), failed=force)
        return RedirectResponse(f"/plans/{plan.plan_hash}/signed", 303)

    def signed(self, request: Request) -> Response:
        """What was approved and rejected of a plan, and what became of it."""
        plan = self._plan(request)
        approvals, rejected = self._desk.signed(plan.plan_hash)
        drafts = read_drafts(self._desk.store, plan.header.namespace, plan.plan_hash)
        values = {
            **bar_values(plan, queue(plan, drafts), _reviewer(request)),
            "approvals": [_approval(one, _reviewer(request).name) for one in approvals],
            "rejected": rejected,
            "countersign_command": countersign_command(plan.header.namespace, plan.plan_hash),
            "apply_command": f"slowwave apply {argument(plan.header.namespace)}",
        }
        return page("signed.html", values)

    def countersign(self, request: Request) -> Response:
        """Sign what others approved of a plan and what lacks a signature."""
        plan = self._plan(request)
        name, note = _reviewer(request).name, _form(request).get("note", "")
        countersign(
            *(self._desk.store, plan.header.namespace, plan.plan_hash), signed_by=name, channel=CHANNEL, note=note
        )
        return RedirectResponse(f"/plans/{plan.plan_hash}/signed", 303)

    def apply(self, request: Request) -> Response:
        """Apply an approval of this plan, until it is done."""
        plan = self._plan(request)
        approval = self._approval(plan, request)
        apply_approval(self._desk.store, approval.approval_id)
        return RedirectResponse(f"/plans/{plan.plan_hash}/signed", 303)

    def take_back(self, request: Request) -> Response:
        """Undo the run that applied an approval of this plan."""
        plan = self._plan(request)
        approval = self._approval(plan, request)
        if approval.run_id is None:
            raise Refused("That approval was not applied, so there is nothing to take back.")
        undo_run(self._desk.store, approval.run_id, namespace=plan.header.namespace)
        return RedirectResponse(f"/plans/{plan.plan_hash}/signed", 303)

    def _sign_page(self, request: Request, problem: str = "", *, failed: bool = False) -> Response:
        plan, form = self._plan(request), _form(request)
        session = read_session(self._desk.store, plan.header.namespace, plan.plan_hash)
        plan, drafts, covers = session[0].plan, session[0].drafts, session[0].covers
        found = queue(plan, drafts)
        deferred = [s for s in plan.items if s.status == "deferred"]
        described = {
            d.id: d
            for one in session
            for d in item_diffs(self._desk.store, one.plan, [s for s in one.plan.items if s.status in _LISTED])
        }
        late = resting_on_decided(session)
        resting = [s for one in session if one.plan.plan_hash in late for s in (*one.covers.yes, *one.covers.no)]
        yes = [s for one in session if one.plan.plan_hash not in late for s in one.covers.yes]
        no = [s for one in session if one.plan.plan_hash not in late for s in one.covers.no]
        left = [*covers.left, *(s for one in session[1:] for s in (*one.covers.left, *one.covers.decided))]

        def listed(items: Sequence[StoredItem]) -> list[dict[str, object]]:
            return _by_heading([described[s.id] for s in items])

        with self._desk.store.connect("reader") as connection:
            rule = read_rule(connection, plan.header.namespace)
            policies = read_policies(connection, plan.header.namespace)
        values = {
            "rule": rule.sentence() if rule.signatures > 1 or rule.not_author else "",
            **bar_values(plan, found, _reviewer(request)),
            "learnt": len(learnt_rules(plan, drafts, policies)),
            "problem": problem,
            "failed": failed,
            "include_decided": "include_decided" in form,
            "note": form.get("note", ""),
            "shown_digest": session_digest(session),
            "session_plans": [one.plan.plan_hash for one in session[1:]],
            "counts_of_session": {"yes": len(yes), "no": len(no), "left": len(left)},
            "decided": len(covers.decided),
            "left": len(left),
            "asked": {s.id: one.plan.plan_hash for one in session for s in one.plan.items if s.decision == "review"},
            "notes": {id_: draft.note for one in session for id_, draft in one.drafts.items()}
            | {s.id: s.reason for s in deferred},
            "lists": [
                ("yes", "Approved by your answers", listed(yes)),
                ("decided", "Decided by planners: approved only if the box is checked", listed(covers.decided)),
                ("no", "Rejected by your answers", listed(no)),
                ("resting", "Your answers about decided items: they count only if the box is checked", listed(resting)),
                ("left", "Left out: these questions stay open", listed(left)),
                (
                    "deferred",
                    "Left out: held back, because another item of this plan writes the same cell",
                    listed(deferred),
                ),
            ],
            "diff_command": f"slowwave plans diff {argument(plan.header.namespace)} --plan {plan.plan_hash[:12]}",
        }
        return page("sign.html", values, 409 if problem else 200)

    def _plan(self, request: Request) -> StoredPlan:
        return self._desk.plan(str(request.path_params["plan"]))

    def _approval(self, plan: StoredPlan, request: Request) -> SignedApproval:
        """The approval that a form names, if it is one of this plan."""
        named = _form(request).get("approval", "")
        approvals, _ = self._desk.signed(plan.plan_hash)
        found = next((one for one in approvals if one.approval_id == named), None)
        if found is None:
            raise Refused(f"{named[:64]!r} is no approval of this plan. Nothing was changed.")
        return found


def _by_heading(items: Sequence[ItemDiff]) -> list[dict[str, object]]:
    """Group items by kind, each kind in parts of at most ``_PART`` items that can be folded."""
    ordered = sorted(items, key=lambda d: d.heading)
    groups: list[dict[str, object]] = []
    for heading, found in groupby(ordered, key=lambda d: d.heading):
        members = [asdict(d) | {"lines": marked_lines(d.lines)} for d in found]
        parts = [{"start": n + 1, "items": members[n : n + _PART]} for n in range(0, len(members), _PART)]
        groups.append({"heading": heading, "size": len(members), "parts": parts, "open": len(items) <= _OPEN})
    return groups


def _approval(one: SignedApproval, reviewer: str) -> Mapping[str, object]:
    signers = (one.approver, *one.countersigners)
    counts = one.counts or {}
    told = ", ".join(f"{n:,} {what.replace('_', ' ')}" for what, n in counts.items() if n) or "nothing was left to do"
    return asdict(one) | {
        **{"told": told, "undo_command": f"slowwave undo {one.run_id}", "signers": signers},
        "lacks": signed_by(signers, one.missing) if one.missing else "",
        "signed_by_you": reviewer.lower() in {name.lower() for name in signers},
    }


def _reviewer(request: Request) -> Reviewer:
    return request.state.reviewer


def _form(request: Request) -> dict[str, str]:
    """The fields of a form, each as it was said first."""
    said: Posted = request.state.said
    return {name: values[0] for name, values in said.form.items()}
