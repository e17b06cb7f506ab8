"""The ledger of plans in ``night``: written by planners, read by everyone.

Approving and rejecting belongs to ``slowwave.plans.gate``, applying to ``slowwave.applying``, the runs that plan and apply to
``slowwave.runs``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from psycopg.types.json import Jsonb

from slowwave.config.settings import Settings
from slowwave.errors import Refused, SlowwaveError
from slowwave.language.budget import Budget, Usage
from slowwave.mutations.cells import canonical_json
from slowwave.plans.commands import argument
from slowwave.plans.items import Item
from slowwave.plans.seal import Header, Plan, plan_hash
from slowwave.plans.states import shown_state
from slowwave.reports.model import Finding
from slowwave.runs.ledger import move_run
from slowwave.runs.planning import end_plan_run
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id
from slowwave.texts.quotation import quotable


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A plan's item as the ledger knows it."""

    item: Item
    status: str
    reason: str


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

    def to_json(self) -> dict[str, object]:
        """The contract of ``slowwave plans show --json``."""
        return {
            "plan_hash": self.plan_hash,
            "namespace": self.header.namespace,
            "state": self.shown_state,
            "counts": self.counts,
            "snapshot_id": self.header.snapshot_id,
            "run_id": self.run_id,
            "recorded_at": self.recorded_at.isoformat(),
            "expires_at": self.expires_at.isoformat(),
            "items": [s.item.to_json() | {"status": s.status, "reason": s.reason} for s in self.items],
            "probes": dict(self.probes),
            "summary": dict(self.summary),
        }


def open_budget(store: Store, namespace: str, settings: Settings, run_id: str = "") -> Budget:
    """What a run may still spend on models, by ``night.llm_usage``; every call is written there at once.

    Without ``run_id`` the run is the namespace's newest that is planning; without one, calls are allowed and booked nowhere.
    """
    with store.connect("reader") as connection:
        scope = namespace_id(connection, namespace)
        row = connection.execute(
            "SELECT r.id::text, (SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM night.llm_usage u WHERE u.run_id = r.id) "
            "FROM night.runs r WHERE r.namespace_id = %s AND CASE WHEN %s = '' THEN r.mode = 'plan' AND r.state = 'planning' "
            "ELSE r.id::text = %s END ORDER BY r.started_at DESC LIMIT 1",
            (scope, run_id, run_id),
        ).fetchone()
        today = connection.execute(
            "SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM night.llm_usage WHERE namespace_id = %s "
            "AND recorded_at > now() - interval '24 hours'",
            (scope,),
        ).fetchone()
    run, spent = (str(row[0]), int(str(row[1]))) if row else ("", 0)

    def record(usage: Usage) -> None:
        with store.connect("planner") as writing:
            writing.execute(
                "INSERT INTO night.llm_usage (id, namespace_id, run_id, operation, model, input_tokens, output_tokens) "
                "VALUES (gen_random_uuid(), %s, %s, %s, %s, %s, %s)",
                (scope, run, usage.operation, usage.model, usage.input, usage.output),
            )

    return Budget(
        settings.llm_max_tokens_per_run,
        settings.llm_max_tokens_per_namespace_per_day,
        spent,
        int(str(today[0])) if today else 0,
        record if run else None,
    )


