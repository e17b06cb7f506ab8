"""The rows of an import file: what each must be, and what becomes of those that are not.

Which fields a format has belongs to its reader; writing belongs to ``slowwave.imports.pipeline``.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

import psycopg

from slowwave.errors import ImportRefused
from slowwave.imports.limits import Limits
from slowwave.imports.screening import BadRow, Screening

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
