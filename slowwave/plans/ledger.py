"""The ledger of plans, written by planners and read by everyone.

It holds plans with their items in order, the latest plan of a namespace and the token budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final, Literal, cast, get_args
from uuid import uuid4

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from slowwave.changes.cells import canonical_json
from slowwave.errors import Refused, SlowwaveError
from slowwave.models.panel import Budget, StoredAnswers, Usage
from slowwave.plans.items import Decision, Item, Sealed, content_id
from slowwave.plans.lowering import refuse_unexplained
from slowwave.plans.outcome import NO_NAMES, find_outcome
from slowwave.plans.questions import CODES, HEADINGS, Code, is_about_task
from slowwave.plans.report import Finding
from slowwave.plans.seal import Header, Plan, hash_of, plan_hash
from slowwave.plans.states import shown_state
from slowwave.store.claims import end_plan_run
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.runs import move_run
from slowwave.store.settings import Settings
from slowwave.store.tables import few_collections
from slowwave.text.quotation import quotable_all

# The ledger of plans in ``night``, written by planners and read by everyone.
#
# ``slowwave.plans.gate`` approves and rejects, ``slowwave.night`` applies, and ``slowwave.store.runs`` holds the runs that plan and
# apply.

_READ_AT_ONCE: Final = 1_000  # items

_SUPERSEDE: Final = """
WITH asked AS (SELECT id, parameters - ARRAY['reason', 'weekly'] AS whole FROM night.runs WHERE namespace_id = %(namespace)s)
UPDATE night.plans p SET state = 'superseded' FROM asked old, asked new
WHERE p.namespace_id = %(namespace)s AND old.id = p.run_id AND new.id = %(run)s AND CASE WHEN new.whole = '{}'
  THEN p.state IN ('awaiting_approval', 'approved')
  ELSE p.state = 'awaiting_approval' AND old.whole <> '{}' AND old.whole - 'dry_run' = new.whole - 'dry_run' END
AND (old.whole = new.whole OR NOT jsonb_exists(old.whole, 'proposal'))
AND EXISTS (SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status IN ('pending', 'approved'))
RETURNING p.run_id::text, ARRAY(SELECT i.item_id::text FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status = 'approved')
"""
"""SQL: supersede older plans, and return their items that were approved and not applied.

The parameters of a run, without its reason, are empty for the night of a whole namespace.
"""

_INSERT_PLAN: Final = """
INSERT INTO night.plans (plan_hash, namespace_id, run_id, snapshot_id, settings_fingerprint, state, expires_at, header, probes, summary)
VALUES (%s, %s, %s, %s, %s, %s, now() + %s, %s, %s, %s) ON CONFLICT (plan_hash) DO NOTHING
"""
_COPY_ITEMS: Final = """
COPY night.plan_items (plan_hash, item_id, namespace_id, ordinal, operation, decision, risk, status, reason, mutation, evidence, sources,
  subject, tokens, question) FROM STDIN
"""
_STATE: Final = "SELECT state FROM night.plans WHERE plan_hash = %s"
_OVER: Final = """
SELECT 1 FROM night.plans WHERE plan_hash = %s AND (state NOT IN ('awaiting_approval', 'approved') OR expires_at <= now())
"""
_PLAN: Final = """
SELECT header, state, run_id::text AS run_id, recorded_at, expires_at, probes, summary, seal,
  seal = night.plan_seal(plan_hash, namespace_id, expires_at, probes, summary) AS holds
