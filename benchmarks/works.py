"""The worlds of papers, citations and music, as libraries and catalogues list them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from benchmarks.listings import Listing, Row
from benchmarks.vocabulary import (
    ADJECTIVES,
    METHODS,
    NOUNS,
    PROBLEMS,
    PUBLISHERS,
    SETTINGS,
    VENUES,
    VERBS,
    Dice,
    People,
    coined,
    distinct,
    typo,
    unpunctuated,
)


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
