"""Words with a part of their own in a text: they negate, exclude each other or open a sentence. Tables written by hand.

Reading texts with them belongs to ``slowwave.texts.specifics``.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS: Final = _words("not no never none nor neither cannot without non nobody nothing nowhere")
"""English words that turn a sentence round."""

FOREIGN_NEGATIONS: Final = _words("nicht kein keine keinen ohne nie niemals jamais sans sin nunca não sem niet geen")
"""The commonest of other languages; they count in lower case only, for capitals make acronyms of some."""

OPENERS: Final = _words("""
the a an i we he she it they you this that these those in on at to of for from with by and but or so my our his
her their its your when while if as after before then there here what who where why how not no never yes is are
was were do does did have has had can could will would should may might must please let yesterday today tomorrow
also however last next once since now later again still only hi hello dear thanks ok
""")
"""Words that open a sentence with a capital and are no names."""

_SETS: Final = """
inbound|incoming outbound|outgoing
min|minimum|minimal max|maximum|maximal
north|northern south|southern
east|eastern west|western
northeast northwest southeast southwest
upper lower
upstream downstream
upload download
import export
input output
ingress egress
left right
front back
frontend backend
top bottom
inner outer
internal external
inside outside
indoor indoors outdoor outdoors
start begin end stop finish
open opened closed close
on off
true false
yes no
high low
big|large small medium
long short
hot cold
warm cool
wet dry
full empty
early late
first last
before after
pre post
new old
newest|latest oldest
previous|prior next
past future
yesterday today tomorrow
morning afternoon evening night
daily weekly monthly quarterly yearly|annual|annually
monday tuesday wednesday thursday friday saturday sunday
january february march april may june july august september october november december
spring summer autumn|fall winter
increase|increased|increases|increasing decrease|decreased|decreases|decreasing
rise|rises|rising|rose fall|falls|falling|fell
gain|gains loss|losses
profit deficit
buy|buys|bought sell|sells|sold
buyer|purchaser seller|vendor
borrow lend
debit credit
income expense|expenses
asset liability
accept|accepts|accepted reject|rejects|rejected
allow|allows|allowed deny|denies|denied forbid|forbidden block|blocked
grant|granted revoke|revoked
approve|approved decline|declined
pass|passes|passed fail|fails|failed
success|succeeded|successful failure|failing
win|wins|won lose|loses|lost
love|loves|loved|like|likes|liked hate|hates|hated dislike|dislikes|disliked
agree|agrees|agreed refuse|refuses|refused
add|added|adds remove|removed|removes
create|created|creates delete|deleted|deletes destroy|destroyed
insert|inserted drop|dropped
attach|attached detach|detached
join|joined leave|left
push|pushed pull|pulled
send|sent receive|received
sender recipient|receiver
request response
client server
host guest
primary secondary
master slave|replica
leader follower
parent child
public private
local remote
static dynamic
sync|synchronous async|asynchronous
manual automatic|automated
temporary permanent
mandatory|required optional
positive negative
plus minus
odd even
horizontal vertical
row column
read write
encode|encoded decode|decoded
encrypt|encrypted decrypt|decrypted
serialize deserialize
compress|compressed decompress|decompressed
lock|locked unlock|unlocked
legal illegal
alive|living dead|deceased
male female
man men woman women
boy girl
father mother
son daughter
brother sister
husband wife
uncle aunt
nephew niece
grandfather grandmother
king queen
prince princess
duke duchess
actor actress
mr mrs|ms|miss
senior|sr|snr junior|jr|jnr
elder younger
teacher student|pupil
employer employee
doctor patient
landlord tenant
black white red green blue yellow orange purple pink brown grey|gray
gold silver bronze
staging production|prod development|dev
alpha beta
draft final
hardware software
vegetarian carnivore
married single|unmarried divorced widowed
single double triple
major minor
macro micro
plaintiff defendant
prosecution defence|defense
democrat republican
"""

_BASES: Final = """
active activate activated able abled available aware authorized authorised approved approve appear armed balanced believable
bound broken certain changed clear common comfortable compatible complete conditional confirmed connect connected conscious
consistent correct covered dependent direct done easy employed enable enabled encrypted equal even expected explained exposed
fair finished fit fortunate friendly happy healthy honest identified important infected installed known legal licensed
like limited linked load loaded locked logical marked married member mobile moral mount mounted mutable named necessary normal
official opened order ordered paid patient perfect pleasant polite possible predictable prepared profit proper published
qualified read ready reasonable registered regular relevant reliable resolved responsible safe satisfied scheduled secure secured
seen signed solved stable subscribe subscribed successful sufficient supported sure tested tie tied trust trusted used usual
valid validated verified visible wanted willing wise wrapped zip
"""
_PREFIXES: Final = ("un", "in", "im", "ir", "il", "dis", "non", "de", "mis")


def _table() -> dict[str, dict[str, str]]:
    groups: dict[str, dict[str, str]] = {}
    for number, line in enumerate(_SETS.strip().splitlines()):
        terms = [term.split("|") for term in line.split()]
        groups[f"{number:03d}"] = {word: words[0] for words in terms for word in words}
    for base in _BASES.split():
        # "enabled" and "disabled" have a base of their own: the stem with either prefix
        stem = base.removeprefix("en") if base in ("enable", "enabled") else base
        groups[f"={base}"] = {base: base} | {prefix + stem: f"not {base}" for prefix in _PREFIXES}
    return groups


GROUPS: Final = _table()
"""Group → word → the term it stands for. Words of different terms of one group rule each other out."""

EXCLUSIVE: Final[dict[str, tuple[str, ...]]] = {
    word: tuple(sorted(g for g, words in GROUPS.items() if word in words))
    for word in sorted({w for words in GROUPS.values() for w in words})
}
"""Word → its groups."""
