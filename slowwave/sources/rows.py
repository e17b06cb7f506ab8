"""The rows of import files: CSV and JSON lines, parsed strictly and in bounded memory, checked and screened row by row."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, AnyStr, Final, Generic, Literal, NamedTuple, NoReturn, TextIO, TypeVar

import psycopg

from slowwave.errors import ImportRefused, SettingsError
from slowwave.store.settings import Settings

# The handling of imported rows with a secret, an instruction to a model or hidden characters: the setting ``screening_on_import``.
#
# ``slowwave.text.screening`` detects them. A row is refused, or becomes a memory that recall excludes, or is only counted. No message shows
# more of a finding than the name of its rule.

Policy = Literal["block", "quarantine", "warn"]
State = Literal["active", "quarantined"]

_KINDS: Final = ("secret", "injection", "hidden", "lookalike")
_OWN_SETTINGS: Final = "SELECT slug, settings FROM memory.namespaces WHERE jsonb_exists(settings, %s)"


class BadRow(ValueError):  # noqa: N818 - a finding of this package, always caught in it
    """A row that cannot be imported; the text of the error is the reason."""


@dataclass(slots=True)
class Screening:
    """The screening policy of every namespace, and the findings: rows by kind of finding, and the number of quarantined rows.

    ``own`` holds the policies of namespaces that have one; the others have ``policy``.
    """

    policy: Policy = "warn"
    own: Mapping[str, Policy] = field(default_factory=dict)
    found: Counter[str] = field(default_factory=Counter)
    quarantined: int = 0

    @classmethod
    def from_connection(cls, connection: psycopg.Connection[Any]) -> Screening:
        """Build the screening from the environment and the namespaces' own settings.

        A namespace whose settings cannot be read has those of the environment.
        """
        own = own_settings(connection, "screening_on_import")
        return cls(
            Settings.for_namespace({}).screening_on_import,
            {slug: settings.screening_on_import for slug, settings in own.items()},
        )

    def state(self, namespace: str, text: str) -> State:
        """Screen a text and return the state that its row begins with.

        Raises ``BadRow`` if such rows are refused.
        """
        from slowwave.text.screening import screen  # imported late, because its rules take a while to load

        detected = [f for f in screen(text) if f.severity != "low"]
        if not detected:
            return "active"
        self.found.update({f.kind for f in detected})
        policy = self.own.get(namespace, self.policy)
        acted = [f for f in detected if f.kind != "lookalike"]
        if policy == "warn" or not acted:
            return "active"
        if policy == "block":
            worst = min(acted, key=lambda f: (_KINDS.index(f.kind), f.start))
            raise BadRow(f"its text holds what screening refuses ({worst.kind}: {worst.rule})")
        self.quarantined += 1
        return "quarantined"


def own_settings(connection: psycopg.Connection[Any], name: str) -> dict[str, Settings]:
    """Return the settings of the namespaces that set ``name`` themselves, by slug; invalid settings are left out."""
    own: dict[str, Settings] = {}
    with connection.transaction():
        rows = connection.execute(_OWN_SETTINGS, [name]).fetchall()
    for slug, overlay in rows:
        try:
            own[slug] = Settings.for_namespace(overlay)
        except SettingsError:
            continue
    return own


# The longest imported text: the setting ``import_longest_text``, and the limit of a line that follows from it.
#
# Every step that processes a text (screening, names, its vector) takes time in proportion to its length, at run time while an agent waits
# and again each night, so the cost of a text without a limit has no limit.

_BESIDES: Final = 65_536  # bytes of a line for everything but the text
_ESCAPED: Final = 12  # bytes of JSON for one character, at most: a pair of \uXXXX


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of rows: ``text`` is the most characters of one text, ``own`` holds those of namespaces that set one."""

    text: int = 100_000
    own: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_connection(cls, connection: psycopg.Connection[Any]) -> Limits:
        """Build the limits from the environment and the namespaces' own settings."""
        own = own_settings(connection, "import_longest_text")
        return cls(
            Settings.for_namespace({}).import_longest_text,
            {slug: settings.import_longest_text for slug, settings in own.items()},
        )

    @property
    def line(self) -> int:
        """Return the most bytes or characters of one line.

        A line has space for the longest text in its longest spelling, and for the other fields.
        """
        return _ESCAPED * max(self.text, *self.own.values(), 0) + _BESIDES

    def check(self, namespace: str, text: str, name: str) -> None:
        """Raise ``BadRow`` for a text that is longer than the namespace allows."""
        longest = self.own.get(namespace, self.text)
        if len(text) > longest:
            raise BadRow(
                f"{name} has {len(text):,} characters, more than {longest:,} (SLOWWAVE_IMPORT_LONGEST_TEXT); split it up"
            )


