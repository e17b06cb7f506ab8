"""The page of one plan: its queue, the card of a question, and what becomes of a verdict.

A page is one look at the plan, which ``Desk`` keeps, and one read of the drafts. A verdict is an insert: nothing is judged before
somebody signs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from slowwave.errors import Refused
from slowwave.plans.ledger import StoredPlan
from slowwave.plans.questions import HEADINGS
from slowwave.plans.states import shown_state
from slowwave.proposals.amended_items import amendable
from slowwave.proposals.answers import (
    ANSWERS,
    AnswerOutcome,
    answer,
    answer_many,
    answers_of,
    describe_answers,
    note_answer,
)
from slowwave.proposals.follow_up import held_back, leaves_questions, seal_follow_ups
from slowwave.review.card import called_rows, card, whole_cell
from slowwave.review.drafts import Draft, NewDraft, Verdict, read_drafts, undo_last
from slowwave.review.following import gone_drafts
from slowwave.review.queue import Queue, queue, title_of
from slowwave.review.session import read_session
from slowwave.reviewing.card_view import card_values
from slowwave.reviewing.chosen import Chosen
from slowwave.reviewing.desk import Desk
from slowwave.reviewing.entrance import Reviewer
from slowwave.reviewing.guard import Posted
from slowwave.reviewing.queue_view import alike, choices, chosen_queue, queue_page, queue_row, said_of, spread
from slowwave.reviewing.rendering import fragment, page, rendered
from slowwave.store.connect import Store

SAMPLE: Final = 10
"""Questions of a kind that are shown before all of them are answered at once."""

_GONE_SHOWN: Final = 20
"""Drafts of the plan before that are named where their items are gone."""

PIECE: Final = 20_000
"""Characters of a long text that one page shows."""

_VERDICTS: Final[Mapping[str, Verdict]] = {"yes": "yes", "no": "no", "skip": "skip"}
_STYLES: Final = {"yes": "say-yes", "no": "say-no"}
_DONE: Final = "No question waits here. What you said is at the bottom: sign when you are ready."
_NONE: Final = "No question fits these filters."


class PlanPages:
    """The pages of the plans of a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def routes(self) -> list[Route]:
        """Their routes, from ``/plans/`` on."""
        plan = "/plans/{plan:str}"
        return [
            Route(plan, self.shown),
            Route(f"{plan}/items/{{item:str}}", self.card),
            Route(f"{plan}/items/{{item:str}}/text", self.text),
            Route(f"{plan}/drafts", self.drafts),
            Route(f"{plan}/drafts", self.say, methods=["POST"]),
            Route(f"{plan}/undo", self.undo, methods=["POST"]),
            Route(f"{plan}/follow", self.follow, methods=["POST"]),
            Route(f"{plan}/alike", self.alike),
            Route(f"{plan}/alike", self.say_alike, methods=["POST"]),
        ]

    def shown(self, request: Request) -> Response:
        """Queue, card and verdicts of a plan."""
        plan, drafts = self._read(request)
        path = f"/plans/{plan.plan_hash}"
        chosen = Chosen.of(request.query_params)
        found = chosen_queue(plan, drafts, chosen, called_rows(self._desk.store, plan))
        listed = queue_page(found, chosen, path)
        rows = [row for group in listed.groups for row in group.rows]
        named = request.query_params.get("item", "")
        current = (
            next((row for row in rows if row.item == named), None)
            or next((row for row in rows if row.verdict == "open"), None)
            or next(iter(rows), None)
        )
        values = {
            **bar_values(plan, found, _reviewer(request)),
            "chosen": chosen,
            "fields": choices(plan, chosen),
            "groups": listed.groups,
            "pages": listed.pages,
            "page_number": min(chosen.page, listed.pages),
            "previous": f"{path}?{chosen.at(chosen.page - 1).query()}" if chosen.page > 1 else "",
            "next": f"{path}?{chosen.at(chosen.page + 1).query()}" if chosen.page < listed.pages else "",
            "current": current,
            "card": Markup(self._card(plan, drafts, current.item) if current else ""),  # noqa: S704 - a template made it
            "answers": [(one, _STYLES.get(one.verdict, "")) for one in ANSWERS],
            "offered": {
                s.id: [*(a.name for a in answers_of(s)), "skip"] for s in plan.items if s.id in {r.item for r in rows}
            },
            "session": session_links(self._desk.store, plan),
            "nothing": _NONE if sum(found.counts.values()) else _DONE,
            "query": chosen.query(),
            "look_decided": looks_decided(found),
            "gone": gone_drafts(self._desk.store, plan.header.namespace, plan.plan_hash),
            "gone_shown": _GONE_SHOWN,
        }
        return page("review.html", values)

    def card(self, request: Request) -> Response:
        """The card of a question alone."""
        plan, drafts = self._read(request)
        return fragment(self._card(plan, drafts, str(request.path_params["item"])))

    def text(self, request: Request) -> Response:
        """A piece of a text that the card cuts, with the ways to what stands before and after it."""
        plan, said = self._plan(request), request.query_params
        stored = next((s for s in plan.items if s.id == request.path_params["item"]), None)
        line, column, begin = said.get("line", ""), _number(said.get("cell", "")), _number(said.get("begin", ""))
        whole = whole_cell(plan, stored, line, column) if stored else ""
        if stored is None or begin >= len(whole):
            raise Refused("There is no such text, or it ends before that.")
        path = f"/plans/{plan.plan_hash}/items/{stored.id}/text?"
        at = [(n, path + urlencode({"line": line, "cell": column, "begin": n})) for n in range(0, len(whole), PIECE)]
        values = {
            **{"title": title_of(stored), "line": line, "piece": whole[begin : begin + PIECE], "length": len(whole)},
            **{"begin": begin, "end": min(begin + PIECE, len(whole)), "most": PIECE},
            "before": next((to for n, to in reversed(at) if n < begin), ""),
            "after": path + urlencode({"line": line, "cell": column, "begin": begin + PIECE})
            if begin + PIECE < len(whole)
            else "",
            "back": f"/plans/{plan.plan_hash}?item={stored.id}",
        }
        return page("text.html", values)

    def drafts(self, request: Request) -> Response:
        """What was said of each question, the counts, and how many others look decided by it."""
        plan, drafts = self._read(request)
        found = queue(plan, drafts)
        return JSONResponse(
            {"drafts": _drafts_json(drafts), "counts": found.counts, "look_decided": looks_decided(found)}
        )

    def say(self, request: Request) -> Response:
        """Keep verdicts: JSON with ``drafts``, or one by a form, which goes on to the next question."""
        plan, said = self._plan(request), _said(request)
        if said.body is not None:
            given = said.body.get("drafts")
            if isinstance(given, list) and len(given) == 1 and isinstance(given[0], dict):
                item, name, note = (str(given[0].get(key, "")) for key in ("item", "verdict", "note"))
                if name == "note":
                    note_answer(self._desk.store, plan, item, note, by=_reviewer(request).name)
                    return JSONResponse({"saved": 1})
                done = answer(self._desk.store, plan, item, name, by=_reviewer(request).name, note=note)
                return JSONResponse({"saved": 1, **_made(done)})
            drafts = _new_drafts(given)
            done = answer_many(self._desk.store, plan, drafts, by=_reviewer(request).name)
            return JSONResponse({"saved": len(drafts), **_made(done)})
        item, verdict, note = (said.form.get(name, [""])[0] for name in ("item", "verdict", "note"))
        done = answer(self._desk.store, plan, item, verdict, by=_reviewer(request).name, note=note)
        refuse_problem(done)
        return RedirectResponse(f"/plans/{plan.plan_hash}?{_back(said).query()}", 303)

    def follow(self, request: Request) -> Response:
        """Seal the questions that follow from the answers so far, such as from those that were given to many at once."""
        plan = self._plan(request)
        made = seal_follow_ups(self._desk.store, plan.header.namespace, plan.plan_hash, by=_reviewer(request).name)
        if not made:
            raise Refused(
                "No question follows from the answers so far: those that share a row with it are open, or none does."
            )
        return RedirectResponse(f"/plans/{made[0]}", 303)

    def undo(self, request: Request) -> Response:
        """Take back what the reviewer said last, and show it again."""
        plan, said = self._plan(request), _said(request)
        namespace, hash_ = plan.header.namespace, plan.plan_hash
        items = undo_last(self._desk.store, namespace, hash_, reviewer=_reviewer(request).name)
        if said.body is None:
            shown = {"item": items[0]} if items else {}
            return RedirectResponse(f"/plans/{hash_}?{_back(said).query(**shown)}", 303)
        drafts = read_drafts(self._desk.store, namespace, hash_)
        none = {"verdict": "open", "note": "", "said": "open"}
        told = _drafts_json(drafts)
        return JSONResponse({"drafts": {item: told.get(item, none) for item in items}})

    def alike(self, request: Request) -> Response:
        """The open questions of a kind, with a sample, before all of them are answered."""
        plan, drafts = self._read(request)
        found = queue(plan, drafts)
        asked = request.query_params.get("at_least", "")
        of, least, same = alike(found, request.query_params.get("item", ""), _probability(asked) if asked else None)
        path = f"/plans/{plan.plan_hash}"
        values = {
            **bar_values(plan, found, _reviewer(request)),
            "label": HEADINGS[of.code],
            "operation": of.operation,
            "item": of.id,
            "at_least": least,
            "alike": same,
            "sample": [queue_row(w, f"{path}?item={w.id}") for w in spread(same, SAMPLE)],
        }
        return page("alike.html", values)

    def say_alike(self, request: Request) -> Response:
        """The same verdict on all open questions of a kind: those that were counted on the page, or none."""
        plan, drafts = self._read(request)
        form = _said(request).form
        item, verdict, note, least, count = (
            form.get(name, [""])[0] for name in ("item", "verdict", "note", "at_least", "count")
        )
        _, _, same = alike(queue(plan, drafts), item, _probability(least))
        if str(len(same)) != count:
            raise Refused(
                f"{len(same):,} questions are of this kind now, and the page said {count[:8]}: somebody answered meanwhile. "
                "Nothing was written. Go back and look again."
            )
        drafts = [_new_draft(w.id, verdict, note) for w in same]
        refuse_problem(answer_many(self._desk.store, plan, drafts, by=_reviewer(request).name))
        return RedirectResponse(f"/plans/{plan.plan_hash}", 303)

    def _plan(self, request: Request) -> StoredPlan:
        return self._desk.plan(str(request.path_params["plan"]))

    def _read(self, request: Request) -> tuple[StoredPlan, dict[str, Draft]]:
        plan = self._plan(request)
        return plan, read_drafts(self._desk.store, plan.header.namespace, plan.plan_hash)

    def _card(self, plan: StoredPlan, drafts: Mapping[str, Draft], item: str) -> str:
        stored = next((s for s in plan.items if s.id == item), None)
        if stored is None:
            raise Refused("That question is none of this plan.")
        said, path = drafts.get(item), f"/plans/{plan.plan_hash}"
        values: dict[str, object] = {
            **card_values(card(self._desk.store, plan, stored), stored, path),
            "amend": amendable(stored),
            "amend_href": f"{path}/amend?item={stored.id}",
            "instead": said.amended if said else "",
            "answers": describe_answers(stored) if stored.decision == "review" else [],
        }
        return rendered("card.html", values)


