"""``python -m benchmarks.worlds OUTDIR [--scale 1] [--only NAME …]``: labelled sets like those that matching meets.

Each world is one domain with the variants, gaps and near misses that its sources have in life; all of it is made up from
``benchmarks.vocabulary`` with a seed. A world is written as ``slowwave import entities`` reads it, with the gold in
``cluster_id``. ``--scale`` multiplies the rows of all worlds: ``--only inventors --scale 26.6`` makes 133,000 mentions.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.vocabulary import (
    ADJECTIVES,
    COLOURS,
    COUNTRIES,
    CUISINES,
    FIELDS,
    METHODS,
    NOUNS,
    PROBLEMS,
    PUBLISHERS,
    SETTINGS,
    SHORT,
    STATES,
    STREET_NAMES,
    VENUES,
    VERBS,
    Dice,
    People,
    address,
    coined,
    digit_slip,
    distinct,
    phone,
    phone_format,
    place,
    typo,
    unpunctuated,
)

COLUMNS: Final = ("id", "source", "entity_type", "name", "attrs", "cluster_id")


class Row(NamedTuple):
    """One line of a labelled set; ``attrs`` without empty values."""

    id: str
    source: str
    entity_type: str
    name: str
    attrs: Mapping[str, Any]
    cluster_id: str


class Listing:
    """Rows of one world as they are made; ids tell nothing of the clusters."""

    def __init__(self, dice: Dice, entity_type: str) -> None:
        self._dice, self._type = dice, entity_type
        self._rows: list[tuple[str, str, dict[str, Any], str]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, source: str, cluster: object, name: str, **attrs: Any) -> None:
        """One row; empty values are left out, as an exporter does."""
        kept = {key: value for key, value in attrs.items() if value not in (None, "", [])}
        self._rows.append((source, " ".join(name.split()) or "unknown", kept, str(cluster)))

    def rows(self) -> list[Row]:
        """All of them in an order of chance, numbered in it."""
        mixed = self._dice.shuffled(self._rows)
        return [
            Row(f"{source}-{at}", source, self._type, name, attrs, cluster)
            for at, (source, name, attrs, cluster) in enumerate(mixed)
        ]


def restaurants(dice: Dice, size: int) -> list[Row]:
    """Two guides with formats of their own. Near: chains, branches, two rooms of one hotel with one switchboard."""
    cities = [(place(dice), ()) for _ in range(6)] + [
        ("New Harrowgate", ("New Harrowgate City",)),
        ("Los Marisos", ("LA",)),
    ]
    names, out = People(dice, ("en", "fr", "es")), Listing(dice, "restaurant")
    kinds = (
        *("Cafe", "Grill", "Bistro", "Kitchen", "House", "Room"),
        *("Bar & Grill", "Restaurant", "Trattoria", "Diner", "Inn"),
    )

    def title() -> str:
        form = dice.random()
        if form < 0.25:
            return f"{dice.pick(names.name())}'s {dice.pick(kinds) if dice.chance(0.6) else ''}".strip()
        if form < 0.45:
            return f"{dice.pick(ADJECTIVES).title()} {dice.pick(NOUNS).title()} {dice.pick(kinds) if dice.chance(0.4) else ''}"
        if form < 0.6:
            return f"{dice.pick(('Le', 'La', 'Il', 'El', 'The', 'Cafe', 'Chez'))} {coined(dice)}"
        return f"{coined(dice)} {dice.pick(kinds) if dice.chance(0.5) else ''}".strip()

    def listed(
        venue: int, name: str, at: tuple[str, str], city: tuple[str, tuple[str, ...]], tel: str, kind: int
    ) -> None:
        cuisine = CUISINES[kind]
        form = dice.random()
        guides = (0, 1) if form < 0.28 else (0,) if form < 0.70 else (1,)
        for guide in guides:
            shown, where, number, label = name, at[guide], tel, cuisine[0]
            if guide == 1:
                shown = unpunctuated(shown) if dice.chance(0.3) else shown
                if dice.chance(0.2):
                    shown = shown.replace(" & ", " and ").replace("The ", "").replace("'s", "s")
                if dice.chance(0.1):
                    shown = f"{shown} of {city[0]}" if dice.chance(0.5) else f"{shown} Restaurant"
                if dice.chance(0.06):
                    shown = shown.split(" ")[0] if len(shown.split(" ")[0]) > 4 else typo(dice, shown)
                if dice.chance(0.2):
                    where += f" {dice.pick(('between', 'near', 'at'))} {dice.pick(STREET_NAMES)} {dice.pick(('Ave.', 'St.'))}"
                if dice.chance(0.05):
                    where = digit_slip(dice, where)
                if dice.chance(0.05):
                    number = digit_slip(dice, number) if dice.chance(0.5) else phone(dice)
                label = dice.pick(cuisine[1:]) if dice.chance(0.7) else dice.pick(CUISINES)[0]
            town = dice.pick(city[1]) if city[1] and dice.chance(0.3) else city[0]
            out.add(
                ("dinebook", "platefinder")[guide],
                venue,
                shown,
                address=where,
                city=town,
                phone="" if dice.chance(0.02) else phone_format(number, guide),
                cuisine=label,
            )

    venue = 0
    while len(out) < size:
        name, at, city, tel, kind = title(), address(dice), dice.skewed(cities, 1.3), phone(dice), dice.between(0, 11)
        listed(venue, name, at, city, tel, kind)
        venue += 1
        if dice.chance(0.06):  # a chain: one name, each branch with an address and a number of its own
            for _ in range(dice.between(1, 4)):
                elsewhere = dice.pick(cities) if dice.chance(0.5) else city
                listed(venue, name, address(dice), elsewhere, phone(dice), kind)
                venue += 1
        if dice.chance(0.02):  # the hotel's other room
            listed(venue, f"{name.split(' ')[0]} {dice.pick(kinds)} Terrace", at, city, tel, dice.between(0, 11))
            venue += 1
    return out.rows()


_GEAR: Final = tuple(
    tuple(tuple(form.strip() for form in part.split("|")) for part in line.split(";"))
    for line in """
    LCD TV | LCD HDTV | flat panel television; 32-Inch | 40-Inch | 46-Inch | 52-Inch; 1080p | 720p | 120Hz
    Digital Camera | digital still camera | compact camera; 8MP | 10.1MP | 12MP; 3x zoom | 5x zoom | image stabilised
    Headphones | stereo headset | over-ear headphones; | 40mm; noise cancelling | folding | neckband
    Dishwasher | built-in dishwasher | 24-inch dishwasher; 24-Inch | 18-Inch; 4 wash cycles | energy rated | quiet
    Home Theater System | home cinema | surround system; 5.1 | 7.1; 300W | wireless rear | HDMI
    Laser Printer | mono laser printer | network printer; | A4; duplex | 28 ppm | 600 dpi
    Car Speaker | coaxial speakers | 2-way speaker; 6.5-Inch | 6x9-Inch; 220W | pair | silk dome
    Cordless Phone | DECT phone | expandable phone system; | 2 handsets; caller id | answering | 5.8 GHz
    Refrigerator | side-by-side fridge | counter-depth refrigerator; 22 cu. ft. | 26 cu. ft.; ice maker | filter
    GPS Navigator | portable navigation | sat nav; 3.5-Inch | 4.3-Inch; text-to-speech | lane guide | traffic
    Microwave Oven | countertop microwave | over-the-range microwave; 1.2 cu. ft. | 1.6 cu. ft.; sensor | 1100W
    Memory Card | flash memory | SD card; 2GB | 4GB | 8GB; class 4 | high speed | with adapter
    """.strip().splitlines()
)
"""What shops sell: its names, its sizes, its features."""
_REMOTE: Final = (("Remote Control", "replacement remote", "remote"), ("",), ("genuine", "universal"))


def products(dice: Dice, size: int) -> list[Row]:
    """Two shops. Near: the next size, colour or generation of a series, and what is sold for a model, naming it."""
    brands, out = distinct(coined, dice, 26), Listing(dice, "product")
    lines = {brand: distinct(coined, dice, 3) for brand in brands}

    def price(of: float) -> str:
        return f"${of:,.2f}" if dice.chance(0.7) else f"{of:.2f}"

    def sell(
        item: int, brand: str, model: str, gear: tuple[tuple[str, ...], ...], amount: str, colour: str, cost: float
    ) -> None:
        form, line = dice.random(), dice.pick(lines[brand])
        titles, _, features = gear
        extras = dice.sample(features, 2)
        if form < 0.82:
            code = model if dice.chance(0.8) else model.replace("-", "")
            title = f"{brand} {line if dice.chance(0.4) else ''} {amount.replace('-Inch', chr(39) * 2)} {colour} {titles[0]} - {code}"
            about = (
                f"{brand} {titles[1]} {code}/ {'/ '.join(extras)}/ {amount}/ {colour} Finish"
                if dice.chance(0.9)
                else ""
            )
            out.add("voltmart", item, title, description=about, price=price(cost) if dice.chance(0.6) else "")
        for _ in range((form < 0.64 or form >= 0.82) + (form < 0.03)):
            code = model
            if dice.chance(0.35):
                code = model.replace("-", dice.pick(("", " "))) if dice.chance(0.7) else model.split("/")[0]
            named = dice.chance(0.92)
            words = [
                brand,
                code if named else line,
                amount,
                dice.pick(titles),
                f"({colour})" if dice.chance(0.4) else "",
            ]
            title = " ".join(words if dice.chance(0.7) else [words[0], *words[2:4], words[1]])
            about = "" if dice.chance(0.45) else f"{dice.pick(extras)} {dice.pick(titles[1:])}"
            about = about if named or not about else f"{about} {model}"
            shown = brand if dice.chance(0.5) else ""
            asked = cost * dice.normal(0.93, 0.1)
            out.add(
                "gadgetbay",
                item,
                title.lower() if dice.chance(0.15) else title,
                description=about,
                price=price(asked) if dice.chance(0.5) else "",
                manufacturer=shown,
            )

    item = 0
    while len(out) < size:
        brand, gear = dice.skewed(brands, 1.5), dice.pick(_GEAR)
        letters = "".join(dice.sample("ABCDEFGHKLMNPRSTVX", dice.between(2, 3)))
        number, tail = dice.between(10, 990) * dice.pick((1, 10)), dice.pick(("", "", "", "B", "S", "X", "W/US", "/37"))
        cost, amounts = float(dice.between(20, 1_900)), gear[1]
        for step in range(dice.pick((1, 1, 1, 2, 3))):
            change, amount, colour = dice.random(), amounts[step % len(amounts)], dice.skewed(COLOURS, 2)
            model = f"{letters}-{number}{tail}"
            if step and change < 0.4:
                number += dice.pick((1, 2, 5, 10))
                model = f"{letters}-{number}{tail}"
            elif step:
                model = f"{letters}-{number}{'CDW'[step]}"
                amount = amounts[0]
            sell(item, brand, model, gear, amount, colour, cost * (1 + 0.15 * step))
            item += 1
        if dice.chance(0.04):
            sell(item, brand, f"RM-{dice.between(100, 999)}", _REMOTE, f"for {letters}-{number}{tail}", "Black", 24.0)
            item += 1
    return out.rows()


def software(dice: Dice, size: int) -> list[Row]:
    """Two sellers of packaged software; makers often missing. Near: the next version, edition, platform, an upgrade."""
    makers, out = distinct(coined, dice, max(30, size // 15)), Listing(dice, "product")
    sold: set[tuple[str, ...]] = set()
    kinds = (
        *("photo editor", "tax deluxe", "antivirus", "office suite", "video studio", "typing tutor", "language course"),
        *("accounting", "backup", "chess", "web designer", "music maker", "encyclopedia", "family tree", "print shop"),
    )
    editions = ("", "", "standard", "professional", "home", "premium", "student edition", "small business")
    brands = {maker: [f"{coined(dice)} {dice.pick(kinds)}" for _ in range(4)] for maker in makers}

    def sell(item: int, maker: str, name: str, version: str, edition: str, extra: str, cost: float) -> None:
        if (name, version, edition, extra) in sold:
            return
        sold.add((name, version, edition, extra))
        form = dice.random()
        platform = dice.pick(("win", "mac", "win/mac", ""))
        if form < 0.72:
            title = f"{maker if dice.chance(0.5) else ''} {name} {version} {edition} {extra}"
            about = f"{name} {version} {edition}: {dice.pick(ADJECTIVES)} {dice.pick(NOUNS)} tools {platform}"
            out.add(
                "boxware",
                item,
                title,
                description=about if dice.chance(0.85) else "",
                manufacturer=maker,
                price=f"{cost:.2f}" if dice.chance(0.95) else "0",
            )
        for _ in range((form < 0.46 or form >= 0.72) + (form < 0.05)):
            shown = edition.replace("professional", "pro") if dice.chance(0.5) else edition
            parts = [maker if dice.chance(0.7) else "", name, version, shown if dice.chance(0.85) else "", extra]
            parts = [*parts[1:4], parts[0]] if dice.chance(0.1) and not extra else parts
            if dice.chance(0.25):
                parts.insert(0, f"{dice.between(10_000_000, 99_999_999)}{dice.pick(('dm', 'ai', 'pc'))}")
            if dice.chance(0.3):
                parts.append(dice.pick(("(pc)", "complete product", "windows", "cd-rom", "software", "1 user")))
            out.add(
                "softshelf",
                item,
                " ".join(parts).lower(),
                description=""
                if dice.chance(0.4)
                else f"{dice.pick(('system requirements', 'box pack', 'new'))} {name}",
                manufacturer=maker.lower() if dice.chance(0.15) else "",
                price=f"{cost * dice.normal(0.9, 0.12):.2f}",
            )

    item = 0
    while len(out) < size:
        maker = dice.skewed(makers, 1.4)
        name, cost = dice.pick(brands[maker]), float(dice.between(10, 600))
        version = dice.pick(
            (f"{dice.between(2, 12)}.0", f"{dice.between(2, 12)}", str(dice.between(2004, 2008)), "", "xi", "cs3")
        )
        edition = dice.pick(editions)
        sell(item, maker, name, version, edition, "", cost)
        if dice.chance(0.35):
            item += 1
            other = version
            if version[:1].isdigit() and dice.chance(0.6):
                other = str(float(version) + 1) if "." in version else str(int(version) + 1)
            extra = "" if other != version else dice.pick(("upgrade", "for mac", "5 user", "family pack", "add-on"))
            sell(item, maker, name, other, edition, extra, cost * 1.1)
        item += 1
    return out.rows()


def _topic(dice: Dice) -> str:
    problem, method, setting = dice.pick(PROBLEMS), dice.pick(METHODS), dice.pick(SETTINGS)
    form = dice.random()
    if form < 0.35:
        return f"{coined(dice)}: {method} for {problem} {setting}".capitalize()
    if form < 0.6:
        return f"{method} for {problem} {setting}".capitalize()
    if form < 0.8:
        return f"{problem} {setting} using {method}".capitalize()
    return f"{dice.pick(('Towards', 'Rethinking', 'On', 'Optimizing'))} {problem} {setting}: {method}"


def _initials(given: str) -> str:
    return ". ".join(part[0] for part in given.split()) + "."


def _authors(dice: Dice, names: Iterable[tuple[str, str]], style: int) -> str:
    forms = (
        lambda given, last: f"{given} {last}",
        lambda given, last: f"{_initials(given)} {last}",
        lambda given, last: f"{last}, {_initials(given)}",
        lambda given, last: f"{given[0]} {last}",
    )
    return (", ", ", ", " and ", ", ")[style].join(forms[style](given, last) for given, last in names)


class Paper(NamedTuple):
    """What a paper is, before anybody cites it."""

    title: str
    authors: list[tuple[str, str]]
    venue: int
    year: int


def _papers(dice: Dice, n: int) -> list[Paper]:
    """n papers; near: a journal version of the same title, part II, the same team's next problem, a yearly editorial."""
    names = People(dice, ("en", "de", "zh", "in", "fr"), rare=0.3)
    crowd = [names.name() for _ in range(max(40, n))]
    made: list[Paper] = []
    while len(made) < n:
        team = [dice.skewed(crowd, 1.6) for _ in range(dice.pick((1, 2, 2, 3, 3, 4, 6)))]
        paper = Paper(_topic(dice), team, dice.between(0, len(VENUES) - 1), dice.between(1990, 2006))
        made.append(paper)
        form = dice.random()
        if form < 0.012:
            made.append(paper._replace(venue=(paper.venue + 2) % len(VENUES), year=paper.year + dice.between(1, 2)))
        elif form < 0.045:
            made[-1] = paper._replace(title=f"{paper.title}, Part I")
            made.append(paper._replace(title=f"{paper.title}, Part II"))
        elif form < 0.12:
            other = paper.title.replace(dice.pick(("for", "in", "using")), dice.pick(("beyond", "for", "with")), 1)
            swapped = next((p for p in PROBLEMS if p in paper.title.lower()), "")
            title = (
                paper.title.replace(swapped, dice.pick([p for p in PROBLEMS if p != swapped]))
                if swapped in paper.title
                else f"{other} revisited"
            )
            made.append(paper._replace(title=title, year=paper.year + dice.between(0, 2)))
        elif form < 0.135:
            head = dice.pick(
                (
                    "Editorial",
                    "Guest editorial",
                    "Message from the program chairs",
                    "Reminiscences on influential papers",
                )
            )
            for year in range(paper.year, paper.year + 3):
                made.append(Paper(head, [dice.skewed(crowd, 1.6)], paper.venue, year))
    return made[:n]


