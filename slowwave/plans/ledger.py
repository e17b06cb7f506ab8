"""The ledger of plans in ``night``: written by planners, read by everyone.

Approving and rejecting belongs to ``slowwave.plans.gate``, applying to ``slowwave.applying``, the runs that plan and apply to
``slowwave.runs``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from slowwave.errors import Refused, SlowwaveError
from slowwave.mutations.cells import canonical_json
from slowwave.plans.items import FOLLOWS, Item, Sealed, content_id
from slowwave.plans.lowering import refuse_unexplained
from slowwave.plans.outcome import NO_NAMES, find_outcome
from slowwave.plans.seal import Header, Plan, hash_of, plan_hash
from slowwave.plans.states import shown_state
from slowwave.reports.model import Finding
from slowwave.runs.ledger import move_run
from slowwave.runs.planning import end_plan_run
from slowwave.store.collector import few_collections
from slowwave.store.connect import Connection, Store
from slowwave.texts.quotation import quotable_all

_READ_AT_ONCE: Final = 1_000  # items

_SUPERSEDE: Final = """
WITH asked AS (SELECT id, parameters - ARRAY['reason', 'weekly'] AS whole FROM night.runs WHERE namespace_id = %(namespace)s)
UPDATE night.plans p SET state = 'superseded' FROM asked old, asked new
WHERE p.namespace_id = %(namespace)s AND old.id = p.run_id AND new.id = %(run)s AND CASE WHEN new.whole = '{}'
  THEN p.state IN ('awaiting_approval', 'approved')
  ELSE p.state = 'awaiting_approval' AND old.whole <> '{}' AND old.whole - 'dry_run' = new.whole - 'dry_run' END
