"""Apply an approval exactly once: a claim on the namespace, batches of items, one transaction for each batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Literal

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from slowwave.bindings.binding import Notify
from slowwave.bindings.stores import connected_store, why_not_writable, why_unfit
from slowwave.changes.apply import apply_items, text_of
from slowwave.changes.mutation import Identified, Mutation
from slowwave.changes.relations import OWN, Catalogue, bound_catalogue, row_types
from slowwave.changes.sql import BATCH_TABLES, stale_cells
from slowwave.errors import ApprovalWithdrawn, DreamApplyDisabled, DreamLockUnavailable, Refused, SlowwaveError
from slowwave.night.delivery import deliver, note_written_rows, notifier_of
from slowwave.night.followers import followers
from slowwave.night.run_events import Event, Stream, in_words, item_event, refusal
from slowwave.night.sinks import Callback, sinks_for
from slowwave.operations import khora_kinds, permits
from slowwave.plans.approval import Approved, read_approval, refuse_expired, refuse_unsigned, refuse_withdrawn
from slowwave.plans.event_chain import append_events
from slowwave.plans.items import Item
from slowwave.plans.ledger import StoredItem, read_plan, verify_sealed
from slowwave.plans.lowering import find_unexplained_items
from slowwave.plans.switches import refuse_disabled, refuse_unwritable
from slowwave.store.claims import (
    PAUSE_POLL_SECONDS,
    NamespaceClaim,
    Stuck,
    control_requests,
    end_claim,
    make_room,
    note_progress,
    open_claim,
    patiently,
)
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_settings
from slowwave.store.runs import State, beating, lock_batches, naming_waits
from slowwave.store.settings import Settings
from slowwave.store.tables import few_collections

# Items with nothing to do: every cell that they would write holds the value already.
#
# Another writer did the same in the meantime, or the cell had the value from the beginning. Only items that do nothing but set values are
# found: a stamp, a delta, a new row or a deletion always changes something.

_EMPTY_CELLS: Final = "DELETE FROM batch_cells"
_COPY_CELLS: Final = "COPY batch_cells (item_id, tbl, row_id, key, col, action, seen) FROM STDIN"


def only_sets(mutation: Mutation) -> bool:
    """Return whether the mutation only sets cells to values, or does nothing at all."""
    change = mutation.change
    return not change.inserts and not change.deletes and all(w.action == "set" for w in change.writes)


def changes_nothing(mutation: Mutation) -> bool:
    """Return whether every value that the mutation would write is the one that the plan saw."""
    return only_sets(mutation) and all(w.seen == w.value for w in mutation.change.writes)


def already_so(
    connection: Connection, namespace_id: str, items: Sequence[Identified], catalogue: Catalogue = OWN
) -> frozenset[str]:
    """Return the items whose cells all hold the values that they would write.

    Must be called inside a batch's transaction. Costs one query per table.
    """
    asked = [item for item in items if only_sets(item.mutation)]
    if not asked:
        return frozenset()
    connection.execute(BATCH_TABLES.encode())
    connection.execute(_EMPTY_CELLS)
    columns: dict[str, set[str]] = {}
    with connection.cursor() as cursor, cursor.copy(_COPY_CELLS) as copy:
        for item in asked:
            for w in item.mutation.change.writes:
                c = w.cell
                columns.setdefault(c.table, set()).add(c.column)
                value = text_of(catalogue, c, w.value)
                copy.write_row((item.id, c.table, c.row, c.key, c.column, "guard", value))
    other: set[str] = set()
    for table in sorted(columns):
        query = stale_cells(catalogue.relation(table), columns[table])
        found = connection.execute(query.encode(), {"namespace": namespace_id, **catalogue.parameters})
        other |= {str(item) for item, _, _ in found}
    return frozenset(item.id for item in asked) - other


# The speed of an apply: batches shrink when they take long, and pause while a replica of the database lags.
#
# Nothing here sleeps: the executor checks before every batch and waits as long as there is a reason.

PAUSE_SECONDS: Final = 1.0  # between batches while the database lags
_REPLAY_LAG: Final = "SELECT extract(epoch FROM max(replay_lag))::float FROM pg_stat_replication"


@dataclass(slots=True)
class Throttle:
    """The size of the next batch, between one item and ``most``, and its limits in seconds; 0 means no limit."""

    most: int
    max_lag: float
    max_batch: float
    pause: float
    size: int = field(init=False)
    slow: float = 0.0

    def __post_init__(self) -> None:
        self.size = self.most

    @classmethod
    def from_settings(cls, settings: Settings) -> Throttle:
        """Build the throttle from a namespace's settings."""
        return cls(
            settings.batch_items,
            settings.apply_max_replication_lag_seconds,
            settings.apply_max_batch_seconds,
            PAUSE_SECONDS,
        )

    def took(self, seconds: float) -> None:
        """Adapt the size of the next batch to a batch that was committed after ``seconds``.

        A batch over the limit halves the size. A batch under half of the limit doubles it, up to ``most``.
        """
        if not self.max_batch:
            return
        if seconds > self.max_batch:
            self.size, self.slow = max(1, self.size // 2), seconds
        elif seconds < self.max_batch / 2:
            self.size = min(self.most, self.size * 2)

    def reason(self, connection: Connection) -> str:
        """Return why to wait before the next batch, or an empty string.

        After a slow batch there is one pause.
        """
        if self.slow:
            message = f"The last batch took {self.slow:.1f} s, so the next ones hold {self.size:,} items."
            self.slow = 0.0
            return message
        lag = replication_lag(connection) if self.max_lag else None
        if lag is not None and lag > self.max_lag:
            return f"A replica is {lag:.0f} s behind; apply waits until it is under {self.max_lag:g} s."
        return ""


def replication_lag(connection: Connection) -> float | None:
    """Return the seconds by which the slowest replica lags in replaying; None if there is no replica, no lag, or no access.

    A role without ``pg_read_all_stats`` sees that there are replicas, not how far they lag.
    """
    try:
        row = connection.execute(_REPLAY_LAG).fetchone()
    except psycopg.errors.InsufficientPrivilege:
        return None
    return None if row is None or row[0] is None else float(str(row[0]))


# The claim of an apply or undo run: made only if writes are allowed, and checked again in every batch.
#
# Its row belongs to ``slowwave.store.claims``. ``slowwave.plans.approval`` decides whether anything may be written.

_FEW_ROWS: Final = "SET LOCAL random_page_cost = 1.1"
"""A batch names its rows by their ids. With PostgreSQL's default, made for spinning disks, its statements would read whole tables."""


def claim_namespace(
    connection: Connection,
    namespace: str,
    mode: Literal["apply", "undo"],
    *,
    expiry_seconds: int,
    plan_hash: str | None = None,
    approval_id: str | None = None,
    undo_of: str | None = None,
    dagster_run_id: str = "",
    stuck: Stuck = "take over",
    own: str = "",
    wait: float = 0.0,
) -> NamespaceClaim:
    """Claim a namespace for an apply or undo run; an unfinished run for the same approval is resumed under its own id.

    Raises ``DreamApplyDisabled`` when nothing may be written, ``DreamLockUnavailable`` while another run holds the namespace, at once or
    after ``wait`` seconds. A run whose heartbeat has expired is taken over; with ``stuck="raise"`` it raises ``DreamRunStuckError``
    unless it is ``own``.
    """

    def claim() -> NamespaceClaim:
        with connection.transaction():
            namespace_id = refuse_unwritable(connection, namespace)
            make_room(connection, namespace, namespace_id, expiry_seconds, stuck=stuck, own=own)
            return open_claim(
                connection,
                namespace,
                namespace_id,
                mode,
                plan_hash=plan_hash,
                approval_id=approval_id,
                undo_of=undo_of,
                dagster_run_id=dagster_run_id,
            )

    try:
        return patiently(claim, wait)
    except psycopg.errors.UniqueViolation:
        raise DreamLockUnavailable(f"Another run began to write to {namespace} at this moment. Try again.") from None


def lock_batch(connection: Connection, claim: NamespaceClaim) -> bool:
    """Take the namespace's lock inside a batch's transaction, and check that the claim still holds and writes are allowed.

    Returns False if a person asked to cancel. Raises if the claim was taken over, the kill switch is set or the namespace is read-only.
    The heartbeat is refreshed elsewhere: a row locked here would hide it for as long as the batch takes.
    """
    connection.execute(_FEW_ROWS)
    refuse_unwritable(connection, claim.namespace)
    lock_batches(connection, claim.namespace_id)
    return not control_requests(connection, claim).cancel


# The location of a namespace's rows, for apply and undo: Slowwave's own memory, or a connected store that accepts plans.

_PATIENCE: Final = "SET LOCAL lock_timeout = '5s'"
"""Other clients of the store must not wait for a batch that is itself waiting for a lock."""


def catalogue_of(connection: Connection, namespace_id: str, *, undoing: bool = False) -> Catalogue:
    """Return the relations that items of a namespace are applied to, as they are in this transaction.

    Raises ``Refused`` if the store may not be written or, with ``undoing``, if its tables are not those that were written to.
    """
    found = connected_store(connection, namespace_id)
    if found is None:
        return OWN
    of, scope = found
    if why := why_unfit(connection, of) if undoing else why_not_writable(connection, namespace_id):
        raise Refused(f"{why} Nothing was {'undone' if undoing else 'applied'}.")
    if connection.info.transaction_status.name == "INTRANS":
        connection.execute(_PATIENCE)
    catalogue = bound_catalogue(of.binding, None if scope.whole else scope.native, row_types(connection, of.binding))

    def unexplained(connection: Connection, items: Sequence[Identified]) -> Mapping[str, str]:
        found = find_unexplained_items(connection, of.binding, of.model, catalogue, items)
        return {item: what.reason for item, what in found.items()}

    return replace(catalogue, unexplained=unexplained)


# Applying an approval: batches of items, one transaction per batch, exactly once.
#
# The database decides what is left to do: an item is applied if its status says so, and status, journal and change are committed together.
# So resuming means applying what is still pending, and there is no cursor that could be wrong. Between batches a run checks whether it was
# cancelled or paused, whether a kill switch is set, and whether the database keeps up.

Progress = Callable[[int, int], None]
"""Called after every batch with items done and items in all."""

COUNTED: Final = ("applied", "skipped_stale", "failed", "deferred", "noop")
"""The counts that every apply run has; a run that was stopped before its end also has ``approved``."""

_COLLISIONS: Final = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
)
_ATTEMPTS: Final = 3  # at a batch that met an agent's writes at the wrong moment