def papers(dice: Dice, size: int) -> list[Row]:
    """A clean bibliography and a scholarly search engine: initials, venues by any name, years and tails often missing."""
    out = Listing(dice, "paper")
    for number, paper in enumerate(_papers(dice, size)):
        venue, form = VENUES[paper.venue], dice.random()
        if form < 0.55:
            out.add(
                "bibliography",
                number,
                paper.title,
                authors=_authors(dice, paper.authors, 0),
                venue=venue[1],
                year=str(paper.year),
            )
        found = (form < 0.42) + (form >= 0.55)
        while found and dice.chance(0.25) and found < 6:
            found += 1
        for _ in range(found):
            title = unpunctuated(paper.title) if dice.chance(0.15) else paper.title
            title = title[: dice.between(35, 60)] + (" ..." if dice.chance(0.5) else "") if dice.chance(0.08) else title
            title = typo(dice, title) if dice.chance(0.08) else title
            team = paper.authors if dice.chance(0.85) else paper.authors[: max(1, len(paper.authors) - 2)]
            where = "" if dice.chance(0.25) else dice.pick(venue).format(n=paper.year - 1987, yy=paper.year % 100)
            when = paper.year if dice.chance(0.95) else paper.year + dice.pick((-1, 1))
            out.add(
                "scholarly",
                number,
                title,
                authors=_authors(dice, team, dice.pick((1, 1, 1, 3, 2))),
                venue=where[: dice.between(8, 24)] + "..." if len(where) > 24 and dice.chance(0.4) else where,
                year="" if dice.chance(0.45) else str(when),
            )
        if len(out) >= size:
            break
    return out.rows()