FROM night.plans WHERE plan_hash = %s
"""
_ITEMS: Final = """
SELECT operation, decision, risk, status, reason, mutation, evidence, sources, tokens, question FROM night.plan_items
WHERE plan_hash = %s AND starts_with(item_id::text, %s) ORDER BY ordinal
"""
_PENDING: Final = """
SELECT i.item_id::text, i.decision = 'review' FROM night.plan_items i JOIN night.plans p USING (plan_hash) WHERE p.namespace_id = %s
AND p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now() AND i.status = 'pending'
"""
_EXPIRE: Final = """
UPDATE night.plans SET state = 'expired' WHERE state = 'awaiting_approval' AND expires_at <= now() RETURNING run_id::text
"""
_COPY_FINDINGS: Final = """
COPY night.findings (id, namespace_id, run_id, operation, severity, message, details) FROM STDIN
"""


@dataclass(frozen=True, slots=True)
class StoredItem(Sealed):
    """A plan's item as the ledger stores it. Its id is computed from the stored content; ``kind`` is that of its mutation.

    ``question`` is the code of the question of a review item (``slowwave.plans.questions``), else empty. ``reason`` is the question's
    sentence while the item is pending, and afterwards the reason for its status.
    """

    kind: str
    status: str
    reason: str
    question: str

    def to_json(self, names: Mapping[str, str] = NO_NAMES) -> dict[str, object]:
        """Return the item as ``--json`` shows it, with its outcome if it has two sides."""
        item = self.item
        sides = find_outcome(item, names, self.status)
        known = {"status": self.status, "reason": self.reason, "question": self.question}
        return item.to_json() | known | {"outcome": sides.to_json() if sides else None}


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan as the ledger stores it, with its items in sealed order and the deferred ones.

    ``seal`` was computed when the plan was written; ``seal_holds`` states whether the stored rows still give it.
    """

    header: Header
    plan_hash: str
    state: str
    run_id: str
    recorded_at: datetime
    expires_at: datetime
    probes: Mapping[str, object]
    summary: Mapping[str, object]
    items: tuple[StoredItem, ...]
    seal: str = ""
    seal_holds: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of items by status."""
        return dict(Counter(s.status for s in self.items))

    @property
    def shown_state(self) -> str:
        """Return the state that is shown for the plan, see ``slowwave.plans.items``."""
        return shown_state(self.state, self.counts, self.expires_at)

    def to_json(self, names: Mapping[str, str] = NO_NAMES) -> dict[str, object]:
        """Return the contract of ``slowwave plans show --json``.

        ``names`` maps rows to words, for the outcomes of items.
        """
        return {
            "plan_hash": self.plan_hash,
            "namespace": self.header.namespace,
            "state": self.shown_state,
            "counts": self.counts,
            "snapshot_id": self.header.snapshot_id,
            "run_id": self.run_id,
            "recorded_at": self.recorded_at.isoformat(),
            "expires_at": self.expires_at.isoformat(),
            "items": [s.to_json(names) for s in self.items],
            "probes": dict(self.probes),
            "summary": dict(self.summary),
        }


@dataclass(frozen=True, slots=True)
class Recorded:
    """State of a plan in the ledger, and the approved items of earlier plans that it superseded before they were applied."""

    state: str
    lapsed: frozenset[str] = frozenset()


def write_plan(
    store: Store,
    plan: Plan,
    *,
    run_id: str,
    expiry_days: int,
    probes: Mapping[str, object],
    summary: Mapping[str, object],
    carried: frozenset[str] = frozenset(),
    change_counter: int | None = None,
) -> Recorded:
    """Write plan, items and run state in one transaction.

    A plan without new items (none, or only items carried over from earlier plans) is ``empty``: it asks nobody and leaves earlier plans
    unchanged. Any other plan of a whole night supersedes the plans that are pending or not fully applied. A dry run, and a plan of some
    operations or rows or as of another instant, supersedes only a pending plan that was requested in the same way. The plan of a proposal
    is superseded only by a plan of the same proposal. A plan that is already recorded keeps its state. Raises ``Refused`` for an item
    that would write to a connected store what it does not show.
    """
    new = [i for i in plan.items if i.id not in carried]
    refuse_unexplained(store, plan.header.namespace_id, new, "planned")
    state = "awaiting_approval" if new else "empty"
    header, lapsed = plan.header, set[str]()
    with store.connect("planner") as connection, connection.transaction():
        known_state = _state_of(connection, plan.plan_hash) if new else ""
        if known_state:
            state = known_state
        elif new:
            old = connection.execute(_SUPERSEDE, {"namespace": header.namespace_id, "run": run_id}).fetchall()
            for old_run, approved in old:
                lapsed.update(cast("list[str]", approved))
                move_run(connection, str(old_run), "superseded", ("awaiting_approval", "approved"))
        if not known_state:
            connection.execute(
                _INSERT_PLAN,
                (
                    *(plan.plan_hash, header.namespace_id, run_id, header.snapshot_id, header.settings_fingerprint),
                    *(state, timedelta(days=expiry_days)),
                    *(Jsonb(header.to_json()), Jsonb(dict(probes)), Jsonb(dict(summary))),
                ),
            )
        if new and not known_state:
            _copy_items(connection, plan)
        end_plan_run(
            connection,
            run_id,
            "completed" if known_state or not new else "awaiting_approval",
            plan.plan_hash,
            settings_fingerprint=header.settings_fingerprint,
            change_counter=change_counter,
            counts={"planned": len(new), "carried": len(plan.items) - len(new)},
        )
    return Recorded(state, frozenset(lapsed))


def unless_decided(store: Store, plan: Plan, snapshot_id: str) -> Plan:
    """Return the plan, or its items sealed under ``snapshot_id`` if the ledger has a decided or expired plan with its hash."""
    with store.connect("reader") as connection:
        gone = connection.execute(_OVER, (plan.plan_hash,)).fetchone()
    if gone is None or not plan.items:
        return plan
    header = replace(plan.header, snapshot_id=snapshot_id)
    return replace(plan, header=header, plan_hash=plan_hash(header, plan.items))


def _state_of(connection: Connection, hash_: str) -> str:
    """Return the state of a plan, or an empty string if the ledger does not have it."""
    row = connection.execute(_STATE, (hash_,)).fetchone()
    return str(row[0]) if row else ""


def _why_deferred(item: Item, winner: str, *, asked: bool) -> str:
    """Return why an item is left out: ``asked`` if the ``winner`` is a question about a row that a decided item would change."""
    if not winner and item.decision == Decision.FOLLOW:
        return "It only lists what nights did, so it is written by the next night that changes something."
    if not winner:
        return "The plan is at its limits: a later night does it, and searches find until then what they find now."
    if asked and not item.is_question:
        return f"Question {winner} of this plan asks whether one of its rows is still true. A night after the answer decides it."
    return f"Item {winner} of this plan changes the same values."


def _copy_items(connection: Connection, plan: Plan) -> None:
    asked = plan.questions
    reviews = {i.id for i in plan.items if i.is_question}
    none = ("", "")
    rows: Iterable[tuple[Item, str, tuple[str, str]]] = [
        *((i, "pending", (q.sentence, q.code) if (q := asked.get(i.id)) else none) for i in plan.items),
        *(
            (i, "deferred", (_why_deferred(i, by := plan.deferred[i.id], asked=by in reviews), ""))
            for i in plan.deferred_items
        ),
    ]
    with connection.cursor() as cursor, cursor.copy(_COPY_ITEMS) as copy:
        for ordinal, (item, status, (reason, question)) in enumerate(rows):
            written = plan.written.get(item.id) or item.sealed()
            copy.write_row(
                (
                    *(
                        plan.plan_hash,
                        item.id,
                        plan.header.namespace_id,
                        ordinal,
                        item.operation,
                        item.decision,
                        item.risk,
                    ),
                    *(status, reason, written.mutation),
                    f'{{"evidence":{written.evidence},"probability":{canonical_json(item.probability)}}}',
                    *(written.sources, item.subject(), item.tokens, question),
                )
            )


@few_collections()
def read_plan(connection: Connection, hash_: str, *, item: str = "") -> StoredPlan:
    """Return a plan with all its items, or only with those whose ids begin with ``item``."""
    with connection.cursor(row_factory=class_row(_PlanRow)) as cursor:
        row = cursor.execute(_PLAN, (hash_,)).fetchone()
    if row is None:
        raise Refused(f"There is no plan {hash_[:12]}. `slowwave plans list` shows those there are.")
    header, probes, summary = row.header, row.probes, row.summary
    if not (isinstance(header, dict) and isinstance(probes, dict) and isinstance(summary, dict)):
        raise SlowwaveError(_odd_form(hash_))
    return StoredPlan(
        header=header_from_json(header),
        plan_hash=hash_,
        state=row.state,
        run_id=row.run_id,
        recorded_at=row.recorded_at,
        expires_at=row.expires_at,
        probes=probes,
        summary=summary,
        items=tuple(_read_items(connection, hash_, item)),
        seal=row.seal,
        seal_holds=row.holds,
    )


@dataclass(frozen=True, slots=True)
class _PlanRow:
    """A row of ``night.plans``; ``holds`` states whether its seal matches the stored content."""

    header: object
    state: str
    run_id: str
    recorded_at: datetime
    expires_at: datetime
    probes: object
    summary: object
    seal: str
    holds: bool


def header_from_json(value: Mapping[str, object]) -> Header:
    """Build a header from the output of ``Header.to_json``."""
    return Header(*(str(value[k]) for k in ("namespace_id", "namespace", "snapshot_id", "settings_fingerprint")))


def verify_sealed(plan: StoredPlan, done: str) -> None:
    """Refuse a plan whose stored items, probe results, summary or expiry differ from what was sealed.

    ``done`` names the action that is refused: ``approved`` or ``applied``.
    """
    found = hash_of(plan.header, (s for s in plan.items if s.status != "deferred"))
    if found != plan.plan_hash:
        changed, where = "its stored items were", "night.plan_items"
    elif not plan.seal_holds:
        changed, where = "its probes, its summary or its expiry was", "night.plans"
    else:
        return
    raise Refused(
        f"Plan {plan.plan_hash[:12]} no longer matches its hash: {changed} changed after sealing. "
        f"Nothing was {done}. Run the night again, and find out who wrote to {where}."
    )


@dataclass(frozen=True, slots=True)
class _ItemRow:
    """A row of ``night.plan_items``."""

    operation: str
    decision: str
    risk: str
    status: str
    reason: str
    mutation: object
    evidence: object
    sources: object
    tokens: int
    question: str


def _read_items(connection: Connection, hash_: str, begin: str) -> Iterator[StoredItem]:
    """Yield the items in sealed order.

    Their JSON is read in pieces and kept as text, because the objects are many times larger.
    """
    with connection.transaction(), connection.cursor("plan_items", row_factory=class_row(_ItemRow)) as cursor:
        cursor.itersize = _READ_AT_ONCE
        for row in cursor.execute(_ITEMS, (hash_, begin)):
            recorded = row.evidence
            if not (isinstance(recorded, dict) and isinstance(row.mutation, dict) and isinstance(row.sources, list)):
                raise SlowwaveError(_odd_form(hash_))
            mutation = canonical_json(row.mutation)
            yield StoredItem(
                id=content_id(row.operation, row.decision, mutation),
                operation=row.operation,
                decision=row.decision,
                risk=row.risk,
                tokens=row.tokens,
                probability=float(str(recorded["probability"])),
                mutation=mutation,
                evidence=canonical_json(recorded["evidence"]),
                sources=canonical_json(row.sources),
                kind=str(row.mutation.get("kind")),
                status=row.status,
                reason=row.reason,
                question=row.question,
            )


def _odd_form(hash_: str) -> str:
    return f"Plan {hash_[:12]} is not in the form that this version writes: run the night again."


def pending_items(store: Store, namespace_id: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of the pending questions in valid plans, which a new night carries over, and those of the pending decided items."""
    with store.connect("reader") as connection:
        rows = connection.execute(_PENDING, (namespace_id,)).fetchall()
    asked, decided = (frozenset(str(id_) for id_, asks in rows if asks is kind) for kind in (True, False))
    return asked, decided


