"""Clauses that give one subject another value in other words ("The lead of Lantern is Ada.", "Otto now leads Lantern.").

Two clauses are aligned by the words that they share: those name the subject and the relation. What each has beside them must be one value,
and both values of one kind: names, times, days, amounts of one unit, codes, or words that exclude each other. A clause that calls its
value new, or corrects an earlier one, replaces a value and may word the relation otherwise. A clause that withdraws a value is aligned
with those that state it. Questions, suppositions, quotations, code and statements about the past state no value; the subjects must agree.

An alignment proposes a question and decides nothing. English. Linear in the text, about 40 µs per sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import dropwhile, groupby, pairwise, product, takewhile
from operator import itemgetter
from typing import Final, NamedTuple

from slowwave.text.clauses import (
    CORRECTS,
    ClauseRelation,
    ClauseSubject,
    Proposition,
    Slot,
    Span,
    is_past,
    root_of,
    stated_clauses,
    stem_of,
)
from slowwave.text.date_context import IRREGULAR
from slowwave.text.date_values import DAYS, MONTHS
from slowwave.text.exclusions import exclusion, is_profession
from slowwave.text.figures import is_unit, join_thousands
from slowwave.text.frames import (
    PASSING,
    SEVERAL,
    TAKES_MANY,
    may_be_imperative,
    shared_beginning,
    shared_end,
    without_lead,
    without_tail,
)
from slowwave.text.lexicon import TERMS, is_word
from slowwave.text.names import is_given, is_plain, known_names
from slowwave.text.relations import MEMBERSHIPS
from slowwave.text.sentences import sentences
from slowwave.text.subjects import CONTRACTED, are_apart, is_open, is_present
from slowwave.text.tokens import fold
from slowwave.text.words import CARDINALS, DENIALS, EXCLUSIVE, GRAMMAR, NEGATIONS, TENS, words_of

_LONGEST: Final = 200  # characters of a clause
_MOST_WORDS: Final = 30
_SHORT: Final = 8  # words of a sentence that is one clause
_KNOWN: Final = 4  # letters from which on the lexicon has common words
_MOST_VALUES: Final = 4  # names and figures of a clause
_LARGEST_WORDS: Final = 3  # words of content of a value that is neither a name nor a figure
_REFERENT: Final = 2  # words by which a clause with a pronoun and another clause name one thing
_LEFT: Final = 2  # words of content that one clause may have beside the value and what both share

_TOKEN: Final = re.compile(
    r"[€$£]?\d+(?:[.,:/]\d+)*(?:-[^\W_]+)*%?|[^\W_]+(?:['’.\-/_]+[^\W_]+)*|[,;:=→>@\[\]()/+|–—-]"
)
_DIGIT: Final = re.compile(r"\d")
_MONTHS: Final = frozenset(MONTHS)
_DAYS: Final = frozenset((*DAYS, *(f"{day}s" for day in DAYS)))
_CURRENCIES: Final = words_of("euro euros dollar dollars pound pounds franc francs kroner eur usd gbp chf € $ £")
_OWN: Final = words_of("i my me mine we our us i'm i've")
_USER: Final = words_of("user user's")
_PRONOUNS: Final = words_of("it they he she")
_OBJECTS: Final = words_of("it them him her")
_POINTING: Final = words_of("this that these those there here such so who which what you your")
_ASKING: Final = words_of("how what where why whose which please what's how's where's")
_ASKS: Final = words_of("can could would will should shall do does did is are was were may who when")
"""First words of a question without its mark."""
_EXAMPLE: Final = re.compile(r"\bfor (?:example|instance)\b|\be\.g\.", re.IGNORECASE)
_NAMED: Final = words_of("person place land name")
"""Kinds of values that are names."""

_TITLES: Final = words_of("dr mr mrs ms prof doctor")
_TYPED: Final = words_of("place name address")
"""Kinds of names of which two that end in one word are names of two entities."""

_PREPOSITIONS: Final = words_of("in on at to from by for with into of as within until about under over through near")
_HOLDERS: Final = words_of("person name")
_PLACING: Final = words_of("in at to into on")
_SINGLE: Final = words_of("is in at to for by on as into until within about under over")
"""Links of a value of which a subject has one at a time; a direct object may be one of several."""

_MEASURED: Final = re.compile(r"(?:money|share|amount|count)\b")
_COPULAS: Final = words_of("is are was were be been am : = → > @")
_SIGNS: Final = frozenset(":=→>@")
_MANY_STEMS: Final = frozenset(map(stem_of, TAKES_MANY))
_LEAD_STEMS: Final = frozenset(map(root_of, words_of("lead manage head run chair maintain supervise coach command")))
_VERBS: Final = words_of("is are was were be been am has have had do does did go goes joined i we you")
_IS_A: Final = frozenset(product(("is", "am", "i'm", "i’m", "now"), ("a", "an")))
_WORK: Final = root_of("work")
_STARTED: Final = frozenset(product(("started", "starts"), ("at", "with")))
"""Words before the name of an employer: "Ada started at Reed Systems"."""

SAME_VERBS: Final[Mapping[str, str]] = {
    **{root_of(word): root_of("live") for word in ("reside", "based", "moved", "relocated", "settled")},
    **{root_of(word): _WORK for word in ("employed", "hired", "job", "trained", "retrained", "qualified")},
}
"""Stems of words by which a clause about a person says where they live or work, and the stem of the usual verb."""

_MANY_NOUNS: Final = frozenset(
    map(
        root_of,
        words_of("""
