"""Turns of a session with speakers and times, reports of outside tools, and texts that instruct an agent how to behave."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from slowwave.text.frontmatter import UnreadableFile, frontmatter
from slowwave.text.names import is_given
from slowwave.text.sentences import sentences
from slowwave.text.structure import passages
from slowwave.text.tokens import fold

# Turns: the speaker, the text, the line and, if known, the time of each part of a session's page.
#
# The parser accepts pages of imported sessions and the common transcript formats of agents: a role or a given name in bold, as a heading,
# or before a colon, with or without a time. Text before the first turn has no speaker. Code, quotations, tables and headings are not part
# of a turn. ``slowwave.text.informative`` selects the informative sentences. Linear in the text.

USER: Final = "user"
ASSISTANT: Final = "assistant"
LONGEST_SENTENCE: Final = 400
"""Maximum length in characters of a sentence; longer ones are pasted passages."""

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
    """Turn of a session.

    ``speaker`` is ``USER``, ``ASSISTANT``, ``system``, a name as written, or empty if there is none. ``lines`` are the lines of the turn
    with their numbers on the page (from 1). ``at`` is in UTC, and None if the page gives no time.
    """

    speaker: str
    lines: tuple[tuple[int, str], ...]
    at: datetime | None

    @property
    def text(self) -> str:
        """Return the text of the turn as written on the page."""
        return "\n".join(line for _, line in self.lines).strip()


class SpokenSentence(NamedTuple):
    """A sentence, and the line of the page on which it begins."""

    text: str
    line: int


def session_turns(page: str) -> list[SessionTurn]:
    """Return the turns of a page in order, without empty ones.

    If the head of the page cannot be parsed, the whole page is the body.
    """
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
    """Return the sentences of a turn with their lines.

    Prose and list items count; code, quotations, tables and headings do not.
    """
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
    """Return the speaker, the time and the rest of a line that begins a turn; None for any other line."""
    match = _HEAD.match(line)
    if match is None:
        return None
    who, colon = match["who"], bool(match["colon"] or match["late"])
    rest = match["rest"] or ""
    marked = bool(match["heading"] or match["bold"])
    role = _ROLES.get(who.lower())
    if role is not None:
        if not (colon or (marked and not rest)):
            return None
    elif (
        not who[0].isupper()
        or not (colon or (match["bold"] and not rest))
        or (not is_given(fold(who.split()[0])) and not (match["bold"] and (match["before"] or match["after"])))
    ):
        return None
    return role or who, _instant(match["before"] or match["after"]), rest


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(re.sub(r" ?(?:Z|UTC)$", "", text)).replace(tzinfo=UTC)
    except ValueError:
        return None


def _paragraphs(lines: Sequence[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Yield the runs of lines that form a paragraph or list item, without the marks before them."""
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
    """Return the line of a position in the joined paragraph."""
    end = 0
    for number, text in paragraph:
        end += len(text) + 1
        if place < end:
            return number
    return paragraph[-1][0]


# Organization reports: the section in which an external dreamer describes its work, parsed by mnemo's grammar (mnemo 2.4).
#
# ``slowwave.operations.planners.accept_external_edits`` decides which memories contain one and what happens to it.

HEADING: Final = r"(?im)^[ \t]*##[ \t]+organization[ \t]+report\b"
"""A level-2 heading, in any case, anywhere in the text; also valid in Arrow's regular expressions."""

_HEADING: Final = re.compile(HEADING)
_KEY: Final = re.compile(r"\b(consolidated|removed|re[-_ ]?indexed)\b[ \t]*[:=][ \t]*([0-9]+)", re.IGNORECASE)
_MOST: Final = 2**64 - 1
_MOST_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class OrganizationReport:
    """Counts of the report."""

    consolidated: int = 0
    removed: int = 0
    reindexed: int = 0


def parse(text: str) -> OrganizationReport | None:
    """Parse the report in a text; return None if no heading begins one.

    The first heading is used and all text after it is searched: keys may occur in any order and on any line. The first number of each key
    counts. A number that is missing or needs more than 64 bits is 0.
    """
    heading = _HEADING.search(text)
    if heading is None:
        return None
    found: dict[str, int] = {}
    for key, digits in _KEY.findall(text, heading.end()):
        name = "reindexed" if key.lower().startswith("re") and key.lower() != "removed" else key.lower()
        found.setdefault(name, _number(digits))
    return OrganizationReport(**found)


def _number(digits: str) -> int:
    significant = digits.lstrip("0") or "0"
    if len(significant) > _MOST_DIGITS:
        return 0
    value = int(significant)
    return value if value <= _MOST else 0


# Instructions: texts that tell an agent how to behave, recognised by their content: personas, lists of rules, policies.
#
# An agent depends on such a text as a whole, and half a policy is a different policy. The name of a row may mark it as well
# (``slowwave.snapshots.rows``). English, and the most common words of German, French, Spanish and Chinese.

