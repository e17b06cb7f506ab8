"""Open items ("TODO: renew the certificate"), clauses that close them ("The certificate was renewed"), and withdrawals of any statement.

An open item is an order, an obligation, an intention or a stated problem. A clause closes it if it names the head of the item's object,
and says in the past that the item's verb or one of its family was done, or has a word of completion. Of the object's other words it may
lack some or add some, but not both: then it is about another object. Another number, a denial, a doubt, a plan, a habit, a part, another
person, or an object that is dirty again leaves the item open.

A withdrawal ("The pin was taken back", "Ticket 812 has been reopened", "Dana took over the billing service") fits an earlier sentence that
has all words of its object, also as the verb of a noun ("pinned"), and all its numbers. One that reopens fits a sentence with a word of
completion, and one that names a new holder fits a sentence that names another. English. Linear in the text, about 60 µs per sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, pairwise, takewhile
from operator import itemgetter
from typing import Final, Literal, NamedTuple

from slowwave.text.alignment import may_be_imperative
from slowwave.text.clauses import is_past, root_of, stated_clauses, stem_of
from slowwave.text.date_values import DAYS, MONTHS
from slowwave.text.names import is_given
from slowwave.text.prefilter import found
from slowwave.text.subjects import is_kin
from slowwave.text.tokens import fold
from slowwave.text.words import CARDINALS, DENIALS, GRAMMAR, NEGATIONS, TENS, words_of

Ending = Literal["undone", "moved", "reopened"]

LEAST_SHARE: Final = 0.6
"""Share of the weight of an item's words that a closing has; tuned on the even pairs of ``changed_facts_5.toml``."""

LEAST_SHARE_SAME_VERB: Final = 0.5
"""Share if the closing has the item's verb."""

_SAME_VERB: Final = 0.1  # added to the score
_MORE: Final = 3  # words of content that a closing with another verb may add
_LONGEST: Final = 200  # characters of a clause
_MOST_WORDS: Final = 16  # of an open item
_JOINED: Final = 14  # words of a sentence that is also compared as a whole

_WORD: Final = re.compile(r"[^\W_]+(?:['’.,:/&+-][^\W_]+)*")

_LABEL: Final = re.compile(
    r"^\W*(?:to-?dos?|to do|fixme|tasks?|action(?: items?)?|next steps?|follow-?ups?|reminder|plan|backlog|pending|outstanding|"
    r"(?:still |known )?(?:open|unsolved)(?: (?:issue|bug|problem|task|item|point))?s?|issue|bug|problem)\W*$",
    re.IGNORECASE,
)
"""Matches the clause "Open issue" before a colon, and "still open" after a dash; not "open the gate"."""

_OPENS: Final = re.compile(
    r"\b(?:(?:needs?|ha(?:ve|s)|ought|wants?|plans?|intends?|hopes?|remember|forget|sure|going|planning|supposed|like|love|"
    r"remind [\w'’-]+) to|must|should|will|shall|let['’]?s|please|needs|requires?|open|unsolved|todo|fixme|pending|outstanding|"
    r"backlog|reminder|plan|tasks?|actions?|next steps?|follow-?ups?|issue|bug|problem)\b|['’]ll\b|\[ ?\]",
    re.IGNORECASE,
)
"""Matches every text with an open item that does not begin a sentence."""

_FIRST: Final = re.compile(r"(?:^|[.!?:;\n–—-]\s)\W*(\w+)")
_BOX: Final = re.compile(r"^\W*\[ ?\]")
_LEAD: Final = re.compile(
    r"^\W*(?:\[ ?\]\s*)?(?:(?:to-?do|fixme)\b\W*)?(?:(?:please|ok|okay|hey|and|then|also|first|so|but)\b,?\s+)*"
    r"(?:(?:set (?:up )?a reminder|(?P<list>put|add)\b(?=.*\b(?:list|to-?dos?)\b))\s*(?:for me )?(?:to (?=\w))?|help me (?:to )?)?",
    re.IGNORECASE,
)
"""Words before the verb of an order: "- [ ] ", "TODO ", "please set a reminder to ", "put" before "on my list"; of "Buy milk" nothing."""

