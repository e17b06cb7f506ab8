"""Decide whether two statements are about the same thing, and which statements are plain and of the present."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from slowwave.text.date_context import IRREGULAR, NO_PAST
from slowwave.text.exclusions import exclusion, is_a
from slowwave.text.figures import Kinds, parse, read
from slowwave.text.names import is_given, is_plain
from slowwave.text.sentences import sentences
from slowwave.text.statements import stem
from slowwave.text.tokens import fold
from slowwave.text.words import CARDINALS, GRAMMAR, ORDINALS, words_of

# Plain statements of the present: recognising them, and deciding whom they are about and whether two have the same matter.
#
# Questions, wishes, plans, hearsay and past statements do not count. Two statements have the same matter if they share a content word, name
# the same persons, and differ in no distinguishing word ("work", "private"; "guest bathroom", "master bathroom"). English; the words are in
# ``present_statements.toml``. Linear in the texts.

WORD: Final = r"[^\W_]+(?:['’.,:/&+-][^\W_]+)*%?[+#]*"
"""A word as written, including the characters that join its parts."""

PROGRAMS: Final = frozenset(("assistant", "agent", "model", "system"))
"""Authors whose "I" refers to a program."""

_FILE: Final[Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("present_statements.toml").read_text(encoding="utf-8")
)
_GREETING: Final = 2  # words: "Good morning!"


def _any_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_FILE[name].replace(chr(10), '')})\b", re.IGNORECASE)


STOPS: Final = words_of(_FILE["stops"])
"""Words that end a phrase."""

ARTICLES: Final = words_of(_FILE["articles"])
COMMON: Final = words_of(_FILE["common"])
"""Content words that are too general to be the matter of two statements."""

_OPENERS: Final = words_of(_FILE["openers"]) | STOPS
_CONTRASTS: Final = tuple(tuple(pair.split("/")) for pair in _FILE["contrasts"].split())
_NEW: Final = _any_of("change")
_OPEN: Final = _any_of("open")
_WISH: Final = re.compile(rf"(?:\b|(?=['’]))(?:{_FILE['wish'].replace(chr(10), '')})\b(?! to\b)", re.IGNORECASE)
_PAST_PRESENT_STATEMENTS: Final = _any_of("past")
_SELF: Final = re.compile(r"(?:^|\W)(?:i|i['’]\w+|my|mine|me|myself|we|we['’]\w+|our|us|ours)(?=\W|$)", re.IGNORECASE)
_KIN: Final = re.compile(  # "my friend Mara" is Mara
    rf"\b(?:my|our|his|her|their)\s+(?:\w+\s)?({_FILE['kin'].replace(chr(10), '')})\b(?!\s+(?-i:[A-Z]))", re.IGNORECASE
)
_IS_KIN: Final = re.compile(_FILE["kin"].replace(chr(10), ""))
_DID_PRESENT_STATEMENTS: Final = re.compile(
    rf"\b(?:(?i:i|we|he|she|they|you|who|{_FILE['kin'].replace(chr(10), '')})|(?P<name>[A-Z][\w-]*))\s+"
    r"(?:(?:just|also|even|once|only|[a-z]+ly)\s+)?"
    rf"(?P<did>{'|'.join(sorted(IRREGULAR))}|[a-z]{{2,18}}ed)\b"
)
CONTRACTED: Final = re.compile(r"(?:i|we|you|he|she|it|they|that|there)['’]\w+$", re.IGNORECASE)
"""A pronoun with its verb."""

NO_PRESENT: Final = rf"(?i)\?\s*$|\b(?:{_FILE['open']}|{_FILE['past']})\b".replace("\n", "")
"""A match of it shows that a text is not a plain statement of the present; also valid in RE2."""

_MARKED: Final = re.compile(r"\((?:until|(?:told )?before|later, on) \d{4}-\d\d-\d\d\b")
_MARK: Final = re.compile(r" \((?:(?:told )?before|later, on) \d{4}-\d\d-\d\d(?:: “[^“”]*”)?\)")
_TOKEN_PRESENT_STATEMENTS: Final = re.compile(WORD)


def stating(text: str) -> list[str]:
    """Return the sentences of a text that may state a fact: no questions, and no greetings, which have few words."""
    return [s for s in sentences(text) if not s.endswith("?") and len(_TOKEN_PRESENT_STATEMENTS.findall(s)) > _GREETING]


def is_open(sentence: str) -> bool:
    """Return whether a sentence asks, wishes, plans, supposes or reports what others say."""
    return sentence.rstrip().endswith("?") or _OPEN.search(sentence) is not None


def says_later(sentence: str) -> bool:
    """Return whether a sentence has a mark of its end date or of a later report ("(until 2026-02-11; then: …)")."""
    return _MARKED.search(sentence) is not None


def without_later(sentence: str) -> str:
    """Return a text without the marks of later reports ("(later, on 2026-02-11: …)")."""
    return _MARK.sub("", sentence)


def is_wish(sentence: str) -> bool:
    """Return whether a sentence states a person's wish and is open in no other respect."""
    return _WISH.search(sentence) is not None and not is_open(_WISH.sub(" ", sentence))


