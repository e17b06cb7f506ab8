"""Relations that plain statements give, such as a place of residence, and the topic under which a memory is put."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from slowwave.text import prefilter
from slowwave.text.clauses import stated_clauses
from slowwave.text.exclusions import is_profession
from slowwave.text.names import is_given, is_plain, is_written_large
from slowwave.text.sentences import sentences
from slowwave.text.statements import stem
from slowwave.text.subjects import CONTRACTED, STOPS, WORD, is_open, is_own, matter, persons, without_later
from slowwave.text.tokens import fold, normalise_name
from slowwave.text.words import words_of

# Plain statements of a relation with one object: where someone lives and works, who leads something, what something is called.
#
# Present statements and changes are parsed ("moved to", "now"), clause by clause, but no questions, hypotheses, negations, wishes or past
# statements. A pattern begins at a subject and takes the object; unclear clauses are ignored. Linear in the text.

SELF: Final = "i"
"""The subject of statements by speakers about themselves."""

_SHORT: Final = 4  # minimum length in letters of a word that the lexicon would contain
_MOST_WORDS: Final = 6  # of an object


class StatedRelation(NamedTuple):
    """Folded subject, relation and single object of a statement; ``change`` means that the statement calls it new."""

    subject: str
    relation: str
    object: str
    change: bool


_WORD: Final = r"(?!(?:is|are|am|was|were|be|been|has|have|had|will|now|just|still|and|to|not|also|never|always)\b)[a-z][\w-]{1,20}"
_NAME: Final = r"[A-Z][\w'’.-]{0,30}"
_SUBJECT: Final = (
    rf"^(?P<subject>I|(?:[Tt]he |[Oo]ur |[Mm]y ){_WORD}(?: {_WORD}){{0,2}}|user|"
    rf"(?:[Tt]he )?{_NAME}(?: (?:(?:de|da|di|van|von|der|del|la|al) )?{_NAME}| \d[\w-]{{0,12}}){{0,3}})"
    r"(?: (?:now|currently|still|just|recently|already|has|have|had|is|am|are|been|officially|be)){0,3} "
)
_OBJECT: Final = r"(?P<object>[^,.;:!?()\n]{1,80})"
_THING: Final = rf"(?=the |our |[A-Z]){_OBJECT}"
_FROM: Final = r"(?: from [^,.;]{1,40}?)?"

_A: Final = r"(?:a|an) "
_IS_ONE: Final = r"(?=I (?:now |currently )?(?:a|an) |.{1,80}? (?:is|am) (?:now |currently )?(?:a|an) )"
_PROFESSION: Final = r"(?P<object>(?:[a-z]+ ){0,2}[a-z]+)(?= (?:at|for|in|now|these|and)\b|[,.;!]|$)"

_LIVES: Final = "lives?|living|resides?|residing|based"
_WORKS: Final = "works?|working|employed"
_JOINS: Final = (
    "(?:started|began)(?: working| a(?: new)? job)? at|(?:got |was |been )?hired by|"
    "(?:signed on|took a(?: new)? job|found a(?: new)? job) (?:at|with)"
)
_LEADS: Final = "leads?|manages?|heads?(?: up)?|runs?|chairs?|maintains?|supervises?|coach(?:es)?"
_POSTS: Final = "lead|leader|manager|head|ceo|cto|cfo|owner|maintainer|chair|director|captain|coach"
_SCHOOL: Final = (
    r"(?=[^,.;]*\b(?:[Ss]chool|Primary|Academy|College|[Kk]indergarten|[Nn]ursery|Grammar|University)\b)"
    rf"(?P<object>{_NAME}[^,.;:!?()\n]{{0,60}})"
)
_DUE: Final = "due|scheduled|set|planned"
_PUT: Final = "postponed|rescheduled|pushed back|brought forward"
_DUE_DATE: Final = (
    rf"^(?:The )?(?:[Dd]ue date|[Dd]eadline) (?:of|for) (?P<subject>[^,.;:!?]{{2,40}}?) (?:was|has been|is) "
    rf"(?:{_PUT}|pushed|moved|extended|changed){_FROM} (?:to|until) {_OBJECT}"
)


class _Pattern(NamedTuple):
    """Pattern of sentences that state a relation.

    With ``turned`` the object of the sentence is the subject of the relation. With ``change`` the verb implies that the relation is new.
    ``accepts`` returns whether an object, as written, fits the relation; None accepts all objects.
    """

    relation: str
    sentence: re.Pattern[str]
    turned: bool = False
    change: bool = False
    accepts: Callable[[str], bool] | None = None


def _is_job(said: str) -> bool:
    return is_profession(_object(said))


def _is_named(said: str) -> bool:
    """Return whether an object is a name, as places are: "moved to Bergen", not "moved to marketing"."""
    return _THE.sub("", said)[:1].isupper()


def _is_employer(said: str) -> bool:
    """Return whether a person who joined something works for it.

    The object must have a name, and be neither a person nor a group that people join without pay.
    """
    words = [fold(w) for w in _WORDS.findall(_kept(said))]
    return (
        _is_named(said) and MEMBERSHIPS.isdisjoint(words) and not is_given(_ARTICLE.sub("", " ".join(words)).split()[0])
    )


_PATTERNS: Final = (
    _Pattern("lives in", re.compile(rf"{_SUBJECT}(?:{_LIVES}) (?:now |currently )?in {_OBJECT}")),
    _Pattern(
        "lives in",
        re.compile(rf"{_SUBJECT}(?:moved|relocated)(?: back)?{_FROM} to {_OBJECT}"),
        change=True,
        accepts=_is_named,
    ),
    _Pattern("works for", re.compile(rf"{_SUBJECT}(?:{_WORKS}) (?:at|for|by) {_OBJECT}")),
    _Pattern("works for", re.compile(rf"{_SUBJECT}(?:{_JOINS}) {_OBJECT}"), change=True),
    _Pattern("works for", re.compile(rf"{_SUBJECT}joined {_OBJECT}"), change=True, accepts=_is_employer),
    _Pattern("is led by", re.compile(rf"{_SUBJECT}(?:{_LEADS}) {_THING}"), turned=True),
    _Pattern("is led by", re.compile(rf"{_SUBJECT}(?:the )?(?:new )?(?:{_POSTS}) (?:of|for) {_THING}"), turned=True),
    _Pattern(
        "is led by", re.compile(rf"{_SUBJECT}(?:took|takes) over(?: as \w+ of)? {_THING}"), turned=True, change=True
    ),
    _Pattern("is due", re.compile(rf"{_SUBJECT}(?:{_DUE})(?: to be \w+)? (?:on|by|for) {_OBJECT}")),
    _Pattern("is due", re.compile(rf"{_SUBJECT}(?:{_PUT}){_FROM} (?:to|until) {_OBJECT}"), change=True),
    _Pattern("is due", re.compile(_DUE_DATE), change=True),
    _Pattern("goes to school at", re.compile(rf"{_SUBJECT}(?:(?:goes|go) to|attends?) {_SCHOOL}")),
    _Pattern("is married to", re.compile(rf"{_SUBJECT}married to {_OBJECT}")),
    _Pattern(
        "is called",
        re.compile(
            rf"(?=.{{1,80}}? (?:is|are|am|been) (?:\w+ )?(?:called|named) ){_SUBJECT}(?:called|named) {_OBJECT}"
        ),
    ),
    _Pattern("works as", re.compile(rf"{_SUBJECT}(?:{_WORKS}) as {_A}{_OBJECT}")),
    _Pattern("works as", re.compile(rf"{_IS_ONE}{_SUBJECT}{_A}{_PROFESSION}"), accepts=_is_job),
)

_NAMED: Final = "employer|wife|husband|spouse|boss|manager|landlord|dentist|doctor|owner|name|nickname|capital|hometown"
"""Attributes whose value is a name. "my boss is very demanding" therefore gives no value."""
_ATTRIBUTES: Final = (
    rf"(?:favou?rite|preferred|current|home|work)(?: [a-z]+){{1,2}}|{_NAMED}|birthday|phone number|number|e-?mail(?: address)?|address|job|"
    "job title|title|role|budget|deadline|due date|price|status|colou?r|age|salary|rent|shoe size|blood type|nationality|username"
)
_IS: Final = rf"(?:is|has changed to|changed to) (?:now |currently |still )?{_OBJECT}"
_ATTRIBUTE: Final = (
    re.compile(
        rf"^(?:(?P<mine>[Mm]y)|(?P<owner>[A-Z][\w.-]{{0,30}}(?: [A-Z][\w.-]{{0,30}}){{0,3}}|[Tt]he \w+)['’]s) "
        rf"(?P<attribute>{_ATTRIBUTES}) {_IS}"
    ),
    re.compile(rf"^[Tt]he (?P<attribute>{_ATTRIBUTES}) (?:of|for) (?P<owner>[^,.;:!?]{{2,40}}?) {_IS}"),
)

_MONTHS: Final = "january|february|march|april|may|june|july|august|september|october|november|december"
_IN_TIME: Final = (
    rf"in (?:early |late |mid-)?(?:spring|summer|autumn|fall|winter|{_MONTHS}|(?:19|20)\d\d)(?: (?:19|20)\d\d)?"
)
_LEAD_IN: Final = re.compile(
    r"^(?:(?:from (?:now|today) on|by (?:profession|trade)|today|now|currently|yesterday|recently|these days|nowadays|as of \w+|"
    rf"{_IN_TIME}|last \w+|this \w+|since \w+|by the way|fyi|"
    r"update|also|and|so|well|btw|note)\b[,:]? |\[?\d{4}-\d\d-\d\d\]?[:,]? )",
    re.IGNORECASE,
)
_UNSURE: Final = re.compile(
    r"n['’]t\b|\b(?:not|never|used to|formerly|previously|until|either|or|except)\b", re.IGNORECASE
)
MEMBERSHIPS: Final = words_of("""
club clubs choir choirs group groups team teams band bands orchestra ensemble chorus class classes course courses league society societies
association associations union unions party parties church congregation parish community communities congress meetup meetups gym crew squad
troupe guild fellowship circle network program programme workshop protest march movement campaign committee board council army navy forces
scouts rotary lions call meeting conversation discussion chat channel session game tour trip hike cruise convention conference festival
library museum forum ranks family
""")
"""Last or other words in names of groups that people join without working for them. A person may be a member of many groups."""

_WORDS: Final = re.compile(r"[^\W_]+")
_JOINED: Final = re.compile(r" and (?=now |is |am |works? |lives? |leads? |has )")
_LEADING: Final = re.compile(rf"(?:I|{_NAME}(?: {_NAME}){{0,2}})(?= )")
_SEVERAL: Final = re.compile(rf"{_NAME}(?:, {_NAME}){{0,3}},? and {_NAME}(?= (?:have|are|now|all|both|live|work)\b)")
_CONTRACTED: Final = re.compile(r"^I['’](?:ve|m|d) ")
_CHANGED: Final = re.compile(r"\b(?:now|anymore|instead|as of|since|new|changed|switched|from now on)\b", re.IGNORECASE)
_ENDS: Final = re.compile(
    rf"\s+(?:{_IN_TIME}|and|but|because|since|with|near|where|which|who|after|before|when|while|as|so|these days|now|currently|anymore|"
    r"today|at the moment|again|already|too|for (?:the|a|now|\d|several|many|some)\b|last|this|next|from|instead|by|during|together|"
    r"full)\b.*$",
    re.IGNORECASE,
)
_THE: Final = re.compile(r"^[Tt]he ")
_ARTICLE: Final = re.compile(r"^(?:the|a|an|our|my|his|her|their)\s+")
_PRONOUNS: Final = frozenset(
    ("he", "she", "it", "they", "we", "you", "this", "that", "there", "here", "who", "what", "everyone")
)
_RELATIVE: Final = words_of("me him her them us it there here home this that same one work night noon weekends")
TRIGGER: Final = re.compile(
    r"\b(?:(?:is|am|['’]m) (?:now |currently )?an? [a-z]+|"
    rf"{_LIVES}|moved|relocated|{_WORKS}|joined|{_JOINS}|{_LEADS}|{_POSTS}|over|Due|{_DUE}|{_PUT}|[Dd]eadline|goes|go|attends?|"
    rf"married|called|{_ATTRIBUTES})\b"
)
"""A pattern that occurs in every text with a relation; also valid in RE2."""


def stated_relations(text: str) -> tuple[StatedRelation, ...]:
    """Return the plain statements of a text in order; for each subject and relation only the last one."""
    found: dict[tuple[str, str], StatedRelation] = {}
    if TRIGGER.search(text):
        for sentence, clause in stated_clauses(without_later(text)):
            if is_open(clause) or _UNSURE.search(clause):
                continue
            changed = _CHANGED.search(sentence) is not None
            for one in _each(clause):
                stated = next((stated for part in _parts(one) if (stated := _in_clause(part, changed))), None)
                if stated is not None:
                    found[stated.subject, stated.relation] = stated
    return tuple(found.values())


def _each(clause: str) -> Iterator[str]:
    """Split a clause about several people into one clause for each: "Mara, Joss and Edie have moved to Truro"."""
    if several := _SEVERAL.match(clause):
        yield from (name + clause[several.end() :] for name in re.split(r",? and |, ", several[0]))
    else:
        yield clause


def _parts(clause: str) -> Iterator[str]:
    """Yield a clause without the words before its subject, and what "and" adds to it, with its subject."""
    lead = _LEAD_IN.match(clause)
    clause = _CONTRACTED.sub("I ", clause[lead.end() :] if lead else clause)
    yield clause
    if subject := _LEADING.match(clause):
        yield from (f"{subject[0]} {part}" for part in _JOINED.split(clause, maxsplit=2)[1:])


def _in_clause(said: str, changed: bool) -> StatedRelation | None:
    for relation, pattern, turned, change, accepts in _PATTERNS:
        if match := pattern.match(said):
            subject, object_ = _subject(match["subject"]), _object(match["object"])
            if accepts is not None and not accepts(match["object"]):
                continue
            if turned:  # a leader is a name
                named = _THE.sub("", match["subject"])
                subject, object_ = _subject(_kept(match["object"])), normalise_name(named) if named[0].isupper() else ""
            if subject and object_ and object_ not in _RELATIVE:
                return StatedRelation(subject, relation, object_, change or changed)
    for pattern in _ATTRIBUTE:
        if match := pattern.match(said):
            owner = SELF if match.groupdict().get("mine") else _object(match["owner"])
            attribute, object_ = fold(match["attribute"]).replace("ou", "o"), _object(match["object"])
            named = re.fullmatch(_NAMED, attribute) is None or match["object"][0].isupper()
            if owner and object_ and named:
                return StatedRelation(owner, attribute, object_, changed)
    return None


def _subject(said: str) -> str:
    """Return the key of a subject; empty for a pronoun or a single common noun, which is ambiguous ("the meeting")."""
    folded = normalise_name(said)
    if folded in (SELF, "user", "the user"):
        return SELF
    bare = _ARTICLE.sub("", folded)
    if folded.startswith(("my ", "our ")):
        return f"{SELF}: {bare}"
    common = all(is_plain(part) or len(part) < _SHORT for part in bare.split("-"))
    alone = said[:1].isupper() and is_written_large(bare)  # without an article "Bastian" is a person, not a nationality
    name = _THE.sub("", said)[:1].isupper() and (alone or is_given(bare) or not common)
    return bare if (name or " " in bare) and bare not in _PRONOUNS else ""


def _kept(said: str) -> str:
    return _ENDS.sub("", said.strip())


def _object(said: str) -> str:
    """Return the folded name in an object without the clause after it; empty if it is too long for a name or value."""
    folded = _ARTICLE.sub("", normalise_name(_kept(said)))
    return folded if 0 < len(folded.split()) <= _MOST_WORDS and folded not in ("the", "a", "an") else ""


# Statements of a memory and their subjects, by which memories are grouped into topics.
#
# Questions, greetings, thanks, offers and advice are not statements. A text that contains one of them has no result at all, so that it is
# not split; nor has a text about two persons. Wishes, plans and reports by others are statements of their day. English; the words are in
# ``topic_statements.toml``. ``slowwave.operations.planners.topic_memories`` decides which statements make a topic.

LONGEST: Final = 500
"""Maximum length in characters of a text."""

_LEAST: Final = 3  # minimum number of words of a statement
_FILE: Final[Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("topic_statements.toml").read_text(encoding="utf-8")
)
_ADDRESSED: Final = re.compile(rf"(?<!\w)(?:{_FILE['addressed']})(?!\w)", re.IGNORECASE)
_TALK: Final = re.compile(rf"\W*(?:{_FILE['talk'].replace(chr(10), '')})", re.IGNORECASE)
_ASKS: Final = re.compile(rf"\W*(?:{_FILE['asks'].replace(chr(10), '')})", re.IGNORECASE)
_WANTS_TO_KNOW: Final = re.compile(rf"\b(?:{_FILE['wants_to_know'].replace(chr(10), '')})", re.IGNORECASE)
_MAY_BE_TALK: Final = (
    *(f"(?i:{prefilter.relaxed(p.pattern)})" for p in (_ADDRESSED, _WANTS_TO_KNOW)),
    *(rf"(?i:(?:^|[.!?])\W*{prefilter.relaxed(p.pattern)})" for p in (_TALK, _ASKS)),
)
_MAY_RELATE: Final = prefilter.relaxed(TRIGGER.pattern)
_PRONOUNS_TOPIC_STATEMENTS: Final = words_of(_FILE["pronouns"])
_TOKEN: Final = re.compile(WORD)
RELATIONS: Final[Mapping[str, str]] = _FILE["relations"]
"""Display name of each relation. A relation that is an attribute keeps its name."""

_LED_BY: Final = words_of("the a an")
_NO_MATTER: Final = frozenset(stem(w) for w in words_of(_FILE["no_matter"]))
_DAYS: Final = words_of(_FILE["days"])
_OWNER: Final = re.compile(r"(?<!^)\b([A-Z][^\W\d_]+)['’]s\b")


class TopicStatement(NamedTuple):
    """Subject and content of a text.

    ``subject`` is folded: ``SELF`` for the speaker, a relative as ``i: sister``, empty if the text names no person or thing. ``words``
    are the stems of its words of content without those of the subject. ``relations`` are those that it states ("lives in"). ``lead`` is
    the name at the start of a text by the speaker about it ("Barclays blocked my card").
    """

    subject: str
    words: frozenset[str]
    relations: frozenset[str] = frozenset()
    lead: str = ""

    def about(self, subject: str) -> TopicStatement:
        """Return the same statement about another subject that it names."""
        return self._replace(subject=subject, words=self.words - {stem(part) for part in subject.split()}, lead="")


def topic_statements(texts: prefilter.Texts) -> Iterator[TopicStatement | None]:
    """Yield the result of ``topic_statement`` for each of n texts.

    Talk and relations are checked only in texts that may contain them according to a search of the column.
    """
    flags = prefilter.found(texts, *_MAY_BE_TALK), prefilter.found(texts, _MAY_RELATE)
    for text, talk, relates in zip(texts.to_pylist(), *(f.tolist() for f in flags), strict=True):
        yield topic_statement(text, talk=talk, relates=relates)


def topic_statement(text: str, *, talk: bool = True, relates: bool = True) -> TopicStatement | None:
    """Parse a text; return None if it is not a statement, or has statements about different subjects.

    ``talk`` and ``relates`` state whether the text may contain talk or relations, if that is known. Time: about 100 µs.
    """
    if not text or len(text) > LONGEST or "\n" in text.strip():
        return None
    subject = ""
    words: set[str] = set()
    parts = sentences(text)
    for sentence in parts:
        if not _states(sentence, talk) or (own := _topic_subject(sentence, subject)) is None:
            return None
        if own and subject and own != subject:
            return None
        subject = own or subject
        words |= matter(sentence)
    bare = subject.partition(": ")[2] or subject
    words -= {stem(part) for part in bare.split()} | _NO_MATTER
    words = {w for w in words if w[0].isalnum() and "'" not in w}
    relations = frozenset(r.relation for r in stated_relations(text)) if relates else frozenset[str]()
    lead = _leading(parts[0]) if subject == SELF else ""
    return TopicStatement(subject, frozenset(words), relations, lead) if words else None


def is_talk(sentence: str) -> bool:
    """Return whether a sentence greets, thanks, offers, advises, asks, or wants to know something."""
    return bool(_TALK.match(sentence) or _ASKS.match(sentence) or _WANTS_TO_KNOW.search(sentence))


def _states(sentence: str, talk: bool) -> bool:
    return (
        not sentence.rstrip("\"'”’) ").endswith("?")
        and len(_TOKEN.findall(sentence)) >= _LEAST
        and not (talk and (_ADDRESSED.search(sentence) or is_talk(sentence)))
    )


def _topic_subject(sentence: str, before: str) -> str | None:
    """Return the person or thing that a sentence is about.

    Return None if there are two, or if a pronoun refers to a sentence before it and ``before`` is empty.
    """
    lead = _leading(sentence)
    owns = "'s" in sentence or "’s" in sentence
    owners = {w for w in map(fold, _OWNER.findall(sentence) if owns else ()) if not is_plain(w) and w not in _DAYS}
    named = {*persons(sentence), *owners}
    if lead and any(is_given(part) for part in lead.split()):
        named = {n for n in named if n not in lead.split()} | {lead}
    if len(named) > 1:
        return None
    own = is_own(sentence)
    if named:
        (name,) = named
        return name if name == lead or name in owners or is_given(name) else f"{SELF}: {name}"
    if own:
        return SELF
    if lead:
        return lead
    opening = _TOKEN.search(sentence)
    if opening and fold(opening[0]) in _PRONOUNS_TOPIC_STATEMENTS:
        return before or None
    return ""


def _leading(sentence: str) -> str:
    """Return the name that opens a sentence, folded.

    A name after an article must have several words, or one that is not a common word.
    """
    run: list[str] = []
    for n, token in enumerate(_TOKEN.finditer(sentence)):
        word = token[0].removesuffix("'s").removesuffix("’s")
        if n == 0 and fold(word) in _LED_BY:
            continue
        if not word[0].isupper() or fold(word) in STOPS or CONTRACTED.match(word):
            break
        run.append(fold(word))
    if not run or (len(run) == 1 and is_plain(run[0]) and not is_given(run[0])):
        return ""
    return " ".join(run)
