"""Data that the review page reads, and templates with every value escaped."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from threading import Lock
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from psycopg.rows import class_row
from starlette.responses import HTMLResponse

from slowwave.errors import Refused
from slowwave.plans.ledger import StoredPlan, read_plan
from slowwave.plans.review.drafts import session_hashes
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.text.findings import hidden

# The data of the review page: the pending plans, one plan with its items, and its approvals.
#
# Only the status of a plan's items ever changes. So a plan is read once and cached until its state or its counts change; a request reads
# only those if they are unchanged.

_KEPT: Final = 4
"""Number of plans that are cached: the one under review, and others that are viewed."""

_WAITING: Final = """
SELECT p.plan_hash, n.slug AS namespace, p.recorded_at,
  count(*) FILTER (WHERE i.decision = 'review') AS questions, count(i.item_id) FILTER (WHERE i.decision <> 'review') AS decided,
  EXISTS (SELECT 1 FROM night.half_signed_approvals h WHERE h.plan_hash = p.plan_hash) AS half_signed
FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id
LEFT JOIN night.plan_items i ON i.plan_hash = p.plan_hash AND i.status = 'pending'
WHERE p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now() AND (%(only)s::text IS NULL OR n.slug = %(only)s)
GROUP BY p.plan_hash, n.slug, p.recorded_at
HAVING count(i.item_id) > 0 OR EXISTS (SELECT 1 FROM night.half_signed_approvals h WHERE h.plan_hash = p.plan_hash)
ORDER BY p.recorded_at DESC, p.plan_hash LIMIT 100
"""
_STANDS: Final = """
SELECT n.slug, p.state, p.expires_at, night.item_counts(p.plan_hash) FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id
WHERE p.plan_hash = %s
"""
_SIGNED: Final = """
SELECT a.id::text AS approval_id, a.plan_hash, a.item_ids::text[] AS item_ids, night.signed_as(a.approver, a.policy_id) AS approver, a.note,
  a.forced, a.recorded_at,
  v.approval_id IS NOT NULL AS revoked, r.id::text AS run_id, r.state, d.counts,
  (SELECT count(*) FROM night.plan_items i
    WHERE i.plan_hash = a.plan_hash AND i.item_id = ANY(a.item_ids) AND i.status = 'applied') AS stand,
  night.signatures_missing(a.id) AS missing,
  ARRAY(SELECT c.signed_by FROM night.countersignatures c WHERE c.approval_id = a.id ORDER BY c.recorded_at, c.signed_by) AS countersigners
