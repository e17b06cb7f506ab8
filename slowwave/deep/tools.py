"""The tools of a deep pass: list, read, glob, grep, edit, write and read-only commands, in this process and within limits.

A tool answers in text, also where it refuses, so that the model can do otherwise. What it asked for counts, not what it says of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.deep.commands import COMMANDS, run
from slowwave.deep.scratch import Scratch, shown
from slowwave.errors import Refused

LONGEST_ANSWER: Final = 16_000
"""Characters of what one call is told."""

_LONGEST_PATTERN: Final = 200
_MOST_STARS: Final = 6
_MOST_HITS: Final = 200
_LONGEST_LINE: Final = 400
_MOST_WRITTEN_FILES: Final = 100

_NAME: Final = {"type": "string", "description": "A name as `list` shows it, as memories/rowan.md."}
_FOLDER: Final = {"type": "string", "description": "A folder, as memories; empty for all."}


def _tool(name: str, description: str, required: tuple[str, ...], **properties: object) -> dict[str, object]:
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS: Final[tuple[Mapping[str, object], ...]] = (
    _tool("list", "Names of the files under a folder, with their bytes.", (), folder=_FOLDER),
    _tool(
        "read",
        "A file's text, or some of its lines.",
        ("file",),
        file=_NAME,
        first_line={"type": "integer", "description": "From 1."},
        lines={"type": "integer", "description": "How many."},
    ),
    _tool(
        "glob",
        "Names that fit a pattern with * and ?, as sessions/*2026-05*.",
        ("pattern",),
        pattern={"type": "string"},
    ),
    _tool(
        "grep",
        "Lines that a regular expression (RE2) fits, with name and number of line.",
        ("pattern",),
        pattern={"type": "string"},
        folder=_FOLDER,
        ignore_case={"type": "boolean"},
    ),
    _tool(
        "edit",
        "Put a new text in the place of an old one, which stands exactly once in the file.",
        ("file", "old", "new"),
        file=_NAME,
        old={"type": "string"},
        new={"type": "string"},
    ),
    _tool(
        "write",
        "Give a file a whole text; a file that is not there is made.",
        ("file", "text"),
        file=_NAME,
        text={"type": "string"},
    ),
    _tool(
        "run",
        "A command that only reads: no shell, no pipes.",
        ("command", "arguments"),
        command={"type": "string", "enum": list(COMMANDS)},
        arguments={"type": "array", "items": {"type": "string"}, "description": "Flags, and names of files."},
    ),
)
"""As the chat-completions protocol has them."""


@dataclass(slots=True)
class ToolLimits:
    """What is left: calls, bytes that tools may read for the model, bytes that it may write."""

    calls: int = 200
    read_bytes: int = 2_000_000
    written_bytes: int = 1_000_000


@dataclass(slots=True)
class Tools:
    """The tools over one scratch folder, and what was done with them: names that were written and that were read, in order."""

    scratch: Scratch
    limits: ToolLimits = field(default_factory=ToolLimits)
    touched: dict[str, int] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    calls: int = 0

    def call(self, name: str, arguments: str) -> str:
        """What a call is told: ``arguments`` is the JSON text that the model wrote. Never raises for what a model can ask."""
        self.calls += 1
        if self.calls > self.limits.calls:
            return self._no(f"All {self.limits.calls} calls are used. End with a short summary.")
        try:
            asked: Any = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return self._no("The arguments are no JSON. Write one JSON object.")
        work = self._work().get(name)
        if work is None:
            return self._no(f"There is no tool {shown(name)}. There are {', '.join(self._work())}.")
        if not isinstance(asked, dict) or not all(_flat(value) for value in asked.values()):
            return self._no("The arguments are one flat JSON object.")
        if not _is_text(arguments) or not all(map(_is_text, _texts(asked.values()))):
            return self._no("The arguments hold half a character, so they are no text.")
        try:
            told = work(**asked)
        except TypeError:
            return self._no(f"{name} does not take these arguments.")
        except Refused as problem:
            return self._no(str(problem))
        except OSError as problem:
            return self._no(f"That cannot be read ({problem.strerror}).")
        return told if name in ("edit", "write") else self._cut(told)

    def _work(self) -> dict[str, Callable[..., str]]:
        return {
            "list": self._list,
            "read": self._read,
            "glob": self._glob,
            "grep": self._grep,
            "edit": self._edit,
            "write": self._write,
            "run": self._run,
        }

    def _list(self, folder: str = "") -> str:
        names = list(self.scratch.files(_text(folder)))
        return "\n".join(names) or "There are no files."

    def _read(self, file: str, first_line: int = 1, lines: int = 10_000) -> str:
        text = self._taken(_text(file))
        kept = text.split("\n")[max(0, _whole(first_line) - 1) :][: max(0, _whole(lines))]
        return "\n".join(kept) or "(nothing)"

    def _glob(self, pattern: str) -> str:
        _refuse_long(_text(pattern))
        if pattern.count("*") > _MOST_STARS:
            raise Refused(f"A pattern has at most {_MOST_STARS} stars.")
        found = [name for name in self.scratch.files() if fnmatchcase(name, pattern)]
        return "\n".join(found[:_MOST_HITS]) or "No name fits."

    def _grep(self, pattern: str, folder: str = "", ignore_case: bool = False) -> str:
        _refuse_long(_text(pattern))
        found: list[str] = []
        for name in self.scratch.files(_text(folder)):
            lines = self.scratch.read(name).split("\n")
            try:
                hit = pc.match_substring_regex(
                    pa.array(lines, pa.large_string()), pattern, ignore_case=bool(ignore_case)
                )
            except pa.ArrowInvalid:
                raise Refused("That is no regular expression of RE2.") from None
            hits = [n for n, fits in enumerate(hit.to_pylist(), 1) if fits]
            if hits:
                self.read[name] = self.read.get(name, 0) + 1
            found += [f"{name}:{n}:{lines[n - 1][:_LONGEST_LINE]}" for n in hits[: _MOST_HITS - len(found)]]
            if len(found) >= _MOST_HITS:
                found.append(f"More than {_MOST_HITS} lines fit. Ask more narrowly.")
                break
        return "\n".join(found) or "No line fits."

    def _edit(self, file: str, old: str, new: str) -> str:
        text = self.scratch.read(_text(file))
        times = text.count(_text(old)) if old else 0
        if times != 1:
            raise Refused(
                f"The old text stands {times} times in {shown(file)}. Name one that stands there exactly once."
            )
        return self._write(file, text.replace(old, _text(new)))

    def _write(self, file: str, text: str) -> str:
        size = len(_text(text).encode("utf-8", "replace"))
        if size > self.limits.written_bytes:
            raise Refused(f"That is more than may still be written: {self.limits.written_bytes:,} bytes.")
        if _text(file) not in self.touched and len(self.touched) >= _MOST_WRITTEN_FILES:
            raise Refused(f"At most {_MOST_WRITTEN_FILES} files may be changed.")
        self.scratch.write(file, text)
        self.limits.written_bytes -= size
        self.touched[file] = self.touched.get(file, 0) + 1
        return f"{file} is written ({size:,} bytes)."

    def _run(self, command: str, arguments: list[str]) -> str:
        if not isinstance(arguments, list) or len(arguments) > 50 or not all(isinstance(a, str) for a in arguments):  # pyright: ignore[reportUnnecessaryIsInstance] - as a model wrote it
            raise Refused("The arguments of a command are a list of at most 50 texts.")
        told = run(self.scratch, _text(command), arguments)
        for name in arguments:
            if not name.startswith("-"):
                self.read[name] = self.read.get(name, 0) + 1
        return told or "(nothing)"

    def _taken(self, name: str) -> str:
        text = self.scratch.read(name)
        self.read[name] = self.read.get(name, 0) + 1
        return text

    def _cut(self, told: str) -> str:
        kept = told[:LONGEST_ANSWER]
        size = len(kept.encode("utf-8", "replace"))
        if size > self.limits.read_bytes:
            return self._no("All that may be read has been read. End with a short summary.")
        self.limits.read_bytes -= size
        more = f"\n(cut: {len(told):,} characters; read it in parts)" if len(kept) < len(told) else ""
        return kept + more

    def _no(self, why: str) -> str:
        self.refused += 1
        return f"Refused: {why}"


def _flat(value: object) -> bool:
    """Whether a value is none that holds others; a list of texts is what commands take."""
    return not isinstance(value, dict) and (not isinstance(value, list) or all(isinstance(v, str) for v in value))


def _texts(values: Iterable[object]) -> Iterator[str]:
    """All texts among flat values."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (str(part) for part in value)


def _is_text(text: str) -> bool:
    """Whether it can be written down: JSON can name half of a pair of surrogates, and no file, pattern or answer can hold one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Refused("That argument is a text.")
    return value


def _whole(value: object) -> int:
    if type(value) is not int:
        raise Refused("That argument is a whole number.")
    return min(value, 1_000_000)


def _refuse_long(pattern: str) -> None:
    if len(pattern) > _LONGEST_PATTERN:
        raise Refused(f"A pattern has at most {_LONGEST_PATTERN} characters.")