def is_present(sentence: str) -> bool:
    """Return whether a sentence may be a plain statement of the present."""
    was = says_later(sentence) or _PAST_PRESENT_STATEMENTS.search(sentence) is not None or _has_past_verb(sentence)
    return not was and not is_open(sentence)


def _has_past_verb(sentence: str) -> bool:
    """Return whether a past form directly follows its subject.

    "Mara rang from Oslo" and "my sister phoned" match; "I prefer salted butter" does not.
    """
    for match in _DID_PRESENT_STATEMENTS.finditer(sentence):
        name = fold(match["name"] or "")
        common = bool(name) and not match.start() and (name in _OPENERS or is_plain(name)) and not is_given(name)
        if match["did"] not in NO_PAST and not common:
            return True
    return False


def says_new(text: str) -> bool:
    """Return whether a word of change marks something as new."""
    return _NEW.search(text) is not None


def is_own(sentence: str) -> bool:
    """Return whether a sentence is about its speaker."""
    return _SELF.search(sentence) is not None


def said(sentence: str) -> list[str]:
    """Return the folded words of a sentence in order."""
    if sentence.isascii():  # folding does not move word boundaries in ASCII
        return _TOKEN_PRESENT_STATEMENTS.findall(sentence.lower())
    return [fold(w) for w in _TOKEN_PRESENT_STATEMENTS.findall(sentence)]


def is_kin(word: str) -> bool:
    """Return whether a folded word is a relative, a friend or another person in a relation to the speaker."""
    return _IS_KIN.fullmatch(word) is not None


def persons(sentence: str, without: Collection[str] = ()) -> frozenset[str]:
    """Return the given names and the relatives of a person in a sentence, folded, except those in ``without``."""
    named = {fold(_owner(w)) for w in _TOKEN_PRESENT_STATEMENTS.findall(sentence) if w[0].isupper()}
    kin = {fold(w) for w in _KIN.findall(sentence)}
    return frozenset(w for w in named if w not in without and is_given(w)) | kin


def names(sentence: str) -> frozenset[str]:
    """Return the capitalised words, folded, except a common one at the beginning."""
    return frozenset(
        fold(w)
        for k, w in enumerate(_bare(sentence))
        if w[0].isupper() and (k > 0 or not is_plain(fold(w))) and fold(w) not in _OPENERS and not CONTRACTED.match(w)
    )


def matter(sentence: str, without: Collection[str] = ()) -> frozenset[str]:
    """Return the stems of the words of content, except those in ``without``."""
    words = said(sentence)
    found = {_content(w) for w in (words if not without else [w for w in words if w not in without])}
    found.discard("")
    return frozenset(found)


@lru_cache(maxsize=65_536)  # most words occur in many texts
def _content(word: str) -> str:
    """Return the stem of a word of content; empty for any other word."""
    return stem(word) if _is_content(word) else ""


def are_apart(one: str, other: str) -> bool:
    """Return whether two sentences are about different things.

    They are if a contrast separates them, or if a noun of both has different words before it.
    """
    a, b = set(said(one)), set(said(other))
    mine, theirs = a - b, b - a
    if any((x in mine and y in theirs) or (y in mine and x in theirs) for x, y in _CONTRASTS):
        return True
    led, also_led = _modifiers(one), _modifiers(other)
    return any(led[noun].isdisjoint(also_led[noun]) for noun in led.keys() & also_led.keys())


def of_one_matter(one: str, other: str) -> bool:
    """Return whether two sentences are about the same persons and the same matter.

    They are not if each has a name that the other lacks.
    """
    mine, theirs = names(one), names(other)
    return (
        bool(matter(one) & matter(other))
        and persons(one) == persons(other)
        and (mine <= theirs or theirs <= mine)
        and not are_apart(one, other)
    )