_ON_LIST: Final = re.compile(r"\s(?:on|to|in) (?:my|our|the) (?:[\w-]+ ){0,3}(?:list|to-?dos?)\b.*$", re.IGNORECASE)
_MODAL: Final = re.compile(
    r"(?P<before>^|^.*?\s|^\w+(?=['’]))(?:(?:needs?|ha(?:ve|s)|ought|wants?|plans?|intends?|hopes?|remember|remind (?P<who>[\w'’-]+)|"
    r"(?:do not|don['’]t) forget|make sure|be sure|(?:(?:am|are|is) |['’](?:m|re|s) )(?:going|planning|supposed)|"
    r"(?:would |['’]d )(?:like|love)) to|must|should|will|shall|['’]ll|let['’]?s|let us)\s+(?P<rest>\S.*)$",
    re.IGNORECASE,
)
"""Matches "We still need to call Ana" and "Remind Ana to call"; not "We called Ana"."""

_NEEDS_DOING: Final = re.compile(
    r"^(?P<object>.+?)\s(?:needs?|requires?)\s(?P<verb>\w+)ing\b(?P<rest>.*)$", re.IGNORECASE
)
_UNCERTAIN: Final = words_of(
    "you maybe perhaps if whether why how what when where which who it this that there he she they"
)
_ADVERBS: Final = words_of("still also really finally soon just go to and")
_ENDS_OBJECT: Final = words_of(
    "of in on at to from by for with into onto over under about after before during between through as than and or that which so because"
)
_DETERMINERS: Final = words_of("the a an my our your his her their this these all some more new two three both every")
_PARTICLES: Final = words_of("up out off down back in over on away with for")
_STATES: Final = words_of("is are was were has had if that")
_STATIVE: Final = words_of("""
be have use keep stay remain own live know mean contain cost last try think consider believe feel like love hope wish need want see
hear understand enjoy relax seem become share chat say wait depend matter continue practice improve work hold explain exist
""")
"""Verbs of which no single deed is the end: "I have to keep all logs", "I will try that"."""

_EMPTY: Final = (
    GRAMMAR
    | frozenset((*DAYS, *MONTHS))
    | words_of("""
today tomorrow tonight yesterday morning afternoon evening night noon midnight day days week weeks weekend month months year years
hour hours later soon early next last ago recently finally now currently away straight immediately asap overnight since until am pm
spring summer autumn winter end time actually definitely really successfully well fine good great okay ok yes few several someone
somebody something anything everything thing things stuff bit lot lots kind way myself himself herself themselves order get got
getting going go went come came make made take took put set help please able sure team user
""")
)
"""Words that say nothing about an object."""

_TROUBLE: Final = frozenset(
    map(stem_of, words_of("break fail crash error bug issue problem wrong trouble defect fault"))
)
_DONE: Final = re.compile(
    r"\b(?:done|finished|completed?|fixed|resolved|solved|closed|shipped|merged|published|delivered|sorted|settled|handled|arrived|sent|"
    r"ready|in place|set up|up and running|live|taken care of|(?:went|gone) through|up to date|works? (?:fine |well )?(?:again|now)|"
    r"(?:fine|ok|okay|properly|correctly)\b.{0,30}? (?:again|now)|got it|(?:ticked|checked) off|behind (?:me|us)|accomplished|built|passed|"
    r"approved)\b|[✓✔✅]|\[x\]",
    re.IGNORECASE,
)
"""Matches "Onboarding emails: done" and "works again"; not "works on Monday"."""

