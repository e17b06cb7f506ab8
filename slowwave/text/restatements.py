"""Texts that state the same with their slots in another order, and statements that are a part of another text.

"The office of Anna is in Porto." and "Anna's office is in Porto." have the same slots, as have "The crew is led by Otto." and "Otto leads
the crew.". Each text is brought into one order of slots, in which all words must be equal apart from "the": so numbers, dates, names,
hedges, persons and tenses agree. A phrase may have another place, also in Chinese and Japanese; all other rules read English.

"Anna likes tea." is a part of "Anna likes tea and coffee.": one sentence, one clause or one item of a list that the longer text asserts.
A longer text with a condition, a denial, a doubt, a question, a quotation, a report of what others say, an end or a contrast asserts
none of its parts, wherever that word is.

Nothing here decides a merge. Linear in the texts, about 200 µs per pair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from slowwave.text.clauses import stem_of
from slowwave.text.exclusions import bases, irregular_base
from slowwave.text.forms import symbols
from slowwave.text.sentences import sentences
from slowwave.text.subjects import is_open
from slowwave.text.tokens import fold, tokenise
from slowwave.text.words import DENIALS, GRAMMAR, NEGATIONS, words_of

How = Literal["other wording", "part of another"]

LANGUAGES: Final = ("", "zh", "ja")
"""Languages whose texts are compared: English and those without spaces."""

LONGEST: Final = 300
"""Characters of a text that is compared."""

_MOST_SENTENCES: Final = 6
_FEWEST_WORDS: Final = 2
_FEWEST_LETTERS: Final = 3
_MOST_WORDS_OF_ITEM: Final = 3
_MOST_WORDS_OF_SUBJECT: Final = 3
_UNSPACED: Final = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Characters of Chinese and Japanese, which are written without spaces: each counts as a word."""

_IDEOGRAPH: Final = re.compile(f"[{_UNSPACED}]")
_RUN: Final = re.compile(f"[{_UNSPACED}]+")
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:['’.:/-][^\W_{_UNSPACED}]+)*['’]?|[€$£%]")
_LIMITED: Final = re.compile(
    r"[?？\"“”「」`;；()（）\[\]]|：|:\s|\b(?:if|unless|when|whenever|while|until|till|once|before|after|during|only|except|but|however|although|though|yet|or"
    r"|nor|either|neither|both|between|together|than|instead|without|with|used to|would|could|might|may be|perhaps|maybe|probably|possibly"
    r"|likely|supposed?|imagine|pretend|joking|kidding|joke|lol|seems?|apparently|allegedly|thinks?|thought|believes?|says?|said|wrote|claims?|claimed|hopes?|hoped"
    r"|wants?|plans?|changed|no longer|any ?more|formerly|previously|that|which|who|because|so|sometimes|often|usually|in order)\b",
    re.IGNORECASE,
)
"""A sign or word by which a text may not assert its parts. Matches "likes tea and coffee if hot"; not "likes tea and coffee"."""

_REMINDER: Final = re.compile(
    r"^\W*(?:please,? )?(?:(?:do not|don['’]t|never) (?:forget|fail|neglect|omit)|(?:always )?(?:remember|(?:be|make) sure|take care)) to ",
    re.IGNORECASE,
)
"""Matches "Do not forget to oil the hinges."; not "Do not forget the hinges." Whoever does not forget to do something does it."""

_BE: Final = words_of("is are was were")
_POINTING: Final = words_of("it they he she this these those there then you you're")
"""Words at the beginning of a statement whose subject only its context names."""

_PREPOSITIONS: Final = words_of("""
of in on at to from by for into onto over under about near behind against within around across along past since than as like through
""")
_PHRASE: Final = 2  # words of a phrase that may have another place
_DENYING: Final = frozenset("不没沒无無未非别別勿莫否")
"""Characters that deny what follows them, so that their place matters."""

_AND: Final = re.compile(r",? and |, ")

Words = tuple[str, ...]