friend colleague neighbour neighbor classmate roommate brother sister cousin aunt uncle nephew niece son daughter child kid baby cat dog pet
client customer student member user visitor guest example part option thing reason idea one hobby language skill recommendation
question answer book film movie song game class story trip word point case step task issue problem result version today yesterday tomorrow
"""),
    )
)
"""Stems of nouns of which a person may have several."""

_CHANGE_VERBS: Final = frozenset(
    map(
        root_of,
        words_of("""
move change switch migrate relocate upgrade downgrade raise lower increase reduce cut set reassign reschedule postpone push shift appoint
become replace take transfer relocate repaint rename start hand promote extend shorten update bring drop elect name
"""),
    )
)
"""Stems of verbs that say that something has another value from now on."""

_NEW: Final = re.compile(
    r"\b(?:now|new|from now on|as of|since \w+|(?:has|have|was|were|['’]ve|['’]s) (?:\w+ )?"
    r"(?:been )?(?:(?:re)?(?:assigned|named|scheduled|located|painted|placed)|moved|changed|switched|migrated|upgraded|downgraded|raised|"
    r"lowered|increased|reduced|cut|set|postponed|pushed|shifted|appointed|become|taken over|transferred|handed|promoted|extended|elected)"
    r"|moved to|changed to|switched to|(?:got|was|been) hired|(?:re)?trained as|qualified as|joined|"
    r"(?:started|begun|began) (?:\w+ing|at|as|with)|took over|we repainted|"
    r"(?:moved|changed|raised|lowered|cut|set|switched) (?:the|its|their|his|her|our)\b.* to)\b",
    re.IGNORECASE,
)
"""Matches "has been moved to", "is now at"; not "moves the boxes"."""

_OVER: Final = re.compile(
    r"\b(?:no longer|n['’]t\b.*\bany ?more|not\b.*\bany ?more|n['’]t\b.*\bthese days|gave up|given up|stopped|quit|resigned|stepped down|"
    r"has left|have left|moved away from|out of service|discontinued|withdrawn|dropped|cancelled|canceled|removed from|"
    r"taken out of|(?:is|are) gone|has closed|have closed)\b",
    re.IGNORECASE,
)
"""Matches "no longer works for", "has been withdrawn"; not "has not been decided"."""

_ENDING: Final = words_of("""
longer more anymore days gave given stopped quit resigned stepped left moved out discontinued withdrawn dropped cancelled canceled removed
taken gone closed
""")
"""Words of which one is in each clause that withdraws a value."""

_OVER_WORDS: Final = frozenset(
    map(
        root_of,
        words_of("""
longer anymore any more gave give up stop quit resign step down left leave away out discontinue withdraw drop cancel remove take
gone close these days no not don't doesn't isn't aren't
"""),
    )
)
_INSTEAD: Final = re.compile(
    r"(?:,|,? and)\s+not (?:in |at |on |to |as |by )?(?P<old>(?:[^,;:!?]|(?<=\d):(?=\d)){2,40}?)[.!]?$", re.IGNORECASE
)
_SPLITS: Final = re.compile(r"[?\"“”`;]|\b(?:if|unless|so|but|because|who)\b", re.IGNORECASE)
_AND: Final = re.compile(
    r"(?:,|\s+and|,\s+and)\s+(?=(?:the\s+(?:[\w'’-]+\s+){1,4}?|[A-Z][\w'’-]*\s+(?:[A-Z][\w'’-]*\s+)?)(?:is|are|has|[a-z]+s)\s)"
)
"""Matches "I called Ada and the office closes at six", not "I saw Ada and Otto"."""

_NAMES: Final = r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,3}"
_APPOSED: Final = re.compile(
    rf",? (?P<one>{_NAMES}), (?P<role>(?:the|our|my) [a-z][\w -]{{2,40}}?(?: of (?:the )?[\w'’ -]{{2,40}})?)(?=,|$)"
    rf"|\b(?P<also>(?:[Tt]he|[Oo]ur|[Mm]y) [a-z][\w-]*(?: [a-z][\w-]*){{0,2}}(?: of (?:the )?{_NAMES})?), (?P<other>{_NAMES})(?=,|$)"
)
"""Matches ", the captain of the Aurora" after a name, and "our dentist, Ada Lind,"."""

_MINE: Final = re.compile(r"\b(?:[Mm]y|[Oo]ur) ([\w-]+)(?: ([\w-]+))?")
_BY_SPEAKER: Final = re.compile(r"(?:I|We|i|we)(?:['’]\w+)? ")
_ENDS_IN_NAME: Final = re.compile(r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*$")
_PASSING: Final = PASSING - {"this"} | words_of("once usually mostly")
_AT_ONE_TIME: Final = frozenset(
    product(("this",), words_of("morning afternoon evening weekend week month quarter term season year"))
)
_LIGHT: Final = frozenset(
    map(
        root_of,
        words_of("""