def _bare(sentence: str) -> list[str]:
    return [_owner(w) for w in _TOKEN_PRESENT_STATEMENTS.findall(sentence)]


def _owner(word: str) -> str:
    return word.removesuffix("'s").removesuffix("’s")


def _modifiers(sentence: str) -> dict[str, set[str]]:
    """Map words of content to the lower-case words of content directly before them.

    Before a name, words that look like verbs do not count ("cancelled Netflix"). Words without such a neighbour are left out.
    """
    found: dict[str, set[str]] = {}
    for one, other in pairwise(_TOKEN_PRESENT_STATEMENTS.finditer(sentence)):
        before, word = fold(one[0]), fold(other[0])
        verb = other[0][0].isupper() and before.endswith(("ed", "ing"))
        beside = one[0][0].islower() and other.start() == one.end() + 1 and not verb
        if beside and _is_content(before) and _is_content(word):
            found.setdefault(stem(word), set()).add(stem(before))
    return found


def _is_content(word: str) -> bool:
    return len(word) > 2 and not (word in GRAMMAR or word in STOPS or word in COMMON or word in ARTICLES)


# Subjects: whether two statements are about different things, by the words before their verbs: "bed 3" and "bed 4", "sales in Q3" and
# "sales in Q4", "the mail worker" and "the PDF worker", "Milo" and "Milo's cousin".
#
# The words that distinguish two things of a kind are part of their names: a number after the noun, an ordinal or a date before it, another
# word. Only clear differences count; nothing is known about a statement without a known verb. Linear in the text.

_MOST: Final = 12  # maximum number of words of a subject
_SHORT: Final = 3  # letters of a short word
_TOKEN: Final = re.compile(r"[^\W_]+(?:[.,/:'’_-][^\W_]+)*%?|:(?=\s)")
_FIGURE: Final = re.compile(r"[$€£¥]?[^\W_]+(?:[.,/:'’_-][^\W_]+)*%?")
_COPULAS: Final = words_of("is are was were")
_NEAR: Final = 5  # words next to a figure that are searched for its noun
_LED_IN: Final = re.compile(
    r"^(?:as of|since|from|effective|starting|beginning|until|update|note|reminder|correction)\b[^,:]{0,40}[,:] ",
    re.IGNORECASE,
)
_OWNER: Final = re.compile(r"([A-Z][\w-]*)['’]s? ([a-z]+)")
_OWNED: Final = re.compile(r"['’]s?$")
_RELEASE: Final = re.compile(r"v?(\d{1,5}\.\d{1,5})\.\d{1,6}")
"""A version of three components ("4.2.1", "v550.54.14"), without the last one. Must not match "4.2", which is an amount, nor the address
"10.0.0.1"."""

_NUMBERED: Final = words_of(
    "section clause chapter article paragraph figure table step task item requirement rule appendix release version build tag"
)
"""Nouns whose number is their name, so that a different number means a different thing."""

_LIMITS: Final = words_of("for when whenever if unless while during")
"""Words before a condition or a purpose, which limit a statement."""

_WAYS: Final = words_of("to from")
_BEEN: Final = re.compile(r"\bha(?:s|ve) been\b")
_YEAR: Final = re.compile(r"(?:19|20)\d\d(?:-\d\d)*")
_PAST: Final = re.compile(r"[a-z]{3,}(?<!e)ed")
_DID: Final = re.compile(
    rf"(?:{'|'.join(sorted(IRREGULAR - words_of('set put cut let read run hit shut quit cost come')))}|[a-z]{{3,}}(?<!e)ed)\b",
    re.IGNORECASE,
)
_VERBS: Final = (
    words_of("""
is are was were be has have had do does did can could will would shall should may might must needs need costs cost takes take means
wants want prefers prefer likes like eats eat drinks drink uses use runs run starts start ends end begins begin opens open closes close
lives live works work meets meet stands stand lies sits sleeps gets get gives goes go comes come holds says owns lasts happens
fails passes needs requires require allows allow supports expires keeps keep stays stay leads reads read plays play speaks speak
""")
    | IRREGULAR
)
_WHEN: Final = words_of("""
january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday
sunday spring summer autumn winter morning evening mondays tuesdays wednesdays thursdays fridays saturdays sundays mornings evenings
""")
_HOW: Final = words_of("today always never usually often sometimes now currently still also only not just already")
_NOUN_BEFORE: Final = words_of("of is are was were")
"""Words after which "costs" or "plays" is a noun."""