_SUPERSEDE: Final = """
WITH asked AS (SELECT id, parameters - ARRAY['reason', 'weekly'] AS whole FROM night.runs WHERE namespace_id = %(namespace)s)
UPDATE night.plans p SET state = 'superseded' FROM asked old, asked new
WHERE p.namespace_id = %(namespace)s AND old.id = p.run_id AND new.id = %(run)s AND CASE WHEN new.whole = '{}'
  THEN p.state IN ('awaiting_approval', 'approved')
  ELSE p.state = 'awaiting_approval' AND old.whole <> '{}' AND old.whole - 'dry_run' = new.whole - 'dry_run' END
AND EXISTS (SELECT 1 FROM night.plan_items i WHERE i.plan_hash = p.plan_hash AND i.status IN ('pending', 'approved'))
RETURNING p.run_id
"""
"""What a run was asked for, beside why, is empty for the night of a whole namespace."""


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
    stands beside all others. The same plan, recorded before, keeps its state.
    """
    new = [i for i in plan.items if i.id not in carried]
    state = "awaiting_approval" if new else "empty"
    header = plan.header
    with store.connect("planner") as connection, connection.transaction():
        known_state = _state_of(connection, plan.plan_hash) if new else ""
        if known_state:
            state = known_state
        elif new:
            old = connection.execute(_SUPERSEDE.encode(), {"namespace": header.namespace_id, "run": run_id}).fetchall()
            for (old_run,) in old:
                move_run(connection, str(old_run), "superseded", ("awaiting_approval", "approved"))
        if not known_state:
            connection.execute(
                "INSERT INTO night.plans (plan_hash, namespace_id, run_id, snapshot_id, settings_fingerprint, state, expires_at, "
                "header, probes, summary) VALUES (%s, %s, %s, %s, %s, %s, now() + %s, %s, %s, %s) ON CONFLICT (plan_hash) DO NOTHING",
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
        gone = connection.execute(
            "SELECT 1 FROM night.plans WHERE plan_hash = %s AND (state NOT IN ('awaiting_approval', 'approved') OR expires_at <= now())",
            (plan.plan_hash,),
        ).fetchone()
    if gone is None or not plan.items:
        return plan
    header = replace(plan.header, snapshot_id=snapshot_id)
    return replace(plan, header=header, plan_hash=plan_hash(header, plan.items))


def _state_of(connection: Connection, hash_: str) -> str:
    """The state of a plan, empty when it is not there."""
    row = connection.execute("SELECT state FROM night.plans WHERE plan_hash = %s", (hash_,)).fetchone()
    return str(row[0]) if row else ""


def _copy_items(connection: Connection, plan: Plan) -> None:
    rows: Iterable[tuple[Item, str, str]] = [
        *((i, "pending", plan.questions.get(i.id, "")) for i in plan.items),
        *(
            (i, "deferred", f"Conflicts with item {plan.deferred[i.id]}, which stays in this plan.")
            for i in plan.deferred_items
        ),
    ]
    statement = (
        "COPY night.plan_items (plan_hash, item_id, namespace_id, ordinal, operation, decision, risk, status, reason, mutation, "
        "evidence, sources, subject, tokens) FROM STDIN"
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for ordinal, (item, status, reason) in enumerate(rows):
            written = plan.written.get(item.id) or item.written()
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
                    *(written.sources, item.subject(), item.tokens),
                )
            )


def latest_plan(connection: Connection, namespace: str) -> str | None:
    """Hash of the newest plan that asked somebody."""
    found = connection.execute(
        "SELECT plan_hash FROM night.plans WHERE namespace_id = %s AND state <> 'empty' ORDER BY recorded_at DESC LIMIT 1",
        (namespace_id(connection, namespace),),
    ).fetchone()
    return str(found[0]) if found else None


def no_plan(connection: Connection, namespace: str) -> str:
    """Why a namespace has no plan that asks anybody, as a sentence: its nights found nothing, or there was none."""
    row = connection.execute(
        "SELECT max(recorded_at) FROM night.plans WHERE namespace_id = %s", (namespace_id(connection, namespace),)
    ).fetchone()
    if row and isinstance(row[0], datetime):
        return f"{namespace} has nothing to decide: its night of {row[0]:%Y-%m-%d %H:%M} UTC found nothing new."
    return f"{namespace} has no plan yet: run `slowwave night {argument(namespace)}` first."


def find_plan(connection: Connection, namespace: str, prefix: str) -> str:
    """The full hash of a plan of the namespace by its first characters; none or several are refused."""
    found = [
        str(h)
        for (h,) in connection.execute(
            "SELECT plan_hash FROM night.plans WHERE namespace_id = %s AND starts_with(plan_hash, %s) LIMIT 2",
            (namespace_id(connection, namespace), prefix),
        )
    ]
    if len(found) == 1 and prefix:
        return found[0]
    newest = latest_plan(connection, namespace)
    hint = f"Its latest plan is {newest[:12]}." if newest else no_plan(connection, namespace)
    what = "names more than one plan" if found else "is no plan"
    raise Refused(f"{prefix[:64]!r} {what} of {namespace}. {hint}")


def read_plan(connection: Connection, hash_: str, *, item: str = "") -> StoredPlan:
    """A plan with all its items, or with those alone whose ids begin with ``item``."""
    row = connection.execute(
        "SELECT header, state, run_id::text, recorded_at, expires_at, probes, summary, seal, "
        "seal = night.plan_seal(plan_hash, namespace_id, expires_at, probes, summary) FROM night.plans WHERE plan_hash = %s",
        (hash_,),
    ).fetchone()
    if row is None:
        raise Refused(f"There is no plan {hash_[:12]}. `slowwave plans list` shows those there are.")
    header, state, run_id, recorded_at, expires_at, probes, summary, seal, holds = row
    if not (
        isinstance(header, dict)
        and isinstance(recorded_at, datetime)
        and isinstance(expires_at, datetime)
        and isinstance(probes, dict)
        and isinstance(summary, dict)
    ):
        raise SlowwaveError(f"Plan {hash_[:12]} is not in the form that this version writes: run the night again.")
    return StoredPlan(
        header=header_from_json(header),
        plan_hash=hash_,
        state=str(state),
        run_id=str(run_id),
        recorded_at=recorded_at,
        expires_at=expires_at,
        probes=probes,
        summary=summary,
        items=tuple(_read_items(connection, hash_, item)),
        seal=str(seal),
        seal_holds=bool(holds),
    )


def header_from_json(value: Mapping[str, object]) -> Header:
    """The inverse of ``Header.to_json``."""
    return Header(*(str(value[k]) for k in ("namespace_id", "namespace", "snapshot_id", "settings_fingerprint")))


def verify_sealed(plan: StoredPlan, done: str) -> None:
    """Refuse a plan that is not stored as it was sealed: other items, other results of its probes, another expiry.

    ``done`` says what was not done: ``approved`` or ``applied``.
    """
    found = plan_hash(plan.header, [s.item for s in plan.items if s.status != "deferred"])
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


def _read_items(connection: Connection, hash_: str, begin: str) -> Iterable[StoredItem]:
    rows = connection.execute(
        "SELECT operation, decision, risk, status, reason, mutation, evidence, sources, tokens FROM night.plan_items "
        "WHERE plan_hash = %s AND starts_with(item_id::text, %s) ORDER BY ordinal",
        (hash_, begin),
    )
    for operation, decision, risk, status, reason, mutation, evidence, sources, tokens in rows:
        if not isinstance(evidence, dict):
            raise SlowwaveError(f"Plan {hash_[:12]} is not in the form that this version writes: run the night again.")
        item = Item.from_json(
            {
                "operation": operation,
                "decision": decision,
                "risk": risk,
                "mutation": mutation,
                "evidence": evidence["evidence"],
                "sources": sources,
                "probability": evidence["probability"],
                "tokens": tokens,
            }
        )
        yield StoredItem(item, str(status), str(reason))


def pending_review(store: Store, namespace: str) -> frozenset[str]:
    """Ids of review items that wait for a person in plans that stand: a new night carries them over."""
    with store.connect("reader") as connection:
        rows = connection.execute(
            "SELECT i.item_id::text FROM night.plan_items i JOIN night.plans p USING (plan_hash) WHERE p.namespace_id = %s "
            "AND p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now() AND i.decision = 'review' AND i.status = 'pending'",
            (namespace_id(connection, namespace),),
        )
        return frozenset(str(i) for (i,) in rows)


def expire_plans(store: Store) -> int:
    """Mark plans past their expiry; returns how many."""
    with store.connect("planner") as connection, connection.transaction():
        gone = connection.execute(
            "UPDATE night.plans SET state = 'expired' WHERE state = 'awaiting_approval' AND expires_at <= now() RETURNING run_id"
        ).fetchall()
        for (run_id,) in gone:
            move_run(connection, str(run_id), "expired", ("awaiting_approval",))
        return len(gone)


def write_findings(
    connection: Connection, namespace: str, run_id: str, operation: str, findings: Sequence[Finding]
) -> None:
    """Keep findings for the metrics and for people who ask later."""
    scope = namespace_id(connection, namespace)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO night.findings (id, namespace_id, run_id, operation, severity, message, details) "
            "VALUES (gen_random_uuid(), %s, %s, %s, %s, %s, %s)",
            [
                (
                    *(scope, run_id, operation, f.severity, quotable(f.message)),
                    Jsonb({"rows": list(f.rows), **quotable(f.details)}),
                )
                for f in findings
            ],
        )
