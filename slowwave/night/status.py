"""The status of namespaces, the gates that decide whether a night is due, and the digest page for people."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

import psycopg
from psycopg.rows import class_row

from slowwave.errors import INTERRUPTED, SettingsError, StoreError
from slowwave.plans.commands import OTHER
from slowwave.plans.report import escape
from slowwave.plans.states import items_text, shown_state
from slowwave.plans.status import ENABLED
from slowwave.plans.switches import why_disabled
from slowwave.store.claims import holders
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id, namespace_settings
from slowwave.store.settings import Settings, zone_of
from slowwave.text.tokens import counted

# Gates and delivery import a second of libraries, which the list of statuses does not need.
if TYPE_CHECKING:
    from slowwave.night.run_events import Level
    from slowwave.night.runs import Unchanged

# The status of each namespace: its plan, its pending items, the outcome of the plan, its last night and its next. Only read, never changed.
#
# One query for all namespaces, with one word and a few numbers for each. ``slowwave.plans.signatures`` counts over all of them for
# monitoring.

_NEW_ROWS: Final = """
  SELECT session_id AS session, recorded_at FROM memory.memories
  WHERE namespace_id = {scope} AND recorded_at > {since} AND kind <> 'summary'  -- summaries are what nights write themselves
  UNION ALL SELECT session_id, recorded_at FROM memory.memory_facts WHERE namespace_id = {scope} AND recorded_at > {since}
  UNION ALL SELECT NULL, recorded_at FROM memory.entities WHERE namespace_id = {scope} AND recorded_at > {since}
  UNION ALL SELECT NULL, recorded_at FROM memory.relationships WHERE namespace_id = {scope} AND recorded_at > {since}
  UNION ALL SELECT metadata ->> 'session_id', greatest(recorded_at, invalidated_at) FROM memory.documents  -- pages written or gone
  WHERE namespace_id = {scope} AND corpus_id IS NOT NULL AND greatest(recorded_at, invalidated_at) > {since}
"""

_STATUS: Final = f"""
SELECT n.slug AS namespace, n.read_only, n.settings,
  {ENABLED} AS enabled,
  EXISTS (SELECT 1 FROM night.store_namespaces k JOIN night.stores s ON s.name = k.store
    WHERE k.namespace_id = n.id AND s.disconnected_at IS NOT NULL) AS store_removed,
  coalesce((SELECT k.store FROM night.store_namespaces k JOIN night.stores s ON s.name = k.store
    WHERE k.namespace_id = n.id AND s.writing), '') AS written,
  f.held_back, coalesce(f.why, '') AS why_not_planned, f.secrets,
  coalesce(p.plan_hash, '') AS plan_hash, coalesce(p.state, '') AS state, p.recorded_at, p.expires_at,
  coalesce(night.item_counts(p.plan_hash), '{{}}') AS counts,
  i.decided AS to_approve, i.asked AS questions,
  i.operations, coalesce(p.summary -> 'needs_force', '[]') AS failed,
  (SELECT count(*) FROM night.open_approvals a WHERE a.namespace_id = n.id) AS approvals,
  (SELECT count(*) FROM night.half_signed_approvals a WHERE a.namespace_id = n.id) AS half_signed,
  h.mode AS run_mode, h.state AS run_state, extract(epoch FROM now() - h.heartbeat_at)::float AS heartbeat_age,
  l.last_success, l.last_failure, coalesce(l.failure, '') AS failure, l.last_whole, v.records,
  (SELECT max(started_at) FROM night.runs WHERE trigger = 'schedule') AS scheduled_at, a.recorded_at AS last_apply,
  (SELECT count(*) FROM night.conflicts c WHERE c.namespace_id = n.id AND c.resolved_at IS NULL) AS conflicts,
  EXISTS (SELECT 1 FROM night.plans e WHERE e.namespace_id = n.id) AS planned_once,
  EXISTS (SELECT 1 FROM memory.changes c WHERE c.namespace_id = n.id AND (l.last_success IS NULL OR c.recorded_at > l.begun)) AS changed
