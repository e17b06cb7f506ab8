"""The structure of a text: its lines, its passages, and which passages need others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from slowwave.text.sentences import lean, people, sentences
from slowwave.text.words import words_of

# Passage: a part of a text that is kept as a whole or left out.

Kind = Literal["sentence", "item", "row", "heading", "block"]


@dataclass(frozen=True, slots=True)
class Passage:
    """Part of a text that is kept whole or not at all.

    ``needs`` are the places of the passages that this one needs. A heading, and the text that introduces a list, is not ``alone``: it is
    kept only with a passage that needs it. ``line`` and ``paragraph`` count where it begins in its text.
    """

    text: str
    kind: Kind
    line: int
    paragraph: int
    needs: tuple[int, ...] = ()
    alone: bool = True


# Kinds of lines by their own form: a heading, an item, a row of a table, the start of a code block. ``_Reader`` below decides how lines
# belong together.

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
"""Minimum length in characters of a line without a sentence end that may continue on the next line."""
_SHORT: Final = 40
"""The same if the next line begins in lower case."""
_LAST_WORD: Final = re.compile(r"(?<=\s)([^\W\d_]+)\s*$")
_UNFINISHED: Final = words_of("""
a an the and or but of to from by for with into onto than as if that which who whose when where while because between during we they he
she is are was were be been has have had will would can could shall should may might must its their our my your his
der die das und oder ein eine mit von zu für le la les et ou un une de des du à el los las y o con por para
""")
"""Words that cannot end a line, so a sentence continues on the next one."""
_CODE_INDENT: Final = 4
_CODE: Final = re.compile(
    r"\s*(?:#|//|\$ |>>> |--\s|@\w|(?:def|class|return|import|from|const|let|var|function|SELECT|INSERT|UPDATE)\s)|"
    r"[\w\])]\([^)]*\)?[;,:]?\s*$|[{};(\[]\s*$|^\s*[)\]}]+[;,]?\s*$|\w\s?=\s?[\w\"'\[{(]"
)


def is_json(text: str) -> bool:
    """Return whether a text is one JSON value in brackets."""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in ("{}", "[]"):
        return False
    try:
        json.loads(stripped)
    except (ValueError, RecursionError):
        return False
    return True


def indent_of(line: str) -> int:
    """Return the number of columns before a line's first character."""
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def is_row(line: str) -> bool:
    """Return whether a line is a row of a table."""
    stripped = line.strip()
    return (stripped[:1] == "|" == stripped[-1:] and len(stripped) > 2) or (" | " in stripped and stripped[:1] != "|")


def is_capitals(line: str) -> bool:
    """Return whether a line is a heading in capitals."""
    return bool(_CAPITALS.fullmatch(line.strip())) and sum(c.isupper() for c in line) > 2


def is_entry(line: str) -> bool:
    """Return whether a line has a key of a few words and a value after it."""
    key = KEY.match(line)
    return bool(key and key["rest"] and len(key["key"].split()) <= 6)


def begins(line: str, before: str = "") -> bool:
    """Return whether a line begins a new block, regardless of the line before it.

    The last words of a wrapped line (``before``) do not begin one.
    """
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
    """Return the line after the indented code that begins at line ``at``; ``at`` if it does not look like code.

    Empty lines within the code belong to it.
    """
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
    """Return whether a sentence was wrapped and continues after a line break."""
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
    """Yield (line, text) of the lines from ``at`` to ``end``, with wrapped lines joined."""
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
    """Yield (text, kind, whether it introduces the items after it) for one run of prose.

    The parts are sentences, or the items of a list within the run.
    """
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
    """Return the starts of the items of a list within a line: "1. … 2. …", "a) … b) …", "• … • …"."""
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
    """Return whether lines are rows of values with the same separator."""
    for separator, least in (("\t", 1), (",", 2), (";", 2)):
        counts = {line.count(separator) for line in lines}
        if len(counts) == 1 and counts.pop() >= least and not any(ENDED.search(line) for line in lines):
            return True
    return False