_DONE_STEMS: Final = frozenset(
    map(
        stem_of,
        words_of("done finish complete fix resolve solve close ship merge ready place live care work needed necessary"),
    )
)
_NEW: Final = re.compile(r"\b(?:now|as of (?:today|now|this \w+)|since \w*day)\b", re.IGNORECASE)
_DROPPED: Final = re.compile(
    r"\b(?:no longer (?:needed|necessary|required|planned|relevant|open|an issue)|no need|(?:not|n['’]t) (?:needed|necessary|required) any "
    r"?(?:more|longer)|off the table|obsolete|dropped|won['’]t (?:fix|do))\b",
    re.IGNORECASE,
)
"""Matches "no longer needed", "is off the table"; not "not needed yet"."""

_STILL_OPEN: Final = (
    NEGATIONS
    | DENIALS
    | words_of("""
yet partly partially half almost nearly still will shall going must should would could may might can need needs needed want wanted
wants hope hopes hoping try tried tries trying tomorrow tonight soon supposed pending expected expects some most if when before
unless think thinks thought believe believes guess maybe perhaps probably always usually often
""")
) - words_of("except instead unlike")
_UNFINISHED: Final = re.compile(
    r"\b(?:in (?:progress|code review|review)|plans? (?:to|for)|planned|planning|(?:years?|months?) ago|used to|when i was|"
    r"last (?:year|summer|winter|spring|autumn|fall)|(?:every|each) (?:other |second |single |\w+ing )?(?:time|hour|day|night|morning|"
    r"afternoon|evening|week|weekend|month|quarter|year|spring|summer|autumn|fall|winter|\w+day)s?)\b|(?:n['’]t|['’]ll|['’]d)\b",
    re.IGNORECASE,
)
"""Matches "is in review", "two years ago", which is another time, and "every evening"; not "reviewed" and "every gate"."""

_BUT_AGAIN: Final = re.compile(r"\bbut\b(?P<then>.*\bagain\b.*)", re.IGNORECASE | re.DOTALL)
_IN_YEAR: Final = re.compile(r"\bin (?P<year>(?:19|20)\d\d)\b", re.IGNORECASE)
_ANOTHERS: Final = re.compile(r"['’]s\b|\b(?:his|her|their)\b", re.IGNORECASE)
_SPEAKERS: Final = words_of("i we my our me us i've we've i'm we're user")

_AFTER_OBJECT: Final = words_of(
    "from by after before during since until because as so and or but again that which than with"
)
_AWAY: Final = words_of("up out off down back onto into away")
_OTHERS: Final = words_of("he she they you he's she's they've you've someone everybody everyone people")
_OWNERS: Final = words_of("my our his her their")
_AUXILIARIES: Final = words_of("is are was were be been being am has have had do does did got")

_FAMILIES: Final = [
    frozenset(map(stem_of, line.split()))
    for line in (
        "book reserve order buy get rent hire procure purchase obtain receive arrive deliver arrange schedule pick find collect look "
        "search",
        "call speak talk tell notify inform contact ask report discuss write message email phone reach answer send mention let",
        "send mail post ship deliver email",
        "fix repair solve resolve correct patch replace",
        "migrate move transfer switch port convert run",
        "build make write finish create draft publish prepare complete set install paint design cook",
        "remove delete drop cancel end close terminate",
        "visit travel go fly drive see watch attend climb",
        "update change raise increase lower reduce downgrade upgrade rotate replace renew adjust",
        "clean wash mop scrub vacuum",
        "pay settle transfer",
        "choose pick decide select name call",
        "return bring give hand",
        "examine check inspect test review",
        "learn pass study",
    )
]
"""Verbs of which one may say what another does, as stems."""

_REPAIRS: Final = next(family for family in _FAMILIES if "fix" in family)

_VERBS: Final[Sequence[tuple[Ending, str]]] = (
    (
        "undone",
        "withdraw lift rescind revoke reverse revert cancel scrap overturn undo repeal abandon take-back roll-back call-off",
    ),
    ("moved", "reassign transfer take-over hand-over pass-on"),
    ("reopened", "reopen"),
)
_WITHDRAWING: Final[Mapping[Ending, Mapping[str, str]]] = {
    ending: {stem_of(verb): particle for verb, _, particle in (word.partition("-") for word in verbs.split())}
    for ending, verbs in _VERBS
}
"""Stem of a verb → the particle with which it withdraws something."""

