"""Turns: who said what in a session's page, on which line, and when it is known, at what time.

Pages of imported sessions, and the common ways in which agents write a transcript: a role or a given name in bold, as a heading, or before
a colon, with or without a time. What stands before the first of them is said by nobody. Code, quotations, tables and headings are not
what somebody said. Which sentences are worth telling belongs to ``slowwave.texts.informative_sentences``. Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from slowwave.texts.frontmatter import UnreadableFile, frontmatter
from slowwave.texts.known_names import is_given
from slowwave.texts.sentences import sentences
from slowwave.texts.tokens import fold

USER: Final = "user"
ASSISTANT: Final = "assistant"
LONGEST_SENTENCE: Final = 400
"""Characters; what is longer is a passage that somebody pasted."""

_ROLES: Final = {
    "user": USER,
    "human": USER,
    "me": USER,
    "assistant": ASSISTANT,
    "agent": ASSISTANT,
    "ai": ASSISTANT,
    "bot": ASSISTANT,
    "system": "system",
}
_AT: Final = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?: ?Z| ?UTC)?"
_HEAD: Final = re.compile(
    rf"^(?:(?P<heading>#{{1,6}})[ \t]+)?(?:\[?(?P<before>{_AT})\]?[ \t]+)?(?P<bold>\*\*)?"
    r"(?P<who>[A-Za-z][\w'’-]{0,30}(?: [A-Z][\w'’-]{0,30})?)(?P<colon>[ \t]*:)?(?:\*\*)?"
    rf"(?:[ \t]*[\[(]?(?P<after>{_AT})[\])]?)?(?P<late>[ \t]*:)?(?:[ \t]+(?P<rest>\S.*)|[ \t]*)$"
)
_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_ASIDE: Final = re.compile(r"^[ \t]*(?:>|\||#{1,6}[ \t]|<!--|-{3,}[ \t]*$|\*{3,}[ \t]*$|\$ |=+[ \t]*$)")
_BULLET: Final = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")


class SessionTurn(NamedTuple):
    """``speaker``: ``USER``, ``ASSISTANT``, ``system``, a name as it is written, or empty for nobody. ``lines`` are its lines with their
    numbers on the page (from 1); ``at`` is in UTC, None where the page does not say."""

    speaker: str
    lines: tuple[tuple[int, str], ...]
    at: datetime | None

    @property
    def text(self) -> str:
        """What was said, as it stands on the page."""
        return "\n".join(line for _, line in self.lines).strip()


class SpokenSentence(NamedTuple):
    """A sentence, and the line of the page on which it begins."""

    text: str
    line: int


def session_turns(page: str) -> list[SessionTurn]:
    """The turns of a page in their order, those that say nothing left out. A page whose head cannot be read is one without a head."""
    try:
        head = frontmatter(page)
        first, body = head.lines + 1, page[head.end :]
    except UnreadableFile:
        first, body = 1, page
    turns: list[SessionTurn] = []
    speaker, at, held = "", None, list[tuple[int, str]]()
    fence = ""
    for number, line in enumerate(body.split("\n"), first):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        begins = None if fence or mark else _begins(line)
        if begins is None:
            held.append((number, line))
            continue
        if any(text.strip() for _, text in held):
            turns.append(SessionTurn(speaker, tuple(held), at))
        speaker, moment, rest = begins
        at = moment or at
        held = [(number, rest)] if rest else []
    if any(text.strip() for _, text in held):
        turns.append(SessionTurn(speaker, tuple(held), at))
    return turns


def spoken(turn: SessionTurn) -> list[SpokenSentence]:
    """The sentences of a turn with their lines: of prose and of list items, not of code, quotations, tables and headings."""
    found: list[SpokenSentence] = []
    for paragraph in _paragraphs(turn.lines):
        joined = " ".join(text for _, text in paragraph)
        at = 0
        for sentence in sentences(joined):
            place = joined.find(sentence, at)
            at = max(place, at)
            found.append(SpokenSentence(sentence, _line_at(paragraph, at)))
            at += len(sentence)
    return [sentence for sentence in found if len(sentence.text) <= LONGEST_SENTENCE]


def _begins(line: str) -> tuple[str, datetime | None, str] | None:
    """Speaker, time and the rest of a line that begins a turn; None for any other."""
    match = _HEAD.match(line)
    if match is None:
        return None
    who, colon = match["who"], bool(match["colon"] or match["late"])
    said = match["rest"] or ""
    marked = bool(match["heading"] or match["bold"])
    role = _ROLES.get(who.lower())
    if role is not None:
        if not (colon or (marked and not said)):
            return None
    elif (
        not who[0].isupper()
        or not (colon or (match["bold"] and not said))
        or (not is_given(fold(who.split()[0])) and not (match["bold"] and (match["before"] or match["after"])))
    ):
        return None
    return role or who, _instant(match["before"] or match["after"]), said


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(re.sub(r" ?(?:Z|UTC)$", "", text)).replace(tzinfo=UTC)
    except ValueError:
        return None


def _paragraphs(lines: Sequence[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Runs of lines that are one paragraph or list item, without the marks before them."""
    held: list[tuple[int, str]] = []
    fence = ""
    for number, line in lines:
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        aside = bool(fence or mark or not line.strip() or _ASIDE.match(line) or line.startswith(("    ", "\t")))
        bullet = None if aside else _BULLET.match(line)
        if (aside or bullet) and held:
            yield held
            held = []
        if not aside:
            held.append((number, line[bullet.end() :].strip() if bullet else line.strip()))
    if held:
        yield held


def _line_at(paragraph: Sequence[tuple[int, str]], place: int) -> int:
    """The line on which a place of the joined paragraph stands."""
    end = 0
    for number, text in paragraph:
        end += len(text) + 1
        if place < end:
            return number
    return paragraph[-1][0]