HINT: Final = (
    r"(?i)\b(?:must|shall|should|never|always|not|don.t|only|polic|rules?\b|guideline|instruction|guardrail|principle|directive|procedure|protocol|"
    r"you are|act as|your (?:role|task|job|goal|name)|niemals|immer|muss|müssen|darf|dürfen|regeln|jamais|"
    r"toujours|faut|doi|pas\b|règles|nunca|"
    r"siempre|debe|prohibid|reglas)|必须|不得|禁止|务必|不要|应当|规则"
)
"""A pattern that occurs in every text with instructions; also valid in RE2."""

_TITLE: Final = re.compile(
    r"\b(?:polic(?:y|ies)|rules|guidelines|instructions|guardrails|principles|directives|procedures?|protocols?|playbook|persona|regeln|richtlinien|"
    r"anweisungen|règles|consignes|reglas|instrucciones|políticas?)\b|规则|政策|守则",
    re.IGNORECASE,
)
_STRONG: Final = re.compile(
    r"\b(?:must|shall|never|always|do not|don['’]t|may not|may only|should(?: not|n['’]t)?|cannot|can['’]t|"
    r"(?:are|is) (?:not )?allowed|"
    r"forbidden|prohibited|required|mandatory|under no circumstances|niemals|immer|muss|müssen|darf|dürfen|jamais|toujours|il faut|"
    r"ne [^.]{1,30} pas|doit|doivent|nunca|siempre|debe|deben|prohibido)\b|必须|不得|禁止|务必|不要|应当",
    re.IGNORECASE,
)
_IMPERATIVE: Final = re.compile(
    r"[\W\d_]*(?:[a-z][.)]\s+)?(?:\*\*)?(?:if|when|before|after|only|no|avoid|ask|be|check|confirm|contact|decline|do|ensure|escalate|explain|follow|"
    r"give|greet|include|keep|make|mention|notify|offer|prefer|provide|read|refer|refuse|remember|reply|report|respond|say|send|speak|stay|"
    r"stop|tell|treat|use|verify|wait|write)\b",
    re.IGNORECASE,
)
_PERSONA: Final = re.compile(
    r"[\W_]*(?:(?-i:You are|you are|YOU ARE) (?:an?|the|not|now|acting|called|named|(?-i:[A-Z])\w+)|act as|"
    r"your (?:role|task|job|goal|name|purpose|mission) (?:is|as)|as an? (?:ai|assistant)\b|du bist (?:ein|der|die)|tu es une?|eres un)\b",
    re.IGNORECASE,
)
_ADDRESSED: Final = re.compile(
    r"[\W\d_]*(?:you|your|never|always|do|don['’]t|respond|answer|speak|be)\b", re.IGNORECASE
)
_ORDER: Final = re.compile(
    r"[\W\d_]*(?:(?:please|always|never|instead|then|also|in (?:that|this) case)[,: ]+)*(?:do not|don['’]t|answer|address|add|back up|book|"
    r"bring|call|cc|close|commit|deploy|document|eat|end|format|get|leave|limit|list|log|name|open|order|pay|put|remind|remove|restart|run|save|set|"
    r"share|ship|sign|skip|start|store|summari[sz]e|switch|take|test|translate|turn|water)\b"
    r"(?! (?:is|are|was|were|has|have|will|of|day|date)\b)",
    re.IGNORECASE,
)
"""Matches "Answer in three lines at most.", not "Order of the day: tea."."""
_LONGEST_TITLE: Final = 12  # words
_PROSE: Final = 3
"""Minimum number of imperative sentences that make prose a policy."""


def gives_order(sentence: str) -> bool:
    """Return whether one sentence instructs its reader to do something or not to do it."""
    return bool(_STRONG.search(sentence) or _IMPERATIVE.match(sentence) or _ORDER.match(sentence))


def instructive(text: str) -> bool:
    """Return whether a text is a persona, a list of rules or a policy.

    It is one of these:
    - at least two items, half or more of which give an order, one of them with "must", "never" or the like
    - any list under a title such as "Refund policy"
    - prose that begins "You are …" and goes on to address its reader
    - prose of orders

    Cost: linear in the text.
    """
    if not re.search(HINT, text):
        return False
    found = passages(text)
    items = [p.text for p in found if p.kind == "item"]
    if len(items) > 1:
        titles = [p.text for p in found if p.kind == "heading" or not p.alone or p is found[0]]
        if any(_TITLE.search(t) and len(t.split()) <= _LONGEST_TITLE for t in titles):
            return True
        strong = sum(bool(_STRONG.search(t)) for t in items)
        orders = sum(bool(_STRONG.search(t) or _IMPERATIVE.match(t)) for t in items)
        if strong and orders > 1 and 2 * orders >= len(items):
            return True
    prose = [p.text for p in found if p.kind == "sentence"]
    if prose and _PERSONA.match(prose[0]) and any(_ADDRESSED.match(t) for t in (*prose[1:], *items)):
        return True
    orders = sum(
        bool(re.match(r"[\W_]*(?:you )?(?:must|never|always|do not|don['’]t)\b", t, re.IGNORECASE)) for t in prose
    )
    return orders >= _PROSE and 2 * orders >= len(prose)