class ReadSubject(NamedTuple):
    """Words of content of a subject in order, without possessive "'s", and the marks that distinguish it from others."""

    words: tuple[str, ...]
    marks: frozenset[str]


def are_of_others(one: str, other: str) -> bool:
    """Return whether two statements are about different things.

    They are in three cases: the marks of their subjects differ, their subjects differ in one place, or one is about a person or thing and
    the other about something it owns.
    """
    if _is_of(one, other) or _is_of(other, one):
        return True
    a, b = subject(one), subject(other)
    if a is None or b is None:
        return False
    marked = (a.marks and b.marks) or set(a.words).isdisjoint(b.words)
    if a.marks != b.marks and marked and not _are_releases(a, b):
        return True
    return _is_exchanged(a.words, b.words) or have_other_names(one, other)


def have_other_names(one: str, other: str) -> bool:
    """Return whether the subjects of two statements differ in one place only, where each has a name that cannot be that of the other.

    "The budget of Project Ada Lind" and "the budget of Project Adam Roth" have. A name may be the other one if each word of the shorter
    one may mean a word of the longer one, in any order.
    """
    a, b = subject(one), subject(other)
    mine, theirs = _differing(a.words, b.words) if a and b else ((), ())
    if not mine or not theirs or not (names(one).issuperset(mine) and names(other).issuperset(theirs)):
        return False
    shorter, longer = sorted((mine, theirs), key=len)
    return not all(any(_may_be(x, y) or _may_be(y, x) for y in longer) for x in shorter)


def _are_releases(one: ReadSubject, other: ReadSubject) -> bool:
    """Return whether two subjects are identical except for the last component of a version.

    They are two releases of one driver, of which a device has one at a time. Numbers of sections are not versions: a numbered section of
    a text is another section.
    """
    mine, theirs = one.marks - other.marks, other.marks - one.marks
    if one.words != other.words or not _NUMBERED.isdisjoint(one.words) or len(mine) != 1 or len(theirs) != 1:
        return False
    first, second = (_RELEASE.fullmatch(min(marks)) for marks in (mine, theirs))
    return first is not None and second is not None and first[1] == second[1]


