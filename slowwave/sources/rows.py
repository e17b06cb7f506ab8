"""Rows of import files: CSV and JSON lines read strictly and in bounded memory, checked and screened row by row."""

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

# What an import does with rows that hold a secret, an order to a model or hidden characters: the setting ``screening_on_import``.
#
# What is found belongs to ``slowwave.text.screening``. A row is refused, or it becomes a memory that recall does not see, or it is only
# counted; nothing says what was found beyond the name of the rule.

Policy = Literal["block", "quarantine", "warn"]
State = Literal["active", "quarantined"]

_KINDS: Final = ("secret", "injection", "hidden", "lookalike")
_OWN_SETTINGS: Final = "SELECT slug, settings FROM memory.namespaces WHERE jsonb_exists(settings, %s)"


class BadRow(ValueError):  # noqa: N818 - a finding of this package, always caught in it
    """A row that cannot be taken; its text is the reason."""


@dataclass(slots=True)
class Screening:
    """The policy of every namespace, and what was found: rows by kind of finding, and those that were quarantined.

    ``own`` holds the policies of namespaces that have one; the others have ``policy``.
    """

    policy: Policy = "warn"
    own: Mapping[str, Policy] = field(default_factory=dict)
    found: Counter[str] = field(default_factory=Counter)
    quarantined: int = 0

    @classmethod
    def of(cls, connection: psycopg.Connection[Any]) -> Screening:
        """As the environment and the namespaces' own settings say; a namespace whose settings cannot be read has the environment's."""
        own = own_settings(connection, "screening_on_import")
        return cls(
            Settings.for_namespace({}).screening_on_import,
            {slug: settings.screening_on_import for slug, settings in own.items()},
        )

    def state(self, namespace: str, text: str) -> State:
        """The state that a row with this text begins with. Raises ``BadRow`` where such rows are refused."""
        from slowwave.text.screening import screen  # its rules take a while to load

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
    """The settings of the namespaces that set ``name`` themselves, by slug; those that cannot be read are left out."""
    own: dict[str, Settings] = {}
    with connection.transaction():
        rows = connection.execute(_OWN_SETTINGS, [name]).fetchall()
    for slug, overlay in rows:
        try:
            own[slug] = Settings.for_namespace(overlay)
        except SettingsError:
            continue
    return own


# How long an imported text may be: the setting ``import_longest_text``, and what follows from it for a line.
#
# Everything that a text goes through (screening, names, its vector) takes time in proportion to its length, by day while an agent waits and
# each night again, so a text without a bound has no bound on its cost.

_BESIDES: Final = 65_536  # bytes of a line for everything but the text
_ESCAPED: Final = 12  # bytes of JSON for one character, at most: a pair of \uXXXX


@dataclass(frozen=True, slots=True)
class Limits:
    """``text``: characters of one text; ``own`` holds those of namespaces that have a limit of their own."""

    text: int = 100_000
    own: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, connection: psycopg.Connection[Any]) -> Limits:
        """As the environment and the namespaces' own settings say."""
        own = own_settings(connection, "import_longest_text")
        return cls(
            Settings.for_namespace({}).import_longest_text,
            {slug: settings.import_longest_text for slug, settings in own.items()},
        )

    @property
    def line(self) -> int:
        """Bytes or characters of one line: room for the longest text in its longest spelling, and for what stands beside it."""
        return _ESCAPED * max(self.text, *self.own.values(), 0) + _BESIDES

    def check(self, namespace: str, text: str, name: str) -> None:
        """Raise ``BadRow`` for a text that is longer than the namespace takes."""
        longest = self.own.get(namespace, self.text)
        if len(text) > longest:
            raise BadRow(
                f"{name} has {len(text):,} characters, more than {longest:,} (SLOWWAVE_IMPORT_LONGEST_TEXT); split it up"
            )


# The rows of an import file: what each must be, and what becomes of those that are not.
#
# Which fields a format has belongs to its reader; writing belongs to ``slowwave.sources.pipeline``.

OnError = Literal["stop", "skip"]

SLUG: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
LONGEST_ID: Final = 500
LONGEST_SOURCE: Final = 150
LONGEST_NAME: Final = 400
"""Characters of a source's id and name and of an entity's name; an index entry has no room for more."""

DEEPEST: Final = 100
"""Levels of a JSON value that is kept."""


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """What ``on_error="skip"`` left out. ``line`` counts from 1 (in an agent file: the message's or block's place, and ``path`` says where
    in its JSON that is)."""

    file: str
    line: int
    reason: str
    path: str = ""

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return self.path or f"line {self.line}"


@dataclass(slots=True)
class RowCheck:
    """Counts rows and decides about bad ones: refuse the file, or note the row and go on. ``screening`` judges what they say, ``limits``
    how long they are."""

    file: str
    on_error: OnError
    seen: int = 0
    skipped: list[SkippedRow] = field(default_factory=list)
    screening: Screening = field(default_factory=Screening)
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, connection: psycopg.Connection[Any], path: Path, on_error: OnError) -> RowCheck:
        """As the environment and the namespaces' own settings say."""
        return cls(str(path), on_error, screening=Screening.of(connection), limits=Limits.of(connection))

    def bad(self, line: int, reason: str, path: str = "") -> None:
        """A row cannot be taken. Raises ``ImportRefused`` unless rows may be skipped."""
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


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON value.

    Raises ``BadRow``, also for NaN, which no database takes, for bytes that are not UTF-8, and for an object that gives one key twice:
    readers disagree which of the two counts.
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
    """A field that must be text with something in it. Raises ``BadRow``."""
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
    """Raise ``BadRow`` for what PostgreSQL cannot hold anywhere within a JSON value: NUL, lone surrogates, infinities, great depth."""
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
    """An ISO 8601 instant with its zone, in UTC. Raises ``BadRow``."""
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
    """``value`` if it is a namespace's slug. Raises ``BadRow``."""
    if not SLUG.fullmatch(value):
        raise BadRow(
            "namespace is not a slug (a-z, 0-9, dot, dash and underscore; at most 63; the first a letter or digit)"
        )
    return value