# Structure: the passages of a text, and the passages that each of them needs.
#
# A passage is a sentence of prose, an item of a list, a line with a key, a row of a table, a heading, or a block of code or of quotation.
# It is kept as a whole or left out, so an item keeps its number and its owner. A heading or a label such as "the crew:" makes no sense
# without the passages under it, and those need it. A sentence that depends on another (``slowwave.text.sentences``) needs that one.

_REMEMBERED: Final = 60
"""Number of preceding passages that are searched for the person that a pronoun refers to."""

_TITLE: Final = 100
"""Maximum length in characters of a line without a stop that introduces a list."""


def passages(text: str) -> list[Passage]:
    """Split a text into its passages, in order.

    Time: linear in the text.
    """
    return _Reader(text).read()


def last_person(before: int, text_at: Callable[[int], str], named: dict[int, tuple[bool, bool]]) -> tuple[int, ...]:
    """Return the places up to ``before`` that last mentioned a person, certainly and possibly; without any, ``before``.

    ``named`` caches what the text at each place mentions.
    """
    perhaps = -1
    for place in range(before, max(-1, before - _REMEMBERED), -1):
        if place not in named:
            named[place] = people(text_at(place)[:400])
        sure, may = named[place]
        if sure:
            return tuple(sorted({place, perhaps} - {-1}))
        if may and perhaps < 0:
            perhaps = place
    return (perhaps,) if perhaps >= 0 else (before,) * (before >= 0)


def structured(text: str) -> bool:
    """Return whether a text has items, rows, headings or blocks and is not only prose."""
    return any(p.kind != "sentence" for p in passages(text))


@dataclass(slots=True)
class _Open:
    """Heading, label or item that may contain passages: its place and its level or indent."""

    place: int
    level: int
    deeper: bool = False  # whether the first line below it is indented more than it is
    section: bool = False  # a label with an empty line after it, which applies to all passages up to the next one
    keyed: bool = False  # a label with a colon


