"""A deep pass from its gates to its plan, as one run of the ledger."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from psycopg.rows import class_row

from slowwave.errors import DeepPassEscaped, DeepPassUnfinished, DreamCancelled, DreamLockUnavailable, SettingsError
from slowwave.models.panel import Budget
from slowwave.night.night import make_plan, read_inputs
from slowwave.night.runs import Night, completed, crash, expiry, open_stream, report_done
from slowwave.night.sinks import Callback
from slowwave.night.snapshot import snapshot_of_night
from slowwave.operations import PLANNERS, run_planner
from slowwave.plans.ledger import open_budget, write_findings
from slowwave.plans.report import Finding
from slowwave.store.claims import check_cancelled, crash_plan_run, holders, open_plan_run, patiently
from slowwave.store.configured_models import deep_chat
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id, namespace_settings, namespaces
from slowwave.store.runs import beating
from slowwave.store.settings import Settings
from slowwave.text.quotation import plain_reason
from slowwave.wiki.deep.changes import Worked, changes
from slowwave.wiki.deep.loop import OPERATION, Outcome, Progress, Talks, ToolLimits, Tools, first_message, system, work
from slowwave.wiki.deep.scratch import (
    COPY,
    PAGES,
    SESSIONS,
    TOPICS,
    HandedOut,
    Scratch,
    escapes,
    handed_out,
    parts_of,
    tree,
)
from slowwave.wiki.options import CompilePagesOptions, DeepPassOptions

# The gates of a deep pass, in order: they decide whether one is due, and name the gate that refuses it (nexo 3.4).
#
# A manual request skips ``too_soon``, ``scanned``, ``too_few_sessions`` and the switch. Nothing skips the other gates, least of all the
# lock. The gates read the ledger, not the memory of a process: a restart loses no timestamp, and a failed pass counts as an attempt.

DeepGate = Literal[
    "disabled",
    "no_model",
    "undecided",
    "read_only",
    "nothing_to_read",
    "budget_spent",
    "too_soon",
    "scanned",
    "too_few_sessions",
    "locked",
]
"""The eight gates of nexo (its switch, another scheduler, a remote mode, a folder, hours, scans, sessions, the lock), adapted, and two
more that models need here."""

_SLACK_HOURS: Final = 0.5  # a daily schedule is not delayed by the minutes that the previous pass took to begin
_IDLE_MINUTES: Final = 30  # a session counts as over this long after its last turn

_STATE: Final = """
WITH tried AS (
  SELECT max(started_at) AS any, max(started_at) FILTER (WHERE state NOT IN ('planning', 'crashed', 'cancelled')) AS done FROM night.runs
  WHERE namespace_id = %(scope)s AND mode = 'deep' AND started_at <= clock_timestamp())
SELECT n.read_only, tried.done AS since, extract(epoch FROM now() - tried.done)::float / 3600 AS hours,
  extract(epoch FROM now() - tried.any)::float / 60 AS minutes,
  EXISTS (SELECT 1 FROM night.plans p JOIN night.runs r ON r.id = p.run_id JOIN night.plan_items i ON i.plan_hash = p.plan_hash
    WHERE p.namespace_id = n.id AND r.mode = 'deep' AND p.state = 'awaiting_approval' AND p.expires_at > now() AND i.status = 'pending')
    AS undecided,
  EXISTS (SELECT 1 FROM memory.memories m WHERE m.namespace_id = n.id AND m.invalidated_at IS NULL)
    OR EXISTS (SELECT 1 FROM memory.documents d WHERE d.namespace_id = n.id AND d.invalidated_at IS NULL) AS readable,
  (SELECT coalesce(sum(u.input_tokens + u.output_tokens), 0)::bigint FROM night.llm_usage u WHERE u.namespace_id = n.id
    AND u.operation = 'deep_pass' AND u.recorded_at > now() - interval '7 days') AS tokens
