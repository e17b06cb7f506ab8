"""Words of English with a special role in a sentence, and the lexicon that distinguishes misspellings from words."""

from __future__ import annotations

from typing import Final, NamedTuple

# Words with a function in a text: they negate, exclude each other, measure or open a sentence. The tables are written by hand;
# ``slowwave.text.specifics`` and other modules parse texts with them.


def words_of(text: str) -> frozenset[str]:
    """Return the words of a hand-written table."""
    return frozenset(text.split())


NEGATIONS: Final = words_of("""
not no never none nor neither cannot without non nobody nothing nowhere isn't aren't wasn't weren't don't doesn't didn't hasn't haven't
hadn't can't couldn't won't wouldn't shan't shouldn't mustn't mightn't mayn't needn't oughtn't daren't ain't
""")
"""English words that negate a sentence."""

FOREIGN_NEGATIONS: Final = words_of("""
nicht nichts kein keine keinen keinem keiner keines nie niemals niemand nirgends weder ohne
pas jamais rien aucun aucune nul nulle guère sans nunca jamás nada nadie ningún ninguno ninguna tampoco sin ni
mai niente nulla nessun nessuno nessuna senza né não nem nenhum nenhuma ninguém sem niet geen niets nooit
""")
"""Negations of German, French, Spanish, Italian, Portuguese and Dutch. They count in lower case, because some are acronyms in capitals."""

OPENING_NEGATIONS: Final = FOREIGN_NEGATIONS - words_of("mai nada nie sin ni nul nulle nulla")
"""Those that count at the start of a text with a capital as well: all but names ("Mai", "Nada") and English words."""

DENIALS: Final = words_of("""
refuse refuses refused decline declines declined fail fails failed unable incapable lack lacks lacked lacking avoid avoids avoided
deny denies denied cease ceases ceased stop stops stopped yet except unlike instead
""")
"""Words that negate the following words in a sentence ("refused to sign", "has yet to sign"), but not always in a name."""

GRAMMAR: Final = words_of("""
a an the this that these those and or but nor so if than as of in on at to from by for with into onto over under about after before
during between through i you he she it we they me him her us them my your his its our their who which what where when there here
is are was were be been being am do does did done has have had having will would can could shall should may might must
also just only very really quite too still already ever then now again more most much many some any all both each every other another
such own same up out off down s t
""")
"""Function words, which express little of a sentence's content."""

VERBS: Final = words_of("are was were has had did does")
"""Small words that make a sentence. "is" does so before another function word ("SD1100 IS" is a camera)."""

VARIANTS: Final = words_of("""
jr jnr junior sr snr senior remix remixed reprise instrumental acoustic unplugged karaoke demo live mini lite plus pro deluxe premium
erratum corrigendum addendum appendix supplement
""")
"""Words that denote a different thing if only one side has them: a son, a remix, a larger model."""

TITLES: Final = words_of("baron baronet bt earl viscount duke marquess marquis lord count")
"""Ranks that a person's name may have or omit, together with the number before one ("2nd baron")."""