FROM night.approvals a JOIN night.plans p ON p.plan_hash = a.plan_hash LEFT JOIN night.runs m ON m.id = p.run_id
LEFT JOIN night.revocations v ON v.approval_id = a.id LEFT JOIN night.applied d ON d.approval_id = a.id
LEFT JOIN LATERAL (SELECT * FROM night.runs r WHERE r.approval_id = a.id AND r.mode = 'apply' ORDER BY r.started_at DESC LIMIT 1) r ON true
WHERE a.plan_hash = ANY(%s) ORDER BY a.recorded_at, m.trigger = 'review', p.recorded_at, a.id
"""
_REJECTED: Final = """
SELECT count(*) FROM night.plan_items i WHERE i.plan_hash = ANY(%(plans)s) AND i.status = 'rejected' AND NOT EXISTS (
  SELECT 1 FROM night.approvals a JOIN night.plans p USING (plan_hash) JOIN night.runs r ON r.id = p.run_id
  WHERE a.plan_hash = ANY(%(plans)s) AND r.trigger = 'review' AND r.parameters #>> '{proposal,of}' = i.item_id::text)
"""
"""SQL: the rejected items of plans, without those that another answer replaced by an item that is signed."""


@dataclass(frozen=True, slots=True)
class PlanToReview:
    """Plan with work for a reviewer.

    The work is its review items (``questions``), the items that planners ``decided``, and approvals that lack a second approval
    (``half_signed``).
    """

    plan_hash: str
    namespace: str
    recorded_at: datetime
    questions: int
    decided: int
    half_signed: bool


@dataclass(frozen=True, slots=True)
class SignedApproval:
    """Approval of a plan and the result of its run, if there was one.

    ``item_ids`` are the items of the approval, ``stand`` counts those that are applied now. ``countersigners`` gave further approvals;
    ``missing`` more are needed.
    """

    approval_id: str
    plan_hash: str
    item_ids: list[str]
    approver: str
    note: str
    forced: bool
    recorded_at: datetime
    revoked: bool
    run_id: str | None
    state: str | None
    counts: dict[str, int] | None
    stand: int
    missing: int
    countersigners: list[str]

    @property
    def ready(self) -> bool:
        """Return whether the approval can be applied: it is not revoked, lacks no signature and was not applied."""
        return not self.revoked and not self.missing and self.counts is None


class Desk:
    """The plans of a store, or those of the namespace ``only``."""

    def __init__(self, store: Store, only: str | None = None) -> None:
        if only is not None:
            with store.connect("reader") as connection:
                namespace_id(connection, only)
        self.store, self.only = store, only
        self._plans: OrderedDict[str, tuple[object, StoredPlan]] = OrderedDict()
        self._lock = Lock()

    def waiting(self) -> list[PlanToReview]:
        """Return the plans with pending work, the newest first, at most a hundred."""
        with (
            self.store.connect("reader") as connection,
            connection.cursor(row_factory=class_row(PlanToReview)) as cursor,
        ):
            return cursor.execute(_WAITING, {"only": self.only}).fetchall()

    def plan(self, hash_: str) -> StoredPlan:
        """Return the current state of a plan by its full hash.

        Raises ``Refused`` if there is no such plan, or if it belongs to a namespace that is not shown.
        """
        with self.store.connect("reader") as connection:
            row: Any = connection.execute(_STANDS, (hash_,)).fetchone()
            if row is None or self.only not in (None, row[0]):
                where = f" of {self.only}" if self.only else ""
                raise Refused(f"There is no plan {hash_[:12]}{where} here. The first page lists those that wait.")
            return self._kept(connection, hash_, (*row[1:3], sorted(row[3].items())))

    def signed(self, hash_: str) -> tuple[list[SignedApproval], int]:
        """Return the approvals of all plans of a plan's session, the oldest first, and the number of their rejected items."""
        plans = session_hashes(self.store, hash_)
        with self.store.connect("reader") as connection:
            with connection.cursor(row_factory=class_row(SignedApproval)) as cursor:
                approvals = cursor.execute(_SIGNED, (plans,)).fetchall()
            rejected: Any = connection.execute(_REJECTED, {"plans": plans}).fetchone()
            return approvals, int(rejected[0])

    def _kept(self, connection: Connection, hash_: str, mark: object) -> StoredPlan:
        with self._lock:
            known = self._plans.get(hash_)
            if known is not None and known[0] == mark:
                self._plans.move_to_end(hash_)
                return known[1]
            found = read_plan(connection, hash_)
            self._plans[hash_] = (mark, found)
            while len(self._plans) > _KEPT:
                self._plans.popitem(last=False)
            return found


# Templates: the HTML that is sent to a browser, with every value escaped.
#
# Names and texts come from memory and may be written to deceive. So, besides HTML, characters that reorder or hide text are shown by their
# code point, and long text is cut with a note of how much is left out.

LONGEST: Final = 4_000
"""Maximum characters of one text that are shown."""

_REORDERING: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Bidirectional embeddings, overrides and isolates: no name needs one, in any script."""


_MARKS: Final = re.compile(
    r"\[-(?P<del>(?:(?!-\]|\{\+|<).)+)-\]|\{\+(?P<ins>(?:(?!\+\}|\[-|<).)+)\+\}|`(?P<code>[^`\n<]+)`", re.DOTALL
)
"""The marks of ``slowwave.plans.show.reworded_line`` and of a command. Matches ``[-old-]`` in escaped text and ``[-[-old-]`` from its
second bracket on; not ``[-a <span>b</span>-]``."""


def page(template: str, values: Mapping[str, object], status: int = 200) -> HTMLResponse:
    """Render a template as a response; a value that the template names and that is missing is an error."""
    return HTMLResponse(_environment().get_template(template).render(values), status)


def fragment(html: str) -> HTMLResponse:
    """Return a rendered part of a page as a response."""
    return HTMLResponse(html)


def rendered(template: str, values: Mapping[str, object]) -> str:
    """Render a template as HTML."""
    return _environment().get_template(template).render(values)


def shown(text: object, longest: int = LONGEST) -> Markup:
    """Return a text of memory as HTML: escaped, with hidden characters as ``U+202E`` and its text direction isolated."""
    whole = str(text)
    return Markup("<bdi>{}</bdi>").format(visible(whole[:longest])) + left_out(len(whole) - longest)


def marked(text: object, longest: int = LONGEST) -> Markup:
    """Return a text as ``shown``, with removed, added and quoted parts as elements: ``[-x-]``, ``{+x+}`` and x in backticks."""
    html = _MARKS.sub(_element, shown(text, longest))
    return Markup(html)  # noqa: S704 - ``shown`` escaped the text, and the elements hold nothing else


def _element(found: re.Match[str]) -> str:
    name = next(name for name, part in found.groupdict().items() if part is not None)
    return f"<{name}>{found[name]}</{name}>"


def left_out(characters: int) -> Markup:
    """Return a note that so many more characters exist, or an empty text if there are none."""
    if characters <= 0:
        return Markup("")
    return Markup(' <span class="cut">… {:,} more characters</span>').format(characters)


def visible(text: str) -> Markup:
    """Return a text as HTML, with its hidden and reordering characters shown as code points."""
    found = [(run.start, run.end) for run in hidden(text)] + [m.span() for m in _REORDERING.finditer(text)]
    pieces: list[Markup] = []
    at = 0
    for start, end in sorted(found):
        if start >= at:
            pieces += [escape(text[at:start]), _numbers(text[start:end])]
            at = end
    return Markup("").join([*pieces, escape(text[at:])])


def _numbers(run: str) -> Markup:
    codes = " ".join(f"U+{ord(c):04X}" for c in run[:4]) + (" …" if len(run) > 4 else "")
    return Markup('<span class="hidden-character" title="hidden characters">{}</span>').format(codes)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("slowwave.surfaces.review_page", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shown"] = shown
    made.filters["marked"] = marked
    return made
