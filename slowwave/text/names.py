"""Names: what a name is the name of, by lists, by the words around it and by definitions in the text."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from slowwave.text.lexicon import is_word

# Words of names: words that begin, end and join English names of people, organisations, places and products.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STARTERS: Final = _words(
    """a about above absolutely according after afterwards again ah all almost alright also although always am amazing an and
    another any anyone anything anyway apart are aren't as ask assigned at aw awesome be because been before being best besides
    better both bring but by bye call can can't cannot certainly check choose come congrats congratulations consider could
    customer customers dear definitely did didn't do does doesn't don't done dr during each either else enjoy enough especially
    even ever every everyone everything exactly excellent except fantastic few finally find fine first firstly follow for from
    generally get give glad go going good goodbye goodnight got great greetings had haha happy hardly has have haven't having he
    he'd he'll he's hello help hence her here here's hers hey hi him his hmm hope hotfix how however i i'd i'll i'm i've if imagine
    in indeed inside instead interesting into is isn't issue it it'd it'll it's its just keep last lastly later least less let
    let's like likewise listen look lots lovely make many may maybe me meanwhile might mine more moreover most mostly mr mrs ms
    much must my need never nevertheless next nice no nobody none nope nor not nothing now of off oh ok okay on once one only
    oops or other otherwise our ours out over overall perfect perhaps personally please plus priority probably quite rather
    really recently regarding remember right root same say second secondly see seems severity several shall she she'd she'll
    she's should similarly since so some somebody someone something sometimes soon sorry sounds speaking still such suddenly
    summary sure surely take talk tell than thank thanks that that'd that's the their theirs them then there there's therefore
    these they they'd they'll they're they've thing things think third this those though three through throughout thus till to
    together too toward towards true truly try two under unfortunately unless unlike until up upon us use usually very via wait
    was wasn't we we'd we'll we're we've welcome well were weren't what what's whatever when whenever where whereas wherever
    whether which whichever while who who's whoever whom whose why will wish with within without won't wonderful would wow yay
    yeah yep yes yet you you'd you'll you're you've your yours yourself
    today tomorrow tonight yesterday morning afternoon evening night monday tuesday wednesday thursday friday saturday sunday
    mon tue wed thu fri sat sun january february march april june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec am pm utc gmt asap faq fyi ps etc eg ie ok"""
)
"""Words that are never a name alone, in any position. At the start of a sentence they are removed from a run."""
IN_TITLES: Final = _words(
    """about above after again all always any as at be before behind better both but by come could did do down each even ever every
    everything few first follow for from get give go good he her here his how if in into it its just keep last let like little look
    make many may me more must my never new next no not nothing of off on once only or other our out over same second see she should
    since so some something soon still take than that their them these they third this those through to together too two under until
    up us very we what when where which while who whose why with within without would you your"""
)
"""Words without a meaning of their own that are part of a title if they have a capital within a sentence."""
IMPERATIVES: Final = _words(
    """add added allow avoid build bump change changed clone configure connect contact copy create define delete deploy deprecate
    disable donate download drop edit enable execute export extend fix fixed fixes ignore implement import include increase install
    join learn load log mention move open overview pass print publish push read refactor release remove removed rename replace report
    require reset return review run save search send serve set setup share show sign skip start stop store submit support
    supports switch sync test train turn update updated upgrade upload validate verify view visit watch write"""
)
"""Words with which a heading or a step begins, before the name that it is about."""
GIVEN: Final = _words(
    """aaron adam adrian ahmed alan albert alex alexander alexandra ali alice alicia alison amanda amir amy ana andrea andrew
    angela anita ann anna anne anthony antonio anya arthur barbara ben benjamin bernard beth betty bill bob brandon brenda brian
    bruce carl carla carlos carmen carol caroline catherine chad charles charlotte chen chloe chris christian christina
    christine christopher claire clara colin connor craig cynthia daniel daniela david deborah dennis diana diego dmitri donald
    donna dorothy doug dylan ed eddie edgar eduardo edward elena elizabeth ella ellen emily emma eric erik erin ethan eva evelyn
    fatima felix fernando fiona frances francis frank fred gabriel gareth gary george gina giulia gloria greg hannah hans harold
    harry hassan heather helen henry howard hugh ian ibrahim ines ingrid irene isabel isabella ivan ivy jack jacob jake james
    jamie jan jane janet jason javier jean jeff jennifer jenny jeremy jerry jessica jill jim joan joe johan johannes john
    jonathan jordan jorge jose joseph joshua joyce juan judith judy julia julian julie justin karen karl kate katherine kathleen
    katie keith kelly ken kenneth kevin kim kyle laura lauren lee leila leo leon leonard liam lily linda lisa liu louis louise
    lucas lucia lucy luis luke luna maria marie mario mark marta martha martin mary matt matthew max maya megan mei melissa
    michael michelle miguel mike mohammed monica nadia nancy natalie natasha nathan neil nicholas nicole nina noah nora oliver
    olivia omar oscar pablo pamela patricia patrick paul paula pedro peter philip priya rachel rafael raj ralph raymond rebecca
    ricardo richard rob robert robin roger roland ron ronald rosa rosie ruth ryan sally sam samantha samuel sandra sara sarah
    scott sean sergei sharon simon sofia sonia sophia sophie stefan stephanie stephen steve steven stuart sunny susan suzanne
    sven tanya teresa terry theo theresa thomas tim timothy tina tom tomas tony tracy valentina vanessa veronica victor victoria
    vincent walter wang wei wendy will william xavier yan yuki yusuf zara zhang zoe"""
) | _words(
    """aditi agnieszka aiko aino akira aldo aleksander amit anders anjali anja anke anneke annika antje arjun arvid asha astrid ayse
    barbora bartosz beata birgit bjarne bogdan bram bruna camille carlo chiara ciara colm conor dagmar darragh declan deepa dieter
    dirk dorota eamon ebru eoin elif emre enrico esra fabio fabrizio fleur florian franziska freya fritz gerhard giorgio giovanni
    gisela goran greta gudrun gunnar guillaume hadewych hakan halina hamza haruki heike heinrich heinz helga hendrik henning henrike
    hiroshi hildegard ilse imke ingeborg ingo irina isak ivana jaap jacek jana jannik jelena jens jiri joana joao joost jozef juergen
    jurgen jutta kaisa kaja kamal karin katarzyna katja katrin keiko kemal kenji kerstin klaus kofi krzysztof kwame lakshmi lars lasse
    leonie lieke lorenzo ludwig luigi lukas maarten magda magdalena magnus malgorzata manfred manuela marcin marco marek margit
    markus marleen marta massimo mateus mateusz matteo matthias meera mehmet michal mieke mirjam mohamed murat nadine naoko
    navin neha niall niamh nikhil nils nino nuno odile oisin olaf ole oleksandr olga oskar pavel pawel petra pierre pieter piotr pooja
    priyanka radek rahul ravi reinhard renate roisin roza ruben saoirse sakura sanjay satoshi selin seung siobhan sigrid silke silvia
    sinead solveig soren stanislav sunita susanne svetlana takeshi tatiana thijs thorsten tomasz torsten ulrike ursula uwe vaclav
    vikram vladimir wanda wiebke willem wojciech yannick yasmin yumi yves zeynep zofia zuzana"""
)
GIVEN_ALONE: Final = GIVEN - _words(
    "chad chen christian felix frank grace jack jan jean jordan kim lee lily luna mark mei rob sunny will"
)
"""Given names that count as a person even as the only word at the start of a sentence, without other evidence."""
TITLES: Final = _words(
    "mr mrs ms miss dr prof professor sir madam lord lady captain king queen uncle aunt auntie doctor"
)
ROLES: Final = _words(
    """architect artist author boss brother captain ceo cfo classmate colleague cousin coworker cto dad daughter designer developer
    director engineer father friend girlfriend boyfriend husband lead lawyer manager mentor mother mum mom neighbor neighbour nurse
    partner president roommate sister son teacher wife writer named hi hello hey dear thanks bye"""
)
OFFICES: Final = _words(
    """ambassador assistant attorney captain chair chairman chairwoman chairperson chancellor chief coach commander commissioner
    congressman consul coordinator councillor deputy dean director duchess duke earl editor emperor empress executive founder general
    governor head judge justice justices king leader lieutenant lord manager marshal mayor member minister officer premier president
    prime princess prince principal professor queen representative secretary senator sergeant sheriff speaker superintendent
    supervisor treasurer vice vp svp evp"""
)
"""Offices that a person holds. Before "of", or alone, they name nobody."""
WORKS: Final = _words(
    "film movie novel book album song single musical opera poem sitcom miniseries documentary videogame ballad"
)
"""Words before the title of a work."""
ORGANISED: Final = _words(
    """inc corp corporation ltd limited llc gmbh plc company group bank university college school institute academy labs laboratory
    foundation association agency industries logistics systems technologies technology solutions partners holdings airlines
    hospital ministry department council committee society union bureau records retail health healthcare energy commission
    authority parliament embassy conservancy clinic pharmacy federation confederation consortium cooperative brewery bakery
    dairies tribunal army navy pharma media studios ventures capital insurance consulting freight shipping foods motors networks
    enterprises"""
)
LEGAL_FORMS: Final = _words("AB AG ApS AS ASA BV EOOD GmbH KG KK NV OHG Oy Oyj Pty SA SARL SAS SE SpA Srl SRO ULC")
"""Legal forms of companies, as written after the name."""
ORGANISATIONS: Final = _words(
    "google microsoft amazon netflix ibm nasa nato openai facebook meta apple intel nvidia unesco unicef"
)
PLACED: Final = _words(
    """street avenue road boulevard lane city town village county province river lake mountain mountains valley beach bay
    island islands park square bridge airport station ocean sea desert forest castle museum garden gardens temple palace cathedral canyon
    falls peninsula plateau strait gulf hill hills peak fjord"""
)
PLACES: Final = _words(
    """africa america amsterdam argentina asia athens atlanta australia austria bangkok barcelona beijing belgium berlin boston
    brazil britain brussels cairo california canada chicago chile china copenhagen dallas delhi denmark denver dublin egypt
    england europe finland florida france geneva germany greece guangzhou hawaii houston hungary india indonesia iran iraq ireland
    israel istanbul italy japan kenya korea kyoto lisbon london madrid malaysia manchester mexico miami milan montreal moscow
    mumbai munich nepal netherlands nigeria norway oslo oxford pakistan paris peru philadelphia philippines poland portugal
    prague rome russia scotland seattle seoul shanghai shenzhen singapore spain stockholm sweden switzerland sydney taiwan texas
    thailand tibet tokyo toronto turkey uk ukraine usa vancouver venice vienna vietnam wales warsaw washington zurich"""
)
TOWNS: Final = _words(
    """aachen aarhus aberdeen ankara antwerp augsburg bangalore bergamo bielefeld bilbao birmingham bochum bologna bonn
    bordeaux bratislava braunschweig bremen brescia brighton brisbane bristol brno bruges bucharest budapest cambridge canberra cardiff
    cologne colombo coventry dortmund dresden duisburg dundee durban dusseldorf düsseldorf edinburgh eindhoven exeter frankfurt
    freiburg galway gdansk genoa ghent girona glasgow gothenburg göteborg granada graz grenoble groningen hamburg hannover hanover
    heidelberg helsinki innsbruck izmir jakarta johannesburg karlsruhe kassel katowice kaunas kiel klagenfurt krakow kraków kyiv
    leicester leiden leipzig leuven liège liverpool ljubljana lodz lübeck lublin lucerne lund luxembourg lviv lyon maastricht magdeburg
    mainz malaga málaga malmö malmo mannheim marseille melbourne minsk münster munster nairobi nantes naples newcastle nicosia nijmegen
    norwich nottingham nuremberg nürnberg odessa odense oostende osaka osnabrück ostrava oulu palermo pamplona perugia plovdiv plymouth
    portsmouth poznan poznań pristina reykjavik rennes riga rostock rotterdam saarbrücken salzburg sarajevo seville sevilla
    sheffield shrewsbury skopje southampton stavanger strasbourg stuttgart swansea szczecin szeged tallinn tampere tbilisi
    thessaloniki tilburg timisoara tirana toulouse trieste trondheim turin turku ulm uppsala utrecht valencia valletta verona vilnius
    walthamstow wellington wiesbaden winterthur wolverhampton wroclaw wuppertal yerevan zagreb zaragoza"""
)
"""Towns that are missing in the lexicon, without those that are words or names of people."""
PLACE_STARTS: Final = _words(
    "new san santa los las mount north south east west saint st fort port rio lake cape gulf isle"
)
PARTS_OF_PLACES: Final = _words(
    """north south east west northern southern eastern western northeast northwest southeast southwest central greater inner outer upper
    lower downtown mainland old great"""
)
PRODUCTS: Final = _words(
    """airflow android bazel bun celery chrome confluence deno django docker dramatiq excel express flask git golang helm ios java kafka
    kotlin kubernetes linux mysql netflix notion pandas photoshop polars postgres powerpoint python redis ruff rust safari
    salesforce slack snowflake spark sqlite svelte terraform trello ubuntu vault vue windows zoom"""
)
SOFTWARE: Final = _words(
    """ansible bigquery bitbucket clickhouse couchdb cypress databricks datadog debian dockerfile docker drupal duckdb dynamodb
    elasticsearch fastapi figma firefox github gitlab golang grafana graphql gunicorn influxdb jenkins jinja jira kafka keycloak
    kibana kubernetes langchain langfuse mariadb matplotlib memcached minio mongodb mysql neovim netlify nginx nodejs numpy
    opensearch opentelemetry pgbouncer pgvector podman postgres postgresql powerpoint prometheus pydantic pyright pytest pytorch
    qdrant rabbitmq redis redshift sqlalchemy sqlite supabase tensorflow terraform tmux typescript ubuntu valkey vercel webpack
    wireshark zookeeper"""
)
"""Software whose name is not an English word."""
PRODUCT_NEXT: Final = _words(
    "app application software platform library framework database version api sdk plugin dashboard"
)
NAMED_AFTER: Final = _words(
    "agent award code day desktop engine house island line method model office prize project rice school server team test"
)
"""Things that are named after a person: a line, a prize, a model."""
PARTICLES: Final = _words("de del della di da van von der den la le du bin al")
LINKS: Final = PARTICLES | _words("of the")
CONNECTORS: Final = LINKS | _words("and for")
CODE_ENDINGS: Final = (
    "Error",
    "Exception",
    "Handler",
    "Manager",
    "Service",
    "Factory",
    "Client",
    "Controller",
    "Builder",
    "Config",
    "Settings",
    "Test",
)
PERSONAL: Final = _words(
    """said says told tells asked asks thinks thought likes liked loves loved lives lived married feels felt wants wanted laughed smiled
    cried apologized apologised agreed believes believed prefers hates hated enjoys enjoyed remembers forgot hopes worries replied
    answered explained complained admitted insisted joked promised suggested recommended invited"""
)
"""Verbs after the name of a person, for actions of people."""
STANDARDS: Final = _words(
    "AES COVID DES DSA ECDSA GPT HTTP ISO MD MP RFC RS RSA SARS SHA SSL TLS UTF VT WPA USB CC AC DC PM AM UTC GMT PEP ASCII BASE"
)
"""Prefixes of numbers that are not keys of an issue tracker."""


# Known names: given and family names, places, organisations and demonyms, which identify a capitalised word as a name.
#
# ``scripts/known_names.mjs`` generates ``known_names.txt`` from compromise's lexicon (``known_names.LICENSE``). A name may be an ordinary
# word as well (Rose, Mark); the context decides. ``english_names.txt.gz`` contains the words that SCOWL's lists have with a capital only;
# ``scripts/english_names.py`` generates it.

_FILE: Final = "known_names.txt"
_OF_A_PEOPLE: Final = ("ish", "ese", "ian", "ians", "etan", "icans", "ican")


class NameLists(NamedTuple):
    """Folded names, those of several words with one space between. ``lands`` are the countries and regions among ``places``."""

    given: frozenset[str]
    family: frozenset[str]
    people: frozenset[str]
    places: frozenset[str]
    lands: frozenset[str]
    organizations: frozenset[str]
    demonyms: frozenset[str]


@cache
def known_names() -> NameLists:
    """Load the lists of names, once per process: 6,000 names, 50 kB."""
    sections: dict[str, set[str]] = {}
    names: set[str] = set()
    for line in files("slowwave.text").joinpath(_FILE).read_text("utf-8").splitlines():
        if line.startswith("["):
            names = sections.setdefault(line.strip("[]"), set())
        else:
            names.add(line)
    return NameLists(**{section: frozenset(found) for section, found in sections.items()})


def is_given(word: str) -> bool:
    """Return whether a folded word is a given name."""
    return word in known_names().given


def is_plain(word: str) -> bool:
    """Return whether a folded word is a common English word, its plural or a demonym, and so not a name by itself."""
    if word in known_names().demonyms or (
        word in _capitalised() and word.endswith(_OF_A_PEOPLE) and not is_given(word)
    ):
        return True
    return _is_common(word) or (word.endswith("s") and _is_common(word[:-1]))


def is_written_large(word: str) -> bool:
    """Return whether a folded word is one that is written only with a capital."""
    return word in _capitalised()


def _is_common(word: str) -> bool:
    return is_word(word) and word not in _capitalised()


@cache
def _capitalised() -> frozenset[str]:
    """Load the 30,000 words that are written with a capital, about 3 MB."""
    return frozenset(
        gzip.decompress(files("slowwave.text").joinpath("english_names.txt.gz").read_bytes()).decode().split()
    )


# Types of names that a text states: the head noun of "X is a …" or "X was the …" is the type of X.
#
# These are lists of nouns only; a head noun in none of them gives no type. ``slowwave.text.extraction`` decides whether X is a name.

_IS: Final = re.compile(
    r"(?: ?\([^()\n]{0,200}\)| -LRB-[^\n]{0,200}?-RRB-)?,? (?:is|was|are|were|became) (?:also |now |still )?"
    r"(?:an?|the|one of the|our|my|their|his|her)((?: [\w'’-]{1,30}){1,9})"
)
_ENDS: Final = _words(
    """about and as at based by during for from headed in into led made of on or set that to what when where which who whose with
    within"""
)
"""Words after the head noun."""
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
    """Return the type that the words after a name, which ends at ``end``, give to it; None if they give none."""
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


# The type of a name: person, organisation, place or product, by lists and by the words around it; otherwise ``unknown``.

UNKNOWN: Final = "unknown"
POSSESSIVE: Final = re.compile(r"['’]s?$")
_INNER_CAPITAL: Final = re.compile(r"[^\W\d_]*[a-z0-9][A-Z]")
_SURE_PERSON: Final = re.compile(r"(?:\bmy name(?:'s|’s| is)|\bI am|\bI'm|\bI’m|\bthis is)\s*$", re.IGNORECASE)
_LIVES: Final = re.compile(
    r"\b(?:liv(?:e|es|ed|ing)|mov(?:e|es|ed|ing)|born|based|located|flew|fly|flying|travel(?:s|led|ed|ing)?|trip|grew up|stay(?:s|ed|ing)?|"
    r"arriv(?:e|es|ed|ing)|visit(?:s|ed|ing)?)(?: back)?(?: in| to| at| from)?\s*$",
    re.IGNORECASE,
)
_WORKS: Final = re.compile(
    r"\b(?:work(?:s|ed|ing)? (?:at|for)|join(?:s|ed|ing)|employed (?:at|by)|hired by|interned at|job at|offer from|"
    r"(?:ceo|cto|cfo|founder|head) (?:at|of)|acquired by)\s*$",
    re.IGNORECASE,
)
_OF_SOFTWARE: Final = re.compile(
    r"\b(?:apps?|applications?|software|platforms?|tools?|librar(?:y|ies)|clients?|packages?|plug-?ins?|servers?|databases?|sdks?|apis?|"
    r"versions?|releases?|dashboards?|logins?|browsers?|(?:web)?sites?|frameworks?|modules?|install(?:s|ed|ing)?|integrat\w+|"
    rf"(?<![/.@])(?:{'|'.join(sorted(SOFTWARE))})(?!\.\w|/)|"
    r"(?:errors?|issues?|bugs?|failures?) (?:on|in|with))\b",
    re.IGNORECASE,
)
_USED: Final = re.compile(r"\b(?:via|using|use|uses|used|install|into) $", re.IGNORECASE)
_OF_WORKS: Final = re.compile(
    r"\b(?:films?|movies?|comed(?:y|ies)|dramas?|thrillers?|cartoons?|novels?|books?|albums?|songs?|singles?|musicals?|operas?|plays?|poems?|poetry|biograph(?:y|ies)|series|shows?|"
    r"sitcoms?|documentar(?:y|ies)|anime|manga|comics?|games?|paintings?|essays?|articles?|papers?|stor(?:y|ies)|magazines?|podcasts?|"
    r"episodes?|chapters?|soundtracks?|read(?:ing|s)?|watch(?:ed|ing|es)?|listen(?:ed|ing|s)?|authors?|writers?|directors?)\b",
    re.IGNORECASE,
)
_STOPS: Final = re.compile(r"[.!?]\s|\n")
_AROUND: Final = 60
_SENTENCE: Final = 200
"""Number of characters before and after a name that are searched for words that show its type."""
_NO_FAMILY: Final = ORGANISED | PRODUCTS | PRODUCT_NEXT | WORKS | NAMED_AFTER
"""Words after a given name that show that it is part of another name: Nobel Prize, Turing Test."""
_AUTHOR: Final = re.compile(r" ?(?:\(@|<[\w.+-]{1,64}@)")
_PEOPLE_OF: Final = ("ans", "ers", "ese")


@dataclass(frozen=True, slots=True)
class NameToken:
    """Word outside all patterns, with the text between it and the word before."""

    text: str
    start: int
    end: int
    gap: str
    initial: bool

    @property
    def folded(self) -> str:
        """Return the word case-folded, without a final dot or possessive."""
        return POSSESSIVE.sub("", self.text.rstrip(".")).casefold()

    @property
    def capital(self) -> bool:
        """Return whether the token begins with a capital."""
        return self.text[0].isupper()


def name_type(text: str, run: Sequence[NameToken], name: str, before: str, following: str) -> tuple[str, int]:
    """Return the type of a name and the strength of its evidence.

    The strength is 3 if the text states the type, 2 if a list has it, 1 if the context or the form suggests it, and 0 without evidence.
    """
    words = [token.folded for token in run]

    def software() -> bool:
        return _OF_SOFTWARE.search(text, max(0, run[0].start - _AROUND), run[-1].end + _AROUND) is not None

    joined, context = " ".join(words), text[max(0, run[0].start - 40) : run[0].start]
    if (
        (before in WORKS or before.removesuffix("s") in WORKS)
        and run[0].gap == " "
        and not name.isupper()
        and not (len(words) > 1 and words[-1] in known_names().family)
    ):
        return "work", 2
    if words[0] in TITLES and len(words) > 1:
        return "person", 3
    if (kind := defined_type(text, run[-1].end)) is not None and not all(map(is_plain, words)):
        return kind, 3
    if _SURE_PERSON.search(context) and len(words) <= 4 and not name.isupper() and not all(map(is_plain, words)):
        return "person", 3
    if len(run) > 1 and run[-1].text in LEGAL_FORMS and not all(map(is_plain, words[:-1])):
        return "organization", 2
    if (kind := _listed(words, joined, software=software)) is not None:
        return kind, 2
    if _is_spoken_of(text, run, before) or (_is_person(words) and not _is_short(run[-1].text)):
        return "person", 2
    if following in PRODUCT_NEXT and not all(map(is_plain, words)):
        return "product", 1
    if 2 <= len(words) <= 3 and (
        words[0] in {"lake", "mount"}
        or (words[0] in PLACE_STARTS and not is_plain(words[-1]) and not words[-1].endswith(_PEOPLE_OF))
    ):
        return "location", 1
    if _LIVES.search(context) and len(words) <= 3:
        return "location", 1
    if _WORKS.search(context) and len(words) <= 4:
        return "organization", 1
    if _INNER_CAPITAL.match(name) and len(words) == 1:
        end = run[-1].end
        if name.endswith(CODE_ENDINGS) or text[end : end + 1] == "(" or context.endswith("import "):
            return "code", 1
        return ("product", 1) if software() or _USED.search(context) else (UNKNOWN, 0)
    if not all(map(is_plain, words)) and len(words) <= 3 and all(_personal(token.text) for token in run):
        if following in PERSONAL or (len(words) > 1 and _AUTHOR.match(text, run[-1].end)):
            return "person", 1
        if len(words) > 1 and words[-1] in known_names().family and not is_plain(words[0]):
            return "person", 1
        if len(words) == 2 and _is_sure_given(words[0]) and words[1].removesuffix("s") not in _NO_FAMILY:
            return "person", 1
    return UNKNOWN, 0


def is_office(words: Sequence[str]) -> bool:
    """Return whether folded words name an office rather than a person who holds it: Governor of Texas, Prime Minister."""
    if "of" in words[1:]:
        return words[words.index("of", 1) - 1] in OFFICES
    last = words[-1]
    return len(words) > 1 and (
        (last in OFFICES and all(map(is_plain, words))) or (last not in OFFICES and last.removesuffix("s") in OFFICES)
    )


def speaks_of_works(text: str, start: int, end: int) -> bool:
    """Return whether the words around a span mention books, films, songs or other works.

    Only words of the same sentence count, at most ``_SENTENCE`` characters on each side.
    """
    before, after = text[max(0, start - _SENTENCE) : start], text[end : end + _SENTENCE]
    return bool(_OF_WORKS.search(_STOPS.split(before)[-1]) or _OF_WORKS.search(_STOPS.split(after)[0]))


def _listed(words: Sequence[str], joined: str, *, software: Callable[[], bool]) -> str | None:
    """Return the type that the lists give to a name, or to its first or last word."""
    known = known_names()
    several = len(words) > 1
    if (words[-1] in ORGANISED and several) or words[0] in {"university", "bank", "ministry", "department"}:
        return "organization"
    if joined in ORGANISATIONS or (joined in known.organizations and (several or not is_plain(joined))):
        return "organization"
    if joined in SOFTWARE or (several and words[-1] in SOFTWARE and words[0] in SOFTWARE):
        return "product"
    if joined in PRODUCTS and (not (is_plain(joined) or joined in known.places) or software()):
        return "product"
    if (
        joined in PLACES
        or joined in TOWNS
        or joined in known.places
        or (words[-1] in PLACED and several and not _is_sure_given(words[0]))
    ):
        return "location"
    if len(words) == 2 and words[-1] in PLACES and words[0] in PARTS_OF_PLACES:
        return "location"
    if several and joined in known.people:
        return "person"
    return None


def _is_sure_given(word: str) -> bool:
    """Return whether a word is a given name and neither a common word nor a place."""
    return word in GIVEN_ALONE or (is_given(word) and not is_plain(word) and word not in known_names().places)


def _is_spoken_of(text: str, run: Sequence[NameToken], before: str) -> bool:
    """Return whether the context shows a person: a role before the name, or a colon after it at the start of a line."""
    words = [token.folded for token in run]
    if len(words) > 3 or all(is_plain(word) and not is_given(word) for word in words):
        return False
    if before in ROLES and not run[0].text.isupper():
        return True
    end = run[-1].end
    begins = text.rfind("\n", 0, run[0].start) + 1
    ahead = text[begins : run[0].start].strip()
    if text[end : end + 2] not in (": ", ":\n") or ahead.strip("*-_>["):
        return False
    return _is_person(words)


def _is_person(words: Sequence[str]) -> bool:
    """Return whether words are a given name, alone or followed by others.

    The last of the others must be a family name, or at least not a common word.
    """
    first, last = words[0], words[-1]
    if not (first in GIVEN or is_given(first)):
        return False
    if len(words) == 1:
        return _is_sure_given(first) or (first in GIVEN and first not in known_names().places)
    if len(words) > 3 and not any(word in PARTICLES for word in words):
        return last in known_names().family
    return last in known_names().family or not is_plain(last) or first in GIVEN_ALONE


def _is_short(word: str) -> bool:
    """Return whether a word is an abbreviation: API, V2."""
    return word.isupper() and len(word) <= 4 and not word.endswith(".")


def _personal(word: str) -> bool:
    """Return whether a word looks like part of a person's name: Smith, J., van."""
    return word in PARTICLES or (word.istitle() and (word.isalpha() or (len(word) == 2 and word[1] == ".")))