def expire_plans(store: Store) -> int:
    """Mark plans past their expiry; return how many."""
    with store.connect("planner") as connection, connection.transaction():
        gone = connection.execute(_EXPIRE).fetchall()
        for (run_id,) in gone:
            move_run(connection, str(run_id), "expired", ("awaiting_approval",))
        return len(gone)


def write_findings(
    connection: Connection, namespace_id: str, run_id: str, found: Mapping[str, Sequence[Finding]]
) -> None:
    """Store the findings of operations for the metrics and for later questions."""
    named = [(operation, f) for operation, findings in found.items() for f in findings]
    if not named:
        return
    messages, details = quotable_all([f.message for _, f in named]), quotable_all([f.details for _, f in named])
    with connection.cursor() as cursor, cursor.copy(_COPY_FINDINGS) as copy:
        for (operation, finding), message, about in zip(named, messages, details, strict=True):
            stored = Jsonb({"rows": list(finding.rows), **about})
            copy.write_row((uuid4(), namespace_id, run_id, operation, finding.severity, message, stored))


# The token budget of a run and of its namespace for language models, by the records of ``night.llm_usage``.

_BUDGET: Final = """
SELECT r.id::text AS run_id, coalesce((SELECT sum(input_tokens + output_tokens) FROM night.llm_usage u WHERE u.run_id = r.id), 0)::bigint
  AS tokens
FROM night.runs r WHERE r.namespace_id = %(namespace)s AND CASE WHEN %(run)s = '' THEN r.mode = 'plan' AND r.state = 'planning'
  ELSE r.id::text = %(run)s END ORDER BY r.started_at DESC LIMIT 1
"""
_TODAY: Final = """
SELECT '' AS run_id, coalesce(sum(input_tokens + output_tokens), 0)::bigint AS tokens FROM night.llm_usage
WHERE namespace_id = %s AND recorded_at > now() - interval '24 hours'
"""
_BOOK: Final = """
INSERT INTO night.llm_usage (id, namespace_id, run_id, operation, model, input_tokens, output_tokens)
VALUES (gen_random_uuid(), %s, %s, %s, %s, %s, %s)
"""


