"""The review page as an ASGI app, with the pages for signing, amending, rules and decided questions."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby
from typing import Any, Final

import psycopg
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from slowwave.changes.claims import ERASURES
from slowwave.errors import ProbesFailed, Refused, SlowwaveError
from slowwave.night.answers import MOST_CHARACTERS, Amended, amendable, answer_many, edit, given_answers, split
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.operations import permits
from slowwave.plans.commands import argument, countersign_command
from slowwave.plans.gate import countersign
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.policies import MOST_A_NIGHT, read_policies, revoke_policy
from slowwave.plans.review.card import ItemDiff, item_diffs
from slowwave.plans.review.drafts import (
    CHANNEL,
    NewDraft,
    Verdict,
    answered_by_person,
    read_drafts,
    read_session,
    resting_on_decided,
    session_digest,
    sign_session,
)
from slowwave.plans.review.groups import SAMPLE
from slowwave.plans.review.queue import Queue, queue, title_of
from slowwave.plans.review.rules import AGREED, ENOUGH, LIKE, LikeQuestions, accept_rule, learnt_rules
from slowwave.plans.signatures import read_rule, signed_by
from slowwave.plans.states import items_text
from slowwave.plans.waterfall import percent
from slowwave.store.connect import Store
from slowwave.surfaces.review_page.desk import Desk, SignedApproval, page
from slowwave.surfaces.review_page.guard import Entrance, RequestGuard, form_of, posted_by, reviewer_of
from slowwave.surfaces.review_page.memory_pages import MemoryPages
from slowwave.surfaces.review_page.plan_pages import (
    PlanPages,
    bar_values,
    marked_lines,
    queue_row,
    refuse_problem,
)
from slowwave.text.quotation import quotable

# The pages after the verdicts: on one a person approves them, on the other the approved items are applied and undone.
#
# The approver is the logged-in reviewer. Only an approval that the gate wrote is applied; the code below decides nothing.

_PART: Final = 100
"""Number of items in one foldable part of a list; each list shows all of its items."""

_LISTED: Final = ("pending", "deferred")

_OTHERS: Final = 5
"""Number of other pending plans to which the page after signing links."""

_OPEN: Final = 50
"""Maximum length of a list that is unfolded when the page opens."""


class SigningPages:
    """The pages of a desk on which verdicts begin to count."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """Return the routes of these pages, which begin with ``/plans/``."""
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
        """Show the items that an approval would cover."""
        return self._sign_page(request)

    def sign(self, request: Request) -> Response:
        """Sign; where a probe fails, ask again with its reasons, and whether it is right all the same."""
        plan, form = self._plan(request), form_of(request)
        decided, force, note = "include_decided" in form, "force" in form, form.get("note", "")
        if force and not note.strip():
            return self._sign_page(request, "To approve it all the same takes a note that says why.", failed=True)
        try:
            sign_session(
                self._desk.store,
                plan.header.namespace,
                plan.plan_hash,
                reviewer=reviewer_of(request).name,
                permits=permits(),
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
        """Show what was approved and rejected in the session of a plan, and the results of applying it."""
        plan, name = self._plan(request), reviewer_of(request).name
        approvals, rejected = self._desk.signed(plan.plan_hash)
        drafts = read_drafts(self._desk.store, plan.header.namespace, plan.plan_hash)
        ready = [one for one in approvals if one.ready]
        erased = [one for one in approvals if one.stand and _erases(self._desk.plan(one.plan_hash), one.item_ids)]
        values = {
            **bar_values(plan, queue(plan, drafts), reviewer_of(request)),
            "approvals": [_approval(self._desk.store, one, self._desk.plan(one.plan_hash), name) for one in approvals],
            "ready": [one.approval_id for one in ready],
            "ready_items": sum(len(one.item_ids) for one in ready),
            "applied": [one.approval_id for one in reversed(approvals) if one.stand and one not in erased],
            "applied_items": sum(one.stand for one in approvals if one not in erased),
            "erased": bool(erased),
            "rejected": rejected,
            "other_plans": [
                one
                for one in self._desk.waiting()
                if one.plan_hash not in {plan.plan_hash, *(a.plan_hash for a in approvals)}
            ][:_OTHERS],
            "countersign_command": countersign_command(plan.header.namespace, plan.plan_hash),
            "apply_command": f"slowwave apply {argument(plan.header.namespace)}",
        }
        return page("signed.html", values)

    def countersign(self, request: Request) -> Response:
        """Give the second approval to the approvals of others that lack one."""
        plan = self._plan(request)
        name, note = reviewer_of(request).name, form_of(request).get("note", "")
        countersign(
            *(self._desk.store, plan.header.namespace, plan.plan_hash), signed_by=name, channel=CHANNEL, note=note
        )
        return RedirectResponse(f"/plans/{plan.plan_hash}/signed", 303)

    def apply(self, request: Request) -> Response:
        """Apply the approvals that a form names, one after the other."""
        plan = self._plan(request)
        approvals = self._approvals(plan, request)
        for n, one in enumerate(approvals):
            with _rest_explained(n, len(approvals), "applied"):
                apply_approval(self._desk.store, one.approval_id)
        return RedirectResponse(f"/plans/{plan.plan_hash}/signed", 303)

    def take_back(self, request: Request) -> Response:
        """Undo the runs that applied the approvals that a form names, one after the other."""
        plan = self._plan(request)
        runs = [one.run_id for one in self._approvals(plan, request)]
        if None in runs:
            raise Refused("That approval was not applied, so there is nothing to take back.")
        for n, run in enumerate(run for run in runs if run):
            with _rest_explained(n, len(runs), "undone"):
                undo_run(self._desk.store, run, namespace=plan.header.namespace)
        return RedirectResponse(f"/plans/{plan.plan_hash}/signed", 303)

    def _sign_page(self, request: Request, problem: str = "", *, failed: bool = False) -> Response:
        plan, form = self._plan(request), form_of(request)
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
        made = {one.plan.plan_hash for one in session}
        replaced = {id_ for one in session for id_, draft in one.drafts.items() if draft.amended in made}
        no = [
            s for one in session if one.plan.plan_hash not in late for s in one.covers.no if s.id not in replaced
        ]  # an item that an answer replaced is listed as that answer says, not as a rejection
        given = Counter(given_answers(self._desk.store, plan, drafts).values())
        left = [*covers.left, *(s for one in session[1:] for s in (*one.covers.left, *one.covers.decided))]

        def listed(items: Sequence[StoredItem]) -> list[dict[str, object]]:
            return _by_heading([described[s.id] for s in items])

        with self._desk.store.connect("reader") as connection:
            rule = read_rule(connection, plan.header.namespace)
            policies = read_policies(connection, plan.header.namespace)
        with self._desk.store.connect("approver") as connection:
            person = {id_ for one in session for id_ in answered_by_person(connection, one.plan, one.drafts)}
        values = {
            "unchecked": sum(s.id not in person for s in yes),
            "rule": rule.sentence() if rule.signatures > 1 or rule.not_author else "",
            **bar_values(plan, found, reviewer_of(request)),
            "learnt": len(learnt_rules(plan, drafts, policies)),
            "problem": problem,
            "failed": failed,
            "include_decided": "include_decided" in form,
            "note": form.get("note", ""),
            "shown_digest": session_digest(session),
            "session_plans": [one.plan.plan_hash for one in session[1:]],
            "counts_of_session": {"yes": len(yes), "no": len(no), "left": len(left)},
            "given": dict(sorted(given.items())),
            "decided": len(covers.decided),
            "left": len(left),
            "asked": {s.id: one.plan.plan_hash for one in session for s in one.plan.items if s.is_question},
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
                    "Left out: held back, because another item of this plan changes the same value",
                    listed(deferred),
                ),
            ],
            "diff_command": f"slowwave plans diff {argument(plan.header.namespace)} {plan.plan_hash[:12]}",
        }
        return page("sign.html", values, 409 if problem else 200)

    def _plan(self, request: Request) -> StoredPlan:
        return self._desk.plan(str(request.path_params["plan"]))

    def _approvals(self, plan: StoredPlan, request: Request) -> list[SignedApproval]:
        """Return the approvals that a form names, in its order; raise ``Refused`` for one of another session."""
        posted = posted_by(request)
        named = posted.form.get("approval", [""])
        approvals, _ = self._desk.signed(plan.plan_hash)
        found = {one.approval_id: one for one in approvals}
        if unknown := next((id_ for id_ in named if id_ not in found), None):
            raise Refused(f"{unknown[:64]!r} is no approval of this plan. Nothing was changed.")
        if "" in named:
            raise Refused("No approval is named. Nothing was changed.")
        return [found[id_] for id_ in named]


@contextmanager
def _rest_explained(done: int, all_: int, verb: str) -> Generator[None]:
    """Add to an error how many of several approvals are already ``verb``."""
    try:
        yield
    except SlowwaveError as problem:
        if not done:
            raise
        raise _DoneInPart(f"{done} of {all_} approvals are {verb}, the others are not: {problem}") from problem


class _DoneInPart(Refused):
    """A refusal after a part of what was asked for is done."""


def _by_heading(items: Sequence[ItemDiff]) -> list[dict[str, object]]:
    """Group items by kind, each kind in parts of at most ``_PART`` items that can be folded."""
    ordered = sorted(items, key=lambda d: d.heading)
    groups: list[dict[str, object]] = []
    for heading, found in groupby(ordered, key=lambda d: d.heading):
        members = [asdict(d) | {"lines": marked_lines(d.lines)} for d in found]
        parts = [{"start": n + 1, "items": members[n : n + _PART]} for n in range(0, len(members), _PART)]
        groups.append({"heading": heading, "size": len(members), "parts": parts, "open": len(items) <= _OPEN})
    return groups


def _approval(store: Store, one: SignedApproval, plan: StoredPlan, reviewer: str) -> Mapping[str, object]:
    """Return an approval as the page shows it, with the changes of each of its items."""
    signers = (one.approver, *one.countersigners)
    ids = set(one.item_ids)
    return asdict(one) | {
        **{"told": items_text(one.counts), "undo_command": f"slowwave undo {one.run_id}", "signers": signers},
        "covers": len(one.item_ids),
        "erases": bool(one.stand) and _erases(plan, ids),
        "diffs": item_diffs(store, plan, [s for s in plan.items if s.id in ids]),
        "lacks": signed_by(signers, one.missing) if one.missing else "",
        "signed_by_you": reviewer.lower() in {name.lower() for name in signers},
    }


# The page on which a reviewer amends a question: takes members out of a merge, or rewords a proposed text.
#
# The result is a separate plan (``slowwave.night.answers``). Its page is shown next, and it is reviewed and approved there.


class AmendingPages:
    """The pages of a desk on which items are amended."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """Return the routes of these pages, which begin with ``/plans/``."""
        plan = "/plans/{plan:str}"
        return [
            Route(f"{plan}/amend", self.asked),
            Route(f"{plan}/split", self.split, methods=["POST"]),
            Route(f"{plan}/edit", self.edit, methods=["POST"]),
        ]

    def asked(self, request: Request) -> Response:
        """Show the members of a merge or the proposed text, and a preview of the change."""
        return self._shown(request, request.query_params.get("item", ""))

    def split(self, request: Request) -> Response:
        """Take the members out that a form names."""
        plan, form = self._plan(request), _posted_form(request)
        item, out = form.get("item", [""])[0], form.get("out", [])
        try:
            made = split(
                *(self._desk.store, plan.header.namespace, plan.plan_hash, item),
                out=out,
                by=reviewer_of(request).name,
            )
        except Refused as problem:
            return self._shown(request, item, str(problem))
        return _to(made)

    def edit(self, request: Request) -> Response:
        """Propose the words of a form in place of a planner's."""
        plan, form = self._plan(request), _posted_form(request)
        item, text = form.get("item", [""])[0], form.get("text", [""])[0]
        try:
            made = edit(
                *(self._desk.store, plan.header.namespace, plan.plan_hash, item),
                text=text,
                by=reviewer_of(request).name,
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
            **bar_values(plan, queue(plan, drafts), reviewer_of(request)),
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
    """Return the id and name of each member of a merge, the survivor first."""
    item = stored.item
    rows = (*((item.mutation.keep,) if item.mutation.keep else ()), *item.mutation.absorb)
    given = item.evidence.get("names")
    names = [str(quotable(str(n))) for n in given] if isinstance(given, list) and len(given) == len(rows) else []
    return [(row.id, names[n] if names else row.external_id or row.id) for n, row in enumerate(rows)]


def _text(stored: StoredItem) -> str:
    """Return the text that an item proposes, with markers for secrets and hidden characters."""
    contents = (i.values.get("content") for i in stored.item.mutation.inserts if i.table == "memory_versions")
    return str(quotable(str(next(contents, ""))))


def _erases(plan: StoredPlan, items: Collection[str]) -> bool:
    """Return whether some items of a plan delete rows for good, so that no undo brings them back."""
    return any(stored.item.mutation.table == ERASURES and stored.id in items for stored in plan.items)


def _to(made: Amended) -> Response:
    return RedirectResponse(f"/plans/{made.plan_hash}?item={made.item}", 303)


def _posted_form(request: Request) -> dict[str, list[str]]:
    posted = posted_by(request)
    return posted.form


# The page of the rules that answers teach: a person accepts rules for later nights and sees the policies in force.


class RulePages:
    """The pages of a desk on which a kind of question is accepted or taken back."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """Return the routes of these pages, which begin with ``/plans/``."""
        path = "/plans/{plan:str}/rules"
        return [
            Route(path, self.shown),
            Route(path, self.accept, methods=["POST"]),
            Route(f"{path}/revoke", self.revoke, methods=["POST"]),
        ]

    def shown(self, request: Request) -> Response:
        """Show the rules learned from the drafts, the questions that each would answer now, and the namespace's policies."""
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
            **bar_values(plan, found, reviewer_of(request)),
            **{"rules": rules, "enough": ENOUGH, "share": f"{AGREED:.0%}", "most": MOST_A_NIGHT},
            "more_eyes": signing.signatures > 1 or signing.not_author,
            "policies": [{"of": one, "says": quotable(_capital(one.says))} for one in reversed(policies)],
        }
        return page("rules.html", values)

    def accept(self, request: Request) -> Response:
        """Accept a rule in the reviewer's name, with a limit of items per night."""
        plan, form = self._plan(request), form_of(request)
        limit = form.get("per_night", "")
        if not (limit.isascii() and limit.isdecimal() and len(limit) < 6):
            raise Refused("The limit is a number of items a night. Nothing was accepted.")
        name = reviewer_of(request).name
        accept_rule(self._desk.store, plan, form.get("key", ""), accepted_by=name, per_night=int(limit))
        return RedirectResponse(f"/plans/{plan.plan_hash}/rules", 303)

    def revoke(self, request: Request) -> Response:
        """End a policy of the plan's namespace."""
        plan, form = self._plan(request), form_of(request)
        revoke_policy(
            *(self._desk.store, plan.header.namespace, form.get("policy", "")),
            revoked_by=reviewer_of(request).name,
            reason=form.get("reason", ""),
        )
        return RedirectResponse(f"/plans/{plan.plan_hash}/rules", 303)

    def _plan(self, request: Request) -> StoredPlan:
        return self._desk.plan(str(request.path_params["plan"]))


