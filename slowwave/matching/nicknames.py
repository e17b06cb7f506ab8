"""Short forms of English given names and what they stand for: the commonest ones, written by hand."""

from __future__ import annotations

from typing import Final

_TABLE: Final = """
alexander: alex | alexandra: alex sandra | alfred: fred | amanda: mandy | andrew: andy drew | anthony: tony
barbara: barb | benjamin: ben benny | bradley: brad | caroline: carrie | catherine: cathy kate | charles: charlie chuck
christina: chris tina | christopher: chris | clifford: cliff | cynthia: cindy | daniel: dan danny | david: dave
deborah: deb debbie | donald: don | dorothy: dot | douglas: doug | edward: ed eddie ted | elizabeth: liz beth betty
eugene: gene | frances: fran | francis: frank | franklin: frank | frederick: fred | gabriel: gabe | gerald: gerry jerry
gregory: greg | harold: hal | henry: harry hank | isabella: bella | jacob: jake | jacqueline: jackie | james: jim jimmy
jeffrey: jeff | jennifer: jen jenny | jessica: jess | john: jack johnny | jonathan: jon | joseph: joe | joshua: josh
judith: judy | katherine: kathy kate | kenneth: ken | kimberly: kim | lawrence: larry | leonard: len | louis: lou
margaret: maggie meg peggy | martin: marty | matthew: matt | michael: mike mick | nathaniel: nate | nicholas: nick
pamela: pam | patricia: pat trish | patrick: pat | peter: pete | philip: phil | raymond: ray | rebecca: becky
richard: rick dick rich | robert: bob rob bobby | ronald: ron | samantha: sam | samuel: sam | sandra: sandy
stephanie: steph | stephen: steve | steven: steve | stuart: stu | susan: sue | theodore: ted theo | thomas: tom tommy
timothy: tim | victoria: vicky | vincent: vince | walter: walt | william: bill will billy | zachary: zach
"""


def _read() -> dict[str, tuple[str, ...]]:
    formal: dict[str, list[str]] = {}
    for entry in _TABLE.replace("\n", "|").split("|"):
        name, _, shorts = entry.strip().partition(": ")
        for short in shorts.split():
            formal.setdefault(short, []).append(name)
    return {short: tuple(names) for short, names in formal.items()}


FORMAL: Final = _read()
"""Short form → the formal names it may stand for, at most three."""
