"""Clauses in which a speaker asserts, denies ("I have never …"), likes or dislikes something, wherever they stand in a text.

A turn of a conversation often ends in a question ("I fixed the gate, can you order the bolts?"), and only its interrogative clause asks.
Code and quotations are removed first. Then a sentence is split at punctuation and conjunctions, so that a condition, a question or
another person's words count for their own clause only. English. Linear in the text, about 50 µs per sentence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from slowwave.text.exclusions import irregular_base, relations
from slowwave.text.sentences import Verbatim, sentences
from slowwave.text.specifics import specifics
from slowwave.text.statements import stem
from slowwave.text.tokens import fold
from slowwave.text.turns import LONGEST_SENTENCE, SessionTurn, spoken
from slowwave.text.words import DENIALS, GRAMMAR, NEGATIONS, words_of

NEVER: Final = r"(?i)\bi(?:['’]ve| have| had)? (?:\w+ )?never\b"
"""Pattern in every text with a denial; also valid in RE2."""

DISLIKES: Final = (
    r"(?i)\b(?:dislikes?|hates?|detests?|loathes?|despises?|(?:can['’]t|cannot|can not) (?:stand|bear)|"
    r"not (?:a |\w+ )?(?:fond of|fan of|keen on|passionate about))\b|"
    r"(?:n['’]t|\bnot|\bnever|\bno longer) (?:\w+ )?(?:likes?|liked|loves?|loved|enjoy(?:s|ed)?|care for)\b"
)
"""Pattern in every text with a dislike; also valid in RE2. It matches "doesn't really like", not "does like"."""

LIKES: Final = (
    r"(?i)\b(?:likes?|loves?|loved|enjoy(?:s|ed)?|prefers?|adores?|fond of|fan of|keen on|passionate about)\b"
)
"""Pattern in every text with a liking; also valid in RE2."""

CORRECTS: Final = re.compile(
    r"^(?:\W*(?:no|actually|correction|sorry|oops|apologies|in fact|wait|my mistake|"
    r"(?:scratch|forget|ignore|disregard) (?:that|what [^,.:;]{2,40})|(?:that|this|it) (?:was|is) (?:wrong|a mistake|not right|incorrect)|"
    r"i (?:was wrong|(?:mixed|got|made|confused|misread|misheard|mistyped) [^,.:;]{1,40})|i meant(?: to (?:say|write))?)"
    r"(?:[,:.!]+|(?=\s*$)))+\s*",
    re.IGNORECASE,
)
"""Matches "Sorry, that was wrong." and "No, "; not "No one is in"."""

_SLIP: Final = re.compile(
    r"\b(?:wrong|mistake|incorrect|not right|mixed|confused|mis(?:read|heard|typed))\b", re.IGNORECASE
)
"""A word that makes a sentence of ``CORRECTS`` one without a statement; "I got an interview." states something."""

LEAST_SHARE: Final = 0.6
"""Share of the weight of a denial's words that an assertion with the same verb has; tuned on 104 pairs written for it and memorybank."""

LEAST_SHARE_OTHER_VERB: Final = 0.75
"""Share if the verb is another one: "never visited the old mill", "walked through the old mill"."""

_SAME_VERB: Final = 0.15  # added to the score

_SPLIT: Final = re.compile(
    r"\s*[;:]\s+|\s+[–—-]+\s+|\s*[()]\s*|"
    r",\s+(?=(?:(?:and|but|so|or|yet|because|since|although|though|while|whereas|then)\s+)?"
    r"(?:i|i['’]\w+|you|he|she|it|we|they|my|can|could|would|will|should|do|does|did|is|are|was|may|what|which|how|where|when|why|who|please)\b)|"
    r",?\s+(?:so(?!\s+(?:much|many|far|long|good|well|few|little|that|on)\b)|but|because|although|though|whereas|while)\s+|"
    r",?\s+(?:and|or|then|as)\s+(?=(?:i|i['’]\w+|you|he|she|it|we|they|my)\s)|"
    r",\s+and\s+(?=(?:[\w'’-]+\s+){1,5}?(?:is|are|was|were|can|could|will|would|has|have|had)\b)",
    re.IGNORECASE,
)
"""Ends of clauses: matches in "I fixed it, can you …", "I fixed it and I …", not in "tea, coffee and milk"."""

