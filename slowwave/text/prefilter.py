"""Search for patterns in a whole column: RE2 scans it in one pass, so that Python's patterns check only a few texts.

RE2 (Arrow's) supports neither lookarounds nor back references, and large repeats make it slow. ``relaxed`` leaves them out: its result
matches wherever the pattern does, and elsewhere too. Python and RE2 agree about letters, digits and spaces in ASCII texts without control
characters. Accents and typographic signs are therefore normalised, and texts with other letters still count as matching.

Screening a few texts needs no column, so the functions import Arrow, which takes as long as a short command otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Flags = NDArray[np.bool_]
Texts: TypeAlias = "pa.Array | pa.ChunkedArray"
Answer: TypeAlias = "Callable[[Texts], Texts]"

FEW: Final = 500
"""Number of texts up to which building the pattern takes longer than checking all texts."""

SMALL: Final = 2_000
"""Number of texts up to which a column is looked up text by text if many namespaces' texts were checked together."""

_CONTROLS: Final = r"[\x00-\x08\x0b-\x1f\x7f]"
_MARKS: Final = r"[\x{300}-\x{34e}\x{350}-\x{36f}]"
_SIGNS: Final = (
    "[\\x{a1}-\\x{a9}\\x{ab}\\x{ac}\\x{ae}-\\x{b4}\\x{b6}-\\x{b9}\\x{bb}-\\x{bf}\\x{d7}\\x{f7}"
    "\\x{2010}-\\x{2027}\\x{2030}-\\x{205e}\\x{20a0}-\\x{20c0}\\x{2190}-\\x{21ff}]"
)
_COUNTED: Final = 8
"""Largest repeat count that is kept. A larger one becomes "this many or more", which keeps RE2's automaton small."""

_ANYTHING: Final = "(?s:.*)"
_BOUNDARY: Final = r"\b"
_EDGE: Final = re.compile(r"""[ ,:;'"/<>@#!=&%~`-]|\\[bsWn.!?,:;'"/<>@#=&%-]""")
"""A part of a pattern before which a word ends and after which one begins."""

_UNREAD: Final = re.compile(r"\(\?(?!:|P[<=]|-?i:|<?[=!])")
"""A group of a kind that ``_PART`` does not know."""
_FLAGS: Final = re.compile(r"\(\?([a-z]+)\)")
_PART: Final = re.compile(
    r"(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<back>\(\?P=\w+\)|\\[1-9])|(?P<around>\(\?<?[=!])|(?P<open>\((?:\?P<\w+>|\?:|\?-?i:)?)"
    r"|(?P<edge>\\[AZ]|[\^$])|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}(?P<lazy>\??)|(?P<other>\\.|.)",
    re.DOTALL,
)


def relaxed(pattern: str) -> str:
    """Build an RE2 pattern that matches every text in which Python's ``pattern`` is found."""
    flags = _FLAGS.match(pattern)
    parts: list[str] = []
    left_out: list[bool] = []  # for each group that is open
    for match in _PART.finditer(pattern, flags.end() if flags else 0):
        kind, part = match.lastgroup, match[0]
        if kind in ("around", "open"):
            left_out.append(kind == "around")
            part = part if part.endswith("i:") else "(?:"
        if True not in left_out:
            parts.append(_ANYTHING if kind == "back" else "" if kind == "edge" else _repeat(match) or part)
        if part == ")":
            left_out.pop()
    return f"(?{flags[1].replace('m', '') if flags else ''}:{''.join(parts)})"


def _repeat(match: re.Match[str]) -> str:
    """Return a bounded repeat without its upper bound and with a lower bound of at most ``_COUNTED``; empty for other parts."""
    if not match["least"]:
        return ""
    least = min(int(match["least"]), _COUNTED)
    return "*" if least == 0 else f"{{{least},}}"