FROM memory.namespaces n
LEFT JOIN LATERAL (
  SELECT p.*, r.parameters ? 'proposal' AS aside, p.state IN ('awaiting_approval', 'approved') AND p.expires_at > now() AND EXISTS (
      SELECT 1 FROM night.plan_items w WHERE w.plan_hash = p.plan_hash AND w.status = 'pending') AS waits,
    row_number() OVER (PARTITION BY r.parameters ? 'proposal' ORDER BY p.recorded_at DESC) AS age
  FROM night.plans p JOIN night.runs r ON r.id = p.run_id WHERE p.namespace_id = n.id AND p.state <> 'empty'
  ORDER BY (NOT r.parameters ? 'proposal') AND row_number() OVER (PARTITION BY r.parameters ? 'proposal' ORDER BY p.recorded_at DESC) > 1,
    waits DESC, aside, p.recorded_at DESC LIMIT 1) p ON true
LEFT JOIN LATERAL (
  SELECT sum(s.pending) FILTER (WHERE s.decision <> 'review') AS decided, sum(s.pending) FILTER (WHERE s.decision = 'review') AS asked,
    coalesce(jsonb_object_agg(s.operation || ' ' || s.decision, s.pending) FILTER (WHERE s.pending > 0), '{{}}') AS operations
  FROM (SELECT w.operation, w.decision, count(*) AS pending FROM night.plans o JOIN night.plan_items w USING (plan_hash)
    WHERE o.namespace_id = n.id AND o.state IN ('awaiting_approval', 'approved') AND o.expires_at > now() AND w.status = 'pending'
    GROUP BY w.operation, w.decision) s) i ON true
