"""Text of JSON, YAML and TOML files as values, strictly: no name twice, no anchors, no great depth, and the line of what is wrong."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, Final

from slowwave.imports.rows import BadRow, storable
from slowwave.texts.frontmatter import UnreadableFile, yaml_value

LONGEST_YAML: Final = 1_000_000
"""Characters; YAML is read event by event."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')
_TOML_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


class _Twice(ValueError):  # noqa: N818 - always caught here
    """An object names something twice."""


def json_value(text: str) -> Any:
    """The value of a JSON text. Raises ``UnreadableFile`` with the line."""
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except json.JSONDecodeError as problem:
        raise UnreadableFile(f"it is no JSON ({problem.msg})", problem.lineno) from None
    except _Twice as problem:
        raise UnreadableFile(f"{str(problem)[:64]!r} stands twice in one object", _line_of_second(text)) from None
    except RecursionError:
        raise UnreadableFile("its JSON is nested too deeply", 1) from None
    except ValueError:
        raise UnreadableFile("its JSON holds a number that is none, or out of range", 1) from None
    return _kept(value)


def yaml_file(text: str) -> Any:
    """The value of a YAML text, by the rules of frontmatter. Raises ``UnreadableFile`` with the line."""
    if len(text) > LONGEST_YAML:
        raise UnreadableFile(f"it has {len(text):,} characters, more than {LONGEST_YAML:,} for YAML")
    return _kept(yaml_value(text))


def toml_file(text: str) -> Any:
    """The value of a TOML text. Raises ``UnreadableFile`` with the line."""
    try:
        return _kept(json.loads(json.dumps(tomllib.loads(text), default=str)))
    except tomllib.TOMLDecodeError as problem:
        found = _TOML_LINE.search(str(problem))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        raise UnreadableFile(f"it is no TOML ({_TOML_LINE.sub('', str(problem)).strip()})", line) from None
    except (RecursionError, ValueError):
        raise UnreadableFile("its TOML is nested too deeply, or holds a number out of range", 1) from None


def _kept(value: Any) -> Any:
    """The value, where a database can hold it."""
    try:
        storable(value, "it")
    except BadRow as problem:
        raise UnreadableFile(str(problem), 1) from None
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _Twice(name)
            seen.add(name)
    return found


def _constant(name: str) -> Any:
    raise ValueError(name)


def _line_of_second(text: str) -> int:
    """The line in which an object names something again: the first such place of the text."""
    open_: list[set[str] | None] = []
    last = ""
    at = 0
    for token in _TOKEN.finditer(text):
        said = token[0]
        if said in "{[":
            open_.append(set() if said == "{" else None)
        elif said in "}]":
            open_.pop()
        elif said == ":" and open_ and (names := open_[-1]) is not None:
            name = json.loads(last)
            if name in names:
                return text.count("\n", 0, at) + 1
            names.add(name)
        elif said[0] == '"':
            last, at = said, token.start()
    return 1