def needed(pattern: str) -> frozenset[str]:
    """Return runs of lower-case letters of which every match of Python's ``pattern`` contains one, or none if there are no such runs.

    A run with a space before it begins a word of the text, and one with a space after it ends one; other runs may be inside of words.
    Of the parts of a sequence, the one with the fewest and longest runs is chosen. These are the necessary literals of a regular
    expression as in Cox, "Regular Expression Matching with a Trigram Index" (2012), without their Boolean combinations.
    """
    flags = _FLAGS.match(pattern)
    if (flags and "x" in flags[1]) or _UNREAD.search(pattern, flags.end() if flags else 0):
        return frozenset()
    parts = list(_PART.finditer(pattern, flags.end() if flags else 0))
    parts.reverse()
    return frozenset(run.rstrip("$") for run in _needed(parts, begins=False))


def _needed(parts: list[re.Match[str]], *, begins: bool) -> frozenset[str]:
    """Return ``needed`` of the alternatives up to the end of a group, and remove them from the end of ``parts``.

    ``begins`` is whether a word begins with the group. A run at the end of an alternative ends with a dollar sign.
    """
    branches: list[list[frozenset[str]]] = [[]]
    run, starts, after_group, part = "", begins, False, ""
    while part != ")":
        match = parts.pop() if parts else None
        part = match[0] if match else ")"
        edge = bool(_EDGE.fullmatch(part)) and not _repeated(parts)[0]
        end = " " if edge else "$" if part in (")", "|") else ""
        if after_group:
            branches[-1][-1] = frozenset(inner.replace("$", end) for inner in branches[-1][-1])
            after_group = False
        if len(part) == 1 and part.isalpha():
            optional, repeated = _repeated(parts)
            if not optional:
                run += part.lower() if run or not starts else f" {part.lower()}"
            starts = False
            if not (optional or repeated):
                continue
        if run:
            branches[-1].append(frozenset((run + end,)))
            run = ""
        if match and match.lastgroup == "open":
            inner = _needed(parts, begins=starts)
            optional, repeated = _repeated(parts)
            if not optional:
                branches[-1].append(frozenset(one.strip(" $") for one in inner) if repeated else inner)
                after_group = True
            starts = False
        elif match and match.lastgroup == "around":
            _needed(parts, begins=False)
        elif part == "|":
            branches.append([])
            starts = begins
        else:
            starts = edge
    rarest = [min(filter(None, branch), key=frequency, default=frozenset[str]()) for branch in branches]
    return frozenset[str]().union(*rarest) if all(rarest) else frozenset()


def _repeated(parts: list[re.Match[str]]) -> tuple[bool, bool]:
    """Return whether a part that has just been read may be absent, and whether it may be repeated; remove its quantifier."""
    if not parts or (parts[-1][0] not in ("?", "*", "+") and not parts[-1]["least"]):
        return False, False
    mark = parts.pop()
    if parts and parts[-1][0] == "?" and not mark["least"]:
        parts.pop()  # as few as possible
    return mark[0] in ("?", "*") or mark["least"] == "0", mark[0] != "?"


def frequency(runs: frozenset[str]) -> float:
    """Return a number that grows with the share of texts that contain one of the runs."""
    return sum(0.3 ** len(run) for run in runs)


def with_run(runs: Iterable[str]) -> str:
    """Build a pattern for texts of any case with one of the runs that ``needed`` returned; those with letters beyond ASCII are ignored."""
    return f"(?i:{'|'.join(sorted(run.replace(' ', _BOUNDARY) for run in runs if run.isascii()))})"


def words(known: Iterable[str]) -> str:
    """Build a pattern for any of the given lower-case words, in text of any case; words with letters beyond ASCII are ignored."""
    return rf"(?i:(?:\b|_)(?:{'|'.join(sorted(re.escape(word) for word in known if word.isascii()))})(?:\b|_))"