LEFT JOIN LATERAL (
  SELECT e.summary -> 'held_back' AS held_back, coalesce(e.summary ->> 'why_held_back',
      'redact_or_quarantine: ' || (e.summary #>> '{{left_out,redact_or_quarantine}}')) AS why,
    coalesce((e.summary #>> '{{audits,safety_scan,numbers,rows with secret findings}}')::int, 0) AS secrets
  FROM night.plans e WHERE e.namespace_id = n.id ORDER BY e.recorded_at DESC LIMIT 1) f ON true
LEFT JOIN LATERAL (SELECT mode, state, heartbeat_at FROM night.runs r WHERE r.namespace_id = n.id
  AND r.state IN ('planning', 'applying', 'paused') ORDER BY r.started_at DESC LIMIT 1) h ON true
LEFT JOIN LATERAL (
  SELECT max(coalesce(r.finished_at, r.started_at)) FILTER (WHERE r.ended) AS last_success,
    max(r.started_at) FILTER (WHERE r.ended) AS begun,
    max(r.started_at) FILTER (WHERE r.state = 'crashed') AS last_failure,
    (array_agg(r.error ORDER BY r.started_at DESC) FILTER (WHERE r.state = 'crashed'))[1] AS failure,
    max(r.started_at) FILTER (WHERE r.ended AND r.started_at <= clock_timestamp()
      AND r.parameters - 'reason' - 'weekly' - 'dry_run' = '{{}}') AS last_whole
  FROM (SELECT *, state NOT IN ('planning', 'crashed', 'cancelled', 'paused') AS ended FROM night.runs
    WHERE namespace_id = n.id AND mode = 'plan' AND NOT parameters ? 'proposal') r) l ON true
LEFT JOIN LATERAL (SELECT recorded_at FROM night.applied d WHERE d.namespace_id = n.id ORDER BY d.recorded_at DESC LIMIT 1) a ON true
LEFT JOIN LATERAL (SELECT count(*) AS records
  FROM ({_NEW_ROWS.format(scope="n.id", since="coalesce(l.last_whole, '-infinity')")} LIMIT 1000) news) v
  ON NOT EXISTS (SELECT 1 FROM night.store_namespaces k WHERE k.namespace_id = n.id)
WHERE %(namespace)s::text IS NULL OR n.slug = %(namespace)s ORDER BY n.slug
"""


@dataclass(frozen=True, slots=True)
class NamespaceStatus:
    """The status of a namespace.

    ``plan_hash`` is its latest plan that needed a decision, ``state`` the present state of that plan, empty if there is none.
    ``to_approve`` and ``questions`` count the items of all plans that are pending for a person, ``operations`` counts them by operation
    and decision. ``counts`` counts all items of its plan by status. ``failed`` are the sentences of the probes that it failed.
    ``approvals`` counts what is approved and not applied, ``half_signed`` what needs a second approval.

    ``run`` is the run under way (planning, applying, undoing, paused), or stuck. ``last_night`` is when the last night ended well,
    ``last_failure`` when one crashed after it, and ``failure`` the error of that. ``next_night`` is when the schedule runs the next night
    if all remains as it is, or the word for what keeps it from a night. ``scheduled_at`` is when a schedule last started a run of any
    namespace.

    ``not_planned`` counts the changes that its last night proposed but could not plan, because its connected store may not be written.
    ``why_not_planned`` is the sentence about that, or about secrets that could not be planned in a store that may be written. ``secrets``
    counts the rows with a secret, if there is such a sentence. A namespace whose store was removed has nothing pending.
    """

    namespace: str
    plan_hash: str
    state: str
    counts: Mapping[str, int]
    to_approve: int
    questions: int
    operations: Mapping[str, int]
    failed: tuple[str, ...]
    approvals: int
    half_signed: int
    conflicts: int
    run: str
    last_night: datetime | None
    last_failure: datetime | None
    last_apply: datetime | None
    next_night: datetime | str
    failure: str = ""
    scheduled_at: datetime | None = None
    store_removed: bool = False
    not_planned: int = 0
    why_not_planned: str = ""
    secrets: int = 0

    @property
    def stale(self) -> int:
        """Return the number of items of the plan whose rows had changed when it was applied."""
        return self.counts.get("skipped_stale", 0)

    @property
    def word(self) -> str:
        """Return the status in a few words: the run under way, else pending items, else the outcome of the plan."""
        if self.run:
            return self.run
        if self.store_removed:
            return "store removed"
        if self.last_failure:
            return "interrupted" if self.failure == INTERRUPTED else "night failed"
        if self.approvals:
            return "approved, not applied"
        if self.half_signed and not self.to_approve:
            return "needs a signature"
        if self.to_approve or self.questions:
            return "probe failed" if self.failed else "needs a person"
        if self.secrets:
            return "secret found"
        if self.not_planned:
            return "changes not planned"
        if not self.state:
            return "nothing to decide" if self.last_night else "no night yet"
        return self.state.replace("_", " ")

    def to_json(self) -> dict[str, object]:
        """Return the status as ``slowwave status --json`` shows it."""
        return {**asdict(self), "word": self.word, "stale": self.stale}


def read_namespace_status(
    connection: Connection, namespace: str | None = None, now: datetime | None = None
) -> list[NamespaceStatus]:
    """Return the status of all namespaces, ordered by name, or of one.

    The next night is counted from ``now``. Costs one query, linear in the runs and in the items of the latest plans.
    """
    at = now or datetime.now(UTC)
    with connection.cursor(row_factory=class_row(_Row)) as cursor:
        rows = cursor.execute(_STATUS.encode(), {"namespace": namespace}).fetchall()
    return [_status(row, at) for row in rows]


@dataclass(frozen=True, slots=True)
class _Row:
    namespace: str
    read_only: bool
    settings: Any
    enabled: bool
    store_removed: bool
    written: str
    held_back: dict[str, dict[str, int]] | None
    why_not_planned: str
    secrets: int | None
    plan_hash: str
    state: str
    recorded_at: datetime | None
    expires_at: datetime | None
    counts: dict[str, int]
    to_approve: int | None
    questions: int | None
    operations: dict[str, int] | None
    failed: list[str]
    approvals: int
    half_signed: int
    run_mode: str | None
    run_state: str | None
    heartbeat_age: float | None
    last_success: datetime | None
    last_failure: datetime | None
    failure: str
    last_whole: datetime | None
    records: int | None
    scheduled_at: datetime | None
    last_apply: datetime | None
    conflicts: int
    planned_once: bool
    changed: bool


def _status(row: _Row, now: datetime) -> NamespaceStatus:
    why_not_planned = row.why_not_planned
    if row.written and _was_only_read(row):
        run = f"slowwave night {shlex.quote(row.namespace)}"
        why_not_planned = f"Plans may be made for the store {row.written} since then: `{run}` makes one."
    not_planned = sum(sum(decisions.values()) for decisions in (row.held_back or {}).values())
    asks = not row.store_removed
    failed_since = row.last_failure and (row.last_success is None or row.last_failure > row.last_success)
    if row.failure == INTERRUPTED and row.last_success and not row.changed:
        failed_since = False  # an interrupted night changed nothing, and another one would find nothing new
    return NamespaceStatus(
        namespace=row.namespace,
        plan_hash=row.plan_hash,
        state=shown_state(row.state, row.counts, row.expires_at) if row.state else "",
        counts={str(status): int(n) for status, n in row.counts.items()},
        to_approve=int(row.to_approve or 0) if asks else 0,
        questions=int(row.questions or 0) if asks else 0,
        operations={str(name): int(n) for name, n in (row.operations or {}).items()},
        failed=tuple(map(str, row.failed)) if row.to_approve and asks else (),
        approvals=row.approvals if asks else 0,
        half_signed=row.half_signed if asks else 0,
        conflicts=row.conflicts,
        run=_run(row),
        last_night=row.last_success,
        last_failure=row.last_failure if failed_since and asks else None,
        failure=row.failure if failed_since and asks else "",
        scheduled_at=row.scheduled_at,
        last_apply=row.last_apply,
        next_night=_next(row, now),
        store_removed=row.store_removed,
        not_planned=not_planned if asks else 0,
        why_not_planned=why_not_planned if asks else "",
        secrets=(row.secrets or 0) if row.why_not_planned and asks else 0,
    )


def _was_only_read(row: _Row) -> bool:
    """Return whether plans were allowed to be applied to the store of a namespace after its last night."""
    if not row.why_not_planned:
        return False
    from slowwave.bindings.stores import only_read  # it imports SQLAlchemy

    return row.why_not_planned == only_read(row.written)


def _run(row: _Row) -> str:
    if row.run_state is None or row.run_mode is None:
        return ""
    from slowwave.store.runs import expiry_of, has_expired

    if row.run_state in ("planning", "applying") and has_expired(row.heartbeat_age or 0, expiry_of(row.settings)):
        return f"{row.run_mode} stuck"
    return "undoing" if row.run_mode == "undo" and row.run_state == "applying" else row.run_state


def _next(row: _Row, now: datetime) -> datetime | str:
    if row.store_removed:
        return "store removed"
    if not row.enabled:
        return "off"
    if row.read_only:
        return "read-only"
    if not row.changed:
        return "unchanged"
    try:
        settings = Settings.for_namespace(row.settings)
    except SettingsError:  # it holds no night back: the run is opened and ends with the error
        return next_night(now, Settings.for_namespace({}))
    hurried = settings.reflection_mode == "always"
    if row.records is not None and not hurried and (lacking := settings.gate_min_new_records - row.records) > 0:
        return f"after {counted(lacking, 'more record')}"
    open_at = now
    if row.last_whole and not hurried:
        open_at = max(now, row.last_whole + timedelta(hours=_min_hours(settings)))
    return next_night(open_at, Settings.for_namespace({}))


def next_night(now: datetime, settings: Settings) -> datetime:
    """Return the next time, in UTC, at which the schedule checks whether nights are due."""
    day = now.astimezone(zone_of(settings.time_zone)).replace(
        hour=settings.nightly_hour, minute=0, second=0, microsecond=0
    )
    while day <= now or day.isoweekday() not in settings.nightly_days:
        day += timedelta(days=1)
    return day.astimezone(UTC)


def words(statuses: Sequence[NamespaceStatus]) -> dict[str, int]:
    """Count the namespaces by their status word."""
    found: dict[str, int] = {}
    for one in statuses:
        found[one.word] = found.get(one.word, 0) + 1
    return found


# The digest: one Markdown page about all namespaces that a person reads in a minute. What needs a person comes first, with its command.
#
# Names of namespaces and sentences of probes may hold memory text, which is untrusted: it is escaped. The page has no other content of
# memory.

MOST: Final = 20
"""The most namespaces of a section that are listed one by one."""

_OPERATIONS: Final = 4
_HIDDEN: Final = "A probe failed; what it says is hidden."


def digest(statuses: Sequence[NamespaceStatus], now: datetime | None = None, disabled: str = "") -> str:
    """Format the digest page; each section lists at most ``MOST`` namespaces. ``disabled`` is the reason why nothing may be written."""
    at = now or datetime.now(UTC)
    lines = [
        f"# Slowwave, {at:%Y-%m-%d %H:%M} UTC",
        "",
        _head(statuses),
        *(("", escape(disabled, 400)) if disabled else ()),
    ]
    wrong = [s for s in statuses if s.failed or s.last_failure or s.secrets or s.run.endswith("stuck")]
    asks = [s for s in statuses if s not in wrong and (s.to_approve or s.questions or s.half_signed or s.approvals)]
    rest = [s for s in statuses if s not in wrong and s not in asks]
    for title, chosen, describe in (
        ("Look at", wrong, _wrong),
        ("Decide", asks, _asks),
        ("Nothing to do", rest, _rest),
    ):
        if chosen:
            lines += ["", f"## {title}", ""]
            for one in chosen[:MOST]:
                lines += describe(one)
            if len(chosen) > MOST:
                lines.append(f"- … and {len(chosen) - MOST:,} more: {_command('status')}")
    return "\n".join(lines) + "\n"


def hidden(statuses: Sequence[NamespaceStatus], level: Level) -> list[NamespaceStatus]:
    """Return the statuses without the content of memory that probes quote, as far as ``level`` requires.

    Used for a page that leaves the database.
    """
    from slowwave.night.run_events import cut

    if level == "none":
        return list(statuses)
    return [
        replace(one, failed=tuple(cut(f) if level == "summary" else _HIDDEN for f in one.failed), failure="")
        for one in statuses
    ]


def message_of(page: str, now: datetime) -> dict[str, object]:
    """Build the webhook message for a page."""
    return {
        "type": "status.digest",
        "timestamp": now.isoformat(),
        "resource_type": "status",
        "data": {"markdown": page},
    }


def ago(then: datetime | None, now: datetime) -> str:
    """Format how long ago an instant was, in the largest unit of which there are at least two."""
    if then is None:
        return "never"
    return f"{_span((now - then).total_seconds())} ago"


def ahead(then: datetime | str, now: datetime) -> str:
    """Return how long it is until the next night, or what prevents it.

    Without a change of the namespace there is no night.
    """
    if isinstance(then, str):
        return "on change" if then == "unchanged" else then
    return f"in {_span((then - now).total_seconds())}"


def waits(one: NamespaceStatus) -> str:
    """Format what is pending for a person."""
    parts = [
        f"{one.to_approve:,} to approve" if one.to_approve else "",
        counted(one.questions, "question") if one.questions else "",
        f"{one.half_signed:,} to sign by somebody else" if one.half_signed else "",
        f"{one.approvals:,} to apply" if one.approvals else "",
        *held_back_counts(one),
    ]
    return ", ".join(part for part in parts if part)


def held_back_counts(one: NamespaceStatus) -> list[str]:
    """Return the counts of what a night found in a store that may not be written, each with its unit."""
    return [
        *([counted(one.secrets, "row with a secret", "rows with a secret")] if one.secrets else []),
        *([f"{counted(one.not_planned, 'change')} not planned"] if one.not_planned else []),
    ]


def _head(statuses: Sequence[NamespaceStatus]) -> str:
    state_counts = ", ".join(f"{word} {n:,}" for word, n in sorted(words(statuses).items(), key=lambda w: -w[1]))
    items, asked = sum(s.to_approve for s in statuses), sum(s.questions for s in statuses)
    wait = (
        f" {counted(items, 'change waits', 'changes wait')} for approval, {counted(asked, 'question')} for an answer."
        if items or asked
        else ""
    )
    return f"{counted(len(statuses), 'namespace')}: {state_counts}.{wait}" if statuses else "There is no namespace yet."


def _asks(one: NamespaceStatus) -> Iterator[str]:
    yield f"- **{escape(one.namespace)}**: {waits(one)}, of plan `{one.plan_hash[:12]}`.{_what(one)}"
    yield f"  {_next_step(one)}"


def _wrong(one: NamespaceStatus) -> Iterator[str]:
    why = [
        *(escape(sentence, 300) for sentence in one.failed),
        *(["Its last night failed."] if one.last_failure else []),
        *([escape(one.why_not_planned, 300)] if one.secrets else []),
        *([f"Its {one.run.replace(' stuck', '')} run is stuck."] if one.run.endswith("stuck") else []),
    ]
    wait = f" ({waits(one)})" if waits(one) else ""
    yield f"- **{escape(one.namespace)}**{wait}: {' '.join(why)}"
    if one.secrets:
        yield f"  {_command('night', one.namespace, '--force')}"
    else:
        yield f"  {_next_step(one) if one.failed else _command('runs list', one.namespace)}"


def _rest(one: NamespaceStatus) -> Iterator[str]:
    stale = f", {one.stale:,} of it stale" if one.stale else ""
    counts = f" ({items_text(one.counts)})" if one.counts and one.state else ""
    more = f" ({', '.join(held_back_counts(one))})" if one.secrets or one.not_planned else counts
    yield f"- **{escape(one.namespace)}**: {one.word}{more}{stale}"


def _what(one: NamespaceStatus) -> str:
    most = sorted(one.operations.items(), key=lambda o: (-o[1], o[0]))
    operation_counts = ", ".join(f"{n:,} {escape(name.replace('_', ' '))}" for name, n in most[:_OPERATIONS])
    return f" Most: {operation_counts}." if operation_counts else ""


def _next_step(one: NamespaceStatus) -> str:
    if one.to_approve or one.questions:
        return _command("plans show", one.namespace)
    if one.half_signed:
        return _command("plans countersign", one.namespace, one.plan_hash[:12], "--by", OTHER)
    return _command("apply", one.namespace)


def _command(name: str, *arguments: str) -> str:
    """Format a command as Markdown code; arguments are left out if they contain a backquote or an unprintable character."""
    words_ = f"slowwave {name} {shlex.join(arguments)}".strip()
    return f"`{words_}`" if words_.isprintable() and "`" not in words_ else f"`slowwave {name}`"


def _span(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"


# Delivery of the digest: what it may contain outside of the database, and how it is sent (``slowwave.night.delivery``).

_FORGET: Final = "DELETE FROM night.notices WHERE id = %s RETURNING delivered_at IS NOT NULL"


def morning_page(store: Store, now: datetime | None = None) -> tuple[str, list[NamespaceStatus]]:
    """Return the digest of all namespaces, redacted by the strictest ``redact_text`` among them, and the statuses in it."""
    from slowwave.night.run_events import levels_in, strictest

    with store.connect("reader") as connection:
        statuses = read_namespace_status(connection)
        level = strictest(levels_in(connection, [one.namespace for one in statuses])) if statuses else "none"
        disabled = why_disabled(connection)
    shown = hidden(statuses, level)
    return digest(shown, now, disabled), shown


def send_page(store: Store, page: str, now: datetime | None = None, *, seconds: float = 60.0) -> str:
    """Send the signed page to the webhook of the environment, with retries for at most ``seconds``, and return the host.

    A page that is not accepted in this time is not sent later. Raises ``SettingsError`` if there is no address, and ``StoreError`` if the
    receiver did not accept the page.
    """
    from slowwave.night.delivery import DIGEST_URL, SECRET, deliver, endpoint, write_notices

    to = endpoint("status")
    if to is None:
        raise SettingsError(
            f"There is no address to send to. Set {DIGEST_URL} and {SECRET}; docs/telemetry.md shows how a receiver verifies a message."
        )
    with store.connect("applier") as connection:
        (notice,) = write_notices(connection, None, [message_of(page, now or datetime.now(UTC))])
        try:
            deliver(store, seconds=seconds, kinds=("status",))
        finally:
            sent = connection.execute(_FORGET, (notice,)).fetchone()
    if sent is None or not sent[0]:
        raise StoreError(
            f"The webhook at {to.shown()} did not accept the page. `slowwave status --digest` prints it; try again later."
        )
    return to.shown()


# Gates: whether a scheduled night is due, cheapest check first, and the name of the gate that is closed.
#
# A closed gate is no failure: the caller shows its name and its sentence. A person who runs a night by hand meets only ``disabled`` and
# ``unchanged``. The cooldown of a single operation and its budget belong to the planners, whose reports count what they left out.

_READ_ONLY: Final = "SELECT 1 FROM memory.namespaces WHERE id = %s AND read_only"
_TOKENS_TODAY: Final = """
SELECT coalesce(sum(input_tokens + output_tokens), 0)::bigint FROM night.llm_usage WHERE namespace_id = %s
  AND recorded_at > now() - interval '24 hours'
"""

_CONNECTED: Final = "SELECT 1 FROM night.store_namespaces WHERE namespace_id = %s"

Gate = Literal[
    "disabled",
    "read_only",
    "unchanged",
    "budget_spent",
    "too_soon",
    "too_few_new_records",
    "too_few_sessions",
    "cooldown",
    "locked",
]
"""The gates of operations.md 6, in the order in which they are checked; ``cooldown`` is one of operations and closes no night."""

LONGEST_WEEKLY_WAIT_DAYS: Final = 28
"""Days after which too few new sessions no longer hold back the weekly operations: memory that is never mentioned ages as well."""

_SLACK_HOURS: Final = 0.5
"""Slack for a daily schedule, so that a night that began minutes late does not hold back the next; at most a tenth of the gate."""

_NEWS: Final = f"""
SELECT count(*), greatest(count(DISTINCT session), count(DISTINCT (recorded_at AT TIME ZONE 'UTC')::date))
FROM ({_NEW_ROWS.format(scope="%(scope)s", since="%(since)s")}) news
"""
"""Rows recorded since an instant, and their sessions: by name, or the days of recording where those are more, since not every agent
names its sessions."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A closed gate, and the sentence that states why, which starts with the namespace."""

    gate: Gate
    sentence: str

    def __str__(self) -> str:
        return f"{self.gate}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class NightDue:
    """The decision whether a scheduled night is due, and ``weekly`` whether with the weekly operations.

    ``closed`` is the gate that holds back the night or, if the night is due, the one that holds back the weekly operations.
    """

    night: bool
    weekly: bool = False
    closed: Closed | None = None


def gate(
    store: Store, namespace: str, settings: Settings, *, weekly: bool = False, force: bool = False
) -> Closed | None:
    """Return the first gate that is closed for a night of the namespace, or None (mnemo 2.3, nexo 3.4).

    ``weekly`` checks a night with the weekly operations. Such a night needs new sessions instead of new records. It needs no change,
    because age alone is work for these operations. ``force``, like a ``reflection_mode`` of ``always``, passes the gates of cadence. Runs
    of selected operations or rows do not count as nights. The first night is never too soon. The database compares times as instants.

    Costs seven queries at most; the most expensive one counts the namespace's new rows (linear in its rows).
    """
    from slowwave.night.runs import unchanged

    asked = _Asked(namespace, settings, weekly, force or settings.reflection_mode == "always")
    with store.connect("reader") as connection:
        return _closed(connection, asked, unchanged=lambda: unchanged(store, namespace))


def due(store: Store, namespace: str, *, weekly: bool = False, force: bool = False) -> NightDue:
    """Return what the schedule does for the namespace; with ``force``, without the gates of cadence.

    With ``weekly``, a plain night is due if only the weekly operations are not. Invalid settings hold nothing back: the run is opened and
    ends with the error. The same is true for a gate that fails because of the namespace's rows, so that no namespace keeps others from
    their nights.
    """
    with store.connect("reader") as connection:
        try:
            settings = namespace_settings(connection, namespace)
        except SettingsError:
            return NightDue(night=True, weekly=weekly)
    try:
        closed = gate(store, namespace, settings, weekly=weekly, force=force)
    except (StoreError, psycopg.OperationalError):
        raise
    except Exception:  # noqa: BLE001 - the run that it lets begin says what it is
        closed = None
    if closed is None:
        return NightDue(night=True, weekly=weekly)
    if weekly and closed.gate in ("budget_spent", "too_few_sessions"):
        plain = gate(store, namespace, settings)
        return NightDue(night=False, closed=plain) if plain else NightDue(night=True, closed=closed)
    return NightDue(night=False, closed=closed)


def holds_back_audits(connection: Connection, namespace: str, settings: Settings) -> bool:
    """Return whether a gate keeps the schedule from auditing the namespace as long as nothing else happens in it."""
    asked = _Asked(namespace, settings, weekly=False, hurried=settings.reflection_mode == "always")
    closed = _closed(connection, asked, unchanged=lambda: None)
    return closed is not None and closed.gate in ("disabled", "read_only", "too_few_new_records")


@dataclass(frozen=True, slots=True)
class _Asked:
    namespace: str
    settings: Settings
    weekly: bool
    hurried: bool


def _closed(connection: Connection, asked: _Asked, *, unchanged: Callable[[], Unchanged | None]) -> Closed | None:
    """Return the first closed gate; queries that earlier gates do not need are made last."""
    name, settings = asked.namespace, asked.settings
    scope = namespace_id(connection, name)
    if not settings.enabled:
        return Closed("disabled", f"{name} is disabled: `enabled` is false in its settings or in SLOWWAVE_ENABLED.")
    if connection.execute(_READ_ONLY, (scope,)).fetchone():
        return Closed("read_only", f"{name} is read-only: nothing that a night plans could be applied to it.")
    if (same := unchanged()) and (same.removed or not asked.weekly):
        since = f"{name} is {same.why}: nothing was written, and no setting or verdict changed."
        return Closed("unchanged", f"{name} has nothing to do: {same.why}." if same.removed else since)
    if asked.weekly and (why := _budget_spent(connection, scope, settings)):
        return Closed("budget_spent", f"{name} {why}")
    if not asked.hurried and (held := _cadence(connection, asked, scope)):
        return held
    for holder in holders(connection, scope, settings.heartbeat_expiry_seconds):
        if holder.alive:
            return Closed("locked", f"{name} is held by run {holder.run_id}, which is {holder.state}.")
    return None


def _budget_spent(connection: Connection, scope: str, settings: Settings) -> str:
    """Return a message if models are set and their tokens of 24 hours are spent; empty otherwise."""
    from slowwave.operations.options import CommunitySummariesOptions

    limit = settings.llm_max_tokens_per_namespace_per_day
    options = settings.options("community_summaries", CommunitySummariesOptions)
    if not limit or not (settings.judge_models or options.model or settings.consolidation_model):
        return ""
    row = connection.execute(
        _TOKENS_TODAY,
        (scope,),
    ).fetchone()
    spent = int(str(row[0])) if row else 0
    return f"has spent {spent:,} of {limit:,} tokens in 24 hours." if spent >= limit else ""


def _cadence(connection: Connection, asked: _Asked, scope: str) -> Closed | None:
    """Return the first closed gate of those that hold back a night only for a while, or None."""
    from slowwave.night.runs import last_nights

    name, settings, last = asked.namespace, asked.settings, last_nights(connection, scope)
    if last.night and last.hours < _min_hours(settings):
        hours = f"{last.hours:,.1f} hours ago, and gate_min_hours is {settings.gate_min_hours:g}"
        return Closed("too_soon", f"{name} had a night {hours}.")
    if connection.execute(_CONNECTED, (scope,)).fetchone():
        return None  # in a connected store, new and changed rows are not distinguished
    records, sessions = _news(connection, scope, last.weekly if asked.weekly else last.night)
    if asked.weekly:
        if sessions >= settings.gate_min_sessions or last.weekly_days >= LONGEST_WEEKLY_WAIT_DAYS:
            return None
        few = f"{sessions:,} new sessions since its last weekly night, and gate_min_sessions is"
        return Closed("too_few_sessions", f"{name} has {few} {settings.gate_min_sessions:,}.")
    if records >= settings.gate_min_new_records:
        return None
    few = f"{records:,} new records since its last night, and gate_min_new_records is"
    return Closed("too_few_new_records", f"{name} has {few} {settings.gate_min_new_records:,}.")


def _min_hours(settings: Settings) -> float:
    """Return the hours between the starts of two scheduled nights, less the slack."""
    least = settings.gate_min_hours
    return least - min(_SLACK_HOURS, least / 10)


def _news(connection: Connection, scope: str, since: datetime | None) -> tuple[int, int]:
    """Count the new records and new sessions since an instant; all if it is None."""
    given = {"scope": scope, "since": since or datetime.min.replace(tzinfo=UTC)}
    row = connection.execute(_NEWS, given).fetchone()
    return (int(str(row[0])), int(str(row[1]))) if row else (0, 0)
