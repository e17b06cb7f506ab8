"""States: what a plain statement says that one thing is, where it is, of what it is or on which days: "The depot is in Graz", "The curtains
are velvet", "Choir has moved to Wednesdays".

A thing has one such state at a time, so two of one kind exclude each other, or speak of two things that are called the same. Numbers and
names of a subject are part of it ("bed 3"), and so is what stands behind the state ("locked at night"). Read are short clauses of a
definite subject; none of what asks, supposes, denies, lists or passes ("this week"), and not where persons are. What has a relation
or description of its own is read there. Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from slowwave.texts.contradictions import Kind, find
from slowwave.texts.descriptions import kind_of
from slowwave.texts.known_names import is_given, is_plain, known_names
from slowwave.texts.present_statements import ARTICLES, is_kin, is_open, without_later
from slowwave.texts.sentences import sentences
from slowwave.texts.stated_relations import SELF, StatedRelation, is_profession, is_unsure
from slowwave.texts.statements import stem
from slowwave.texts.tokens import fold
from slowwave.texts.vocabulary import GRAMMAR, words_of

_LONGEST: Final = 160  # characters of a sentence that is read
_MOST: Final = 8  # words of a subject
_VALUE: Final = 4  # words of a state

_TOKEN: Final = re.compile(r"[^\s,;:!?()]+")
_CLAUSES: Final = re.compile(r"[;:–—] +|, +(?=(?:it|they|(?:the|my|our|his|her) [\w ]{1,30}) (?:is|are) )")
_QUOTES: Final = re.compile(r"[\"“”«»]|(?<!\w)['‘]\w[^']*'(?!\w)")
_PLANNED: Final = re.compile(r"\bwill be\b")
_WANTED: Final = re.compile(
    r"^(?P<who>[\w' ]{1,30}?) wants? (?P<what>(?:the|my|our|his|her|their) [\w' ]{1,30}?) (?P<state>in .+)$"
)
_MOVED: Final = re.compile(
    r"^(?P<subject>.{2,50}?) (?:(?:has|have|was|were|is|are|been|now|just|recently) ){0,3}"
    r"(?:moved|switched|changed|migrated|relocated|shifted)(?: over)?(?: from [^,;:]{1,30}?)? to (?P<value>.+)$"
)
_SET: Final = re.compile(
    r"^(?:we )?(?:raised|lowered|changed|increased|reduced|cut|moved|set|doubled|halved) (?P<what>.{3,50})$",
    re.IGNORECASE,
)
_ONLY_MOVED: Final = re.compile(r"^(?P<what>.{2,50}?) (?:is|are|was|were|has|have)(?: been)? moved$")
_IT: Final = re.compile(r"^(?:it|they) (?=(?:is|are)\b)", re.IGNORECASE)
_COPULAS: Final = words_of("is are was were")
_VERBS: Final = _COPULAS | words_of("stands stand sits sit lies sleeps sleep lives live runs run meets meet")
_PREPOSITIONS: Final = words_of("in on at of with from")
_PLACING: Final = _PREPOSITIONS - {"of"}
_ADVERBS: Final = words_of("now currently still officially again")
_PARTICIPLES: Final = words_of("made planted sown written painted built tiled covered served lined")
_PLACED: Final = words_of("kept stored located hosted held parked housed installed deployed")
_NO_SUBJECT: Final = words_of("""
there it this that these those here what who which everyone everybody someone somebody nobody one some most many all both several a an
another each every any either he she they you in on at during if when as after before since while for with by to from until because
although where how why no not and or but
""")
_SEVERAL: Final = words_of("and or which who that")
_PASSING: Final = words_of("""
this next last today tonight tomorrow yesterday until till ago once again sometimes often usually mostly partly
""")
_EVENTS: Final = frozenset(
    map(
        stem,
        words_of("""
