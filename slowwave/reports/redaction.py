"""Redaction: how much memory text may leave the database in reports, events, files, metadata and errors (``redact_text``).

``none`` hides nothing, ``summary`` keeps the beginning of every text, ``all`` keeps none of it. What is ours is known by where it
stands, never by how it looks: under a key of ours a word of a closed vocabulary, an id, a hash or an instant is kept; whatever
stands under another key, in a column that holds text, or inside attributes is memory, its keys included. In doubt it is hidden.
Numbers are kept, but those inside attributes. Of a report the names of numbers, the titles of plots and labels that say so are ours by
their type.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Final, Literal

import psycopg

from slowwave.config.settings import Settings
from slowwave.errors import (
    DreamCancelled,
    DreamRunStuckError,
    ImportRefused,
    Refused,
    ReportError,
    SettingsError,
    SnapshotError,
    StoreError,
)
from slowwave.reports.events import Event, OperationEvent
from slowwave.reports.model import Finding, Numbers, Report
from slowwave.reports.plot import Bars
from slowwave.reports.vocabulary import (
    INSIDE,
    INSTANT_KEYS,
    KEYS,
    TEXT_KEYS,
    WORD_KEYS,
    WORDS,
    columns,
    operations,
)
from slowwave.store.connect import Connection
from slowwave.texts.quotation import quotable

Level = Literal["none", "summary", "all"]
"""The values of the setting ``redact_text``."""

LEVELS: Final[tuple[Level, ...]] = ("none", "summary", "all")
"""The most open first."""

LONGEST: Final = 200
"""Characters of a text that ``summary`` keeps, the ellipsis included."""

HIDDEN: Final = "(hidden)"
"""What stands in a table where ``all`` hides a text."""

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEX: Final = re.compile(r"[0-9a-f]{8,128}")
_SNAPSHOT: Final = re.compile(r"\d{8}T\d{6}Z?-[0-9a-z]{1,12}")
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?")
_HASH_KEY: Final = re.compile(r"(.*_)?(hash|sha256|digest|fingerprint)")
_OPEN_ESCAPE: Final = re.compile(r"(\\(u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|x[0-9a-fA-F]?)?|&#?\w{0,8}|%[0-9a-fA-F]?)$")
_SPACE: Final = re.compile(r"\s+\S*$")
_LONGEST_HEADLINE: Final = 300
_SHOWN_NUMBERS: Final = 6

_OURS: Final = (Refused, StoreError, SettingsError, SnapshotError, DreamCancelled, DreamRunStuckError, ReportError)
"""Errors whose sentences name ids, settings and places, never memory."""

_QUOTED: Final = re.compile(r'".*"', re.DOTALL)
_DATA_EXCEPTION: Final = "22"  # class of SQLSTATE: the message quotes the value

_RUN_SETTINGS: Final = """
SELECT n.settings FROM night.runs r JOIN memory.namespaces n ON n.id = r.namespace_id WHERE r.id = %s
"""
_NAMESPACE_SETTINGS: Final = "SELECT settings FROM memory.namespaces WHERE slug = ANY(%s)"


def level_of(overlay: Mapping[str, object]) -> Level:
    """The level in a namespace with the ``settings`` of ``overlay``; ``all`` where nothing valid says another."""
    try:
        return Settings.for_namespace(overlay).redact_text
    except (SettingsError, ValueError):  # another setting is wrong, which ends the run in words that obey this one
        asked = overlay.get("redact_text")
        return LEVELS[LEVELS.index(asked)] if asked in LEVELS else "all"


def level_of_run(connection: Connection, run_id: str) -> Level:
    """The level in the namespace of a run; ``all`` for a run that is not there."""
    row = connection.execute(_RUN_SETTINGS, (run_id,)).fetchone()
    return level_of(row[0]) if row and isinstance(row[0], dict) else "all"


def levels_in(connection: Connection, namespaces: Sequence[str]) -> list[Level]:
    """The level in each of the namespaces that are there."""
    rows = connection.execute(_NAMESPACE_SETTINGS, (list(namespaces),))
    return [level_of(overlay) if isinstance(overlay, dict) else "all" for (overlay,) in rows]


def strictest(found: Iterable[Level]) -> Level:
    """The level that satisfies all; ``all`` of none."""
    return LEVELS[max((LEVELS.index(level) for level in found), default=len(LEVELS) - 1)]


def redact(value: object, level: Level) -> object:
    """A JSON value with its texts cut (``summary``) or hidden (``all``), in every depth, keys included; the shape stays.

    Tuples and sets become lists unless the level is ``none``. Linear in the size of the value.
    """
    if level == "none":
        return value
    return _cut(value) if level == "summary" else _hidden(value, "", ours=True)


def cut(text: str, limit: int = LONGEST) -> str:
    """The beginning of a text in whole words, at most ``limit`` characters; an escape is kept whole or not at all."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    if not text[limit - 1].isspace():
        words = _SPACE.sub("", head)
        head = words if limit // 2 < len(words) < len(head) else _OPEN_ESCAPE.sub("", head)
    return head.rstrip() + "…"


def redact_event(event: Event, level: Level) -> Event:
    """The event with the inputs and outputs of an operation redacted; its other fields are ours."""
    if level == "none" or not isinstance(event, OperationEvent):
        return event
    return replace(event, inputs=_mapping(event.inputs, level), outputs=_mapping(event.outputs, level))


def redact_report(report: Report, level: Level) -> Report:
    """The report as it may be shown. Under ``all`` its sentences are made again from its name and its counts.

    What the next night compares with is the report itself, never this.
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
    """A report's numbers, whose names are ours (``slowwave.reports.model.Numbers``)."""
    return dict(numbers) if level == "none" else {cut(name): number for name, number in numbers.items()}


def redact_rows(rows: Iterable[Mapping[str, object]], level: Level) -> list[dict[str, object]]:
    """Rows of a table that is shown: the columns stay, and a hidden text is said to be hidden."""
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
    """An error in one line: its kind and what it says. What it may quote of memory is left out as the level wants.

    Sentences of our own stay. Of a database error the primary message stays without what it quotes; under ``all`` an error of
    another library leaves its kind and a hash, by which two of them compare. What screening would redact stands in none.
    """
    return str(quotable(_in_words(problem, level)))


def _in_words(problem: BaseException, level: Level) -> str:
    kind = type(problem).__name__
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
    """What the database says, without the values that it quotes of rows."""
    said = problem.diag.message_primary or "the database ended the connection"
    return _QUOTED.sub("…", said) if (problem.sqlstate or "").startswith(_DATA_EXCEPTION) else said


def says_itself(problem: BaseException) -> bool:
    """Whether an error's own sentence names nothing of memory, and may be shown at every level."""
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
    """``key`` is the nearest key above; ``ours`` says that no key above is from the data."""
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
        if known and (name in KEYS or name in operations() or name in columns()):
            shown = str(name)
        else:
            shown, known = f"hidden {n}", False
        pairs.append((shown, _hidden(part, key if key in INSIDE else shown, ours=known)))
    return pairs


def _may_stand(text: str, key: str) -> bool:
    if key in INSIDE:
        return False
    if key in WORD_KEYS:
        return text in WORDS or text in operations()
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
    return name if name in operations() else "An operation"


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
