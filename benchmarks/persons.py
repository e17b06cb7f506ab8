"""The worlds of people, births, organisations and inventors, as registers list them."""

from __future__ import annotations

from benchmarks.listings import Listing, Row
from benchmarks.vocabulary import (
    COUNTRIES,
    FIELDS,
    SHORT,
    STATES,
    Dice,
    People,
    address,
    coined,
    digit_slip,
    phone,
    place,
    typo,
)


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


def electors(dice: Dice, size: int) -> list[Row]:
    """Electoral rolls with many gaps, up to four entries a person. Near: namesakes, households, twins, juniors with their fathers.

    Names are common ones, a sixth of the entries state a name and nothing else but the town, and a person may marry or move
    between two rolls, so that neither the surname nor the address is kept.
    """
    people, out, person = People(dice, ("en",), rare=0.2), Listing(dice, "person"), 0
    towns = [(place(dice), f"{dice.between(1_000, 8_999)}") for _ in range(25)]

    def entries(given: str, middle: str, last: str, suffix: str, home: str, town: tuple[str, str], birth: str) -> None:
        number, weds, moves = phone(dice), dice.chance(0.06), dice.chance(0.15)
        mail = f"{given}.{last}{dice.between(1, 99)}@{coined(dice)}.example".lower()
        for entry in range(dice.pick((1, 1, 1, 2, 2, 3, 4))):
            if entry and weds:
                last, suffix, weds = people.surname(), "", False
            if entry and moves:
                home, moves = address(dice)[0], False
                town = dice.pick(towns) if dice.chance(0.5) else town
            first, second = given, last
            if dice.chance(0.12):
                first = dice.pick(SHORT.get(given, (f"{given[0]}.",)))
            if dice.chance(0.06):
                first = typo(dice, first)
            if dice.chance(0.06):
                second = typo(dice, second)
            inner = "" if not middle or dice.chance(0.5) else f"{middle}." if dice.chance(0.8) else middle
            shown = f"{first} {inner} {second} {suffix if dice.chance(0.5) else ''}"
            bare = dice.chance(0.17)
            out.add(
                f"roll{dice.between(1, 4)}",
                person,
                shown.upper() if dice.chance(0.2) else shown,
                address="" if bare or dice.chance(0.25) else typo(dice, home) if dice.chance(0.08) else home,
                town="" if dice.chance(0.1) else town[0],
                postcode="" if bare or dice.chance(0.3) else town[1],
                date_of_birth=""
                if bare or dice.chance(0.35)
                else digit_slip(dice, birth)
                if dice.chance(0.05)
                else birth,
                phone="" if bare or dice.chance(0.5) else number,
                email="" if bare or dice.chance(0.7) else mail,
            )

    def born(low: int, high: int) -> str:
        return f"{dice.between(low, high)}-{dice.between(1, 12):02d}-{dice.between(1, 28):02d}"

    def initial() -> str:
        return dice.pick("ABCDEFGHJKLMPRSTW") if dice.chance(0.4) else ""

    while len(out) < size:
        (given, last), home, town = people.name(), address(dice)[0], dice.skewed(towns, 1.3)
        middle, kind = initial(), dice.random()
        heir, twins, birth = kind < 0.06, kind >= 0.97, born(1930, 1960)
        entries(given, middle, last, "Sr." if heir else "", home, town, birth)
        person += 1
        if heir:  # a son of his father's whole name, at home or elsewhere in town
            entries(given, middle, last, "Jr.", home if dice.chance(0.6) else address(dice)[0], town, born(1961, 1990))
            person += 1
        if kind < 0.45:  # a household of one surname
            for _ in range(dice.between(1, 3)):
                entries(people.name()[0], initial(), last, "", home, town, born(1930, 2003))
                person += 1
        if twins:
            birth = born(1960, 2003)
            for _ in range(2):
                entries(people.name()[0], "", last, "", home, town, birth)
                person += 1
        if dice.chance(0.08):  # a namesake, as often in the same town as elsewhere
            where = town if dice.chance(0.5) else dice.pick(towns)
            entries(given, initial(), last, "", address(dice)[0], where, born(1930, 2003))
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
