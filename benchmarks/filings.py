"""The world of filings: every person whom a patent office has listed on a filing, once for each filing.

Careers run through employers, sites and groups; a few employers are as large as towns and full of namesakes, couples and brothers. All
that stand on one filing share its title, class, year, employer and each other, and a group's next filing shares most of it again.
Every office writes names its own way. What is listed belongs to ``benchmarks.worlds``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.listings import Row
from benchmarks.vocabulary import GIVEN, METHODS, NOUNS, SHORT, STATES, SURNAMES, Dice, coined, place, typo


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_EAST: Final = {
    "zh": (
        _words("Wei Xiao Jian Zhi Guo Hai Yong Ming Hong Jun Wen Yan Li Bo Chun Da Feng Hui Jia Jing Kai Lei Lin Min"),
        _words(
            "Ming Hua Qiang Jun Ping Feng Yan Li Wei Hong Dong Bin Bo Chao Fei Gang Hao Hui Jie Jing Lei Na Tao Ying"
        ),
    ),
    "ko": (
        _words("Jae Sung Young Min Hyun Dong Seung Jin Sang Ki Kyung Chang Tae Woo Yong Byung Ji Eun Hee Soo"),
        _words("Hyun Ho Hoon Jin Soo Min Young Woo Ki Kyu Sik Chul Hwan Seok Wook Hee Jun Mi Kyung Il"),
    ),
}
_FAMILIES: Final = {
    "ko": _words("Kim Lee Park Choi Jung Kang Cho Yoon Jang Lim Han Oh Seo Shin Kwon Hwang Ahn Song Yoo Hong"),
    "ja": _words(
        "Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Kobayashi Kato Yoshida Yamada Sasaki Yamaguchi "
        "Matsumoto Inoue Kimura Hayashi Shimizu Saito"
    ),
}
_JAPANESE: Final = _words(
    "Hiroshi Takashi Kenji Masahiro Makoto Satoshi Kazuo Akira Yoshio Koji Shinji Takeshi Hideki Noriko Yuko Keiko "
    "Masato Toru Kenichi Junichi Hiroyuki Naoki Tetsuya Kazuhiro"
)
_ROMANISED: Final = {
    **{
        "Lee": ("Yi", "Rhee", "Lee"),
        "Park": ("Pak", "Bak", "Park"),
        "Choi": ("Choe", "Choi"),
        "Jung": ("Jeong", "Chung"),
    },
    **{
        "Cho": ("Jo", "Cho"),
        "Yoo": ("Yu", "Yoo"),
        "Zhang": ("Chang", "Zhang"),
        "Xu": ("Hsu", "Xu"),
        "Zhou": ("Chou", "Zhou"),
    },
    **{"Ito": ("Itoh", "Ito"), "Sato": ("Satoh", "Sato"), "Kato": ("Katoh", "Kato"), "Saito": ("Saitoh", "Saito")},
    **{"Mueller": ("Müller", "Muller"), "Schroeder": ("Schröder", "Schroder"), "Koenig": ("König", "Konig")},
    **{"Petrov": ("Petroff", "Petrow"), "Kuznetsov": ("Kuznetzov", "Kusnezow")},
}
_LANGUAGES: Final = ("en", "zh", "ko", "de", "ja", "in", "fr", "nordic", "slavic", "es")
_HOMES: Final = {"zh": 5, "ko": 10, "de": 0, "ja": 11, "in": 6, "fr": 3, "nordic": 9, "slavic": 12, "es": 13, "en": 1}
_COUNTRIES: Final = ("DE", "US", "GB", "FR", "IT", "CN", "IN", "CA", "AU", "SE", "KR", "JP", "PL", "ES")
_KINDS: Final = (
    "Method for",
    "System and method for",
    "Apparatus for",
    "Process for producing",
    "Device with",
    "Improved",
)
_LEGAL: Final = (" Inc.", " Corporation", " GmbH", " Co., Ltd.", " AG", " LLC", " K.K.", " S.A.")


@dataclass(slots=True)
class _Employer:
    """A firm with its sites, as (city, state, country), and the names it files under."""

    title: str
    language: str
    sites: list[tuple[str, str, str]]
    also: tuple[str, ...]
    classes: list[str]


@dataclass(slots=True)
class _Inventor:
    """A person: names, language, home if it is not that of the site; ``born`` is the surname before a marriage in ``married``."""

    number: int
    given: str
    middle: str
    family: str
    language: str
    home: tuple[str, str, str] | None
    born: str = ""
    married: int = 9_999


@dataclass(slots=True)
class _Group:
    """Colleagues at a site of an employer who file together from a year on."""

    employer: _Employer
    site: tuple[str, str, str]
    members: list[_Inventor] = field(default_factory=list)
    topics: list[tuple[str, str]] = field(default_factory=list)
    start: int = 1_990


class _Names:
    """Given and family names by language, with the skew that registers have."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._rare = {
            language: [coined(dice) + dice.pick(("", "", "er", "i", "son")) for _ in range(4_000)]
            for language in _LANGUAGES
        }

    def given(self, language: str) -> str:
        dice = self._dice
        if language in _EAST:
            first, second = _EAST[language]
            if language == "zh" and dice.chance(0.45):
                return dice.skewed(first, 1.2)
            return f"{dice.pick(first)}-{dice.pick(second)}"
        return dice.skewed(_JAPANESE if language == "ja" else GIVEN[language], 1.5)

    def family(self, language: str) -> str:
        dice = self._dice
        rare = {"zh": 0.02, "ko": 0.02, "ja": 0.35, "in": 0.3}.get(language, 0.5)
        if dice.chance(rare):
            return self._rare[language][int(4_000 * dice.random() ** 2)]
        return dice.skewed(_FAMILIES.get(language) or SURNAMES[language], 2.0)


