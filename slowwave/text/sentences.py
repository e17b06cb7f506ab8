"""Sentences: their ends, their dependence on neighbours, and the passages that must not be reworded."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from slowwave.text.words import GRAMMAR, OPENERS, VERBS, words_of

# Verbatim: passages of a text that must not be reworded, because they are quotations or not prose.
#
# These are quotations, code, addresses, paths, markup, headings and front matter. ``slowwave.text.dates`` decides whether a phrase is the
# title of a work, because that depends on the phrase.


class Verbatim(NamedTuple):
    """Spans that must stay as they are, sorted and apart from each other; ``Verbatim.from_text`` finds them in linear time."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def from_text(cls, text: str) -> Verbatim:
        """Find the verbatim passages of a text.

        A quotation ends with its paragraph, an unclosed fence with the text.
        """
        spans = [m.span() for m in _PASSAGE.finditer(text)]
        return cls(tuple(start for start, _ in spans), tuple(end for _, end in spans))

    def touches(self, start: int, end: int) -> bool:
        """Return whether a span overlaps such a passage."""
        place = bisect_right(self.starts, end - 1) - 1
        return place >= 0 and self.ends[place] > start


_PASSAGE: Final = re.compile(
    r"""
    \A---\n(?:(?!---$).*\n){0,400}---$                          # front matter
    |^[ ]{0,3}(?P<fence>```+|~~~+)[^\n]*(?:\n(?![ ]{0,3}(?P=fence))[^\n]*)*(?:\n[ ]{0,3}(?P=fence)[^\n]*)?  # fenced code
    |^(?:[ ]{4}|\t)(?![ \t]*(?:[-*+•]|\d{1,3}[.)])\s)[^\n]*        # indented code
    |^[ ]{0,3}>[^\n]*                                           # a quoted line
    |^[ ]{0,3}\#{1,6}\s[^\n]*                                   # a heading
    |`+[^`\n]*`+
    |<(?:code|pre|blockquote|q)\b[^>]{0,200}>[^<]*              # up to the next tag, which is a passage as well
    |</?[a-z!][^<>\n]{0,400}>
    |\]\([^()\s]*\)                                             # where a link leads
    |\b(?:https?|ftp|file|mailto|www|urn|data)[:.]\S+
    |(?<![\w.+-])[\w.+-]{1,64}@[\w.-]+
    |(?<!\w)"[^"\n]*"
    |“[^“”\n]*”?|„[^“”„\n]*[“”]?|«[^«»\n]*»?
    |(?<![\w'’])'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w)
    |(?<!\w)‘(?=\S)(?:[^‘’\n]|(?<=\w)’(?=\w))*’(?!\w)
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)


# Sentences: boundaries of sentences in prose without line breaks.
#
# A full stop does not end a sentence in an abbreviation, an initial, a number, a version or an address, after the number of a list item, in
# an omission (…), or within quotation marks, brackets or code. In doubt two sentences are not split: a long sentence is still complete,
# half of one is wrong. ``slowwave.text.structure`` handles lines, lists, headings and tables.

LONGEST_ASIDE: Final = 600
"""Maximum length in characters of a quotation or parenthesis that is not split."""

_BREAK: Final = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]»」』]*(?=\s)|(?<=[。！？])[”’」』）]*(?=\S)")
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:mr|mrs|ms|mx|dr|prof|hon|gen|col|capt|lt|sgt|rev|st|sr|sra|jr|mme|mlle|hr|fr|messrs|vs|cf|al|ca|approx|abs|art|bzw|ggf|"
    r"usw|nr|no|nos|fig|figs|eq|sec|ch|chap|vol|ed|eds|pp?|para|dept|est|etc|inc|ltd|co|corp|bros|ave|blvd|rd|ext|tel|min|max|avg|incl|"
    r"excl|resp|mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|"
    r"(?<!\w)[^\W\d_](?:\.[^\W\d_])*|\bph\.d)\.$",
    re.IGNORECASE,
)
_ORDINAL: Final = re.compile(r"\b(?:de[mnrs]|das|die|am|im|vom|zum|zur|beim|seit|bis) \d{1,2}\.$", re.IGNORECASE)
"""A German ordinal: "am 4. November". In English text only "die 4." looks like one."""

_MAY_END: Final = re.compile(
    r"(?:\b(?:etc|usw|inc|ltd|co|corp|jr|sr|ave|blvd|rd|al|ext)|(?<!\w)(?!e\.g|i\.e)[^\W\d_](?:\.[^\W\d_])*|\bph\.d)\.$",
    re.IGNORECASE,
)
"""Abbreviations that end a sentence if the next word begins one."""

_FIRST_WORD: Final = re.compile(r"\s*([A-Z][a-z'’]*)(?=[\s,])")
_ENUMERATOR: Final = re.compile(r"[\W_]*(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxlIVXL]{1,6})[.)][\W_]*|[\W_]+")
_CLOSING: Final = "\"'”’)]»」』）"
_OPEN: Final = "([（"
_LONGEST_ABBREVIATION: Final = 16


def sentences(text: str) -> list[str]:
    """Split a text into its sentences, in order and without surrounding space.

    A line break counts as a space. Cost: linear in the text.
    """
    if _BREAK.search(text) is None:  # most memories are one sentence
        return [whole] if (whole := text.strip()) else []
    return list(_split(text))


@lru_cache(maxsize=256)  # several rules read a text, one after the other
def _split(text: str) -> tuple[str, ...]:
    parts: list[str] = []
    start = 0
    asides = _asides(text)
    ends = [end for _, end in asides]
    for match in _BREAK.finditer(text):
        end = match.end()
        if _ends(text, start, end) and not _within(asides, ends, end):
            parts.append(text[start:end])
            start = end
    parts.append(text[start:])
    return tuple(_whole(p for part in parts if (p := part.strip())))


def _ends(text: str, start: int, end: int) -> bool:
    """Return whether the punctuation before ``end`` ends the sentence that began at ``start``."""
    close = end
    while close > start and text[close - 1] in _CLOSING:
        close -= 1
    mark = text[close - 1]
    after = text[end : end + 8].lstrip()
    if mark in "。！？":
        return True
    if after[:1].islower():
        return False
    if mark in "!?":
        return True
    if mark == "…" or text[max(start, close - 2) : close] == "..":
        return False
    before = text[max(start, close - _LONGEST_ABBREVIATION) : close]
    if close == end and _ORDINAL.search(before):
        return False
    if close == end and _ABBREVIATED.search(before):
        word = _FIRST_WORD.match(text, end, end + 24)
        return bool(word and word[1].lower() in OPENERS and _MAY_END.search(before))
    return not (text[close - 2 : close - 1].isdigit() and after[:1].isdigit() and close - start < _LONGEST_ABBREVIATION)


def _asides(text: str) -> list[tuple[int, int]]:
    """Return the spans of quotations, code, addresses and brackets, sorted and without overlap."""
    verbatim = Verbatim.from_text(text)
    spans = [s for s in zip(verbatim.starts, verbatim.ends, strict=True) if s[1] - s[0] <= LONGEST_ASIDE]
    spans += _brackets(text)
    spans.sort()
    apart: list[tuple[int, int]] = []
    for start, end in spans:
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the outermost brackets that are closed."""
    opened: list[int] = []
    for match in re.finditer(r"[()\[\]（）]", text):
        if match[0] in _OPEN:
            opened.append(match.start())
        elif opened:
            start = opened.pop()
            if not opened and match.end() - start <= LONGEST_ASIDE:
                yield start, match.end()


def _within(asides: list[tuple[int, int]], ends: list[int], place: int) -> bool:
    """Return whether a place lies strictly inside one of the asides."""
    k = bisect_left(ends, place + 1)
    return k < len(asides) and asides[k][0] < place < asides[k][1]


def _whole(parts: Iterator[str]) -> Iterator[str]:
    """Yield the parts, with list numbers and punctuation without words joined to the part that follows them."""
    held = ""
    for part in parts:
        piece = f"{held} {part}" if held else part
        if _ENUMERATOR.fullmatch(part):
            held = piece
        else:
            held = ""
            yield piece
    if held:
        yield held


# Anaphora: sentences that depend on an earlier one, because they begin with a pronoun or a connective.
#
# They are detected by their first words, in English and with the most common words of German, French, Spanish and Chinese. The pronoun is
# not resolved. In doubt a sentence counts as dependent on the one before it.

Lean = Literal["", "person", "previous", "exception"]
"""The reference of a dependent sentence: none, the person named last, the previous sentence, or the previous sentence that in turn cannot
be kept without this one (``exception``)."""

_PERSONS: Final = words_of("he she him his her hers himself herself he's she's he'd she'd he'll she'll")
_THINGS: Final = words_of("""
it its they them their theirs itself themselves this that these those such it's they're they've they'd they'll that's
""")
_CONNECTIVES: Final = words_of("""
and so then therefore thus hence also moreover furthermore consequently accordingly afterwards afterward subsequently meanwhile likewise
similarly additionally nor or else which indeed specifically namely another others second secondly third thirdly lastly alternatively
conversely yeah nope er es daher deshalb deswegen danach dann außerdem dadurch dafür dagegen darum sonst und oder denn elle il ils elles
ce cela ceci donc puis ensuite ainsi et él ella ellos ellas esto eso entonces además después luego y
""")
_ALONE: Final = words_of("yes no next still again finally later eventually instead besides plus yet first here")
"""Words that are connectives if a comma or a stop follows: "Next, …", but not "Next week"."""

_EXCEPTIONS: Final = words_of("""
but however except unless otherwise nevertheless nonetheless provided excluding exception exceptions aber jedoch allerdings außer mais
sauf cependant pero salvo excepto
""")
_THEM: Final = "(?:this|that|these|those)"
_PHRASES: Final = re.compile(
    rf"(?:for (?:example|instance|{_THEM})|as (?:a result|such|well|above|for {_THEM})|"
    rf"in (?:addition|turn|return|contrast|either case|both cases|{_THEM})|(?:after|before|by) (?:which|{_THEM})|at the same time|"
    rf"since then|by (?:then|contrast|comparison)|(?:if|when) (?:so|not|it|they|{_THEM})|"
    rf"(?:because of|due to|apart from|with|at|to) (?:it|them|{_THEM})|"
    r"the (?:same|former|latter|other|others|second|first one|rest)|(?:one|two|some|none|most|all|many|each|both|either|neither) of "
    r"(?:them|these|those|it|which)|(?:both|neither|either) (?:are|were|is|was|have|has|had|can|could|will|would|do|does|did|agreed|said)|"
    r"e\.g\.|i\.e\.|that is|on the other|a similar|in (?:short|summary|other words|conclusion)|"
    r"\w+ed (?:to|into|as|by|with|in|from|on|at|for|until|without)|not (?!all|every|only|one|until))\b",
    re.IGNORECASE,
)
_TURNS: Final = re.compile(
    r"(?:with the exception|as long as|on condition|even so|not (?:if|when|unless|for)|save for|other than|apart from|aside from|"
    r"(?:this|that|it|these|they|the above) (?:(?:do|does|is|are|must) not|(?:do|does|is|are)n't|only|excludes?))\b",
    re.IGNORECASE,
)
_CJK: Final = re.compile(
    r"(?:他们|她们|它们|他|她|它|但是|但|不过|所以|因此|然后|而且|于是|彼女|彼|しかし|そして|それ)"
)
_FIXED: Final = re.compile(
    r"(?:so far|(?:this|that|these|those) (?:(?:past|last|coming) )?(?:time|days?|mornings?|afternoons?|evenings?|nights?|weeks?|weekends?|"
    r"months?|years?|spring|summer|autumn|winter|quarter))\b",
    re.IGNORECASE,
)
_SUBORDINATE: Final = words_of("""
when if after as while because since before once although though until unless that in on at by for with from during last this next one
two three whenever wherever today tomorrow yesterday tonight sometimes maybe perhaps once
""")
_DETERMINERS: Final = words_of("the a an my our your some every each any no several many most all")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_LEAD: Final = re.compile(r"^[\s\"'“‘«(\[*_>]*(?:(?:[-*+•–—]|\(?\d{1,3}[.)]|[a-z][.)])\s+)?[\"'“‘«(\[*_]*")
_LOOKED_AT: Final = 8  # number of words that are checked
_FRAGMENT: Final = 3
"""Maximum number of words of a fragment without a verb: "Severity P2."."""


def lean(sentence: str) -> Lean:
    """Return what a sentence or a list item depends on.

    Time: that of its first words.
    """
    begin = _LEAD.match(sentence)
    rest = sentence[begin.end() if begin else 0 :][:200]
    if _CJK.match(rest):
        return "previous"
    if _FIXED.match(rest):
        return ""
    if _TURNS.match(rest):
        return "exception"
    words = [w.replace("’", "'") for w in _WORD.findall(rest)[:_LOOKED_AT]]
    if not words:
        return "" if not rest.strip() or rest[0].isalnum() else "previous"
    first = words[0].lower()
    if first in _EXCEPTIONS:
        return "exception"
    if first in _PERSONS:
        return "person"
    if _PHRASES.match(rest) or first in _CONNECTIVES or first in _THINGS:
        return "previous"
    if first in _ALONE and rest[len(words[0]) : len(words[0]) + 1] in (",", ".", "!", ":", ""):
        return "previous"
    return _later(words) or _fragment(words)


def _later(words: list[str]) -> Lean:
    """Return the dependence of a sentence whose first pronoun comes before any noun: "When she arrived, …"."""
    opener = words[0].lower()
    settled = opener not in _SUBORDINATE and not opener.endswith("ly")
    for k, word in enumerate(words[1:], 1):
        low = word.lower()
        if low in ("he", "she", "they", "him", "them"):
            if settled and any(w.lower() in _DETERMINERS for w in words[:k]):
                return ""
            return "previous" if low in ("they", "them") else "person"
        if word[0].isupper() and low not in ("i", "i'm", "i've", "i'd", "i'll"):
            return ""
        if k == 1 and settled and words[0][0].isupper() and opener not in GRAMMAR and opener not in OPENERS:
            return ""
    return ""


def _fragment(words: list[str]) -> Lean:
    """Return the dependence of a short fragment without a verb, which has no meaning alone."""
    if len(words) > _FRAGMENT or words[0].lower() in ("i", "i'm", "we", "you", "please", "never", "always"):
        return ""
    verbal = any(w.lower() in GRAMMAR or re.search(r"(?:n't|ed|es|s|'m|'re)$", w.lower()) for w in words)
    return "" if verbal or not all(w.isascii() for w in words) else "previous"


PEOPLE: Final = words_of("""
mother father mom mum dad sister brother son daughter wife husband partner girlfriend boyfriend friend uncle aunt cousin grandmother
grandfather grandma grandpa niece nephew neighbour neighbor colleague coworker boss manager teacher student doctor nurse patient client
customer user human author woman man girl boy lady guy child baby person engineer developer designer lawyer landlord tenant owner
president director coach therapist roommate classmate guest
""")


def people(sentence: str) -> tuple[bool, bool]:
    """Return whether a sentence certainly mentions a person, and whether it may.

    A role, or a name that does something makes it certain.
    """
    words = _WORD.findall(sentence)
    lows = [w.lower() for w in words]
    if any(low.removesuffix("'s") in PEOPLE for low in lows):
        return True, True
    named = [k for k, w in enumerate(words) if w[0].isupper() and lows[k] not in OPENERS and lows[k] not in GRAMMAR]
    inside = [k for k in named if k]
    subject = 0 in named and (
        1 in named or (len(words) > 1 and words[1][0].islower() and lows[1] not in ("are", "were", "of"))
    )
    return subject or any(low in ("who", "whom") for low in lows), bool(inside) or subject


# Connectives: words by which a sentence refers to a neighbouring one: it continues, answers, retracts, or limits it to a period.
#
# This covers more than the first words of a sentence, for example a pronoun or "this" within a sentence, if nothing before it in the
# sentence can be its referent. The referent is not determined; in doubt a sentence counts as dependent on the one before it. The words are
# in ``connectives.toml``: English, and the most common of German, French and Spanish.

Bond = Literal["", "person", "company", "previous", "both", "next"]
"""What a sentence needs: nothing; the person named last; that person and the previous sentence; the previous sentence; the previous
sentence, which needs this one as well; the next sentence."""

_FILE: Final[dict[str, str]] = tomllib.loads(Path(__file__).with_name("connectives.toml").read_text(encoding="utf-8"))
_LEAD_CONNECTIVES: Final = r"[\s\"'“‘«(\[*_>]*(?:(?:[-*+•–—]|\(?\d{1,3}[.)]|[a-z][.)])\s+)?[\"'“‘«(\[*_]*"


def _opening(name: str, before: str = "") -> re.Pattern[str]:
    words = _FILE[name].replace("\n", "").replace("{them}", "(?:this|that|these|those)")
    return re.compile(rf"{_LEAD_CONNECTIVES}{before}(?:{words})(?!\w)", re.IGNORECASE)


_INTERJECTIONS: Final = _FILE["interjections"]
_PREVIOUS: Final = _opening("previous")
_ANSWERS: Final = _opening("answers", rf"(?:(?:{_INTERJECTIONS})[,.!]?\s+)?")
_COURTEOUS: Final = _opening("courtesies", rf"(?:(?:{_INTERJECTIONS}|yes|no|of course)[,.!]\s+){{0,3}}")
_ASSISTANTS: Final = re.compile(_FILE["assistants"], re.IGNORECASE)
_WARNS: Final = re.compile(rf"\b(?:{_FILE['warnings']})\b".replace("\n", ""), re.IGNORECASE)
_TAKES_BACK: Final = _opening("takes_back")
_PASSES: Final = _opening("passes")
_ITSELF: Final = frozenset(_FILE["itself"].replace("\n", "").split("|"))

_WORD_CONNECTIVES: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_FIGURE: Final = re.compile(r"\d")
_ASIDE: Final = re.compile(r"\s*[*_]*[(（][^()（）]{1,300}[)）][*_]*[.!?]?\s*")
_WHICH: Final = re.compile(rf"{_LEAD_CONNECTIVES}which\b[^.!]*[?？]", re.IGNORECASE)
_POINTING: Final = words_of("this these those such")
_THAT: Final = re.compile(
    r"\b(?:within|in|on|at|of|for|with|by|to|from|after|before|during|under|over) that "
    r"(?!it|he|she|they|we|you|i|the|an?|this|there|time|day|week|month|year|way)[a-z]{3,}\b",
    re.IGNORECASE,
)
"""A "that" with a reference: "within that frame"."""

_HIM: Final = words_of("he she him his her hers himself herself he's she's he'd she'd he'll she'll")
_IT: Final = words_of("it its them their theirs they itself themselves it's they're they've they'd they'll")
_ME: Final = words_of("i i'm i've i'd i'll")
_DETERMINERS_CONNECTIVES: Final = words_of("the a an my our your some every each several many both another")
_EMPTY: Final = re.compile(
    r"\bit(?:'s| is| was| will be| seems| takes| took| has been)?\s+(?:rain|snow|seem|appear|turn|possible|worth|time|clear|important|"
    r"necessary|good|hard|easy|better|best|late|early|cold|warm|hot)",
    re.IGNORECASE,
)
"""An "it" without a reference."""

_TIMES: Final = words_of("in on at by during since after before until from within throughout")
_TIME: Final = 6
"""Number of words within which a sentence that begins with one of these states a time rather than its topic."""

_ANSWERING: Final = _TIMES | {"because", "to", "with", "for"}
_SHORT: Final = 6
"""Maximum number of words of an answer that is incomplete without its question. An answer that begins with a preposition is incomplete as
well."""

_LOOKED_AT_CONNECTIVES: Final = 40  # number of words that are checked
_LONGEST_HEAD: Final = 300  # characters
_LONGEST_COURTESY: Final = 200  # characters


def bond(sentence: str, *, answering: bool = False) -> Bond:
    """Return how a sentence depends on its neighbours; ``answering`` means that the sentence before it is a question.

    Time: that of its first words.
    """
    head = sentence[:_LONGEST_HEAD]
    if _TAKES_BACK.match(head):
        return "both"
    leans = lean(sentence) if not _WHICH.match(head) else ""
    if leans == "exception":
        return "both"
    if leans == "previous" or _PREVIOUS.match(head) or _ASIDE.fullmatch(sentence) or (answering and _answers(head)):
        return "previous"
    if _PASSES.match(head):
        return "next"
    person, thing = _pointed_at(head)
    if leans == "person" or person:
        return "company" if thing else "person"
    return "previous" if thing else ""


def assists(speaker: str) -> bool:
    """Return whether a speaker is an assistant: "Assistant:"."""
    return bool(_ASSISTANTS.fullmatch(speaker.strip(" *_:：")))


def reacts(sentence: str) -> bool:
    """Return whether a sentence answers or agrees, regardless of its content: "Yes, …", "Good idea".

    Time: that of its first words.
    """
    return bool(_ANSWERS.match(sentence))


def warns(sentence: str) -> bool:
    """Return whether a sentence forbids, commands or warns.

    Time: linear.
    """
    return bool(_WARNS.search(sentence))


def courteous(sentence: str) -> bool:
    """Return whether a sentence greets, thanks or wishes well, and contains no figure.

    Time: that of its first words.
    """
    return len(sentence) <= _LONGEST_COURTESY and bool(_COURTEOUS.match(sentence)) and not _FIGURE.search(sentence)


def _answers(head: str) -> bool:
    words = _WORD_CONNECTIVES.findall(head)
    return reacts(head) or len(words) <= _SHORT or words[0].lower() in _ANSWERING


def _pointed_at(head: str) -> tuple[bool, bool]:
    """Return whether a pronoun refers to a person, and whether one refers to a thing, outside the sentence.

    A pronoun does not count if it may refer to an earlier word of the sentence.
    """
    named = settled = person = False
    thing = bool(_THAT.search(head))
    words = [m[0].replace("’", "'") for m in _WORD_CONNECTIVES.finditer(head)][:_LOOKED_AT_CONNECTIVES]
    lows = [w.lower() for w in words]
    when = _TIME if lows and lows[0] in _TIMES else 0
    for k, (word, low) in enumerate(zip(words, lows, strict=True)):
        if low in _POINTING and k + 1 < len(words):
            after = lows[k + 1]
            thing |= after not in _ITSELF and (after not in GRAMMAR or not settled)
        person |= low in _HIM and not named
        thing |= low in _IT and not settled and not _EMPTY.search(head)
        if word[0].isupper() and low not in _ME and (k or _names(words, lows)):
            named = settled = True
        settled |= low in _DETERMINERS_CONNECTIVES and k >= when
        named = named or people(word)[0]
    return person, thing


def _names(words: list[str], lows: list[str]) -> bool:
    """Return whether the first word is a name or noun, as a verb or another name after it shows, and not an imperative."""
    if lows[0] in OPENERS or lows[0] in GRAMMAR or len(words) < 2:
        return False
    return words[1][0].isupper() or lows[1] in VERBS or lows[1] == "is" or lows[1].endswith(("s", "ed"))