now currently presently new old last next week month year day today yesterday tomorrow ago recently just please ok okay moment monday
tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december
have has had get got gets give given come goes let lets need effective immediately officially finally another other over as its
"""),
    )
)


def relation_names(text: str) -> list[str]:
    """Return the verbs and nouns of a text with their prepositions: "lives in"; a verb of the speaker in the third person."""
    words = [fold(token) for token in _TOKEN.findall(text)]
    found: list[str] = []
    for before, word, link in zip(["", *words], words, words[1:], strict=False):
        if link in _SINGLE - _COPULAS and word.isalpha() and word not in GRAMMAR:
            own = before in ("i", "we") and not word.endswith("s")
            found.append(f"{word}{'s' * own} {link}")
    return list(dict.fromkeys(found))


class OtherStatedValue(NamedTuple):
    """Two clauses that give one subject another value: the words that they share, and those of the relation.

    ``sure`` is whether they share a word of the relation, ``figures`` whether the values are figures, and ``named`` whether they share a
    name. ``old`` are the words of the earlier value if it is a name.
    """

    shared: frozenset[str]
    relation: frozenset[str]
    sure: bool
    figures: bool
    named: bool = False
    old: tuple[str, ...] = ()


@lru_cache(maxsize=4_096)
def read_propositions(text: str) -> tuple[Proposition, ...]:
    """Parse the clauses of a text that state a value, or withdraw one."""
    found: list[Proposition] = []
    corrects = False
    last = ahead = ""
    for sentence, clause in _clauses(text):
        if sentence != last:
            last, ahead = sentence, ""
        lead = CORRECTS.match(clause)
        corrects = corrects or lead is not None
        clause = clause[lead.end() :] if lead else clause
        if not clause.strip():
            continue
        if clause.startswith("who ") and (named := _ENDS_IN_NAME.search(ahead)):
            clause = f"{named[0]} {clause.removeprefix('who ')}"
        if (one := _read(sentence, clause, ahead, corrects=corrects)) is not None:
            found.append(one)
        corrects, ahead = False, clause
    return tuple(found)


def _clauses(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence of a text with its clauses; a short sentence is one clause, whatever signs join its words."""
    for sentence, clauses in groupby(stated_clauses(text), key=itemgetter(0)):
        parts = [clause for _, clause in clauses]
        if len(parts) > 1 and not _SPLITS.search(sentence) and len(sentence.split()) <= _SHORT:
            parts = [sentence]
        for part in parts:
            for held in _APPOSED.finditer(part) if ", " in part else ():
                yield sentence, f"{held['one'] or held['other']} is {held['role'] or held['also']}"
            yield from ((sentence, one) for one in (_AND.split(part, 1) if _BY_SPEAKER.match(part) else [part]))


def _read(sentence: str, clause: str, ahead: str, *, corrects: bool) -> Proposition | None:
    if len(clause) > _LONGEST:
        return None
    clause = without_tail(without_lead(clause))
    old = _INSTEAD.search(clause)
    stated = join_thousands(clause[: old.start()] if old else clause)
    tokens = _TOKEN.findall(stated)
    if not (1 if old else 2) <= len(tokens) <= _MOST_WORDS:
        return None
    words = stated.lower() if stated.isascii() else ""
    words = _TOKEN.findall(words) if words else [fold(token) for token in tokens]
    opening = words[0].replace("’", "'").partition("'")[0]  # "there's" is about "there"
    begins = opening in _PRONOUNS
    points = begins or (bool(ahead) and not _OBJECTS.isdisjoint(words))
    if opening in _POINTING | _ASKS or (begins and not ahead) or words[1:2] == ["me"] or not _ASKING.isdisjoint(words):
        return None
    over = not _ENDING.isdisjoint(words) and _OVER.search(stated) is not None
    if not over and not (NEGATIONS.isdisjoint(words) and DENIALS.isdisjoint(words)):
        if not corrects or NEGATIONS.isdisjoint(words):
            return None
        over = True  # "Correction: the allergy is not Bela's"
    holds = is_present(stated)
    if _EXAMPLE.search(stated) or (not holds and is_open(stated)):
        return None
    holds = holds and _PASSING.isdisjoint(words) and not any(pair in _AT_ONE_TIME for pair in pairwise(words))
    inner = not sentence.startswith(clause[:_SHORT])
    if inner and tokens[0].islower() and (words[0] in IRREGULAR or words[0].endswith("ed")):
        return None  # a verb whose subject is in another clause
    if "`" in sentence and _is_verbless(words):
        return None
    several = _has_several(tokens, words) or words[0] in ("a", "an") or "one of" in stated.lower()
    if over:
        tokens, words = _without_end(tokens, words)
    values, content, plain = _parts(tokens, words, over=over)
    if verb := _relation_of_person(words, values, content, plain):
        kept = [n for n, stemmed in enumerate(content) if SAME_VERBS.get(stemmed) != verb]
        content, plain = (verb, *(content[n] for n in kept)), (verb, *(plain[n] for n in kept))
    if len(values) > _MOST_VALUES or (not values and not content):
        return None
    new = _NEW.search(clause) is not None
    dropped = [fold(w) for w in _TOKEN.findall(old["old"])] if old else []
    if new and not over and any(value.link == "from" for value in values):
        dropped += [word for value in values if value.link == "from" for word in value.words]
        values = tuple(value for value in values if value.link != "from")
    corrected = corrects or old is not None
    labelled = len(values) == len(content) + 1 == 2 and values[0].link == "subject" and values[1].link == "is"
    states = several or over or corrected or new or labelled or not (_is_verbless(words) and _SIGNS.isdisjoint(words))
    if not states and all(v.kind in _NAMED for v in values):
        return None  # an order, a heading: "Lend Ada the drill", "Alarm at Oil Jetty"
    if wrong := tuple(w for w in dropped if w not in GRAMMAR):
        values = (*values, Slot(wrong, "not"))
    return Proposition(
        0,
        Span(sentence, stated),
        "user" if not _USER.isdisjoint(words) else "i" if not _OWN.isdisjoint(words) else "",
        ClauseSubject(_first(words), _referent(ahead) if points else frozenset()),
        ClauseRelation(content, plain, several),
        values,
        "withdrawn" if over else "asserted",
        "corrected" if corrected else "stated",
        "new" if new and not (over or corrected) else "" if holds else "past",
    )