class Restated(NamedTuple):
    """Two texts state the same, or one is a part of the other. ``longer`` is the place of the longer text, 0 or 1."""

    how: How
    longer: int


def restated(one: str, two: str) -> Restated | None:
    """Return how two texts restate each other; None if they state different things, or the same words in the same order."""
    if max(len(one), len(two)) > LONGEST:
        return None
    if _words(one) == _words(two):
        return None
    one, two = without_reminder(one), without_reminder(two)
    a, b = _words(one), _words(two)
    if min(len(a), len(b)) < _FEWEST_WORDS:
        return None
    longer = int((len(two), two) > (len(one), one))
    if (
        symbols(one) == symbols(two)
        and _is_plain(one)
        and _is_plain(two)
        and (not _forms(a).isdisjoint(_forms(b)) or _is_turned(a, b) or _is_turned(b, a) or _is_moved(a, b))
    ):
        return Restated("other wording", longer)
    part, whole = (one, two) if longer else (two, one)
    if not set(symbols(part)) <= set(symbols(whole)) or not _is_plain(part) or _IDEOGRAPH.search(part):
        return None
    forms = _forms(_words(part))
    found = any(not forms.isdisjoint(_forms(words)) for words in parts(whole))
    return Restated("part of another", longer) if found else None


def without_reminder(text: str) -> str:
    """Return an instruction without the words that only urge the reader to follow it."""
    return _REMINDER.sub("", text)


@lru_cache(maxsize=4_096)
def _words(text: str) -> Words:
    """Return the folded words of a text without "the"; a possessive is two words: "anna", "'s"."""
    found: list[str] = []
    for word in _WORD.findall(text):
        folded = fold(word).replace("’", "'")
        if folded.endswith(("'s", "s'")) and len(folded) > len("it's"):
            found += [folded.removesuffix("'s").removesuffix("'"), "'s"]
        elif folded != "the":
            found.append(folded)
    return tuple(found)


@lru_cache(maxsize=4_096)
def _is_plain(text: str) -> bool:
    """Return whether a text is one sentence that asserts what it states."""
    return (
        _LIMITED.search(text) is None
        and not is_open(text)
        and len(sentences(text)) == 1
        and NEGATIONS.isdisjoint(words := _words(text))
        and DENIALS.isdisjoint(words)
        and _POINTING.isdisjoint(words[:1])
    )


@lru_cache(maxsize=8_192)
def _forms(words: Words) -> frozenset[tuple[object, ...]]:
    """Return a statement in its order of slots: the words on both sides of a form of *be*, owners before what they own."""
    found: set[tuple[object, ...]] = {(words,)}
    at = next((n for n, word in enumerate(words) if n and word in _BE), None)
    if at is not None and at + 1 < len(words):
        left, right = _owned(words[:at]), words[at + 1 :]
        found.add(((words[at],), left, right))
        if right[0] not in _PREPOSITIONS and right[0] not in ("a", "an"):
            found.add(((words[at], "="), *sorted((left, _owned(right)))))
    return frozenset(found)


def _owned(words: Words) -> Words:
    """Return "office of anna" as "anna 's office"; other words as they are."""
    if "of" not in words[1:-1] or "'s" in words:
        return words
    at = words.index("of")
    return (*_owned(words[at + 1 :]), "'s", *words[:at])


def _is_turned(one: Words, two: Words) -> bool:
    """Return whether one statement is passive and the other says the same actively: "was built by Marek", "Marek built"."""
    at = next((n for n in range(1, len(one) - 3) if one[n] in _BE and one[n + 2] == "by"), None)
    if at is None or len(two) != len(one) - 2:
        return False
    what, verb, after = one[:at], one[at + 1], one[at + 3 :]
    for n in range(1, min(len(after), _MOST_WORDS_OF_SUBJECT) + 1):
        who, rest = after[:n], after[n:]
        if two[:n] == who and two[n + 1 :] == (*what, *rest):
            present = two[n].endswith("s") and two[n] != verb
            return present == (one[at] in ("is", "are")) and not _verbs(two[n]).isdisjoint(_verbs(verb))
    return False