_KEPT: Final = "SELECT answer FROM night.model_answers WHERE namespace_id = %s AND key = %s"
_KEEP: Final = """
INSERT INTO night.model_answers (namespace_id, key, model, answer) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING
"""


def open_budget(store: Store, namespace_id: str, settings: Settings, run_id: str = "") -> Budget:
    """Return what a run may still spend on models, by ``night.llm_usage``, where every call is recorded at once.

    Without ``run_id``, the run is the newest run of the namespace that is planning. If there is none, calls are allowed and not recorded.
    Answers are those of ``night.model_answers``, which retention removes. One with a secret, an order or a NUL byte is not stored, because
    what screening takes out of memory would stay there.
    """
    with store.connect("reader") as connection, connection.cursor(row_factory=class_row(_Spent)) as cursor:
        run = cursor.execute(_BUDGET, {"namespace": namespace_id, "run": run_id}).fetchone() or _Spent("", 0)
        today = cursor.execute(_TODAY, (namespace_id,)).fetchone() or _Spent("", 0)

    def record(usage: Usage) -> None:
        with store.connect("planner") as writing:
            writing.execute(_BOOK, (namespace_id, run.run_id, usage.operation, usage.model, usage.input, usage.output))

    def find(key: str) -> str | None:
        with store.connect("reader") as connection:
            row = connection.execute(_KEPT, (namespace_id, key)).fetchone()
        return str(row[0]) if row else None

    def keep(key: str, model: str, answer: str) -> None:
        from slowwave.text.screening import counting, screen  # its rules take a while to load

        if "\0" not in answer and not counting(screen(answer)):
            with store.connect("planner") as writing:
                writing.execute(_KEEP, (namespace_id, key, model, answer.encode("utf-8", "replace").decode()))

    return Budget(
        settings.llm_max_tokens_per_run,
        settings.llm_max_tokens_per_namespace_per_day,
        run.tokens,
        today.tokens,
        record if run.run_id else None,
        StoredAnswers(find, keep),
    )


