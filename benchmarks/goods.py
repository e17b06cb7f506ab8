"""The worlds of restaurants, products and software, as guides and shops list them."""

from __future__ import annotations

from typing import Final

from benchmarks.listings import Listing, Row
from benchmarks.vocabulary import (
    ADJECTIVES,
    COLOURS,
    CUISINES,
    NOUNS,
    STREET_NAMES,
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