def _capital(sentence: str) -> str:
    """Capitalize the first letter of a sentence, for use as a heading."""
    return sentence[:1].upper() + sentence[1:]


# The page of questions that look decided by the answers so far: what they share, the least certain of them, and one answer for all.

_AS: Final[dict[str, Verdict]] = {"yes": "yes", "no": "no"}


class DecidedPages:
    """The pages of a desk on which the rest of a kind is answered as some of it were."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """Return the routes of these pages, which begin with ``/plans/``."""
        plan = "/plans/{plan:str}/decided"
        return [Route(plan, self.asked), Route(plan, self.answer, methods=["POST"])]

    def asked(self, request: Request) -> Response:
        """Show the groups of questions that look decided, each with a sample."""
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
        reviewer = reviewer_of(request)
        values = {**bar_values(plan, found, reviewer), "groups": groups, "enough": ENOUGH, "like": LIKE}
        return page("decided.html", values)

    def answer(self, request: Request) -> Response:
        """Draft the verdict of a group for all of its questions.

        Raises ``Refused``, and writes nothing, if the group is not the one that the page showed.
        """
        plan, found = self._read(request)
        posted = posted_by(request)
        named = posted.form.get("known_by", [""])[0]
        group = next((g for g in found.look_decided if known_by(g) == named), None)
        if group is None:
            raise Refused(
                "Other questions look decided now than the page said: somebody answered meanwhile. Nothing was written. "
                "Go back and look again."
            )
        drafts = [NewDraft(id_, _AS[group.verdict], group.note) for id_ in group.items]
        reviewer = reviewer_of(request)
        refuse_problem(answer_many(self._desk.store, plan, drafts, by=reviewer.name))
        return RedirectResponse(f"/plans/{plan.plan_hash}", 303)

    def _read(self, request: Request) -> tuple[StoredPlan, Queue]:
        plan = self._desk.plan(str(request.path_params["plan"]))
        return plan, queue(plan, read_drafts(self._desk.store, plan.header.namespace, plan.plan_hash))


def known_by(group: LikeQuestions) -> str:
    """Return a digest of a group's verdict and items, so that an answer never covers items that were not shown."""
    return hashlib.sha256("\n".join((group.verdict, *group.items)).encode()).hexdigest()[:32]


