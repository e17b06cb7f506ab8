"""Read-only commands by the names that models know: ``wc``, ``head``, ``tail``, ``sort``, ``uniq``, ``diff``, ``cat``.

No process is started and no shell reads a line: a command is a name and a list of arguments, and each argument is a flag that the command
has here or the name of a file in the scratch folder. So there is nothing that could write, run another program, or be one command more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import groupby
from typing import Final

from slowwave.deep.scratch import Scratch, shown
from slowwave.errors import Refused

_MOST_LINES: Final = 10_000
_MOST_FILES: Final = 20
_LONGEST_DIFF: Final = 2_000  # lines of a side: comparing costs their square at worst


@dataclass(frozen=True, slots=True)
class _Asked:
    flags: frozenset[str]
    number: int
    texts: Mapping[str, str] = field(default_factory=dict)  # name → text, in the order named

    def lines(self) -> list[str]:
        return [line for text in self.texts.values() for line in text.splitlines()]


def _wc(asked: _Asked) -> str:
    """Lines, words and bytes of each file."""
    chosen = [f for f in "lwc" if not asked.flags or f"-{f}" in asked.flags]
    rows = {
        name: {"l": text.count("\n"), "w": len(text.split()), "c": len(text.encode())}
        for name, text in asked.texts.items()
    }
    if len(rows) > 1:
        rows["total"] = {f: sum(row[f] for row in rows.values()) for f in "lwc"}
    return "\n".join(f"{' '.join(str(row[f]) for f in chosen)} {name}" for name, row in rows.items())


def _head(asked: _Asked) -> str:
    return _each(asked, lambda lines: lines[: asked.number])


def _tail(asked: _Asked) -> str:
    return _each(asked, lambda lines: lines[max(0, len(lines) - asked.number) :])


def _sort(asked: _Asked) -> str:
    lines = sorted(asked.lines(), reverse="-r" in asked.flags)
    return "\n".join(dict.fromkeys(lines) if "-u" in asked.flags else lines)


def _uniq(asked: _Asked) -> str:
    runs = [(line, sum(1 for _ in run)) for line, run in groupby(asked.lines())]
    if "-d" in asked.flags:
        runs = [(line, n) for line, n in runs if n > 1]
    return "\n".join(f"{n} {line}" if "-c" in asked.flags else line for line, n in runs)


def _diff(asked: _Asked) -> str:
    if len(asked.texts) != 2:
        raise Refused("diff compares two files.")
    (first, was), (second, is_) = asked.texts.items()
    old, new = was.splitlines(), is_.splitlines()
    if max(len(old), len(new)) > _LONGEST_DIFF:
        only = Counter(new) - Counter(old), Counter(old) - Counter(new)
        return "\n".join([*(f"-{line}" for line in only[1]), *(f"+{line}" for line in only[0])])
    return "\n".join(unified_diff(old, new, first, second, lineterm="", n=1))


def _cat(asked: _Asked) -> str:
    return "".join(asked.texts.values())


COMMANDS: Final[Mapping[str, tuple[Callable[[_Asked], str], frozenset[str]]]] = {
    "wc": (_wc, frozenset(("-l", "-w", "-c"))),
    "head": (_head, frozenset(("-n",))),
    "tail": (_tail, frozenset(("-n",))),
    "sort": (_sort, frozenset(("-r", "-u"))),
    "uniq": (_uniq, frozenset(("-c", "-d"))),
    "diff": (_diff, frozenset()),
    "cat": (_cat, frozenset()),
}
"""Command → what it does, and the flags that it has. ``-n`` is followed by a number of lines."""


def run(scratch: Scratch, command: str, arguments: Sequence[str]) -> str:
    """What a command prints. Raises ``Refused`` for a command, a flag or a file that there is none of here. Cost: linear in the files,
    of a sort times its logarithm, of a diff at most the square of 2,000 lines."""
    if command not in COMMANDS:
        raise Refused(f"There is no command {shown(command)} here. There are {', '.join(COMMANDS)}.")
    work, known = COMMANDS[command]
    flags: set[str] = set()
    number, texts, waiting = 10, dict[str, str](), list(arguments)
    while waiting:
        argument = waiting.pop(0)
        if not argument.startswith("-"):
            if len(texts) == _MOST_FILES:
                raise Refused(f"{command} takes at most {_MOST_FILES} files.")
            texts[argument] = scratch.read(argument)
        elif argument not in known:
            raise Refused(f"{command} has no {shown(argument)} here. It has {', '.join(sorted(known)) or 'no flags'}.")
        elif argument == "-n":
            number = _lines(waiting.pop(0) if waiting else "")
        else:
            flags.add(argument)
    if not texts:
        raise Refused(f"{command} needs the name of a file.")
    return work(_Asked(frozenset(flags), number, texts))


def _each(asked: _Asked, part: Callable[[list[str]], list[str]]) -> str:
    parts = {name: "\n".join(part(text.splitlines())) for name, text in asked.texts.items()}
    return (
        next(iter(parts.values()))
        if len(parts) == 1
        else "\n".join(f"==> {name} <==\n{t}" for name, t in parts.items())
    )


def _lines(number: str) -> int:
    if not (number.isascii() and number.isdigit() and len(number) < 8):
        raise Refused("-n is followed by a number of lines.")
    return min(int(number), _MOST_LINES)
