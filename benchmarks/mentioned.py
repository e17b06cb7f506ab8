"""The world of memories: what chats and tickets call people, places, tools and trades."""

from __future__ import annotations

from typing import Final

from benchmarks.listings import Listing, Row
from benchmarks.vocabulary import (
    ADJECTIVES,
    COUNTRIES,
    SHORT,
    Dice,
    People,
    coined,
    place,
    typo,
)

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
