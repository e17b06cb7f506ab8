"""Pairs that look alike and are not the same, between true duplicates: what a merge must not fall for.

Three tables, as three namespaces would hold them: a directory of people, a catalogue of things and works, an agent's memory of
entities and sentences. Each kind of near miss has ``PER_KIND`` pairs. Some rows of them stand twice, and as many plain
duplicates stand around them, so that to merge nothing is no answer. What is measured on them belongs to ``benchmarks.quality``.
The kinds are one list with their makers, which is why the module is long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from benchmarks.listings import Row
from benchmarks.vocabulary import (
    ADJECTIVES,
    COLOURS,
    GIVEN,
    METHODS,
    NOUNS,
    PROBLEMS,
    SETTINGS,
    SURNAMES,
    Dice,
    address,
    coined,
    phone,
    place,
    surname,
)

PER_KIND: Final = 200


class Thing(NamedTuple):
    """One side of a pair."""

    entity_type: str
    name: str
    attrs: Mapping[str, Any]


class HardSet(NamedTuple):
    """A labelled set and its near misses: (id, id, kind) of rows that must not end in one cluster."""

    rows: list[Row]
    pairs: list[tuple[str, str, str]]


def _dob(dice: Dice) -> str:
    return f"{dice.between(1940, 2004)}-{dice.between(1, 12):02d}-{dice.between(1, 28):02d}"


def _full(dice: Dice) -> tuple[str, str]:
    return dice.pick(GIVEN["en"]), dice.pick(SURNAMES["en"]) if dice.chance(0.5) else surname(dice)


def _person(dice: Dice, name: str, **known: str) -> Thing:
    given = name.split()[0].lower()
    mail = f"{given}.{name.split()[-1].lower()}{dice.between(1, 99)}@{coined(dice).lower()}.example"
    full = {"date_of_birth": _dob(dice), "email": mail, "phone": phone(dice), "employer": coined(dice)}
    full |= {"address": address(dice)[0], "city": place(dice)}
    return Thing("person", name, full | known)


def _namesake(*fields: str) -> Callable[[Dice], tuple[Thing, Thing]]:
    """One name, two persons of whom only these fields are known, and they differ."""

    def make(dice: Dice) -> tuple[Thing, Thing]:
        name = " ".join(_full(dice))
        a, b = (_person(dice, name) for _ in range(2))
        return a._replace(attrs={f: a.attrs[f] for f in fields}), b._replace(attrs={f: b.attrs[f] for f in fields})

    return make


def _bare_namesakes(dice: Dice) -> tuple[Thing, Thing]:
    name = f"{dice.skewed(GIVEN['en'], 2.0)} {dice.skewed(SURNAMES['en'], 2.0)}"
    return Thing("person", name, {}), Thing("person", name, {})


def _siblings(dice: Dice) -> tuple[Thing, Thing]:
    given, last = _full(dice)
    home = {"address": address(dice)[0], "city": place(dice), "phone": phone(dice)}
    a = _person(dice, f"{given} {last}", **home)
    return a, _person(dice, f"{dice.pick([g for g in GIVEN['en'] if g != given])} {last}", **home)


_TWINS: Final = (
    *(("Anna", "Hanna"), ("Gina", "Nina"), ("Erik", "Erika"), ("Tim", "Tom"), ("Carl", "Carla")),
    *(("Paul", "Paula"), ("Martin", "Martina"), ("Daniel", "Daniela"), ("Maria", "Marina")),
)


def _twins(dice: Dice) -> tuple[Thing, Thing]:
    _, last = _full(dice)
    a, b = dice.pick(_TWINS) if dice.chance(0.1) else dice.sample(GIVEN["en"], 2)
    home = {"address": address(dice)[0], "city": place(dice), "date_of_birth": _dob(dice)}
    first = Thing("person", f"{a} {last}", home)
    return first, Thing("person", f"{b} {last}", home)


def _generations(dice: Dice) -> tuple[Thing, Thing]:
    name, home = " ".join(_full(dice)), {"address": address(dice)[0], "city": place(dice)}
    a, b = dice.pick((("Sr.", "Jr."), ("Jr.", "III"), ("II", "III"), ("senior", "junior")))
    return Thing("person", f"{name} {a}", home), Thing("person", f"{name} {b}", home)


def _middle_initials(dice: Dice) -> tuple[Thing, Thing]:
    (given, last), (a, b), city = _full(dice), dice.sample("ABCDEFGHJKLMNPRSTW", 2), place(dice)
    return Thing("person", f"{given} {a}. {last}", {"city": city}), Thing(
        "person", f"{given} {b}. {last}", {"city": city}
    )


def _numbered(entity_type: str, *forms: str) -> Callable[[Dice], tuple[Thing, Thing]]:
    """A name in which one number is another one; ``{}`` is its place."""

    def make(dice: Dice) -> tuple[Thing, Thing]:
        form, number = dice.pick(forms), dice.between(2, 40)
        stem = coined(dice)
        other = number + dice.pick((1, 1, 1, 2, 10))
        a, b = (form.replace("STEM", stem).replace("{}", str(n)) for n in (number, other))
        return Thing(entity_type, a, {}), Thing(entity_type, b, {})

    return make


def _years(dice: Dice) -> tuple[Thing, Thing]:
    form = dice.pick(("{} annual report", "{} budget", "{} summit", "Agenda {}", "{} season tickets", "{} roadmap"))
    stem, year = coined(dice), dice.between(1995, 2025)
    a, b = (Thing("document", f"{stem} {form.format(y)}", {}) for y in (year, year + 1))
    return a, b


def _group(dice: Dice) -> tuple[Thing, Thing]:
    stem, city = coined(dice), place(dice)
    a, b = dice.sample(
        ("Holding", "Logistics", "Capital", "Europe", "Foods", "Research", "Foundation", "Services", "Bank"), 2
    )
    shared = {"city": city, "website": f"https://{stem.lower()}.example"} if dice.chance(0.3) else {"city": city}
    parent = f"{stem} {a}" if dice.chance(0.7) else stem
    return Thing("organization", parent, shared), Thing("organization", f"{stem} {b}", shared)


def _universities(dice: Dice) -> tuple[Thing, Thing]:
    town = place(dice)
    forms = (
        "University of {}",
        "{} State University",
        "{} Institute of Technology",
        "{} Medical School",
        "{} College of Art",
    )
    a, b = dice.sample(forms, 2)
    return Thing("organization", a.format(town), {"city": town}), Thing("organization", b.format(town), {"city": town})


def _branches(dice: Dice) -> tuple[Thing, Thing]:
    name, city = f"{coined(dice)} {dice.pick(('Cafe', 'Grill', 'Pharmacy', 'Books', 'Motors'))}", place(dice)
    a, b = (Thing("shop", name, {"address": address(dice)[0], "city": city, "phone": phone(dice)}) for _ in range(2))
    return a, b


def _models(dice: Dice) -> tuple[Thing, Thing]:
    letters, number = "".join(dice.sample("ABCDEFGHKLMNPRSTVX", 2)), dice.between(10, 99) * 10
    brand, kind = coined(dice), dice.pick(("television", "camera", "printer", "drill", "kettle", "headphones"))
    other = number + dice.pick((5, 10, 100))
    shared = {"manufacturer": brand, "price": f"{dice.between(40, 900)}.00"}
    a, b = (Thing("product", f"{brand} {letters}-{n} {kind}", shared) for n in (number, other))
    return a, b


def _variants(dice: Dice) -> tuple[Thing, Thing]:
    kinds, options = dice.pick(
        (
            (("backpack", "phone case", "desk lamp"), COLOURS),
            (("memory card", "music player"), ("2GB", "4GB", "8GB", "16GB")),
            (("rain jacket", "running shirt"), ("small", "medium", "large")),
            (("frying pan", "cake tin"), ("20 cm", "25 cm", "30 cm")),
        )
    )
    brand, kind = coined(dice), dice.pick(kinds)
    a, b = (Thing("product", f"{brand} {kind} {option}", {"manufacturer": brand}) for option in dice.sample(options, 2))
    return a, b


def _accessories(dice: Dice) -> tuple[Thing, Thing]:
    brand, model = coined(dice), f"{dice.pick('ABCDEFGH')}{dice.pick('KLMNPRST')}-{dice.between(100, 999)}"
    part = dice.pick(("remote control", "battery", "carrying case", "wall mount", "lens hood"))
    kind = dice.pick(("television", "camera", "recorder"))
    return Thing("product", f"{brand} {model} {kind}", {}), Thing("product", f"{part} for {brand} {model} {kind}", {})


def _work(dice: Dice) -> str:
    return f"{dice.pick(METHODS)} for {dice.pick(PROBLEMS)} {dice.pick(SETTINGS)}".capitalize()


def _works(*endings: tuple[str, str]) -> Callable[[Dice], tuple[Thing, Thing]]:
    """One work in two parts, editions or recordings, by one author."""

    def make(dice: Dice) -> tuple[Thing, Thing]:
        title, by = _work(dice), " ".join(_full(dice))
        a, b = dice.pick(endings)
        return Thing("work", title + a, {"author": by}), Thing("work", title + b, {"author": by})

    return make


def _recordings(dice: Dice) -> tuple[Thing, Thing]:
    title, by = f"{dice.pick(ADJECTIVES)} {coined(dice)}".title(), " ".join(_full(dice))
    a, b = dice.sample(("", " (Live)", " (Acoustic)", " (Remix)", " (Instrumental)"), 2)
    return Thing("song", title + a, {"artist": by}), Thing("song", title + b, {"artist": by})


def _discs(dice: Dice) -> tuple[Thing, Thing]:
    """Two discs of one album, or the album and its second volume."""
    by = f"The {coined(dice)}s" if dice.chance(0.3) else " ".join(_full(dice))
    title = dice.pick(
        (f"{dice.pick(ADJECTIVES)} {coined(dice)}".title(), f"Live at {place(dice)}", f"The {coined(dice)} Box")
    )
    pairs = (
        (" (Disc 1)", " (Disc 2)"),
        (" CD1", " CD2"),
        (" [disc 1]", " [disc 3]"),
        (", Vol. 1", ", Vol. 2"),
        ("", ", Vol. 2"),
        ("", " (Disc 2)"),
    )
    shared = {"artist": by, "year": str(dice.between(1966, 2015)), "label": coined(dice)}
    a, b = (Thing("album", title + end, shared) for end in dice.pick(pairs))
    return a, b


def _recurring(dice: Dice) -> tuple[Thing, Thing]:
    """What a journal prints again and again under one title: same author, same year, another issue."""
    title = dice.pick(
        (
            "Editorial",
            "Introduction",
            "Letters to the Editor",
            "Annual report",
            "Book review",
            "From the editor's desk",
            "Guest editorial",
        )
    )
    by, year, journal = " ".join(_full(dice)), str(dice.between(1985, 2015)), f"Journal of {coined(dice)} Studies"
    first, issue = dice.between(1, 400), dice.between(1, 5)
    listed = [
        {"author": by, "year": year, "journal": journal, "issue": str(issue + step), "pages": f"{start}-{start + 2}"}
        for step, start in ((0, first), (dice.between(1, 6), first + dice.between(90, 300)))
    ]
    if dice.chance(0.3):  # in a journal that a sister house prints
        listed[1]["journal"] = f"{coined(dice)} Review"
    a, b = (Thing("article", title, attrs) for attrs in listed)
    return a, b


def _covers(dice: Dice) -> tuple[Thing, Thing]:
    title = f"{dice.pick(ADJECTIVES)} {dice.pick(NOUNS)} of {coined(dice)}".title()
    a, b = (Thing("song", title, {"artist": " ".join(_full(dice))}) for _ in range(2))
    return a, b


def _sentences(
    forms: tuple[str, ...], choices: Callable[[Dice], tuple[str, str]]
) -> Callable[[Dice], tuple[Thing, Thing]]:
    """A sentence with one word changed: ``{}`` is its place, WHO a person, WHAT a thing."""

    def make(dice: Dice) -> tuple[Thing, Thing]:
        form = (
            dice.pick(forms).replace("WHO", " ".join(_full(dice))).replace("WHAT", f"{coined(dice)} {dice.pick(NOUNS)}")
        )
        a, b = (form.format(word) for word in choices(dice))
        return Thing("memory", a, {}), Thing("memory", b, {})

    return make


def _two(*words: str) -> Callable[[Dice], tuple[str, str]]:
    def choose(dice: Dice) -> tuple[str, str]:
        a, b = dice.sample(words, 2)
        return a, b

    return choose


def _counts(dice: Dice) -> tuple[str, str]:
    number = dice.between(2, 60)
    return str(number), str(number + dice.pick((1, 2, 10, 100)))


def _people(dice: Dice) -> tuple[str, str]:
    return " ".join(_full(dice)), " ".join(_full(dice))


def _opposites(dice: Dice) -> tuple[str, str]:
    pairs = (
        *(
            ("enabled", "disabled"),
            ("open", "closed"),
            ("public", "private"),
            ("allowed", "forbidden"),
            ("cheap", "expensive"),
        ),
        *(("always late", "never late"), ("before lunch", "after lunch"), ("in winter", "in summer"), ("up", "down")),
    )
    a, b = dice.pick(pairs)
    return (a, b) if dice.chance(0.5) else (b, a)


def _roles(dice: Dice) -> tuple[Thing, Thing]:
    form = dice.pick(("{} reports to {}", "{} lent the car to {}", "{} is older than {}", "{} hired {} last spring"))
    a, b = _people(dice)
    return Thing("memory", form.format(a, b), {}), Thing("memory", form.format(b, a), {})


def _dates(dice: Dice) -> tuple[str, str]:
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    day, month = dice.between(1, 27), dice.pick(("January", "March", "May", "July", "October"))
    return _two(*days)(dice) if dice.chance(0.5) else (f"{day} {month}", f"{day + 1} {month}")


KINDS: Final[Mapping[str, Mapping[str, Callable[[Dice], tuple[Thing, Thing]]]]] = {
    "directory": {
        "namesakes, birth dates differ": _namesake("date_of_birth"),
        "namesakes, emails differ": _namesake("email"),
        "namesakes, employers differ": _namesake("employer"),
        "namesakes, everything differs": _namesake("date_of_birth", "email", "phone", "employer", "city"),
        "namesakes, nothing else known": _bare_namesakes,
        "siblings": _siblings,
        "twins": _twins,
        "senior and junior": _generations,
        "middle initials": _middle_initials,
    },
    "catalogue": {
        "model numbers": _models,
        "size or colour": _variants,
        "accessories": _accessories,
        "parts": _works(
            (", Part I", ", Part II"), (" - volume 1", " - volume 2"), (" (1)", " (2)"), (": part two", ": part three")
        ),
        "editions": _works((", 2nd edition", ", 3rd edition"), (" (first edition)", " (second edition)")),
        "recordings": _recordings,
        "covers": _covers,
        "discs": _discs,
        "recurring titles": _recurring,
        "branches": _branches,
    },
    "agent": {
        "versions": _numbered("tool", "STEM {}", "STEM v{}", "STEM 2.{}", "STEM {}.0", "STEM-{}"),
        "years": _years,
        "numbered places": _numbered("place", "STEM Street {}", "Room {} at STEM", "STEM Terminal {}"),
        "parent and subsidiary": _group,
        "institutions of a town": _universities,
        "sentences, number": _sentences(
            ("WHO owns {} of the WHAT boxes", "The WHAT budget is {} thousand", "WHO needs {} seats"), _counts
        ),
        "sentences, colour": _sentences(
            ("The WHAT of WHO is {}", "WHO painted the WHAT wall {}"), _two(*map(str.lower, COLOURS))
        ),
        "sentences, name": _sentences(("{} leads the WHAT migration", "The WHAT contract was signed by {}"), _people),
        "sentences, negation": _sentences(
            ("WHO {} the WHAT plan", "The team {} the WHAT proposal of WHO"), lambda _: ("approved", "did not approve")
        ),
        "sentences, opposite": _sentences(("The WHAT of WHO is {}", "According to WHO the WHAT is {}"), _opposites),
        "sentences, roles": _roles,
        "sentences, date": _sentences(
            ("The WHAT review with WHO is on {}", "WHO visits the WHAT office on {}"), _dates
        ),
        "sentences, unit": _sentences(
            ("The WHAT backup of WHO takes 40 {}",), _two("minutes", "hours", "seconds", "days")
        ),
    },
}
"""Namespace → kind of near miss → its maker."""


def make(namespace: str, per_kind: int = PER_KIND, seed: int = 7) -> HardSet:
    """One namespace with ``per_kind`` near misses of each of its kinds. The same arguments make the same rows."""
    dice = Dice("hard", namespace, seed)
    things: list[tuple[Thing, str]] = []
    pairs: list[tuple[int, int, str]] = []
    for kind, maker in KINDS[namespace].items():
        for n in range(per_kind):
            a, b = maker(dice)
            things += [(a, f"{kind}-{n}a"), (b, f"{kind}-{n}b")]
            pairs.append((len(things) - 2, len(things) - 1, kind))
            if dice.chance(0.2) and maker is not _bare_namesakes:
                things.append((_again(dice, a), f"{kind}-{n}a"))
        for n in range(per_kind // 2):  # plain duplicates of the same make
            thing = maker(dice)[0]
            if maker is _bare_namesakes:
                thing = thing._replace(name=f"{dice.pick(GIVEN['en'])} {surname(dice)}")
            things += [(thing, f"{kind}-{n}d"), (_again(dice, thing), f"{kind}-{n}d")]
    order = dice.shuffled(range(len(things)))
    ids = {at: f"{namespace}-{n}" for n, at in enumerate(order)}
    rows = [Row(ids[at], namespace, *things[at][0], things[at][1]) for at in order]
    return HardSet(rows, [(ids[a], ids[b], kind) for a, b, kind in pairs])


def _again(dice: Dice, thing: Thing) -> Thing:
    """The same thing as it is written a second time."""
    name = dice.pick(
        (thing.name, thing.name.upper(), thing.name.lower(), f"{thing.name}.", thing.name.replace("-", " "))
    )
    kept = {key: value for key, value in thing.attrs.items() if dice.chance(0.85)}
    return Thing(thing.entity_type, name, kept or thing.attrs)
