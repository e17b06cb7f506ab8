"""Words and accidents that generated sets are made of: names by language, streets, titles, typing errors, formats of a phone.

All of it was written for this file or is coined from syllables; names are common ones put together by chance. What the sets
look like belongs to ``benchmarks.worlds`` and ``benchmarks.hard_negatives``. Most of its lines are lists.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import numpy as np

T = TypeVar("T")


class Dice:
    """Seeded chance with the few throws that generators need; texts may be part of the seed."""

    def __init__(self, *seed: object) -> None:
        self._rng = np.random.default_rng([zlib.crc32(str(part).encode()) for part in seed])
        self._ready: list[float] = []

    def random(self) -> float:
        """Uniform in [0, 1)."""
        if not self._ready:
            self._ready = self._rng.random(4_096).tolist()
        return self._ready.pop()

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return self.random() < p

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + int(self.random() * (high - low + 1))

    def pick(self, things: Sequence[T]) -> T:
        """One of them, all alike."""
        return things[int(self.random() * len(things))]

    def skewed(self, things: Sequence[T], power: float = 2.5) -> T:
        """One of them, the first ones far more often: a few common, many rare."""
        return things[int(len(things) * self.random() ** power)]

    def sample(self, things: Sequence[T], k: int) -> list[T]:
        """k different places, in an order of chance."""
        return [things[at] for at in self._rng.choice(len(things), min(k, len(things)), replace=False).tolist()]

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """All of them in an order of chance."""
        return [things[at] for at in self._rng.permutation(len(things)).tolist()]

    def normal(self, mean: float, deviation: float) -> float:
        """Bell-shaped."""
        return float(self._rng.normal(mean, deviation))

    def heavy(self, mean: float, most: int) -> int:
        """A cluster's size from 1: most are small, some are large (log-normal), never above ``most``."""
        return min(most, max(1, round(float(self._rng.lognormal(np.log(mean) - 0.5, 1.0)))))


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.replace("\n", " ").split("|"))


