"""Informative sentences: what of a conversation is worth telling somebody who was not there, and as what: a decision, an outcome and so on.

Read are plain English sentences. Questions, greetings, offers, suppositions and what leans on the sentence before it tell nothing here:
a sentence that is left out can be looked up, one that stands alone and means something else cannot. Nothing is reworded but a lead-in
("By the way,") that is taken off. What a sentence claims of whom belongs to ``slowwave.texts.plain_claims``. Linear, some 20 µs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from slowwave.texts.anaphora import lean
from slowwave.texts.topic_statements import is_talk

SentenceKind = Literal["decision", "outcome", "followup", "state", "preference", "fact"]
"""What a sentence tells; ``state`` is what may be otherwise next month, ``fact`` what somebody is or a thing is made of."""

LEAST: Final = 3
"""Words of a sentence that tells something."""

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
"""A word that may be a name by its place and letters."""

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
_THAT: Final = re.compile(r"\b(?:decided|agreed|is|was) that\b")
_WORD: Final = re.compile(r"[^\W_]+(?:['’.:/-][^\W_]+)*")
_LEANS: Final = frozenset(("he", "she", "it", "they", "this", "that", "these", "those", "which", "so"))


class InformativeSentence(NamedTuple):
    """What a sentence tells, and the sentence without its lead-in."""

    kind: SentenceKind
    text: str


@lru_cache(maxsize=8_192)
def informative(sentence: str) -> InformativeSentence | None:
    """What a sentence of a conversation tells; None where it tells nothing by itself."""
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
    """A sentence without the words by which it joins a conversation."""
    match = _LEAD_IN.match(sentence)
    rest = sentence[match.end() :] if match else sentence
    return rest[:1].upper() + rest[1:] if match and rest else sentence


def is_open(sentence: str) -> bool:
    """Whether a sentence asks, supposes or quotes, so that it states nothing."""
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
    """Whether what is told hangs on a word that means what stood before it."""
    return _VAGUE.search(_THAT.sub(" ", text)) is not None


def _leans(text: str) -> bool:
    first = _WORD.match(text)
    return (first is not None and first[0].lower() in _LEANS) or bool(lean(text))