MAY_WITHDRAW: Final = re.compile(
    r"(?i)\b(?:withdr[ae]w|lifted|rescind|revok|revers|revert|cancel|scrapp|overturn|und(?:o|id)|repeal|abandon|reassign|transferred|reopened|"
    r"no longer|(?:roll|pass|call|hand)ed\b.*\b(?:back|on|off|over)\b|(?:took|taken)\b.*\b(?:back|over)\b)",
)
"""Matches every clause with a withdrawal: "handed the depot over"; not "handed it in"."""

_NO_LONGER: Final = re.compile(r"\bno longer (?:appl(?:y|ies|icable)|valid|holds|in (?:force|effect))\b", re.IGNORECASE)
_STATEMENTS: Final = words_of("notice decision requirement rule policy warning ticket")
"""Nouns by which a withdrawal names a statement that need not have them: "the mask requirement"."""

_SHORTEST: Final = 3  # letters of a root, or digits of a number, that alone names an object
_CLOSE_BY: Final = 8  # words from a verb to its particle


class OpenItem(NamedTuple):
    """A task, an intention or a problem that a text states.

    ``verb`` is the folded verb, empty for a problem. ``words`` are the stems of the object's content, ``head`` is the one that names it,
    and ``figures`` are pairs of a number and a stem next to it. ``doers`` are stems of the names of those who are to do it. ``is_own`` is
    whether that is the speaker.
    """

    sentence: str
    verb: str
    words: tuple[str, ...]
    head: str
    figures: frozenset[tuple[str, str]]
    doers: frozenset[str]
    is_own: bool


class Closing(NamedTuple):
    """A clause that says that something was done or dropped, or is so now.

    ``stems`` are those of its content, ``compounds`` pairs of two that follow each other, ``past`` the folded past forms, ``figures`` and
    ``doers`` as in ``OpenItem``. ``by_other`` is whether its subject is a relative or a person without a name. ``of_others`` are the stems
    after "his", "her" and "their", none if the clause names the speaker. ``year`` is the year in which it was done, 0 if it names none.
    """

    sentence: str
    stems: frozenset[str]
    compounds: frozenset[tuple[str, str]]
    past: frozenset[str]
    figures: frozenset[tuple[str, str]]
    doers: frozenset[str]
    is_done: bool
    is_dropped: bool
    is_new: bool
    by_other: bool
    of_others: frozenset[str]
    year: int


class Withdrawal(NamedTuple):
    """A clause that says that something was undone, reopened or given to another holder.

    ``words`` are the roots of the object's content, its numbers and days. ``new`` and ``old`` are the folded names of holders.
    ``is_anothers`` is whether the object is "his", "her" or "their".
    """

    sentence: str
    ending: Ending
    words: frozenset[str]
    new: frozenset[str]
    old: frozenset[str]
    is_anothers: bool


def may_have_open_items(texts: Sequence[str]) -> list[bool]:
    """Return which texts have a word of an obligation or an intention, or a sentence that begins with a verb. Time: 12 µs per text."""
    import pyarrow as pa

    plain = pa.array([text.replace("’", "'") for text in texts], pa.large_string())
    worded = found(plain, f"(?i:{_OPENS.pattern})").tolist()
    return [
        (flag and _OPENS.search(text) is not None) or any(map(_may_be_order, _FIRST.findall(text)))
        for text, flag in zip(texts, worded, strict=True)
    ]


def _may_be_order(word: str) -> bool:
    first = fold(word)
    return (first not in GRAMMAR or first == "do") and may_be_imperative(first)