def _referent(text: str) -> frozenset[str]:
    """Return the words of the last name or figure of a clause, else the roots of its last words after an article."""
    tokens = _TOKEN.findall(text)
    words = [fold(token) for token in tokens]
    starts = [n for n in range(len(words)) if _is_value(tokens[n], words[n], first=n == 0)]
    if starts:
        first = next(n for n in reversed(starts) if n - 1 not in starts)
        return frozenset(words[first : _end_of_value(tokens, words, first)])
    after = max((n for n, word in enumerate(words) if word in _DETERMINERS), default=-1)
    kept = takewhile(lambda word: word not in _PREPOSITIONS, words[after + 1 :])
    return frozenset(root_of(word) for word in kept if _is_content(word))


def _relation_of_person(
    words: Sequence[str], values: Sequence[Slot], content: Sequence[str], plain: Sequence[str]
) -> str:
    """Return the stem of the verb that a clause about a person expresses otherwise: "liv" of "Ada moved to Oslo"; empty if none."""
    if not (_OWN | _USER).isdisjoint(words) or (values and values[0].link == "subject" and values[0].kind in _NAMED):
        placed = any(value.link in _PLACING and value.kind in ("place", "name") for value in values)
        for word in words:
            if (verb := SAME_VERBS.get(root_of(word))) and verb not in content and (placed or verb == _WORK):
                return verb
        if plain and is_profession(plain[-1]) and any(pair in _IS_A for pair in pairwise(words)):
            return _WORK
    return ""


def _first(words: Sequence[str]) -> str:
    return next((root_of(word) for word in words if _is_content(word)), "")


def _is_content(word: str) -> bool:
    return word not in GRAMMAR and word[0].isalnum() and CONTRACTED.match(word) is None