def _is_moved(one: Words, two: Words) -> bool:
    """Return whether two statements differ only in the place of a phrase ("Ada oils it each May.", "Each May Ada oils it.").

    What lies between the old and the new place is another phrase, so that the words around a verb never change places.
    """
    if len(one) != len(two):
        return False
    start = next((n for n, (a, b) in enumerate(zip(one, two, strict=True)) if a != b), len(one))
    end = next(n for n in range(len(one) + 1) if n == len(one) or one[-1 - n] != two[-1 - n])
    mine, theirs = (words[start : len(words) - end] for words in (one, two))
    for n in range(_PHRASE, len(mine) - _PHRASE + 1):
        phrases = mine[:n], mine[n:]
        if (*phrases[1], *phrases[0]) == theirs:
            return all(_DENYING.isdisjoint(p) for p in phrases) and any(
                p[0] in _PREPOSITIONS or p[0] in ("every", "each") or all(map(_IDEOGRAPH.match, p)) for p in phrases
            )
    return False


def words_to_share(text: str) -> frozenset[str]:
    """Return the words by which texts that may restate each other are found: stems, and pairs of characters that have no spaces."""
    pairs = (run[n : n + 2] for run in _RUN.findall(text) for n in range(len(run) - 1))
    return frozenset((*(stem_of(word) for word in tokenise(text) if word not in GRAMMAR), *pairs))


def _verbs(word: str) -> set[str]:
    return {*bases(word), irregular_base(word)} - {""}


def parts(text: str) -> Iterator[Words]:
    """Yield the words of the statements that a text asserts next to others: its sentences, clauses, and lists item by item."""
    found = sentences(text)
    plain = _LIMITED.search(text) is None and NEGATIONS.isdisjoint(_words(text)) and DENIALS.isdisjoint(_words(text))
    if not plain or len(found) > _MOST_SENTENCES or any(is_open(sentence) for sentence in found):
        return
    for sentence in found:
        if len(found) > 1 and _words(sentence)[:1] and _words(sentence)[0] not in _POINTING:
            yield _words(sentence)
        first, *more = [_words(piece) for piece in _AND.split(sentence)]
        if more and " and " in sentence and first and all(more):
            yield from _coordinated(first, more)


def _coordinated(first: Words, more: Sequence[Words]) -> Iterator[Words]:
    """Yield the statements of a sentence with "and": clauses of their own, verbs of the same subject, or items of a list."""
    if all(_is_item(piece) for piece in more):
        if "'s" not in first and not any(c.isdigit() for word in first for c in word):
            yield first
            for item in more:
                yield from ((*first[:n], *item) for n in range(1, len(first)))
        return
    if len(more) != 1 or not any(map(_may_be_verb, first)):
        return
    (second,) = more
    if _may_be_verb(second[0]):
        yield first
        yield from ((*first[:n], *second) for n in range(1, min(len(first), _MOST_WORDS_OF_SUBJECT + 1)))
    elif any(map(_may_be_verb, second[1:])) and _PREPOSITIONS.isdisjoint(second[:2]) and second[0] not in _POINTING:
        yield first
        yield second


def _is_item(words: Words) -> bool:
    """Return whether words may be one of several objects without anything that limits the others as well."""
    plain = (
        _PREPOSITIONS.isdisjoint(words) and "'s" not in words and not any(c.isdigit() for word in words for c in word)
    )
    return plain and len(words) <= _MOST_WORDS_OF_ITEM and not any(word in _BE for word in words)


def _may_be_verb(word: str) -> bool:
    """Return whether a word is a form of *be* or *have*, or has the ending of a verb; plural nouns have it as well."""
    if word in _BE or word in ("has", "have", "had"):
        return True
    third = len(word) > _FEWEST_LETTERS and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return third or word.endswith("ed") or bool(irregular_base(word))
