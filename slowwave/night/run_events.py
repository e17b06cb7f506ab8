"""Events of a run and the stream that sinks receive, with as much memory text as ``redact_text`` allows."""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from functools import cache, partial
from typing import Final, Literal, Protocol, get_args, get_origin, runtime_checkable

import psycopg
from sqlalchemy import DateTime, Text

from slowwave.changes.cells import Action
from slowwave.changes.mutation import KINDS
from slowwave.errors import (
    INTERRUPTED,
    DreamCancelled,
    DreamDisabledError,
    DreamLockUnavailable,
    DreamRunStuckError,
    ImportRefused,
    NightFailed,
    Refused,
    ReportError,
    SettingsError,
    SnapshotError,
    StoreError,
)
from slowwave.operations.registry import operations
from slowwave.plans.items import Item
from slowwave.plans.report import Bars, Finding, Numbers, Report
from slowwave.store.logins import Connection
from slowwave.store.settings import Settings
from slowwave.store.tables import metadata
from slowwave.text.quotation import quotable

# Events of a run: one stream, which any number of sinks receive. Nothing here writes anywhere.
#
# An operation's ``inputs`` and ``outputs`` may hold memory text. Every other field is ours: ids, names of operations, decisions and
# states, numbers and instants. So redaction knows where memory text can be.