GIVEN: Final = {
    "en": _words(
        "James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan Joseph Jessica "
        "Thomas Sarah Charles Karen Christopher Lisa Daniel Nancy Matthew Betty Anthony Margaret Mark Sandra Donald Ashley "
        "Steven Kimberly Paul Emily Andrew Donna Joshua Michelle Kenneth Carol Kevin Amanda Brian Melissa George Deborah "
        "Timothy Stephanie Ronald Rebecca Edward Laura Jason Helen Jeffrey Sharon Ryan Cynthia Jacob Kathleen Gary Amy "
        "Nicholas Shirley Eric Angela Jonathan Anna Stephen Ruth Larry Brenda Justin Pamela Scott Nicole Brandon Katherine "
        "Benjamin Samantha Samuel Christine Gregory Emma Frank Catherine Alexander Debra Raymond Virginia Patrick Rachel Jack "
        "Carolyn Dennis Janet Jerry Maria Tyler Heather Aaron Diane Jose Olivia Adam Julie Nathan Joyce Henry Victoria"
    ),
    "de": _words(
        "Michael Andrea Thomas Sabine Andreas Petra Peter Ursula Stefan Monika Christian Karin Martin Renate Frank Helga "
        "Klaus Birgit Juergen Claudia Bernd Gisela Wolfgang Brigitte Hans Ingrid Uwe Susanne Matthias Heike Dieter Erika "
        "Markus Nicole Ralf Christa Joerg Martina Gerhard Kerstin Manfred Anja Heinz Silke Joachim Elke Werner Katrin "
        "Horst Simone Holger Angelika Rainer Tanja Dirk Stefanie Guenter Ulrike Karl Marion Jens Anke Torsten Barbara"
    ),
    "zh": _words(
        "Wei Jing Li Yan Jun Fang Min Lei Tao Hui Yong Hong Ming Xin Jie Na Chao Ling Bin Xia Feng Mei Yu Qing Hao Yi Bo "
        "Juan Kai Ying Xiaoming Jianguo Zhiqiang Xiaoli Haiyan Guoqiang Zhenhua Yuanyuan Jiahao Wenbin"
    ),
    "in": _words(
        "Rajesh Priya Sanjay Anita Amit Sunita Vijay Kavita Suresh Deepa Ravi Lakshmi Anil Meena Ramesh Pooja Sunil Neha "
        "Ashok Asha Manoj Rekha Arun Shweta Vinod Geeta Rahul Nisha Ajay Swati Prakash Divya Mohan Radha Krishna Jyoti"
    ),
    "es": _words(
        "Antonio Maria Jose Carmen Manuel Ana Francisco Isabel Juan Laura David Cristina Javier Marta Daniel Dolores Carlos "
        "Lucia Jesus Elena Alejandro Pilar Miguel Raquel Rafael Rosa Pedro Beatriz Angel Silvia Sergio Teresa Pablo Patricia"
    ),
    "fr": _words(
        "Jean Marie Pierre Nathalie Michel Isabelle Andre Sylvie Philippe Catherine Rene Francoise Louis Valerie Alain "
        "Christine Jacques Monique Bernard Sophie Marcel Patricia Daniel Martine Roger Sandrine Robert Nicole Luc Claire"
    ),
    "nordic": _words(
        "Lars Anna Anders Eva Johan Kristina Per Ingrid Erik Karin Nils Birgitta Jan Marie Olof Elisabeth Sven Astrid Bjorn "
        "Hanna Henrik Sofia Mikael Maja Magnus Linnea Jonas Freja Mattias Signe Gustav Tove Oskar Liv"
    ),
    "slavic": _words(
        "Jan Anna Piotr Katarzyna Tomasz Agnieszka Pavel Jana Ivan Elena Andrzej Barbara Marek Ewa Michal Zofia Dmitri Olga "
        "Sergei Natalia Jakub Magdalena Vladimir Irina Alexei Tatiana Milan Petra Igor Svetlana"
    ),
}
SURNAMES: Final = {
    "en": _words(
        "Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Thomas Moore Martin Jackson Thompson White Lee "
        "Harris Clark Lewis Robinson Walker Young Allen King Wright Scott Hill Green Adams Baker Nelson Hall Campbell Mitchell "
        "Carter Roberts Turner Phillips Parker Evans Edwards Collins Stewart Morris Murphy Cook Rogers Morgan Cooper Peterson "
        "Reed Bailey Bell Kelly Howard Ward Cox Richardson Watson Brooks Wood Bennett Gray Hughes Price Foster Sanders Ross "
        "Powell Sullivan Russell Perry Butler Barnes Fisher Henderson Coleman Simmons Patterson Jordan Reynolds Hamilton Graham "
        "Wallace West Cole Hayes Chapman Ellis Gibson Marsh Holloway Whitcombe Ashdown Penrose Thornbury Wexford Kirkbride"
    ),
    "de": _words(
        "Mueller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schaefer Koch Bauer Richter Klein Wolf "
        "Schroeder Neumann Schwarz Zimmermann Braun Krueger Hofmann Hartmann Lange Schmitt Werner Schmitz Krause Meier Lehmann "
        "Schmid Schulze Maier Koehler Herrmann Koenig Walter Mayer Huber Kaiser Fuchs Peters Lang Scholz Moeller Weiss Jung "
        "Hahn Schubert Vogel Friedrich Keller Guenther Frank Berger Winkler Roth Beck Lorenz Baumann Franke Albrecht Simon"
    ),
    "zh": _words(
        "Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou Xu Sun Ma Zhu Hu Guo He Lin Gao Luo Zheng Liang Xie Song Tang Han Feng "
        "Deng Cao Peng Zeng Xiao Tian Dong Pan Yuan Cai Jiang Yu Du"
    ),
    "in": _words(
        "Kumar Singh Sharma Patel Gupta Reddy Rao Iyer Nair Das Mehta Shah Joshi Verma Mishra Agarwal Menon Pillai Chopra "
        "Banerjee Mukherjee Chatterjee Bose Desai Kulkarni Bhat Krishnan Subramanian Venkatesan Chaudhary"
    ),
    "es": _words(
        "Garcia Rodriguez Gonzalez Fernandez Lopez Martinez Sanchez Perez Gomez Martin Jimenez Ruiz Hernandez Diaz Moreno Alvarez "
        "Romero Alonso Gutierrez Navarro Torres Dominguez Vazquez Ramos Gil Ramirez Serrano Blanco Molina Castro"
    ),
    "fr": _words(
        "Martin Bernard Dubois Thomas Robert Richard Petit Durand Leroy Moreau Simon Laurent Lefebvre Michel Garnier Faure Rousseau "
        "Blanc Guerin Muller Henry Roussel Mathieu Gautier Masson Marchand Duval Denis Dumont Marie"
    ),
    "nordic": _words(
        "Andersson Johansson Karlsson Nilsson Eriksson Larsson Olsson Persson Svensson Gustafsson Hansen Olsen Larsen Andersen "
        "Pedersen Nielsen Jensen Kristensen Berg Lindberg Lindstrom Sandberg Holm Dahl Haugen Bakke Lund Strand Solberg Moen"
    ),
    "slavic": _words(
        "Nowak Kowalski Novak Svoboda Ivanov Petrov Wisniewski Wojcik Kaminski Lewandowski Dvorak Cerny Prochazka Sidorov Volkov "
        "Kuznetsov Popov Zielinski Szymanski Horvat Kovac Jankovic Petrovic Novotny Kucera Sokolov Morozov Pavlov Orlov Fedorov"
    ),
}
SHORT: Final = {
    "William": ("Bill", "Will", "Billy"),
    "Robert": ("Bob", "Rob", "Bobby"),
    "Richard": ("Rick", "Dick"),
    "James": ("Jim", "Jimmy"),
    "John": ("Jack", "Johnny"),
    "Michael": ("Mike", "Mick"),
    "Elizabeth": ("Liz", "Beth", "Betty"),
    "Katherine": ("Kate", "Kathy"),
    "Catherine": ("Cathy", "Kate"),
    "Margaret": ("Maggie", "Peggy"),
    "Thomas": ("Tom", "Tommy"),
    "Christopher": ("Chris",),
    "Christine": ("Chris", "Tina"),
    "Daniel": ("Dan", "Danny"),
    "Joseph": ("Joe",),
    "Edward": ("Ed", "Ted"),
    "Matthew": ("Matt",),
    "Anthony": ("Tony",),
    "Andrew": ("Andy", "Drew"),
    "Steven": ("Steve",),
    "Stephen": ("Steve",),
    "Jennifer": ("Jen", "Jenny"),
    "Patricia": ("Pat", "Trish"),
    "Susan": ("Sue",),
    "Deborah": ("Deb", "Debbie"),
    "Rebecca": ("Becky",),
    "Samuel": ("Sam",),
    "Samantha": ("Sam",),
    "Benjamin": ("Ben",),
    "Alexander": ("Alex",),
    "Nicholas": ("Nick",),
    "Gregory": ("Greg",),
    "Timothy": ("Tim",),
    "Kenneth": ("Ken",),
    "Ronald": ("Ron",),
    "Jacob": ("Jake",),
    "Pamela": ("Pam",),
    "Henry": ("Harry", "Hank"),
    "Charles": ("Chuck", "Charlie"),
    "Victoria": ("Vicky",),
}
STREET_NAMES: Final = _words(
    "Main Church High Park Oak Maple Cedar Elm Washington Lake Hill Walnut Spring North Ridge Chestnut Willow Mill River "
    "Sunset Jackson Madison Franklin Pine Highland Prospect Center Union Broad Market Grove Forest Meadow Harbor Orchard "
    "Cherry Garden School Water Bridge Station Victoria Albert Queen King George Windsor Canal Mission Mariner Lantern Quarry "
    "Foundry Tanner Cooper Saddler Weaver Kiln Granite Heron Kestrel Plover Sandpiper Wattle Banksia Acacia Jarrah Bottlebrush "
    "Merton Calder Durham Ashby Selwyn Harcourt Denison Osborne Lonsdale Cromwell Burke Pelham Stirling Lachlan"
)
STREET_KINDS: Final = (
    ("Street", "St."),
    ("Street", "St"),
    ("Avenue", "Ave."),
    ("Avenue", "Ave"),
    ("Road", "Rd."),
    ("Boulevard", "Blvd."),
    ("Drive", "Dr."),
    ("Lane", "Ln."),
    ("Court", "Ct."),
    ("Place", "Pl."),
    ("Highway", "Hwy."),
    ("Terrace", "Tce"),
)
COLOURS: Final = _words("Black White Silver Red Blue Graphite Pink Green Grey Titanium")
NOUNS: Final = _words(
    "river night heart road summer winter rain fire dream light shadow ocean city train moon sun star garden window mirror "
    "letter silence thunder dance story song promise morning evening home stranger horizon wire paper stone glass gold dust "
    "sky bird wolf rose ghost river captain island harbor lantern mountain desert highway bridge clock candle feather anchor"
)
ADJECTIVES: Final = _words(
    "blue broken golden lonely wild silent endless little lost sweet distant electric burning hollow gentle bitter restless "
    "crooked velvet northern paper crimson slow bright cold midnight quiet hidden faithful reckless tender"
)
VERBS: Final = _words(
    "dancing running waiting falling dreaming crying walking drifting calling burning holding leaving shining"
)
PROBLEMS: Final = _phrases(
    "query optimization | join processing | schema matching | data cleaning | index maintenance | view selection | "
    "transaction recovery | load balancing | feature selection | image segmentation | speech recognition | route planning | "
    "anomaly detection | text classification | record linkage | cache invalidation | concurrency control | data integration | "
    "similarity search | association rule mining | graph partitioning | stream aggregation | access control | "
    "decision tree induction | knowledge base refinement | reinforcement learning | case-based reasoning | belief propagation | "
    "lexical disambiguation | theory revision | neural network training | inductive logic programming | query containment"
)
METHODS: Final = _phrases(
    "an adaptive approach | a probabilistic model | efficient algorithms | a cost model | approximate methods | "
    "a declarative framework | incremental techniques | a randomized algorithm | a Bayesian approach | sampling strategies | "
    "a hybrid method | lower bounds | a genetic algorithm | dynamic programming | constraint satisfaction | "
    "an empirical comparison | hierarchical clustering | error-correcting codes | boosted classifiers | hidden Markov models"
)
SETTINGS: Final = _phrases(
    "in relational databases | in object-oriented systems | over data streams | for semistructured data | in large networks | "
    "in distributed environments | on parallel machines | with incomplete information | in data warehouses | for XML documents | "
    "in sensor networks | with noisy examples | for mobile clients | in federated systems | for spatial data | "
    "in peer-to-peer networks | under resource limits | from sparse data | in temporal databases | for decision support"
)
VENUES: Final = (
    (
        "Conference on Management of Relational Data",
        "COMRAD",
        "Proc. of the ACM COMRAD Conf.",
        "ACM COMRAD Conference",
    ),
    ("Very Wide Data Bases", "VWDB", "Proceedings of the Intl. Conf. on Very Wide Data Bases", "VWDB Conf."),
    ("Transactions on Data Systems", "TDS", "ACM Trans. Data Syst.", "ACM Transactions on Data Systems (TDS)"),
    ("The Wide Data Bases Journal", "WDB J.", "WDBJ", "Wide Data Bases Journal: the Intl. Journal"),
    ("Symposium on Principles of Querying", "SPQ", "Proc. Symp. Principles of Querying", "ACM SPQ"),
    ("Data Systems Record", "DS Record", "DSREC", "SIG Data Record"),
    (
        "International Conference on Learning Machines",
        "ICLM",
        "Proc. 9th Int. Conf. Learning Machines",
        "In Proceedings of ICLM",
    ),
    ("Learning Machines", "Learn. Mach.", "Machine Learn. J.", "Journal of Learning Machines"),
    ("National Conference on Reasoning", "NCR", "In Proc. of the National Conf. on Reasoning", "NCR-{yy}"),
    ("Journal of Reasoning Research", "JRR", "J. Reason. Res.", "Journal of Reasoning Res."),
    ("Advances in Neural Signal Systems", "ANSS", "ANSS {n}", "Neural Signal Systems"),
)
PUBLISHERS: Final = _phrases("Morland Kaufner | Springfeld | Northgate Press | ACM Press | MTI Press | Academy Press")
FIELDS: Final = _phrases(
    "Computer Science | Electrical Engineering | Chemistry | Physics | Mathematics | Biochemistry | Mechanical Engineering | "
    "Statistics | Medicine | Economics | Materials Science | Psychology"
)
CUISINES: Final = (
    ("American", "American (new)", "American (traditional)", "Californian"),
    ("Italian", "Northern Italian", "Italian", "Pizza"),
    ("French", "French (classic)", "French bistro", "Bistros"),
    ("Japanese", "Sushi", "Japanese", "Asian"),
    ("Chinese", "Cantonese", "Asian", "Dim sum"),
    ("Mexican", "Mexican/Tex-Mex", "Latin American", "Southwestern"),
    ("Steakhouses", "Steak houses", "American", "Steak"),
    ("Seafood", "Seafood", "Fish", "Oyster bars"),
    ("BBQ", "Barbecue", "Southern/soul", "American"),
    ("Delis", "Delicatessen", "Coffee shops", "Sandwiches"),
    ("Indian", "Indian", "Pakistani", "Curry"),
    ("Coffeehouses", "Cafes", "Coffee shops", "Desserts"),
)
COUNTRIES: Final = (
    ("Germany", "DE"),
    ("USA", "United States"),
    ("U.K.", "United Kingdom"),
    ("France", "FR"),
    ("Italy", "IT"),
    ("China", "P.R. China"),
    ("India", "IN"),
    ("Canada", "CA"),
    ("Australia", "AU"),
    ("Sweden", "SE"),
)
STATES: Final = _words("CA NY TX MA WA IL NJ MI OH PA MN NC CO GA FL OR AZ CT WI MD")