meeting appointment call flight lesson match game exam test lunch dinner breakfast party delivery train bus shift weather mood day
morning evening night trip visit session part side rest problem thing question answer idea point plan reason
"""),
    )
)
"""What is another one the next time."""

_JOBS: Final = frozenset(map(stem, words_of("job occupation profession trade")))
_LISTS: Final = words_of("and or nor plus either both also too partly only than")
_TAIL: Final = words_of("""
at in on of for with during after before when while where from by to since as because so but which that
""")
_NEW: Final = re.compile(r"\b(?:now|instead|these days|nowadays|from now on|as of .*|since .*)$")
_NAMED: Final = re.compile(r"['’]s? |\w [A-Z]")
_OWNED: Final = re.compile(r"['’]s?$")
_DAYS: Final = words_of("mondays tuesdays wednesdays thursdays fridays saturdays sundays weekends weekdays")
_CODE: Final = re.compile(r"`?([a-z]\w*(?:[_./-]\w+)+)`?", re.IGNORECASE)
_OWN: Final = words_of("my our i user user's")
_THEIRS: Final = words_of("his her their")
_STATE: Final = re.compile(r"(?:is|was|planned|wanted)(?: [a-z ]+)? \(")

TRIGGER: Final = re.compile(
    r"\b(?:is|are|was|were|be|stands?|sits?|lies|sleeps?|lives?|runs?|meets?|takes? place|moved|switched|changed|migrated|"
    r"relocated|shifted|wants?|[Jj]ob|[Oo]ccupation|[Pp]rofession)\b"
)
"""A word of it is in every text that tells a state; RE2 reads it as well."""


@lru_cache(maxsize=16_384)
def states(text: str) -> tuple[StatedRelation, ...]:
    """The states of a text, in order: of each thing and relation the last. Time: 30 µs a sentence that tells one."""
    found: dict[tuple[str, str], StatedRelation] = {}
    if TRIGGER.search(text):
        for sentence in sentences(without_later(text)):
            if len(sentence) <= _LONGEST:
                for stated in _of(sentence):
                    found[stated.subject, stated.relation] = stated
    return tuple(found.values())


def is_state(relation: str) -> bool:
    """Whether a relation is one of ``states``."""
    return _STATE.match(relation) is not None


def is_named_state(relation: str) -> bool:
    """Whether it is one whose object is a name."""
    return is_state(relation) and relation.endswith("(name)")


def rivals(relation: str, one: str, other: str) -> bool:
    """Whether two objects of one state exclude each other: days, names and figures do; of other words antonyms and things of one kind."""
    if not relation.endswith("(words)"):
        return True
    leading = relation.removesuffix(" (words)").split(" ", 1)[1:]
    found = _exclude(*(" ".join(("the thing is", *leading, value)) for value in (one, other)))
    if leading == ["a"]:  # who is a doctor may be a mother
        return found == "polarity" or (found is not None and is_profession(one) and is_profession(other))
    return found is not None


@lru_cache(maxsize=4_096)
def _exclude(one: str, other: str) -> Kind | None:
    return find([(one, other)])[0]


def _of(sentence: str) -> Iterator[StatedRelation]:
    """What the clauses of a sentence state."""
    said = _PLANNED.sub("is", sentence).rstrip(".! ")
    if _QUOTES.search(said) or is_unsure(said):
        return
    if wanted := _WANTED.match(said):
        yield from _state(f"{wanted['what']} of {wanted['who']}", "wanted", wanted["state"].split())
    elif not is_open(said):
        tense = "is" if said == sentence.rstrip(".! ") else "planned"
        yield from _in_clauses(_CLAUSES.split(said), tense)


def _in_clauses(clauses: Iterable[str], tense: str) -> Iterator[StatedRelation]:
    """What clauses state; "it" is what the one before speaks of, and what follows "my job:" is that."""
    before = ""
    for part in clauses:
        clause, _, more = part.partition(", ")
        if before and _head(before) in _JOBS and _VERBS.isdisjoint(clause.split()):
            found = _state(before, tense, clause.split())
        else:
            clause = _IT.sub(f"{before} ", clause) if before else clause
            moved = _MOVED.match(clause)
            found = _moved(moved["subject"], moved["value"]) if moved else _in_clause(clause, tense)
        yield from (stated for stated in found if _is_whole(stated, more))
        told = _SET.match(clause) or _ONLY_MOVED.match(clause)
        before = told["what"] if told else clause


def _is_whole(stated: StatedRelation, more: str) -> bool:
    """Whether what follows behind a comma is no list that the state begins."""
    return not more or (more[0].islower() and not stated.relation.endswith("(words)"))


def _in_clause(clause: str, tense: str) -> Iterator[StatedRelation]:
    """What is said of that which stands before the first verb."""
    words = _TOKEN.findall(clause)
    at = next((k for k, w in enumerate(words) if k and (w in _VERBS or words[k : k + 2] == ["takes", "place"])), 0)
    if not 0 < at <= _MOST:
        return
    subject = [w for w in words[:at] if fold(w) not in _ADVERBS]
    said = words[at + (2 if words[at] == "takes" else 1) :]
    if subject and said and (words[at] in _COPULAS or said[0] in _PREPOSITIONS):
        past = words[at] in ("was", "were")
        yield from _state(" ".join(subject), "was" if past else tense, said, new="now" in words[:at])


def _moved(subject: str, said: str) -> Iterator[StatedRelation]:
    """The states of what has changed to something or moved there: which it is, a place tells."""
    for leading in ("", "in ", "on ", "at "):
        for stated in _state(subject, "is", f"{leading}{said}".split(), new=True):
            if not leading or stated.relation.endswith(("(name)", "(words)")):
                yield stated


def _state(subject: str, tense: str, said: Sequence[str], *, new: bool = False) -> Iterator[StatedRelation]:
    """The state that stands behind a verb, of one definite thing."""
    words = [w.strip("`'’") for w in said]
    while words and fold(words[0]) in _ADVERBS:
        new = new or words[0] == "now"
        words = words[1:]
    led: list[str] = []
    if words and words[0] in _PARTICIPLES | _PLACED:
        led += [words[0]] if words[0] in _PARTICIPLES else []
        words = words[1:]
    if len(words) > 1 and words[0] in _PREPOSITIONS and not _NEW.fullmatch(" ".join(words[1:])):
        led.append(words.pop(0))
    one = bool(words) and words[0] in ("a", "an")
    while words and fold(words[0]) in ARTICLES | {"made"}:
        words = words[1:]
    rest = " ".join(words)
    new = new or _NEW.search(rest) is not None
    words = _NEW.sub("", rest).split()
    end = next((k for k, w in enumerate(words) if k and fold(w) in _TAIL | _LISTS), len(words))
    value = words[:end]
    if not 0 < len(value) <= _VALUE or not {fold(w) for w in words}.isdisjoint(_PASSING | _LISTS):
        return
    kind, folded = _kind(value)
    placed = bool(led) and led[-1] in _PLACING
    person = _is_person(subject, placed=placed)
    if not kind or (person and (placed or kind != "words")) or (kind != "day" and _head(subject) in _EVENTS):
        return
    if tense == "was" and not (person or _NAMED.search(subject)):
        return
    bare = kind == "day" or is_profession(folded) or _head(subject) in _JOBS  # where and at what time are other matters
    if key := _key(subject, [] if bare else words[end:]):
        leading = [] if kind == "day" else [*led, "a"] if person and one else led
        sure = new and _is_one(subject) and not (placed and kind == "name")  # a place may be part of another
        yield StatedRelation(key, f"{' '.join((tense, *leading))} ({kind})", folded, sure)


def _kind(value: Sequence[str]) -> tuple[str, str]:
    """Whether it is a day, a figure, a code, a name or other words, and it in its plain form; empty for a mixture."""
    folded = " ".join(map(fold, value))
    if all(w in _DAYS for w in folded.split()):
        return "day", folded
    if len(value) > 1 and value[0][0].islower() and value[-1][0].isupper():
        return "", ""
    if all(w.replace("-", "").isalpha() and w.islower() for w in value):
        return "words", folded
    kind, plain = kind_of(" ".join(value))
    if kind:
        return kind, plain
    if all(w[0].isupper() for w in value):  # inside a clause even a common word is one with a capital
        return ("", "") if folded in known_names().demonyms else ("name", folded)
    return "", ""


def _key(subject: str, tail: Sequence[str]) -> str:
    """What a subject is known by, with what stands behind its state; empty where it is no definite thing."""
    words = [fold(w.strip("`")) for w in _TOKEN.findall(subject)]
    if not words or words[0] in _NO_SUBJECT or not _SEVERAL.isdisjoint(words):
        return ""
    if code := next((m[1] for w in subject.split() if (m := _CODE.fullmatch(w))), ""):
        words = [fold(code)]
    own = words[0] in _OWN
    kept = [w for w in words if not (w in GRAMMAR or w in ARTICLES or w in _OWN or w == "new")]
    stems = sorted({stem(_OWNED.sub("", w)) for w in kept} | ({words[0]} & _THEIRS))
    if not stems and not own:
        return ""
    behind = [stem(fold(w)) for w in tail if fold(w) not in ARTICLES]
    return " ".join((*([f"{SELF}:"] if own else []), *stems, *behind))


def _head(subject: str) -> str:
    """The stem of the noun of a subject."""
    words = [fold(w) for w in _TOKEN.findall(subject)]
    end = next((k for k, w in enumerate(words) if k and w in _TAIL), len(words))
    return stem(words[end - 1])


def _is_person(subject: str, *, placed: bool) -> bool:
    """Whether a subject is somebody; of what is ``placed`` somewhere, one capitalised word that is no common one may be."""
    words = _TOKEN.findall(subject)
    last = fold(words[-1])
    if last in ("i", "user") or is_kin(last):
        return True
    named = words[-1][0].isupper() and not words[-1].isupper()
    return named and (is_given(last) or (placed and len(words) == 1 and not is_plain(last)))


def _is_one(subject: str) -> bool:
    """Whether a subject is so named that there is one: by a name, an owner who is known, or two words of content."""
    words = [w for w in _TOKEN.findall(subject) if fold(w) not in GRAMMAR and fold(w) not in ARTICLES]
    if not words or fold(subject.split()[0]) in _THEIRS:
        return False
    return len(words) > 1 or (words[0][0].isupper() and not is_plain(fold(words[0])))