def chosen_slug(namespace: str | None) -> str | None:
    """The namespace that the caller named, checked. Raises ``ImportRefused``."""
    try:
        return None if namespace is None else namespace_slug(namespace)
    except BadRow as error:
        raise ImportRefused(
            f"{namespace!r} cannot be used: {error}. Nothing was imported. Choose another name."
        ) from None


def slug_of(name: str) -> str:
    """A slug made of any name: ``Customer Service!`` → ``customer-service``. Raises ``BadRow`` when nothing is left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9._]+", "-", plain).strip("._-")[:63]
    if not slug:
        raise BadRow("no namespace can be made of the name; name one with --namespace")
    return slug


def file_slug(path: Path, namespace: str | None) -> str:
    """The namespace that the caller named, or the slug of a file's name without its endings. Raises ``ImportRefused``."""
    try:
        return chosen_slug(namespace) or slug_of(path.name.removesuffix(path.suffix).removesuffix(".csv"))
    except BadRow as error:
        unreadable(path, error)


def content_id(*parts: str) -> str:
    """A source id for a row that has none: the same parts always give the same."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise BadRow(f"the key {next(n for n in found if names.count(n) > 1)[:64]!r} is given twice in one object")
    return found


# Lines of a file of which none is read into memory beyond a bound: a hostile export may be one line of any length.

_PIECE: Final = 65_536

_ENDLESS: Final = 64 << 20
"""Bytes or characters beyond the bound after which a line is taken to have no end, as that of a device or of a forged export."""


@dataclass(frozen=True, slots=True)
class Line(Generic[AnyStr]):
    """A line by its number from 1, with its end; ``text`` is None for one that is too long, and ``quotes`` counts its double quotes."""

    number: int
    text: AnyStr | None
    quotes: int = 0


def bounded_lines(read: Callable[[int], AnyStr], longest: int) -> Iterator[Line[AnyStr]]:
    """Every line of a file. ``read`` is its ``readline``; a line longer than ``longest`` is passed over piece by piece.

    ``longest`` counts what ``read`` counts (bytes or characters), without the line's end. Memory: one line of that length. Raises
    ``ImportRefused`` for a line that goes on for 64 Mi more than that: the whole file is refused, whatever is done about bad rows.
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
    """Without the end of the line."""
    return len(text.rstrip("\r\n")) if isinstance(text, str) else len(text.rstrip(b"\r\n"))


def _ended(text: str | bytes) -> bool:
    return text.endswith(("\n", "\r")) if isinstance(text, str) else text.endswith(b"\n")


def _quotes(text: str | bytes) -> int:
    return text.count('"') if isinstance(text, str) else text.count(b'"')


# Rows of a CSV table, each with the line at which it begins: strict about quotes, bounded in lines and characters.
#
# A quote that is opened and never closed swallows every row behind it, up to the next quote or to the end of the file. What was meant
# cannot be known then, so such a file is refused as a whole, with the line of the quote.

MOST_LINES: Final = 1_000
"""Lines of one row; a field of more is a quote that was not closed."""


class TableRow(NamedTuple):
    """A row's first line, its values by column (None for a column before which it ends), and whether it has more of them than columns."""

    line: int
    values: dict[str, str | None]
    more: bool


class Table:
    """The rows of a CSV file with a header; iterate once.

    Raises ``ImportRefused`` for a header without ``columns`` or with two columns of one name, and for quotes that do not close; a single
    line that cannot be read goes to ``check``. ``kind`` is a column of few values: a line inside a quoted field that has all fields and a
    value known from there is a row that a quote has swallowed.
    """

    def __init__(self, file: TextIO, check: RowCheck, columns: Sequence[str], kind: str) -> None:
        self._check, self._kind = check, kind
        self._longest = check.limits.line
        self._lines = bounded_lines(file.readline, self._longest)
        self._held: list[str] = []
        self._first = self._at = 0
        self._known: set[str] = set()
        csv.field_size_limit(max(csv.field_size_limit(), self._longest + 2))  # the module's own bound is lower
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
        """The next row's values; None at the end."""
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
        """Lines for the reader, which asks for another one while a quote is open."""
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
        """The number of a line within the row's quoted fields that is a row itself, or 0."""
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
    """Which of a row's lines opens the quoted field that is open at the end, or that something other than a comma follows."""
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


# Rows of a table of anybody's: CSV (also gzipped) or JSONL, under the names that an import wants, by a map of columns.

JSON_LINES: Final = (".jsonl", ".ndjson")
_BOM: Final = b"\xef\xbb\xbf"

Read = TypeVar("Read")


class ColumnMap(NamedTuple):
    """Which column of a file each field is read from; one that is not named here is read from the column of its own name."""

    columns: Mapping[str, str]

    @classmethod
    def of(cls, pairs: Sequence[str], fields: Sequence[str]) -> ColumnMap:
        """``FIELD=COLUMN`` each. Raises ``ImportRefused`` for what is no such pair and for fields that there are not."""
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
        """The column of a field."""
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
    """What ``read`` makes of each good row, with its line; a row that it refuses by ``BadRow`` goes to ``check``.

    Raises ``ImportRefused`` for a file that is no such table, and for a map that names a column which a CSV file has not.
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
