"""Anaphora: sentences that say something only beside one before them, as they begin with a pronoun or a connective.

Found by the words that open a sentence, in English and the commonest of German, French, Spanish and Chinese; what a pronoun means is not
understood. In doubt a sentence leans on the one before it.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from slowwave.texts.vocabulary import GRAMMAR, OPENERS, words_of

Lean = Literal["", "person", "previous", "exception"]
"""On nothing; on whoever was named last; on the sentence before; on the sentence before, which does not stand without it either."""

_PERSONS: Final = words_of("he she him his her hers himself herself he's she's he'd she'd he'll she'll")
_THINGS: Final = words_of("""
it its they them their theirs itself themselves this that these those such it's they're they've they'd they'll that's
""")
_CONNECTIVES: Final = words_of("""
and so then therefore thus hence also moreover furthermore consequently accordingly afterwards afterward subsequently meanwhile likewise
similarly additionally nor or else which indeed specifically namely another others second secondly third thirdly lastly alternatively
conversely yeah nope er es daher deshalb deswegen danach dann außerdem dadurch dafür dagegen darum sonst und oder denn elle il ils elles
ce cela ceci donc puis ensuite ainsi et él ella ellos ellas esto eso entonces además después luego y
""")
_ALONE: Final = words_of("yes no next still again finally later eventually instead besides plus yet first here")
"""Connectives when a comma or a stop follows: "Next, …", and not "Next week"."""

_EXCEPTIONS: Final = words_of("""
but however except unless otherwise nevertheless nonetheless provided excluding exception exceptions aber jedoch allerdings außer mais
sauf cependant pero salvo excepto
""")
_THEM: Final = "(?:this|that|these|those)"
_PHRASES: Final = re.compile(
    rf"(?:for (?:example|instance|{_THEM})|as (?:a result|such|well|above|for {_THEM})|"
    rf"in (?:addition|turn|return|contrast|either case|both cases|{_THEM})|(?:after|before|by) (?:which|{_THEM})|at the same time|"
    rf"since then|by (?:then|contrast|comparison)|(?:if|when) (?:so|not|it|they|{_THEM})|"
    rf"(?:because of|due to|apart from|with|at|to) (?:it|them|{_THEM})|"
    r"the (?:same|former|latter|other|others|second|first one|rest)|(?:one|two|some|none|most|all|many|each|both|either|neither) of "
    r"(?:them|these|those|it|which)|(?:both|neither|either) (?:are|were|is|was|have|has|had|can|could|will|would|do|does|did|agreed|said)|"
    r"e\.g\.|i\.e\.|that is|on the other|a similar|in (?:short|summary|other words|conclusion)|"
    r"\w+ed (?:to|into|as|by|with|in|from|on|at|for|until|without)|not (?!all|every|only|one|until))\b",
    re.IGNORECASE,
)
_TURNS: Final = re.compile(
    r"(?:with the exception|as long as|on condition|even so|not (?:if|when|unless|for)|save for|other than|apart from|aside from|"
    r"(?:this|that|it|these|they|the above) (?:(?:do|does|is|are|must) not|(?:do|does|is|are)n't|only|excludes?))\b",
    re.IGNORECASE,
)
_CJK: Final = re.compile(
    r"(?:他们|她们|它们|他|她|它|但是|但|不过|所以|因此|然后|而且|于是|彼女|彼|しかし|そして|それ)"
)
_FIXED: Final = re.compile(
    r"(?:so far|(?:this|that|these|those) (?:(?:past|last|coming) )?(?:time|days?|mornings?|afternoons?|evenings?|nights?|weeks?|weekends?|"
    r"months?|years?|spring|summer|autumn|winter|quarter))\b",
    re.IGNORECASE,
)
_SUBORDINATE: Final = words_of("""
when if after as while because since before once although though until unless that in on at by for with from during last this next one
two three whenever wherever today tomorrow yesterday tonight sometimes maybe perhaps once
""")
_DETERMINERS: Final = words_of("the a an my our your some every each any no several many most all")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_LEAD: Final = re.compile(r"^[\s\"'“‘«(\[*_>]*(?:(?:[-*+•–—]|\(?\d{1,3}[.)]|[a-z][.)])\s+)?[\"'“‘«(\[*_]*")
_LOOKED_AT: Final = 8  # words
_FRAGMENT: Final = 3
"""Words that make no sentence without a verb: "Severity P2."."""


def lean(sentence: str) -> Lean:
    """What a sentence, or a list item, leans on. Time: that of its first words."""
    begin = _LEAD.match(sentence)
    rest = sentence[begin.end() if begin else 0 :][:200]
    if _CJK.match(rest):
        return "previous"
    if _FIXED.match(rest):
        return ""
    if _TURNS.match(rest):
        return "exception"
    words = [w.replace("’", "'") for w in _WORD.findall(rest)[:_LOOKED_AT]]
    if not words:
        return "" if not rest.strip() or rest[0].isalnum() else "previous"
    first = words[0].lower()
    if first in _EXCEPTIONS:
        return "exception"
    if first in _PERSONS:
        return "person"
    if _PHRASES.match(rest) or first in _CONNECTIVES or first in _THINGS:
        return "previous"
    if first in _ALONE and rest[len(words[0]) : len(words[0]) + 1] in (",", ".", "!", ":", ""):
        return "previous"
    return _later(words) or _fragment(words)


def _later(words: list[str]) -> Lean:
    """A pronoun that comes before any noun: "When she arrived, …"."""
    opener = words[0].lower()
    settled = opener not in _SUBORDINATE and not opener.endswith("ly")
    for k, word in enumerate(words[1:], 1):
        low = word.lower()
        if low in ("he", "she", "they", "him", "them"):
            if settled and any(w.lower() in _DETERMINERS for w in words[:k]):
                return ""
            return "previous" if low in ("they", "them") else "person"
        if word[0].isupper() and low not in ("i", "i'm", "i've", "i'd", "i'll"):
            return ""
        if k == 1 and settled and words[0][0].isupper() and opener not in GRAMMAR and opener not in OPENERS:
            return ""
    return ""


def _fragment(words: list[str]) -> Lean:
    """A few words without a verb, which say nothing of their own."""
    if len(words) > _FRAGMENT or words[0].lower() in ("i", "i'm", "we", "you", "please", "never", "always"):
        return ""
    verbal = any(w.lower() in GRAMMAR or re.search(r"(?:n't|ed|es|s|'m|'re)$", w.lower()) for w in words)
    return "" if verbal or not all(w.isascii() for w in words) else "previous"


_TITLED: Final = re.compile(r"\b(?:Mr|Mrs|Ms|Mx|Dr|Prof|Sir|Frau|Herr|Mme|Señora?)\b")
_ROLES: Final = words_of("""
mother father mom mum dad sister brother son daughter wife husband partner girlfriend boyfriend friend uncle aunt cousin grandmother
grandfather grandma grandpa niece nephew neighbour neighbor colleague coworker boss manager teacher student doctor nurse patient client
customer user human author woman man girl boy lady guy child baby person engineer developer designer lawyer landlord tenant owner
president director coach therapist roommate classmate guest
""")


def people(sentence: str) -> tuple[bool, bool]:
    """Whether a sentence surely speaks of a person (a title, a role, a name that does something), and whether it may."""
    words = _WORD.findall(sentence)
    lows = [w.lower() for w in words]
    if _TITLED.search(sentence) or any(low.removesuffix("'s") in _ROLES for low in lows):
        return True, True
    named = [k for k, w in enumerate(words) if w[0].isupper() and lows[k] not in OPENERS and lows[k] not in GRAMMAR]
    inside = [k for k in named if k]
    subject = 0 in named and (
        1 in named or (len(words) > 1 and words[1][0].islower() and lows[1] not in ("are", "were", "of"))
    )
    return subject or any(low in ("who", "whom") for low in lows), bool(inside) or subject
