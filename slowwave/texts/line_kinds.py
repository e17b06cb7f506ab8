"""Kinds of lines: what a line, or a run of lines, looks like by itself: a heading, an item, a row of a table, the start of a block of code.

How lines belong together is decided by ``slowwave.texts.structure``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from slowwave.texts.passage import Kind
from slowwave.texts.sentences import sentences
from slowwave.texts.vocabulary import words_of

FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\n(?:(?!---[ \t]*$).*\n){0,400}---[ \t]*$", re.MULTILINE)
FENCE: Final = re.compile(r"\s*(```+|~~~+)")
HEADING: Final = re.compile(r"\s{0,3}(#{1,6})\s+\S")
UNDERLINE: Final = re.compile(r"\s{0,3}(=|-)\1{2,}\s*$")
RULE: Final = re.compile(r"\s{0,3}([-*_=])(?:\s*\1){2,}\s*$")
MARKER: Final = re.compile(
    r"(?P<indent>\s*)(?:[-*+•‣◦▪●–—]|\(?\d{1,3}[.)]|\d{1,3}(?:\.\d{1,3}){1,3}[.)]?|\(?[a-z][.)]|\(?[A-Z]\)|\(?[ivx]{1,5}[.)]|§+\s?\d+)\s+(?=\S)"
)
KEY: Final = re.compile(
    r"(?P<indent>\s*)(?P<key>[^\s:：|<>#][^:：|\n.!?;]{0,48}?)\s*[:：](?:\*\*|__)?(?P<rest>\s+\S.*)?\s*$"
)
LABEL: Final = re.compile(
    r"\s*(?:(\*\*|__)[^*_\n]{1,80}\1:?|\[[^\]\n]{1,60}\]:?|【[^】\n]{1,60}】|<[A-Za-z][\w -]{0,40}>)\s*$"
)
_CAPITALS: Final = re.compile(r"[A-Z0-9][A-Z0-9 '’&/,()-]{2,60}")
TABLE_RULE: Final = re.compile(
    r"\s*(?:\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?|\|\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|)\s*$"
)
QUOTED: Final = re.compile(r"\s{0,3}>")
INDENTED: Final = re.compile(r"(?: {4}|\t)")
ENDED: Final = re.compile(r"[.!?…。！？:：;][\"'”’)\]»」』）*_`]*\s*$")
COLON: Final = re.compile(r"[:：](?:\*\*|__|[\"'”’)*_])?\s*$")
_INLINE: Final = re.compile(
    r"(?:(?<=\s)|^)(?:\((?P<round>\d{1,2}|[a-z])\)|(?P<mark>\d{1,2}|[a-z])(?P<how>[.)]))\s+(?=\S)"
)
_BULLETS: Final = re.compile(r"(?:(?<=\s)|^)[•·●▪‣]\s+(?=\S)")
_WRAPPED: Final = 50
"""Characters from which a line that ends no sentence may go on in the next."""
_SHORT: Final = 40
"""The same, when the next begins small."""
_LAST_WORD: Final = re.compile(r"(?<=\s)([^\W\d_]+)\s*$")
_UNFINISHED: Final = words_of("""
a an the and or but of to from by for with into onto than as if that which who whose when where while because between during we they he
she is are was were be been has have had will would can could shall should may might must its their our my your his
der die das und oder ein eine mit von zu für le la les et ou un une de des du à el los las y o con por para
""")
"""Words that end no line of their own: a sentence goes on behind them."""
_CODE_INDENT: Final = 4
_CODE: Final = re.compile(
    r"\s*(?:#|//|\$ |>>> |--\s|@\w|(?:def|class|return|import|from|const|let|var|function|SELECT|INSERT|UPDATE)\s)|"
    r"[\w\])]\([^)]*\)?[;,:]?\s*$|[{};(\[]\s*$|^\s*[)\]}]+[;,]?\s*$|\w\s?=\s?[\w\"'\[{(]"
)


def is_json(text: str) -> bool:
    """Whether a text is one JSON value in brackets."""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in ("{}", "[]"):
        return False
    try:
        json.loads(stripped)
    except (ValueError, RecursionError):
        return False
    return True


def indent_of(line: str) -> int:
    """Columns before a line's first character."""
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def is_row(line: str) -> bool:
    """Whether a line is a row of a table."""
    stripped = line.strip()
    return (stripped[:1] == "|" == stripped[-1:] and len(stripped) > 2) or (" | " in stripped and stripped[:1] != "|")


def is_capitals(line: str) -> bool:
    """Whether a line is a heading in capitals."""
    return bool(_CAPITALS.fullmatch(line.strip())) and sum(c.isupper() for c in line) > 2


