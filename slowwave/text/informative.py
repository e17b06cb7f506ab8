"""Tests that separate informative sentences from small talk and from sentences without substance."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from slowwave.text.relations import is_talk
from slowwave.text.sentences import lean, sentences
from slowwave.text.specifics import specifics

# Informative sentences: the sentences of a conversation that are useful to someone who was not there, and their kind (a decision, an
# outcome and so on).
#
# The rules cover plain English sentences. Questions, greetings, offers, suppositions and sentences that depend on the one before are
# excluded: a sentence that is left out can still be looked up, but a sentence that is quoted alone and means something else misleads. The
# wording is kept, except that a lead-in ("By the way,") is removed. The person or thing that a claim is about is determined in
# ``slowwave.text.claims``. Linear, about 20 µs.

SentenceKind = Literal["decision", "outcome", "followup", "state", "preference", "fact"]
"""Kinds of informative sentences. A ``state`` may be different next month; a ``fact`` says who someone is or what something is made of."""

LEAST: Final = 3
"""Minimum number of words of an informative sentence."""

_LEAD_IN: Final = re.compile(
    r"^(?:(?:ok(?:ay)?|right|so|well|yes|yeah|yep|also|and|but|oh|ah|hm+|btw|fyi|by the way|just so (?:you|we all) know|for the record|"
    r"(?:quick |small |short )?(?:update|note|news|reminder|heads[- ]up)|good news|bad news|great|perfect|fine|thanks|thank you|cool|sure|"
    r"done|one more thing|last thing|in short|to be clear|as discussed|as agreed|morning|good morning|hi|hello|hey|"
    r"actually|anyway|of course|haha|however|correction|sorry|apologies|oops|(?:no,? )?wait|hang on|hold on|i was wrong|my mistake|"
    r"on second thoughts?|scratch that|besides [\w ]{3,30}|as for [\w ]{3,20})"
    r"(?:\s*[,:;!.–—-]+\s+|\s+(?=we |(?-i:I |[A-Z]))))+",
    re.IGNORECASE,
)
_LABELS: Final = (
    ("decision", re.compile(r"^(?:decision|decided|agreed)\s*[:–—-]\s+", re.IGNORECASE)),
    ("followup", re.compile(r"^(?:todo|to-do|next steps?|action(?: items?)?|follow-?ups?|open)\s*[:–—-]\s+", re.IGNORECASE)),
    ("outcome", re.compile(r"^(?:outcome|result|done|status)\s*[:–—-]\s+", re.IGNORECASE)),
)  # fmt: skip

NAME: Final = (
    r"(?!(?:I['’]|(?:I|The|A|An|Our|My|Your|His|Her|Their|Its|We|They|He|She|It|You|This|That|These|Those|There|Here|"
    r"What|Who|And|But|So|If|"
    r"When|While|No|Yes|Not|All|Some|Every|Each|One|Two|Now|Then|Also|For|From|With|In|On|At|To|By|Of|As|After|Before|Since|Today|Tomorrow|"
    r"Yesterday|Tonight|Everyone|Everything|Nothing|Nobody|Anyone|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|"
    r"May|June|July|August|September|October|November|December)\b))[A-Z][\w'’-]{1,30}"
)
"""A word that may be a name, judged by its position and letters."""

_WHO: Final = rf"(?:[Ww]e(?: all)?|I|[Tt]hey|[Tt]he team|[Ee]veryone|(?:{NAME})(?:(?:, {NAME})* and (?:{NAME}|I))?)"
_HAVE: Final = r"(?:(?:['’]ve| have| has)? (?:just |now |finally |all |both |also |since )?)"
_IS: Final = r"(?:(?:is|are|was|were)|['’](?:s|re)|(?:has|have) been)"
_SOON: Final = r"(?:now |finally |officially |already |still |currently |just )?"
_DECIDED: Final = re.compile(
    rf"^{_WHO}{_HAVE}(?:decided (?:to|that|on|against|not to)|agreed (?:to|that|on)|settled on|chose|chosen|opted (?:for|to)|"
    r"signed off on|approved|committed to|ruled out)\b"
    rf"|^(?:[Ww]e(?:['’]re| are) going with|[Ww]e(?:['’]ll| will) go with|[Tt]he (?:final )?decision (?:is|was) (?:to|that)|"
    rf"[Ii]t (?:was|is|has been) (?:decided|agreed) (?:to|that))\b"
    rf"|^.{{2,80}}? {_IS} {_SOON}(?:approved|agreed|signed off|ruled out)\b"
)
_DID: Final = (
    "shipped|deployed|released|merged|fixed|finished|completed|launched|signed|closed|migrated|rolled out|rolled back|delivered|published|"
    "resolved|cut over|passed|failed|won|lost|hired|submitted|rejected|cancelled|canceled|upgraded|renewed|moved|switched|replaced|"
    "removed|added|wrote|sent|paid|restored|reproduced|measured|tested|reviewed|installed|set up|opened|went live|archived|updated|"
    "translated|converted"
)
_OUTCOME: Final = re.compile(
    rf"^{_WHO}{_HAVE}(?:{_DID})\b|^(?:[Tt]he|[Oo]ur|A) [\w -]{{3,50}}? (?:{_DID})\b|^.{{2,80}}? (?:{_IS} {_SOON}(?:live|"
    rf"done|finished|complete|completed|out|shipped|fixed|merged|released|"
    r"deployed|closed|resolved|signed|delivered|published|over|cancelled|canceled|submitted|restored|migrated)|went live|passed|failed)\b"
)
_STATE: Final = re.compile(
    rf"^.{{2,80}}? (?:is|are|['’]s) {_SOON}(?:blocked|paused|on hold|delayed|behind schedule|on track|at risk|frozen|"
    rf"unblocked|waiting (?:for|on)|"
    r"due|scheduled for|planned for|set for|in (?:beta|review|progress|staging|production|testing|QA|design|development)|stable|"
    r"down|led by|owned by|expected (?:on|by))\b"
    rf"|^(?:{NAME}|I|we) (?:now |currently )?(?:lead|leads|own|owns|run|runs|manage|manages|maintain|maintains|live|lives|work|works|"
    r"handle|handles|looks? after|took over|takes over|joined|moved to|relocated to)\b"
    r"|^.{2,80}? (?:moved|was moved|is moved|has moved|slipped|was postponed|is postponed|was pushed|"
    r"is pushed) (?:back |out )?(?:from .{2,30} )?to\b"
)
_PREFERENCE: Final = re.compile(
    rf"^(?:I|we|{NAME})(?: (?:really|strongly|much|always|generally|usually|still|also|both|absolutely|mainly|mostly|"
    rf"quite))* (?:prefers?|likes?|loves?|enjoys?|hates?|"
    r"dislikes?|favou?rs?|can['’]t stand|(?:does|do)(?:n['’]t| not) like)\b|^(?:my|.{2,40}['’]s) favou?rite\b"
)
_FACT: Final = re.compile(
    rf"^(?:my name is|I am called|(?:the )?{NAME}(?: {NAME})? (?:is|are) (?:our|the|a|an)\b|"
    rf"(?:the )?{NAME}(?: {NAME})? (?:uses?|runs on|is (?:written in|"
    r"hosted on|built on|based on|called|named)|depends on|costs?|has (?:\d|an? )|replaces|belongs to)\b|(?:the|our|"
    r"my) [\w -]{3,40} (?:is|are) )"
)
_FOLLOWUP: Final = re.compile(
    rf"^(?:{_WHO}|.{{2,60}}?)(?:['’]ll| will| (?:still )?(?:need|needs|has|have) to| must| (?:is|are|"
    rf"am) going to) (?!be (?:fine|ok|nice|great|good)\b)\w+"
)
_BY_WHEN: Final = re.compile(
    r"\b(?:by|before|until|on|this|next|end of|tomorrow|tonight|today|first thing|in (?:an?|one|two|three|\d+) (?:hours?|days?|weeks?))\b",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"\?[\"'”’)\s]*$|\b(?:if|unless|would|could|might|(?-i:may)|perhaps|maybe|probably|possibly|whether|imagine|suppose|"
    r"supposedly|apparently|(?:I|we) (?:hope|believe|think|guess|feel|assume|wish|doubt)|"
    r"rumou?rs?|wonder(?:ing)?|joking|kidding|pretend|hypothetically|should|almost|nearly|not sure|no idea|or so)\b",
    re.IGNORECASE,
)
_NOT_YET: Final = re.compile(
    r"\b(?:not (?:yet )?(?:decided|agreed|settled|approved|done|live|finished|shipped|fixed|merged|signed)|(?:has|have|"
    r"had|is|are|was|were|did)n['’]t|"
    r"never|yet to|to be (?:decided|agreed|confirmed))\b",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"[\"“”«»]|(?<!\w)'[^']{3,}'")
_ADDRESSED: Final = re.compile(r"\b(?:chat|you|your|yours|yourself|u|please)\b|\blet['’]?s\b", re.IGNORECASE)
_CHAT: Final = re.compile(r"\b(?:chat|talk to you|see you|next time)\b|[!]\s*$", re.IGNORECASE)
_VAGUE: Final = re.compile(
    r"\b(?:this|that|these|those|it|them|they|something|someone|somebody|stuff|thing|things|one)\b(?! (?:week|month|year|quarter|morning|"
    r"afternoon|evening|day|time|sprint|friday|monday|tuesday|wednesday|thursday|saturday|sunday)\b)",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_]+(?:['’.:/-][^\W_]+)*")
_LEANS: Final = frozenset(("he", "she", "it", "they", "this", "that", "these", "those", "which", "so"))


class InformativeSentence(NamedTuple):
    """Kind of information that a sentence gives, and the sentence without its lead-in."""

    kind: SentenceKind
    text: str


@lru_cache(maxsize=8_192)
def informative(sentence: str) -> InformativeSentence | None:
    """Return the kind of information that a sentence of a conversation gives, or None if it is not informative by itself."""
    text = without_lead_in(sentence)
    label: SentenceKind | None = None
    for kind, pattern in _LABELS:
        if match := pattern.match(text):
            label, text = kind, text[match.end() :]  # type: ignore[assignment]
            text = text[:1].upper() + text[1:]
    if len(_WORD.findall(text)) < LEAST or _OPEN.search(text) or _QUOTED.search(text):
        return None
    if label is not None:
        return None if _leans(text) else InformativeSentence(label, text)
    kind = _kind_of(text)
    if kind is None or _leans(text) or (kind != "decision" and is_talk(text)):
        return None
    return InformativeSentence(kind, text)


def without_lead_in(sentence: str) -> str:
    """Return a sentence without the opening words that link it to the conversation."""
    match = _LEAD_IN.match(sentence)
    rest = sentence[match.end() :] if match else sentence
    return rest[:1].upper() + rest[1:] if match and rest else sentence


def is_open(sentence: str) -> bool:
    """Return whether a sentence asks, supposes or quotes, so that it states no fact."""
    return bool(_OPEN.search(sentence) or _QUOTED.search(sentence))


def _kind_of(text: str) -> SentenceKind | None:
    if _DECIDED.search(text):
        return None if _NOT_YET.search(text) or _vague(text) else "decision"
    if _FOLLOWUP.match(text) and _BY_WHEN.search(text):
        return None if _vague(text) or _CHAT.search(text) else "followup"
    if _ADDRESSED.search(text):
        return None
    for kind, pattern in (("preference", _PREFERENCE), ("state", _STATE), ("outcome", _OUTCOME), ("fact", _FACT)):
        if pattern.search(text):
            denied = kind == "outcome" and _NOT_YET.search(text)
            return None if denied or _vague(text) else kind  # type: ignore[return-value]
    return None


def _vague(text: str) -> bool:
    """Return whether a sentence depends on a word that refers to an earlier sentence."""
    return _VAGUE.search(text) is not None


def _leans(text: str) -> bool:
    first = _WORD.match(text)
    return (first is not None and first[0].lower() in _LEANS) or bool(lean(text))


# Substance: the share of a text that someone may want to know later.
#
# Questions, greetings, thanks and offers are small talk and count 0. A sentence that is informative by itself counts 1, and so does one
# with a figure, a date, a name or an identifier. Other sentences count a quarter, because their value is unknown: an instruction may be a
# rule or mere advice. So do sentences that address someone and contain no more than a name, which is mostly the addressee's ("I will always
# support you, Ida"). English; in other languages figures, dates and identifiers count. Linear.

_UNKNOWN: Final = 0.25
_ORDERS: Final = re.compile(
    r"\W*(?:ask|write|order|send|call|check|keep|put|add|make|remember|note|use|set|read|do|don['’]t|never|start|stop|wait)\b"
    r"(?! (?:i|you|we|he|she|it|they)\b)",
    re.IGNORECASE,
)
_ADDRESSED_SUBSTANCE: Final = re.compile(r"\b(?:you|your|yours|yourself|let['’]?s|please)\b", re.IGNORECASE)


def substance(text: str) -> float:
    """Return the share of a text's words, from 0 to 1, that are in informative sentences; 0 for small talk only.

    Time: about 50 µs per sentence.
    """
    shares = [(len(sentence.split()), _content_share(sentence)) for sentence in sentences(text)]
    words = sum(length for length, _ in shares)
    return sum(length * share for length, share in shares) / words if words else 0.0


def _content_share(sentence: str) -> float:
    if sentence.rstrip("\"'”’) ").endswith("?") or (is_talk(sentence) and not _ORDERS.match(sentence)):
        return 0.0
    found = specifics(sentence)
    if found.figures() or found.identifiers:
        return 1.0
    if len(sentence.split()) < LEAST and sentence.isascii():  # "Well said."; some scripts have no spaces
        return 0.0
    named = bool(found.names) and _ADDRESSED_SUBSTANCE.search(sentence) is None
    return 1.0 if named or informative(sentence) else _UNKNOWN