OPENERS: Final = words_of("""
the a an i we he she it they you this that these those in on at to of for from with by and but or so my our his
her their its your when while if as after before then there here what who where why how not no never yes is are
was were do does did have has had can could will would should may might must please let yesterday today tomorrow
also however last next once since now later again still only hi hello dear thanks ok
""")
"""Words that open a sentence with a capital and are not names."""

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
start|starts|started|begin|begins|began end|ends|ended|stop|stops|stopped|finish|finishes|finished
founded|established|formed dissolved|disbanded|abolished
born died|dies
arrive|arrives|arrived depart|departs|departed
hired fired
friend enemy
best worst
better worse
good bad
more less|fewer
most least
fast slow
easy difficult
strong weak
rich poor
young old
cheap expensive
clean dirty
thick thin
wide narrow
deep shallow
loud quiet
light dark
light heavy
urban rural
ancient modern
innocent guilty
victory defeat
peace war
natural artificial
native foreign
domestic foreign
domestic international
fictional real
fiction nonfiction
open opened closed close
on off
true false
yes no
high low
big|large small medium
long short
hot cold
heating cooling
reverse forward
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
monday|mondays tuesday|tuesdays wednesday|wednesdays thursday|thursdays friday|fridays saturday|saturdays sunday|sundays
january february march april may june july august september october november december
spring summer autumn|fall winter
increase|increased|increases|increasing decrease|decreased|decreases|decreasing reduce|reduced|reduces
raise|raised lower|lowered
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
black white red green blue yellow orange purple pink brown grey|gray silver gold
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
breakfast lunch dinner
tea coffee
cat|cats dog|dogs horse|horses rabbit|rabbits
piano guitar violin drums flute
football basketball baseball tennis hockey cricket rugby golf volleyball
film|movie series novel|book album song poem opera
christian muslim jewish hindu buddhist
windows|win mac|macos|macintosh linux android ios
home professional enterprise
starter basic standard premium ultimate
upgrade full
hardcover|hardback paperback
european|europe asian|asia african|africa
"""

_NATIONS: Final = """
france|french germany|german italy|italian spain|spanish portugal|portuguese netherlands|dutch belgium|belgian
switzerland|swiss austria|austrian poland|polish czech hungary|hungarian romania|romanian bulgaria|bulgarian greece|greek turkish
russia|russian ukraine|ukrainian sweden|swedish norway|norwegian denmark|danish finland|finnish iceland|icelandic ireland|irish
lithuania|lithuanian latvia|latvian estonia|estonian serbia|serbian croatia|croatian armenia|armenian
america|american|usa|us canada|canadian mexico|mexican brazil|brazilian argentina|argentine|argentinian chile|chilean
colombia|colombian peru|peruvian venezuela|venezuelan cuba|cuban australia|australian china|chinese japan|japanese korea|korean
india|indian pakistan|pakistani bangladesh|bangladeshi thailand|thai vietnam|vietnamese indonesia|indonesian malaysia|malaysian
philippines|filipino singapore|singaporean iran|iranian|persian iraq|iraqi israeli egypt|egyptian nigeria|nigerian kenya|kenyan
ethiopia|ethiopian ghana|ghanaian morocco|moroccan
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
    nations = " ".join(_NATIONS.split())
    # Two lines, because Scots are British, while both exclude French.
    lines = [
        *_SETS.strip().splitlines(),
        f"{nations} britain|british|uk",
        f"{nations} england|english scotland|scottish wales|welsh",
    ]
    for number, line in enumerate(lines):
        terms = [term.split("|") for term in line.split()]
        groups[f"{number:03d}"] = {word: words[0] for words in terms for word in words}
    for base in _BASES.split():
        # "enabled" and "disabled" get a shared base: the stem with either prefix.
        stem = base.removeprefix("en") if base in ("enable", "enabled") else base
        groups[f"={base}"] = {base: base} | {prefix + stem: f"not {base}" for prefix in _PREFIXES}
    return groups


GROUPS: Final = _table()
"""Group → word → its term. Words of different terms of one group exclude each other."""

EXCLUSIVE: Final[dict[str, tuple[str, ...]]] = {
    word: tuple(sorted(g for g, words in GROUPS.items() if word in words))
    for word in sorted({w for words in GROUPS.values() for w in words})
}
"""Word → its groups."""