@dataclass(slots=True)
class _Reader:
    source: str
    lines: list[str] = field(init=False, default_factory=list[str])
    found: list[Passage] = field(init=False, default_factory=list[Passage])
    paragraph: int = 0
    headings: list[_Open] = field(init=False, default_factory=list[_Open])
    labels: list[_Open] = field(init=False, default_factory=list[_Open])
    items: list[_Open] = field(init=False, default_factory=list[_Open])
    lead: int = -1  # a passage that introduces the next block
    lead_paragraph: int = -1
    keyed: bool = False
    people: dict[int, tuple[bool, bool]] = field(init=False, default_factory=dict[int, tuple[bool, bool]])

    def read(self) -> list[Passage]:
        text = self.source.replace("\r\n", "\n").replace("\r", "\n")
        if is_json(text):
            return [Passage(text.strip(), "block", 0, 0)]
        at = 0
        if front := FRONT_MATTER.match(text):
            self._add(front[0], "block", 0)
            self.paragraph += 1
            at = front[0].count("\n") + 1
        self.lines = text.split("\n")
        self.keyed = sum(is_entry(line) for line in self.lines) >= 2
        while at < len(self.lines):
            at = self._step(at)
        return self._settled()

    def _step(self, at: int) -> int:
        """Read one block from line ``at``; the line after it."""
        line = self.lines[at]
        if not line.strip():
            if at and self.lines[at - 1].strip():
                self.paragraph += 1
            return at + 1
        fresh = at == 0 or not self.lines[at - 1].strip()
        indent = indent_of(line)
        if fence := FENCE.match(line):
            return self._block(at, self._until_fence(at, fence[1]), indent)
        if heading := HEADING.match(line):
            return self._heading(at, at + 1, len(heading[1]))
        if RULE.match(line):
            self.lead = -1
            return at + 1
        if QUOTED.match(line):
            return self._block(at, self._while(at, QUOTED.match), indent)
        if (
            is_row(line)
            and at + 1 < len(self.lines)
            and (is_row(self.lines[at + 1]) or TABLE_RULE.match(self.lines[at + 1]))
        ):
            return self._table(at, self._while(at, is_row, TABLE_RULE.match))
        led = bool(self.labels) and self.labels[-1].place == len(self.found) - 1
        if (fresh or led) and not self.items and (end := code_end(self.lines, at)) > at:
            return self._block(at, end, indent)
        if marker := MARKER.match(line):
            return self._item(at, len(marker["indent"].expandtabs(4)))
        if fresh and INDENTED.match(line) and not self.items and not self.labels and not KEY.match(line):
            return self._block(at, self._while(at, INDENTED.match), indent)
        follows = at + 1 < len(self.lines) and bool(self.lines[at + 1].strip())
        if (LABEL.match(line) or (fresh and is_capitals(line))) and self._anything_after(at):
            return self._label(at, indent)
        if (key := KEY.match(line)) and self._anything_after(at) and not key["rest"] and (fresh or follows or indent):
            return self._label(at, indent)
        if self.keyed and is_entry(line):
            return self._entry(at, indent)
        if follows and fresh and UNDERLINE.match(self.lines[at + 1]) and len(line) <= _TITLE:
            return self._heading(at, at + 2, 1 if "=" in self.lines[at + 1] else 2)
        return self._prose(at, indent)

    # The passages above a place in the text.

    def _context(self, indent: int, *, under_item: bool = False) -> tuple[int, ...]:
        """Return the passages above a passage at this indent."""
        needs: list[int] = []
        if under_item and self.items:
            needs.append(self.items[-1].place)
        elif self.labels:
            needs.append(self.labels[-1].place)
        elif self.headings:
            needs.append(self.headings[-1].place)
        if self.lead >= 0 and not (under_item and self.items):
            needs.append(self.lead)
        return tuple(needs)

    def _add(self, text: str, kind: Kind, line: int, needs: Sequence[int] = ()) -> int:
        place = len(self.found)
        self.found.append(Passage(text, kind, line, self.paragraph, tuple(dict.fromkeys(n for n in needs if n >= 0))))
        return place

    def _leaning(self, text: str, first: bool) -> tuple[tuple[int, ...], bool]:
        """Return the places that a sentence depends on, and whether the sentence before it depends on it in return."""
        before = len(self.found) - 1
        if before < 0:
            return (), False
        match lean(text):
            case "person":
                return last_person(before, lambda place: self.found[place].text, self.people), False
            case "previous":
                return (before,), False
            case "exception":
                return (before,), not first or self.found[before].paragraph == self.paragraph
            case "":
                return (), False

    def _bind(self, place: int) -> None:
        """Make the passage before ``place`` need it as well."""
        before = self.found[place - 1]
        self.found[place - 1] = replace(before, needs=(*before.needs, place))

    def _close(self, indent: int, *, prose: bool, fresh: bool) -> None:
        """End the items and labels that do not contain a line at this indent."""
        while self.items and self.items[-1].level >= indent:
            self.items.pop()
        while self.labels:
            label = self.labels[-1]
            below = label.place == len(self.found) - 1  # there is nothing under it yet
            if below:
                label.deeper = indent > label.level
                break
            if not label.section and (indent <= label.level if label.deeper else prose and fresh):
                self.labels.pop()
            else:
                break
        if self.lead >= 0 and self.paragraph > self.lead_paragraph + 1:
            self.lead = -1

    def _anything_after(self, at: int) -> bool:
        """Return whether text follows that may belong under this line, and not a heading."""
        for line in self.lines[at + 1 : at + 4]:
            if line.strip():
                return not HEADING.match(line)
        return False

    # Parsing of blocks.

    def _heading(self, at: int, end: int, level: int) -> int:
        while self.headings and self.headings[-1].level >= level:
            self.headings.pop()
        self.items, self.labels, self.lead = [], [], -1
        above = (self.headings[-1].place,) if self.headings else ()
        place = self._add("\n".join(self.lines[at:end]).strip(), "heading", at, above)
        self.headings.append(_Open(place, level))
        return end

    def _label(self, at: int, indent: int) -> int:
        """Add a line that names the following text: "Anna:", "**Rules**", "[Open questions]", capitals.

        Return the line after it.
        """
        keyed = bool(KEY.match(self.lines[at]))
        section = not keyed and at + 1 < len(self.lines) and not self.lines[at + 1].strip()
        fresh = at == 0 or not self.lines[at - 1].strip()
        while self.items and self.items[-1].level >= indent:
            self.items.pop()
        while self.labels:
            above = self.labels[-1]
            if above.place == len(self.found) - 1:
                above.deeper = indent > above.level
            if (above.section and not section) or (above.deeper and indent > above.level):
                break
            if keyed and not above.keyed and not fresh:
                break
            self.labels.pop()
        self.lead = -1
        place = self._add(self.lines[at].rstrip(), "heading", at, self._context(indent, under_item=bool(self.items)))
        self.labels.append(_Open(place, indent, section=section, keyed=keyed))
        return at + 1

    def _block(self, at: int, end: int, indent: int) -> int:
        self._close(indent, prose=False, fresh=False)
        text = "\n".join(self.lines[at:end]).rstrip()
        self._add(text, "block", at, self._context(indent, under_item=bool(self.items)))
        return end

    def _table(self, at: int, end: int) -> int:
        self._close(indent_of(self.lines[at]), prose=False, fresh=False)
        context = self._context(0)
        ruled = at + 1 < end and bool(TABLE_RULE.match(self.lines[at + 1]))
        head = self._add("\n".join(self.lines[at : at + 1 + ruled]), "heading", at, context)
        for k in range(at + 1 + ruled, end):
            self._add(self.lines[k], "row", k, (head,))
        return end

    def _item(self, at: int, indent: int) -> int:
        self._close(indent, prose=False, fresh=False)
        end = self._rest_of_item(at, indent)
        text = "\n".join(self.lines[at:end]).rstrip()
        needs = self._context(indent, under_item=bool(self.items))
        if (marks := enumerated(text)) and not text[: marks[0]].strip():
            for start, stop in zip(marks, [*marks[1:], len(text)], strict=True):
                self._add(text[start:stop].strip(), "item", at, needs)
            return end
        leans, bound = ((), False) if needs else self._leaning(text, first=True)
        place = self._add(text, "item", at, (*needs, *leans))
        if bound:
            self._bind(place)
        self.items.append(_Open(place, indent))
        return end

    def _rest_of_item(self, at: int, indent: int) -> int:
        """Return the line after the item that begins at ``at``.

        Lines with more indent belong to it, and so do lines that continue it.
        """
        end = at + 1
        while end < len(self.lines):
            line = self.lines[end]
            if not line.strip():
                after = next((n for n in range(end, min(end + 3, len(self.lines))) if self.lines[n].strip()), -1)
                if (
                    after < 0
                    or indent_of(self.lines[after]) <= indent
                    or MARKER.match(self.lines[after])
                    or FENCE.match(self.lines[after])
                ):
                    break
            elif any(p.match(line) for p in (MARKER, HEADING, FENCE, QUOTED)):
                break
            if (
                line.strip()
                and indent_of(line) <= indent
                and (is_entry(line) or not goes_on(self.lines[end - 1], line))
            ):
                break
            end += 1
        return end

    def _entry(self, at: int, indent: int) -> int:
        """Add a line with a key or a speaker, and the lines that continue it; return the line after them."""
        self._close(indent, prose=False, fresh=at == 0 or not self.lines[at - 1].strip())
        end = at + 1
        while end < len(self.lines) and self.lines[end].strip() and not begins(self.lines[end]):
            end += 1
        text = "\n".join(self.lines[at:end]).rstrip()
        needs = [*self._context(indent, under_item=bool(self.items))]
        if re.match(r"\s*(?:a|answer|antwort|réponse|respuesta)\s*[:：]", text, re.IGNORECASE) and self.found:
            needs.append(len(self.found) - 1)
            self._bind(self._add(text, "item", at, needs))
        else:
            self._add(text, "item", at, needs)
        return end

    def _prose(self, at: int, indent: int) -> int:
        fresh = at == 0 or not self.lines[at - 1].strip()
        self._close(indent, prose=True, fresh=fresh)
        end = at + 1
        while (
            end < len(self.lines)
            and self.lines[end].strip()
            and not begins(self.lines[end], self.lines[end - 1])
            and not (self.keyed and is_entry(self.lines[end]))
        ):
            if is_row(self.lines[end]) or UNDERLINE.match(self.lines[end]):
                break
            end += 1
        if end - at >= 3 and separated(self.lines[at:end]):
            head = self._add(self.lines[at], "heading", at, self._context(indent))
            for k in range(at + 1, end):
                self._add(self.lines[k], "row", k, (head,))
            return end
        context = self._context(indent, under_item=bool(self.items))
        first = True
        for line, run in runs_of(self.lines, at, end):
            for text, kind, leads in parts_of(run):
                leans, bound = self._leaning(text, first) if kind == "sentence" else ((), False)
                own = (self.lead,) if kind == "item" else ()
                place = self._add(text, kind, line, (*context, *leans, *own))
                if bound:
                    self._bind(place)
                if leads:
                    self.lead, self.lead_paragraph = place, self.paragraph
                first = False
        self.lead = -1
        if self.found and self._leads_in(end):
            self.lead, self.lead_paragraph = len(self.found) - 1, self.paragraph
        return end

    def _leads_in(self, end: int) -> bool:
        """Return whether the prose before line ``end`` introduces the text after it, by its colon or as a title above a list."""
        text = self.found[-1].text
        rest = next((n for n in range(end, min(end + 3, len(self.lines))) if self.lines[n].strip()), -1)
        if rest < 0 or HEADING.match(self.lines[rest]):
            return False
        if COLON.search(text) or (FENCE.match(self.lines[rest]) and not ENDED.search(text)):
            return True
        return rest == end and bool(begins(self.lines[rest])) and not ENDED.search(text) and len(text) <= _TITLE

    def _until_fence(self, at: int, fence: str) -> int:
        for end in range(at + 1, len(self.lines)):
            if self.lines[end].strip().startswith(fence):
                return end + 1
        return len(self.lines)

    def _while(self, at: int, *kinds: Callable[[str], object]) -> int:
        end = at + 1
        while end < len(self.lines) and any(kind(self.lines[end]) for kind in kinds):
            end += 1
        return end

    def _settled(self) -> list[Passage]:
        """Return the passages; those that only head other passages are marked as not alone."""
        under: set[int] = {n for k, p in enumerate(self.found) for n in p.needs if n < k}
        settled: list[Passage] = []
        for k, p in enumerate(self.found):
            bare = p.kind == "item" and not re.search(r"[.!?。！？][*_\"')]*\s*$", p.text) and self._parent(k)
            leads = p.kind == "sentence" and bool(COLON.search(p.text) or not ENDED.search(p.text)) and self._led(k)
            settled.append(replace(p, alone=False) if p.kind == "heading" or (k in under and (bare or leads)) else p)
        return settled

    def _parent(self, place: int) -> bool:
        after = self.found[place + 1] if place + 1 < len(self.found) else None
        return after is not None and place in after.needs and after.kind in ("item", "block")

    def _led(self, place: int) -> bool:
        after = self.found[place + 1] if place + 1 < len(self.found) else None
        return (
            after is not None
            and place in after.needs
            and (after.kind != "sentence" or bool(COLON.search(self.found[place].text)))
        )