# The rows of an import file: the requirements for each, and the handling of rows that do not meet them.
#
# The reader of a format defines its fields; ``slowwave.sources.pipeline`` writes the rows.

OnError = Literal["stop", "skip"]

SLUG: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
LONGEST_ID: Final = 500
LONGEST_SOURCE: Final = 150
LONGEST_NAME: Final = 400
"""The most characters of a source's id and name and of an entity's name; an index entry has no space for more."""

DEEPEST: Final = 100
"""The most levels of a JSON value that is stored."""


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """A row that ``on_error="skip"`` left out.

    ``line`` counts from 1. In an agent file it is the place of the message or block, and ``path`` is its place in the JSON.
    """

    file: str
    line: int
    reason: str
    path: str = ""

    @property
    def place(self) -> str:
        """Return the place of the row for messages."""
        return self.path or f"line {self.line}"


@dataclass(slots=True)
class RowCheck:
    """A counter of rows that decides about bad ones: refuse the file, or note the row and continue.

    ``screening`` checks the text of the rows, ``limits`` their length.
    """

    file: str
    on_error: OnError
    seen: int = 0
    skipped: list[SkippedRow] = field(default_factory=list)
    screening: Screening = field(default_factory=Screening)
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def from_connection(cls, connection: psycopg.Connection[Any], path: Path, on_error: OnError) -> RowCheck:
        """Build the check from the environment and the namespaces' own settings."""
        return cls(
            str(path),
            on_error,
            screening=Screening.from_connection(connection),
            limits=Limits.from_connection(connection),
        )

    def bad(self, line: int, reason: str, path: str = "") -> None:
        """Report a row that cannot be imported.

        Raises ``ImportRefused`` unless rows may be skipped.
        """
        row = SkippedRow(self.file, line, reason, path)
        if self.on_error == "stop":
            raise ImportRefused(
                f"{self.file}, {row.place}: {reason}. Nothing was imported. Correct the row, or import with --on-error skip "
                "to leave such rows out."
            )
        self.skipped.append(row)


def unreadable(path: Path, error: Exception) -> NoReturn:
    """Refuse a file as a whole."""
    if isinstance(error, OSError) and error.strerror:
        raise ImportRefused(f"{path} cannot be read ({error.strerror}). Nothing was imported.") from None
    raise ImportRefused(
        f"{path} cannot be read ({error}). Nothing was imported. Check that it is whole and of the format that was named."
    ) from None


LARGEST_FILE: Final = 256 * 1024 * 1024
"""Bytes: such a file is one JSON value, which is read whole."""


def read_json_file(path: Path) -> dict[str, Any]:
    """Read a file that is one JSON object, or a JSON string holding one.

    Raises ``ImportRefused``.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadRow(f"it has more than {LARGEST_FILE:,} bytes")
        content = parse_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
        if isinstance(content, str):
            content = parse_json(content)
        if not isinstance(content, dict):
            raise BadRow("not a JSON object")
    except (OSError, BadRow) as error:
        unreadable(path, error)
    return content


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON value.

    Raises ``BadRow``, also for NaN, which no database accepts, for bytes that are not UTF-8, and for an object with a repeated key,
    because parsers disagree which of the two values counts.
    """
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_each_key_once)
    except BadRow:
        raise
    except json.JSONDecodeError as error:
        raise BadRow(f"not JSON ({error.msg} at character {error.pos + 1})") from None
    except UnicodeDecodeError:
        raise BadRow("not UTF-8") from None
    except (ValueError, RecursionError):
        raise BadRow("JSON with a number out of range or nested too deeply") from None


def required_text(row: dict[str, Any], name: str, longest: int | None = None) -> str:
    """Return a field that must be text and not empty.

    Raises ``BadRow`` if it is not, or if it has more than ``longest`` characters.
    """
    value = row.get(name)
    if not isinstance(value, str):
        raise BadRow(f"{name} is missing" if value is None else f"{name} is not text")
    if not value.strip():
        raise BadRow(f"{name} is empty")
    if longest is not None and len(value) > longest:
        raise BadRow(f"{name} has {len(value)} characters, more than {longest}")
    storable(value, name)
    return value