def _has_several(tokens: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether words join several values; "and" between names at the beginning joins subjects."""
    at = 1 if words[1:2] == ["and"] and tokens[0][0].isupper() and tokens[2:3] and tokens[2][0].isupper() else -1
    return any(word in SEVERAL for n, word in enumerate(words) if n != at)


def _without_end(tokens: Sequence[str], words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the tokens of a clause without "out of" and the word after it ("out of service")."""
    at = next((k for k in range(len(words) - 2) if words[k : k + 2] == ["out", "of"]), len(words))
    return (*tokens[:at], *tokens[at + 3 :]), [*words[:at], *words[at + 3 :]]


def _parts(
    tokens: Sequence[str], words: Sequence[str], *, over: bool
) -> tuple[tuple[Slot, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the names and figures of a clause, and the stems and forms of its other words of content."""
    values: list[Slot] = []
    content: list[str] = []
    plain: list[str] = []
    n, link, since, broken = 0, "", 0, False
    verbless = _is_verbless(words)
    while n < len(tokens):
        end = n if broken else _end_of_value(tokens, words, n)
        broken = n < end < len(tokens) and tokens[end].isalpha() and _is_value(tokens[end], words[end], first=False)
        if end > n:
            first = not values and len(content) < 2 and link in ("", "of")
            if list(words[end : end + 1]) in (["is"], ["was"]) and words[end + 1 : end + 2] in (
                ["the"],
                ["my"],
                ["our"],
            ):
                link = "is"  # "Ada is the captain of the crew"
            elif first and not link and (not (verbless and content) or words[end : end + 1] == ["is"]):
                link = "subject"
            elif verbless and content and not link:
                link = "is"
            unit = words[end] if end < len(words) else ""
            joins = MEMBERSHIPS.isdisjoint(words[n:end]) and not is_given(words[n]) and not words[n][0].isdigit()
            if words[end : end + 1] == ["as"] and n and root_of(words[n - 1]) in _CHANGE_VERBS:
                link = "is"  # "has appointed Ada as chair"
            if joins and words[n - 1 : n] == ["joined"]:
                link, content[-1:] = "for", [_WORK]
            elif joins and tuple(words[n - 2 : n]) in _STARTED and values and values[0].link == "subject":
                link, content, plain = "for", [*content, _WORK], [*plain, "work"]
            nearest = content[-1] if content else ""
            if link == "is" and end == len(words) and words[end - 1].endswith(("'s", "’s")):
                words = [*words[: end - 1], words[end - 1][:-2]]  # "is not Ada's"
            values.append(Slot(tuple(words[n:end]), link, _kind(tokens[n:end], words[n:end], unit), nearest))
            n, link, since = end, "", 0
            continue
        word = words[n]
        if word in _PREPOSITIONS:
            link, since = word, 0
        elif word in _COPULAS:
            link, since = "is", 0
        elif word not in _TITLES and _is_content(word):
            since += 1
            link = link if since == 1 else ""  # "on port 8080"
            stemmed = root_of(word.removesuffix("'s").removesuffix("’s"))
            if stemmed not in _LIGHT and stemmed not in _CHANGE_VERBS and not (over and stemmed in _OVER_WORDS):
                content.append(stemmed)
                plain.append(word)
        n += 1
    first = content[0] if content else ""
    named = tuple(value._replace(relation=first) if value.link == "is" else value for value in values)
    return named, tuple(content), tuple(plain)


def _is_verbless(words: Sequence[str]) -> bool:
    verbs = (_is_third_person(word) or CONTRACTED.match(word) for word in words)
    return _VERBS.isdisjoint(words) and not any(verbs) and words[1:2] != ["and"]


def _is_third_person(word: str) -> bool:
    """Return whether a word may be a verb in the present: "leads"; plural nouns are as well."""
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "'s", "us", "is")) and word.isalpha()


def _end_of_value(tokens: Sequence[str], words: Sequence[str], n: int) -> int:
    """Return the end of the name or figure that begins at a token; ``n`` if none begins there."""
    end = n
    while end < len(tokens) and (
        _is_value(tokens[end], words[end], first=end == 0)
        or (tokens[end] == "May" and end > n and tokens[end - 1].isdigit())
    ):
        acronym = end > n and len(words[end]) > 1 and tokens[end].isupper() and tokens[end].isalpha()
        if acronym and end + 1 < len(tokens) and (tokens[end + 1][0].isupper() or tokens[end + 1] in _SIGNS):
            break  # "Kestrel Systems CEO Ada Lind"
        if end > n and words[end - 1].isalpha() and words[end - 1] not in _MONTHS and _measures(words, end):
            break  # "Lantern 96,000 euros"
        end += 1
    return n if end == n + 1 and words[n] in _MONTHS else end


def _measures(words: Sequence[str], n: int) -> bool:
    """Return whether a word begins an amount, a time or a share, which is no part of a name."""
    unit = words[n + 1] if n + 1 < len(words) else ""
    return words[n][0] in "€$£" or (
        words[n][0].isdigit() and (words[n][-1] == "%" or ":" in words[n] or unit in _CURRENCIES or is_unit(unit))
    )


def _is_value(token: str, word: str, *, first: bool) -> bool:
    if not token.isalpha() and _DIGIT.search(token):
        return True
    if (
        not token[0].isupper()
        or word in GRAMMAR
        or word in _TITLES
        or word in _OWN | _USER
        or word.startswith(("i'", "i’"))
    ):
        return False
    if len(word) == 1:
        return False
    bare = word.removesuffix("'s")
    return not first or is_given(bare) or (not is_plain(bare) and (len(bare) >= _KNOWN or token.isupper()))


def _kind(tokens: Sequence[str], words: Sequence[str], unit: str) -> str:
    """Return the kind of a name or figure: two values of different kinds are no values of one relation."""
    figure = any(c.isdigit() for token in tokens for c in token)
    if not _MONTHS.isdisjoint(words) and figure:
        return "date"
    if all(word in _DAYS for word in words):
        return "day"
    if not figure:
        if is_given(words[0]):
            return "person"
        names = known_names()
        name = " ".join(words)
        return "land" if name in names.lands else "place" if name in names.places else "name"
    if len(tokens) > 1 and any(token[0].isupper() for token in tokens):
        return "address"
    if ":" in words[0] or unit in ("am", "pm", "o'clock"):
        return "time"
    if unit in _CURRENCIES or words[0][0] in "€$£":
        return "money"
    if words[0].endswith("%"):
        return "share"
    if is_unit(unit):
        return f"amount {stem_of(unit)}"
    if unit and unit.isalpha() and unit not in GRAMMAR and words[0].replace(",", "").isdigit():
        return f"count {stem_of(unit)}"
    return "version" if words[0].count(".") > 1 else "code"


def other_stated_value(earlier: Proposition, later: Proposition) -> OtherStatedValue | None:
    """Return the words by which two clauses give one subject another value; None if both may be true.

    The earlier one states a value in the present. The later one does so too, says that its value is new, corrects one or withdraws it.
    """
    if earlier.relation.several or later.relation.several:
        return None
    own = bool(earlier.speaker and later.speaker)
    if earlier.polarity == "withdrawn" or earlier.time == "past" or (later.time == "past" and not later.is_news):
        return None
    if later.polarity == "withdrawn":
        return _withdrawn(earlier, later)
    if later.old.issuperset(later.relation.words) and later.old:
        return _exchanged(earlier, later)
    mine, theirs = _apart(earlier, later), _apart(later, earlier)
    if mine is None or theirs is None or (not later.old and not _are_paired(mine, theirs, new=later.is_news)):
        return None
    left, more = _left(earlier, later), _left(later, earlier)
    both = frozenset(earlier.relation.stems) & frozenset(later.relation.stems)
    if any(
        len(one.subject.context & other.known) < min(len(one.subject.context), _REFERENT)
        for one, other in ((earlier, later), (later, earlier))
    ):
        return None
    names = frozenset(word for value in earlier.values if value not in mine for word in value.words) & later.known
    if bool(earlier.speaker) != bool(later.speaker) and not (names and (mine or later.is_news)):
        return None  # "I live in Oslo", "The office is in Ghent"
    pointed = earlier.known & later.subject.context | later.words & earlier.subject.context
    if later.old:
        known = {*earlier.words, *earlier.relation.words}
        if not later.old <= known or not (names - later.old or own or both):
            return None
        if any(later.old.isdisjoint(value.words) for value in mine):
            return None
        if left and more and later.mood != "corrected" and are_apart(earlier.span.clause, later.span.clause):
            return None  # "The invoicing service", "the billing service"
        figures, left, more = bool(mine) and mine[0].kind not in _NAMED, frozenset[str](), frozenset[str]()
    elif mine:
        one, other = mine[0], theirs[0]
        hold = _are_holders(earlier, one, other, both)
        if not _are_rivals(one, other, same=hold or not (left or more)) or not (
            (later.mood == "corrected" and (one.kind != "code" or "subject" not in (one.link, other.link)))
            or (_is_single(one) and _is_single(other))
            or hold
        ):
            return None
        linked_otherwise = one.link != other.link and "" not in (one.link, other.link)
        if linked_otherwise and not (hold or left or more or earlier.is_news or later.is_news):
            return None
        if one.link == "for" and any(value.link == "is" and value not in mine for value in earlier.values):
            return None  # "The contact for Reed is Ada", "The contact for Holm is Ada"
        figures = one.kind not in _NAMED
    elif _are_words_apart(earlier, later, left, more, names):
        figures, left, more = False, frozenset[str](), frozenset[str]()
    else:
        return None
    first = earlier.subject.first
    of_one = later.is_news and mine and first == later.subject.first and first in both
    if (
        not (names or own or of_one or len(both | pointed) > 1 or _are_labels(earlier, later))
        or max(len(left), len(more)) > _LEFT
    ):
        return None
    if not (figures or later.mood == "corrected") and not _MANY_STEMS.isdisjoint(
        map(stem_of, (*earlier.relation.words, *later.relation.words))
    ):
        return None
    if any(value.link == "is" and value.kind in _NAMED for value in (*mine, *theirs)) and not _MANY_NOUNS.isdisjoint(
        both
    ):
        return None
    if own and not (left | more).isdisjoint(_possessed(earlier) | _possessed(later)):
        return None  # "I live in Oslo", "My sister lives in Ghent"
    if (
        left
        and more
        and not (later.is_news and (later.mood == "corrected" or (both and max(len(left), len(more)) == 1)))
    ):
        return None
    if left and more and are_apart(earlier.span.clause, later.span.clause):
        return None
    sure = bool(both) or not (left or more)
    if not sure and not (later.is_news and names and (later.mood == "corrected" or _may_replace(mine, theirs))):
        return None
    relation = {value.relation for value in (*mine, *theirs)}
    old = next((value.words for value in mine if value.kind in _NAMED), ())
    return OtherStatedValue(
        both | pointed | names,
        frozenset(relation) if len(relation) == 1 else both,
        sure,
        figures,
        any(value not in mine and not names.isdisjoint(value.words) for value in earlier.values),
        old,
    )


def _exchanged(earlier: Proposition, later: Proposition) -> OtherStatedValue | None:
    """Return the words of a value that a clause without a subject calls wrong ("Ghent, not Oslo"); None if the other does not state it."""
    own = later.old.difference(later.relation.words)  # "Room 4, not room 2"
    wrong = [value for value in earlier.values if own and own <= {*value.words}]
    if not earlier.known.issuperset(map(root_of, later.relation.words)):
        return None
    if len(wrong) != 1 or len(later.values) != 1 or not _are_rivals(wrong[0], later.values[0], same=True):
        return None
    return OtherStatedValue(later.old, frozenset((wrong[0].relation,)), sure=False, figures=wrong[0].kind not in _NAMED)


def _are_paired(mine: Sequence[Slot], theirs: Sequence[Slot], *, new: bool) -> bool:
    """Return whether two clauses differ in one value at most, or if the later one is ``new`` in several, each with a rival in its place."""
    several = new and all(
        one.link in _SINGLE and _are_rivals(one, other, same=False) for one, other in zip(mine, theirs, strict=False)
    )
    return len(mine) == len(theirs) and (len(mine) < 2 or several)


def _possessed(one: Proposition) -> frozenset[str]:
    """Return the stems of the words after "my" and "our"."""
    return frozenset(root_of(fold(word)) for pair in _MINE.findall(one.span.clause) for word in pair)


def _apart(one: Proposition, other: Proposition) -> list[Slot] | None:
    """Return the names and figures that another clause lacks; None if it has a part of one."""
    found: list[Slot] = []
    known = other.known
    for value in one.values:
        shared = sum(word in known for word in value.words)
        if not shared:
            found.append(value)
        elif shared < len(value.words):
            last = value.words[-1]
            typed = value.kind in _TYPED and shared == 1 and last in known
            numbered = shared == len(value.words) - 1 and last not in known and last[0].isdigit()
            if not (typed or numbered) and value.kind not in ("date", "code"):
                return None
            found.append(value)  # "Mill Street", "Canal Street"; "Postgres 14", "Postgres 16"; "4 June", "6 June"
    return found


def _left(one: Proposition, other: Proposition) -> frozenset[str]:
    """Return the stems of content that another clause lacks."""
    return frozenset(one.relation.stems) - other.known


def _are_rivals(one: Slot, other: Slot, *, same: bool) -> bool:
    """Return whether two values are of one kind; a name may be a place, and a person if all other words are the ``same``."""
    kinds = {one.kind, other.kind}
    return len(kinds) == 1 or kinds in ({"place", "name"}, {"day", "date"}) or (same and kinds == {"person", "name"})


def _is_single(value: Slot) -> bool:
    """Return whether a value is no subject, nor one of several objects ("a present for Ada")."""
    if value.link == "for" and value.kind == "person":
        return False
    if value.link == "of":
        return _MEASURED.match(value.kind) is not None
    return value.link in _SINGLE or (value.link == "" and value.kind not in _NAMED)


def _are_holders(earlier: Proposition, one: Slot, other: Slot, both: frozenset[str]) -> bool:
    """Return whether two values name who does one thing ("Ada manages the mill.", "The manager of the mill is Otto.").

    The verb is one of leading, or one clause names its noun with a definite article.
    """
    if not {one.kind, other.kind} <= _HOLDERS or not {one.link, other.link} <= {"subject", "is", "by"}:
        return False
    if "is" in (one.link, other.link):
        return one.link != other.link and any(value.link == "is" and value.relation in both for value in (one, other))
    led = one.link == other.link and any(value.link == "by" for value in earlier.values)
    return not (led or _LEAD_STEMS.isdisjoint(earlier.relation.stems))


def _are_labels(earlier: Proposition, later: Proposition) -> bool:
    """Return whether two clauses are one label with a value each ("home: Oslo", "home: Turin")."""
    (label, *more), values = earlier.relation.words or ("",), earlier.values
    plain = (
        not (more or label.endswith("s"))
        and earlier.span.clause[0].isalpha()
        and len(values) == 1
        and values[0].link == "is"
        and not earlier.speaker
    )
    return plain and earlier.relation.words == later.relation.words and not (is_past(label) or label in GRAMMAR)


def _may_replace(mine: Sequence[Slot], theirs: Sequence[Slot]) -> bool:
    """Return whether a value may be replaced though the relation is worded otherwise: persons, or places after a preposition of place."""
    if not mine:
        return False
    (one,), (other,) = mine, theirs
    if one.kind != other.kind and "person" in (one.kind, other.kind):
        return False
    if one.kind in ("person", "money", "time", "date", "day", "version", "address"):
        return True
    return one.kind in ("place", "name") and one.link in _PLACING - {"to"} and other.link in _PLACING


def _are_words_apart(
    earlier: Proposition, later: Proposition, left: frozenset[str], more: frozenset[str], names: frozenset[str]
) -> bool:
    """Return whether all that two clauses differ in are words that exclude each other, or that a correction exchanges."""
    a, b = (
        [word for word, stemmed in zip(side.relation.words, side.relation.stems, strict=True) if stemmed in own]
        for side, own in ((earlier, left), (later, more))
    )
    if later.is_news and names:  # "The status of the job is queued", "The job has been set to done"
        a = [*dropwhile(lambda word: not _is_linked(earlier.span.clause, word), a)]
    if not 0 < len(a) <= _LARGEST_WORDS or not 0 < len(b) <= _LARGEST_WORDS:
        return False
    if not all(_is_linked(side.span.clause, words[0]) for side, words in ((earlier, a), (later, b))):
        return False
    rest, other = (frozenset(side.relation.stems) - own for side, own in ((earlier, left), (later, more)))
    alike = other <= rest if names else other == rest and earlier.subject.first == later.subject.first
    if later.time == "new" and other and alike:
        return True
    are_jobs = is_profession(a[-1]) and is_profession(b[-1])
    if are_jobs or exclusion(a[-1], b[-1]) is not None or exclusion("_".join(a), "_".join(b)) is not None:
        return [w for w in earlier.relation.stems if w not in left] == [
            w for w in later.relation.stems if w not in more
        ]
    return later.mood == "corrected" and bool(frozenset(earlier.relation.stems) & frozenset(later.relation.stems))


def _is_linked(text: str, word: str) -> bool:
    """Return whether a word follows a form of *be*, a sign or a preposition of one value, apart from an article."""
    written = text.lower().replace("[", ": ")
    before = re.search(rf"(\S+)\s+(?:(?:a|an|the|my|our)\s+)?{re.escape(word)}\b", written)
    return before is not None and (
        before[1][-1] in ":=→>" or before[1] in _SINGLE | _COPULAS or before[1].endswith(("'m", "’m"))
    )


def _withdrawn(earlier: Proposition, later: Proposition) -> OtherStatedValue | None:
    """Return the words by which a later clause withdraws what an earlier one states; None if it does not."""
    if _apart(later, earlier) != []:
        return None
    both = frozenset(later.relation.stems) & earlier.known
    names = frozenset(word for value in later.values for word in value.words)
    known = sum(not earlier.words.isdisjoint(value.words) for value in later.values)
    may_miss = 1 if known + len(both) > 2 or known > 1 else 0
    own = bool(earlier.speaker and later.speaker)
    if known + len(both) < 2 - own or not (known or own):
        return None
    if len(_left(later, earlier)) > may_miss:
        return None
    return OtherStatedValue(both | names, both, sure=True, figures=False)


_TEMPORARY: Final = PASSING | SEVERAL | words_of("usually mostly normally during throughout temporarily")
"""Words with which a statement may hold at some times only."""

_WHEN_NEWS: Final = words_of("last ago recently lately yesterday today again")
"""Words that say when something changed, and do not limit how long it holds."""


def exchanges_one_value(earlier: str, later: str) -> bool:
    """Return whether all that two statements differ in is one value of one kind, or two words that exclude each other.

    Each is one clause. The values are names or figures of one kind ("Ada", "Otto"; "17:00", "18:00") that share no word and stand in one
    place. Names of no known kind are no common words ("Swedish"). Words beside the value ("in winter", "until Sunday", "as old as") may
    limit it or make it another statement.
    """
    one, other = read_propositions(earlier), read_propositions(later)
    if len(one) != 1 or len(other) != 1 or len(sentences(earlier)) != 1 or len(sentences(later)) != 1:
        return False
    (a,), (b,) = one, other
    if "withdrawn" in (a.polarity, b.polarity) or a.relation.several or b.relation.several or a.time == "past":
        return False
    words, others = ([fold(token) for token in _TOKEN.findall(text)] for text in (earlier, later))
    if not _TEMPORARY.isdisjoint(words) or not (_TEMPORARY - _WHEN_NEWS if b.is_news else _TEMPORARY).isdisjoint(
        others
    ):
        return False
    mine, theirs = _apart(a, b), _apart(b, a)
    if mine is None or theirs is None or len(mine) > 1 or len(mine) != len(theirs):
        return False
    if not mine:
        gone, new = (
            [w for w in some if w not in rest and w not in _LIGHT] for some, rest in ((words, others), (others, words))
        )
        return len(gone) == len(new) == 1 and exclusion(gone[0], new[0]) is not None
    x, y = mine[0], theirs[0]
    placed = {x.link, y.link} <= _PLACING
    if _left(a, b) or _left(b, a) or not (placed or x.link == y.link):
        return False
    if "name" not in (x.kind, y.kind):
        return x.kind == y.kind
    if {x.kind, y.kind} == {"name", "person"} and 1 in (len(x.words), len(y.words)):
        return False  # "is Ada Lind", "is Lutheran"
    kinds = {"name", "person", *(("place",) if placed else ())}
    return {x.kind, y.kind} <= kinds and all(
        value.kind != "name"
        or any(word in TERMS or not (is_plain(word) if placed else is_word(word)) for word in value.words)
        for value in (x, y)
    )


# Tasks: a task, an intention or a plan states nothing of the present, so two of them exclude each other only if they are one task at two
# times, in two amounts or with two results. "We need to renew the certificate of the portal." and "… of the shop." are two tasks.

_TASK: Final = re.compile(
    r"^\s*(?:(?:[-*+•]\s+)?\[ ?\]\s*|(?:[-*+•]\s+)?(?:to-?do\b:?|(?:to do|fixme|tasks?|action items?|next steps?):)\s*)?"
    r"(?:(?:please,? |(?:please )?(?:remember|do not forget|don['’]t forget|make sure|be sure) to |let['’]s |let us )"
    r"|(?:i|we|the user|user|(?P<who>(?-i:[A-Z][\w'’-]*)))(?: (?:still|also|really|just))? "
    r"(?:(?:needs?|ha(?:ve|s)|wants?|plans?|intends?|ought|(?:am|are|is) going|would like) to|must|should|will) "
    r"|(?:i|we)['’](?:ll|d like to) )?",
    re.IGNORECASE,
)
"""Words before the verb of a task. Matches "TODO: ", "- [ ] ", "We still need to ", "Remember to "; of "The hall must " nothing."""

_STATIVE: Final = words_of("be have use keep stay remain own live know mean contain cost last")
"""Verbs with which an obligation states a rule or a state: "Orders must be sent to Ada.", "We have to keep all logs"."""

_STATES: Final = words_of("is are was were has if that") | NEGATIONS | DENIALS
_DETERMINERS: Final = words_of("the a an my our your his her their this these")
_INTO: Final = words_of("to into as")
_CLOCK: Final = words_of(
    "am pm o'clock noon midnight morning mornings afternoon evening evenings night spring summer autumn winter"
)


def are_other_tasks(one: str, other: str) -> bool:
    """Return whether two texts are tasks with one verb that differ in their object only, so that both may be open.

    The object may be named by a number ("room 4"). Tasks that differ in a time, an amount, a denial, or in the value that something gets
    ("move the desk to the hall") are not other tasks, nor is a text that states more than its task.
    """
    a, b = _task(one), _task(other)
    if a is None or b is None or stem_of(a[0]) != stem_of(b[0]) or a == b:
        return False
    start = shared_beginning(a, b)
    ends = shared_end(a[start:], b[start:])
    mine, theirs = (range(start, len(side) - ends) for side in (a, b))
    if not mine or not theirs:
        return False
    before = next((word for word in reversed(a[:start]) if word not in _DETERMINERS), "")
    if before in _INTO and root_of(a[0]) in _CHANGE_VERBS:
        return False
    if any(_limits(side, n) for side, span in ((a, mine), (b, theirs)) for n in span):
        return False
    groups = [{group for n in span for group in EXCLUSIVE.get(side[n], ())} for side, span in ((a, mine), (b, theirs))]
    follows = a[len(a) - ends] if ends else ""
    return groups[0].isdisjoint(groups[1]) or (bool(follows) and _is_content(follows))  # "the east wing", "blue"


@lru_cache(maxsize=4_096)
def _task(text: str) -> tuple[str, ...] | None:
    """Return the folded words of a task from its verb on; None for a text that is no single task."""
    if len(text) > _LONGEST or text.rstrip().endswith("?") or len(sentences(text)) != 1:
        return None
    lead = _TASK.match(text)
    if lead is not None and lead["who"] and not is_given(fold(lead["who"])):
        lead = None  # "Visitors must ring" is a rule
    marked = lead is not None and bool(lead[0].strip())
    words = tuple(fold(word) for word in _TOKEN.findall(text[lead.end() if lead else 0 :]))
    if not 1 < len(words) <= _MOST_WORDS:
        return None
    verb = words[0]
    if not verb.isalpha() or verb in GRAMMAR or verb in _STATIVE or not (marked or words[1] in _DETERMINERS):
        return None
    return words if _STATES.isdisjoint(words) and may_be_imperative(verb) else None


def _limits(words: Sequence[str], n: int) -> bool:
    """Return whether a word of a task is a time or an amount; a number after a noun names one of several ("room 4")."""
    word = words[n]
    if (
        word in _DAYS | _MONTHS | _CLOCK | _CURRENCIES | PASSING | NEGATIONS
        or ":" in word
        or word in ("always", "every")
    ):
        return True
    if word[0] in "€$£" or word.endswith("%"):
        return True
    if not (word[0].isdigit() or word in CARDINALS or word in TENS):
        return False
    before, after = words[n - 1], words[n + 1] if n + 1 < len(words) else ""
    names = n > 1 and before.isalpha() and _is_content(before) and before not in _MONTHS
    return not names or (after.isalpha() and (is_unit(after) or _is_content(after) or after in _CLOCK))