_MARKED: Final = re.compile(
    r"^\s*[#>]|[\"`“”„«»‘<@/\]]|(?<![\w])['’]|\b(?:https?|ftp|file|mailto|www|urn|data)[:.]", re.IGNORECASE
)
"""A sign in every sentence with a quotation, code or an address."""

_QUOTES: Final = re.compile('["“”„«»]')

_ASKS: Final = re.compile(
    r"(?:(?:and|but|so|or|then|please|also|well|ok|okay|hey|hi),?\s+)*"
    r"(?:can|could|would|will|should|shall|do|does|did|is|are|was|were|am|have|has|may|might|what|which|how|where|when|why|who|whose|any)\b",
    re.IGNORECASE,
)
_UNREAL: Final = re.compile(
    r"\b(?:dream(?:s|t|ed|ing)?|imagin\w+|pretend\w*|jok(?:e|es|ed|ing)|hypothetical\w*|suppose|as though)\b",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(r"\b(?:if|unless|whether)\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_FIRST: Final = re.compile(
    r"^\W*(?P<lead>(?:[\w'’./-]+,?\s+){0,6}?)[Ii](?:['’](?P<short>ve|m|d|ll))?\s+(?P<rest>\S.*)$", re.DOTALL
)
_OTHERS: Final = words_of("""
he she they you we it who whom which that when whenever until said says say told tells tell thinks think thought believes believe guess bet
doubt claims claimed claim heard hears asked asks wish wishes hope hopes wonder suppose writes wrote not never
""")
"""Words before "I" that make a clause another person's, another time's or another world's."""

_UNDONE: Final = words_of("""
would could might may must shall should will can hope hoped wish wished want wanted wanna need needed plan planned planning intend intended
expect expected consider considered considering think thought thinking guess suppose imagine wonder wondered wondering believe doubt try
trying about going gonna ought promise promised prefer rather decided
""")
"""Words after "I" that leave open whether it was done."""

_ADVERBS: Final = words_of("""
really truly just also still always simply actually personally even ever already once recently finally successfully only then now have had
ve been am was do did so
""")
_DETERMINERS: Final = words_of("a an the my some any two three many several")
_PREPOSITIONS: Final = words_of(
    "of in on at with for from to about by near without during after before under into through"
)
_PLACES: Final = words_of("to in at on inside near abroad")
_HARDLY: Final = words_of("almost nearly hardly barely rarely scarcely")
_EMPTY: Final = words_of("""
before really actually personally ever even once any anything something life far yet first time myself own one two lot lots bit way quite
pretty honestly professionally sure person i've i'm i'd i'll last year month week ago yesterday today
""")
_POINTS: Final = re.compile(
    r"\b(?:it|them|him|you|such|so|than|more|less|better|worse|one|again|enough)\b|"
    r"\b(?:this|that|these|those|her)(?:\W*$|\s+(?:before|in|with|for|on|at|to|until|way|much|many)\b)",
    re.IGNORECASE,
)
"""Words for what another sentence names, or for a degree: "never tried this before", not "never in this project"."""

_MENTAL: Final = words_of("""
say said tell told think thought feel felt know knew known realize realized realise realised hear heard notice noticed imagine imagined
expect expected understand understood believe believed want wanted mean meant mind care cared regret regretted stop stopped doubt doubted
forget forgot see seen saw find found like liked love loved enjoy enjoyed get got gotten bother bothered manage managed need needed question
consider considered
""")
"""Verbs whose denial says how something was felt or found, or that hold of no act."""

_PREFACE: Final = re.compile(
    r"^.*?\bI\s+(?:\w+\s+){0,3}?(?:note|mention|admit|clarify|add|confess|clear|honest|remember|recall|realize|realise)(?:\s+that)?\s+(?=I\b)"
)
"""Words that only introduce what the speaker states: "I should mention that I …"; not "I think that you …"."""

_RELATIVE: Final = re.compile(r"\s(?:who|whom|whose|which|that|where)\s", re.IGNORECASE)
_LIMITS: Final = re.compile(
    r"\b(?:after|before(?=\s+\w)|during|without|while|when|since|alone|on \w+days?)\b(?P<when>.*)$", re.IGNORECASE
)
_UNTIL: Final = re.compile(r"\b(?:until|till|again|except)\b|\bas\b.*\bas\b", re.IGNORECASE)

_FORMS: Final[Mapping[str, str]] = {
    form: base
    for base, *forms in map(
        str.split,
        (
            *("be am is are was were been", "have has", "do does", "use used using"),
            *("learn learnt", "spin spun", "sew sewn", "weave wove woven"),
        ),
    )
    for form in forms
}
"""Forms that ``slowwave.text.exclusions`` does not know: of auxiliaries, and rare ones."""


class Span(NamedTuple):
    """The sentence and the clause as written, without quotations and code."""

    sentence: str
    clause: str


class ClauseSubject(NamedTuple):
    """The stem with which a clause begins, mostly of its subject, and the words to which a pronoun there may point."""

    first: str = ""
    context: frozenset[str] = frozenset()


class ClauseRelation(NamedTuple):
    """The words of content of a clause beside its slots: their stems in order, and the words as folded.

    With ``several`` the relation has several of the values at a time. ``verb`` is its stem, where a reader knows which word it is.
    """

    stems: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    several: bool = False
    verb: str = ""


class Slot(NamedTuple):
    """A name or figure in a clause: its folded words, how the clause links it to its subject, and its kind.

    ``link`` is a preposition, ``is`` after a form of *be* or a sign such as a colon, ``subject`` at the beginning, ``not`` for a value
    that is no longer right, ``when`` for a limit in time, or empty for an object. ``relation`` is the stem of the word that says of what
    it is the value: "call" of "calls at Vaasa", "lead" of "The lead of Reed is Ida". Objects of verbs are slots without a kind, whose
    words are stems.
    """

    words: tuple[str, ...]
    link: str = ""
    kind: str = ""
    relation: str = ""


class Proposition(NamedTuple):
    """A clause that states something, without its grammar. Questions, suppositions and quotations give none.

    ``text_id`` is the number of its text among those compared, 0 until it has one. ``speaker`` is whether it is about its speaker ("i") or
    the user; of texts that are compared, the author. A ``denied`` clause says that something was never so, or that somebody does not like
    it. ``time`` is empty for what holds, and past for what was or happens at one time; a correction was right before, so it is not new.
    """

    text_id: int
    span: Span
    speaker: str
    subject: ClauseSubject
    relation: ClauseRelation
    slots: tuple[Slot, ...]
    polarity: Literal["asserted", "denied", "withdrawn"]
    mood: Literal["stated", "corrected"]
    time: Literal["", "new", "past"]

    @property
    def values(self) -> tuple[Slot, ...]:
        """Return the slots that hold, without limits in time."""
        return tuple(slot for slot in self.slots if slot.link not in ("not", "when"))

    @property
    def old(self) -> frozenset[str]:
        """Return the words of the values that are no longer right."""
        return frozenset(word for slot in self.slots if slot.link == "not" for word in slot.words)

    @property
    def words(self) -> frozenset[str]:
        """Return the stems of content and the words of names and figures."""
        return frozenset((*self.relation.stems, *(word for value in self.values for word in value.words)))

    @property
    def known(self) -> frozenset[str]:
        """Return its words, and those to which its pronoun may point."""
        return self.words | self.subject.context

    @property
    def is_news(self) -> bool:
        """Return whether a clause withdraws a value, corrects one or calls it new."""
        return self.polarity == "withdrawn" or self.mood == "corrected" or self.time == "new"


class Clauses(NamedTuple):
    """The clauses of a text by kind, and whether the text states nothing next to one sentence; "Sorry, that was wrong." states nothing."""

    assertions: tuple[Proposition, ...]
    denials: tuple[Proposition, ...]
    attitudes: tuple[Proposition, ...]
    is_single: bool


@lru_cache(maxsize=4096)
def read_clauses(text: str) -> Clauses:
    """Parse the clauses of a text in which a speaker asserts, denies, likes or dislikes something."""
    assertions: list[Proposition] = []
    denials: list[Proposition] = []
    attitudes: list[Proposition] = []
    stating = 0
    plain = _is_plain(text)
    for sentence in _sentences(text):
        clauses = list(_asserting(sentence)) if len(sentence) <= LONGEST_SENTENCE else [sentence]
        apologises = CORRECTS.fullmatch(sentence) is not None and _SLIP.search(sentence) is not None
        stating += not apologises and any(len(_WORD.findall(clause)) > 2 for clause in clauses)
        if len(sentence) > LONGEST_SENTENCE or _UNREAL.search(sentence):
            continue
        for clause in _unconditional(clauses):
            attitudes += _attitudes(Span(sentence, clause))
            clause = _PREFACE.sub("", clause)
            denials += _denials(Span(sentence, clause))
            if (assertion := _assertion(Span(sentence, clause))) is not None:
                assertions.append(assertion)
    return Clauses(tuple(assertions), tuple(denials), tuple(attitudes), plain and stating <= 1)


def stated_clauses(text: str) -> Iterator[tuple[str, str]]:
    """Yield the clauses of a text that are no questions, suppositions, conditions, quotations or code, each with its sentence."""
    for sentence in _sentences(text):
        if len(sentence) <= LONGEST_SENTENCE and not _UNREAL.search(sentence):
            yield from ((sentence, clause) for clause in _unconditional(list(_asserting(sentence))))


def are_quoted(figures: frozenset[str], text: str) -> bool:
    """Return whether one of a text's ``figures`` is only in what it quotes: 'The sign says: "Opens at 11:00."'."""
    if not _QUOTES.search(text):
        return False
    return not figures <= specifics(" ".join(clause for _, clause in stated_clauses(text))).figures()


def all_clauses(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield every clause of a text without quotations and code, each with its sentence and whether it asks."""
    for sentence in _sentences(text):
        if len(sentence) <= LONGEST_SENTENCE:
            yield from ((sentence, clause, asks) for clause, asks in _clauses(sentence))


def _is_plain(text: str) -> bool:
    """Return whether a text has neither lines nor code."""
    return "\n" not in text and "`" not in text


def _sentences(text: str) -> list[str]:
    """Return the sentences of prose in a text."""
    if _is_plain(text):
        return sentences(text)
    return [s.text for s in spoken(SessionTurn("", tuple(enumerate(text.split("\n"))), None))]


def _asserting(sentence: str) -> Iterator[str]:
    """Yield the clauses of a sentence that ask nothing, without quotations."""
    return (clause for clause, asks in _clauses(sentence) if not asks)


def _clauses(sentence: str) -> Iterator[tuple[str, bool]]:
    """Yield the clauses of a sentence without quotations, each with whether it asks."""
    if _MARKED.search(sentence):
        verbatim = Verbatim.from_text(sentence)
        for start, end in zip(reversed(verbatim.starts), reversed(verbatim.ends), strict=True):
            kept = sentence[start:end].strip("`") if sentence[start] == "`" else ""
            sentence = f"{sentence[:start]} {kept} {sentence[end:]}"
    clauses = [clause for part in _SPLIT.split(sentence) if (clause := part.strip(" \t\n.,!…"))]
    asking: list[str] = []
    if clauses and sentence.rstrip().endswith("?"):
        asking = [clause for clause in clauses if _ASKS.match(clause)] or clauses[-1:]
    yield from ((clause, clause in asking) for clause in clauses)


def _unconditional(clauses: Sequence[str]) -> Iterator[str]:
    """Yield the clauses without conditions, and without those that follow a clause with one ("If it rains, I drink tea")."""
    conditional = False
    for clause in clauses:
        condition = _CONDITION.search(clause)
        if condition is None and not conditional:
            yield clause
        conditional = condition is not None and not condition.start()


@lru_cache(maxsize=65_536)  # most words occur in many texts
def stem_of(word: str) -> str:
    """Return a crude stem of a folded word, which "visited" and "visitation" share, and "wrote" and "written"."""
    if base := _base_of(word):
        return stem_of(base)
    if len(word) > 5:
        word = re.sub(r"ions?$", "", word)
    found = stem(word)
    return found[:-2] if len(found) > 5 and found.endswith("at") else found


@lru_cache(maxsize=65_536)
def root_of(word: str) -> str:
    """Return the stem of a folded word without endings of derivation, which "manages", "manager" and "management" share."""
    found = stem_of(word)
    while ending := _DERIVED.search(found):
        found = found[: ending.start()].removesuffix("e")
    return found


_DERIVED: Final = re.compile(r"(?:(?<=\w{3})(?:er|or)|(?<=\w{4})ment|(?<=\w{6})(?:y|ic|al)|(?<=\w{5})[ae]nc)$")
"""Endings of a stem; not in "city", "county" and "party"."""


def _base_of(word: str) -> str:
    """Return the base of an irregular form, and the word in "-y" of one in "-ied" or "-ies"; empty for other words."""
    if (found := _FORMS.get(word) or irregular_base(word)) and found != word:
        return found
    with_y = f"{word[:-3]}y" if len(word) > 4 and word.endswith(("ied", "ies")) else ""
    return with_y if with_y and relations(with_y).bases else ""


def is_past(word: str) -> bool:
    """Return whether a folded word may be a past form of a verb."""
    return word.endswith("ed") or (not word.endswith("s") and bool(_base_of(word)))


def _stemmed(words: str) -> frozenset[str]:
    return frozenset(map(stem_of, words.split()))


_IDLE: Final = _stemmed("""
read hear look search wonder like love hate interest buy see know talk ask learn study watch consider recommend mention miss compare
""")
"""Verbs by which nobody has used, tried or had anything yet."""

_MOTION: Final = _stemmed("go visit travel fly drive live stay move return come be arrive spend ride sail walk tour")
_ALIKE: Final = (
    _MOTION,
    _stemmed("write implement build create develop code make design set configure add integrate install deploy"),
)
"""Verbs of which one may say what another does."""

_BE: Final = stem_of("be")
_HAVE: Final = stem_of("have")
_LIGHT: Final[Mapping[str, frozenset[str]]] = {
    _BE: _MOTION,
    "go": _MOTION,
    _HAVE: _stemmed("have get own suffer keep"),
    "own": _stemmed("have own buy keep get"),
    "work": _stemmed("work use collaborate build develop implement integrate deal"),
    "deal": _stemmed("deal handle work"),
    **dict.fromkeys(("use", "try", "do"), frozenset[str]()),
}
"""Verbs of little content, and those of an assertion that contradict them; none means all but ``_IDLE``."""


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of content of a text."""
    folded = fold(text).replace("’", "'")
    return frozenset(
        stem_of(w.removesuffix("'s")) for w in _WORD.findall(folded) if w not in GRAMMAR and w not in _EMPTY
    )


def _own_words(clause: str) -> tuple[str, list[str]] | None:
    """Return the auxiliary and the words after the "I" of a clause that the speaker asserts of themself; None for other clauses."""
    match = _FIRST.match(clause)
    if match is None or match["short"] in ("d", "ll") or not _OTHERS.isdisjoint(_WORD.findall(match["lead"].lower())):
        return None
    words = [fold(w) for w in _WORD.findall(_RELATIVE.split(match["rest"])[0])]
    short = {"ve": "have", "m": "am"}.get(match["short"] or "", "")
    return (short or words[0], words) if words else None


def _assertion(span: Span) -> Proposition | None:
    own = _own_words(span.clause)
    if own is None or any(not unsaid.isdisjoint(own[1]) for unsaid in (_HARDLY, NEGATIONS, DENIALS)):
        return None
    auxiliary, words = own
    kept = [w for w in words if w not in _ADVERBS and not w.endswith("ly")]
    if not kept or kept[0] in _UNDONE or (kept[0] in ("have", "had") and kept[1:2] == ["to"]):
        return None
    had = auxiliary in ("have", "had")
    verb = stem_of(kept[0])
    if had and kept[0] in _DETERMINERS:
        verb = _HAVE
    elif not kept[0].endswith("ing") and (
        "been" in words[:3] or (auxiliary in ("am", "was") and not kept[0].endswith("ed"))
    ):
        verb = _BE
    past = had or auxiliary in ("was", "did") or is_past(kept[0])
    relation = ClauseRelation(tuple(stems(_RELATIVE.split(span.clause)[0])), verb=verb)
    return _own_proposition(span, relation, [*_phrases(words, verb)], "asserted", past=past)


def _denials(span: Span) -> Iterator[Proposition]:
    """Yield what a clause with "never" denies, each of several things that it joins with "or" by itself."""
    own = _own_words(span.clause)
    if own is None or own[0] in ("am", "was"):
        return
    auxiliary, words = own
    at = next((n for n, word in enumerate(words[:4]) if word == "never"), None)
    if at is None or not all(w in _ADVERBS or w.endswith("ly") for w in words[:at]):
        return
    after = words[at + 1 :]
    if after[:1] in (["had"], ["have"]) and after[1:2] and after[1] not in _DETERMINERS and after[1].endswith("ed"):
        after = after[1:]
    while after and (after[0] in _ADVERBS or after[0].endswith("ly")) and after[0] not in ("been", "had", "have", "do"):
        after = after[1:]
    rest = " ".join(after)
    if (
        not after
        or after[0] in _MENTAL
        or not NEGATIONS.isdisjoint(after)
        or _POINTS.search(rest)
        or _UNTIL.search(rest)
    ):
        return
    verb, limits = stem_of(after[0]), _LIMITS.search(rest)
    if verb == _BE and after[1:2] and after[1] not in _PLACES:
        return  # "never been happy"
    past = auxiliary in ("have", "had") or is_past(after[0])
    when = [Slot(tuple(stems(limits["when"])), "when")] if limits else []
    for part in re.split(r" (?:or|nor|and) ", rest):
        first = part.split()[0]
        verb = stem_of(first) if is_past(first) else verb
        if content := (stems(part) | {verb}) - (_LIGHT.keys() & {verb}):
            own_verb = first == after[0] or verb == stem_of(first)
            slots = [*_phrases(part.split()[own_verb:], verb), *when]
            yield _own_proposition(span, ClauseRelation(tuple(content), verb=verb), slots, "denied", past=past)


def _own_proposition(
    span: Span, relation: ClauseRelation, slots: Sequence[Slot], polarity: Literal["asserted", "denied"], *, past: bool
) -> Proposition:
    return Proposition(
        0, span, "i", ClauseSubject(), relation, tuple(slots), polarity, "stated", "past" if past else ""
    )


def _phrases(words: Sequence[str], verb: str) -> Iterator[Slot]:
    """Yield the stems of content before the first preposition, and those after each preposition."""
    found, after = defaultdict[str, list[str]](list), ""
    for word in words:
        if word in _PREPOSITIONS:
            after = word
        else:
            found[after] += stems(word)
    yield from (Slot(tuple(content), link, relation=verb) for link, content in found.items() if content)


def contradiction(denial: Proposition, assertion: Proposition, weights: Mapping[str, float]) -> float:
    """Return how surely an assertion says what a denial denies; 0 if too few of its words, by weight, are in the assertion.

    The score is the share of the words, and more if the verb is the same. ``weights`` has the words of the denial.
    """
    words, stated = denial.words, assertion.words
    linked = {slot.link: slot.words for slot in denial.slots}
    if (not denial.time and assertion.time) or not stated.issuperset(linked.pop("when", ())):
        return 0.0  # a habit of the present, an act of the past
    verb, other = denial.relation.verb, assertion.relation.verb
    verbs = stated | {other}
    same = verb in verbs
    if not same and any(verb in alike and not alike.isdisjoint(verbs) for alike in _ALIKE):
        words, same = words - {verb}, True
    shared = words & stated
    if (what := linked.pop("", ())) and shared.isdisjoint(what):
        return 0.0
    if any(slot.link in linked and shared.isdisjoint(linked[slot.link]) for slot in assertion.slots):
        return 0.0  # "in French", "in English"
    if verb in _LIGHT and not same:
        allowed = _LIGHT[verb]
        if other not in allowed if allowed else other in _IDLE:
            return 0.0
    elif not same and len(shared) < 2:
        return 0.0
    share = sum(weights[w] for w in shared) / sum(weights[w] for w in words) if shared else 0.0
    return share + _SAME_VERB * same if share >= (LEAST_SHARE if same else LEAST_SHARE_OTHER_VERB) else 0.0


# Attitudes: what the speaker or "the user" likes or dislikes. Only the verbs are listed; any object is compared.

_FAN: Final = r"(?:a )?(?:\w+ )?fan of|(?:\w+ )?(?:fond of|keen on|passionate about)"
_LIKED: Final = rf"likes?|loves?|enjoys?|prefers?|adores?|{_FAN}|(?<=always )(?:loved|liked|enjoyed)"
_DISLIKED: Final = r"dislikes?|hates?|detests?|loathes?|despises?|(?:can['’]t|cannot|can not) (?:stand|bear)"
_DENIED: Final = (
    r"(?:(?:do|does)(?: not|n['’]t)|no longer|never) (?:really |particularly |much |even )?"
    rf"(?:likes?|liked|loves?|loved|enjoy(?:s|ed)?|care for)|not (?:{_FAN})"
)
_DEGREES: Final = (
    r"(?:(?:really|truly|absolutely|just|also|still|always|simply|actually|personally|totally|particularly|generally|quite|now|have|has|"
    r"am|is) )*"
)
_ATTITUDE: Final = re.compile(
    r"^\W*(?P<lead>(?:[\w'’]+,? ){0,4}?)(?:I(?:['’](?:m|ve))?|(?:the )?(?P<user>user)) "
    rf"{_DEGREES}(?:(?P<denied>{_DENIED})|(?P<disliked>{_DISLIKED})|(?P<liked>{_LIKED})) (?P<object>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
"""Matches "I really don't like tea", not "I would like tea"."""

_NO_OBJECT: Final = re.compile(
    r"(?:to )?(?:it|this|that|these|those|how|what|when|where|who|your?|the (?:way|fact|idea|thought|look|sound|feeling)|him|her|them|me|"
    r"both|each|one|everything|anything|nothing|all|some|something|seeing|hearing|being|doing|be|know|hear|see|say|talk|think)\b",
    re.IGNORECASE,
)
"""Matches "the way you sing" and "it", not "the wayside inn"."""

_RESTRICTED: Final = re.compile(
    r"\b(?:when|whenever|if|unless|that|which|who|whose|where|sometimes|only|until|enough|than usual)\b", re.IGNORECASE
)
_LONG: Final = re.compile(
    r",?\s*\b(?:because|especially|particularly|since|rather than|more than|than|over|as|instead)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_LISTED: Final = re.compile(r",\s*(?:and|or)?\s*|\s+(?:and|or)\s+", re.IGNORECASE)
_TRAIL: Final = re.compile(
    r"(?:\s+(?:any ?more|at all|a lot|very much|so much|much|too|either|again|now|these days|nowadays|most|best|anyway|though|more))+$",
    re.IGNORECASE,
)
_LARGEST_OBJECT: Final = 8  # words


def _attitudes(span: Span) -> Iterator[Proposition]:
    """Yield the objects that a clause likes or dislikes: the stems up to the head of each, and those after it."""
    match = _ATTITUDE.match(span.clause)
    if match is None or not _OTHERS.isdisjoint(_WORD.findall(match["lead"].lower())) or _RESTRICTED.search(span.clause):
        return
    whole = _LONG.sub("", match["object"])
    if (match["liked"] or "").lower().startswith("prefer"):
        whole = re.sub(r"(?<=\w) to\b.*$", "", whole)
    for part in _LISTED.split(whole):
        text = _TRAIL.sub("", part.strip(" .!,"))
        words = [fold(w) for w in _WORD.findall(text)]
        if not words or len(words) > _LARGEST_OBJECT or _NO_OBJECT.match(text):
            continue
        at = next((n for n, word in enumerate(words) if n and word in _PREPOSITIONS), len(words))
        if words[at - 1] not in GRAMMAR:
            parts = (tuple(stem_of(w) for w in some if w not in GRAMMAR) for some in (words[:at], words[at:]))
            attitude = _own_proposition(
                span,
                ClauseRelation(verb="like"),
                [Slot(part, relation="like") for part in parts],
                "asserted" if match["liked"] else "denied",
                past=False,
            )
            yield attitude._replace(speaker="user") if match["user"] else attitude


def excludes(dislike: Proposition, liking: Proposition) -> bool:
    """Return whether a dislike excludes a liking: one object is the other, or a kind of it.

    A dislike under a condition ("coffee with milk") does not exclude the liking without it.
    """
    mine, theirs = dislike.words, liking.words
    return mine <= theirs or (theirs <= mine and (mine - theirs).issubset(dislike.slots[0].words))