_ONSETS: Final = _words("B Br C Ch D Dr F Fl G Gr H J K Kl L M N P Pr Qu R S Sh St T Tr V W Z")
_VOWELS: Final = _words("a e i o u a e o ai ea ou")
_CODAS: Final = _words("l m n r s x nd rk th ck lt v - - -")
_ENDS: Final = _words("a o us ex is on er an ix ia el en ic or um")
_PLACES: Final = _words("ton ford ville burg field haven mouth bury dale wick stad berg port ley minster")
_SURNAME_ENDS: Final = _words("ing man sen ski ley er ova ini ez ard ett wood stein ault gren")
_KEYS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "1234567890")
_NEAR: Final = {
    letter: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in _KEYS for at, letter in enumerate(row)
}
_SOUNDS: Final = (
    *(
        ("ph", "f"),
        ("ck", "k"),
        ("ie", "ei"),
        ("ss", "s"),
        ("ll", "l"),
        ("y", "i"),
        ("th", "t"),
        ("mm", "m"),
        ("tt", "t"),
    ),
    *(("nn", "n"), ("gh", "g"), ("z", "s"), ("c", "k"), ("oe", "o"), ("ue", "u"), ("j", "y"), ("v", "w"), ("d", "t")),
)


def _syllable(dice: Dice) -> str:
    return dice.pick(_ONSETS) + dice.pick(_VOWELS) + dice.pick(_CODAS).strip("-")


