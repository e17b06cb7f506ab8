"""The worlds of tools, suppliers and albums: a trade catalogue, an accounts ledger, record collections."""

from __future__ import annotations

from typing import Final

from benchmarks.listings import Listing, Row
from benchmarks.vocabulary import (
    ADJECTIVES,
    Dice,
    People,
    address,
    coined,
    distinct,
    phone,
    place,
    typo,
)

_TOOLS: Final = tuple(
    tuple(tuple(form.strip() for form in part.split("|")) for part in line.split(";"))
    for line in """
    cordless drill driver | combi drill | akkuschrauber; 12V | 18V; brushless | keyless chuck | LED light
    angle grinder | disc grinder | winkelschleifer; 115mm | 125mm | 230mm; soft start | anti-kickback | 900W
    jigsaw | orbital jig saw | stichsäge; 18V | 650W; tool-free blade change | pendulum action | dust port
    circular saw | hand-held circular saw | handkreissäge; 165mm | 190mm; laser guide | bevel 45° | 1400W
    impact wrench | impact driver | schlagschrauber; 1/2" | 3/4"; 300 Nm | reverse | belt clip
    rotary hammer | SDS plus hammer drill | bohrhammer; 2kg | 3kg; SDS-plus | 2.7 J | depth stop
    random orbit sander | eccentric sander | exzenterschleifer; 125mm | 150mm; variable speed | dust bag
    heat gun | hot air gun | heissluftpistole; 1800W | 2000W; two stages | cool-down | nozzle set
    garden vacuum | leaf blower | laubsauger; 18V | 36V; mulching | shoulder strap | 230 km/h
    pressure washer | high pressure cleaner | hochdruckreiniger; 130 bar | 160 bar; 8m hose | turbo nozzle
    """.strip().splitlines()
)
"""What a trade catalogue sells: its names, sizes and features."""
_SPARES: Final = ("battery", "charger", "carry case", "spare blade set", "dust bag", "side handle")


def tools(dice: Dice, size: int) -> list[Row]:
    """Three sellers of tools. Near: the kit of a bare tool, the next size, what is sold for a tool and named after it."""
    brands, out = distinct(coined, dice, 18), Listing(dice, "product")

    def code(prefix: str, number: int, tail: str) -> tuple[str, ...]:
        """One code as three sellers write it."""
        return (
            f"{prefix}{number}{tail}",
            f"{prefix} {number}{tail}",
            f"{prefix}-{number}{tail}",
            f"{prefix.lower()}{number}{tail.lower()}",
        )

    def sell(
        item: int, brand: str, codes: tuple[str, ...], kind: tuple[tuple[str, ...], ...], amount: str, cost: float
    ) -> None:
        names, _, features = kind
        ean = "".join(str(dice.between(0, 9)) for _ in range(13))
        for seller in dice.sample(("toolhaus", "fixmart", "worksite"), dice.pick((1, 1, 2, 2, 3))):
            shown = dice.pick(codes)
            title = [brand, shown if dice.chance(0.9) else "", dice.pick(names), amount if dice.chance(0.8) else ""]
            if dice.chance(0.35):
                title = [title[0], title[3], title[2], title[1]]
            if dice.chance(0.3):
                title.append(dice.pick(features))
            text = " ".join(part for part in title if part)
            out.add(
                seller,
                item,
                text.upper() if seller == "fixmart" and dice.chance(0.2) else text,
                brand=brand if dice.chance(0.6) else "",
                details=", ".join(dice.sample(features, 2)) if dice.chance(0.5) else "",
                net_price=f"{cost * dice.normal(1, 0.08):.2f}" if dice.chance(0.7) else "",
                ean=ean if dice.chance(0.25) else "",
            )

    item = 0
    while len(out) < size:
        brand, kind = dice.skewed(brands, 1.4), dice.pick(_TOOLS)
        prefix, number = "".join(dice.sample("BCDFGHJKLMPRSTW", dice.between(2, 3))), dice.between(100, 999)
        cost = float(dice.between(40, 600))
        for step in range(dice.pick((1, 1, 2, 2, 3))):
            tail = ("", dice.pick(("N", "Z", "K")), dice.pick(("P2", "M2", "RTJ")))[step]
            sell(item, brand, code(prefix, number, tail), kind, kind[1][0], cost * (1 + 0.3 * step))
            item += 1
        if len(kind[1]) > 1 and dice.chance(0.4):
            sell(item, brand, code(prefix, number + dice.pick((1, 10, 20)), ""), kind, kind[1][1], cost * 1.2)
            item += 1
        if dice.chance(0.2):
            spare, forms = dice.pick(_SPARES), code(prefix, number, "")
            for seller in dice.sample(("toolhaus", "fixmart", "worksite"), dice.between(1, 2)):
                named = (
                    f"{brand} {spare} for {dice.pick(forms)}"
                    if dice.chance(0.6)
                    else f"{brand} {dice.pick(forms)} {spare}"
                )
                out.add(
                    seller, item, named, brand=brand if dice.chance(0.6) else "", net_price=f"{dice.between(8, 60)}.90"
                )
            item += 1
    return out.rows()