FROM memory.namespaces n, tried WHERE n.id = %(scope)s
"""
_SESSIONS: Final = """
SELECT count(DISTINCT session) FROM (
  SELECT coalesce(d.metadata #>> '{frontmatter,session_id}', d.id::text) AS session,
    greatest(d.recorded_at, (SELECT max(v.invalidated_at) FROM memory.documents v WHERE v.version_of = d.id)) AS changed,
    d.metadata #>> '{frontmatter,status}' = 'active' AS active
  FROM memory.documents d WHERE d.namespace_id = %(scope)s AND d.plane = 'sessions' AND d.invalidated_at IS NULL AND d.version_of IS NULL
  UNION ALL SELECT session_id, recorded_at, true FROM memory.memories
  WHERE namespace_id = %(scope)s AND session_id IS NOT NULL AND invalidated_at IS NULL) said
WHERE (%(since)s::timestamptz IS NULL OR changed > %(since)s)
  AND NOT (coalesce(active, false) AND changed > now() - make_interval(mins => %(idle)s))
"""
"""Sessions since the last pass, as pages or as named by memories; a session that is still active is not counted yet."""


@dataclass(frozen=True, slots=True)
class DeepState:
    """The state of a namespace's deep passes in the ledger, as the gates need it.

    ``since`` is the time at which the last finished pass began.
    """

    read_only: bool
    since: datetime | None
    hours: float | None
    minutes: float | None
    undecided: bool
    readable: bool
    tokens: int


@dataclass(frozen=True, slots=True)
class DeepClosed:
    """A closed gate, and a sentence that gives the reason, which begins with the namespace."""

    gate: DeepGate
    sentence: str

    def __str__(self) -> str:
        return f"{self.gate}: {self.sentence}"


def deep_state(connection: Connection, scope: str) -> DeepState:
    """Return the state of a namespace's deep passes in the ledger."""
    with connection.cursor(row_factory=class_row(DeepState)) as cursor:
        found = cursor.execute(_STATE, {"scope": scope}).fetchone()
    return found or DeepState(False, None, None, None, False, False, 0)


def new_sessions(connection: Connection, scope: str, since: datetime | None) -> int:
    """Count the sessions since an instant, or all, without those under way."""
    row = connection.execute(_SESSIONS, {"scope": scope, "since": since, "idle": _IDLE_MINUTES}).fetchone()
    return int(str(row[0])) if row else 0


def deep_gate(store: Store, namespace: str, settings: Settings, *, force: bool = False) -> DeepClosed | None:
    """Return the first gate that is closed for a deep pass, or None; three queries.

    ``force`` skips the gates of cadence, of the switch and of an undecided plan.
    """
    with store.connect("reader") as connection:
        return next(_closed(connection, namespace, settings, force=force), None)


def deep_gates(store: Store) -> dict[str, DeepClosed | None]:
    """Return the closed gate, or None, of each namespace, as the schedule needs it.

    Invalid settings close the gate, because no one asked for a pass.
    """
    with store.connect("reader") as connection:
        found: dict[str, DeepClosed | None] = {}
        for name in namespaces(store):
            try:
                settings = namespace_settings(connection, name)
            except SettingsError as problem:
                found[name] = DeepClosed("disabled", f"{name} has settings that are not valid: {problem}")
                continue
            found[name] = next(_closed(connection, name, settings, force=False), None)
    return found


def _closed(connection: Connection, name: str, settings: Settings, *, force: bool) -> Iterator[DeepClosed]:
    scope, options = namespace_id(connection, name), settings.options("deep_pass", DeepPassOptions)
    if not settings.enabled:
        yield DeepClosed("disabled", f"{name} is disabled: `enabled` is false in its settings or in SLOWWAVE_ENABLED.")
    if not settings.switch(OPERATION) and not force:
        variable = "SLOWWAVE_OPERATIONS__DEEP_PASS__ENABLED"
        yield DeepClosed(
            "disabled", f"{name} has no scheduled deep pass: operations.deep_pass.enabled is off ({variable})."
        )
    if not options.model:
        variable = "SLOWWAVE_OPERATIONS__DEEP_PASS__MODEL"
        yield DeepClosed(
            "no_model", f"{name} has no model for a deep pass: set {variable}, and SLOWWAVE_WRITER_ENDPOINT."
        )
    state = deep_state(connection, scope)
    if state.undecided and not force:
        yield DeepClosed("undecided", f"{name} has a plan of its last deep pass that nobody has decided yet.")
    if state.read_only:
        yield DeepClosed("read_only", f"{name} is read-only: nothing that a deep pass plans could be applied to it.")
    if not state.readable:
        yield DeepClosed(
            "nothing_to_read", f"{name} holds no memory and no page, so a scratch copy of it would be empty."
        )
    if options.max_tokens_per_week and state.tokens >= options.max_tokens_per_week:
        spent = f"{state.tokens:,} of {options.max_tokens_per_week:,} tokens on deep passes in seven days."
        yield DeepClosed("budget_spent", f"{name} has spent {spent}")
    if not force:
        yield from _cadence(connection, name, scope, settings, state)
    for holder in holders(connection, scope, settings.heartbeat_expiry_seconds):
        if holder.alive:
            yield DeepClosed("locked", f"{name} is held by run {holder.run_id}, which is {holder.state}.")


def _cadence(
    connection: Connection, name: str, scope: str, settings: Settings, state: DeepState
) -> Iterator[DeepClosed]:
    options = settings.options("deep_pass", DeepPassOptions)
    least = options.min_hours - min(_SLACK_HOURS, options.min_hours / 10)
    if state.hours is not None and state.hours < least:
        ago = f"{state.hours:,.1f} hours ago, and operations.deep_pass.min_hours is {options.min_hours:g}."
        yield DeepClosed("too_soon", f"{name} had a deep pass {ago}")
    if state.minutes is not None and state.minutes < options.scan_minutes:
        ago = f"{state.minutes:,.0f} minutes ago, and operations.deep_pass.scan_minutes is {options.scan_minutes:g}."
        yield DeepClosed("scanned", f"{name} began a deep pass {ago}")
    if (sessions := new_sessions(connection, scope, state.since)) < options.min_sessions:
        few = f"{sessions:,} sessions since its last deep pass, and operations.deep_pass.min_sessions is {options.min_sessions:,}."
        yield DeepClosed("too_few_sessions", f"{name} has {few}")


# A deep pass from its gates to its plan: one run of the ledger with the mode ``deep``, which holds its namespace like every other run.
#
# ``slowwave.wiki.deep.scratch`` makes the copy, ``slowwave.wiki.deep.loop`` has the tools and the loop, the planner ``deep_pass`` plans the
# differences, and ``slowwave.night.night`` proves and seals the plan.

_PREFIX: Final = "slowwave-deep-"
_OLD_SECONDS: Final = 86_400.0
_LOSS_SHARE: Final = 0.1  # of the characters handed out; a pass that removes more is more likely wrong than thorough
_LOSS_CHARACTERS: Final = 2_000  # that a pass may remove where that is more: a small memory is a page or two
_SHOWN: Final = 20  # escapes that a report lists


@dataclass(frozen=True, slots=True)
class DeepPass:
    """The result of a deep pass: the gate that closed, or its plan.

    ``seconds`` is the time of its work, ``model_seconds`` the part of it spent waiting for a model, and ``files`` the names that were
    written.
    """

    namespace: str
    run_id: str = ""
    closed: DeepClosed | None = None
    night: Night | None = None
    files: tuple[str, ...] = ()
    turns: int = 0
    seconds: float = 0.0
    model_seconds: float = 0.0


@dataclass(slots=True)
class _Pass:
    """A deep pass under way, with the progress that the ledger gets at every turn."""

    store: Store
    run_id: str
    settings: Settings
    sessions: int = 0
    progress: Progress = field(default_factory=Progress)

    def note(self, progress: Progress) -> None:
        """Record the progress.

        Raises ``DreamCancelled`` if the run was killed, and ``DreamLockUnavailable`` if it lost its namespace.
        """
        self.progress = progress
        check_cancelled(self.store, self.run_id, self.noted())

    def noted(self, phase: str = "", found: Sequence[str] = ()) -> Mapping[str, object]:
        """Return the progress in the form that the ledger stores."""
        now = self.progress
        return {
            "phase": phase or now.phase,
            "done": now.turns,
            "total": self.settings.options("deep_pass", DeepPassOptions).max_turns,
            "sessions_reviewing": self.sessions,
            "files_touched": now.files,
            "turns": [{"text": t.text, "tool_use_count": t.tool_use_count} for t in now.kept],
            **({"escapes": list(found)} if found else {}),
        }


def run_deep(
    store: Store,
    namespace: str,
    *,
    force: bool = False,
    trigger: str = "manual",
    reason: str = "",
    wait: float = 0.0,
    dagster_run_id: str = "",
    model: Talks | None = None,
    callbacks: Sequence[Callback] = (),
    began: Callable[[str], None] | None = None,
) -> DeepPass:
    """Run one deep pass in this process, unless a gate is closed.

    With ``force`` a person asked for the pass; see ``deep_gate`` for the gates that it skips. ``model`` replaces the one in the settings;
    ``began`` is called with the id of the run once it holds its namespace. Raises ``DreamLockUnavailable`` while another run holds the
    namespace, ``DreamCancelled`` if the pass was killed, ``DeepPassUnfinished`` if its time or its turns were up, ``DeepPassEscaped`` if
    the copy came back with forbidden changes, and ``ChatError`` if the model gave nothing.
    """
    with store.connect("reader") as connection:
        settings = namespace_settings(connection, namespace)
        scope = namespace_id(connection, namespace)
        since = deep_state(connection, scope).since
    closed = deep_gate(store, namespace, settings, force=force)
    if closed and not (force and closed.gate == "locked"):  # a forced pass may wait for the lock
        return DeepPass(namespace, closed=closed)
    options = settings.options("deep_pass", DeepPassOptions)
    talks = model or deep_chat(settings, options.model, options.answer_seconds)
    if talks is None:
        raise SettingsError("No model is set for a deep pass. Set SLOWWAVE_OPERATIONS__DEEP_PASS__MODEL.")
    asked = {"proposal": {"operation": OPERATION, "of": namespace}}
    parameters = {**asked, **({"reason": plain_reason(reason)} if reason.strip() else {})}
    with store.connect("planner") as connection:
        run_id = patiently(
            lambda: open_plan_run(
                connection,
                namespace,
                trigger=trigger,
                dagster_run_id=dagster_run_id,
                parameters=parameters,
                mode="deep",
            ),
            wait,
        )
    if began is not None:
        began(run_id)
    stream, clock = open_stream(store, run_id, namespace, callbacks), time.monotonic()
    stream.started("plan", trigger)
    going = _Pass(store, run_id, settings)
    try:
        with beating(store, "planner", run_id, expiry(store, namespace)):
            snapshot = snapshot_of_night(store, namespace)
            inputs = read_inputs(store, snapshot, {}, run_id=run_id)
            copy = handed_out(snapshot, inputs.settings, since)
            going.sessions = len(copy.fresh)
            outcome, worked, seconds = _work(going, copy, talks, _budget(store, namespace, settings, run_id))
            check_cancelled(store, run_id, going.noted("planning"))
            proposal = run_planner(PLANNERS[OPERATION], replace(inputs, worked=worked), {OPERATION})
            report_done(stream, "plan", proposal.report, len(proposal.items))
            night = make_plan(store, run_id, inputs, {}, {OPERATION: proposal}, ops=())
        completed(stream, night, inputs, clock)
        done = outcome.progress
        return DeepPass(
            namespace,
            run_id,
            night=night,
            files=tuple(done.files),
            turns=done.turns,
            seconds=seconds,
            model_seconds=done.model_seconds,
        )
    except DreamCancelled as problem:
        crash(store, run_id, problem)
        stream.ended("plan", "cancelled", {}, clock)
        raise
    except DeepPassUnfinished as problem:
        with store.connect("planner") as connection:
            crash_plan_run(connection, run_id, str(problem), cancelled=True)
        stream.ended("plan", "cancelled", {}, clock)
        raise
    except DeepPassEscaped as problem:
        _report_escapes(going, namespace, problem)
        stream.failed("plan", problem, clock)
        raise
    except BaseException as problem:
        crash(store, run_id, problem)
        stream.failed("plan", problem, clock)
        raise
    finally:
        stream.close()


def _work(going: _Pass, copy: HandedOut, model: Talks, budget: Budget) -> tuple[Outcome, Worked, float]:
    """Let the model work in a dedicated folder, examine the result, and remove the folder.

    The seconds are from the first turn to the last.
    """
    options = going.settings.options("deep_pass", DeepPassOptions)
    limits = ToolLimits()
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{going.run_id}-"))
    try:
        scratch = _laid_out(folder, copy)
        before = tree(folder)
        tools = Tools(scratch, limits)
        index = going.settings.options("compile_pages", CompilePagesOptions)
        prompt = system(
            turns=options.max_turns,
            limits=limits,
            seconds=options.timeout_seconds,
            index_lines=index.max_lines,
            index_bytes=index.max_bytes,
        )
        clock = time.monotonic()
        problem: Exception | None = None
        outcome = Outcome("garbage", going.progress)
        try:
            outcome = work(
                model,
                budget,
                tools,
                [{"role": "system", "content": prompt}, {"role": "user", "content": first_message(copy)}],
                turns=options.max_turns,
                seconds=options.timeout_seconds,
                note=going.note,
                keep_words=going.settings.redact_text != "all",
            )
        except Exception as raised:  # noqa: BLE001 - it is raised again, once the trees are compared
            problem = raised
        seconds = time.monotonic() - clock
        after = tree(folder)
        if found := [f"{ascii(e.name)[:120]} {e.what}" for e in escapes(before, after, copy.may_write)]:
            raise _escaped(found) from problem
        if problem is not None:
            raise problem
        _refuse_unfinished(outcome, options.max_turns, options.timeout_seconds)
        worked = Worked(copy, _came_back(scratch, copy, before, after), tuple(tools.read), model.model)
        if why := changes(copy, worked.after).beyond(_LOSS_SHARE, _LOSS_CHARACTERS):
            raise _escaped([why])
        return outcome, worked, seconds
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _laid_out(folder: Path, copy: HandedOut) -> Scratch:
    """Write the files of a copy to a folder that no other user may enter."""
    root = folder / COPY
    root.mkdir(mode=0o700)
    for name in (TOPICS, PAGES, SESSIONS, *copy.may_grow):
        (root / name).mkdir(mode=0o700, exist_ok=True, parents=True)
    for name, text in copy.files.items():
        path = root.joinpath(*parts_of(name))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    return Scratch(root, copy.may_write)


def _came_back(
    scratch: Scratch, copy: HandedOut, before: Mapping[str, str], after: Mapping[str, str]
) -> dict[str, str]:
    """Return the text of every file of the copy by name; files with an unchanged hash are not read."""
    names = [path.removeprefix(f"{COPY}/") for path in after if path.startswith(f"{COPY}/") and after[path] != "folder"]
    same = {name for name in names if before.get(f"{COPY}/{name}") == after[f"{COPY}/{name}"]}
    return {name: copy.files[name] if name in same else scratch.read(name) for name in names}


def _refuse_unfinished(outcome: Outcome, turns: int, seconds: float) -> None:
    match outcome.ended:
        case "done":
            return
        case "turns":
            why = f"The model was not done after {outcome.progress.turns:,} turns (of {turns:,})"
        case "time":
            why = f"The model was not done after {seconds:g} seconds"
        case "budget":
            why = "The token budget was spent before the model was done"
        case "garbage":
            why = "The model asked for nothing that there is, turn after turn"
    raise DeepPassUnfinished(f"{why}, so nothing of its work became a plan.")


def _escaped(found: Sequence[str]) -> DeepPassEscaped:
    more = f", and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    return DeepPassEscaped(
        f"The scratch copy came back as it must not: {'; '.join(found[:_SHOWN])}{more}. Nothing of it became a plan, and no memory was "
        "touched.",
        tuple(found),
    )