def storable(value: object, name: str) -> None:
    """Raise ``BadRow`` for JSON that PostgreSQL cannot store: NUL, lone surrogates, infinities, great depth, anywhere in it."""
    stack = [(value, 0)]
    while stack:
        part, depth = stack.pop()
        if depth > DEEPEST:
            raise BadRow(f"{name} is nested too deeply")
        if isinstance(part, str):
            if "\0" in part:
                raise BadRow(f"{name} holds a NUL character")
            try:
                part.encode()
            except UnicodeEncodeError:
                raise BadRow(f"{name} holds bytes or escapes that are no character") from None
        elif isinstance(part, dict):
            stack.extend((key, depth + 1) for key in part)
            stack.extend((inner, depth + 1) for inner in part.values())
        elif isinstance(part, list):
            stack.extend((inner, depth + 1) for inner in part)
        elif isinstance(part, float) and not math.isfinite(part):
            raise BadRow(f"{name} holds a number that is not finite")


def instant(value: object, name: str) -> datetime:
    """Return an ISO 8601 instant with a time zone, in UTC.

    Raises ``BadRow`` for any other value.
    """
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None:
        raise BadRow(f"{name} is missing" if value is None else f"{name} is not an ISO 8601 time")
    if moment.tzinfo is None:
        raise BadRow(f"{name} has no time zone, so the instant is not known")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise BadRow(f"{name} lies outside the years 1 to 9999") from None


def namespace_slug(value: str) -> str:
    """Return ``value`` if it is a namespace's slug.

    Raises ``BadRow`` if it is not.
    """
    if not SLUG.fullmatch(value):
        raise BadRow(
            "namespace is not a slug (a-z, 0-9, dot, dash and underscore; at most 63; the first a letter or digit)"
        )
    return value


def chosen_slug(namespace: str | None) -> str | None:
    """Check the namespace that the caller named and return it.

    Raises ``ImportRefused`` if the name cannot be used.
    """
    try:
        return None if namespace is None else namespace_slug(namespace)
    except BadRow as error:
        raise ImportRefused(
            f"{namespace!r} cannot be used: {error}. Nothing was imported. Choose another name."
        ) from None


def slug_of(name: str) -> str:
    """Return a slug made from any name: ``Customer Service!`` → ``customer-service``.

    Raises ``BadRow`` if nothing is left.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9._]+", "-", plain).strip("._-")[:63]
    if not slug:
        raise BadRow("no namespace can be made of the name; name one with --namespace")
    return slug


def file_slug(path: Path, namespace: str | None) -> str:
    """Return the namespace that the caller named, or the slug of a file's name without its endings.

    Raises ``ImportRefused`` if the name cannot be used.
    """
    try:
        return chosen_slug(namespace) or slug_of(path.name.removesuffix(path.suffix).removesuffix(".csv"))
    except BadRow as error:
        unreadable(path, error)


def content_id(*parts: str) -> str:
    """Return a source id for a row that has none; the same parts always give the same id."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise BadRow(f"the key {next(n for n in found if names.count(n) > 1)[:64]!r} is given twice in one object")
    return found


# The lines of a file, each read into memory only up to a limit: a hostile export may be one line of any length.

_PIECE: Final = 65_536

_ENDLESS: Final = 64 << 20
"""Bytes or characters beyond the limit after which a line counts as endless, like that of a device or of a forged export."""


@dataclass(frozen=True, slots=True)
class Line(Generic[AnyStr]):
    """A line with its number from 1 and its end; ``text`` is None if it is too long, ``quotes`` counts its double quotes."""

    number: int
    text: AnyStr | None
    quotes: int = 0


def bounded_lines(read: Callable[[int], AnyStr], longest: int) -> Iterator[Line[AnyStr]]:
    """Yield every line of a file, given its ``readline`` as ``read``; skip lines longer than ``longest`` piece by piece.

    ``longest`` counts what ``read`` counts (bytes or characters), without the line's end. Memory: one line of that length. Raises
    ``ImportRefused`` for a line that is more than 64 Mi longer than that: the whole file is refused, even if bad rows may be skipped.
    """
    number = 0
    while text := read(longest + 2):
        number += 1
        if len(text) <= longest or _length(text) <= longest:
            yield Line(number, text)
            continue
        quotes, piece, passed = _quotes(text), text, 0
        while not _ended(piece) and (piece := read(_PIECE)):
            quotes += _quotes(piece)
            passed += len(piece)
            if passed > _ENDLESS:
                raise ImportRefused(
                    f"Line {number} does not end within {_ENDLESS + longest:,} characters, so this is no file of lines. Nothing was "
                    "imported. Check that the file is whole and of the format that was named."
                )
        yield Line(number, None, quotes)


def _length(text: str | bytes) -> int:
    """Return the length without the end of the line."""
    return len(text.rstrip("\r\n")) if isinstance(text, str) else len(text.rstrip(b"\r\n"))