def _sites(dice: Dice, language: str, towns: Sequence[tuple[str, str, str]], count: int) -> list[tuple[str, str, str]]:
    home = _COUNTRIES[_HOMES[language]]
    near = [town for town in towns if town[2] == home] or list(towns)
    return [dice.skewed(near if dice.chance(0.75) else towns, 1.6) for _ in range(count)]


def _employers(dice: Dice, count: int) -> list[_Employer]:
    """The first are the largest."""
    towns: list[tuple[str, str, str]] = []
    for _ in range(max(60, count)):
        country = dice.skewed(_COUNTRIES, 1.2)
        towns.append((place(dice), dice.skewed(STATES, 1.5) if country == "US" else "", country))
    classes = [f"{letter}{n:02d}{sub}" for letter in "ABCGH" for n in range(1, 24) for sub in "BCDFK"]
    found: list[_Employer] = []
    for at in range(count):
        language, name, legal = dice.skewed(_LANGUAGES, 1.4), coined(dice), dice.pick(_LEGAL)
        also = (
            f"{name}{legal}",
            f"{name}{legal}".upper(),
            name,
            f"{name} {dice.pick(('Research', 'Electronics', 'IP Holdings'))}{legal}",
        )
        sites = _sites(dice, language, towns, dice.between(1, 3) if at > count // 20 else dice.between(3, 9))
        found.append(_Employer(name, language, sites, also, dice.sample(classes, 4 if at > count // 20 else 25)))
    return found


def _topic(dice: Dice, employer: _Employer) -> tuple[str, str]:
    subject = f"{dice.pick(NOUNS)} {dice.pick(('sensor', 'valve', 'circuit', 'polymer', 'catalyst', 'display', 'antenna', 'pump'))}"
    form = dice.random()
    if form < 0.15:
        title = subject.capitalize()  # as plain as titles of filings often are
    elif form < 0.7:
        title = (
            f"{dice.pick(_KINDS)} {dice.pick(('controlling', 'forming', 'testing', 'coating', 'coupling'))} a {subject}"
        )
    else:
        title = f"{dice.pick(_KINDS)} a {subject} by {dice.pick(METHODS)}"
    return title, dice.skewed(employer.classes, 1.5)


class _Office:
    """Writes filings as rows."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self.rows: list[Row] = []
        self._number = 0

    def file(self, group: _Group, team: Sequence[_Inventor], title: str, topic: str, year: int) -> None:
        """One filing: a row for each of the team."""
        dice, self._number = self._dice, self._number + 1
        style = dice.skewed((0, 1, 2, 3, 4), 1.4)  # an attorney writes all names of a filing alike
        names = [self._written(one, style, year) for one in team]
        owner = "" if dice.chance(0.06) else dice.skewed(group.employer.also, 1.7)
        shouted = style in (1, 3) and dice.chance(0.5)
        for at, one in enumerate(team):
            city, state, country = group.site if one.home is None else one.home
            city = typo(dice, city) if dice.chance(0.02) else city
            attrs = {
                "city": city.upper() if shouted else city,
                "state": state,
                "country": country,
                "assignee": owner,
                "technology_class": topic,
                "coinventors": "; ".join(name for k, name in enumerate(names) if k != at),
                "title": title.upper() if shouted else title,
                "year": str(year),
            }
            kept = {
                key: value
                for key, value in attrs.items()
                if value and (key in ("title", "year") or not dice.chance(0.03))
            }
            self.rows.append(Row(f"F{self._number:07d}-{at}", "filings", "person", names[at], kept, str(one.number)))

    def _written(self, one: _Inventor, style: int, year: int) -> str:
        dice, given, middle = self._dice, one.given, one.middle
        family = one.born if one.born and year < one.married else one.family
        if family in _ROMANISED and dice.chance(0.08):
            family = dice.pick(_ROMANISED[family])
        if "-" in given:
            first, second = given.split("-")
            forms = (given, given, f"{first} {second}", f"{first}{second.lower()}", f"{first}-{second.lower()}")
            given = dice.pick(forms)
        elif given in SHORT and dice.chance(0.06):
            given = dice.pick(SHORT[given])
        given = typo(dice, given) if dice.chance(0.01) and len(given) > 4 else given
        family = typo(dice, family) if dice.chance(0.012) and len(family) > 4 else family
        if dice.chance(0.03):
            given = ". ".join(part[0] for part in given.replace("-", " ").split()) + "."
        inner = "" if not middle or dice.chance(0.3) else middle if dice.chance(0.3) else f"{middle[0]}."
        if one.language in ("zh", "ko") and dice.chance(0.12):
            return f"{family} {given}"
        full = f"{given} {inner}".strip()
        if style == 1:
            return f"{family.upper()}, {full.upper()}"
        if style == 2:
            return f"{family}, {full}"
        return f"{full} {family}".upper() if style == 3 else f"{full} {family}"


def filings(dice: Dice, size: int, busy: int = 12) -> list[Row]:
    """``size`` mentions: of one person from one to hundreds, of one filing from one to nine; a group files some ``busy`` times."""
    names, office = _Names(dice), _Office(dice)
    employers = _employers(dice, max(12, size // 250))
    people: list[_Inventor] = []

    def hire(employer: _Employer, kin: _Inventor | None = None) -> _Inventor:
        """Somebody new, or another one of a family."""
        language = kin.language if kin else employer.language if dice.chance(0.6) else dice.skewed(_LANGUAGES, 1.2)
        given = names.given(language)
        while kin and given == kin.given:
            given = names.given(language)
        middle = names.given(language) if language in ("en", "de", "in", "nordic") and dice.chance(0.7) else ""
        home = dice.pick(employer.sites) if dice.chance(0.15) else None
        one = _Inventor(len(people), given, middle, kin.family if kin else names.family(language), language, home)
        if not kin and dice.chance(0.03):
            one.born, one.married = names.family(language), dice.between(1_992, 2_012)
        people.append(one)
        return one

    def gather(employer: _Employer) -> _Group:
        group = _Group(employer, dice.pick(employer.sites), start=dice.between(1_980, 2_012))
        for _ in range(dice.heavy(5, 16)):
            if people and dice.chance(0.12):
                group.members.append(dice.pick(people))  # from another group, often of another employer
                continue
            one = hire(employer)
            group.members.append(one)
            if dice.chance(0.05):  # a brother, a wife or a child in one group, at one address
                group.members.append(hire(employer, one))
        group.members = list({one.number: one for one in group.members}.values())
        group.topics = [_topic(dice, employer) for _ in range(dice.between(1, 5))]
        return group

    while len(office.rows) < size:
        group = gather(dice.skewed(employers, 3.0))
        year = group.start
        for _ in range(dice.heavy(busy, 15 * busy)):
            title, topic = dice.pick(group.topics)
            if dice.chance(0.55):
                title, topic = _topic(dice, group.employer)
                topic = dice.pick(group.topics)[1] if dice.chance(0.7) else topic
            year += dice.chance(2 / busy)
            team = dice.sample(group.members, dice.pick((1, 1, 2, 2, 3, 3, 4, 5, 6, 9)))
            office.file(group, team, title, topic, year)
            while dice.chance(0.12):  # a continuation: the same title, the same team, a year on
                year += dice.between(0, 1)
                office.file(group, team, title, topic, year)
    return dice.shuffled(office.rows[:size])