_LINES: Final = (
    "Logistics",
    "Packaging",
    "Chemicals",
    "Foods",
    "Textiles",
    "Metals",
    "Instruments",
    "Printing",
    "Timber",
    "Plastics",
)
_GERMAN: Final = ("Handel", "Maschinenbau", "Werkzeuge", "Transporte", "Druckerei", "Bau")


def suppliers(dice: Dice, size: int) -> list[Row]:
    """A ledger of suppliers kept by several clerks: legal forms, short forms, towns in names. Near: a group and its subsidiaries, a chain's
    branches in several towns, firms of one family name."""
    out, firm = Listing(dice, "organization"), 0
    lands = (("Germany", "GmbH", "Gesellschaft mit beschränkter Haftung"), ("Germany", "AG", "Aktiengesellschaft"))
    lands += (
        ("United Kingdom", "Ltd", "Limited"),
        ("United Kingdom", "plc", "PLC"),
        ("USA", "Inc.", "Incorporated"),
        ("USA", "LLC", "L.L.C."),
    )
    lands += (("France", "SARL", "S.A.R.L."), ("Netherlands", "B.V.", "BV"), ("Italy", "S.p.A.", "SpA"))

    def book(name: tuple[str, ...], town: str, land: tuple[str, str, str], acronym: str) -> None:
        where, number = address(dice)[0], phone(dice)
        vat = f"{land[0][:2].upper()}{dice.between(100_000_000, 999_999_999)}"
        for _ in range(dice.heavy(3, 12)):
            form = dice.random()
            shown = " ".join(name)
            if form < 0.45:
                shown = f"{shown} {dice.pick(land[1:])}"
            elif form < 0.55:
                shown = f"{shown}, {town}"
            elif form < 0.62:
                shown = f"{shown} {dice.pick(land[1:])} ({land[0]})"
            elif form < 0.68 and acronym:
                shown = acronym
            shown = shown.replace(" and ", " & ") if dice.chance(0.5) else shown
            shown = shown.upper() if dice.chance(0.1) else typo(dice, shown) if dice.chance(0.05) else shown
            out.add(
                "ledger",
                firm,
                shown,
                town=town if dice.chance(0.7) else "",
                country=land[0] if dice.chance(0.6) else "",
                street=where if dice.chance(0.4) else "",
                phone=number if dice.chance(0.3) else "",
                vat_id=vat if dice.chance(0.2) else "",
            )

    while len(out) < size:
        root, land, town = coined(dice), dice.pick(lands), place(dice)
        kind = dice.pick(_GERMAN if land[0] == "Germany" and dice.chance(0.6) else _LINES)
        family = dice.chance(0.25)
        name = (
            (root, "and", "Sons", kind)
            if family
            else (root, kind)
            if dice.chance(0.7)
            else (root, kind, dice.pick(("International", "Group", "Services")))
        )
        book(
            name,
            town,
            land,
            "".join(word[0] for word in name if word[0].isupper()) if len(name) > 2 and dice.chance(0.5) else "",
        )
        firm += 1
        if dice.chance(0.2):  # another firm of the group, in the same town
            book((root, dice.pick([line for line in _LINES if line != kind])), town, land, "")
            firm += 1
        if dice.chance(0.1):  # the same name elsewhere is another branch
            book((*name, place(dice)), town, land, "")
            firm += 1
    return out.rows()


def albums(dice: Dice, size: int) -> list[Row]:
    """Record collections that list a title and an artist, one of them the composer at times. Near: a title that several artists have used,
    and the other records of an artist."""
    names, out, made = People(dice, ("en", "fr", "slavic")), Listing(dice, "album"), set[tuple[str, str]]()
    titles = distinct(lambda d: f"{d.pick(ADJECTIVES)} {coined(d)}".title(), dice, max(12, round(0.7 * size)))
    artists = [" ".join(names.name()) for _ in range(max(8, round(0.3 * size)))]
    while len(out) < size:
        title, artist, composer = dice.pick(titles), dice.pick(artists), dice.pick(artists)
        if (title, artist) in made:
            continue
        made.add((title, artist))
        for source in dice.sample(range(3), 1 + dice.chance(0.2)):
            shown = title.upper() if source == 1 and dice.chance(0.3) else title
            by = composer if source == 2 and dice.chance(0.5) else typo(dice, artist) if dice.chance(0.05) else artist
            out.add(("discbase", "shelf", "streamer")[source], len(made), shown, artist=by)
    return out.rows()
