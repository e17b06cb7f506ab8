"""The review page as an ASGI app: its routes, its files, and how it says no."""

from __future__ import annotations

from typing import Final

import psycopg
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from slowwave.errors import Refused, SlowwaveError
from slowwave.reviewing.amending_pages import AmendingPages
from slowwave.reviewing.decided_pages import DecidedPages
from slowwave.reviewing.desk import Desk
from slowwave.reviewing.entrance import Entrance, Reviewer
from slowwave.reviewing.guard import RequestGuard
from slowwave.reviewing.plan_pages import PlanPages
from slowwave.reviewing.rendering import page
from slowwave.reviewing.rule_pages import RulePages
from slowwave.reviewing.signing_pages import SigningPages
from slowwave.store.connect import Store

_GONE: Final = "The database does not answer. Nothing half-written stands. Try again, or run `slowwave doctor`."


def review_app(store: Store, entrance: Entrance, only: str | None = None) -> Starlette:
    """The review page of a store, or of the namespace ``only``, for those whom ``entrance`` lets in."""
    desk = Desk(store, only)

    def plans(request: Request) -> Response:
        waiting = desk.waiting()
        if len(waiting) == 1:
            return RedirectResponse(f"/plans/{waiting[0].plan_hash}", 303)
        reviewer: Reviewer = request.state.reviewer
        return page("plans.html", {"plans": waiting, "reviewer": reviewer.name})

    return Starlette(
        routes=[
            Route("/", plans),
            *PlanPages(desk).routes(),
            *SigningPages(desk).routes(),
            *AmendingPages(desk).routes(),
            *DecidedPages(desk).routes(),
            *RulePages(desk).routes(),
            Mount("/static", StaticFiles(packages=[("slowwave.reviewing", "static")])),
        ],
        middleware=[Middleware(RequestGuard, entrance)],
        exception_handlers={SlowwaveError: _refused, psycopg.OperationalError: _gone, HTTPException: _wrong},
    )


def _refused(request: Request, problem: Exception) -> Response:
    """A refusal is an answer; every other error of ours is the store's."""
    return _message(request, str(problem), 409 if isinstance(problem, Refused) else 503)


def _gone(request: Request, _: Exception) -> Response:
    return _message(request, _GONE, 503)


def _wrong(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    told = {404: "There is no such page.", 405: "This page is not asked like that."}
    return _message(request, told.get(status, "That is no request of this page."), status)


def _message(request: Request, message: str, status: int) -> Response:
    """A sentence as JSON for the page's script, else as a page."""
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"message": message}, status)
    return page("refusal.html", {"message": message}, status)
