"""Incidents, each told four times in other words and with other details, among others that are much like them. All is made up here.

A kind of incident has four tellings; an incident fills them with its own place, person, day and figures, so that incidents of one kind are
the distractors of each other. With ``DEVELOPED`` the order in which memories come together was chosen; ``LOOKED_AT`` were written
before and looked at once, which brought shared words into that order; ``UNSEEN`` were written after it and are only measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

TELLINGS: Final = 4


class Kind(NamedTuple):
    """A kind of incident: its tellings with places for words, and the words for each place; ``{n}``, ``{m}`` are figures."""

    name: str
    tellings: tuple[str, str, str, str]
    words: Mapping[str, tuple[str, ...]]


_DAYS: Final = tuple(f"{day} {month}" for month in ("March", "April", "May") for day in (3, 9, 14, 18, 22, 27))
_PEOPLE: Final = (
    *("Priya", "Jonas", "Amara", "Felix", "Noor", "Tomas", "Ingrid", "Mateo", "Yuki", "Carla", "Dmitri", "Leila"),
)

DEVELOPED: Final = (
    Kind(
        "pool",
        (
            "On {day} the {thing} service was down for {n} minutes because its database ran out of connections.",
            "The {thing} service outage of {day} came from an exhausted connection pool in the database. {who} found the leak.",
            "{who} raised the connection limit of the {thing} database to {m} after the outage of {day}.",
            "The {thing} outage of {day} lasted {n} minutes; {who} found a connection leak and raised the limit to {m}.",
        ),
        {"thing": ("billing", "search", "login", "checkout", "export", "mail", "upload", "report", "chat", "tax")},
    ),
    Kind(
        "pump",
        (
            "The pump in {thing} failed on {day} and the plants stood dry for {n} hours.",
            "{who} saw on {day} that the pump of {thing} had stopped: its seal was worn out.",
            "After the pump failure in {thing} on {day} {who} put in a new seal, which cost {m} euros.",
            "The seal of the pump in {thing} was worn out, so the plants stood dry for {n} hours on {day}.",
        ),
        {
            "thing": (
                *("the fern house", "hall 2", "the orchid room", "the north tunnel", "the herb beds"),
                *("the palm court", "the seedling shed", "hall 7", "the rose garden", "the cactus wing"),
            )
        },
    ),
    Kind(
        "parcel",
        (
            "{who} complained on {day} that the {thing} arrived broken.",
            "The {thing} that {who} ordered was broken when it arrived on {day}; she asked for a refund of {m} euros.",
            "{who} got {m} euros back for the broken {thing} after {n} days.",
            "Refund for {who}: the {thing} arrived broken on {day}, and {m} euros went back.",
        ),
        {
            "thing": (
                *("teapot", "mirror", "desk lamp", "picture frame", "wine glasses", "vase", "keyboard", "clock"),
                *("fruit bowl", "aquarium"),
            )
        },
    ),
)

LOOKED_AT: Final = (
    Kind(
        "train",
        (
            "Because of a broken rail the train to {thing} was {n} minutes late on {day}.",
            "{who} missed her connection in {thing} on {day}, as a rail had broken and the train was late.",
            "The railway paid {who} {m} euros for the late train to {thing} of {day}.",
            "{who} was {n} minutes late in {thing} on {day} and got {m} euros from the railway for it.",
        ),
        {"thing": (*("Ghent", "Basel", "Malmö", "Porto", "Lyon", "Graz", "Turku", "Brno", "Split", "Cork"),)},
    ),
    Kind(
        "deploy",
        (
            "The release of the {thing} on {day} was rolled back, since a migration locked a table for {n} minutes.",
            "A migration in the {thing} release of {day} held a lock for {n} minutes, and {who} rolled it back.",
            "{who} split the migration of the {thing} into {m} steps after the rollback of {day}.",
            "We rolled back the {thing} on {day}: the migration locked a table. It now runs in {m} steps.",
        ),
        {
            "thing": (
                *("booking app", "wiki", "payroll tool", "map server", "ticket desk", "photo store", "game lobby"),
                *("loan portal", "news feed", "price engine"),
            )
        },
    ),
    Kind(
        "allergy",
        (
            "{who} had a rash on {day} after eating {thing}.",
            "The doctor told {who} on {day} that {thing} gave her the rash, and prescribed {m} tablets.",
            "{who} took {m} tablets against the rash that {thing} had given her; it was gone after {n} days.",
            "Since the rash of {day} {who} no longer eats {thing}.",
        ),
        {
            "thing": (
                *("walnuts", "shrimps", "strawberries", "sesame bread", "mango", "soy sauce", "celery", "mustard"),
                *("kiwi", "lupin flour"),
            )
        },
    ),
)

UNSEEN: Final = (
    Kind(
        "leak",
        (
            "Water came through the ceiling of {thing} on {day}; a pipe above it had burst.",
            "{who} turned the water off after {n} minutes when a pipe burst above {thing}.",
            "The burst pipe above {thing} was mended by {who} on {day} for {m} euros.",
            "The ceiling of {thing} got wet on {day}, as a pipe had burst. {who} mended it.",
        ),
        {
            "thing": (
                *("the archive", "room 12", "the kitchen", "the cinema", "the nursery", "the print shop"),
                *("the ballroom", "the sauna", "room 31", "the chapel"),
            )
        },
    ),
    Kind(
        "harvest",
        (
            "Hail destroyed {n} percent of the {thing} on {day}.",
            "{who} reported that the hail of {day} had ruined the {thing}; the insurance was told.",
            "For the {thing} that were lost in the hail of {day} the insurance paid {who} {m} euros.",
            "{who} lost {n} percent of the {thing} to hail and got {m} euros from the insurance.",
        ),
        {
            "thing": (
                *("cherries", "plums", "hops", "grapes", "lettuces", "apricots", "cabbages", "sunflowers"),
                *("onions", "quinces"),
            )
        },
    ),
    Kind(
        "key",
        (
            "The signing key of {thing} expired on {day} and updates failed for {n} hours.",
            "On {day} nobody could install updates of {thing}: its signing key had expired.",
            "{who} renewed the signing key of {thing}, which had expired on {day}; it now lasts {m} days.",
            "Updates of {thing} failed for {n} hours until {who} renewed the expired signing key.",
        ),
        {
            "thing": (
                *("Heron", "Juniper", "Quartz", "Lantern", "Osprey", "Marble", "Cobalt", "Willow", "Falcon"),
                "Ember",
            )
        },
    ),
)

_ALONE: Final = (
    "The canteen closes at three on Fridays.",
    "Write the minutes of the meeting in plain text.",
    "The spare key hangs behind the boiler.",
    "Parking in the yard needs a permit since the spring.",
    "The printer on the second floor takes only recycled paper.",
    "Visitors sign in at the front desk and wear a badge.",
    "The old wiki is read-only and will be switched off in autumn.",
    "Birthdays are celebrated with cake on the last Thursday of the month.",
)


def told(kinds: Sequence[Kind], incidents: int = 10, seed: int = 0) -> tuple[list[str], list[str]]:
    """(texts, labels): ``incidents`` of each kind, at most as many as it has things, each told four times; the label names the incident.

    Eight notes of nothing of the kind have no label. The order is drawn from the seed.
    """
    random = Random(seed)  # noqa: S311 - not for secrets
    found = [(text, "") for text in _ALONE]
    for kind in kinds:
        days, people = random.sample(_DAYS, len(_DAYS)), random.sample(_PEOPLE, len(_PEOPLE))
        for k, thing in enumerate(kind.words["thing"][:incidents]):
            own = {"thing": thing, "day": days[k % len(days)], "who": people[k % len(people)]}
            own |= {"n": str(random.randint(5, 95)), "m": str(random.randint(100, 900))}
            found += [(telling.format(**own), f"{kind.name}: {thing}") for telling in kind.tellings]
    random.shuffle(found)
    return [text for text, _ in found], [label for _, label in found]