@lru_cache(maxsize=4_096)
def read_open_items(text: str) -> tuple[OpenItem, ...]:
    """Parse the open items of a text, at most one per clause."""
    items: list[OpenItem] = []
    for sentence, clauses in _sentences(text):
        labels = [_LABEL.match(clause) is not None for clause in clauses]
        is_marked = any(labels) or _BOX.match(sentence) is not None
        for clause, is_label in zip(clauses, labels, strict=True):
            if is_label or len(clause) > _LONGEST:
                continue
            item = _task(sentence, clause, is_marked=is_marked)
            if item is None and is_marked:
                item = _item(sentence, "", clause)
            if item is not None:
                items.append(item)
    return tuple(items)


@lru_cache(maxsize=4_096)
def read_closings(text: str) -> tuple[Closing, ...]:
    """Parse the clauses of a text that say that something was done or dropped; a short sentence is also parsed as a whole."""
    closings: list[Closing] = []
    for sentence, clauses in _sentences(text):
        again = _BUT_AGAIN.search(sentence)
        if again and not _DONE.search(again["then"]) and not _MODAL.match(again["then"]):
            continue  # "cleaned, but it is dirty again"; not "it broke, but works again"
        if len(clauses) > 1 and len(sentence.split()) <= _JOINED and not sentence.rstrip().endswith("?"):
            clauses = [*clauses, " ".join(clauses)]
        closings += (one for clause in clauses if (one := _closing(sentence, clause)) is not None)
    return tuple(closings)


def _sentences(text: str) -> Iterator[tuple[str, list[str]]]:
    for sentence, clauses in groupby(stated_clauses(text), key=itemgetter(0)):
        yield sentence, [clause for _, clause in clauses]


def _task(sentence: str, clause: str, *, is_marked: bool) -> OpenItem | None:
    lead = _LEAD.match(clause)
    ordered = is_marked or (lead is not None and lead.end() > 0)
    rest = clause[lead.end() :] if lead else clause
    if lead and lead["list"]:
        rest = _ON_LIST.sub("", rest)
    if needs := _NEEDS_DOING.match(rest):
        return _item(sentence, fold(needs["verb"]), f"{needs['object']} {needs['rest']}")
    if modal := _MODAL.match(rest):
        return _intention(sentence, modal)
    written = _WORD.findall(rest)
    words = [fold(word) for word in written]
    if not 1 < len(words) <= _MOST_WORDS or not _STATES.isdisjoint(words):
        return None
    first, second = words[:2]
    if (
        not first.isalpha()
        or (first in GRAMMAR and first != "do")
        or second in ("me", "i", "you")
        or not may_be_imperative(first)
    ):
        return None
    ordered = (
        ordered or second in _DETERMINERS | _PARTICLES or second[0].isdigit() or is_given(second) or clause[0].islower()
    )
    if not ordered and not (len(words) > 2 and written[1][0].isupper()):
        return None  # a heading: "Export settings"
    return _item(sentence, first, " ".join(written[1:]), is_own=True)


def _intention(sentence: str, modal: re.Match[str]) -> OpenItem | None:
    """Return the open item of the words before and after "need to" or the like; None for a rule of "you" and for a supposition."""
    before = [fold(word) for word in _WORD.findall(modal["before"])]
    words = _WORD.findall(modal["rest"])
    while len(words) > 2 and (fold(words[0]) in _ADVERBS or words[0].endswith("ly")):
        words = words[1:]
    first, *rest = (fold(word) for word in words or [""])
    if not first or not _UNCERTAIN.isdisjoint(before) or (before and before[0] in _AUXILIARIES) or "you" in rest[:3]:
        return None
    if first == "be" and rest and is_past(rest[0]):
        return _item(sentence, rest[0], f"{modal['before']} {' '.join(words[2:])}")
    if first in GRAMMAR and first != "do":
        return None
    own = not before or not {"i", "we", "i'm", "we're", "i'd", "we'd"}.isdisjoint(before)
    doers = frozenset(_stem(word) for word in (*before, fold(modal["who"] or "")) if word and word not in GRAMMAR)
    return _item(sentence, first, " ".join(words[1:]), doers, is_own=own and not modal["who"])