AND (old.whole = new.whole OR NOT jsonb_exists(old.whole, 'proposal'))
AND EXISTS (SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status IN ('pending', 'approved'))
RETURNING p.run_id::text
"""
"""What a run was asked for, beside why, is empty for the night of a whole namespace."""

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
_REVIEWS: Final = """
SELECT i.item_id::text FROM night.plan_items i JOIN night.plans p USING (plan_hash) WHERE p.namespace_id = %s
AND p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now() AND i.decision = 'review' AND i.status = 'pending'
"""
_EXPIRE: Final = """
UPDATE night.plans SET state = 'expired' WHERE state = 'awaiting_approval' AND expires_at <= now() RETURNING run_id::text
"""
_COPY_FINDINGS: Final = """
COPY night.findings (id, namespace_id, run_id, operation, severity, message, details) FROM STDIN
"""


@dataclass(frozen=True, slots=True)
class StoredItem(Sealed):
    """A plan's item as the ledger knows it. Its id is made from what is stored; ``kind`` is its mutation's.

    ``question`` is the code of what a review item asks (``slowwave.plans.questions``), else empty; ``reason`` the sentence as long as the
    item waits, and why it is as it is once that is decided.
    """

    kind: str
    status: str
    reason: str
    question: str

    def to_json(self, names: Mapping[str, str] = NO_NAMES) -> dict[str, object]:
        """Return the item as ``--json`` shows it, with its outcome where it has two sides."""
        item = self.item
        sides = find_outcome(item, names, self.status)
        known = {"status": self.status, "reason": self.reason, "question": self.question}
        return item.to_json() | known | {"outcome": sides.to_json() if sides else None}


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan as the ledger knows it, with its items in sealed order and those that were deferred.

    ``seal`` is what was computed when it was written; ``seal_holds`` says whether the stored rows still give it.
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
        """Items by status."""
        return dict(Counter(s.status for s in self.items))

    @property
    def shown_state(self) -> str:
        """What the plan is called, see ``slowwave.plans.states``."""
        return shown_state(self.state, self.counts, self.expires_at)

    def to_json(self, names: Mapping[str, str] = NO_NAMES) -> dict[str, object]:
        """Return the contract of ``slowwave plans show --json``; ``names`` are words of rows, for the outcomes of items."""
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
) -> str:
    """Write plan, items and run state in one transaction; returns the plan's state.

    A plan with nothing new in it (no item, or only items carried over from plans before) asks nobody: it is ``empty`` and leaves
    the plans before it as they are. Any other plan of a whole night supersedes those that wait or are not fully applied. A dry-run, and a
    plan of some operations or rows or as of another instant, takes the place of a waiting one that was asked for in the same way, and
    stands beside all others. A proposal's plan gives way to one of the same proposal alone. The same plan, recorded before, keeps its
    state. Raises ``Refused`` for an item that would write to a connected store what it does not show.
    """
    new = [i for i in plan.items if i.id not in carried]
    refuse_unexplained(store, plan.header.namespace_id, new, "planned")
    state = "awaiting_approval" if new else "empty"
    header = plan.header
    with store.connect("planner") as connection, connection.transaction():
        known_state = _state_of(connection, plan.plan_hash) if new else ""
        if known_state:
            state = known_state
        elif new:
            old = connection.execute(_SUPERSEDE, {"namespace": header.namespace_id, "run": run_id}).fetchall()
            for (old_run,) in old:
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
    return state


def unless_decided(store: Store, plan: Plan, snapshot_id: str) -> Plan:
    """The plan, or the same items sealed under ``snapshot_id`` when a plan of its hash is there and stands no longer."""
    with store.connect("reader") as connection:
        gone = connection.execute(_OVER, (plan.plan_hash,)).fetchone()
    if gone is None or not plan.items:
        return plan
    header = replace(plan.header, snapshot_id=snapshot_id)
    return replace(plan, header=header, plan_hash=plan_hash(header, plan.items))


def _state_of(connection: Connection, hash_: str) -> str:
    """The state of a plan, empty when it is not there."""
    row = connection.execute(_STATE, (hash_,)).fetchone()
    return str(row[0]) if row else ""


def _why_deferred(item: Item, winner: str) -> str:
    if not winner and item.decision == FOLLOWS:
        return "Waits for a night that does something else, as it only tells what nights did."
    if not winner:
        return "Waits for another night, so that the plan keeps within its caps and recall finds what it found."
    return f"Conflicts with item {winner}, which stays in this plan."


def _copy_items(connection: Connection, plan: Plan) -> None:
    asked = plan.questions
    none = ("", "")
    rows: Iterable[tuple[Item, str, tuple[str, str]]] = [
        *((i, "pending", (q.sentence, q.code) if (q := asked.get(i.id)) else none) for i in plan.items),
        *((i, "deferred", (_why_deferred(i, plan.deferred[i.id]), "")) for i in plan.deferred_items),
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
    """A plan with all its items, or with those alone whose ids begin with ``item``."""
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
    """A row of ``night.plans``; ``holds`` says whether its seal is that of what is stored."""

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
    """The inverse of ``Header.to_json``."""
    return Header(*(str(value[k]) for k in ("namespace_id", "namespace", "snapshot_id", "settings_fingerprint")))


def verify_sealed(plan: StoredPlan, done: str) -> None:
    """Refuse a plan that is not stored as it was sealed: other items, other results of its probes, another expiry.

    ``done`` says what was not done: ``approved`` or ``applied``.
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
    """The items in sealed order. Their JSON is read in pieces and kept as text: the objects are many times larger."""
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


def pending_review(store: Store, namespace_id: str) -> frozenset[str]:
    """Ids of review items that wait for a person in plans that stand: a new night carries them over."""
    with store.connect("reader") as connection:
        rows = connection.execute(_REVIEWS, (namespace_id,))
        return frozenset(str(i) for (i,) in rows)


def expire_plans(store: Store) -> int:
    """Mark plans past their expiry; returns how many."""
    with store.connect("planner") as connection, connection.transaction():
        gone = connection.execute(_EXPIRE).fetchall()
        for (run_id,) in gone:
            move_run(connection, str(run_id), "expired", ("awaiting_approval",))
        return len(gone)


def write_findings(
    connection: Connection, namespace_id: str, run_id: str, found: Mapping[str, Sequence[Finding]]
) -> None:
    """Keep the findings of operations for the metrics and for people who ask later."""
    named = [(operation, f) for operation, findings in found.items() for f in findings]
    if not named:
        return
    messages, details = quotable_all([f.message for _, f in named]), quotable_all([f.details for _, f in named])
    with connection.cursor() as cursor, cursor.copy(_COPY_FINDINGS) as copy:
        for (operation, finding), message, about in zip(named, messages, details, strict=True):
            stored = Jsonb({"rows": list(finding.rows), **about})
            copy.write_row((uuid4(), namespace_id, run_id, operation, finding.severity, message, stored))