def _is_exchanged(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two sequences of words are identical except for one place, where no word may mean one of the other words."""
    mine, theirs = _differing(one, other)
    return bool(mine and theirs) and not any(_may_be(x, y) or _may_be(y, x) for x in mine for y in theirs)


def _differing(one: Sequence[str], other: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words between those with which two sequences begin and end; empty if they share none of these."""
    shorter = min(len(one), len(other))
    start = next((k for k in range(shorter) if one[k] != other[k]), shorter)
    end = next((k for k in range(shorter - start) if one[-1 - k] != other[-1 - k]), shorter - start)
    return (one[start : len(one) - end], other[start : len(other) - end]) if start + end else ((), ())


def _may_be(one: str, other: str) -> bool:
    """Return whether ``one`` may mean ``other``: its beginning, an abbreviation ("db", "database") or a more general term."""
    if other.startswith(one) or is_a(other, one):
        return True
    letters = iter(other)
    return len(one) <= _SHORT and one[0] == other[0] and all(letter in letters for letter in one)


def are_other_cases(one: str, other: str) -> bool:
    """Return whether two statements with different values describe two cases: events, amounts, conditions, purposes or periods.

    They do if a condition or purpose differs ("when empty", "for guests"), or if only one has it and the values differ as well. They do if
    they differ in two places, of which one is no time ("12 m wide", "25 m long"), unless one is news. Actions and events of the past are
    two if their figures or ordinals differ.
    """
    written = [_TOKEN.findall(side) for side in (one, other)]
    a, b = ([fold(word) for word in side] for side in written)
    first, second = ({w for w in some if w in ORDINALS} for some in (a, b))
    if first and second and first.isdisjoint(second) and all(map(_is_past, (a, b))):
        return True
    parts = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    spans = [span for tag, *span in parts if tag != "equal"]
    limited = [(_limits(written[0], a, i, i_end), _limits(written[1], b, j, j_end)) for i, i_end, j, j_end in spans]
    if any(map(all, limited)):
        return True
    exchanged = [(a[i:i_end], b[j:j_end], a[i - 1]) for i, i_end, j, j_end in spans if i_end > i > 0 and j_end > j]
    if len(exchanged) > 1 and any(
        len(x) == len(y) == 1 and before not in _COPULAS and exclusion(x[0], y[0]) == "antonyms"
        for x, y, before in exchanged
    ):
        return True  # "The bar opens at 18:00", "The bar closes at 23:00"
    places = _exchanged(a, b, spans)
    if not places:
        return False
    alone = [
        (a[i:i_end] or b[j:j_end], any(pair))
        for (i, i_end, j, j_end), pair in zip(spans, limited, strict=True)
        if i == i_end or j == j_end
    ]
    untimed = [words for words, times in places.items() if not times]
    if any(limits for _, limits in alone) or (untimed and _DID.match(one) and _DID.match(other)):
        return True
    if untimed and any(words[-1] == "for" for words, _ in alone):
        return True  # "Breakfast for the watch is served at 5:00", "The watch starts at 22:00"
    if len(places) < 2 or not untimed or says_new(one) or says_new(other) or _BEEN.search(f"{one} {other}"):
        return False
    if sum(all(w[0].isdigit() for w in words) for words in untimed) > 1 or any(
        _WAYS.issuperset(words) for words in untimed
    ):
        return True
    shared = [w for tag, i, i_end, *_ in parts if tag == "equal" for w in written[0][max(i, 1) : i_end]]
    named = any(w[0].isupper() or any(map(str.isdigit, w)) for w in shared)  # the wording of one matter differs
    return not named and not any(_content_of(words) for words, _ in alone)


def _exchanged(a: Sequence[str], b: Sequence[str], spans: Sequence[Sequence[int]]) -> dict[tuple[str, ...], bool]:
    """Map the words of content of each place in which two statements differ to whether they are times.

    Places that words of grammar join are one place ("head of sales", "director of finance").
    """
    found: dict[tuple[str, ...], bool] = {}
    since = 0
    for i, i_end, j, j_end in spans:
        x, y = (_content_of(side) for side in (a[i:i_end], b[j:j_end]))
        if not (x and y) or any(_may_mean(v, w) for v in x for w in y):
            continue
        if not found or any(w not in GRAMMAR or w in _COPULAS for w in a[since:i]):
            dated = len(x) == len(y) == 1 and any(w in _WHEN for w in a[i_end : i_end + 1])
            found[*x, *y] = dated or all(":" in w or w in _WHEN for w in (*x, *y))
            since = i_end
    return found


def _content_of(words: Sequence[str]) -> list[str]:
    """Return the words of content among some; "to" and "from" are if they are the only word."""
    return [w for w in words if w[0].isalnum() and (w not in GRAMMAR or w in _WHEN or (len(words) == 1 and w in _WAYS))]


def _may_mean(one: str, other: str) -> bool:
    return one.isalpha() and other.isalpha() and (_may_be(one, other) or _may_be(other, one))


def _limits(written: Sequence[str], words: Sequence[str], start: int, end: int) -> bool:
    """Return whether some words are the condition or purpose of a statement; a name or a figure after "for" is a value."""
    if start == end:
        return False
    lead = start if words[start] in _LIMITS else start - 1
    while lead >= 0 and words[lead] in ARTICLES:
        lead -= 1
    at = next((n for n in range(max(lead + 1, start), end) if words[n] not in ARTICLES), end)
    if lead < 0 or at == end:
        return False
    if words[lead] in ("for", "to"):
        plain = written[at].islower() and not _is_figure(written[at])
        return plain and (
            words[lead - 1] in ("apply", "applies") if words[lead] == "to" else stem(words[lead - 1]) != "work"
        )
    return words[lead] in _LIMITS


def _is_figure(word: str) -> bool:
    return word[0].isdigit() or word in CARDINALS or word in _WHEN


_LABEL: Final = re.compile(r"\d{1,4}[A-Za-z]?|[A-Za-z]|[A-Z]{1,3}\d{1,4}")
"""Matches "3", "3b", "B" and "K12"; does not match "4.2.1", because a version is a value."""
_BE: Final = words_of("is are was were will has have can must should")
_DETERMINERS: Final = frozenset(("the", "our", "my", "your", "their"))


def name_other_subjects(one: str, other: str) -> bool:
    """Return whether two statements of one form are about two things that a number or letter tells apart.

    "Hold 2 is empty." and "Hold 3 is empty." are: the labels follow equal words and stand before equal verbs. "Version 3 is the current
    one." and "Version 4 is …" are not, because the subject is the value.
    """
    a, b = (re.findall(r"[\w'’.:-]*\w", side) for side in (one, other))
    at = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if fold(x) != fold(y)), 0)
    if not 0 < at < min(len(a), len(b)) - 1 or not (_LABEL.fullmatch(a[at]) and _LABEL.fullmatch(b[at])):
        return False
    verb, subject = fold(a[at + 1]), [fold(word) for word in a[:at]]
    if verb != fold(b[at + 1]) or not (verb in _BE or _may_be_verb(verb)) or subject[-1] in _DETERMINERS:
        return False
    if any(word not in _DETERMINERS and (word in GRAMMAR or _may_be_verb(word)) for word in subject):
        return False  # "Ada owns 5 boats"
    return verb not in _BE or fold(a[at + 2] if at + 2 < len(a) else "") not in _DETERMINERS