@dataclass(frozen=True, slots=True)
class _Spent:
    """The tokens that models have read and written for a run, or for a whole namespace."""

    run_id: str
    tokens: int


# The selection, order and headings of a plan's items: questions for a person first, grouped by what they ask.
#
# Pure functions of the items; names, widths and printing belong to the surfaces.

Sort = Literal["plan", "probability", "risk", "operation"]
SORTS: Final[tuple[Sort, ...]] = get_args(Sort)
"""The orders of items: as in the plan, least probable first, greatest risk first, or by operation."""

_RISKS: Final = {"high": 0, "medium": 1, "low": 2}
_SORTED: Final[Mapping[Sort, Callable[[StoredItem], tuple[object, ...]]]] = {
    "plan": lambda _: (),
    "probability": lambda s: (s.probability,),
    "risk": lambda s: (_RISKS.get(s.risk, 3), s.probability),
    "operation": lambda s: (s.operation,),
}
_WAITING_SELECTION: Final = ("pending", "approved")


@dataclass(frozen=True, slots=True)
class Selection:
    """The items to show.

    ``decisions`` and ``operations`` are alternatives; an empty tuple means all. ``decisions`` may contain ``auto`` for everything except
    reviews. ``limit`` is the number of items of a page; None means all.
    """

    decisions: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    sort: str = "plan"
    limit: int | None = None
    page: int = 1

    def __post_init__(self) -> None:
        if self.sort not in SORTS:
            raise Refused(f"{self.sort[:40]!r} is no order of items. Sort by {', '.join(SORTS[:-1])} or {SORTS[-1]}.")

    @property
    def narrows(self) -> bool:
        """Return whether the selection leaves out any item."""
        return bool(self.decisions or self.operations or self.limit is not None)


