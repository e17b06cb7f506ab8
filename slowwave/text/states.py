"""States that a plain statement gives a thing, definite descriptions, and values that a statement declares to be over."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

from slowwave.text.contradictions import Kind, find
from slowwave.text.date_values import DAYS
from slowwave.text.names import is_given, is_plain, known_names
from slowwave.text.relations import SELF, StatedRelation, is_profession, is_unsure
from slowwave.text.sentences import sentences
from slowwave.text.statements import stem
from slowwave.text.subjects import (
    ARTICLES,
    COMMON,
    CONTRACTED,
    STOPS,
    WORD,
    are_about_others,
    are_apart,
    is_kin,
    is_open,
    is_own,
    is_present,
    is_wish,
    matter,
    names,
    persons,
    said,
    says_new,
    stating,
    without_later,
)
from slowwave.text.tokens import fold, normalise_name
from slowwave.text.words import CARDINALS, GRAMMAR, words_of

# Descriptions: the value that a definite description gives to a thing that a person has one of: "Our vet is Dr. Amari", "The invoice limit
# is 3,500 euros".
#
# A description of a single thing ("our primary region", "the project lead of Heron", "Mia's surname") has one value at a time. Two
# different values exclude each other, or are about two things with the same name. Only values that are names, figures or identifiers are
# parsed, because other words need not exclude each other. Descriptions of which there may be several are skipped ("my friend is Anna").
# ``slowwave.text.relations`` parses statements with a dedicated relation. Linear in the text.

_LONGEST_DESCRIPTIONS: Final = 200  # maximum length in characters of a sentence
_WORD: Final = r"(?!(?:is|are|was|were|and|or|of|for|to)\b)(?:[a-z][a-z-]{1,20}|[A-Z]{2,5}\b)"
_WORDS: Final = rf"{_WORD}(?: {_WORD}){{0,3}}"
_NAME: Final = r"[A-Z][\w.-]{0,30}(?: [A-Z][\w.-]{0,30}){0,2}"
_IS: Final = r"(?:,? (?:now |currently |from now on |still )?is(?: now| currently| still)?(?: called| named)?|:) +"
_VALUE_DESCRIPTIONS: Final = (
    r"(?P<value>(?:[^,;:!?()\n]|,(?=\d)){1,60}?)(?: (?:now|these days|at the moment|instead))?"
    r"(?:, [^,;]{2,40} (?:is|are|was|were|has|have) [^,;]{2,40})?[.!]?$"
)
_FORMS: Final = (
    re.compile(rf"^(?:[Mm]y|[Oo]ur) (?P<thing>{_WORDS}){_IS}{_VALUE_DESCRIPTIONS}"),
    re.compile(rf"^(?P<owner>{_NAME})['’]s? (?P<thing>{_WORDS}){_IS}{_VALUE_DESCRIPTIONS}"),
    re.compile(
        rf"^(?:[Tt]he |[Oo]ur |[Mm]y )?(?P<thing>(?i:{_WORDS})) (?:of|for|at) "
        rf"(?P<owner>(?:the |our |my )?(?:{_NAME}|{_WORDS})){_IS}{_VALUE_DESCRIPTIONS}"
    ),
    re.compile(rf"^(?:[Tt]he |[Oo]ur )?(?P<thing>(?i:{_WORD} {_WORD}(?: {_WORD})?)){_IS}{_VALUE_DESCRIPTIONS}"),
    re.compile(
        rf"^(?P<owner>{_NAME}|I) (?:(?P<may_be_more>(?:has|have|got|found|hired)(?: got| found| hired)?)|(?:is|am) (?:registered )?with) "
        rf"(?:a|my|his|her|their) new "
        rf"(?P<thing>{_WORDS})(?:,|:| called| named) {_VALUE_DESCRIPTIONS}"
    ),
    re.compile(
        rf"^(?P<value>{_NAME}) (?:has taken|takes|took) over(?: from [^,;:]{{2,40}}?)? as (?:the )?(?P<thing>{_WORDS}) "
        rf"(?:of|for|at) (?P<owner>(?:the |our |my )?(?:{_NAME}|{_WORDS}))[.!]?$"
    ),
)
TRIGGER_DESCRIPTIONS: Final = re.compile(
    r"\bis [^,;:!?()\n]*[A-Z0-9]|^[^:\n]{3,60}: [^\n]{1,60}$|\bover\b[^\n]*\bas\b|\bnew [^\n]*[A-Z]"
)
"""A pattern that matches every text with a description; also valid in RE2."""

_LED_IN: Final = re.compile(
    r"^(?:(?:from now on|as of (?:now|today)|since (?:the |my |our )?\w+|btw|fyi|update|note)\b[,:]? )", re.IGNORECASE
)
_LED_BY: Final = re.compile(
    r"^(?:(?:the|a|an|dr|mr|mrs|ms|prof)\b\.?|(?:my|our|his|her|their) [a-z]+(?=\s+(?-i:[A-Z])))\s+", re.IGNORECASE
)
_WHERE: Final = re.compile(r"(?<=\w) (?:at|in|from) .*$")
_CHANGED: Final = re.compile(
    r"\b(?:(?:takes|taken|took) over|now|instead|as of|since|new|from now on|these days)\b", re.IGNORECASE
)
_CODE_DESCRIPTIONS: Final = re.compile(r"[\w./:@+#-]*(?:\d|[a-z][_./:@-][a-z])[\w./:@+#-]*")
MANY_NOUNS: Final = frozenset(
    map(
        stem,
        words_of("""