_APPLIED: Final = "SELECT run_id::text AS run_id, counts FROM night.applied WHERE approval_id = %s"
_NOTE_APPLIED: Final = (
    "INSERT INTO night.applied (approval_id, namespace_id, plan_hash, run_id, counts) VALUES (%s, %s, %s, %s, %s)"
)
_WAITING: Final = """
SELECT item_id::text FROM night.plan_items WHERE plan_hash = %s AND item_id = ANY(%s::uuid[]) AND status = 'approved' FOR UPDATE
"""
_MARK: Final = """
UPDATE night.plan_items i SET status = %s, reason = s.reason FROM unnest(%s::uuid[], %s::text[]) s(item_id, reason)
WHERE i.plan_hash = %s AND i.item_id = s.item_id
"""
_COUNT: Final = """
SELECT status, count(*) FROM night.plan_items WHERE plan_hash = %s AND (item_id = ANY(%s::uuid[]) OR status = 'deferred') GROUP BY status
"""


_FAILED: Final = """
SELECT item_id::text, reason FROM night.plan_items WHERE plan_hash = %s AND item_id = ANY(%s::uuid[]) AND status = 'failed' ORDER BY ordinal
"""


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """The result of an apply run. ``counts`` distinguishes applied, skipped_stale, failed, deferred and noop items.

    ``failed`` holds the reason of each item of the approval that is failed now, by item.
    """

    run_id: str
    namespace: str
    plan_hash: str
    state: str
    counts: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