def citations(dice: Dice, size: int) -> list[Row]:
    """Reference lists as a machine cut them: many mentions of few papers, every field noisy or in the wrong place."""
    out = Listing(dice, "citation")
    for number, paper in enumerate(_papers(dice, max(30, size // 4))):
        venue, first = VENUES[paper.venue], dice.between(1, 700)
        pages, volume, publisher = (first, first + dice.between(5, 30)), dice.between(3, 40), dice.pick(PUBLISHERS)
        for _ in range(dice.heavy(9.5, 120)):
            title = paper.title if dice.chance(0.5) else unpunctuated(paper.title)
            for _ in range(dice.pick((0, 0, 0, 1, 1, 2))):
                title = typo(dice, title)
            title = f"({paper.year}) {title}" if dice.chance(0.04) else title
            team = _authors(dice, paper.authors, dice.pick((0, 1, 2, 2, 3)))
            out.add(
                "references",
                number,
                f"{title}." if dice.chance(0.4) else title,
                authors=typo(dice, team) if dice.chance(0.1) else team,
                venue="" if dice.chance(0.15) else dice.pick(venue).format(n=paper.year - 1987, yy=paper.year % 100),
                year="" if dice.chance(0.12) else str(paper.year + (dice.chance(0.04) and 1)),
                pages="" if dice.chance(0.4) else dice.pick(("{}-{}", "pp. {}--{}", "pages {}-{},")).format(*pages),
                volume=str(volume) if dice.chance(0.35) else "",
                publisher=publisher if dice.chance(0.25) else "",
            )
        if len(out) >= size:
            break
    return out.rows()[:size]


def music(dice: Dice, size: int) -> list[Row]:
    """Five libraries of tracks. Near: tracks of one album, live and remix versions, covers, the track on a compilation."""
    names, out, track = People(dice, ("en", "de", "es", "nordic")), Listing(dice, "song"), 0

    def words() -> str:
        form = dice.random()
        if form < 0.35:
            return f"{dice.pick(ADJECTIVES)} {dice.pick(NOUNS)}"
        if form < 0.6:
            return f"{dice.pick(NOUNS)} {dice.pick(('of the', 'in the', 'and', 'without a'))} {dice.pick(NOUNS)}"
        if form < 0.8:
            return f"{dice.pick(VERBS)} {dice.pick(('in the', 'with the', 'through', 'for the'))} {dice.pick(NOUNS)}"
        return dice.pick((*NOUNS, coined(dice)))

    def written(source: int, title: str, artist: str, album: str, year: int, seconds: int, number: int) -> None:
        minutes, rest, language = seconds // 60, seconds % 60, dice.skewed(("English", "German", "Spanish"), 3)
        shown = (title, f"{number:03d}-{title}", f"{artist} - {title}", title.lower(), f"{title} - {album}")[source]
        length = (
            f"{seconds}000",
            f"{seconds}",
            f"{minutes}:{rest:02d}",
            f"{minutes}m {rest:02d}sec",
            f"{seconds / 60:.3f}",
        )[source]
        at = (f"{number}", f"{number:02d}", f"{number}", f"{number}", f"{number}/{number + 4}")[source]
        when = f"'{year % 100:02d}" if source in (2, 3) else str(year)
        language = (language, language, language, language[:3], language[:2].lower())[source]
        performer = "" if source == 2 else artist
        shown = typo(dice, shown) if dice.chance(0.12) else shown
        performer = typo(dice, performer) if performer and dice.chance(0.08) else performer
        out.add(
            f"library{source + 1}",
            track,
            shown,
            artist="" if dice.chance(0.04) else performer,
            album="" if dice.chance(0.08) else typo(dice, album) if dice.chance(0.08) else album,
            year="" if dice.chance(0.12) else when,
            length="" if dice.chance(0.08) else length,
            number=at if dice.chance(0.92) else "",
            language=language if dice.chance(0.8) else "",
        )

    while len(out) < size:
        artist = f"The {dice.pick(NOUNS).title()}s" if dice.chance(0.3) else " ".join(names.name())
        album, year = words().title(), dice.between(1965, 2015)
        titles = distinct(lambda _: words().title(), dice, dice.between(1, 4))
        if dice.chance(0.12):
            titles.append(
                f"{titles[0]} ({dice.pick(('Live', 'Acoustic', 'Radio Edit', 'Extended Remix', 'Instrumental'))})"
            )
        released = [(title, artist, album, year) for title in titles]
        if dice.chance(0.06):
            released.append((titles[0], artist, dice.pick(("Greatest Hits", f"The Best of {artist}")), year + 4))
        if dice.chance(0.05):
            released.append((titles[0], " ".join(names.name()), words().title(), year + dice.between(2, 20)))
        for title, performer, record, when in released:
            seconds, number = dice.between(130, 420), dice.between(1, 16)
            for source in dice.sample(range(5), dice.pick((1, 1, 1, 1, 2, 2, 3, 4, 5))):
                written(source, title, performer, record, when, seconds, number)
            track += 1
    return out.rows()


def _birth(dice: Dice) -> tuple[int, int, int]:
    return dice.between(1915, 2002), dice.between(1, 12), dice.between(1, 28)


def people(dice: Dice, size: int) -> list[Row]:
    """A register of residents with up to four further copies a person. Near: families at one address, twins, namesakes."""
    names, out, person = People(dice, ("en", "de", "es")), Listing(dice, "person"), 0
    towns = [(place(dice), f"{dice.between(1_000, 8_999)}", dice.pick(STATES).lower()) for _ in range(120)]

    def copies(given: str, last: str, where: str, town: tuple[str, str, str], birth: tuple[int, int, int]) -> None:
        number = phone(dice)
        for copy in range(dice.pick((1, 1, 1, 1, 2, 2, 2, 3, 4, 5))):
            first, second, street, born, tel, city = (
                given,
                last,
                where,
                "{:04d}{:02d}{:02d}".format(*birth),
                number,
                town[0],
            )
            if copy:
                for _ in range(dice.pick((1, 1, 2, 2, 3))):
                    field, nick = dice.between(0, 8), SHORT.get(given)
                    if field == 0:
                        first = typo(dice, first)
                    elif field == 1:
                        second = typo(dice, second)
                    elif field == 2:
                        street = typo(dice, digit_slip(dice, street)) if dice.chance(0.7) else address(dice)[0]
                    elif field == 3:
                        born = digit_slip(dice, born) if dice.chance(0.7) else ""
                    elif field == 4:
                        tel = digit_slip(dice, tel) if dice.chance(0.5) else phone(dice)
                    elif field == 5:
                        city = typo(dice, city)
                    elif field == 6 and nick:
                        first = dice.pick(nick)
                    elif field == 7:
                        first, second = second, first
                    elif field == 8 and dice.chance(0.4):
                        first = ""
            out.add(
                "register",
                person,
                f"{first} {second}".lower(),
                street=street.lower(),
                suburb="" if dice.chance(0.03) else city.lower(),
                postcode=""
                if dice.chance(0.03)
                else digit_slip(dice, town[1])
                if copy and dice.chance(0.08)
                else town[1],
                state="" if dice.chance(0.05) else town[2],
                date_of_birth="" if dice.chance(0.06) else born,
                phone="" if dice.chance(0.15) else tel,
            )

    while len(out) < size:
        (given, last), where, town, birth = names.name(), address(dice)[0], dice.skewed(towns, 1.5), _birth(dice)
        copies(given, last, where, town, birth)
        person += 1
        if dice.chance(0.12):  # a family, in one house; one in five of the siblings is a twin
            for _ in range(dice.between(1, 2)):
                copies(names.name()[0], last, where, town, birth if dice.chance(0.2) else _birth(dice))
                person += 1
        if dice.chance(0.04):  # the namesake, born in another year in another town
            copies(given, last, address(dice)[0], dice.skewed(towns, 1.5), _birth(dice))
            person += 1
    return out.rows()


def births(dice: Dice, size: int) -> list[Row]:
    """Names and the three parts of a birth date, nothing else; a tenth are copies with an error. Near: chance agreement."""
    names, out, person = People(dice, ("de", "de", "en"), rare=0.25), Listing(dice, "person"), 0
    while len(out) < size:
        (given, last), (year, month, day) = names.name(), _birth(dice)
        for copy in range(2 if dice.chance(0.11) else 1):
            parts = [given.upper(), last.upper(), str(year), str(month), str(day)]
            if copy:
                for at in dice.sample(range(5), dice.pick((1, 1, 1, 2))):
                    parts[at] = typo(dice, parts[at]) if at < 2 else digit_slip(dice, parts[at])
            out.add(
                "registry",
                person,
                " ".join([parts[0], *(["KARL"] if dice.chance(0.01) else []), parts[1]]),
                birth_year=parts[2],
                birth_month=parts[3],
                birth_day=parts[4],
            )
        person += 1
    return out.rows()


def organisations(dice: Dice, size: int) -> list[Row]:
    """Affiliations as authors write them, name only: departments, places and abbreviations around one institution."""
    out, institution = Listing(dice, "organization"), 0
    short = {
        **{
            "University": "Univ.",
            "Department": "Dept.",
            "Institute": "Inst.",
            "Technology": "Tech.",
            "Laboratory": "Lab.",
        },
        **{
            "Laboratories": "Labs",
            "Science": "Sci.",
            "Engineering": "Eng.",
            "International": "Int'l",
            "Research": "Res.",
        },
    }

    def mentions(
        title: str, aka: tuple[str, ...], town: str, country: tuple[str, str], state: str, company: bool
    ) -> None:
        for _ in range(dice.heavy(4, 60)):
            shown = dice.pick(aka) if aka and dice.chance(0.15) else title
            if company:
                parts = [shown if dice.chance(0.7) else f"{shown} {dice.pick(('Inc.', 'Inc', 'Corporation', 'Corp.'))}"]
            else:
                unit = dice.random()
                field = dice.pick(FIELDS)
                front = [f"Department of {field}"] if unit < 0.3 else [f"School of {field}"] if unit < 0.36 else []
                parts = [*front, shown] if dice.chance(0.85) else [shown, *front]
            form = dice.random()
            if form < 0.55:
                parts.append(town)
            if form < 0.2:
                parts.append(state)
            if form < 0.45 or dice.chance(0.05):
                parts.append(dice.pick(country))
            text = (", " if dice.chance(0.9) else " ").join(parts)
            for word, less in short.items():
                if dice.chance(0.25):
                    text = text.replace(word, less)
            out.add("affiliations", institution, typo(dice, text) if dice.chance(0.04) else text)

    while len(out) < size:
        town, country, state = place(dice), dice.skewed(COUNTRIES, 1.5), dice.pick(STATES)
        if dice.chance(0.3):
            name = coined(dice)
            mentions(
                f"{name} Research Laboratories",
                (f"{name} Labs", f"{name} Research"),
                town,
                country,
                state,
                company=True,
            )
            institution += 1
            if dice.chance(0.4):
                mentions(
                    f"{name} {dice.pick(('Systems', 'Semiconductor', 'Logistics'))}",
                    (),
                    place(dice),
                    country,
                    state,
                    company=True,
                )
                institution += 1
            continue
        initials = f"U{town[0]}" if dice.chance(0.3) else f"{town} Univ."
        mentions(
            f"University of {town}",
            (initials, f"{town} University") if dice.chance(0.4) else (),
            town,
            country,
            state,
            company=False,
        )
        institution += 1
        for other in dice.sample(
            ("{} State University", "{} Institute of Technology", "{} Medical School", "University of {} at Northport"),
            4,
        ):
            if dice.chance(0.18):
                tech = (f"{town[0]}IT",) if "Institute" in other else ()
                mentions(other.format(town), tech, town, country, state, company=False)
                institution += 1
    return out.rows()


def inventors(dice: Dice, size: int) -> list[Row]:
    """Mentions on patents: people with careers, teams and moves. Many share a very common name; colleagues share the rest."""
    names = People(dice, ("zh", "en", "de", "in", "nordic"), rare=0.12)
    firms = [
        (coined(dice), dice.pick((" Inc.", " Corporation", " GmbH", " Co., Ltd.", " AG")))
        for _ in range(max(30, size // 60))
    ]
    towns = [(place(dice), dice.pick(STATES)) for _ in range(max(25, size // 150))]
    classes = [
        f"{letter}{dice.between(1, 99):02d}{sub}" for letter in "ABCDEFGH" for sub in "BCDFGHK" for _ in range(2)
    ]
    rows: list[Row] = []
    teams: list[list[tuple[str, str, str, int]]] = []  # members: given, middle, surname, number
    person = patent = 0
    while len(rows) < size:
        if not teams or dice.chance(0.3):
            members = []
            for _ in range(dice.between(2, 7)):
                given, last = names.name()
                members.append((given, dice.pick("ABCDEFGHJKLMPRSTW") if dice.chance(0.5) else "", last, person))
                person += 1
            if len(teams) > 5 and dice.chance(0.35):  # somebody comes from another team: a new firm, town and company
                members.append(dice.pick(dice.pick(teams)))
            teams.append(members)
        at = int(len(teams) * dice.random() ** 0.8)
        team, luck = teams[at], Dice("team", at, len(firms))
        firm, home, topics = luck.skewed(firms, 1.6), luck.skewed(towns, 1.4), luck.sample(classes, 3)
        start = luck.between(1978, 2008)
        for _ in range(dice.heavy(4, 60)):
            year, topic = start + dice.between(0, 12), dice.skewed(topics, 1.6)
            here = dice.sample(team, max(1, min(len(team), dice.pick((1, 2, 2, 3, 3, 4, 6)))))
            owner = firm[0] + firm[1]
            owner = dice.pick(
                (owner, owner.upper(), firm[0], f"{firm[0]} Technologies{firm[1]}" if at % 7 == 0 else owner)
            )
            written = []
            for given, middle, last, number in here:
                form, first = dice.random(), given
                if form < 0.05:
                    first = dice.pick(SHORT[given]) if given in SHORT else given[0] + "."
                elif form < 0.07:
                    first = typo(dice, given)
                inner = f" {middle}." if middle and dice.chance(0.75) else ""
                written.append((f"{first}{inner} {typo(dice, last) if dice.chance(0.015) else last}", number))
            for seq, (shown, number) in enumerate(written):
                town = home if number % 5 < 3 else towns[number % len(towns)]  # others live elsewhere
                attrs = {
                    "assignee": "" if dice.chance(0.08) else owner,
                    "city": town[0],
                    "state": town[1],
                    "coinventors": [name for name, other in written if other != number],
                    "patent_class": topic,
                    "year": str(year),
                }
                kept = {key: value for key, value in attrs.items() if value not in ("", [])}
                rows.append(Row(f"P{patent:07d}-{seq}", "patents", "inventor", shown, kept, str(number)))
            patent += 1
    return dice.shuffled(rows[:size])


_TRADES: Final = (
    "data engineer",
    "designer",
    "accountant",
    "nurse",
    "teacher",
    "product manager",
    "lawyer",
    "cook",
    "pilot",
)
_TOOLS: Final = (
    "message broker",
    "query engine",
    "feature store",
    "log shipper",
    "build tool",
    "vector index",
    "scheduler",
)


def memories(dice: Dice, size: int) -> list[Row]:
    """What an agent extracted from talk: people, companies, tools, projects, places. Near: versions, namesakes, families."""
    names, number = People(dice, ("en", "en", "es", "de")), 0
    lists = {
        kind: Listing(Dice("memories", kind), kind) for kind in ("person", "organization", "tool", "project", "place")
    }

    def add(kind: str, cluster: object, forms: list[str], says: list[str], **attrs: str) -> None:
        for copy in range(dice.pick((1, 1, 1, 2, 2, 3, 4))):
            shown = forms[0] if not copy or dice.chance(0.4) else dice.pick(forms)
            shown = typo(dice, shown) if copy and dice.chance(0.08) else shown
            some = {key: value for key, value in attrs.items() if dice.chance(0.55)}
            lists[kind].add("agent", cluster, shown, description=dice.pick(says) if dice.chance(0.8) else "", **some)

    while sum(map(len, lists.values())) < size:
        form, number = dice.random(), number + 1
        if form < 0.35:
            (given, last), trade, firm = names.name(), dice.pick(_TRADES), coined(dice)
            forms = [
                f"{given} {last}",
                f"{given} {last}",
                f"{last}, {given}",
                f"{given} {last}".lower(),
                f"{given[0]}. {last}",
            ]
            forms += [f"{short} {last}" for short in SHORT.get(given, ())]
            mail = f"{given}.{last}@{firm}.example".lower()
            says = [f"{trade} at {firm}", f"works at {firm} as a {trade}", f"{trade}, {firm}", f"{firm} {trade}"]
            add("person", number, forms, says, email=mail, employer=firm, role=trade)
            if dice.chance(0.08):
                other, where = dice.pick(_TRADES), coined(dice)
                address_ = f"{given}.{last}@{where}.example".lower()
                add(
                    "person",
                    f"{number}n",
                    forms[:2],
                    [f"{other} at {where}"],
                    email=address_,
                    employer=where,
                    role=other,
                )
            elif dice.chance(0.1):
                sibling = names.name()[0]
                add(
                    "person",
                    f"{number}s",
                    [f"{sibling} {last}"],
                    [f"{given} {last}'s sister", f"sibling of {given}"],
                    employer=firm,
                )
        elif form < 0.55:
            stem, trade, town = (
                coined(dice),
                dice.pick(("Logistics", "Foods", "Health", "Analytics", "Energy")),
                place(dice),
            )
            full = f"{stem} {trade}"
            forms = [
                full,
                f"{full} Inc.",
                f"{full}, Inc",
                full.upper(),
                f"{stem.lower()} {trade.lower()}",
                f"{stem}{trade}",
            ]
            says = [f"{trade.lower()} company in {town}", f"company from {town}", f"vendor of {trade.lower()}"]
            add("organization", number, forms, says, website=f"https://{stem.lower()}.example", city=town)
            if dice.chance(0.2):
                sister = dice.pick(("Holding", "Capital", "Foundation", "Europe", "Ventures"))
                add(
                    "organization",
                    f"{number}h",
                    [f"{stem} {sister}", f"{stem} {sister}".upper()],
                    [f"part of the {stem} group"],
                    city=town,
                )
        elif form < 0.75:
            stem, kind = coined(dice), dice.pick(_TOOLS)
            forms = [stem, stem.lower(), f"{stem}DB" if "engine" in kind else stem.upper(), f"{stem} {kind}"]
            add(
                "tool",
                number,
                forms[: 3 - ("engine" not in kind)] if dice.chance(0.7) else forms,
                [f"open source {kind}", f"a {kind}"],
                license="Apache-2.0",
            )
            if dice.chance(0.25):
                for version in (dice.between(2, 8), dice.between(9, 15)):
                    add(
                        "tool",
                        f"{number}v{version}",
                        [f"{stem} {version}", f"{stem} v{version}"],
                        [f"version {version} of {stem}"],
                    )
            if dice.chance(0.1):
                add("tool", f"{number}x", [f"{stem}Script", f"{stem}script"], [f"language next to {stem}"])
        elif form < 0.9:
            topic, year = f"{dice.pick(ADJECTIVES).title()} {coined(dice)}", dice.between(2019, 2026)
            forms = [f"Project {topic}", topic, f"project {topic.lower()}", f"{topic} project"]
            add(
                "project",
                number,
                forms,
                [f"started in {year}", f"project of {year}", "internal project"],
                started=str(year),
            )
            if dice.chance(0.25):
                add(
                    "project",
                    f"{number}b",
                    [f"Project {topic} {dice.pick(('2', 'II', 'Phase 2'))}"],
                    ["follow-up project"],
                    started=str(year + 1),
                )
        else:
            town, country = place(dice), dice.pick(COUNTRIES)
            add(
                "place",
                number,
                [town, f"{town}, {country[0]}", town.upper(), f"City of {town}"],
                [f"town in {country[0]}"],
                country=country[0],
            )
            if dice.chance(0.3):
                add(
                    "place",
                    f"{number}e",
                    [f"{dice.pick(('East', 'New', 'Upper'))} {town}"],
                    [f"suburb near {town}"],
                    country=country[0],
                )
    return [row for listing in lists.values() for row in listing.rows()]


WORLDS: Final[Mapping[str, tuple[Callable[[Dice, int], list[Row]], int]]] = {
    "restaurants": (restaurants, 900),
    "products": (products, 2_200),
    "software": (software, 2_500),
    "papers": (papers, 4_500),
    "citations": (citations, 1_300),
    "music": (music, 5_000),
    "people": (people, 5_000),
    "births": (births, 5_000),
    "organisations": (organisations, 2_200),
    "inventors": (inventors, 5_000),
    "memories": (memories, 3_000),
}
"""World → its maker and its rows at scale 1 (about: the last cluster is finished, inventors and citations are exact)."""


def make(world: str, scale: float = 1.0, seed: int = 7) -> list[Row]:
    """The rows of one world; ids are distinct, in an order that tells nothing. The same arguments make the same rows."""
    maker, size = WORLDS[world]
    rows = maker(Dice(world, seed), max(40, round(size * scale)))
    return [row._replace(id=f"{row.entity_type}-{row.id}") for row in rows] if world == "memories" else rows


def write(rows: Iterable[Row], path: Path) -> None:
    """As CSV (``.csv`` or ``.csv.gz``), the same bytes for the same rows."""
    text = io.StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    lines.writerows((*row[:4], json.dumps(row.attrs, ensure_ascii=False), row.cluster_id) for row in rows)
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def main() -> None:
    """Write all worlds, or those that are named, into a folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worlds", description=__doc__)
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", nargs="+", choices=list(WORLDS), default=list(WORLDS), metavar="NAME")
    given = parser.parse_args()
    given.outdir.mkdir(parents=True, exist_ok=True)
    for world in given.only:
        rows = make(world, given.scale)
        write(rows, given.outdir / f"{world}.csv")
        print(f"{world}: {len(rows):,} rows of {len({row.cluster_id for row in rows}):,} entities")


if __name__ == "__main__":
    main()