friend colleague neighbour neighbor classmate roommate brother sister cousin aunt uncle nephew niece son daughter child kid baby cat dog pet
client customer student member user visitor guest example part option thing reason idea one hobby language skill recommendation
question answer book film movie song game class story trip word point case step task issue problem result version today yesterday tomorrow
"""),
    )
)
"""Stems of nouns of which a person may have several."""

_MONTHS: Final = words_of("january february march april may june july august september october november december")
_PASSING_DESCRIPTIONS: Final = words_of(
    "next last first second third other another second-last previous former today's this that"
)


def descriptions(text: str) -> tuple[StatedRelation, ...]:
    """Return the descriptions of a text with their values, in order; for each thing only the last.

    Time: 20 µs per sentence with a description.
    """
    found: dict[tuple[str, str], StatedRelation] = {}
    if TRIGGER_DESCRIPTIONS.search(text):
        for sentence in sentences(without_later(text)):
            if len(sentence) <= _LONGEST_DESCRIPTIONS and (stated := _described_thing(sentence)) is not None:
                found[stated.subject, stated.relation] = stated
    return tuple(found.values())


def _described_thing(sentence: str) -> StatedRelation | None:
    if is_unsure(sentence):
        return None
    for clause, form in product(sentence.strip().split("; "), _FORMS):
        statement = _LED_IN.sub("", clause)
        if match := form.match(statement[:1].upper() + statement[1:]) or form.match(statement):
            things = [w for w in fold(match["thing"]).split() if w not in GRAMMAR and w != "new"]
            kind, value = kind_of(match["value"])
            if kind and things and stem(things[-1]) not in MANY_NOUNS and _PASSING_DESCRIPTIONS.isdisjoint(things):
                said_of = match.groupdict()
                owner = said_of.get("owner") or ""
                change = _CHANGED.search(sentence) is not None and not said_of.get("may_be_more")
                owner = (
                    "" if owner == "I" else (fold(owner).removeprefix("the ").removeprefix("our ").removeprefix("my "))
                )
                thing = " ".join(map(stem, things))
                return StatedRelation(owner or SELF, f"{thing} ({kind})", value, change)
    return None


def kind_of(value: str) -> tuple[str, str]:
    """Return the kind of a value (a figure, a code or a name) and its plain form; both are empty for other words."""
    bare = _LED_BY.sub("", _LED_BY.sub("", value.strip()))
    if bare[:1].isupper():
        bare = _WHERE.sub("", bare)
    words = bare.split()
    if not words or len(words) > 4:
        return "", ""
    if words[0][0].isdigit():
        unit = [stem(fold(w)) for w in words[1:] if fold(w) not in _MONTHS]
        return f"figure of {' '.join(unit) or 'days or none'}", normalise_name(bare)
    if any(map(str.isdigit, bare)) or _CODE_DESCRIPTIONS.fullmatch(words[0]):
        return "code", normalise_name(bare)
    named = all(w[0].isupper() for w in words) and not is_plain(fold(words[0]))
    return ("name", normalise_name(bare)) if named else ("", "")


# States: the plain statement of what a thing is, where it is, what it is made of or on which days it takes place: "The depot is in Graz",
# "The curtains are velvet", "Choir has moved to Wednesdays".
#
# A thing has one such state at a time, so two states of one kind exclude each other, or are about two things with the same name. Numbers
# and names are part of the subject ("bed 3"), and so are the words after the state ("locked at night"). Short clauses with a definite
# subject are parsed. Questions, suppositions, denials, lists, temporary states ("this week") and the places of persons are skipped.
# Statements with a dedicated relation or description are parsed by those rules. Linear in the text.

_LONGEST: Final = 160  # maximum length in characters of a sentence
_MOST: Final = 8  # maximum number of words of a subject
_VALUE: Final = 4  # maximum number of words of a state

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
"""Events, of which each occurrence is a different one."""

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
"""A pattern that occurs in every text that states a state; also valid in RE2."""


@lru_cache(maxsize=16_384)
def states(text: str) -> tuple[StatedRelation, ...]:
    """Return the states of a text, in order; for each thing and relation only the last.

    Time: 30 µs per sentence with a state.
    """
    found: dict[tuple[str, str], StatedRelation] = {}
    if TRIGGER.search(text):
        for sentence in sentences(without_later(text)):
            if len(sentence) <= _LONGEST:
                for stated in _of(sentence):
                    found[stated.subject, stated.relation] = stated
    return tuple(found.values())


def is_state(relation: str) -> bool:
    """Return whether a relation is one of ``states``."""
    return _STATE.match(relation) is not None


def is_named_state(relation: str) -> bool:
    """Return whether a relation is a state whose object is a name."""
    return is_state(relation) and relation.endswith("(name)")


def rivals(relation: str, one: str, other: str) -> bool:
    """Return whether two objects of one state exclude each other.

    Days, names and figures do. Of other words, antonyms and words of one kind do.
    """
    if not relation.endswith("(words)"):
        return True
    leading = relation.removesuffix(" (words)").split(" ", 1)[1:]
    found = _exclude(*(" ".join(("the thing is", *leading, value)) for value in (one, other)))
    if leading == ["a"]:  # someone who is a doctor may also be a mother
        return found == "polarity" or (found is not None and is_profession(one) and is_profession(other))
    return found is not None


@lru_cache(maxsize=4_096)
def _exclude(one: str, other: str) -> Kind | None:
    return find([(one, other)])[0]


def _of(sentence: str) -> Iterator[StatedRelation]:
    """Yield the states in the clauses of a sentence."""
    statement = _PLANNED.sub("is", sentence).rstrip(".! ")
    if _QUOTES.search(statement) or is_unsure(statement):
        return
    if wanted := _WANTED.match(statement):
        yield from _state(f"{wanted['what']} of {wanted['who']}", "wanted", wanted["state"].split())
    elif not is_open(statement):
        tense = "is" if statement == sentence.rstrip(".! ") else "planned"
        yield from _in_clauses(_CLAUSES.split(statement), tense)


def _in_clauses(clauses: Iterable[str], tense: str) -> Iterator[StatedRelation]:
    """Yield the states in clauses; "it" is the subject of the clause before, and a value after "my job:" belongs to that."""
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
        subject_match = _SET.match(clause) or _ONLY_MOVED.match(clause)
        before = subject_match["what"] if subject_match else clause


def _is_whole(stated: StatedRelation, more: str) -> bool:
    """Return whether the text after a comma does not continue the state as a list."""
    return not more or (more[0].islower() and not stated.relation.endswith("(words)"))


def _in_clause(clause: str, tense: str) -> Iterator[StatedRelation]:
    """Yield the states that a clause gives for the subject before its first verb."""
    words = _TOKEN.findall(clause)
    at = next((k for k, w in enumerate(words) if k and (w in _VERBS or words[k : k + 2] == ["takes", "place"])), 0)
    if not 0 < at <= _MOST:
        return
    subject = [w for w in words[:at] if fold(w) not in _ADVERBS]
    complement = words[at + (2 if words[at] == "takes" else 1) :]
    if subject and complement and (words[at] in _COPULAS or complement[0] in _PREPOSITIONS):
        past = words[at] in ("was", "were")
        yield from _state(" ".join(subject), "was" if past else tense, complement, new="now" in words[:at])


def _moved(subject: str, said: str) -> Iterator[StatedRelation]:
    """Yield the states of something that changed or moved; without a preposition, a name or word may be a value or a place."""
    for leading in ("", "in ", "on ", "at "):
        for stated in _state(subject, "is", f"{leading}{said}".split(), new=True):
            if not leading or stated.relation.endswith(("(name)", "(words)")):
                yield stated


def _state(subject: str, tense: str, said: Sequence[str], *, new: bool = False) -> Iterator[StatedRelation]:
    """Yield the state after a verb, if the subject is one definite thing."""
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
    bare = (
        kind == "day" or is_profession(folded) or _head(subject) in _JOBS
    )  # place and time of day are separate kinds of state
    if key := _key(subject, [] if bare else words[end:]):
        leading = [] if kind == "day" else [*led, "a"] if person and one else led
        sure = new and _is_one(subject) and not (placed and kind == "name")  # a place may be part of another
        yield StatedRelation(key, f"{' '.join((tense, *leading))} ({kind})", folded, sure)


def _kind(value: Sequence[str]) -> tuple[str, str]:
    """Return the kind of a value (a day, figure, code, name or other words) and its plain form; both empty for a mixture."""
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
    if all(w[0].isupper() for w in value):  # inside a clause even a common word is a name if it has a capital
        return ("", "") if folded in known_names().demonyms else ("name", folded)
    return "", ""


def _key(subject: str, tail: Sequence[str]) -> str:
    """Return the key of a subject and of the words after its state; empty if the subject is not a definite thing."""
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
    """Return the stem of the noun of a subject."""
    words = [fold(w) for w in _TOKEN.findall(subject)]
    end = next((k for k, w in enumerate(words) if k and w in _TAIL), len(words))
    return stem(words[end - 1])


def _is_person(subject: str, *, placed: bool) -> bool:
    """Return whether a subject is a person.

    If something is ``placed`` somewhere, one capitalised word that is not a common word may be a person.
    """
    words = _TOKEN.findall(subject)
    last = fold(words[-1])
    if last in ("i", "user") or is_kin(last):
        return True
    named = words[-1][0].isupper() and not words[-1].isupper()
    return named and (is_given(last) or (placed and len(words) == 1 and not is_plain(last)))


def _is_one(subject: str) -> bool:
    """Return whether a subject identifies one thing, by a name, a known owner or two words of content."""
    words = [w for w in _TOKEN.findall(subject) if fold(w) not in GRAMMAR and fold(w) not in ARTICLES]
    if not words or fold(subject.split()[0]) in _THEIRS:
        return False
    return len(words) > 1 or (words[0][0].isupper() and not is_plain(fold(words[0])))


# Ended values: values that a statement declares to be over ("I switched from Todoist to Bear", "chai instead of espresso"), and whether an
# earlier statement states such a value.
#
# An earlier statement ends if it is a plain statement in the present, states the value, and has the same owner and the same matter.
# Questions, denials, plans, reports by others and single events do not end. Nor do statements about another thing of the kind ("guest
# bathroom", "master bathroom"). The rules favour precision over recall. The words are in ``ended_values.toml``. Linear in the texts.

_LONGEST_ENDED_VALUES: Final = 500  # maximum length in characters of a sentence
_MOST_WORDS: Final = 4  # maximum number of words of a value
_SHORT: Final = 12  # maximum number of words of a statement in which the value is the object

_FILE: Final[Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("ended_values.toml").read_text(encoding="utf-8")
)
_WORDS_ENDED_VALUES: Final[Mapping[str, str]] = {name: text.replace("\n", "") for name, text in _FILE["words"].items()}


def _markers(side: str) -> tuple[tuple[str, bool], ...]:
    """Return the markers before or behind a value, each with whether it is sure evidence of its end."""
    return tuple((_FILE[side][name].replace("\n", ""), name == "sure") for name in ("sure", "doubted"))


_VALUE_ENDED_VALUES: Final = rf"(?P<value>{WORD}(?:\s+{WORD}){{0,5}})"
_LED_BY_ENDED_VALUES: Final = rf"(?:(?:{_WORDS_ENDED_VALUES['determiner']})\s+)*"

_BEFORE: Final = tuple(
    (re.compile(rf"\b(?:{markers})\s+{_LED_BY_ENDED_VALUES}{_VALUE_ENDED_VALUES}", re.IGNORECASE), sure)
    for markers, sure in _markers("before")
)
_BEHIND: Final = tuple(
    (re.compile(rf"(?:(?<=\w)\s+|(?=:))(?:{markers})", re.IGNORECASE), sure) for markers, sure in _markers("behind")
)
_DENIED: Final = (
    re.compile(
        rf"(?:,|\band|\bnow|[—–-]) not (?:at |in |on |for |with )?{_LED_BY_ENDED_VALUES}{_VALUE_ENDED_VALUES}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:was|were)\s+{_LED_BY_ENDED_VALUES}{_VALUE_ENDED_VALUES}?(?=\s+(?:before|until|till|so far)\b)",
        re.IGNORECASE,
    ),
    re.compile(  # "no longer pays in dollars", "no longer eats meat", "no longer vegetarian"
        rf"\bno longer\s+(?:{_LED_BY_ENDED_VALUES}{WORD}s?\s+(?=(?:in|at|on|with|for|to|the|a|an|my|our)\s|{WORD}\s*(?:[,.;:!?]|$)))?"
        rf"{_LED_BY_ENDED_VALUES}{_VALUE_ENDED_VALUES}",
        re.IGNORECASE,
    ),
)
_FOR_A_WHILE: Final = re.compile(rf"\b(?:{_WORDS_ENDED_VALUES['while']})", re.IGNORECASE)
_BREAK: Final = re.compile(r"[,;:!?()]\s|\.\s")
_TOKEN_ENDED_VALUES: Final = re.compile(WORD)
_REACH: Final = 120  # characters before a marker that are checked
_MOST_BEFORE: Final = 6  # maximum number of words there
_PLACED_ENDED_VALUES: Final = frozenset(("on", "in", "at"))
_LOOSE: Final = frozenset(("from", "near", "of", "about", "than", "like", "past", "outside"))
_GOES: Final = words_of(
    "go goes going went move moves moved moving commute commutes travel travels subscribe subscribed belong"
)
_OF_DAYS: Final = re.compile(r"\b(?:(?:to|yester)day|tonight|this \w+|last \w+)['’]s\b", re.IGNORECASE)
_OF_A_DAY: Final = re.compile(
    r"\b(?:(?<!as of )today|tonight|tomorrow|this (?:morning|afternoon|evening)|next (?:\w+day|week|weekend|month|year))\b",
    re.IGNORECASE,
)
_DENIES: Final = re.compile(r"n['’]t$|^(?:not|never)$", re.IGNORECASE)

TRIGGER_ENDED_VALUES: Final = re.compile(rf"(?i)(?:\b|^|[,—–-])(?:{_WORDS_ENDED_VALUES['hint']})")
"""A pattern that occurs in every text that declares something to be over; also valid in RE2."""


class EndedValue(NamedTuple):
    """Value that is no longer current: its folded ``words`` and the sentence that states its end.

    ``moved`` are the stems of what has left the value ("moved the backups from Oslo"), empty if the sentence names nothing.
    """

    words: tuple[str, ...]
    sentence: str
    moved: frozenset[str] = frozenset()


def ended_values(text: str) -> tuple[EndedValue, ...]:
    """Return the values that a text states are over, in order.

    Time: 50 µs per sentence with a word of an end.
    """
    found: dict[tuple[str, ...], EndedValue] = {}
    if TRIGGER_ENDED_VALUES.search(text):
        changed = says_new(without_later(text))
        for sentence in sentences(without_later(text)):
            if len(sentence) <= _LONGEST_ENDED_VALUES and _is_stated(sentence):
                for words, sure, moved in _read(sentence):
                    value = _value(words)
                    if value and (sure or (not _is_days(value) and (changed or _is_named(value, sentence)))):
                        folded = tuple(map(fold, value))
                        found.setdefault(folded, EndedValue(folded, sentence, matter(moved)))
    return tuple(found.values())


def ends(earlier: str, value: EndedValue) -> bool:
    """Return whether an earlier memory ends with the value: it states that value and nothing else.

    Time: 50 µs per sentence.
    """
    sentence = ended_sentence(earlier, value)
    if sentence is None or len(stating(earlier)) > 1:
        return False
    return not _is_one_of_several(without_later(sentence), value.words)


def ended_sentence(earlier: str, value: EndedValue) -> str | None:
    """Return the one sentence of an earlier text that ends with the value; None if there is none or more than one."""
    found = [s for s in stating(earlier) if len(s) <= _LONGEST_ENDED_VALUES and _sentence_ends(without_later(s), value)]
    return found[0] if len(found) == 1 else None


def _sentence_ends(sentence: str, value: EndedValue) -> bool:
    if _at(sentence, value.words) is None or not _is_held_as(sentence, value.sentence):
        return False
    if not _of_one(sentence, value) or are_apart(sentence, value.sentence):
        return False
    if are_about_others(sentence, value.sentence, without=(*value.words, *persons(sentence))):
        return False
    own = _matter(sentence, value)
    if value.moved and own and own.isdisjoint(value.moved):
        return False
    if own & _matter(value.sentence, value):
        return True
    figure = all(w in CARDINALS or not any(map(str.isalpha, w)) for w in value.words)
    return not figure and _is_object(sentence, value.words)


def _matter(sentence: str, value: EndedValue) -> frozenset[str]:
    """Return the words of content of a sentence without the value and without persons, who occur in many sentences."""
    return matter(sentence, (*value.words, *persons(sentence)))


def _is_one_of_several(sentence: str, words: Sequence[str]) -> bool:
    """Return whether a value is part of a list: "I play the cello and the oboe"."""
    value = r"\W+".join(map(re.escape, words))
    joined = r"(?:and|or|as well as|plus|&)"
    return (
        re.search(
            rf"\b{value}(?:,[^,.;]{{1,40}})*,?\s+{joined}\s|\s{joined}\s+(?:(?:{_WORDS_ENDED_VALUES['determiner']})\s+)*{value}\b",
            fold(sentence),
        )
        is not None
    )


def _is_stated(sentence: str) -> bool:
    """Return whether a sentence states a fact or a wish.

    It must be neither temporary ("I gave up sugar for a month") nor an event of a day ("Today's class is cancelled").
    """
    passing = _FOR_A_WHILE.search(sentence) or _OF_DAYS.search(sentence)
    return (not is_open(sentence) or is_wish(sentence)) and passing is None


def _is_held_as(earlier: str, later: str) -> bool:
    """Return whether an earlier sentence may have held the value that the later one ends.

    A wish ends only wishes. A statement about a day has ended with that day.
    """
    if _OF_A_DAY.search(earlier):
        return False
    return is_wish(earlier) if is_wish(later) else is_present(earlier)


def _read(sentence: str) -> list[tuple[list[str], bool, str]]:
    """Return the words next to each marker, whether the marker is sure of an end, and what it states has moved."""
    found = [
        (m["value"].split(), sure, m.groupdict().get("moved") or "")
        for pattern, sure in _BEFORE
        for m in pattern.finditer(sentence)
    ]
    found += [(m["value"].split(), True, "") for pattern in _DENIED for m in pattern.finditer(sentence) if m["value"]]
    for pattern, sure in _BEHIND:
        for m in pattern.finditer(sentence):
            before = _BREAK.split(sentence[max(0, m.start() - _REACH) : m.start()])[-1]
            found.append((_led(" ".join(_TOKEN_ENDED_VALUES.findall(before)[-_MOST_BEFORE:])), sure, ""))
    return found


def _led(said: str) -> list[str]:
    """Return the words nearest before a marker, back to a word that cannot be part of a value."""
    led: list[str] = []
    for word in reversed(said.split()):
        if fold(word) in _PLACED_ENDED_VALUES and led:  # in "the plant on my desk died" the plant died
            led = []
        elif _DENIES.search(word):
            led = led[:-1] or led  # in "don't use Evernote any more" the verb is not part of the value
            break
        elif _stops(word) or len(led) == _MOST_WORDS:
            break
        else:
            led.append(word)
    while led and fold(led[-1]) in ARTICLES:
        led.pop()
    return led[::-1]


def _stops(word: str) -> bool:
    """Return whether a word cannot be part of a value."""
    return fold(word) in STOPS or CONTRACTED.match(word) is not None


def _value(said: Sequence[str]) -> list[str]:
    """Return the words up to the first that cannot be part of a value; empty if all of them are common words."""
    words: list[str] = []
    for word in said:
        if _stops(word) or len(words) == _MOST_WORDS:
            break
        words.append(word)
    return [] if all(fold(w) in COMMON for w in words) else words


def _is_days(words: Sequence[str]) -> bool:
    """Return whether a value is only days of the week: "closed on Mondays" gives a time and not what is over."""
    return all(fold(w).removesuffix("s") in DAYS for w in words)


def _is_named(words: Sequence[str], sentence: str) -> bool:
    """Return whether a value is a name or has a figure; a common word at the beginning of a sentence is not a name."""
    first = sentence.startswith(words[0])
    return any(c.isdigit() for w in words for c in w) or any(
        w[0].isupper() and not (first and k == 0 and is_plain(fold(w))) for k, w in enumerate(words)
    )


def _at(sentence: str, words: Sequence[str]) -> int | None:
    """Return the position of the words, in sequence, among those of the sentence; None if they are not there."""
    sentence_words, n = said(sentence), len(words)
    return next((k for k in range(len(sentence_words) - n + 1) if sentence_words[k : k + n] == list(words)), None)


def _of_one(sentence: str, value: EndedValue) -> bool:
    """Return whether both sentences are about the same persons and names, without the ended value; the speaker is a person."""
    value_stems = {stem(w.removesuffix("'s").removesuffix("’s")) for w in (*said(value.sentence), *value.words)}
    if not {stem(w) for w in names(sentence)} <= value_stems:
        return False
    mine, theirs = persons(sentence, value.words), persons(value.sentence, value.words)
    own = is_own(sentence) and is_own(value.sentence)
    if own or any(is_given(w) for w in value.words):  # another named person may be the new value
        return mine <= theirs
    return mine == theirs


def _is_object(sentence: str, words: Sequence[str]) -> bool:
    """Return whether the words are the object of a short statement about the speaker or a named person.

    They are if the statement ends with them or continues with another phrase.
    """
    sentence_words, at = said(sentence), _at(sentence, words)
    if not at or at < 2 or len(sentence_words) > _SHORT or not (is_own(sentence) or persons(sentence, words)):
        return False
    if sentence_words[at - 1] == "to" and sentence_words[at - 2] not in _GOES:  # in "back to chat" the word is a verb
        return False
    behind = sentence_words[at + len(words) : at + len(words) + 1]
    return sentence_words[at - 1] not in _LOOSE and (not behind or behind[0] in STOPS)