_WRITERS: Final[Mapping[str, frozenset[str]]] = {
    "pages": frozenset(("render_page", "forget_rows")),
    "documents": frozenset(("write_page", "write_claims", "forget_rows")),
}
"""Table whose rows files follow → the kinds of mutations that write it."""

_BLOCKS: Final = "memory.folder_blocks"


def stood_in(mutation: Mutation) -> str:
    """Return a sentence with the files or blocks, and lines, of the rows in a mutation; empty for rows of no folder."""
    if mutation.physical is None or all(write.cell.table != _BLOCKS for write in mutation.physical.writes):
        return ""
    rows = (*mutation.rows, *((mutation.keep,) if mutation.keep else ()), *mutation.absorb)
    places = sorted({row.external_id for row in rows if row.external_id})
    return f" When it was planned it stood in: {'; '.join(places)}." if places else ""


@few_collections()
def apply_approval(
    store: Store,
    approval_id: str,
    *,
    settings: Settings | None = None,
    dagster_run_id: str = "",
    progress: Progress | None = None,
    callbacks: Sequence[Callback] = (),
    claimed: Callable[[NamespaceClaim], None] | None = None,
    stuck: Stuck = "take over",
    own: str = "",
    wait: float = 0.0,
) -> ApplyResult:
    """Apply exactly the items that an approval names, from exactly the plan that it names.

    An approval that is already applied returns the result that it had. A run for it that crashed, was cancelled or was stopped by the
    kill switch is resumed. An approval that was revoked, or whose plan was rejected or superseded since, raises ``ApprovalWithdrawn``,
    also between batches. ``stuck``, ``own`` and ``wait`` are as in ``claim_namespace``; ``claimed`` is called with the claim once it is
    made.
    """
    with store.connect("applier") as connection:
        approval = read_approval(connection, approval_id)
        settings = settings or namespace_settings(connection, approval.namespace)
        if (done := _applied(connection, approval)) is not None:
            return done
        refuse_expired(approval)
        refuse_withdrawn(connection, approval)
        catalogue_of(connection, refuse_unwritable(connection, approval.namespace))
        plan = read_plan(connection, approval.plan_hash)
        verify_sealed(plan, "applied")
        named = frozenset(approval.item_ids)
        signed = [s for s in plan.items if s.id in named]
        refuse_unsigned(connection, approval, plan, signed, permits())
        items = [s for s in signed if s.status == "approved"]
        for follower in followers():  # text that people wrote into files comes first
            follower.before_write(store, connection, approval.namespace)
        claim = claim_namespace(
            connection,
            approval.namespace,
            "apply",
            expiry_seconds=settings.heartbeat_expiry_seconds,
            plan_hash=approval.plan_hash,
            approval_id=approval_id,
            dagster_run_id=dagster_run_id,
            stuck=stuck,
            own=own,
            wait=wait,
        )
        sinks = sinks_for(settings, callbacks, store, dagster_run_id=dagster_run_id, kinds=khora_kinds)
        stream = Stream(claim.run_id, claim.namespace, sinks, settings.redact_text)
        began = time.monotonic()
        try:
            trigger = "resume" if claim.resumed else "sensor" if dagster_run_id else "manual"
            stream.started("apply", trigger)
            if claimed:
                claimed(claim)
            run = _Run(connection, claim, approval, items, Throttle.from_settings(settings), stream, progress)
            run.tells = notifier_of(connection, claim.namespace_id)
            kinds = {s.kind for s in signed}
            wrote = {table for table, writers in _WRITERS.items() if kinds & writers}
            for follower in followers():
                run.before_end.append(partial(follower.after_write, store, claim, settings, wrote))
            if run.tells is not None:
                run.before_end.append(partial(deliver, store))
            with (
                beating(store, "applier", claim.run_id, settings.heartbeat_expiry_seconds),
                stream.phase("apply") as phase,
            ):
                result = run.result()
                phase.operations = run.done
                phase.outcome = "success" if result.state == "completed" else "skipped"
            stream.ended("apply", result.state, result.counts, began, phase.operations)
            return result
        except BaseException as problem:
            state = _end_of(problem)
            _note_end(store, claim, state, in_words(problem, settings.redact_text))
            if state in ("refused", "cancelled"):
                stream.ended("apply", state, {}, began)
            else:
                stream.failed("apply", problem, began)
            raise
        finally:
            stream.close()