def _may_be_verb(word: str) -> bool:
    return len(word) > 3 and word.endswith(("s", "ed")) and not word.endswith("ss")


def share_a_measure(one: str, other: str) -> bool:
    """Return whether some figures in which two statements differ measure the same quantity.

    They do if both are times, dates, money or lengths, or if the same noun is next to both ("port 6379", "connect to port 6380"). A count
    of relays and a version of firmware do not.
    """
    mine, theirs = _measured(one), _measured(other)
    return any(
        figure != other_figure and not nouns.isdisjoint(other_nouns)
        for figure, nouns in mine.items()
        for other_figure, other_nouns in theirs.items()
    )


def are_about_others(one: str, other: str, without: Collection[str] = ()) -> bool:
    """Return whether two statements have known subjects, ``without`` some words, and neither names a word of the other's subject."""
    first, second = _own_words(one, without), _own_words(other, without)
    if not first or not second:
        return False
    named, also_named = ({stem(fold(w)) for w in _TOKEN.findall(s)} for s in (one, other))
    return first.isdisjoint(also_named) and second.isdisjoint(named)


def _own_words(sentence: str, without: Collection[str]) -> set[str]:
    """Return the stems of the words of a subject, without pronouns contracted with their verbs ("I've")."""
    found = subject(sentence)
    return {stem(w) for w in found.words if w not in without and not CONTRACTED.match(w)} if found else set()


def _measured(sentence: str) -> dict[str, frozenset[str]]:
    """Map each figure to its kind of measure, the counted noun, or the nouns near it.

    The nouns are those before the figure; if there are none, those after it.
    """
    found: dict[str, frozenset[str]] = {}
    words = [fold(m[0]) for m in _FIGURE.finditer(sentence)]
    for k, word in enumerate(words):
        if not any(map(str.isdigit, word)):
            continue
        behind = words[k + 1] if k + 1 < len(words) else ""
        before = words[max(0, k - _NEAR) : k]
        verb = max((n for n, w in enumerate(before) if _is_verb(w) and w not in _COPULAS), default=-1)
        near = _nouns(before[verb + 1 :]) or _nouns(words[k + 1 : k + 1 + _NEAR])
        if kind := _kind_of_rate(words[k + 1 : k + 4]) or _kind_of_figure(word, behind):
            near = frozenset((kind,)) | (near if kind == "version" else frozenset())
        elif behind.isalpha() and behind not in GRAMMAR and not _is_verb(behind):
            near = _nouns(words[k + 1 : k + 3])
        found[word] = found.get(word, frozenset()) | near
    return found


def _nouns(words: Sequence[str]) -> frozenset[str]:
    """Return the stems of the words that may name the measured quantity."""
    return frozenset(
        stem(w) for w in words if w[0].isalpha() and not (w in GRAMMAR or w in ARTICLES or w in _HOW or w in COMMON)
    )


def _kind_of_figure(word: str, behind: str) -> str:
    """Return the kind of measure of a figure with its unit: "€", "time" for hours, "length"; empty for a bare number."""
    kinds: Kinds = defaultdict(set)
    read(f"{word} {behind}" if behind.isalpha() else word, kinds)
    for figure in sorted(kinds["dates"]):
        return parse(figure).sort
    for figure in sorted(kinds["numbers"]):
        if parse(figure).measure:
            return parse(figure).measure
    return "version" if kinds["versions"] else ""


