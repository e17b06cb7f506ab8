"""Claims in a conversation, in words that need no context, and their later corrections."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from slowwave.text.exclusions import is_profession
from slowwave.text.informative import NAME, is_open, without_lead_in
from slowwave.text.names import is_given
from slowwave.text.relations import SELF, TRIGGER, stated_relations
from slowwave.text.tokens import fold, normalise_name
from slowwave.text.words import words_of

# Third person: statements in the first person are rewritten, so that "my dog and I" becomes "their dog and they".

_THIRD: Final = (
    (re.compile(r"\bI (?:am|['’]m)\b|\bI['’]m\b"), "they are"),
    (re.compile(r"\bI was\b"), "they were"),
    (re.compile(r"\bI['’]ve\b"), "they have"),
    (re.compile(r"\bI\b(?!['’])"), "they"),
    (re.compile(r"\b[Mm]y\b"), "their"),
    (re.compile(r"\bmyself\b"), "themselves"),
    (re.compile(r"\bme\b"), "them"),
)
_FIRST: Final = re.compile(r"\b(?:I|me|my|mine|myself|we|us|our|ours|you|your|yours)\b|\bI['’]")
_OTHERS: Final = re.compile(r"\b(?:it|this|these|those|there|here|him|her|he|she)\b")
_TRAIL: Final = re.compile(r"(?:,? (?:too|as well|also|a lot|very much|sometimes))?[.!\s]*$")


def third_person(text: str) -> str:
    """Rewrite the rest of a first-person sentence in the third person.

    Returns an empty string if the rest addresses or refers to others, or to something in an earlier sentence.
    """
    rewritten = _TRAIL.sub("", text)
    for pattern, instead in _THIRD:
        rewritten = pattern.sub(instead, rewritten)
    return "" if _FIRST.search(rewritten) or _OTHERS.search(rewritten) else rewritten


# Plain claims: statements of a conversation about a person or thing, in words that need no context.
#
# Preferences, decisions, states, dates and facts are parsed in a few plain English forms. Questions, suppositions, wishes, quotations,
# tasks and sentences that depend on another one claim nothing. The speaker is called by name, and the other words are kept. The planner
# ``extract_claims`` resolves names to entities. A wrong claim is worse than a missed one. Time: linear, some 50 µs per sentence.

Kind = Literal["preference", "decision", "state", "fact"]

LONGEST: Final = 240
"""Maximum length in characters of a statement."""

_ISO: Final = r"\d{4}-\d\d(?:-\d\d)?(?:/\d{4}-\d\d-\d\d)?"
_MONTHS: Final = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE: Final = (
    rf"(?:{_ISO}|\d{{1,2}} {_MONTHS}(?: \d{{4}})?|{_MONTHS} \d{{1,2}}(?:, \d{{4}})?|(?:early |mid-|"
    rf"late )?{_MONTHS}(?: \d{{4}})?|Q[1-4])"
)
_THING: Final = (
    rf"(?P<subject>(?:(?:[Tt]he|[Oo]ur) )?(?:{NAME})(?: (?!is |are |was |has |will |moved |slipped )[\w.-]+){{0,3}})"
)
_PERSON: Final = rf"(?P<subject>(?:{NAME})(?: {NAME})?)"
_SOON: Final = r"(?:now |finally |officially |already |still |currently |just )?"
_ADVERBS: Final = (
    r"(?: (?:really|strongly|much|always|generally|usually|still|also|both|absolutely|especially|mainly|mostly|quite|"
    r"very much))*"
)

_LIKINGS: Final = {
    "prefer": "prefers",
    "like": "likes",
    "love": "loves",
    "enjoy": "enjoys",
    "hate": "hates",
    "dislike": "dislikes",
    "favour": "favours",
    "favor": "favors",
    "can't stand": "can't stand",
    "don't like": "does not like",
    "do not like": "does not like",
}
_OWN_LIKING: Final = re.compile(rf"^I{_ADVERBS} (?P<verb>{'|'.join(_LIKINGS)}) (?P<rest>.+)$")
_LIKING: Final = re.compile(
    rf"^{_PERSON}{_ADVERBS} (?P<verb>{'|'.join(sorted(set(_LIKINGS.values())))}|doesn't like) (?P<rest>.+)$"
)
_FAVOURITE: Final = re.compile(
    rf"^(?:[Mm]y|(?P<subject>{NAME})['’]s) (?P<what>favou?rite [a-z][\w -]{{2,40}}?) (?P<verb>is|are) (?P<rest>.+)$"
)
_NO_LIKING: Final = re.compile(
    r"^(?:it|this|that|these|those|how|what|when|where|who|your?|the|him|her|them|both|each|one|everything|all|some|seeing|hearing|"
    r"chatting|talking|being|to (?:chat|talk|share|know|see|hear|think|share|believe|say|be)|my (?!own)|doing (?:it|this|that|so))\b",
    re.IGNORECASE,
)

_WHO: Final = rf"(?P<who>[Ww]e(?: all)?|I|[Tt]he team|[Tt]hey|(?:{NAME})(?:(?:, {NAME})* and (?:{NAME}|I))?)"
_HAVE: Final = r"(?:['’]ve| have| has)?(?: just| now| finally| all| both| also| since)?"
_DECIDED: Final = re.compile(
    rf"^{_WHO}{_HAVE} (?P<verb>decided (?:to|that|on|against|not to)|agreed (?:to|that|on)|settled on|chose|opted (?:for|to)|approved|"
    r"ruled out|signed off on) (?P<rest>.+)$"
)
_LABELLED: Final = re.compile(r"^(?:[Dd]ecision|[Dd]ecided|[Aa]greed)\s*[:–—-]\s+(?P<rest>.+)$")

_STATUS: Final = re.compile(
    rf"^{_THING} (?:is|are) {_SOON}(?:blocked|paused|on hold|delayed|behind schedule|on track|at risk|frozen|unblocked|"
    rf"live|stable|down(?! to)|done|"
    r"finished|cancelled|canceled|archived|in (?:closed |open |private |public )?(?:beta|review|progress|staging|"
    r"production|testing|QA|design|development|maintenance))\b"
)
_WHEN: Final = re.compile(
    rf"^{_THING} (?:(?:is|are|was|has been) {_SOON})?(?:due|scheduled|planned|set|expected|moved|slipped|postponed|pushed|brought forward)"
    rf"(?: back| out| forward)?(?: from {_DATE})?(?: (?:on|for|by|to|in|until|at))* (?P<when>{_DATE})"
)
_LAUNCHES: Final = re.compile(
    rf"^{_THING} (?:launches|starts|begins|ends|ships|closes|opens|takes place) (?:on|in) (?P<when>{_DATE})"
)
_SINGLE: Final = "deadline|due date|budget|owner|price|launch date|release date|status|target|limit"
_DATE_OF: Final = re.compile(r"['’]s (?:(?:new|current|revised|final) )?(?:due date|deadline|date)$")
_OF_THING: Final = re.compile(
    rf"^(?:[Tt]he )?(?:new |current |revised |updated |final )?"
    rf"(?P<what>{_SINGLE}) (?:of|for) (?P<subject>(?:the )?(?:{NAME})(?: [\w.-]+){{0,3}}?) is {_SOON}(?P<rest>.+)$"
)
_PART: Final = re.compile(
    rf"^[Tt]he (?P<what>[a-z][a-z -]{{2,30}}) (?:of|for) (?P<subject>{NAME}) (?:runs for|lasts|costs|takes|ends on|"
    rf"expires on|is (?=\d|[A-Z])) (?P<rest>.+)$"
)
_MADE_OF: Final = re.compile(
    rf"^{_THING} (?:uses|runs on|is (?:written|built|hosted|based|deployed) (?:in|on|with|at)|depends on|costs|stores|"
    rf"supports|replaces|belongs to|"
    r"keeps|has (?:\d|two|three|four|five|six))\b"
)
_ROLE: Final = re.compile(
    rf"^{_PERSON} is {_SOON}(?P<article>our|the|a|an) (?:new )?(?P<role>[a-z][a-z' -]{{2,50}}?)(?= (?:for|of|at|on|in|from|and)\b|[,.;]|$)"
)
_POSTS: Final = words_of("""
lead leader manager head owner maintainer chair director captain coach founder colleague teammate collaborator contact friend boss
partner intern assistant accountant tester customer client vendor supplier mentor reviewer approver analyst designer developer
programmer copywriter marketer researcher technician scientist writer editor producer architect administrator admin lawyer
""")
"""Roles of a person in a team, in addition to professions."""
_LEADS: Final = re.compile(
    rf"^(?:I|{_PERSON}) (?:now )?(?:leads?|manages?|heads) (?P<thing>(?:the )?(?:{NAME})(?: [\w.-]+){{0,2}}?)(?: (?:now|"
    rf"from now on))?[.!]*$"
)
_LED: Final = re.compile(
    rf"^(?P<thing>(?:[Tt]he )?(?:{NAME})(?: [\w.-]+){{0,2}}?) is {_SOON}(?:led|managed|headed) by {_PERSON}"
)
_TASK: Final = re.compile(
    rf"^{_PERSON} (?:now )?(?:handles|owns|maintains|looks after|takes care of|is responsible for|is in charge of|speaks|"
    rf"runs|manages|reviews|approves)\b"
)

_NO_STATEMENT: Final = re.compile(
    r"\b(?:will|shall|going to|gonna|wants?|wanted|hopes?|hoping|plans to|planning|wish(?:es)?|need(?:s|ed)? to|have to|"
    r"has to|must|used to|"
    r"formerly|previously|says?|said|told|heard|thinks?|thought|believes?|claims?|asked|according|seems?|looks like|feels?|sounds?|"
    r"today|tonight|yesterday|tomorrow|tomorrow's|this (?:morning|afternoon|evening)|right now|at the moment|just now|for now|ago|"
    r"never|no longer|not sure|pretend|dream)\b|n['’]t\b|['’](?:ll|d)\b",
    re.IGNORECASE,
)
_NO_DECISION: Final = re.compile(
    r"\b(?:not (?:yet )?decided|says?|said|told|heard|apparently|later|today|tonight|right now|for now|call it a day|take a break|lunch)\b",
    re.IGNORECASE,
)
_VAGUE: Final = re.compile(
    r"\b(?:it|its|this|that(?= (?:is|was|one|would|way)\b|[.,;!]|$)|these|those|them|they|their|he|him|his|she|her|hers|there|here|"
    r"something|"
    r"someone|somebody|stuff|things?|"
    r"the (?:former|latter|other|others|same|rest)|you|your|yours|we|us|me|my|I|ones?|both|above|below|following|attached)\b"
)
_CUT: Final = re.compile(
    r"(?:,? (?:so\b(?! that\b)|because\b|since\b(?! \d)|as(?= I\b| we\b| it\b)|which\b|but\b|though\b|although\b|"
    r"and (?:often|usually|sometimes|always)\b|and (?=we\b|I\b|it\b|he\b|she\b|they\b|that\b|this\b))|;|(?<=\betc)\. |"
    r"\s[–—-]\s|,(?= (?:we|I|it|he|she|they|[A-Z][a-z]+ (?:has|is|will|does|gets|can|was))\b)).*$"
)
_BESIDE: Final = re.compile(
    r"(?<!\d), (?:and |but )?(?:the|our|a|all|nothing|[A-Z][a-z]+) .*$|,? (?:and|but) (?:the|our|nothing|[A-Z][a-z]+) .*$"
)
_INTRODUCED: Final = re.compile(
    rf"^(?:(?:hello|hi|hey|good \w+)[,! ]+)?(?:and )?(?:my name is|my name['’]s|I am called|call me|I['’]m|I am|"
    rf"this is) (?P<name>(?:{NAME})(?: {NAME})?)(?=[,.!;]|$| (?:here|from|and|speaking|again|back|calling|writing)\b)",
    re.IGNORECASE,
)


_NO_FAMILY_NAMES: Final = words_of("""
again here back too also now still today speaking calling writing once actually sorry just only really there then
""")
"""Words after a given name that are not part of it ("I'm Nora again")."""


class PlainClaim(NamedTuple):
    """A claim that a sentence states in words that need no context.

    ``about`` is the wording of the subject, empty for the speaker. ``slot`` is the folded name of the claimed property, if only one value
    of it can hold at a time.
    """

    kind: Kind
    about: str
    statement: str
    slot: str = ""


def introduced(sentence: str) -> str:
    """Return the name by which the speaker introduces themselves, or an empty string if they do not."""
    match = _INTRODUCED.match(sentence)
    whole = match["name"] if match else ""
    opening = match[0][: -len(whole)].lower() if match else ""
    first, *more = whole.split() or [""]
    name = " ".join([first, *(w for w in more if w[:1].isupper() and w.lower() not in _NO_FAMILY_NAMES)])
    sure = "name" in opening or "call" in opening
    return name if name[:1].isupper() and (sure or is_given(_first(name))) else ""


def plain_claim(sentence: str, speaker: str = "") -> PlainClaim | None:
    """Return the claim of a sentence, or None if it has none.

    ``speaker`` is the name of the speaker ("Mara", "The user"); without it the sentence yields no claim about the speaker. Relative dates
    must already be written out (``slowwave.text.dates``).
    """
    text = without_lead_in(sentence.strip())
    if is_open(text) and not _LABELLED.match(text):
        return None
    text = text.replace("’", "'")
    found = _decision(text)
    if found is None and not _NO_STATEMENT.search(_CUT.sub("", text)):
        found = _of_self(text, speaker) if speaker else None
        found = found or _of_other(text)
    if found is None or not 12 <= len(found.statement) <= LONGEST:
        return None
    return found


def claim_of(title: str, sentence: str) -> PlainClaim | None:
    """Return the claim of a sentence on the page of a subject: a plain claim, or a fact that begins with its ``title``.

    Returns None if there is neither.
    """
    text = without_lead_in(sentence.strip()).replace("’", "'")
    if (found := plain_claim(text)) is not None:
        return found
    begins = (
        re.match(rf"(?:[Tt]he )?{re.escape(title)} (?:is|are|has|acts as|(?!was|has)[a-z]{{3,}}s)\b(?! to be\b)", text)
        if title
        else None
    )
    stands = begins and not is_open(text) and not _NO_STATEMENT.search(text) and not _VAGUE.search(text[begins.end() :])
    return PlainClaim("fact", title, _ended(text), slot_of(text)) if stands and len(text) <= LONGEST else None


def slot_of(statement: str) -> str:
    """Return the slot of a complete statement, as in ``PlainClaim``, or an empty string if it has none."""
    text = statement.replace("’", "'")
    for pattern, name in ((_WHEN, "date"), (_LAUNCHES, "date"), (_STATUS, "status")):
        if match := pattern.match(text):
            return f"{name} of {_key(_bearer(match['subject']))}"
    for pattern in (_LEADS, _LED):
        if match := pattern.match(text):
            return f"lead of {_key(match['thing'])}"
    for pattern in (_OF_THING, _FAVOURITE):
        if (match := pattern.match(text)) and match["subject"]:
            what = fold(match["what"])
            return f"{'date' if what == 'due date' else what} of {_key(match['subject'])}"
    if TRIGGER.search(text):
        for stated in stated_relations(text):
            return f"{stated.relation} of {stated.subject}"
    return ""


def _decision(text: str) -> PlainClaim | None:
    if match := _LABELLED.match(text):
        return _decided(f"Decided: {match['rest']}", match["rest"])
    if (match := _DECIDED.match(text)) is None:
        return None
    who, verb, rest = match["who"], match["verb"], match["rest"]
    if who.lower() in ("we", "we all", "i", "the team", "they"):
        return _decided(f"{verb.capitalize()} {rest}", rest)
    return _decided(f"{who.replace(' and I', ' and others')} {verb} {rest}", rest)


def _decided(statement: str, rest: str) -> PlainClaim | None:
    for wording in (statement, _CUT.sub("", statement)):
        plain = wording.replace(" our ", " the team's ")
        if not _VAGUE.search(
            re.sub(r"\b(?:Decided|Agreed|decided|agreed) that\b", "", plain)
        ) and not _NO_DECISION.search(plain):
            return PlainClaim("decision", rest, _ended(plain))
    return None


def _of_self(text: str, speaker: str) -> PlainClaim | None:
    """Return the claim that a speaker makes about themselves."""
    bare = _CUT.sub("", text)
    if match := _OWN_LIKING.match(bare):
        rest = third_person(match["rest"])
        if (
            rest
            and not (_NO_LIKING.match(rest) and match["verb"] != "prefer")
            and not re.match(r"(?:it|this|that|these|those)\b", rest)
        ):
            return PlainClaim("preference", "", _ended(f"{speaker} {_LIKINGS[match['verb']]} {rest}"))
        return None
    if (match := _FAVOURITE.match(bare)) and not match["subject"]:
        rest = third_person(match["rest"])
        return (
            PlainClaim(
                "preference",
                "",
                _ended(f"{speaker}'s {match['what']} {match['verb']} {rest}"),
                f"{fold(match['what'])} of {SELF}",
            )
            if rest
            else None
        )
    return _own_relation(bare, speaker)


def _own_relation(text: str, speaker: str) -> PlainClaim | None:
    if (match := _LEADS.match(text)) and text.startswith("I "):
        thing = match["thing"]
        return PlainClaim("state", thing, _ended(f"{speaker} leads {thing}"), f"lead of {_key(thing)}")
    for stated in stated_relations(text):
        object_text = _surface(stated.object, text) if stated.subject == SELF else ""
        article = "an" if object_text[:1].lower() in "aeiou" else "a"
        forms = {"lives in": "lives in {}", "works for": "works for {}", "works as": f"works as {article} {{}}"}
        form = forms.get(stated.relation)
        if form and object_text and (object_text[0].isupper() or stated.relation == "works as"):
            return PlainClaim(
                "state", "", _ended(f"{speaker} {form.format(object_text)}"), f"{stated.relation} of {SELF}"
            )
    return None


def _of_other(text: str) -> PlainClaim | None:
    """Return the claim about a named person or thing."""
    for wording in dict.fromkeys((text, _CUT.sub("", text))):
        plain = wording.replace(" our ", " the team's ").replace("Our ", "The ")
        if not _VAGUE.search(plain) and (found := _named(plain)) is not None:
            return found
    return None


def _named(text: str) -> PlainClaim | None:
    if match := _LIKING.match(text):
        known = is_given(_first(match["subject"]))
        return (
            PlainClaim("preference", match["subject"], _ended(text))
            if known and not _NO_LIKING.match(match["rest"])
            else None
        )
    if (match := _FAVOURITE.match(text)) and match["subject"]:
        return PlainClaim("preference", match["subject"], _ended(text), slot_of(text))
    for pattern in (_WHEN, _LAUNCHES, _STATUS, _OF_THING):
        if match := pattern.match(text):
            return PlainClaim("state", _bearer(match["subject"]), _ended(_main(text)), slot_of(text))
    if (match := _LEADS.match(text) or _LED.match(text)) and match["subject"] and is_given(_first(match["subject"])):
        return PlainClaim("state", match["thing"], _ended(text), slot_of(text))
    if match := _PART.match(text):
        return PlainClaim("fact", match["subject"], _ended(text))
    if match := _ROLE.match(text):
        noun = match["role"].split()[-1]
        is_person = is_given(_first(match["subject"])) and (is_profession(noun) or noun in _POSTS)
        return PlainClaim("fact", match["subject"], _ended(text)) if is_person else None
    if TRIGGER.search(text):
        for stated in stated_relations(text):
            if stated.subject == SELF or stated.subject.startswith(f"{SELF}:") or stated.relation == "is married to":
                continue
            thing = _surface(stated.subject, text)
            kind: Kind = "fact" if stated.relation == "is called" else "state"
            if thing:
                return PlainClaim(kind, thing, _ended(text), f"{stated.relation} of {stated.subject}")
    if match := _TASK.match(text):
        return PlainClaim("fact", match["subject"], _ended(text)) if is_given(_first(match["subject"])) else None
    if match := _MADE_OF.match(text):
        return PlainClaim("fact", match["subject"], _ended(text))
    return None


def _main(text: str) -> str:
    """Remove the clauses behind a comma that are about something else."""
    return _BESIDE.sub("", text)


def _bearer(subject: str) -> str:
    """Return the subject that has a date, if the text names its date: "Lantern's due date moved" is about Lantern."""
    return _DATE_OF.sub("", subject)


def _surface(folded: str, text: str) -> str:
    """Return folded words as they are written in a text, or an empty string if they do not occur."""
    words = [re.escape(word) for word in folded.split()]
    match = re.search(r"(?<!\w)" + r"[\s'’.,-]+".join(words) + r"(?!\w)", text, re.IGNORECASE) if words else None
    return match[0] if match else ""


def _key(subject: str) -> str:
    return re.sub(r"^(?:the|our) ", "", normalise_name(subject))


def _first(name: str) -> str:
    return fold(name.split()[0])


def _ended(text: str) -> str:
    bare = text.rstrip(" .!,;:")
    return f"{bare[:1].upper()}{bare[1:]}."


# Corrections: claims of a conversation that a later sentence retracts or gives another value.
#
# Most corrections cannot be parsed as claims ("not on 5 February but on 12 February"), so the value that they name is not claimed. The
# corrected claim is held back anyway, because a wrong date is worse than none. A sentence that claims the same slot needs no such rule,
# because the later of two claims of one slot is kept. Time: linear in the claims times the sentences after each.

_SHORT: Final = 6
"""Maximum number of words of a sentence that names only a value ("No, 12 February")."""
NEAR: Final = 2
"""Number of sentences before a correction without a subject ("I meant the 12th") that are searched for the corrected claim."""

_RETRACTS: Final = re.compile(
    r"(?<!n't )(?<!not )(?<!never )\b(?:forget|ignore|disregard|scratch|strike|drop) (?:about )?(?:what|everything|that|my|the|all)\b|"
    r"\btake (?:that|it) back\b|\bmisspoke\b|"
    r"\b(?:I|we) (?:was|were|am|are|had|got)\b[\w ,']{0,20}\b(?:wrong|mistaken|mixed up|confused)\b|"
    r"\b(?:I|we) (?:have |had )?(?:mixed up|confused)\b|"
    r"\b(?:is|was|were|that's|are) (?:wrong|outdated|out of date|incorrect|(?:not|no longer) (?:right|true|correct|valid))\b",
    re.IGNORECASE,
)
"""Matches "Forget what I said about Lantern", not "Don't forget the tickets"."""
_CORRECTS: Final = re.compile(
    r"^(?:(?:oh|ah|well|and|but|so|hm+)[,. ]+)*(?:correction|corrected|erratum|typo|my (?:bad|mistake|error)|on second thoughts?)\b|"
    r"\b(?:I|we) (?:actually |really )?meant\b|\bshould (?:be|have been|read|say)\b|\bnot\b[^.;]{1,40}\b(?:but|rather)\b|\binstead of\b|"
    r"\brather than\b|[,;–—-] not\b|\bmake (?:it|that)\b",
    re.IGNORECASE,
)
"""Matches "not on 5 February but on 12 February", not "Lantern is due on 5 February"."""
_TURNS: Final = re.compile(
    r"^(?:(?:oh|ah|well|and|but|so|hm+)[,. ]+)*(?:no|nope|sorry|apologies|pardon|oops|whoops|wait|hang on|hold on|hmm|actually|update)\b",
    re.IGNORECASE,
)
_LEANS: Final = re.compile(r"\b(?:it|it's|that|that's|its|he|she|they|his|her|their|this)\b", re.IGNORECASE)
_MONTHS_CORRECTIONS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = (
    r"(?P<{}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?)\b"
)
_DATE_CORRECTIONS: Final = re.compile(
    r"\b\d{4}-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b|\b(?P<before>\d{1,2})(?:st|nd|rd|th)?(?: of)? "
    + _MONTH.format("name")
    + r"|\b"
    + _MONTH.format("first")
    + r"(?: (?:the )?(?P<after>\d{1,2})(?!\d))?|\bthe (?P<alone>\d{1,2})(?:st|nd|rd|th)\b|"
    r"\b(?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?P<quarter>q[1-4])\b",
    re.IGNORECASE,
)
"""Matches "5 February 2027", "Feb 5", "2027-02-05", "the 12th", "Friday"; not "5 people" or "maybe"."""
_NUMBER: Final = re.compile(r"(?<![\w.,])\d[\d.,]*\d|(?<![\w.,])\d")
_NAME: Final = re.compile(r"(?<!^)(?<![.!?:] )\b[A-Z][\w'’-]+")
_DUE: Final = re.compile(r"\b(?:due|deadline)\b", re.IGNORECASE)
_DUE_SLOTS: Final = ("date", "due date", "deadline")


class HeardSentence(NamedTuple):
    """A sentence of a conversation, its speaker and its claim."""

    text: str
    speaker: str
    claim: PlainClaim | None


class _Values(NamedTuple):
    """The values that a sentence names."""

    dates: frozenset[tuple[str, str]]
    numbers: frozenset[str]
    names: frozenset[str]


class _Read(NamedTuple):
    """A sentence with all values that are compared, extracted once."""

    said: HeardSentence
    values: _Values
    words: frozenset[str]
    retracts: bool
    corrects: bool
    turns: bool


def corrected_claims(heard: Sequence[HeardSentence]) -> set[int]:
    """Return the positions of the sentences whose claim a later sentence corrects.

    ``heard`` must be in the order of the conversation.
    """
    if all(one.claim is None for one in heard):
        return set()
    read = [_read(one) for one in heard]
    found: set[int] = set()
    for place, one in enumerate(read):
        if one.said.claim is None:
            continue
        key = _subject_words(one.said.claim)
        later = (_corrects(one, key, read[at], near=at - place <= NEAR) for at in range(place + 1, len(read)))
        if any(later):
            found.add(place)
    return found


def _read(one: HeardSentence) -> _Read:
    retracts, corrects = bool(_RETRACTS.search(one.text)), bool(_CORRECTS.search(one.text))
    words = frozenset(re.findall(r"[\w-]+", re.sub(r"['’]s\b", "", fold(one.text))))
    return _Read(
        one, _values(one.text), words, retracts, corrects, retracts or corrects or bool(_TURNS.match(one.text))
    )


def _corrects(one: _Read, key: frozenset[str], later: _Read, *, near: bool) -> bool:
    claim, other_claim = one.said.claim, later.said.claim
    named = bool(key) and key <= later.words
    if claim is None or not (named or (near and later.turns)):
        return False
    if other_claim is not None and claim.slot and other_claim.slot == claim.slot:
        return False
    earlier_values, values, text = one.values, later.values, later.said.text
    other = _is_other(earlier_values, values)
    if other_claim is not None and not later.retracts:
        return named and other and _is_due(claim, one.said.text) and _is_due(other_claim, text)
    if named:
        if other:
            return later.turns or not (is_open(text) or _repeats(earlier_values, values))
        return later.retracts and not _has_values(values)
    if (other_claim is not None and other_claim.about) or values.names - earlier_values.names - {fold(claim.about)}:
        return False
    if other:
        return later.corrects or later.retracts or bool(_LEANS.search(text)) or len(text.split()) <= _SHORT
    return later.retracts and not _has_values(values)


def _subject_words(claim: PlainClaim) -> frozenset[str]:
    """Return the words that name the subject of a claim; empty for the speaker."""
    return frozenset(re.sub(r"^(?:the|our) |['’]s\b", "", normalise_name(claim.about)).split())


def _is_other(said: _Values, values: _Values) -> bool:
    """Return whether a sentence names another value of the kind that is claimed."""
    if said.dates:
        return any(not any(_agree(a, b) for b in said.dates) for a in values.dates)
    return bool(said.numbers and values.numbers - said.numbers)


def _repeats(said: _Values, values: _Values) -> bool:
    if said.dates:
        return any(_agree(a, b) for a in said.dates for b in values.dates)
    return bool(said.numbers & values.numbers)


def _agree(a: tuple[str, str], b: tuple[str, str]) -> bool:
    """Return whether two dates can be the same: "February" and "5 February" can."""
    return all(not x or not y or x == y for x, y in zip(a, b, strict=True))


def _has_values(values: _Values) -> bool:
    return bool(values.dates or values.numbers)


def _is_due(claim: PlainClaim, text: str) -> bool:
    """Return whether a claim states when something is due, whatever its slot."""
    return claim.slot.partition(" of ")[0] in _DUE_SLOTS and _DUE.search(text) is not None


def _values(text: str) -> _Values:
    dates: set[tuple[str, str]] = set()
    for match in _DATE_CORRECTIONS.finditer(text):
        month = match["name"] or match["first"] or ""
        number = match["month"]
        month = month[:3].lower() or (_MONTHS_CORRECTIONS[int(number) - 1] if number and 1 <= int(number) <= 12 else "")
        day = match["day"] or match["before"] or match["after"] or match["alone"] or ""
        if month == "may" and not day and match["first"] != "May":
            continue
        special = match["weekday"] or match["quarter"]
        dates.add((special.lower(), "") if special else (month, day.lstrip("0")))
    rest = _DATE_CORRECTIONS.sub(" ", text)
    return _Values(frozenset(dates), frozenset(_NUMBER.findall(rest)), frozenset(fold(n) for n in _NAME.findall(rest)))