def _applied(connection: Connection, approval: Approved) -> ApplyResult | None:
    with connection.cursor(row_factory=class_row(_Done)) as cursor:
        done = cursor.execute(_APPLIED, (approval.id,)).fetchone()
    if done is None:
        return None
    failed = _failed(connection, approval)
    return ApplyResult(done.run_id, approval.namespace, approval.plan_hash, "completed", dict(done.counts), failed)


@dataclass(frozen=True, slots=True)
class _Done:
    """The run that applied an approval, and its result."""

    run_id: str
    counts: Mapping[str, int]


class _ItemFault(Exception):  # noqa: N818 - the item's, not the run's
    """An error from preparing or applying the items of a batch, other than a refusal by the database."""


@dataclass(slots=True)
class _Run:
    """An apply run under its claim.

    ``done`` counts the approval's items that are decided, including those of earlier attempts. ``before_end`` is called once the items
    are done or a person cancelled, while the run can still be resumed. ``tells`` holds the store and who is notified of what is written
    to it. ``committed`` holds events of committed items that the stream has recorded and not emitted.
    """

    connection: Connection
    claim: NamespaceClaim
    approval: Approved
    items: Sequence[StoredItem]
    throttle: Throttle
    stream: Stream
    progress: Progress | None
    done: int = 0
    before_end: list[Callable[[], object]] = field(default_factory=list)
    tells: tuple[str, Notify] | None = None
    committed: list[Event] = field(default_factory=list)

    def result(self) -> ApplyResult:
        """Apply batch after batch to the end, or until a person cancels; when the approval is withdrawn, end and raise."""
        try:
            return self._to_the_end()
        except ApprovalWithdrawn as problem:
            self._cancelled(str(problem))
            raise

    def _to_the_end(self) -> ApplyResult:
        total = len(self.approval.item_ids)
        self.done, position = total - len(self.items), 0
        note_progress(self.connection, self.claim, "apply", self.done, total)
        while position < len(self.items):
            batch = _until_pages([s.item for s in self.items[position : position + self.throttle.size]])
            began = time.monotonic()
            with naming_waits(self.connection):
                statuses = self._batch(batch) if self._may_go_on(total) else None
            if statuses is None:
                return self._cancelled()
            seconds = time.monotonic() - began
            position += len(batch)
            self.done += len(batch)
            self.throttle.took(seconds)
            note_progress(self.connection, self.claim, "apply", self.done, total)
            self.stream.emit(*self.committed, recorded=True)
            self.committed.clear()
            if self.progress:
                self.progress(self.done, total)
        for follow in self.before_end:
            follow()
        with self.connection.transaction():
            if not lock_batch(self.connection, self.claim):
                return self._cancelled()
            refuse_withdrawn(self.connection, self.approval)
            counts = _counts(self.connection, self.approval)
            self.connection.execute(
                _NOTE_APPLIED,
                (
                    *(self.approval.id, self.claim.namespace_id, self.approval.plan_hash, self.claim.run_id),
                    Jsonb(counts),
                ),
            )
            end_claim(self.connection, self.claim, "completed", counts=counts)
        return self._ended("completed", counts)

    def _cancelled(self, error: str | None = None) -> ApplyResult:
        for follow in self.before_end:
            follow()
        counts = _counts(self.connection, self.approval)
        end_claim(self.connection, self.claim, "cancelled", counts=counts, error=error)
        return self._ended("cancelled", counts)

    def _ended(self, state: str, counts: dict[str, int]) -> ApplyResult:
        approval, failed = self.approval, _failed(self.connection, self.approval)
        return ApplyResult(self.claim.run_id, approval.namespace, approval.plan_hash, state, counts, failed)

    def _may_go_on(self, total: int) -> bool:
        """Wait while a person has paused the run or the database lags; return False if a person cancelled it meanwhile."""
        while True:
            asked = control_requests(self.connection, self.claim)
            if asked.cancel:
                return False
            reason = "Paused by a person." if asked.pause else self.throttle.reason(self.connection)
            if not reason:
                return True
            refuse_disabled(self.connection)
            note_progress(self.connection, self.claim, "paused" if asked.pause else "apply", self.done, total, reason)
            time.sleep(PAUSE_POLL_SECONDS if asked.pause else max(0.05, self.throttle.pause))

    def _batch(self, items: Sequence[Item]) -> Mapping[str, str] | None:
        """Apply one batch and return the status of each item, or None if a person cancelled.

        An item at fault fails alone.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._at_once(items)
            except _COLLISIONS:
                if attempt == _ATTEMPTS:
                    raise
            except psycopg.errors.OperationalError:
                raise
            except (psycopg.Error, _ItemFault):
                break
        return self._singly(items)

    def _at_once(self, items: Sequence[Item]) -> Mapping[str, str] | None:
        connection, claim, plan_hash, began = self.connection, self.claim, self.approval.plan_hash, time.monotonic()
        with connection.transaction():
            if not lock_batch(connection, claim):
                return None
            refuse_withdrawn(connection, self.approval)
            catalogue = catalogue_of(connection, claim.namespace_id)
            waiting = _waiting(connection, plan_hash, [i.id for i in items])
            unfit = {i.id: fault for i in items if i.id in waiting and (fault := permits().violation(i))}
            _mark(connection, plan_hash, unfit, "failed")
            todo = [i for i in items if i.id in waiting and i.id not in unfit]
            try:
                left_out = _change(connection, claim, todo, catalogue) if todo else {}
            except (psycopg.Error, SlowwaveError) as problem:
                if isinstance(problem, SlowwaveError):
                    raise _ItemFault(str(problem)) from problem
                raise
            except Exception as problem:
                raise _ItemFault(f"It could not be prepared ({type(problem).__name__}).") from problem
            applied = [i.id for i in todo if i.id not in left_out]
            append_events(connection, claim.namespace_id, claim.run_id, "applied", applied)
            for status in ("skipped_stale", "noop"):
                reasons = {id_: why for id_, (found, why) in left_out.items() if found == status}
                _mark(connection, plan_hash, reasons, status)
            _mark(connection, plan_hash, dict.fromkeys(applied, ""), "applied")
            if self.tells is not None:
                note_written_rows(connection, self.tells, claim.namespace_id, claim.run_id, applied)
            statuses = {id_: status for id_, (status, _) in left_out.items()} | dict.fromkeys(applied, "applied")
            statuses |= dict.fromkeys(unfit, "failed")
            events = self._record(items, statuses, began)
        self.committed += events
        return statuses

    def _singly(self, items: Sequence[Item]) -> Mapping[str, str] | None:
        """Apply the items of a failed batch one by one."""
        statuses: dict[str, str] = {}
        for item in items:
            began = time.monotonic()
            try:
                found = self._at_once([item])
                if found is None:
                    return None
                statuses |= found
            except psycopg.errors.OperationalError:
                raise
            except (psycopg.Error, _ItemFault) as problem:
                reason = str(problem) if isinstance(problem, _ItemFault) else _refusal(problem)
                with self.connection.transaction():
                    if not lock_batch(self.connection, self.claim):
                        return None
                    _mark(self.connection, self.approval.plan_hash, {item.id: reason}, "failed")
                    events = self._record([item], {item.id: "failed"}, began)
                self.committed += events
                statuses[item.id] = "failed"
        return statuses

    def _record(self, items: Sequence[Item], statuses: Mapping[str, str], began: float) -> list[Event]:
        """Return the events of items, and let the stream record them in the transaction that made their statuses."""
        if not self.stream.sinks:
            return []
        share = (time.monotonic() - began) * 1000 / len(items)
        decided = [(item, statuses[item.id]) for item in items if item.id in statuses]
        events: list[Event] = [item_event(self.stream, item, "apply", status, share) for item, status in decided]
        self.stream.record(self.connection, events)
        return events


def _until_pages(items: Sequence[Item]) -> Sequence[Item]:
    """Return the items before the first page that follows other items.

    The guards of a page may name rows that these insert, so the page belongs to a later transaction.
    """
    kinds = [item.mutation.kind for item in items]
    starts = (n for n in range(1, len(kinds)) if kinds[n] == "render_page" != kinds[n - 1])
    return items[: next(starts, len(items))]


def _change(
    connection: Connection, claim: NamespaceClaim, items: Sequence[Item], catalogue: Catalogue
) -> dict[str, tuple[str, str]]:
    """Apply the items that are not stale and change something; return the status and reason of the others."""
    idle = [i for i in items if changes_nothing(i.mutation)]
    stale = {i.id: "A cell holds no longer what the plan saw." for i in idle}
    if len(idle) < len(items):
        doing = [i for i in items if i.id not in stale]
        stale |= apply_items(connection, claim.namespace_id, claim.run_id, doing, catalogue)
    left = [i for i in items if i.id in stale]
    so = already_so(connection, claim.namespace_id, left, catalogue)
    stale |= {i.id: f"{stale[i.id]}{stood_in(i.mutation)}" for i in left}
    return {
        id_: ("noop", "Its cells hold already what it would write.") if id_ in so else ("skipped_stale", why)
        for id_, why in stale.items()
    }


def _waiting(connection: Connection, plan_hash: str, ids: list[str]) -> frozenset[str]:
    return frozenset(str(i) for (i,) in connection.execute(_WAITING, (plan_hash, ids)))


def _mark(connection: Connection, plan_hash: str, reasons: Mapping[str, str], status: str) -> None:
    """Give items a status, each with its reason."""
    if reasons:
        connection.execute(_MARK, (status, list(reasons), list(reasons.values()), plan_hash))


def _counts(connection: Connection, approval: Approved) -> dict[str, int]:
    rows = connection.execute(_COUNT, (approval.plan_hash, list(approval.item_ids)))
    return dict.fromkeys(COUNTED, 0) | {str(s): int(str(n)) for s, n in rows}


def _failed(connection: Connection, approval: Approved) -> dict[str, str]:
    rows = connection.execute(_FAILED, (approval.plan_hash, list(approval.item_ids)))
    return {str(item): str(reason) for item, reason in rows}


def _end_of(problem: BaseException) -> State:
    """Return the state in which ``problem`` ends a run.

    A run that a switch stopped is paused, and a run that a rule refused is refused. Neither is a fault, and the next attempt continues
    under the same id. A lost claim is a fault.
    """
    match problem:
        case DreamApplyDisabled():
            return "paused"
        case ApprovalWithdrawn():
            return "cancelled"
        case DreamLockUnavailable():
            return "crashed"
        case Refused():
            return "refused"
        case _:
            return "crashed"


def _note_end(store: Store, claim: NamespaceClaim, state: State, error: str) -> None:
    """Record on the run why it ended.

    A process that is killed cannot do this; its heartbeat shows it instead. A run that another process holds, or that has ended, stays as
    it is.
    """
    with store.connect("applier") as connection:
        end_claim(connection, claim, state, error=error)


def _refusal(problem: psycopg.Error) -> str:
    return f"The database refused it: {refusal(problem)}"