def session_links(store: Store, plan: StoredPlan) -> dict[str, object]:
    """The plans of the session that a plan belongs to, with how many of their questions are open, and the questions that follow."""
    session = read_session(store, plan.header.namespace, plan.plan_hash)
    names = {s.id: title_of(s) for one in session for s in one.plan.items}
    return {
        "plans": [
            {
                "plan_hash": one.plan.plan_hash,
                "open": sum(s.decision == "review" for s in one.covers.left),
                "made": "" if not one.of else names.get(one.of, "follows from answers"),
            }
            for one in session
        ],
        "may_follow": any(leaves_questions(one.plan) or held_back([one]) for one in session),
        "following": [(title_of(stored), names[of]) for stored, of in held_back(session)] if len(session) == 1 else [],
    }


def refuse_problem(done: AnswerOutcome) -> None:
    """Raise ``Refused`` if the questions that follow from answers could not be sealed; the answers are kept."""
    if done.problem:
        raise Refused(f"What you answered is kept. {done.problem}")


def _made(done: AnswerOutcome) -> dict[str, object]:
    """What an answer made, as the page's script reads it; empty for most answers."""
    return {
        **({"amended": done.amended.plan_hash} if done.amended else {}),
        **({"follow_ups": list(done.follow_ups)} if done.follow_ups else {}),
        **({"problem": done.problem} if done.problem else {}),
    }


