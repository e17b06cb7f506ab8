"""Forms of writing: one form for dates, units and contractions, and the punctuation and code marks that change a meaning."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from slowwave.text.figures import MONTHS, join_thousands
from slowwave.text.tokens import fold
from slowwave.text.words import CARDINALS, TENS, words_of

# Standard forms: one notation for contractions, clock times, dates, counts, units and currencies that can be written in several ways.
#
# "It doesn't start before 6:40 pm on the 3rd of May" becomes "It does not start before 18:40 on 3 May"; "twelve mins" becomes "12 minutes".
# A bare "one" is kept, because it is also a pronoun.

_READ: Final = 16_384


@lru_cache(_READ)
def standard_form(text: str) -> str:
    """Return the text in its standard form.

    Time: linear, about 10 µs per sentence.
    """
    text = text.replace("’", "'")
    if "'" in text or "annot" in text or "ANNOT" in text:
        for pattern, full in _CONTRACTIONS:
            text = pattern.sub(full, text)
    text = _COUNT.sub(_counted, text)
    if not _DIGIT.search(text):
        return text
    text = _DAY_FIRST.sub(lambda m: _day(m[0], m[1], MONTHS[m[2].lower()], m[3]), text)
    text = _MONTH_FIRST.sub(lambda m: _day(m[0], m[2], MONTHS[m[1].lower()], m[3]), text)
    text = _CLOCK.sub(_clock, text)
    text = _THOUSANDS.sub("", join_thousands(text))
    text = _MONEY_FIRST.sub(lambda m: _CURRENCIES[m[1].lower()], text)
    text = _MONEY.sub(lambda m: f"{_CURRENCIES[m[2].lower()]}{m[1]}", text)
    text = _UNIT.sub(lambda m: f"{m[1]} {_UNITS[m[2].lower()]}", text)
    return _PER.sub(lambda m: f" per {_PERIODS.get(m[1].lower(), m[1])}", text)


def count_unusual_words(texts: Sequence[str]) -> list[int]:
    """Count for texts of equal words how many words of each are written otherwise than in most of the texts.

    Of two equally common forms the one with some capital letters is better ("Fridays" than "fridays", "Acme" than "ACME"). All words of
    a text in capital letters count, unless all texts are written so.
    """
    words = [_WRITTEN.findall(text) for text in texts]
    quiet = [found for text, found in zip(texts, words, strict=True) if not text.isupper()]
    uses = Counter(word for found in quiet or words for word in found)
    best = {
        word.casefold(): word for word in sorted(uses, key=lambda w: (uses[w], not w.isupper(), not w.islower(), w))
    }
    return [
        len(found) if quiet and text.isupper() else sum(best[word.casefold()] != word for word in found)
        for text, found in zip(texts, words, strict=True)
    ]


def figures_of(text: str) -> str:
    """Return the whole numbers of a text in any notation, sorted; texts with different numbers differ in meaning.

    Time: linear, a few µs.
    """
    found: list[str] = []
    for match in _FIGURE.finditer(_THOUSANDS.sub("", join_thousands(text))):
        hour, minute, half, digits, month, *words = match.groups()
        if hour:
            found += (str(int(hour) % 12 + 12 * (half in "pP")), str(int(minute or 0)))
        elif digits:
            found.append(digits.lstrip("0") or "0")
        elif month:
            found.append(str(MONTHS[month.lower()]))
        else:
            found.append(str(_value(words)))
    return " ".join(sorted(f for f in found if f != "0"))


def _value(words: Iterable[str | None]) -> int:
    return sum(_VALUES[word.lower()] for word in words if word)


def _counted(match: re.Match[str]) -> str:
    return "2 times" if match[0].lower() == "twice" else str(_value(match.groups()))


def _day(written: str, day: str, month: int, year: str | None) -> str:
    if not 1 <= int(day) <= 31:
        return written
    return f"{year}-{month:02d}-{int(day):02d}" if year else f"{int(day)} {_NAMES[month]}"


def _clock(match: re.Match[str]) -> str:
    hour = int(match[1])
    return f"{hour % 12 + 12 * (match[3] in 'pP'):02d}:{match[2] or '00'}" if 1 <= hour <= 12 else match[0]


_CONTRACTIONS: Final = tuple(
    (re.compile(rf"\b{short}\b", re.IGNORECASE), full)
    for short, full in (
        ("cannot|can't", "can not"),
        ("won't", "will not"),
        ("shan't", "shall not"),
        (
            "(is|are|was|were|do|does|did|has|have|had|could|would|should|might|must|need)n't",
            r"\1 not",
        ),
        (
            "(it|he|she|that|there|what|who|where)'s(?= (?:not|a|an|the|my|your|his|her|our|their|in|on|at|too|very)\\b)",
            r"\1 is",
        ),
        ("(you|we|they)'re", r"\1 are"),
        ("(i)'m", r"\1 am"),
        ("(i|you|we|they)'ve", r"\1 have"),
        ("(i|you|he|she|it|we|they)'ll", r"\1 will"),
    )
)
_COUNTS: Final = {word: n for word, n in CARDINALS.items() if n > 1} | {"twice": 2}
_VALUES: Final = CARDINALS | TENS | _COUNTS
_ONES: Final = "|".join(word for word, n in CARDINALS.items() if 0 < n < 10)
_WRITTEN: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NUMBER: Final = rf"\b(?:({'|'.join(TENS)})(?:[ -]({_ONES})(?!\w))?|({'|'.join(_COUNTS)}))\b"
_DIGIT: Final = re.compile(r"\d")
_NAMES: Final = {n: name.capitalize() for name, n in reversed(MONTHS.items())}
_MONTH: Final = "(" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY_FIRST: Final = re.compile(
    rf"(?<![\w.:/-])(?:the )?(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? (\d{{4}})\b)?", re.IGNORECASE
)
_MONTH_FIRST: Final = re.compile(
    rf"\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?\b(?![.:,/-]?\d)(?:,? (\d{{4}})\b)?", re.IGNORECASE
)
_CLOCK: Final = re.compile(r"(?<![\w.:])(\d{1,2})(?::(\d{2}))? ?([ap])(?:m\b|\.m\.)", re.IGNORECASE)
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CURRENCIES: Final = {"€": "€", "eur": "€", "euro": "€", "euros": "€", "$": "$", "usd": "$", "£": "£", "gbp": "£"}
_MONEY_FIRST: Final = re.compile(r"(?<![\w.,])(?<!\d )(€|\$|£|eur|usd|gbp) ?(?=\d)", re.IGNORECASE)
_MONEY: Final = re.compile(
    r"(?<![\w.,$€£-])(\d+(?:\.\d+)?) ?(€|\$|£|eur|euros?|usd|gbp)(?![\w'-])",
    re.IGNORECASE,
)
_UNITS: Final = {
    spelling: name
    for name, spellings in {
        "minutes": "min mins minute minutes",
        "seconds": "sec secs second seconds",
        "hours": "hr hrs hour hours",
        "km": "km kilometre kilometres kilometer kilometers",
        "kg": "kg kilogram kilograms kilogramme kilogrammes",
        "g": "g gram grams gramme grammes",
        "mg": "mg milligram milligrams",
        "ml": "ml millilitre millilitres milliliter milliliters",
        "cm": "cm centimetre centimetres centimeter centimeters",
    }.items()
    for spelling in spellings.split()
}
_UNIT: Final = re.compile(
    rf"(?<![\w.,-])(\d+(?:\.\d+)?) ?({'|'.join(sorted(map(re.escape, _UNITS), key=len, reverse=True))})(?![\w'-])",
    re.IGNORECASE,
)
_PERIODS: Final = {"sec": "second", "min": "minute", "hr": "hour"}
_PER: Final = re.compile(r" ?/ ?(second|sec|minute|min|hour|hr|day|week|month|year)\b", re.IGNORECASE)
_COUNT: Final = re.compile(_NUMBER, re.IGNORECASE)
_CAPITALS: Final = "|".join(sorted((m.capitalize() for m in MONTHS), key=len, reverse=True))
_FIRST: Final = "".join(
    sorted({letter for word in _VALUES for letter in (word[0], word[0].upper())} | {m[0].upper() for m in MONTHS})
)
_FIGURE: Final = re.compile(  # most positions are rejected after one letter
    rf"(?=[0-9{_FIRST}])"
    rf"(?:(\d{{1,2}})(?::(\d\d))? ?([apAP])(?:m\b|\.m\.)|([0-9]+)|\b({_CAPITALS})\b|(?i:{_NUMBER}))"
)


# Signs that carry meaning: punctuation that distinguishes two texts with the same words, as in code, paths and formulas.
#
# Examples: "C++" and "C#", "a - b" and "a + b", "foo!" and "foo?", ".NET" and "NET", "*args" and "**args", "/etc/hosts" and "etc/hosts".
# Commas, quotes, brackets, full stops and hyphens count as plain punctuation. So do Markdown emphasis and the signs that open a mention or
# a list. Symbols such as emoji and the signs of currencies carry meaning wherever they are: "Deploy: 👍" and "Deploy: 👎".

_LONGEST: Final = 4_000


class SignDifference(NamedTuple):
    """Difference between two texts in their punctuation; ``degree`` states whether both write a sign there or only one."""

    a: str
    b: str
    degree: Literal["conflict", "one_sided"]


def may_have_signs(text: str) -> bool:
    """Return False if ``other_signs`` finds no difference between this text and any text of the same words.

    This is a cheap check before the comparison.
    """
    return _SIGN.search(text) is not None or bool(_symbols(text))


def other_signs(a: str, b: str) -> SignDifference | None:
    """Find the first place between the same two words where two texts have different signs, or a different identifier.

    Return None if they mean the same. Symbols are compared in their order. Swapping the texts only swaps the sides of the result. Time:
    linear in the first 4,000 characters, negligible for texts without signs.
    """
    if (symbol := _other_symbols(_symbols(a), _symbols(b))) is not None:
        return symbol
    if not (_SIGN.search(a) or _SIGN.search(b)):
        return None
    one, two = _places(a), _places(b)
    found: SignDifference | None = None
    for place in sorted(one.keys() & two.keys()):
        if one[place].isdisjoint(two[place]):
            sign = _other(min(one[place]), min(two[place]))
            if sign and sign.degree == "conflict":
                return sign
            found = found or sign
    return found or _identifiers(a, b)


@lru_cache(_READ)
def _symbols(text: str) -> tuple[tuple[str, int], ...]:
    """Return the symbols of a text in order, each with the number of words before it; -1 at the start and at the end of the text."""
    if text.isascii():
        return ()
    found: list[tuple[str, int]] = []
    words = 0
    for match in _WORD_OR_SIGN.finditer(_LIST.sub("", text[:_LONGEST])):
        if match.lastgroup == "word":
            words += 1
        elif _is_symbol(match[0]):
            found.append((match[0], words))
    return tuple((symbol, -1 if place in (0, words) else place) for symbol, place in found)


def _is_symbol(char: str) -> bool:
    return char not in _NO_SYMBOLS and unicodedata.category(char) in ("So", "Sc")


def _other_symbols(one: Sequence[tuple[str, int]], two: Sequence[tuple[str, int]]) -> SignDifference | None:
    if one == two:
        return None
    mine, theirs = ("".join(symbol for symbol, _ in found) for found in (one, two))
    return SignDifference(mine, theirs, "conflict" if mine and theirs and mine != theirs else "one_sided")


def symbols(text: str) -> str:
    """Return the symbols of a text that carry meaning, such as emoji, in order."""
    return "".join(symbol for symbol, _ in _symbols(text))


class _Gap(NamedTuple):
    """Signs between two words.

    ``joint`` holds them if there is no space. Otherwise ``behind`` follows the left word, ``before`` precedes the right one, and
    ``middle`` is between the two.
    """

    joint: str = ""
    behind: str = ""
    middle: str = ""
    before: str = ""


def _places(text: str) -> dict[tuple[str, str], set[_Gap]]:
    """Map (word, next word) to the gaps between them; the ends of the text count as empty words."""
    text = _EMPHASIS.sub(r"\2", _LIST.sub("", fold(text[:_LONGEST])))
    if not text.isascii():
        text = "".join(char for char in text if not _is_symbol(char))
    found: dict[tuple[str, str], set[_Gap]] = {}
    left, at = "", 0
    for match in _WORD.finditer(text):
        between = text[at : match.start()]
        found.setdefault((left, match[0]), set()).add(_gap(between if left else f" {between}"))
        left, at = match[0], match.end()
    if left:
        found.setdefault((left, ""), set()).add(_gap(f"{text[at:]} "))
    return found


def _gap(between: str) -> _Gap:
    parts = _SPACE.sub(" ", between).split(" ")
    if len(parts) == 1:
        return _Gap(joint=_PLAIN.sub("", parts[0]).replace("\\", "/"))
    behind, *inner, before = parts
    before = before.replace("\\", "/") if _BEFORE.fullmatch(before) else ""
    if before in _COMPARED:  # "<5" is "< 5"
        inner, before = [*inner, before], ""
    return _Gap("", _PLAIN.sub("", behind), _PLAIN.sub("", "".join(inner)), before)


def _other(x: _Gap, y: _Gap) -> SignDifference | None:
    if x.joint or y.joint:
        one, two = ((g.joint.strip("-") or g.joint[:1]) if g.joint else "".join(g).strip("-") for g in (x, y))
        return _differ(one, two, _JOINED)
    pairs = zip(x[1:], y[1:], (_CLOSING, _MIDDLE, _OPENING), strict=True)
    return next((s for one, two, weak in pairs if (s := _differ(one, two, weak))), None)


def _differ(x: str, y: str, weak: frozenset[str]) -> SignDifference | None:
    """Compare two signs at one place; ``weak`` signs may be left out."""
    if x == y or (weak is not _OPENING and {x, y} <= _DASHES):
        return None
    if x and y:
        return SignDifference(x, y, "one_sided" if {x, y} <= weak and weak is _JOINED else "conflict")
    return SignDifference(x, y, "one_sided") if (x or y) not in weak else None


def _identifiers(a: str, b: str) -> SignDifference | None:
    """Find identifiers and paths that only one text contains, regardless of how the other text joins its words."""
    one, two = (set(_CODE.findall(t[:_LONGEST])) for t in (a, b))
    if one == two:
        return None
    whole = [_JOINTS.sub("", fold(t[:_LONGEST])) for t in (a, b)]
    mine = sorted(c for c in one if _JOINTS.sub("", fold(c)) not in whole[1])
    theirs = sorted(c for c in two if _JOINTS.sub("", fold(c)) not in whole[0])
    return SignDifference(mine[0] if mine else "", theirs[0] if theirs else "", "one_sided") if mine or theirs else None


_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")
_SPACE: Final = re.compile(r"[\s\"“”„«»‹›()\[\]{}`´]+")
_PLAIN: Final = re.compile(r"[.,;:'’‘…·•¿¡_\u2010-\u2015]+")
_BEFORE: Final = re.compile(r"\.{1,2}|\.{0,2}[/\\]|[^\w\s.,;:'’‘…·•¿¡_\u2010-\u2015]{1,3}[./]?")
_EMPHASIS: Final = re.compile(
    r"(?<![\w*_~])(\*{1,3}|_{1,3}|~~)(?=[\w\"'(`])([^*_~\n]{1,200}?)(?<=[\w.!?)\"'`])\1(?![\w*_~])"
)
_LIST: Final = re.compile(r"^[ \t]*(?:[-*+>•‣●◦▪▫■▶►➤➢]|#{1,6})[ \t]+", re.MULTILINE)
_WORD_OR_SIGN: Final = re.compile(r"(?P<word>\w+(?:['’]\w+)*)|[^\w\s]")
_NO_SYMBOLS: Final = frozenset("$€£°™®©℠")
"""Symbols that may be left out or that a word replaces ("5 €" is "5 EUR")."""

_COMPARED: Final = frozenset(("<", ">", "<=", ">=", "=", "==", "!=", "~", "≈", "≠", "≤", "≥"))
_DASHES: Final = frozenset(("", "-", "--", "---"))
_JOINED: Final = _DASHES | frozenset("/&|@#°")
_CLOSING: Final = _DASHES | frozenset(
    ("!", "?", "!!", "??", "?!", "!?", "%", "$", "€", "£", "°", "*", "/", "&", "~", "™", "®", "©")
)
_MIDDLE: Final = _DASHES | frozenset(("%", "/", "//", "&", "|", "~", "*", "**", "***", "#", "##", "@", "•", "!", "?"))
_OPENING: Final = frozenset(("", "-", "@", "#", "$", "+", "€", "£", "&", "~"))
"""Signs that may be left out: between letters, after a word, between words, before a word."""

_SIGN: Final = re.compile(
    r"[+*/\\<>=~^|&%!?@#$\u00ac\u00b1\u00d7\u00f7\u2190-\u22ff]|(?<![\w.])\.{1,2}[\w/]|(?:^|\s)--?\w|\s-\s|_|::|[a-z][A-Z]|\w\.\w"
)
_CODE: Final = re.compile(
    r"\b[a-z]+(?:[A-Z][a-z0-9]*)+\b|\b\w+(?:_\w+)+\b|\b\w+(?:::\w+)+|\b\w+(?=\(\))|\b[a-z]\w*(?:\.[a-z]\w+)+\b|(?<![\w/])(?:~|\.{1,2})?/\w[\w./-]*\w"
    r"|(?<=`)[^`\n]{1,80}(?=`)|(?<!\w)--?[a-z][\w-]+"
)
_JOINTS: Final = re.compile(r"[\W_]+")


# Marks of code: differences between commands, options or expressions that have the same words.
#
# Examples: "-v" and "-V", "`make test-unit`" and "`make test_unit`", "f(x) + 1" and "f(x + 1)", "a[0]" and "a(0)", and abbreviations that
# are everyday words in lower case ("WHO", "the US office").


class CodeMarks(NamedTuple):
    """Marks of code in a text.

    ``cased`` holds options, single letters, abbreviations and words of mixed case as written, ``quoted`` the code in backticks.
    ``joined`` holds words with ``_`` or ``-`` in them, as (the word without its joints, the joints). ``bracketed`` holds brackets with
    their content.
    """

    cased: frozenset[str]
    quoted: frozenset[str]
    joined: frozenset[tuple[str, str]]
    bracketed: frozenset[str]


@lru_cache(_READ)
def code_marks(text: str) -> CodeMarks:
    """Return the code marks of a text.

    Time: linear in its first 4,000 characters, a few µs.
    """
    text = text[:_LONGEST]
    cased = set(_OPTION.findall(text))
    cased.update(match[0] for match in _LETTER.finditer(text))
    cased.update(_MIXED.findall(text))
    if not text.isupper():
        cased.update(_ABBREVIATION.findall(text))
    joins = ((match[0].casefold(), match[0]) for match in _JOINED_CODE_MARKS.finditer(text))
    return CodeMarks(
        frozenset(cased),
        frozenset(_BACKTICKS.findall(text)) if "`" in text else frozenset(),
        frozenset(
            (_JOINTS_CODE_MARKS.sub("", folded), "".join(_JOINTS_CODE_MARKS.findall(word))) for folded, word in joins
        ),
        frozenset(_SPACES.sub("", span) for span in _BRACKETS.findall(text)) if _OPEN.search(text) else frozenset(),
    )


def other_code(a: str, b: str) -> tuple[str, str] | None:
    """Return the code that differs between two texts, for each text; None if it agrees.

    Backticks may be left out, and so may joints ("user name").
    """
    if a.isalpha() or a == b:
        return None
    one, two = code_marks(a), code_marks(b)
    if one == two:
        return None
    mine, theirs = _recased(one, two, b), _recased(two, one, a)
    if mine or theirs:
        return mine, theirs
    if one.bracketed != two.bracketed:
        return " ".join(sorted(one.bracketed - two.bracketed)), " ".join(sorted(two.bracketed - one.bracketed))
    if one.quoted and two.quoted:
        mine = " ".join(sorted(c for c in one.quoted - two.quoted if c not in b))
        theirs = " ".join(sorted(c for c in two.quoted - one.quoted if c not in a))
        if mine or theirs:
            return mine, theirs
    x, y = dict(one.joined), dict(two.joined)
    return next(((x[w], y[w]) for w in sorted(x.keys() & y.keys()) if x[w] != y[w]), None)


def _recased(one: CodeMarks, two: CodeMarks, other: str) -> str:
    """Return the words that the other text writes in different case."""
    mine = one.cased - two.cased
    other_words = set(_SAID.findall(other.casefold())) if mine else ()
    return " ".join(sorted(word for word in mine if word.casefold() in other_words))


_OPTION: Final = re.compile(r"(?<![\w-])-[A-Za-z]+\b(?!-)")
_LETTER: Final = re.compile(r"(?<![\w'’.&-])(?![aAiI]\b)[^\W\d_](?![\w'’&-]|\.\w)")
_MIXED: Final = re.compile(r"(?<![\w'’])(?:[a-z][a-z0-9]*[A-Z]\w*|[A-Z][A-Za-z]*\d[a-z0-9]*[A-Z]\w*)(?![\w'’])")
"""Matches "userName", "aB12" and "X9k2P"; does not match "Anna", "GPT4", "Room2" or "12kB"."""
_ABBREVIATIONS: Final = words_of("us it who or am in an as at he me my so we is be do go id")
"""Grammar words that are another word in capitals. Words that are often capitalised for emphasis ("NOT", "ALL") are not among them."""

_ABBREVIATION: Final = re.compile(rf"\b(?:{'|'.join(sorted(w.upper() for w in _ABBREVIATIONS))})\b")
_SAID: Final = re.compile(r"-?\w+")
_BACKTICKS: Final = re.compile(r"`([^`\n]{1,200})`")
_JOINED_CODE_MARKS: Final = re.compile(r"[^\W_]+(?:[_-][^\W_]+)+")
_JOINTS_CODE_MARKS: Final = re.compile(r"[_-]")
_OPEN: Final = re.compile(r"\w[(\[{]|[-+*/^=%<>]\s*[(\[{]|[)\]}]\s*[-+*/^=%<>]")
_BRACKETS: Final = re.compile(
    r"\w+(?!\(e?s\))(?:\([^()]{1,200}\)|\[[^\[\]]{1,200}\]|\{[^{}]{1,200}\})"
    r"|(?<=[-+*/^=%<>])\s*\([^()]{1,200}\)|\([^()]{1,200}\)(?=\s*[-+*/^=%<>])"
)
_SPACES: Final = re.compile(r"[\s`]+")