# The review page as an ASGI app: its routes, its files, and its error pages.

_GONE: Final = "The database does not answer. Nothing half-written stands. Try again, or run `slowwave doctor`."


def review_app(store: Store, entrance: Entrance, only: str | None = None) -> Starlette:
    """Build the review page of a store, or of the namespace ``only``, for the people whom ``entrance`` admits."""
    desk = Desk(store, only)

    def plans(request: Request) -> Response:
        waiting = desk.waiting()
        if len(waiting) == 1:
            return RedirectResponse(f"/plans/{waiting[0].plan_hash}", 303)
        reviewer = reviewer_of(request)
        return page("plans.html", {"plans": waiting, "reviewer": reviewer.name})

    return Starlette(
        routes=[
            Route("/", plans),
            *PlanPages(desk).routes(),
            *SigningPages(desk).routes(),
            *AmendingPages(desk).routes(),
            *DecidedPages(desk).routes(),
            *RulePages(desk).routes(),
            *MemoryPages(desk).routes(),
            Mount("/static", StaticFiles(packages=[("slowwave.surfaces.review_page", "static")])),
        ],
        middleware=[Middleware(RequestGuard, entrance)],
        exception_handlers={SlowwaveError: _refused, psycopg.OperationalError: _gone, HTTPException: _wrong},
    )


def _refused(request: Request, problem: Exception) -> Response:
    """Answer an exception: status 409 for ``Refused``, 503 for any other error of Slowwave, which comes from the store."""
    status = 409 if isinstance(problem, Refused) else 503
    return _message(request, str(problem), status, partly=isinstance(problem, _DoneInPart))


def _gone(request: Request, _: Exception) -> Response:
    return _message(request, _GONE, 503)


def _wrong(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    messages = {404: "There is no such page.", 405: "This page is not asked like that."}
    return _message(request, messages.get(status, "That is no request of this page."), status)


def _message(request: Request, message: str, status: int, *, partly: bool = False) -> Response:
    """Answer with a sentence, as JSON if the request comes from the page's script, otherwise as a page."""
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"message": message}, status)
    return page("refusal.html", {"message": message, "partly": partly}, status)