def looks_decided(found: Queue) -> int:
    """How many questions look decided by the answers so far."""
    return sum(len(group.items) for group in found.look_decided)


def bar_values(plan: StoredPlan, found: Queue, reviewer: Reviewer) -> dict[str, object]:
    """What every page of a plan shows of it: which it is, how far it is, who looks at it, and the token of its forms."""
    counts = dict(found.counts)
    return {
        "plan": {
            "plan_hash": plan.plan_hash,
            "namespace": plan.header.namespace,
            "size": len(plan.items),
            "state": shown_state(plan.state, plan.counts, plan.expires_at).replace("_", " "),
            "expires_at": plan.expires_at,
            "decided": found.decided,
        },
        "counts": counts | {"all": sum(counts.values())},
        "contradictions": found.contradictions,
        "followed": found.followed,
        "reviewer": reviewer.name,
        "form_token": reviewer.form_token,
    }


def _reviewer(request: Request) -> Reviewer:
    return request.state.reviewer


def _said(request: Request) -> Posted:
    return request.state.said


def _back(said: Posted) -> Chosen:
    """The filters that a form was sent with."""
    return Chosen.of(dict(parse_qsl(said.form.get("query", [""])[0])))


def _drafts_json(drafts: Mapping[str, Draft]) -> dict[str, dict[str, str]]:
    return {item: {"verdict": d.verdict, "note": d.note, "said": said_of(d, d.verdict)} for item, d in drafts.items()}


def _new_drafts(given: object) -> list[NewDraft]:
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise Refused("The drafts are no list of verdicts. Nothing was kept.")
    return [_new_draft(*(str(one.get(name, "")) for name in ("item", "verdict", "note"))) for one in given]


def _new_draft(item: str, verdict: str, note: str) -> NewDraft:
    if verdict not in _VERDICTS:
        raise Refused(f"{verdict[:32]!r} is no verdict: it is yes, no or skip. Nothing was kept.")
    return NewDraft(item, _VERDICTS[verdict], note)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _probability(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise Refused(f"{text[:32]!r} is no probability: it is a number from 0 to 1. Nothing was written.")
    return found