def is_entry(line: str) -> bool:
    """Whether a line has a key of a few words and something behind it."""
    key = KEY.match(line)
    return bool(key and key["rest"] and len(key["key"].split()) <= 6)


def begins(line: str, before: str = "") -> bool:
    """Whether a line begins a block of its own, whatever stands before it; the last words of a wrapped line (``before``) begin none."""
    key = KEY.match(line)
    if key and not key["rest"] and len(before) >= _SHORT and line.lstrip()[:1].islower() and not ENDED.search(before):
        return bool(MARKER.match(line) or QUOTED.match(line))
    return bool(
        (MARKER.match(line) or HEADING.match(line) or FENCE.match(line) or QUOTED.match(line) or LABEL.match(line))
        or RULE.match(line)
        or (key and (not key["rest"] and len(key["key"].split()) <= 6))
        or (is_entry(line) and key and len(key["key"].split()) <= 3)
    )


def code_end(lines: Sequence[str], at: int) -> int:
    """The line behind the indented code that begins at line ``at``, empty lines within it too; ``at`` where it does not look like code."""
    least = indent_of(lines[at])
    if least < _CODE_INDENT:
        return at
    end = last = at
    while end < len(lines) and (not lines[end].strip() or indent_of(lines[end]) >= least):
        last = end if lines[end].strip() else last
        end += 1
    some = [line for line in lines[at : last + 1] if line.strip()]
    return last + 1 if 2 * sum(bool(_CODE.search(line)) for line in some) >= len(some) else at


def goes_on(line: str, after: str) -> bool:
    """Whether a sentence goes on over a line break: it was wrapped."""
    begin = after.lstrip()[:1]
    if ENDED.search(line):
        return False
    if any(line.rfind(a) > line.rfind(b) for a, b in ("[]", "()")) and not MARKER.match(after):
        return True
    if (last := _LAST_WORD.search(line)) and last[1].lower() in _UNFINISHED and not MARKER.match(after):
        return True
    if begin.islower():
        return len(line) >= _SHORT or line.rstrip().endswith(",")
    return len(line) >= _WRAPPED and not MARKER.match(after)


def runs_of(lines: Sequence[str], at: int, end: int) -> Iterator[tuple[int, str]]:
    """(line, text) of the lines from ``at`` to ``end``, wrapped ones together."""
    start, run = at, [lines[at].strip()]
    longest = max(len(line) for line in lines[at:end])
    for k in range(at + 1, end):
        full = len(lines[k - 1]) >= min(_WRAPPED, longest) and longest >= _WRAPPED
        wrapped = full and len(lines[k - 1]) + len(lines[k].split(" ", 1)[0]) >= 0.8 * longest
        if goes_on(lines[k - 1], lines[k]) or (wrapped and longest <= 120):
            run.append(lines[k].strip())
            continue
        yield start, " ".join(run)
        start, run = k, [lines[k].strip()]
    yield start, " ".join(run)


def parts_of(run: str) -> Iterator[tuple[str, Kind, bool]]:
    """(text, kind, whether it leads in the items after it) of one run of prose: sentences, or the items of a list within it."""
    marks = enumerated(run)
    if not marks:
        for sentence in sentences(run):
            yield sentence, "sentence", False
        return
    before = sentences(run[: marks[0]])
    for k, sentence in enumerate(before):
        yield sentence, "sentence", k == len(before) - 1 and not re.search(r"[.!?]\s*$", sentence)
    for start, end in zip(marks, [*marks[1:], len(run)], strict=True):
        yield run[start:end].strip(), "item", False


def enumerated(run: str) -> list[int]:
    """Where the items of a list within a line begin: "1. … 2. …", "a) … b) …", "• … • …"."""
    bullets = [m.start() for m in _BULLETS.finditer(run)]
    if len(bullets) > 1:
        return bullets
    places: list[int] = []
    how = ""
    for m in _INLINE.finditer(run):
        label, kind = m["round"] or m["mark"], "()" if m["round"] else m["how"]
        number = int(label) if label.isdigit() else ord(label) - ord("a") + 1
        style = kind + ("d" if label.isdigit() else "a")
        if number == 1 and not places:
            places, how = [m.start()], style
        elif places and style == how and number == len(places) + 1:
            places.append(m.start())
    return places if len(places) > 1 else []


def separated(lines: Sequence[str]) -> bool:
    """Whether lines are rows of values with one separator."""
    for separator, least in (("\t", 1), (",", 2), (";", 2)):
        counts = {line.count(separator) for line in lines}
        if len(counts) == 1 and counts.pop() >= least and not any(ENDED.search(line) for line in lines):
            return True
    return False
