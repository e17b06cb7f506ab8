"""What a text says that a name is: the head of "X is a …", "X was the …", as the type of X.

Lists of nouns and nothing else; a head that none of them has says nothing. Whether X is a name belongs to ``slowwave.texts.extraction``.
"""

from __future__ import annotations

import re
from typing import Final

_IS: Final = re.compile(
    r"(?: ?\([^()\n]{0,200}\)| -LRB-[^\n]{0,200}?-RRB-)?,? (?:is|was|are|were|became) (?:also |now |still )?"
    r"(?:an?|the|one of the|our|my|their|his|her)((?: [\w'’-]{1,30}){1,9})"
)
_ENDS: Final = frozenset(
    (
        *(
            "about",
            "and",
            "as",
            "at",
            "based",
            "by",
            "during",
            "for",
            "from",
            "headed",
            "in",
            "into",
            "led",
            "made",
            "of",
            "on",
            "or",
        ),
        *("set", "that", "to", "what", "when", "where", "which", "who", "whose", "with", "within"),
    )
)
"""Words behind the head."""
_FORMS: Final = re.compile(r"..(?:ed|ing)$")
_KINDS: Final = {
    noun: kind
    for kind, nouns in {
        "person": """accountant activist actor actress analyst architect artist astronaut athlete author baker banker biologist boss boxer
            boxer brother businessman businesswoman carpenter chef chemist choreographer colleague comedian composer consultant cook
            cousin coworker cricketer criminal critic dancer daughter dentist designer developer diplomat director doctor drummer
            economist editor engineer entrepreneur explorer father filmmaker footballer friend golfer guitarist historian husband
            inventor investor journalist judge landlord lawyer librarian magician man manager mathematician mentor minister model
            mother musician neighbor neighbour novelist nurse painter partner philanthropist philosopher photographer physicist pianist
            pilot player plumber poet politician president princess prince producer professor programmer psychologist rapper
            researcher roommate sailor salesman scholar scientist screenwriter sculptor singer sister skater soldier son songwriter
            sprinter student surgeon swimmer teacher therapist trainer translator tutor uncle aunt violinist wife woman writer""",
        "organization": """agency airline association bakery band bank brewery chain choir church club college company committee consortium
            cooperative council corporation department firm foundation institute institution laboratory league manufacturer ministry
            museum newspaper nonprofit orchestra organisation organization party publisher retailer school startup studio supplier
            team union university""",
        "location": """airport archipelago bay beach borough capital castle city continent country county desert district forest harbor
            harbour island kingdom lake mountain municipality nation neighborhood neighbourhood park peninsula port province region
            republic river sea state street suburb territory town valley village volcano""",
        "work": """album anime ballad biography book comedy documentary drama episode film game magazine manga miniseries movie musical
            novel opera painting play poem saga series show single sitcom song soundtrack symphony thriller trilogy""",
        "product": """api app application browser compiler database editor framework library package platform plugin sdk server software
            tool toolkit website""",
    }.items()
    for noun in nouns.split()
}


def defined_type(text: str, end: int) -> str | None:
    """The type that the words behind a name, which ends at ``end``, give to it; None where they give none."""
    found = _IS.match(text, end)
    if found is None:
        return None
    head = ""
    for word in found[1].split():
        folded = word.casefold()
        if folded in _ENDS or (head in _KINDS and _FORMS.search(folded)):
            break
        head = folded
    return _KINDS.get(head) or _KINDS.get(head.removesuffix("s"))
