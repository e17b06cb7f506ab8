"""Frames: statements that begin with the same words and end in another value ("The captain of the crew is Ada.", "… is Otto.").

A frame states one value of one subject, so two values of it are a change, or one of them is wrong. It needs no vectors and no knowledge
of words, which is why it finds changes that a comparison of meanings ranks too low. It cannot know which frames take several values
("is a member of the choir"): ``TAKES_MANY`` lists verbs and nouns that do, ``slowwave.operations.conflicts.memories`` learns others from
the namespace, and what remains is asked and never decided.

Roles are frames whose value comes first: "Ada is the captain of the crew.", "Otto is the captain of the crew now."
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from slowwave.text.date_values import DAYS, MONTHS
from slowwave.text.exclusions import exclusion, is_a, is_profession
from slowwave.text.lexicon import is_word
from slowwave.text.names import is_given, known_names
from slowwave.text.sentences import sentences
from slowwave.text.statements import stem
from slowwave.text.subjects import is_open
from slowwave.text.tokens import fold
from slowwave.text.words import CARDINALS, GRAMMAR, NEGATIONS, words_of

LONGEST: Final = 200
"""Characters of a text that may state a value; longer ones say more than one thing."""

FEWEST: Final = 3
"""Words of a frame."""

_MOST_WORDS: Final = 40
_LARGEST_VALUE: Final = 6  # words
_CERTAIN: Final = words_of("is was are were has")
_POINTING: Final = words_of("this that these those it he she they there here such so")
_ASKING: Final = words_of(
    "how what which who whose whom where when why is are was were do does did can could should will would may"
)
_CHANGE: Final = words_of("now currently presently")
_PREPOSITIONS: Final = words_of("""
of in on at to from by for with into onto over under about after before during between through near behind beside against without
within around across along past since until till than as like
""")
_PLACING: Final = words_of("in on at to from by into as under over until")
_ARTICLES: Final = words_of("a an the my your his her its our their this that these those some")
SEVERAL: Final = words_of(
    "and or nor plus also another too sometimes often occasionally besides both either neither including"
)
"""Words that join several values."""

PASSING: Final = words_of("""
today tonight tomorrow yesterday this ago last next recently lately soon later earlier again still already yet when while whenever if unless
because
""")
"""Words with which a statement may hold at one time only."""

TAKES_MANY: Final = words_of("""
part parts kind kinds type types example examples allergic fluent good great bad interested able ready afraid fond keen proud aware used
available similar related compatible connected close next full like likes loves hates enjoys speaks visited owns knows known mentioned
seen read watched met told been done made asked stops applies apply
""")
"""Words from the verb of a frame on, after which one subject may have several values at a time."""

_MANY_OBJECTS: Final = words_of("""
supports calls includes contains sells offers treats has have plays covers needs wants uses accepts imports exports reads writes logs eats
drinks visits helps handles goes go
""")
"""Words of a frame without a form of *be* after which its subject may have several names as objects at a time."""

_ONE_OF_SEVERAL: Final = words_of("""
one member members friend friends fan fans sibling siblings brother brothers sister sisters son sons daughter daughters child children
parent parents cousin uncle aunt neighbour neighbor colleague colleagues alumnus alumni
""")
"""Words that name one of several anywhere in a frame."""

_SUPERLATIVE: Final = words_of("favourite favorite preferred main primary")
"""Words of which one makes a value the only one of its kind, whether it is a name or not ("is Assam", "is sencha")."""

_WORD: Final = re.compile(r"[^\W_]+(?:['’.\-/:][^\W_]+)*%?|[€$£]\d[\d.,]*")
_LISTED: Final = re.compile(r"[,;:(]\s|\s[-–—]\s|[&/+]")


_LEAD: Final = re.compile(
    r"^(?:\W*(?:(?:please )?(?:note|remember|be aware) that|"
    r"(?:i|we)(?: have|['’]ve)?(?: just)? (?:learnt|learned|noticed|saw|found(?: out)?|realised|realized|checked)(?: that)?|"
    r"(?:[\w'’-]+ ){1,3}?(?:just )?told me(?: that)?|according to (?:the|my|our) [\w-]+|from now on|at the moment|as of (?:now|today)|"
    r"since (?:\w+day|today|yesterday)|these days|nowadays|by the way|btw|fyi|update|reminder|note|(?:good|bad|great|sad) news)\b"
    r"[,:]?\s*)+",
    re.IGNORECASE,
)
"""Matches "I just learnt that "; not "Ada learnt that "."""


_TAIL: Final = re.compile(
    r",\s+(?:(?:just|right) )?(?:in|at|on|near|next to|close to|by|behind|opposite|under|above|(?:which|that|this) is)\b[^,;:]*$"
    r"|,? (?:which|that|this) is (?:where|why|how|when)\b.*$",
    re.IGNORECASE,
)
"""Matches ", in a small flat near the canal", which adds to a statement and does not change its value."""

_LIST: Final = re.compile(
    "|".join(rf"\b{one}(?:(?:, | and |, and ){one})+\b" for one in (rf"(?:{'|'.join(DAYS)})s?", r"\d{1,2}[:.]\d\d")),
    re.IGNORECASE,
)
"""Matches "Mondays, Tuesdays and Fridays"."""

_BROKEN: Final = re.compile(r"\bout of (?:order|service|action)\b", re.IGNORECASE)


def without_tail(text: str) -> str:
    """Return a statement without what its end adds to its value, and each list of days or times as one sorted word."""
    text = _TAIL.sub("", text) if "," in text or " is " in text else text
    return (
        _LIST.sub(lambda found: ".".join(sorted(re.split(r",? and |, ", found[0]))), text) if " and " in text else text
    )


def without_lead(text: str) -> str:
    """Return a statement without the words that only introduce it."""
    lead = _LEAD.match(text)
    return text[lead.end() :] if lead else text


class Framed(NamedTuple):
    """Words of a statement of one sentence, folded, and for each whether it is written with a capital letter."""

    words: tuple[str, ...]
    capitals: tuple[bool, ...]


class OtherValue(NamedTuple):
    """The frame that two statements share, the words of its relation ("the captain of … is"), and whether their values are figures.

    With ``objects`` its verb is neither *be* nor *has*, and is the relation: "closes on".
    """

    frame: tuple[str, ...]
    relation: str
    figures: bool
    objects: bool = False


def read_framed(text: str) -> Framed | None:
    """Return the words of a plain statement of one sentence; None for questions, wishes, reports, lists and several sentences."""
    if len(text) > LONGEST or is_open(text) or len(sentences(text)) != 1:
        return None
    text = _BROKEN.sub("broken", without_tail(without_lead(text)))
    found = _WORD.findall(text)
    if not FEWEST < len(found) <= _MOST_WORDS:
        return None
    kept = [(fold(word), word[0].isupper()) for word in found]
    if kept[0][0] in _ASKING | _POINTING:  # a question without its mark; a subject that another sentence names
        return None
    kept = [
        (word, capital) for n, (word, capital) in enumerate(kept) if word not in _CHANGE and (n, word) != (1, "new")
    ]
    if kept[-1][0] == "again":
        kept.pop()
    if kept[-1][0] == "works":
        kept[-1:] = [("is", False), ("working", False)]
    words = tuple(word for word, _ in kept)
    if not PASSING.isdisjoint(words) or not SEVERAL.isdisjoint(words) or _LISTED.search(text):
        return None
    return Framed(words, tuple(capital for _, capital in kept))


def shared_beginning(one: Sequence[str], two: Sequence[str]) -> int:
    """Return the number of words with which both begin."""
    return next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def other_value(one: Framed, two: Framed) -> OtherValue | None:
    """Return the frame of two statements that give one subject different values; None if both may be true.

    The shared beginning has at least three words, one of them of content, and either a form of *be* or *has*, or it ends in "the X of"
    after a word of content ("Tom leads the crew of …"). After another verb both values are of one kind: see ``_are_objects``. Of what
    follows, at most six words on each side differ, and neither value contains, names or extends the other. Half of the words of content
    are shared.
    """
    start = shared_beginning(one.words, two.words)
    frame = one.words[:start]
    ends = shared_end(one.words[start:], two.words[start:])
    end = one.words[len(one.words) - ends :]
    mine, theirs = (range(start, len(side.words) - ends) for side in (one, two))
    a, b = (tuple(side.words[k] for k in span) for side, span in ((one, mine), (two, theirs)))
    if start < FEWEST - 1 or not 0 < len(a) <= _LARGEST_VALUE or not 0 < len(b) <= _LARGEST_VALUE:
        return None
    named = [any(side.capitals[k] for k in span) for side, span in ((one, mine), (two, theirs))]
    wholly = all(
        side.capitals[k] or side.words[k][0].isdigit() for side, span in ((one, mine), (two, theirs)) for k in span
    )
    figures = [any(c.isdigit() for word in value for c in word) for value in (a, b)]
    framed = start >= FEWEST and _is_frame(frame)
    verb = 0 if framed else _other_verb(frame)
    if verb is None:
        return None
    if not (_are_rivals(frame, a, b, named=all(named)) if framed else _are_objects(frame, a, b, end, named=wholly)):
        return None
    parts = [{part for word in value for part in word.split(".")} for value in (a, b)]
    if figures[0] != figures[1] or parts[0] <= parts[1] or parts[1] <= parts[0]:
        return None
    if named[0] != named[1] and figures != [True, True] and _SUPERLATIVE.isdisjoint(frame):
        return None
    lands = known_names().lands
    if all(named) and (" ".join(a) in lands) != (" ".join(b) in lands):
        return None  # a town and its country
    plain = framed and not (any(named) or any(figures)) and frame[0] not in _OWNERS - {"the"}
    of_thing = [word for word in frame if word not in GRAMMAR and (len(word) > 1 or frame[-1] in _ARTICLES)]
    if plain and len(of_thing) == 1 and exclusion(a[-1], b[-1]) is None:
        return None  # "The rope is long.", "The rope is thin."
    common = [word for word in (*frame, *end) if word not in GRAMMAR]
    least = min(len([word for word in side.words if word not in GRAMMAR]) for side in (one, two))
    if not common or (2 * len(common) < least and not all(named)):
        return None
    relation = relation_of(frame) if framed else " ".join(frame[verb:])
    return OtherValue(frame, relation, all(figures), objects=not framed)


def _other_verb(frame: Sequence[str]) -> int | None:
    """Return the place of a verb in a frame without a form of *be*; None if it has none, or may have several objects."""
    if frame[0] in ("a", "an") or frame[-1] == "of" or not (NEGATIONS | _ONE_OF_SEVERAL | _CERTAIN).isdisjoint(frame):
        return None
    places = [n for n in range(1, len(frame)) if frame[n - 1] not in _ARTICLES and _may_be_verb(frame[n])]
    return places[0] if places and TAKES_MANY.isdisjoint(frame[places[0] :]) else None


def _are_objects(frame: Sequence[str], a: Sequence[str], b: Sequence[str], end: Sequence[str], *, named: bool) -> bool:
    """Return whether two objects of any verb exclude each other: amounts of one unit, antonyms, or names.

    A person or a team has several names as objects of most verbs, unless the statement goes on with their place or purpose ("use … for the
    order events").
    """
    if not NEGATIONS.isdisjoint((*a, *b)) or not _CERTAIN.isdisjoint(end):
        return False  # the subject differs
    if len(a) == len(b) == 1 and exclusion(a[0], b[0]) == "antonyms":
        return True
    counted = [value[0][0].isdigit() or value[0] in CARDINALS for value in (a, b)]
    if any(counted):
        return all(counted) and [*map(stem, a[1:])] == [*map(stem, b[1:])]
    if not named or not _PREPOSITIONS.isdisjoint((*a, *b)):
        return False
    if len(end) > 1 and end[0] in _PREPOSITIONS:
        return True
    return _MANY_OBJECTS.isdisjoint(frame) and (frame[-1] in _PLACING or (not end and frame[0] in _OWNERS))


def _may_be_verb(word: str) -> bool:
    return may_be_imperative(word) or (word.endswith("s") and may_be_imperative(word[:-1]))


_NO_VERBS: Final = _PREPOSITIONS | frozenset((*DAYS, *(f"{day}s" for day in DAYS), *MONTHS))


def may_be_imperative(word: str) -> bool:
    """Return whether a word may be the base form of a verb: the lexicon has its form in "-ing"."""
    if word in _NO_VERBS or is_given(word) or word.endswith(("ly", "ing")):
        return False
    if word.endswith("ed"):
        return is_word(f"{word}ing")  # "feed"
    return any(is_word(f"{base}ing") for base in (word, word.removesuffix("e"), word + word[-1]))


def value_after(one: Framed, two: Framed) -> OtherValue | None:
    """Return the words before the only place in which two statements differ, whatever their verb: "the tide gate closes at".

    The place follows a word of content with its preposition ("closes at"), which is then the relation, or both values are figures. Both
    values have at most six words and no preposition. Whether they exclude each other is not decided.
    """
    start = shared_beginning(one.words, two.words)
    ends = shared_end(one.words[start:], two.words[start:])
    a, b = (side.words[start : len(side.words) - ends] for side in (one, two))
    frame = one.words[:start]
    while frame and frame[-1] in _ARTICLES:
        frame = frame[:-1]
    if len(frame) < FEWEST or not 0 < len(a) <= _LARGEST_VALUE or not 0 < len(b) <= _LARGEST_VALUE:
        return None
    if not _PREPOSITIONS.isdisjoint((*a, *b)) or not NEGATIONS.isdisjoint((*frame, *a, *b)):
        return None
    figures = all(value[0][0].isdigit() for value in (a, b))
    subject, verb, link = frame[-3:]
    linked = link in _PREPOSITIONS and verb.isalpha() and verb not in GRAMMAR
    if not (linked or figures):
        return None
    if not linked or subject in _ARTICLES:  # "vacate the flat by"
        return OtherValue(frame, " ".join(frame), figures)
    if subject in ("i", "we") and not verb.endswith("s"):
        verb += "s"
    return OtherValue(frame, f"{verb} {link}", figures)


def _is_frame(frame: Sequence[str]) -> bool:
    if (
        frame[0] in ("a", "an")  # "A supplier of the mill is …"
        or not _ONE_OF_SEVERAL.isdisjoint(frame)
        or not NEGATIONS.isdisjoint(frame)
        or all(word in GRAMMAR for word in frame)
    ):
        return False
    verb = _verb(frame)
    if verb is not None:
        return TAKES_MANY.isdisjoint(frame[verb:])
    if frame[-1] != "of" or frame[-3] != "the" or not TAKES_MANY.isdisjoint(frame):
        return False
    before = [word for word in frame[:-3] if word not in GRAMMAR]
    return len(before) > 1 or (len(before) == 1 and frame[-4] not in GRAMMAR)


def _verb(frame: Sequence[str]) -> int | None:
    """Return the place of the first form of *be* or *has* after the subject."""
    return next((n for n, word in enumerate(frame) if n and word in _CERTAIN), None)


def shared_end(one: Sequence[str], two: Sequence[str]) -> int:
    """Return the number of last words that both have, if each has more than those."""
    shorter = min(len(one), len(two))
    return next((n for n in range(shorter) if one[-1 - n] != two[-1 - n]), shorter)


def _are_rivals(frame: Sequence[str], a: Sequence[str], b: Sequence[str], *, named: bool) -> bool:
    """Return whether two values of a frame exclude each other, as far as their words show; ``named`` ones have a name."""
    if len(a) == len(b) == 1 and exclusion(a[0], b[0]) == "antonyms":
        return True  # "on", "off"
    if not (_PREPOSITIONS.isdisjoint(a) or _PREPOSITIONS.isdisjoint(b)):
        return False
    if (
        (a[0] in _ARTICLES) != (b[0] in _ARTICLES)
        or not NEGATIONS.isdisjoint((*a, *b))
        or not _CERTAIN.isdisjoint((*a, *b))
    ):
        return False
    if (frame[-1] == "has" and a[0] in _ARTICLES) or (frame[-1] in _ARTICLES and frame[-2] == "has"):
        return False  # a subject has many things
    is_a_thing = frame[-1] in ("a", "an") or (a[0] in ("a", "an") and b[0] in ("a", "an"))
    if is_a_thing and not (named and frame[0] in _OWNERS):  # and is many things, unless their kinds exclude each other
        jobs = is_profession(a[-1]), is_profession(b[-1])
        if jobs[0] != jobs[1] or not (jobs[0] or exclusion(a[-1], b[-1])):
            return False
    mine, theirs = ({stem(word) for word in value if word not in GRAMMAR} for value in (a, b))
    if not mine or not theirs or mine <= theirs or theirs <= mine:
        return False
    return not any(_may_mean(x, y) for x in mine - theirs for y in theirs - mine)


def _may_mean(one: str, other: str) -> bool:
    """Return whether a word may mean another: its beginning, its abbreviation, or a term above or below it."""
    if one.isdigit() or other.isdigit():
        return False
    return one.startswith(other) or other.startswith(one) or is_a(one, other) or is_a(other, one)


def relation_of(frame: Sequence[str]) -> str:
    """Return the words of a frame without its subject: "the captain of … is", "…'s captain is", "… leads the crew of".

    A frame of which only the verb would be left is returned whole: "the deadline is".
    """
    verb = _verb(frame)
    if verb is None:
        return " ".join(("…", *frame[-4:]))
    if frame[0] == "the" and (cut := next((n for n in range(2, verb) if frame[n] in _PREPOSITIONS), 0)):
        return " ".join((*frame[: cut + 1], "…", *frame[verb:]))
    owner = max((n for n, word in enumerate(frame[:verb]) if word.endswith(("'s", "’s"))), default=verb - 1)
    rest = frame[owner + 1 :]
    return " ".join(("…", *rest) if len(rest) > 1 else frame)


def beginnings(statements: Sequence[Framed]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of statements that may share a frame: each with the six that follow it in the order of their words.

    In that order the statements with the same beginning are neighbours, so the cost is one sort. Another one of the words from the last to
    the first finds those with the same end.
    """
    seen: set[tuple[int, int]] = set()
    for keys in ([one.words for one in statements], [one.words[::-1] for one in statements]):
        order = sorted(range(len(statements)), key=keys.__getitem__)
        for place, n in enumerate(order):
            for m in order[place + 1 : place + 7]:
                if keys[n][:FEWEST] != keys[m][:FEWEST]:
                    break
                if (n, m) not in seen and (m, n) not in seen:
                    seen.add((n, m))
                    yield n, m


# Roles: the end of a statement of the form "A is the R". Another holder of the same role is a change only if the role has one holder.
# The definite article does not say so ("is the friend from school"), so other words must: an office, a main or current one of several,
# or news of another holder. ``slowwave.operations.conflicts.values`` learns from the namespace which roles several hold at one time.

_GIVEN: Final = words_of("named appointed made")
_BECOMES: Final = _GIVEN | words_of("became become")
_LEADS: Final = words_of("as since from now update")
_OWNERS: Final = words_of("the our my")
_MOST_OF_A_NAME: Final = 4  # words
_MOST_OF_A_ROLE: Final = 9  # words
_OFFICES: Final = words_of("""
captain skipper treasurer president chair chairman chairwoman chairperson secretary director manager head lead leader mayor governor
chancellor rector principal dean warden keeper coach landlord landlady caretaker ceo cto cfo executive officer commander supervisor foreman
editor conductor curator steward owner coordinator administrator maintainer boss king queen dentist vet accountant adviser advisor
""")
"""Heads of roles that usually have one holder; any other head needs a word of ``_MAIN`` or news."""

_MAIN: Final = words_of("main primary default current acting official on-call lead head chief principal")
_NO_OFFICE: Final = words_of("""
best worst most least same right wrong only first second third last one kind sort type person man woman boy girl thing reason way answer
place who whom whose which where i we you he she they me him them his her its their a an be
""")
"""Words of a description that fits several: an opinion, a rank, an indefinite object, a clause."""

_BY_ONE: Final = words_of("""
owns leads manages heads runs chairs maintains supervises oversees coaches commands directs edits conducts keeps handles hosts
""")
"""Verbs by which one person at a time does something; another verb needs news ("Otto feeds the calves now")."""

_QUOTED: Final = frozenset('"“”`;:()')


class HeldRole(NamedTuple):
    """A statement that somebody or something has a role: the folded names of the holder, and the words of the role.

    ``whose`` is the article or pronoun before the role; it is empty for a verb and its object ("owns the mill"). ``first`` is whether the
    holder is named first, ``news`` whether the statement calls its holder a new one, and ``holds_alone`` whether the words show that the
    role has one holder at a time. Several hold a ``listed`` role.
    """

    holder: tuple[str, ...]
    whose: str
    words: tuple[str, ...]
    first: bool
    news: bool
    holds_alone: bool
    listed: bool

    @property
    def relation(self) -> str:
        """Return the words of the role without its owner: "… is the captain of"."""
        if not self.whose:
            return " ".join(("…", *self.words))
        return " ".join(("… is", self.whose, *self.words[: _head(self.words) + 2]))

    def is_labelled_as(self, other: HeldRole) -> bool:
        """Return whether a number or a letter alone tells the holders apart ("Room 4", "Room 5"), and no words show that several fit."""
        apart = [pair for pair in zip(self.holder, other.holder, strict=False) if pair[0] != pair[1]]
        labels = len(self.holder) == len(other.holder) > 1 == len(apart)
        fits = _NO_OFFICE.isdisjoint(self.words) and TAKES_MANY.isdisjoint(self.words)
        return labels and fits and all(len(word) == 1 or any(map(str.isdigit, word)) for word in apart[0])

    def has_holder_of(self, other: HeldRole) -> bool:
        """Return whether both name one holder, perhaps one of them in fewer words ("Dr. Ada Lind", "Ada")."""
        return set(self.holder) <= set(other.holder) or set(other.holder) <= set(self.holder)


@lru_cache(maxsize=4_096)
def read_role(text: str) -> HeldRole | None:
    """Parse a plain statement of one sentence: "Ada is the captain of the crew.", "The captain of the crew is Ada."; else None."""
    if len(text) > LONGEST or not _QUOTED.isdisjoint(text):
        return None
    lead, comma, rest = text.partition(",")
    led = bool(comma) and lead.split(" ", 1)[0].casefold() in _LEADS
    written = _WORD.findall(rest if led else text)
    words = [fold(word) for word in written]
    if not FEWEST < len(words) <= _MOST_WORDS or words[0] in _ASKING | _POINTING or not NEGATIONS.isdisjoint(words):
        return None
    verb = next((n for n in range(1, len(words)) if _links(words, n)), None)
    deed = _read_deed(written, words, led=led) if verb is None else None
    if (verb is None and deed is None) or is_open(text) or len(sentences(text)) != 1:
        return None
    if verb is None:
        return deed
    appointed = words[verb] not in ("is", "are", "became", "become")
    news = led or appointed or words[verb] in _BECOMES or not _CHANGE.isdisjoint(words)
    left, right = (
        [n for n in side if words[n] not in _CHANGE and words[n] not in ("has", "been", "taken", "took", "takes", "as")]
        for side in (range(verb), range(verb + 1, len(words)))
    )
    for holder, role in ((left, right), (right, left)):
        first = holder is left
        named = _holder([written[n] for n in holder], [words[n] for n in holder], listed=words[verb] == "are")
        whose, kept = _role([words[n] for n in role], may_be_bare=appointed and first)
        if named and kept:
            new, kept = kept[0] == "new", kept[1:] if kept[0] == "new" else kept
            if words[verb] != "are":
                return HeldRole(
                    named, whose, kept, first, news or new, _holds_alone(kept, news=news or new), listed=False
                )
            head = _head(kept)
            one = (*kept[:head], kept[head].removesuffix("s"), *kept[head + 1 :])
            return HeldRole(named, whose, one, first, news or new, holds_alone=False, listed=True)
    return None


def _read_deed(written: Sequence[str], words: Sequence[str], *, led: bool) -> HeldRole | None:
    """Return the role of one who does something ("Ada runs the depot."); None for other statements."""
    verb = next((n for n, word in enumerate(written) if word[0].islower() and word not in _CHANGE), 0)
    if not words[verb].endswith("s") or not _may_be_verb(words[verb]):
        return None
    link = verb + 2 if words[verb + 1 : verb + 2] and words[verb + 1] in ("after", "for") else verb + 1
    holder = [n for n in range(verb) if words[n] not in _CHANGE]
    named = _holder([written[n] for n in holder], [words[n] for n in holder], listed=False)
    whose, kept = _role([word for word in words[link:] if word not in _CHANGE], may_be_bare=False)
    if not (named and kept):
        return None
    news = led or not _CHANGE.isdisjoint(words)
    alone = news or words[verb] in _BY_ONE
    return HeldRole(named, "", (*words[verb:link], whose, *kept), True, news, holds_alone=alone, listed=False)


def _head(role: Sequence[str]) -> int:
    """Return the place of the word before the first preposition: "officer" of "duty officer of the mill"."""
    return next((n - 1 for n, word in enumerate(role) if n and word in _PREPOSITIONS), len(role) - 1)


def _links(words: Sequence[str], n: int) -> bool:
    """Return whether the word at a place links a holder with a role: "is", "became", or "over" of "has taken over as"."""
    if words[n] == "over":
        return words[n - 1] in ("taken", "took", "takes") and words[n + 1 : n + 2] == ["as"]
    by_others = words[n - 1] in ("has", "have") and words[n] in _GIVEN  # "The club has appointed Ada"
    return words[n] in ("is", "are") or (words[n] in _BECOMES and not by_others)


def _holder(written: Sequence[str], words: Sequence[str], *, listed: bool) -> tuple[str, ...]:
    """Return the words of a name, or of a list of names; empty if these are other words."""
    if written[:1] == ["The"] or (listed and "and" not in words):
        written, words = written[1:], words[1:]
    kept = [(one, word) for one, word in zip(written, words, strict=True) if not (listed and word == "and")]
    most = _MOST_OF_A_NAME * 3 if listed else _MOST_OF_A_NAME
    names = all(one[0].isupper() or any(c.isdigit() for c in one) for one, _ in kept)
    if not 0 < len(kept) <= most or not names or kept[0][1] in _ARTICLES:
        return ()
    return tuple(word for _, word in kept)


def _role(words: Sequence[str], *, may_be_bare: bool) -> tuple[str, tuple[str, ...]]:
    """Return the article or pronoun before a role, and the words of the role; no words for another description."""
    if words[:1] and words[0] in _OWNERS:
        whose, kept = words[0], tuple(words[1:])
    else:
        whose, kept = "the", tuple(words) if may_be_bare else ()
    plain = PASSING.isdisjoint(kept) and SEVERAL.isdisjoint(kept)
    return whose, kept if plain and len(kept) <= _MOST_OF_A_ROLE and kept != ("new",) else ()


def _holds_alone(role: Sequence[str], *, news: bool) -> bool:
    """Return whether the words of a role show that it has one holder at a time; one word needs news, as it may be any crew's captain."""
    head = _head(role)
    if not (_NO_OFFICE.isdisjoint(role) and _ONE_OF_SEVERAL.isdisjoint(role) and TAKES_MANY.isdisjoint(role)):
        return False
    if role[0].startswith("co-") or any(word.endswith("est") and len(word) > len("chest") for word in role[:head]):
        return False
    office = role[head] in _OFFICES or not _MAIN.isdisjoint(role[:head])
    return news or (office and sum(word not in GRAMMAR for word in role) > 1)
