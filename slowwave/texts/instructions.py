"""Instructions: texts that tell an agent how to be and what to do, found by what they say: personas, lists of rules, policies.

An agent lives by such a text as a whole; half a policy is another policy. What a row is called may say the same
(``slowwave.rows.exemptions``). English, and the commonest words of German, French, Spanish and Chinese.
"""

from __future__ import annotations

import re
from typing import Final

from slowwave.texts.structure import passages

HINT: Final = (
    r"(?i)\b(?:must|shall|should|never|always|not|don.t|only|polic|rules?\b|guideline|instruction|guardrail|principle|directive|procedure|protocol|"
    r"you are|act as|your (?:role|task|job|goal|name)|niemals|immer|muss|müssen|darf|dürfen|regeln|jamais|"
    r"toujours|faut|doi|pas\b|règles|nunca|"
    r"siempre|debe|prohibid|reglas)|必须|不得|禁止|务必|不要|应当|规则"
)
"""Without a match of it (of RE2 as well) no text is one."""

_TITLE: Final = re.compile(
    r"\b(?:polic(?:y|ies)|rules|guidelines|instructions|guardrails|principles|directives|procedures?|protocols?|playbook|persona|regeln|richtlinien|"
    r"anweisungen|règles|consignes|reglas|instrucciones|políticas?)\b|规则|政策|守则",
    re.IGNORECASE,
)
_STRONG: Final = re.compile(
    r"\b(?:must|shall|never|always|do not|don['’]t|may not|may only|should(?: not|n['’]t)?|cannot|can['’]t|"
    r"(?:are|is) (?:not )?allowed|"
    r"forbidden|prohibited|required|mandatory|under no circumstances|niemals|immer|muss|müssen|darf|dürfen|jamais|toujours|il faut|"
    r"ne [^.]{1,30} pas|doit|doivent|nunca|siempre|debe|deben|prohibido)\b|必须|不得|禁止|务必|不要|应当",
    re.IGNORECASE,
)
_IMPERATIVE: Final = re.compile(
    r"[\W\d_]*(?:[a-z][.)]\s+)?(?:\*\*)?(?:if|when|before|after|only|no|avoid|ask|be|check|confirm|contact|decline|do|ensure|escalate|explain|follow|"
    r"give|greet|include|keep|make|mention|notify|offer|prefer|provide|read|refer|refuse|remember|reply|report|respond|say|send|speak|stay|"
    r"stop|tell|treat|use|verify|wait|write)\b",
    re.IGNORECASE,
)
_PERSONA: Final = re.compile(
    r"[\W_]*(?:(?-i:You are|you are|YOU ARE) (?:an?|the|not|now|acting|called|named|(?-i:[A-Z])\w+)|act as|"
    r"your (?:role|task|job|goal|name|purpose|mission) (?:is|as)|as an? (?:ai|assistant)\b|du bist (?:ein|der|die)|tu es une?|eres un)\b",
    re.IGNORECASE,
)
_ADDRESSED: Final = re.compile(
    r"[\W\d_]*(?:you|your|never|always|do|don['’]t|respond|answer|speak|be)\b", re.IGNORECASE
)
_ORDER: Final = re.compile(
    r"[\W\d_]*(?:(?:please|always|never|instead|then|also|in (?:that|this) case)[,: ]+)*(?:do not|don['’]t|answer|address|add|back up|book|"
    r"bring|call|cc|close|commit|deploy|document|eat|end|format|get|leave|limit|list|log|name|open|order|pay|put|remind|remove|restart|run|save|set|"
    r"share|ship|sign|skip|start|store|summari[sz]e|switch|take|test|translate|turn|water)\b"
    r"(?! (?:is|are|was|were|has|have|will|of|day|date)\b)",
    re.IGNORECASE,
)
"""Matches "Answer in three lines at most.", not "Order of the day: tea."."""
_LONGEST_TITLE: Final = 12  # words
_PROSE: Final = 3
"""Sentences of orders that make a policy of prose."""


def gives_order(sentence: str) -> bool:
    """Return whether one sentence tells its reader what to do or not to do."""
    return bool(_STRONG.search(sentence) or _IMPERATIVE.match(sentence) or _ORDER.match(sentence))


def instructive(text: str) -> bool:
    """Whether a text is a persona, a list of rules or a policy. Linear in the text.

    That are two items at least of which half or more give an order, one of them with "must", "never" or the like; or any list under a
    title such as "Refund policy"; or prose that begins "You are …" and goes on speaking to whom it means; or prose of orders.
    """
    if not re.search(HINT, text):
        return False
    found = passages(text)
    items = [p.text for p in found if p.kind == "item"]
    if len(items) > 1:
        titles = [p.text for p in found if p.kind == "heading" or not p.alone or p is found[0]]
        if any(_TITLE.search(t) and len(t.split()) <= _LONGEST_TITLE for t in titles):
            return True
        strong = sum(bool(_STRONG.search(t)) for t in items)
        orders = sum(bool(_STRONG.search(t) or _IMPERATIVE.match(t)) for t in items)
        if strong and orders > 1 and 2 * orders >= len(items):
            return True
    prose = [p.text for p in found if p.kind == "sentence"]
    if prose and _PERSONA.match(prose[0]) and any(_ADDRESSED.match(t) for t in (*prose[1:], *items)):
        return True
    orders = sum(
        bool(re.match(r"[\W_]*(?:you )?(?:must|never|always|do not|don['’]t)\b", t, re.IGNORECASE)) for t in prose
    )
    return orders >= _PROSE and 2 * orders >= len(prose)