def _report_escapes(going: _Pass, namespace: str, problem: DeepPassEscaped) -> None:
    """Record the escape report in the run's row and as a finding."""
    noted = going.noted(found=problem.escapes[:_SHOWN])
    # The run may be killed already; the escapes are reported anyway.
    with suppress(DreamCancelled, DreamLockUnavailable):
        check_cancelled(going.store, going.run_id, noted)
    with going.store.connect("planner") as connection, connection.transaction():
        crash_plan_run(connection, going.run_id, str(problem))
        finding = Finding(str(problem), (), "error", {"escapes": list(problem.escapes[:_SHOWN])})
        write_findings(connection, namespace_id(connection, namespace), going.run_id, {OPERATION: [finding]})


def _budget(store: Store, namespace: str, settings: Settings, run_id: str) -> Budget:
    """Return the budget of a deep pass.

    It is the least of the limit per pass, the rest of the week's limit, and the rest of the namespace's day.
    """
    options = settings.options("deep_pass", DeepPassOptions)
    with store.connect("reader") as connection:
        scope = namespace_id(connection, namespace)
        spent = deep_state(connection, scope).tokens
    day = open_budget(store, scope, settings, run_id)
    limits = [
        *([options.max_tokens] if options.max_tokens else []),
        *([options.max_tokens_per_week - spent] if options.max_tokens_per_week else []),
        *(
            [left]
            if settings.llm_max_tokens_per_namespace_per_day and (left := replace(day, per_run=0).left()) is not None
            else []
        ),
    ]
    return Budget(per_run=max(1, min(limits)) if limits else 0, record=day.record)


def _sweep() -> None:
    """Remove the folders of passes whose process was killed, because they hold memory text."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            there = left.lstat()
            if (
                left.is_dir()
                and not left.is_symlink()
                and there.st_uid == os.getuid()
                and time.time() - there.st_mtime > _OLD_SECONDS
            ):
                shutil.rmtree(left, ignore_errors=True)