def _ended(text: str | bytes) -> bool:
    return text.endswith(("\n", "\r")) if isinstance(text, str) else text.endswith(b"\n")


def _quotes(text: str | bytes) -> int:
    return text.count('"') if isinstance(text, str) else text.count(b'"')


# The rows of a CSV table, each with the line at which it begins: strict about quotes, bounded in lines and characters.
#
# A quote that is opened and never closed swallows every row after it, up to the next quote or to the end of the file. The intended rows
# cannot be known then, so such a file is refused as a whole, with the line of the quote.

MOST_LINES: Final = 1_000
"""The most lines of one row; a longer field is a quote that was not closed."""


class TableRow(NamedTuple):
    """A row: its first line, its values by column, and whether it has more values than there are columns.

    A value is None if the row ends before its column.
    """

    line: int
    values: dict[str, str | None]
    more: bool


class Table:
    """The rows of a CSV file with a header; iterate once.

    Raises ``ImportRefused`` for a header without ``columns`` or with two columns of one name, and for quotes that are not closed. A
    single line that cannot be parsed is reported to ``check``. ``kind`` is a column with few values: a line inside a quoted field that
    has all fields and a known value of that column is a row that a quote has swallowed.
    """

    def __init__(self, file: TextIO, check: RowCheck, columns: Sequence[str], kind: str) -> None:
        self._check, self._kind = check, kind
        self._longest = check.limits.line
        self._lines = bounded_lines(file.readline, self._longest)
        self._held: list[str] = []
        self._first = self._at = 0
        self._known: set[str] = set()
        # The csv module has a lower default limit for a field.
        csv.field_size_limit(max(csv.field_size_limit(), self._longest + 2))
        self._reader = csv.reader(self._fed(), strict=True)
        self._header = self._row() or []
        if twice := next((name for name in self._header if name.strip() and self._header.count(name) > 1), ""):
            raise ImportRefused(
                f"{check.file}, line 1: two columns are called {twice[:64]!r}, so it is not known which one counts. Nothing was imported. "
                "Rename or remove one of them."
            )
        if missing := [name for name in columns if name not in self._header]:
            raise ImportRefused(
                f"{check.file} has no column {', '.join(missing)}. Nothing was imported. "
                f"The first line must name {', '.join(columns)}."
            )

    def __iter__(self) -> Iterator[TableRow]:
        while (values := self._row()) is not None:
            if not values:
                continue
            self._check.seen += 1
            if len(self._held) > 1 and (line := self._swallowed(values)):
                self._unclosed(_opened(self._held), f"the row of line {line} lies within it")
            row: dict[str, str | None] = dict.fromkeys(self._header)
            row.update(zip(self._header, values, strict=False))
            self._known.add(row[self._kind] or "")
            yield TableRow(self._first, row, len(values) > len(self._header))

    def _row(self) -> list[str] | None:
        """Return the values of the next row, or None at the end."""
        while True:
            self._held = []
            try:
                return next(self._reader)
            except StopIteration:
                return None
            except csv.Error as error:
                if len(self._held) != 1 or self._held[0].count('"') % 2:
                    self._unclosed(_opened(self._held), f"{error} up to line {self._at}")
                self._check.seen += 1
                self._check.bad(self._at, f"a quoted field goes on behind its closing quote ({error})")
                self._reader = csv.reader(self._fed(), strict=True)

    def _fed(self) -> Iterator[str]:
        """Yield lines to the CSV reader, which requests another one while a quote is open."""
        for line in self._lines:
            self._at = line.number
            size = sum(map(len, self._held))
            if line.text is not None and len(self._held) < MOST_LINES and size + len(line.text) <= self._longest + 2:
                self._first = self._first if self._held else line.number
                self._held.append(line.text)
                yield line.text
            elif self._held:
                self._unclosed(_opened(self._held), f"it is still open at line {line.number}")
            elif line.quotes % 2:
                self._first = line.number
                self._unclosed(0, "its line is too long to be read")
            else:
                self._check.seen += 1
                self._check.bad(line.number, f"the line has more than {self._longest:,} characters")

    def _swallowed(self, values: Sequence[str]) -> int:
        """Return the number of a line within the row's quoted fields that is a row itself, or 0."""
        place, width = self._header.index(self._kind), len(self._header)
        known = self._known | {values[place] if len(values) > place else ""}
        last = len(self._held) - 1 if "\n" in values[0] or "\r" in values[0] else len(self._held)
        for n, line in enumerate(self._held[1:last], 1):
            alone = next(csv.reader([line]), [])
            if len(alone) == width and alone[place] and alone[place] in known:
                return self._first + n
        return 0

    def _unclosed(self, offset: int, why: str) -> NoReturn:
        raise ImportRefused(
            f"{self._check.file}, line {self._first + offset}: a quote is opened here and not closed as it should be ({why}), so which "
            "rows follow cannot be known. Nothing was imported. Close the quote; one within a quoted field is written twice."
        )