def _kind_of_rate(behind: Sequence[str]) -> str:
    """Return the kind of measure of a rate, such as "length per time" for "m/s"; empty if it is not a rate.

    "metres per second" is recognised as well.
    """
    of, slash, per = behind[0].partition("/") if behind else ("", "", "")
    if not slash and len(behind) > 2 and behind[1] == "per":
        of, per = behind[0], behind[2]
    kinds = [_kind_of_figure("2", unit) for unit in (of, per) if unit.isalpha()]
    return " per ".join(kinds) if len(kinds) == 2 and all(kinds) else ""


def _is_past(words: Sequence[str]) -> bool:
    return any(w in IRREGULAR or w in ("was", "were") or w.endswith("ed") for w in words)


def _is_of(one: str, other: str) -> bool:
    """Return whether ``one`` is about something that the subject of ``other`` owns, and ``other`` does not mention it.

    An example is "Milo's cousin" and "Milo".
    """
    owned = _OWNER.match(one)
    return owned is not None and re.match(rf"{re.escape(owned[1])} ", other) is not None and owned[2] not in other


@lru_cache(maxsize=4_096)
def subject(sentence: str) -> ReadSubject | None:
    """Return the subject of a sentence, the words before its first verb or colon; None if it has neither."""
    found: list[str] = []
    for written, behind in pairwise([*_TOKEN.findall(_LED_IN.sub("", sentence))[: _MOST + 1], ""]):
        word = fold(written)
        if found and (word == ":" or (_is_verb(written) and behind not in _NOUN_BEFORE)):
            break
        found.append(word)
    else:
        return None
    own = [w for w in found if not (w in GRAMMAR or w in ARTICLES or w in _HOW)]
    marks = {w for w in own if w in ORDINALS or w in _WHEN or _YEAR.fullmatch(w)}
    marks |= {w for w in own if not w[0].isdigit() and any(map(str.isdigit, w))}
    for before, word in pairwise(found):
        marks |= {word} if word[0].isdigit() and before.isalpha() and before not in GRAMMAR else set()
        marks |= {before} if before[0].isdigit() and word in _WHEN else set()
    plain = (_OWNED.sub("", w) for w in own if not (w in marks or w[0].isdigit() or w in CARDINALS))
    return ReadSubject(tuple(plain), frozenset(marks))


def _is_verb(written: str) -> bool:
    return written in _VERBS or _PAST.fullmatch(written) is not None


# Exchanged roles: whether two names have the same words in exchanged places of one relation ("Paris to Rome", "Rome to Paris").
#
# The words of a name may have any order ("Reyes Mara"), and words joined by "and" or "vs" may be exchanged. Around a preposition, or a verb
# between names, the order determines the roles.


def exchanged(a: str, b: str) -> str:
    """Return the word around which two names exchange places, or an empty text.

    Something before the word in one name is behind it in the other, and vice versa. The order of the names does not matter. Time: linear
    in the words, for each role word.
    """
    one, two = _WORD.findall(a), _WORD.findall(b)
    low, other = [fold(w) for w in one], [fold(w) for w in two]
    if low == other or sorted(low) != sorted(other):
        return ""
    for word in sorted((_roles(one) | _roles(two)) & _once(low)):
        here, there = low.index(word), other.index(word)
        before = set(low[:here]) & set(other[there + 1 :])
        behind = set(low[here + 1 :]) & set(other[:there])
        if before - _SMALL and behind - _SMALL:
            return word
    return ""


def _once(words: Sequence[str]) -> set[str]:
    return {w for w in words if words.count(w) == 1}


def _roles(words: Sequence[str]) -> set[str]:
    """Return the words of a name that relate its parts: prepositions, and small words between capitalised ones."""
    found = {fold(w) for w in words} & _RELATIONS
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        if word.islower() and len(word) > 2 and before[0].isupper() and after[0].isupper() and word not in _NO_ROLE:
            found.add(fold(word))
    return found


_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")
_RELATIONS: Final = words_of("""
to from of for by over under above below like unlike than into onto in on at as per via through before after behind since without against
toward towards instead until beats loves likes hates owns leads manages follows replaces blocks calls pays teaches reports causes precedes
""")
_NO_ROLE: Final = words_of("""
and or und oder et ou con och og en vs versus with mit avec plus nor the der die das den des dem los las les del della dello delle dos das
van von zur zum aan het bin ibn ben bint abu dit sur aka alias née nee
""")
"""Small words between names that express no relation: they join equals or are part of a name."""

_SMALL: Final = words_of("the a an and or of")