Outcome = Literal["success", "skipped", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The base of all events: the run, its namespace by name, and when it happened (UTC)."""

    run_id: str
    namespace: str
    at: datetime

    def to_json(self) -> dict[str, object]:
        """Return all fields under the event's name; instants as ISO 8601."""
        return {"event": type(self).__name__, **{f.name: _plain(getattr(self, f.name)) for f in fields(self)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """The start of a run. ``mode`` is plan, apply or undo; ``trigger`` manual, schedule, sensor or resume."""

    mode: str
    trigger: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseStarted(Event):
    """The start of a phase: snapshot, audit, plan, probe, apply or undo."""

    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rationale:
    """The reason for an operation's decision, in numbers; its words appear only as a hash."""

    strategy: str
    score: float | None = None
    threshold: float | None = None
    llm_confidence: float | None = None
    rationale_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationEvent(Event):
    """One operation, or one of its items: its inputs, decision, outputs and duration.

    ``op_id`` is the item's id, or the operation's name for a whole audit or planner.
    """

    op_id: str
    phase: str
    op_type: str
    decision: str
    status: str = ""  # of an item: pending, deferred, applied, skipped_stale, failed, undone
    inputs: Mapping[str, object] = field(default_factory=dict)
    outputs: Mapping[str, object] = field(default_factory=dict)
    rationale: Rationale | None = None
    started_at: datetime | None = None
    duration_ms: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmCalled(Event):
    """A call of a language model."""

    op_type: str
    model: str
    input_tokens: int
    output_tokens: int
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmThrottled(Event):
    """Calls of language models that were left out because a token budget was spent."""

    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseCompleted(Event):
    """The end of a phase."""

    phase: str
    outcome: Outcome
    ops_total: int
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompleted(Event):
    """The regular end of a run.

    ``state`` is the ledger's: awaiting_approval, approved, completed, cancelled, refused.
    """

    mode: str
    state: str
    ops_total: int
    counts: Mapping[str, int]
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed(Event):
    """The end of a run with an error; its text is left out, because it may quote memory."""

    mode: str
    error_type: str
    error_hash: str
    duration_ms: float = 0.0


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, Rationale):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    return dict(value) if isinstance(value, Mapping) else value


# The closed vocabulary: words that belong to this program and never come from memory.
#
# The redaction below decides where they are kept. A word that is missing here is hidden and causes no other harm.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COLUMNS: Final = tuple(column for table in metadata.tables.values() for column in table.columns)

_CHOICES: Final = frozenset(
    str(choice)
    for field in Settings.model_fields.values()
    if get_origin(field.annotation) is Literal
    for choice in get_args(field.annotation)
) | _words("evidence_weighted keep_newest manual natural_selection promoted source_precedence stale two_judges")
"""The choices of settings and of the options of operations: policies, scopes, modes."""

_FIELDS: Final = frozenset(
    field.name
    for kind in (Report, Finding, OperationEvent, Rationale, LlmCalled, RunCompleted)
    for field in fields(kind)
)
"""The fields of reports and events."""

TABLES: Final = frozenset(table.name for table in metadata.tables.values())
"""The names of tables, of memory and of the ledger."""


@cache
def operation_names() -> frozenset[str]:
    """Return the names of audits and planners, including those of other packages, and of the other operations that write."""
    return frozenset(("apply", "undo", *operations()))


@cache
def columns() -> frozenset[str]:
    """Return the columns of reports that audits and planners declare, including those of other packages."""
    return frozenset(column for operation in operations().values() for column in operation.columns)


WORDS: Final = (
    TABLES
    | frozenset(KINDS)
    | frozenset(column.name for column in _COLUMNS)
    | frozenset(get_args(Action))
    | _CHOICES
    | _words(
        """
        accept advance approved archive archived audit audit_complete awaiting_approval calibrated cancelled
        centroid chunk clean close compact completed compressed crashed date defer deferred delete descriptions
        detected different document done embed empty end entity episodes essence exact expired failed forgotten full
        high info insert insufficient_input invalidate invalidated is isolated keep kept llm_budget_exhausted
        low low_similarity lower many medium merge merged_type moved new no_candidates no_op no_vectors noop
        number one_object one_way op_disabled_by_config op_not_requested pending plan planned polarity prefer
        probe promote property_contradiction prune purge quarantined raise re_embed re_embed_unavailable refused
        rejected relationship rename render resolve retire reversed review revoke reword same same_but_for_one
        shared_properties single skip_multimodal skip_singleton skipped_stale snapshot summarise summarize
        supersede superseded tag undone unknown unsure unused warning weak
        """
    )
)
"""The words that are kept as values under ``WORD_KEYS`` in addition to names of operations: decisions, statuses, reasons, levels."""

WORD_KEYS: Final = _words(
    """
    a action b bucket centroid chunks_live claims claims_dropped column column_name columns confidence_threshold
    conflict decision doubtful earlier expected_with_several keys kind later learnt list margin mode mutation
    name_level new_type of old_type op_kind op_type operation phase pointers_cleared policy predicate reason replaces
    resolution retired retired_since risk rule severity share_with_one_object shown side source_table state status
    strategy subjects suggested table table_name tables target text restated repeated type_after types_before
    verdict waterfall weights what window_days writer
    """
)
"""Keys under which one of ``WORDS`` is kept; every other text under them is hidden."""

INSIDE: Final = _words(
    """
    attributes guards inserts metadata payload properties quote quotes seen settings tags text texts value values
    writes
    """
)
"""Keys whose value comes entirely from memory: keys, texts and numbers in it are hidden."""

_OUR_TEXTS: Final = ("id", "content_hash", "plan_hash", "fingerprint")
"""Text columns of memory tables that hold our texts: ids that are no UUIDs, and hashes of content and plans."""

TEXT_KEYS: Final = frozenset(
    column.name
    for column in _COLUMNS
    if column.table.schema == "memory" and isinstance(column.type, Text) and column.name not in _OUR_TEXTS
) | _words("names detail like type headline message label title why cited")
"""Keys whose texts come from memory, whatever they look like: an external id may be a UUID without being ours."""

INSTANT_KEYS: Final = frozenset(column.name for column in _COLUMNS if isinstance(column.type, DateTime)) | _words(
    "oldest newest at started_at applied_at"
)
"""Keys under which an instant is kept."""

KEYS: Final = (
    WORDS
    | WORD_KEYS
    | INSIDE
    | _FIELDS
    | _words(
        """
        absorb age_days age_hours all_rows applied_at baseline beyond_the_limits bytes candidates cells
        characters cited classes cluster cluster_similarity clusters community consolidated content_hash
        cooccurrence_edge_weight cosine count current dates days dead dead_ids degree detail distance due edges
        effective_importance entries exempt first_dead found frequency_delta_threshold from group groups
        half_life_days ids interpolation isolated_candidates items judges kinds labels lead least_similarity
        left left_out_as_unsafe length length_max length_p50 length_p90 length_p99 level like lines live
        live_rows loser members mentions missing names nearest new_lines newest occurrences oldest opinions
        overlap p10 p25 p50 p75 p90 p95 p99 pagerank_cut pairs passed percentile places position previous
        probability problem queries rank reasons recall_window_days recency references reindexed removed
        retention_days rewritten row_a row_b rules said_on score_gap seen_hash share sides similarity
        source_chunks source_count stands_for survivor to token_rule token_savings tokens_after tokens_before
        top_offenders total type uncited victim why winner without_vector
        """
    )
)
"""Our keys, in addition to names of operations. Another key may be a name from the data, and is hidden with the texts under it."""


# Redaction: how much memory text may leave the database in reports, events, files, metadata and errors (``redact_text``).
#
# ``none`` hides nothing, ``summary`` keeps the beginning of every text, ``all`` keeps none of it. Our texts are recognized by their
# place, never by their form: under one of our keys, a word of the closed vocabulary, an id, a hash or an instant is kept. Everything
# under another key, in a text column, or inside attributes comes from memory, including its keys. In doubt it is hidden. Numbers are
# kept, except inside attributes. The names of a report's numbers, the titles of its plots, and labels marked as ours are ours by their
# type.

Level = Literal["none", "summary", "all"]
"""The values of the setting ``redact_text``."""

LEVELS: Final[tuple[Level, ...]] = ("none", "summary", "all")
"""The levels, the least strict first."""

LONGEST: Final = 200
"""The number of characters of a text that ``summary`` keeps, including the ellipsis."""

HIDDEN: Final = "(hidden)"
"""The replacement for a hidden text in a table."""

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEX: Final = re.compile(r"[0-9a-f]{8,128}")
_SNAPSHOT: Final = re.compile(r"\d{8}T\d{6}Z?-[0-9a-z]{1,12}")
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?")
_HASH_KEY: Final = re.compile(r"(.*_)?(hash|sha256|digest|fingerprint)")
_OPEN_ESCAPE: Final = re.compile(r"(\\(u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|x[0-9a-fA-F]?)?|&#?\w{0,8}|%[0-9a-fA-F]?)$")
_SPACE: Final = re.compile(r"\s+\S*$")
_LONGEST_HEADLINE: Final = 300
_SHOWN_NUMBERS: Final = 6

_OURS: Final = (
    *(Refused, StoreError, SettingsError, SnapshotError, ReportError),
    *(DreamCancelled, DreamRunStuckError, DreamLockUnavailable, DreamDisabledError),
    NightFailed,
)
"""Errors whose sentences name ids, settings and places, never memory; ``NightFailed`` quotes as much as the namespace allows."""

_QUOTED: Final = re.compile(r'".*"', re.DOTALL)
_DATA_EXCEPTION: Final = "22"  # class of SQLSTATE: the message quotes the value

_RUN_SETTINGS: Final = """
SELECT n.settings FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id WHERE r.id = %s
"""
_NAMESPACE_SETTINGS: Final = "SELECT settings FROM memory.namespaces WHERE slug = ANY(%s)"


def level_of(overlay: Mapping[str, object]) -> Level:
    """Return the level in a namespace with the ``settings`` of ``overlay``; ``all`` if they name no valid level."""
    try:
        return Settings.for_namespace(overlay).redact_text
    except (SettingsError, ValueError):  # another setting is wrong, which ends the run in words that obey this one
        asked = overlay.get("redact_text")
        return LEVELS[LEVELS.index(asked)] if asked in LEVELS else "all"


def level_of_run(connection: Connection, run_id: str) -> Level:
    """Return the level in the namespace of a run; ``all`` for an unknown run."""
    row = connection.execute(_RUN_SETTINGS, (run_id,)).fetchone()
    return level_of(row[0]) if row and isinstance(row[0], dict) else "all"


def levels_in(connection: Connection, namespaces: Sequence[str]) -> list[Level]:
    """Return the level in each of the namespaces that exist."""
    rows = connection.execute(_NAMESPACE_SETTINGS, (list(namespaces),))
    return [level_of(overlay) if isinstance(overlay, dict) else "all" for (overlay,) in rows]


def strictest(found: Iterable[Level]) -> Level:
    """Return the strictest of the given levels, or ``all`` if there are none."""
    return LEVELS[max((LEVELS.index(level) for level in found), default=len(LEVELS) - 1)]


def redact(value: object, level: Level) -> object:
    """Return a JSON value with its texts cut (``summary``) or hidden (``all``), at every depth and in keys.

    The shape stays. Tuples and sets become lists unless the level is ``none``. Linear in the size of the value.
    """
    if level == "none":
        return value
    return _cut(value) if level == "summary" else _hidden(value, "", ours=True)


def cut(text: str, limit: int = LONGEST) -> str:
    """Return the beginning of a text in whole words, at most ``limit`` characters.

    An escape sequence is kept whole or left out.
    """
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    if not text[limit - 1].isspace():
        words = _SPACE.sub("", head)
        head = words if limit // 2 < len(words) < len(head) else _OPEN_ESCAPE.sub("", head)
    return head.rstrip() + "…"


def redact_event(event: Event, level: Level) -> Event:
    """Return the event with the inputs and outputs of an operation redacted; its other fields are ours."""
    if level == "none" or not isinstance(event, OperationEvent):
        return event
    return replace(event, inputs=_mapping(event.inputs, level), outputs=_mapping(event.outputs, level))


def redact_report(report: Report, level: Level) -> Report:
    """Return the report as it may be shown. Under ``all``, its sentences are rebuilt from its name and counts.

    The next night compares with the original report, never with this one.
    """
    if level == "none":
        return report
    numbers = redact_numbers(report.numbers, level)
    return replace(
        report,
        headline=cut(report.headline, _LONGEST_HEADLINE) if level == "summary" else _headline(report, numbers),
        numbers=numbers,
        findings=tuple(_finding(finding, level) for finding in report.findings),
        table=tuple(redact_rows(report.table, level)),
        plots=tuple(_bars(bars, level) for bars in report.plots),
        details=_mapping(report.details, level),
    )


def redact_numbers(numbers: Mapping[str, int | float], level: Level) -> dict[str, int | float]:
    """Return a report's numbers, whose names are ours (``slowwave.plans.report.Numbers``)."""
    return dict(numbers) if level == "none" else {cut(name): number for name, number in numbers.items()}


def redact_rows(rows: Iterable[Mapping[str, object]], level: Level) -> list[dict[str, object]]:
    """Return rows of a table for display: columns stay, and hidden texts are marked as hidden."""
    if level == "none":
        return [dict(row) for row in rows]
    if level == "summary":
        return [{cut(str(k)): _cut(v) for k, v in row.items()} for row in rows]
    return [
        {
            k: HIDDEN if v is None and row_value is not None else v
            for (k, v), row_value in zip(hidden, row.values(), strict=True)
        }
        for row in rows
        for hidden in [_pairs(row, "", ours=True)]
    ]


def in_words(problem: BaseException, level: Level) -> str:
    """Format an error in one line: its kind and message, without quotes of memory that the level forbids.

    Our own sentences stay. The primary message of a database error stays without quoted values. Under ``all``, an error of another
    library is reduced to its kind and a hash, by which two errors can be compared. Text that screening would redact is removed at every
    level.
    """
    return str(quotable(_in_words(problem, level)))


def _in_words(problem: BaseException, level: Level) -> str:
    kind = type(problem).__name__
    if isinstance(problem, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(problem, psycopg.Error):
        return f"{kind}: {refusal(problem)}"
    text = str(problem).split("\n", 1)[0]
    if says_itself(problem):
        return f"{kind}: {text[:500]}"
    if level == "all":
        hashed = hashlib.sha256(str(problem).encode("utf-8", "replace")).hexdigest()[:16]
        return f"{kind} ({hashed}); what it says may quote memory and is hidden by redact_text."
    return f"{kind}: {cut(text) if level == 'summary' else text[:500]}"


def refusal(problem: psycopg.Error) -> str:
    """Return the database's message without the values of rows that it quotes."""
    message = problem.diag.message_primary or "the database ended the connection"
    return _QUOTED.sub("…", message) if (problem.sqlstate or "").startswith(_DATA_EXCEPTION) else message


def says_itself(problem: BaseException) -> bool:
    """Return whether an error's own sentence names nothing of memory and may be shown at every level."""
    return isinstance(problem, _OURS) and not isinstance(problem, ImportRefused)


def _cut(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else cut(value)
    if isinstance(value, Mapping):
        return {cut(str(k)): _cut(v) for k, v in value.items()}
    return [_cut(part) for part in value] if isinstance(value, (list, tuple, set, frozenset)) else value


def _mapping(value: Mapping[str, object], level: Level) -> dict[str, object]:
    redacted = redact(value, level)
    return redacted if isinstance(redacted, dict) else {}


def _hidden(value: object, key: str, *, ours: bool) -> object:
    """Hide a value's texts. ``key`` is the nearest key above; ``ours`` is false if any key above is from the data."""
    if isinstance(value, Numbers):
        return redact_numbers(value, "all")
    if isinstance(value, Mapping):
        return dict(_pairs(value, key, ours=ours))
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_hidden(part, key, ours=ours) for part in value]
    if value is None or value == "" or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return None if key in INSIDE else value
    if isinstance(value, (datetime, date)):
        return value if ours and key not in INSIDE else None
    return value if isinstance(value, str) and ours and _may_stand(value, key) else None


def _pairs(value: Mapping[object, object] | Mapping[str, object], key: str, *, ours: bool) -> list[tuple[str, object]]:
    pairs: list[tuple[str, object]] = []
    for n, (name, part) in enumerate(value.items(), 1):
        known = ours and key not in INSIDE and isinstance(name, str)
        if known and (name in KEYS or name in operation_names() or name in columns()):
            shown = str(name)
        else:
            shown, known = f"hidden {n}", False
        pairs.append((shown, _hidden(part, key if key in INSIDE else shown, ours=known)))
    return pairs


def _may_stand(text: str, key: str) -> bool:
    if key in INSIDE:
        return False
    if key in WORD_KEYS:
        return text in WORDS or text in operation_names()
    if key in TEXT_KEYS:
        return False
    if _UUID.fullmatch(text):
        return True
    if key == "snapshot_id":
        return bool(_SNAPSHOT.fullmatch(text))
    if key in INSTANT_KEYS:
        return bool(_INSTANT.fullmatch(text))
    if key == "rows":  # ids of rows, joined
        return all(_UUID.fullmatch(part) for part in text.split(", "))
    return bool(_HASH_KEY.fullmatch(key)) and bool(_HEX.fullmatch(text))


def _headline(report: Report, numbers: Mapping[str, int | float]) -> str:
    if report.skipped in WORDS:
        return f"{_operation(report.operation)} did not run: {report.skipped}."
    shown = [f"{name.replace('_', ' ')} {_number(n)}" for name, n in list(numbers.items())[:_SHOWN_NUMBERS]]
    return f"{_operation(report.operation)}: {'; '.join([*shown, f'findings {report.finding_count:,}'])}."


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _operation(name: str) -> str:
    return name if name in operation_names() else "An operation"


def _finding(finding: Finding, level: Level) -> Finding:
    if level == "summary":
        return replace(finding, message=cut(finding.message), details=_mapping(finding.details, level))
    rows = tuple(row for row in finding.rows if _UUID.fullmatch(row))
    about = ", ".join(rows[:5]) + (f" and {len(rows) - 5:,} more" if len(rows) > 5 else "")
    return Finding(
        f"Its text is hidden. Rows: {about}." if about else "Its text is hidden.",
        rows,
        finding.severity if finding.severity in WORDS else "info",
        _mapping(finding.details, level),
        finding.coverage,
    )


def _bars(bars: Bars, level: Level) -> Bars:
    if level == "summary":
        return replace(bars, title=cut(bars.title), labels=[cut(label) for label in bars.labels])
    labels = bars.labels if bars.own else [f"hidden {n}" for n in range(1, len(bars.labels) + 1)]
    return replace(bars, labels=list(labels))


# The stream of a run's events and its sinks. A sink that fails harms neither the run nor another sink.

_LOG: Final = logging.getLogger(__name__)


class Sink(Protocol):
    """A receiver of events: files, a webhook, callbacks, telemetry."""

    @property
    def name(self) -> str:
        """Return a short name, for the count of failures."""
        ...

    def emit(self, event: Event) -> None:
        """Receive one event. May raise: the stream continues without it."""
        ...

    def close(self) -> None:
        """Deliver pending events. Called once, after the run's last event."""
        ...


@runtime_checkable
class Recorder(Sink, Protocol):
    """A sink that writes events to the database, and can do so in the transaction that makes them true."""

    def record(self, events: Sequence[Event], connection: Connection | None = None) -> None:
        """Write events in the transaction of ``connection``, or in one of its own."""
        ...


@dataclass(slots=True)
class Stream:
    """The events of one run, redacted once for all sinks. ``failures`` counts failed calls by sink."""

    run_id: str
    namespace: str
    sinks: Sequence[Sink] = ()
    redact: Level = "all"
    failures: dict[str, int] = field(default_factory=dict)

    def record(self, connection: Connection, events: Sequence[Event]) -> None:
        """Let the recorders write events in the transaction of ``connection``; after the commit, ``emit`` sends them to other sinks."""
        for sink in self.sinks:
            if isinstance(sink, Recorder):
                sink.record([redact_event(event, self.redact) for event in events], connection)

    def emit(self, *events: Event, recorded: bool = False) -> None:
        """Send events to every sink, redacted as the level requires; with ``recorded`` not to recorders, which have them already."""
        if not self.sinks:
            return
        shown = [redact_event(event, self.redact) for event in events]
        for sink in self.sinks:
            if isinstance(sink, Recorder):
                if not recorded:
                    self._try(sink, partial(sink.record, shown))
                continue
            for event in shown:
                self._try(sink, partial(sink.emit, event))

    def close(self) -> None:
        """Close every sink."""
        for sink in self.sinks:
            self._try(sink, sink.close)

    def started(self, mode: str, trigger: str) -> None:
        """Emit the start of the run."""
        self.emit(
            RunStarted(run_id=self.run_id, namespace=self.namespace, at=datetime.now(UTC), mode=mode, trigger=trigger)
        )

    def failed(self, mode: str, problem: BaseException, since: float) -> None:
        """Emit that the run ended with an error; ``since`` is the ``time.monotonic`` of its start."""
        self.emit(
            RunFailed(
                run_id=self.run_id,
                namespace=self.namespace,
                at=datetime.now(UTC),
                mode=mode,
                error_type=type(problem).__name__,
                error_hash=hashlib.sha256(str(problem).encode("utf-8", "replace")).hexdigest()[:16],
                duration_ms=(time.monotonic() - since) * 1000,
            )
        )

    def ended(self, mode: str, state: str, counts: Mapping[str, int], since: float, operations: int = 0) -> None:
        """Emit that the run completed or was cancelled; ``since`` is the ``time.monotonic`` of its start."""
        self.emit(
            RunCompleted(
                run_id=self.run_id,
                namespace=self.namespace,
                at=datetime.now(UTC),
                mode=mode,
                state=state,
                ops_total=operations,
                counts=dict(counts),
                duration_ms=(time.monotonic() - since) * 1000,
            )
        )

    @contextmanager
    def phase(self, phase: str) -> Generator[Phase]:
        """Emit the start and the end of a phase around the block; count its operations on the yielded ``Phase``."""
        self.emit(PhaseStarted(run_id=self.run_id, namespace=self.namespace, at=datetime.now(UTC), phase=phase))
        began, going = time.monotonic(), Phase()
        try:
            yield going
        except BaseException:
            going.outcome = "failed"
            raise
        finally:
            self.emit(
                PhaseCompleted(
                    run_id=self.run_id,
                    namespace=self.namespace,
                    at=datetime.now(UTC),
                    phase=phase,
                    outcome=going.outcome,
                    ops_total=going.operations,
                    duration_ms=(time.monotonic() - began) * 1000,
                )
            )

    def _try(self, sink: Sink, call: Callable[[], None]) -> None:
        """Call a sink; count and log an exception, because a report must not end a run."""
        try:
            call()
        except Exception as problem:  # noqa: BLE001
            self.failures[sink.name] = self.failures.get(sink.name, 0) + 1
            _LOG.warning(
                "The %s sink could not take an event (%s). The run goes on.", sink.name, type(problem).__name__
            )


@dataclass(slots=True)
class Phase:
    """The result of a phase."""

    operations: int = 0
    outcome: Outcome = "success"


# Items of a plan as events: rows by id, the number of cells that would change, and evidence.


def item_event(stream: Stream, item: Item, phase: str, status: str, duration_ms: float = 0.0) -> OperationEvent:
    """Return one item as an event; an applied item's duration is its share of its batch."""
    return OperationEvent(
        run_id=stream.run_id,
        namespace=stream.namespace,
        at=datetime.now(UTC),
        op_id=item.id,
        phase=phase,
        op_type=item.operation,
        decision=item.decision,
        status=status,
        inputs={
            "rows": list(item.mutation.row_ids()),
            "table": item.mutation.table,
            "kind": item.mutation.kind,
            "risk": item.risk,
        },
        outputs={"evidence": dict(item.evidence), "cells": _cells(item)},
        rationale=Rationale(strategy=item.operation, score=item.probability),
        duration_ms=duration_ms,
        tokens=item.tokens,
    )


def _cells(item: Item) -> int:
    mutation = item.mutation
    return len(mutation.writes) + len(mutation.inserts) + len(mutation.deletes)