def coined(dice: Dice) -> str:
    """A word that is none: two or three syllables, as brands and companies have."""
    middle = dice.pick((_syllable(dice), dice.pick(_ONSETS))).lower()
    return _syllable(dice) + middle + dice.pick(_ENDS)


def place(dice: Dice) -> str:
    """A town that is none; two of them are seldom a letter apart."""
    return _syllable(dice) + dice.pick((_syllable(dice).lower(), "")) + dice.pick(_PLACES)


def distinct(make: Callable[[Dice], str], dice: Dice, n: int) -> list[str]:
    """n different texts of a maker."""
    found: dict[str, None] = {}
    while len(found) < n:
        found.setdefault(make(dice))
    return list(found)


def surname(dice: Dice) -> str:
    """A rare one, as the tail of every directory is made of."""
    return _syllable(dice) + dice.pick(_SURNAME_ENDS)


class People:
    """Full names as a directory has them: a few very common, a long tail of rare surnames."""

    def __init__(self, dice: Dice, languages: Sequence[str] = ("en",), rare: float = 0.35) -> None:
        self._dice, self._languages, self._rare = dice, languages, rare
        self._tail = distinct(surname, dice, 1_500)

    def surname(self, language: str | None = None) -> str:
        """A common one of the language, or one of the tail."""
        dice = self._dice
        return dice.pick(self._tail) if dice.chance(self._rare) else dice.skewed(SURNAMES[language or "en"], 1.7)

    def name(self) -> tuple[str, str]:
        """(given, surname)."""
        language = self._dice.skewed(self._languages, 1.5)
        return self._dice.skewed(GIVEN[language], 1.6), self.surname(language)


