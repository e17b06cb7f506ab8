"""What an item's value says: the texts in it, those that are searched, and a value in the words that a night has given its memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from slowwave.texts.screening import redact

WHOLE: Final = "$"
"""The path of all texts of a value."""

Index = Literal[False] | list[str] | None
"""What LangGraph's ``put`` takes: no field, these fields, or those of the store."""


def texts(value: object) -> Iterator[str]:
    """Every text within a JSON value, in its order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)


def searched_text(value: dict[str, Any], index: Index, fields: Sequence[str]) -> str:
    """What a memory of this value says: the texts under the paths of ``index``, else of ``fields``, one a line; empty for none."""
    from langgraph.store.base import get_text_at_path

    if index is False:
        return ""
    found: list[str] = []
    for path in fields if index is None else index:
        found += texts(value) if path == WHOLE else get_text_at_path(value, path)
    return "\n".join(dict.fromkeys(text.strip() for text in found if text.strip()))


def reworded(value: Any, said: str, now: str) -> Any:
    """A value that said one thing, saying what its memory says now: the text that a night has changed is put in the place of the old one.

    Where nobody can tell which of several texts that is, all stay, without their secrets.
    """
    parts = {text.strip() for text in texts(value) if text.strip()}
    changed = {part: new for part in parts if (new := _changed(part, said, now)) is not None}
    return _written(value, changed if len(changed) == 1 else {})


def _changed(part: str, said: str, now: str) -> str | None:
    """What stands in the place of one of the texts, whole lines, while all before and after it is as it was."""
    lines = f"\n{said}\n"
    start = lines.find(f"\n{part}\n")
    if start < 0:
        return None
    before, after = said[:start], said[start + len(part) :]
    held = now.startswith(before) and now.endswith(after) and len(now) > len(before) + len(after)
    return now[len(before) : len(now) - len(after)] if held else None


def _written(value: Any, changed: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return changed[value.strip()] if value.strip() in changed else redact(value)
    if isinstance(value, dict):
        return {name: _written(inner, changed) for name, inner in value.items()}
    if isinstance(value, list):
        return [_written(inner, changed) for inner in value]
    return value