def _item(
    sentence: str, verb: str, named: str, doers: frozenset[str] = frozenset(), *, is_own: bool = False
) -> OpenItem | None:
    tokens = [fold(word) for word in _WORD.findall(named)]
    if verb in _STATIVE or len(tokens) > _MOST_WORDS or not NEGATIONS.isdisjoint(tokens):
        return None
    head = ""
    for token in tokens:
        if token in _ENDS_OBJECT and head:
            break
        head = _stem(token) if _is_content(token) else head
    words = tuple(dict.fromkeys(_stem(token) for token in tokens if _is_content(token)))
    return OpenItem(sentence, verb, words, head, _figures(tokens), doers, is_own) if words else None


def _stem(token: str) -> str:
    return stem_of(token.replace("’", "'").removesuffix("'s").removesuffix("'"))


def _is_content(token: str) -> bool:
    return token not in _EMPTY and not _is_figure(token)


def _is_figure(token: str) -> bool:
    return token[0].isdigit() or token in CARDINALS or token in TENS or token in ("hundred", "thousand", "million")


def _figures(tokens: Sequence[str]) -> frozenset[tuple[str, str]]:
    """Return each number with the stem of each word next to it."""
    return frozenset(
        (number, _stem(beside))
        for one, other in pairwise(tokens)
        for number, beside in ((one, other), (other, one))
        if _is_figure(number) and (_is_content(beside) or beside in MONTHS)
    )


def _closing(sentence: str, clause: str) -> Closing | None:
    if len(clause) > _LONGEST:
        return None
    spans = list(_WORD.finditer(clause))
    tokens = [fold(span[0]).replace("’", "'") for span in spans]
    if len(tokens) < 2 or tokens[0] in _AUXILIARIES:
        return None
    withdrawal = _withdrawal(sentence, clause)
    dropped = _DROPPED.search(clause) is not None or (withdrawal is not None and withdrawal.ending == "undone")
    if not dropped and (not _STILL_OPEN.isdisjoint(tokens) or _UNFINISHED.search(clause) or _is_part(tokens)):
        return None
    past = frozenset(token for token in tokens if is_past(token) and token not in _AUXILIARIES)
    done, new = _DONE.search(clause) is not None, _NEW.search(clause) is not None
    if not (past or done or dropped or new):
        return None
    if not past and _AUXILIARIES.isdisjoint(tokens) and tokens[0] not in GRAMMAR and may_be_imperative(tokens[0]):
        return None  # an order: "set up the printer"
    kin = tokens[0] in _OWNERS and not tokens[1].endswith("'s") and is_kin(tokens[1])
    compounds = frozenset(
        (_stem(one), _stem(after))
        for (one, after), (left, right) in zip(pairwise(tokens), pairwise(spans), strict=True)
        if left.end() + 1 == right.start() and _is_content(one) and _is_content(after) and after not in past
    )
    stems = frozenset(_stem(token) for token in tokens if _is_content(token))
    agents = (after for one, after in pairwise(["by", *tokens]) if one == "by")  # "Jon repaired it", "repaired by Jon"
    doers = frozenset(_stem(token) for token in agents if is_given(token))
    others: set[str] = set()
    for n, token in enumerate(tokens):
        if token in ("his", "her", "their") and _SPEAKERS.isdisjoint(tokens):
            others |= {_stem(after) for after in takewhile(lambda t: t not in _ENDS_OBJECT, tokens[n + 1 : n + 5])}
    year = _IN_YEAR.search(clause)
    return Closing(
        *(sentence, stems, compounds, past, _figures(tokens), doers, done, dropped, new, kin or tokens[0] in _OTHERS),
        of_others=frozenset(others),
        year=int(year["year"]) if year else 0,
    )


def _is_part(tokens: Sequence[str]) -> bool:
    """Return whether a clause is about some of several: "three of the nine chapters"; not "chapter 3 of the manual", "by one of us"."""
    return any(
        _is_figure(number)
        and after == "of"
        and before not in ("the", "by", "all")
        and (not before or not _is_content(before) or is_past(before))
        and (before or number != "one")
        and following not in MONTHS
        and following != number
        for before, number, after, following in zip(["", *tokens], tokens, tokens[1:], tokens[2:], strict=False)
    )