def typo(dice: Dice, text: str) -> str:
    """One error of a hand, an ear or a scanner: a letter left out, doubled, swapped, a neighbouring key, another spelling."""
    spots = [at for at, letter in enumerate(text) if letter.isalnum()]
    if len(spots) < 3:
        return text
    at, kind = dice.pick(spots[1:]), dice.random()
    if kind < 0.22:
        return text[:at] + text[at + 1 :]
    if kind < 0.36:
        return text[:at] + text[at] + text[at:]
    if kind < 0.54 and at + 1 < len(text) and text[at + 1].isalnum():
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    if kind < 0.70:
        for _ in range(6):
            sound, other = dice.pick(_SOUNDS)
            if (where := text.lower().find(sound, 1)) > 0:
                return text[:where] + other + text[where + len(sound) :]
    near = _NEAR.get(text[at].lower(), "") or "e"
    new = dice.pick(near)
    return text[:at] + (new.upper() if text[at].isupper() else new) + text[at + 1 :]


def digit_slip(dice: Dice, text: str) -> str:
    """One digit changed, or two neighbours swapped."""
    spots = [at for at, letter in enumerate(text) if letter.isdigit()]
    if not spots:
        return text
    at = dice.pick(spots)
    if dice.chance(0.4) and at + 1 < len(text) and text[at + 1].isdigit():
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text[:at] + dice.pick("0123456789".replace(text[at], "")) + text[at + 1 :]


def phone(dice: Dice) -> str:
    """Ten digits."""
    return f"{dice.between(201, 989)}{dice.between(200, 999)}{dice.between(0, 9_999):04d}"


def phone_format(digits: str, style: int) -> str:
    """The same ten digits as four different guides print them."""
    a, b, c = digits[:3], digits[3:6], digits[6:]
    return (f"{a}/{b}-{c}", f"{a}-{b}-{c}", f"({a}) {b} {c}", f"+1 {a} {b} {c}")[style % 4]


def address(dice: Dice) -> tuple[str, str]:
    """(long, short) forms of one address."""
    number, name, (kind, short) = dice.between(1, 2_400), dice.skewed(STREET_NAMES, 1.3), dice.skewed(STREET_KINDS, 1.6)
    side = dice.pick(("North ", "South ", "East ", "West ")) if dice.chance(0.2) else ""
    return f"{number} {side}{name} {kind}", f"{number} {side[:1] + '. ' if side else ''}{name} {short}"


def unpunctuated(text: str) -> str:
    """Lower case, without punctuation: how one of two sources often writes."""
    return re.sub(r"\s+", " ", re.sub(r"[^\w\s&]", " ", text.lower())).strip()
