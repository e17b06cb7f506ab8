"""Frontmatter: the YAML between two lines of ``---`` at the head of a Markdown file."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

# Frontmatter: the YAML between two lines of ``---`` at the head of a Markdown file.
#
# It is parsed event by event, so that each part is checked before it is built: no tags, no anchors, no duplicate keys, limited depth.
# Scalars follow YAML 1.2: ``no`` and ``12:30`` are text. Dates stay as they are written. ``slowwave.sources.page_files`` interprets the
# fields.

DEEPEST: Final = 16
LONGEST: Final = 65_536
"""Maximum length in characters; longer frontmatter is refused."""

_FENCE: Final = re.compile(r"\ufeff?---[ \t]*\r?\n")
_END: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE: Final = frozenset({"true", "True", "TRUE"})
_FALSE: Final = frozenset({"false", "False", "FALSE"})
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnreadableFile(ValueError):  # noqa: N818 - a finding of this package, always caught in it
    """A file that cannot be taken; its text is the reason, ``line`` where (from 1, 0 for the whole file)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """Frontmatter of a file.

    ``fields`` are as written. ``lines`` counts the lines of the file that it takes, including its fences (0 if there is none).
    """

    fields: dict[str, Any] = field(default_factory=dict)
    lines: int = 0
    end: int = 0
    """The index of the character at which the body begins."""


def body(text: str) -> str:
    """Return the text after the frontmatter of a file, which is not parsed; the whole text if there is no frontmatter."""
    found = _fences(text)
    return text[found[1] :] if found else text


def frontmatter(text: str) -> Frontmatter:
    """Parse the frontmatter of a file.

    A file that begins with a rule (``---`` without a closing one) has no frontmatter. Raises ``UnreadableFile``.
    """
    found = _fences(text)
    if found is None:
        return Frontmatter()
    inside, end, lines = found
    if len(inside) > LONGEST:
        raise UnreadableFile(f"its frontmatter has {len(inside):,} characters, more than {LONGEST:,}", 1)
    return Frontmatter(_mapping(inside), lines, end)


def yaml_value(text: str) -> Any:
    """Return the value of a whole YAML text, by the rules of frontmatter; None for an empty text.

    Raises ``UnreadableFile`` with the line.
    """
    try:
        return _Builder().read(text)
    except yaml.YAMLError as problem:
        reason, line = _said(problem, text)
    except RecursionError:
        reason, line = "its frontmatter is nested too deeply", 2
    except UnreadableFile as problem:
        reason, line = str(problem), problem.line
    raise UnreadableFile(reason.replace("its frontmatter", "the file"), max(line - 1, 1)) from None


def _fences(text: str) -> tuple[str, int, int] | None:
    """Return the text between the fences of the frontmatter, the start of the body, and the number of lines before it."""
    opened = _FENCE.match(text)
    closed = _END.search(text, opened.end()) if opened else None
    if opened is None or closed is None:
        return None
    newline = text.find("\n", closed.end() - 1)
    end = len(text) if newline < 0 else newline + 1
    return text[opened.end() : closed.start()], end, text.count("\n", 0, closed.start()) + 1


def _mapping(inside: str) -> dict[str, Any]:
    try:
        value = _Builder().read(inside)
    except yaml.YAMLError as problem:
        raise UnreadableFile(*_said(problem, inside)) from None
    except RecursionError:
        raise UnreadableFile("its frontmatter is nested too deeply", 2) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnreadableFile("its frontmatter is no list of `name: value`", 2)
    return value


class _Builder:
    """Values from events; lines are those of the file, whose first is the fence."""

    def __init__(self) -> None:
        self._events: Any = None

    def read(self, text: str) -> Any:
        self._events = yaml.parse(text, Loader=_LOADER)
        value: Any = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise UnreadableFile("its frontmatter holds a second document", _line(event))
            elif isinstance(event, yaml.NodeEvent):
                value = self._value(event, 0)
        return value

    def _value(self, event: Any, depth: int) -> Any:
        self._check(event, depth)
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event) if event.implicit[0] else str(event.value)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(inner := next(self._events), yaml.SequenceEndEvent):
                items.append(self._value(inner, depth + 1))
            return items
        found: dict[str, Any] = {}
        while not isinstance(key := next(self._events), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                raise UnreadableFile("a name in its frontmatter is no word", _line(key))
            self._check(key, depth)
            name = str(key.value)
            if name in found:
                raise UnreadableFile(f"{name[:64]!r} stands twice in its frontmatter", _line(key))
            found[name] = self._value(next(self._events), depth + 1)
        return found

    def _check(self, event: Any, depth: int) -> None:
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise UnreadableFile(
                "its frontmatter uses an anchor or alias (& or *); put the text in quotes", _line(event)
            )
        if event.tag is not None and event.tag != "!":
            raise UnreadableFile(f"its frontmatter names a tag ({str(event.tag)[:40]})", _line(event))
        if depth > DEEPEST:
            raise UnreadableFile("its frontmatter is nested too deeply", _line(event))


def _scalar(event: Any) -> Any:
    text = str(event.value)
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INTEGER.fullmatch(text) and (text.lstrip("+-")[:1] != "0" or len(text.lstrip("+-")) == 1):
        return int(text)
    if _FLOAT.fullmatch(text) and any(c in text for c in ".eE") and math.isfinite(value := float(text)):
        return value
    return text


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 2


def _said(problem: yaml.YAMLError, inside: str) -> tuple[str, int]:
    """Return the parser's description of a problem and its line in the file."""
    if isinstance(problem, yaml.MarkedYAMLError):
        mark = problem.problem_mark or problem.context_mark
        return f"its frontmatter is no YAML ({problem.problem or problem.context})", mark.line + 2 if mark else 2
    position = getattr(problem, "position", 0)
    return "its frontmatter holds a character that YAML does not admit", inside.count("\n", 0, position) + 2