def closing_share(item: OpenItem, closing: Closing, weights: Mapping[str, float]) -> float:
    """Return the share of an item's words, by weight, that a clause which closes it has; 0 if it does not close it."""
    if item.is_own and item.head in closing.of_others and not _ANOTHERS.search(item.sentence):
        return 0.0  # "renew my passport", "Clara renewed her passport"
    own = set(item.words) - (frozenset[str]() if item.verb else _TROUBLE)
    both, missing = own & closing.stems, own - closing.stems
    if (closing.by_other and item.is_own) or not both or (item.head not in both and item.head not in _TROUBLE):
        return 0.0
    if not item.figures & closing.figures and any(
        beside == other for _, beside in item.figures for _, other in closing.figures
    ):
        return 0.0
    verb = stem_of(item.verb)
    family = {other for some in _FAMILIES if verb in some for other in some} if verb else _REPAIRS
    done = {stem_of(past) for past in closing.past} | {f"{past[:-3]}y" for past in closing.past if past.endswith("ied")}
    same, kin = not done.isdisjoint((verb, item.verb)), not done.isdisjoint(family)
    added = closing.stems - set(item.words) - done - item.doers - closing.doers - _DONE_STEMS - _TROUBLE - {verb}
    if any(one == item.head and after in added for one, after in closing.compounds):
        return 0.0  # "wash the dog", "the dog food arrived"
    is_state = closing.is_new and bool(verb) and not missing and not added
    if not (same or kin or closing.is_done or closing.is_dropped or is_state):
        return 0.0
    if (missing and added) or (not same and len(added) > _MORE):
        return 0.0
    share = sum(weights.get(word, 1.0) for word in both) / sum(weights.get(word, 1.0) for word in own)
    return share + _SAME_VERB * same if share >= (LEAST_SHARE_SAME_VERB if same else LEAST_SHARE) else 0.0


@lru_cache(maxsize=4_096)
def read_withdrawals(text: str) -> tuple[Withdrawal, ...]:
    """Parse the clauses of a text that withdraw something."""
    read = (_withdrawal(*both) for both in stated_clauses(text))
    return tuple(one for one in read if one is not None)


def _withdrawal(sentence: str, clause: str) -> Withdrawal | None:
    if not MAY_WITHDRAW.search(clause):
        return None
    written = _WORD.findall(_NO_LONGER.sub("was withdrawn", clause))
    tokens = [fold(word) for word in written]
    if (
        len(clause) > _LONGEST
        or tokens[0] in _AUXILIARIES
        or not _STILL_OPEN.isdisjoint(tokens)
        or _UNFINISHED.search(clause)
    ):
        return None
    ended: list[tuple[int, int, Ending]] = [
        (verb, at, ending)
        for verb, token in enumerate(tokens)
        if is_past(token) or tokens[max(verb - 2, 0) : verb] == ["had", "to"]
        for ending, particles in _WITHDRAWING.items()
        if (particle := particles.get(stem_of(token))) is not None
        for at in (range(verb + 1, min(verb + _CLOSE_BY, len(tokens))) if particle else (verb,))
        if not particle or tokens[at] == particle
    ]
    if not ended:
        return None
    verb, at, ending = ended[0]
    first = verb
    while first and (tokens[first - 1] in _AUXILIARIES | _ADVERBS or tokens[first - 1].endswith("ly")):
        first -= 1
    after = tokens[at + 1 :]
    is_active = {"is", "are", "was", "were", "been", "being", "got"}.isdisjoint(tokens[first:verb])
    if ending == "reopened":
        is_active = not _DETERMINERS.isdisjoint(after[:1])
    if at == verb and not _AWAY.isdisjoint(after[:1]):
        return None  # "the boat was lifted out of the water", "we reverted back to the draft"
    named = tokens[:first]
    if is_active:
        ends = _AFTER_OBJECT | ({"to"} if ending == "moved" else set())
        named = tokens[verb + 1 : at] or list(takewhile(lambda token: token not in ends, after))
        if named[-2:-1] in (["on"], ["in"]) and named[-1] in (*DAYS, *MONTHS):
            named = named[:-2]
    subject, new, old = (
        _names(takewhile(lambda word: fold(word) not in _ENDS_OBJECT, some))
        for some in (
            written[:first],
            *(written[at + 1 + after.index(word) + 1 :] if word in after else () for word in ("to", "from")),
        )
    )
    if is_active and first and not subject and _DETERMINERS.isdisjoint(named[:1]):
        return None  # "works with reversed ordering"
    if is_active:
        new, old = (new, old | subject) if new else (subject, old)
    rooted = [(token, root) for token in named for root in _roots(token)]
    words = frozenset(root for token, root in rooted if token not in _STATEMENTS) or frozenset(
        map(itemgetter(1), rooted)
    )
    if all(len(word) < _SHORTEST for word in words) or (ending == "moved" and not new):
        return None
    is_anothers = not {"his", "her", "their"}.isdisjoint(named)
    return Withdrawal(sentence, ending, words, new, old, is_anothers)