def _opened(lines: Sequence[str]) -> int:
    """Return which of a row's lines opens the quoted field that is not closed at the end or is not followed by a comma."""
    at, state = 0, "start"
    for n, line in enumerate(lines):
        for character in line:
            match state, character:
                case "start" | "plain" | "closing", "," | "\r" | "\n":
                    state = "start"
                case "start", '"':
                    state, at = "open", n
                case "start", _:
                    state = "plain"
                case "open", '"':
                    state = "closing"
                case "closing", '"':
                    state = "open"
                case "closing", _:
                    return at
                case _:
                    pass
    return at


# The rows of a table of any origin: CSV (also gzipped) or JSONL, with a map from an import's fields to its columns.

JSON_LINES: Final = (".jsonl", ".ndjson")
_BOM: Final = b"\xef\xbb\xbf"

Read = TypeVar("Read")


class ColumnMap(NamedTuple):
    """The column of a file for each field; a field that is not listed is read from the column with the same name."""

    columns: Mapping[str, str]

    @classmethod
    def parse(cls, pairs: Sequence[str], fields: Sequence[str]) -> ColumnMap:
        """Parse pairs of the form ``FIELD=COLUMN``.

        Raises ``ImportRefused`` for anything else and for unknown fields.
        """
        columns: dict[str, str] = {}
        for pair in pairs:
            field, given, column = pair.partition("=")
            if not given or not column or field not in fields or field in columns:
                raise ImportRefused(
                    f"{pair!r} maps no column. Nothing was imported. Write FIELD=COLUMN, each field once; fields are {', '.join(fields)}."
                )
            columns[field] = column
        return cls(columns)

    def column(self, field: str) -> str:
        """Return the column of a field."""
        return self.columns.get(field, field)


class MappedRow(NamedTuple):
    """The line on which a row begins, and its values by field; a field without a column or value is left out."""

    line: int
    values: dict[str, Any]


def read_rows(
    path: Path,
    check: RowCheck,
    mapping: ColumnMap,
    required: Sequence[str],
    fields: Sequence[str],
    read: Callable[[dict[str, Any]], Read],
) -> Iterator[tuple[int, Read]]:
    """Yield the result of ``read`` for each valid row, with its line.

    A row that ``read`` refuses with ``BadRow`` is reported to ``check``. Raises ``ImportRefused`` for a file that is not such a table,
    and for a map that names a column which a CSV file does not have.
    """
    rows = _json_rows if path.suffix in JSON_LINES else _csv_rows
    try:
        for line, values in rows(path, check, mapping, required, fields):
            try:
                found = read(values)
            except BadRow as error:
                check.bad(line, str(error))
                continue
            yield line, found
    except (OSError, EOFError, zlib.error) as error:
        unreadable(path, error)


def _csv_rows(
    path: Path, check: RowCheck, mapping: ColumnMap, required: Sequence[str], fields: Sequence[str]
) -> Iterator[MappedRow]:
    wanted = [mapping.column(name) for name in dict.fromkeys((*required, *mapping.columns))]
    opener = gzip.open if path.name.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        for line, row, more in Table(file, check, wanted, kind=mapping.column(required[-1])):  # pyright: ignore[reportArgumentType]
            if more:
                check.bad(line, "more fields than the first line names")
                continue
            yield MappedRow(line, {name: value for name in fields if (value := row.get(mapping.column(name)))})


def _json_rows(
    path: Path, check: RowCheck, mapping: ColumnMap, required: Sequence[str], fields: Sequence[str]
) -> Iterator[MappedRow]:
    with path.open("rb") as file:
        for found in bounded_lines(file.readline, check.limits.line):
            text = found.text.removeprefix(_BOM) if found.text is not None and found.number == 1 else found.text
            if text is not None and not text.strip():
                continue
            check.seen += 1
            try:
                if text is None:
                    raise BadRow(f"the line has more than {check.limits.line:,} bytes")
                row = parse_json(text)
                if not isinstance(row, dict):
                    raise BadRow("not a JSON object")
            except BadRow as error:
                check.bad(found.number, str(error))
                continue
            values = {name: row[mapping.column(name)] for name in fields if row.get(mapping.column(name)) is not None}
            yield MappedRow(found.number, values)