@dataclass(frozen=True, slots=True)
class SelectedItems:
    """One page of the selected items of a plan.

    ``items`` are the items of the page in display order. ``first`` is the position of the first of them among the ``matching`` items,
    counted from 1.
    """

    items: tuple[StoredItem, ...]
    first: int
    matching: int
    of: int
    page: int
    pages: int

    def groups(self) -> Iterator[tuple[str, list[StoredItem]]]:
        """Yield (heading, items) for the items on this page."""
        for heading, items in groupby(self.items, heading_of):
            yield heading, list(items)


def choose(items: Sequence[StoredItem], selection: Selection) -> SelectedItems:
    """Return one page of the selected items.

    Raises ``Refused`` for a decision, operation or page that the plan does not have, and names those it has. Order: pending questions
    grouped by what they ask, then decided items by operation, then deferred items; within each group by ``sort``.
    """
    _refuse_unknown("decision", selection.decisions, {Decision.REVIEW, "auto", *(s.decision for s in items)})
    _refuse_unknown("operation", selection.operations, {s.operation for s in items})
    matching = [
        s
        for s in items
        if (not selection.decisions or s.decision in selection.decisions or _auto(s, selection.decisions))
        and (not selection.operations or s.operation in selection.operations)
    ]
    places = {heading: n for n, heading in enumerate(dict.fromkeys(heading_of(s) for s in matching))}
    by = next(by for name, by in _SORTED.items() if name == selection.sort)
    matching.sort(key=lambda s: (_rank(s), places[heading_of(s)], by(s)))
    size = selection.limit or max(1, len(matching))
    pages = max(1, -(-len(matching) // size))
    if not 1 <= selection.page <= pages:
        raise Refused(f"There is no page {selection.page:,}: {len(matching):,} items make {pages:,} of {size:,}.")
    begin = (selection.page - 1) * size
    return SelectedItems(
        tuple(matching[begin : begin + size]), begin + 1, len(matching), len(items), selection.page, pages
    )


def heading_of(stored: StoredItem) -> str:
    """Return the heading of an item: its question, or else its operation, decision and risk."""
    if stored.status == "deferred":
        return "Left for a later night"
    if stored.is_question:
        return asked(stored)
    return f"{stored.operation} · {stored.decision} · {stored.risk} risk"


def code_of(stored: StoredItem) -> Code:
    """Return the code of an item's question, ``done`` if it is about a task; ``change`` if it has none."""
    code = _BY_NAME.get(stored.question, "change")
    return "done" if code == "which_is_right" and is_about_task(stored.item) else code


_BY_NAME: Final[Mapping[str, Code]] = {code: code for code in CODES}


def asked(stored: StoredItem) -> str:
    """Return what a review item asks without values and rows, by its code or, if it has none, by its sentence."""
    if stored.question in HEADINGS:
        return HEADINGS[code_of(stored)]
    question, mark, _ = stored.reason.partition("?")
    if mark:
        return f"{question}?"
    return HEADINGS["value_lost" if stored.reason.startswith("Would lose") else "change"]


def _rank(stored: StoredItem) -> int:
    if stored.status == "deferred":
        return 3
    if stored.is_question:
        return 0 if stored.status in _WAITING_SELECTION else 2
    return 1


def _auto(stored: StoredItem, decisions: Sequence[str]) -> bool:
    return "auto" in decisions and not stored.is_question


def _refuse_unknown(what: str, given: Sequence[str], known: set[str]) -> None:
    for name in given:
        if name not in known:
            raise Refused(f"The plan has no {what} {name[:40]!r}. It has {', '.join(sorted(known)) or 'none'}.")