def _names(words: Iterable[str]) -> frozenset[str]:
    return frozenset(fold(word) for word in words if word[0].isupper() and (word == "I" or fold(word) not in _EMPTY))


def _roots(token: str) -> list[str]:
    """Return the roots of the parts of a folded word of content, or its number or day."""
    day = token.removesuffix("'s")
    if any(map(str.isdigit, token)) or _is_figure(token) or day in DAYS or day in MONTHS:
        return [day]
    parts = (part.removesuffix("'s").removesuffix("'") for part in token.split("-"))
    return [_root(part) for part in parts if part and part not in _EMPTY]


@lru_cache(maxsize=65_536)
def _root(word: str) -> str:
    """Return the root of a folded word, for a noun of a deed that of its verb: "renewal", "decision"."""
    if word.endswith("sion"):
        return stem_of(f"{word[:-4]}d")
    return root_of(word[:-2] if len(word) > 4 and word.endswith("al") and may_be_imperative(word[:-2]) else word)


def roots(text: str) -> frozenset[str]:
    """Return the roots of the words of content of a text, and its numbers and days."""
    return frozenset(root for word in _WORD.findall(text) for root in _roots(fold(word)))


def withdrawn_sentence(text: str, one: Withdrawal) -> str:
    """Return the sentence of an earlier text that a clause withdraws; empty if there is none."""
    every = dict.fromkeys(sentence for sentence, _ in stated_clauses(text))
    return next((sentence for sentence in every if _is_withdrawn(sentence, one)), "")


def _is_withdrawn(sentence: str, one: Withdrawal) -> bool:
    written = _WORD.findall(sentence)
    tokens = [fold(word) for word in written]
    if (
        not one.words <= roots(sentence)
        or not NEGATIONS.isdisjoint(tokens)
        or (one.is_anothers and not _SPEAKERS.isdisjoint(tokens))
    ):
        return False
    begins = " ".join(takewhile(lambda token: token not in _ENDS_OBJECT, tokens))
    if len(one.words) == 1 and one.words.isdisjoint(roots(begins)):
        return False
    if one.ending == "undone":
        return not MAY_WITHDRAW.search(sentence)
    if one.ending == "reopened":
        return _DONE.search(sentence) is not None or any(w.ending == "undone" for w in read_withdrawals(sentence))
    if one.old:
        return not one.old.isdisjoint(tokens) and one.new.isdisjoint(tokens)
    holders = _names(written[1:]) | {token for token in tokens[:1] if is_given(token)}
    happened = _AUXILIARIES.isdisjoint(tokens) and any(map(is_past, tokens))  # "Jon wrote the guide"
    return not happened and one.new.isdisjoint(tokens) and any(one.words.isdisjoint(_roots(name)) for name in holders)