def found(texts: Texts, *patterns: str) -> Flags:
    """Return (n,) which of n texts match one of some RE2 patterns, or may match it.

    Texts with other letters than Latin ones may match, and so may all texts if there are at most ``FEW``. A null does not match. Time:
    one pass per pattern, several patterns at once on several cores; patterns with large repeats are faster separately than in one
    alternation.
    """
    if len(texts) <= FEW:
        return np.ones(len(texts), bool)
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.cast(texts, pa.large_string())
    if isinstance(column, pa.ChunkedArray):  # a mask would need the same chunks
        column = column.combine_chunks()
    other = pc.fill_null(pc.invert(pc.string_is_ascii(column)), False)
    if pc.any(other).as_py():
        column = pc.replace_with_mask(column, other, _levelled(column.filter(other)))
    hits = pc.or_(pc.invert(pc.string_is_ascii(column)), pc.match_substring_regex(column, _CONTROLS))
    with ThreadPoolExecutor(pa.cpu_count()) as cores:  # Arrow releases the interpreter's lock
        for matched in cores.map(partial(pc.match_substring_regex, column), patterns):
            hits = pc.or_(hits, matched)
    return pc.fill_null(hits, False).to_numpy(zero_copy_only=False).astype(bool)


@dataclass(slots=True)
class _Together:
    """Texts of many namespaces, and for each question that was asked of them: text → its answer."""

    texts: pa.Array
    said: list[str] = field(default_factory=list)
    answers: dict[Hashable, dict[str, Any]] = field(default_factory=dict)

    def get_answers(self, asked: Hashable, answer: Answer) -> dict[str, Any]:
        if asked not in self.answers:
            self.said = self.said or self.texts.to_pylist()
            self.answers[asked] = _answers(self.said, self.texts, answer)
        return self.answers[asked]


_TOGETHER: Final[ContextVar[_Together | None]] = ContextVar("together", default=None)


@contextmanager
def read_together(texts: Texts) -> Generator[None]:
    """Let ``matching`` and ``rewritten`` process these texts of many small namespaces at once, until the context ends.

    Memory: the texts, about 100 bytes per text and pattern, and the size of the texts again for each rewrite.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    token = _TOGETHER.set(_Together(pc.unique(texts.cast(pa.large_string())).drop_null()))
    try:
        yield
    finally:
        _TOGETHER.reset(token)


def matching(texts: Texts, pattern: str) -> Texts:
    """Return (n,) which of n texts match an RE2 pattern, as ``match_substring_regex`` does; null for a null.

    RE2 compiles the pattern for each column, which costs as much as searching a hundred texts. The texts of small namespaces are
    therefore searched together.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    return _of_each(texts, pattern, pa.bool_(), lambda column: pc.match_substring_regex(column, pattern))


def rewritten(texts: Texts, pattern: str, replacement: str) -> Texts:
    """Return (n,) texts as ``replace_substring_regex`` does; small columns are processed together as in ``matching``."""
    import pyarrow.compute as pc

    given = pattern, replacement
    return _of_each(texts, given, texts.type, lambda column: pc.replace_substring_regex(column, pattern, replacement))


def _of_each(texts: Texts, asked: Hashable, kind: pa.DataType, answer: Answer) -> Texts:
    """Return the answer for each text as a column of type ``kind``; ``asked`` identifies the question."""
    together = _TOGETHER.get()
    if together is None or len(texts) > SMALL:
        return answer(texts)
    import pyarrow as pa

    known, given = together.get_answers(asked, answer), texts.to_pylist()
    if new := [text for text in dict.fromkeys(given) if text is not None and text not in known]:
        known |= _answers(new, pa.array(new, pa.large_string()), answer)
    return pa.array([known.get(text) for text in given], kind)


def _answers(said: list[str], texts: pa.Array, answer: Answer) -> dict[str, Any]:
    return dict(zip(said, answer(texts).to_pylist(), strict=True))


def _levelled(texts: pa.Array) -> pa.Array:
    """Return texts with plain letters for accented ones and ``*`` for typographic signs.

    For Python's patterns such a sign is not a letter, a space or a quotation mark. A combining mark without a letter becomes a control
    character, because leaving it out would shorten the text.
    """
    import pyarrow.compute as pc

    found = pc.utf8_normalize(pc.replace_substring_regex(texts, _MARKS, "\x01"), "NFKD")
    for pattern, plain in ((_MARKS, ""), (_SIGNS, "*"), ("[ßẞ]", "ss"), ("[øØ]", "o"), ("[łŁ]", "l")):
        found = pc.replace_substring_regex(found, pattern, plain)
    return found