_NATURES: Final = """
person: person man woman boy girl actor actress singer songwriter singer-songwriter musician drummer guitarist pianist rapper
person: composer politician president senator governor minister mayor king queen prince princess writer author poet novelist
person: journalist screenwriter filmmaker comedian dancer painter sculptor artist photographer footballer quarterback
person: athlete boxer wrestler swimmer cyclist pilot engineer scientist physicist chemist biologist mathematician doctor
person: physician nurse surgeon lawyer judge teacher professor student businessman businesswoman entrepreneur accountant
person: soldier murderer criminal philosopher historian economist personality celebrity
animal: dog cat horse cow pig sheep goat bird fish rabbit mouse rat bear lion tiger wolf fox snake frog insect
work: film movie series show sitcom novel book song album poem opera painting sculpture magazine newspaper comic documentary
city: city town village municipality
county: county
country: country nation republic kingdom
continent: continent
water: river lake sea ocean
mountain: mountain volcano
organisation: company corporation firm band orchestra university school college team charity
vehicle: car truck bus train ship boat aircraft airplane motorcycle bicycle
food: food dish cake bread cheese vegetable drink beer wine
"""


def _natures() -> dict[str, str]:
    lines = (line.partition(": ") for line in _NATURES.strip().splitlines())
    return {word: nature for nature, _, words in lines for word in words.split()}


NATURES: Final = _natures()
"""Noun → the nature of the things that it names. A thing has one nature only; nouns of several natures ("state", "plant") are left out."""


def _count(words: str, start: int, step: int = 1) -> dict[str, int]:
    return {word: start + step * k for k, word in enumerate(words.split())}


CARDINALS: Final = _count(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen""",
    start=0,
)
TENS: Final = _count("twenty thirty forty fifty sixty seventy eighty ninety", start=20, step=10)
ORDINALS: Final = _count(
    """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth
    seventeenth eighteenth nineteenth twentieth""",
    start=1,
)
ROMANS: Final = {
    tens + units: 10 * ten + one
    for ten, tens in enumerate(("", "x", "xx", "xxx"))
    for one, units in enumerate(("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"))
    if len(tens + units) > 1
}
"""II to XXXIX. A single letter is a numeral only at the end of a name."""


class Measure(NamedTuple):
    """Unit of measure: its dimension, its size in base units, and its other spellings; a plural "s" is implied."""

    dimension: str
    factor: str
    spellings: tuple[str, ...]


_MEASURES: Final = """
length: km=1000|kilometer|kilometre m=1|meter|metre cm=.01|centimeter|centimetre mm=.001|millimeter|millimetre mi=1609.344|mile
length: ft=.3048|foot|feet inch=.0254|inche yd=.9144|yard
mass: kg=1000|kilogram|kilo g=1|gram mg=.001|milligram t=1000000|ton|tonne lb=453.59237|pound oz=28.349523125|ounce
volume: l=1|liter|litre ml=.001|milliliter|millilitre
time: s=1|sec|second ms=.001|millisecond min=60|minute h=3600|hr|hour day=86400 week=604800
calendar: month=1 y=12|yr|year
data: kb=1|kilobyte|kib mb=1024|megabyte|mib gb=1048576|gigabyte|gib tb=1073741824|terabyte pb=1099511627776|petabyte
rate: kbps=1 mbps=1000 gbps=1000000
frequency: hz=1 khz=1000 mhz=1000000 ghz=1000000000
power: w=1|watt kw=1000|kilowatt mw=1000000|megawatt
energy: kwh=1 mwh=1000
speed: kph=1|kmh mph=1.609344
scale: k=1000|thousand million=1000000|mn billion=1000000000|bn trillion=1000000000000
"""
_ALONE: Final = """
v|volt mah %|percent|pct ° c|°c|celsius f|°f|fahrenheit €|eur|euro $|usd|dollar £|gbp ¥|yen|jpy px|pixel mp|megapixel dpi pt p rpm fps bit
btu x|times people|person user core
"""


def _measures() -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for line in _MEASURES.strip().splitlines():
        dimension, _, units = line.partition(": ")
        for entry in units.split():
            (name, factor), *_ = [entry.split("|")[0].split("=")]
            found[name] = Measure(dimension, factor, tuple(entry.split("|")[1:]))
    for entry in _ALONE.split():
        name, *spellings = entry.split("|")
        found[name] = Measure(name, "1", tuple(spellings))
    return found


MEASURES: Final = _measures()
"""Unit → its measure; each currency and the pixel is a separate measure."""
