"""Values as JSON has them: results on their way out, and what the ledger keeps in JSON columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime


def number(value: object) -> int:
    """A number of a JSON column; 0 for what is none."""
    return value if isinstance(value, int) else 0


def mapping(value: object) -> Mapping[str, object]:
    """An object of a JSON column; empty for what is none."""
    return value if isinstance(value, dict) else {}


def as_json(value: object) -> dict[str, object]:
    """A result as JSON values: instants as ISO 8601."""
    return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}  # pyright: ignore[reportArgumentType]


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return as_json(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    return {str(k): _plain(v) for k, v in value.items()} if isinstance(value, Mapping) else value
