"""Plain claims: what a sentence says of whom, in words that stand by themselves; in doubt nothing."""

from __future__ import annotations

import pytest

from slowwave.text.claims import claim_of, introduced, plain_claim, slot_of


@pytest.mark.parametrize(
    ("sentence", "kind", "about", "statement"),
    [
        ("By the way, I prefer tabs over spaces.", "preference", "", "Mara prefers tabs over spaces."),
        ("I love working with photos, but they cost a lot.", "preference", "", "Mara loves working with photos."),
        ("My favourite typeface is Inter.", "preference", "", "Mara's favourite typeface is Inter."),
        ("I live in Porto now.", "state", "", "Mara lives in Porto."),
        ("I lead Kestrel.", "state", "Kestrel", "Mara leads Kestrel."),
        (
            "We decided to drop offline mode from Kestrel.",
            "decision",
            "drop offline mode from Kestrel.",
            "Decided to drop offline mode from Kestrel.",
        ),
        ("Kestrel is due on 2026-05-14.", "state", "Kestrel", "Kestrel is due on 2026-05-14."),
        ("Jonas leads Kestrel, so he has the last word.", "state", "Kestrel", "Jonas leads Kestrel."),
        ("And Ines is our designer, she starts today.", "fact", "Ines", "Ines is the team's designer."),
        ("Tomas prefers Polars over pandas.", "preference", "Tomas", "Tomas prefers Polars over pandas."),
        ("The budget for Atlas is 40,000 euros.", "state", "Atlas", "The budget for Atlas is 40,000 euros."),
    ],
)
def test_what_is_said_plainly(sentence: str, kind: str, about: str, statement: str) -> None:
    """Who speaks is called by name; the rest keeps its words."""
    found = plain_claim(sentence, "Mara")
    assert found is not None
    assert (found.kind, found.about, found.statement) == (kind, about, statement)


@pytest.mark.parametrize(
    "sentence",
    [
        "Do I prefer tabs?",
        "I like it.",
        "I like the idea.",
        "I'd like to talk about tabs.",
        "I used to live in Porto.",
        "I might move to Porto.",
        "If Kestrel is due on 2026-05-14, we are late.",
        "Kestrel will be due on 2026-05-14.",
        "Tomas says Atlas is in production.",
        "We decided on that.",
        "We have not decided to drop Kestrel.",
        "We need to ship Kestrel by 2026-05-14.",
        "Jonas could lead Kestrel.",
        'She said "Kestrel is cancelled".',
        "I'm working for a company.",
        "The queue is down to 12 tickets.",
        "Let's call it a day, we decided to take a break.",
    ],
)
def test_in_doubt_nothing(sentence: str) -> None:
    """Questions, suppositions, wishes, the past, hearsay, plans, and what hangs on other words."""
    assert plain_claim(sentence, "Mara") is None


def test_nobody_claims_nothing_of_himself() -> None:
    """Who speaks has to be known by name."""
    assert plain_claim("I prefer tabs over spaces.") is None


@pytest.mark.parametrize(
    ("statement", "slot"),
    [
        ("Kestrel is due on 2026-05-14.", "date of kestrel"),
        ("The Kestrel beta moved to 12 May.", "date of kestrel beta"),
        ("Atlas is blocked by the tax service.", "status of atlas"),
        ("Tomas leads Atlas now.", "lead of atlas"),
        ("Atlas is led by Tomas.", "lead of atlas"),
        ("The budget for Atlas is 40,000 euros.", "budget of atlas"),
        ("Jonas lives in Antwerp.", "lives in of jonas"),
        ("Kestrel uses Postgres 16.", ""),
    ],
)
def test_of_some_matters_only_one_is_so_at_a_time(statement: str, slot: str) -> None:
    """However it is worded, it is one slot."""
    assert slot_of(statement) == slot


def test_a_page_calls_what_it_is_about_by_its_title() -> None:
    """What begins with the title is said of it; a name in an introduction is a given one."""
    found = claim_of("Atlas", "Atlas acts as a tiny knowledge base for the demo.")
    assert found is not None
    assert (found.kind, found.about) == ("fact", "Atlas")
    assert claim_of("Atlas", "Atlas will act as a base.") is None
    assert (introduced("Hello, my name is Emily."), introduced("I'm sorry."), introduced("I'm Busy.")) == (
        "Emily",
        "",
        "",
    )


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("I'm Nora again.", "Nora"),
        ("Hi, I'm Nora again, back from leave.", "Nora"),
        ("This is Nora Again.", "Nora"),
        ("I'm Nora speaking.", "Nora"),
        ("I'm Nora Lind again.", "Nora Lind"),
        ("I'm Nora Lind.", "Nora Lind"),
        ("My name is Nora Lind, from billing.", "Nora Lind"),
    ],
)
def test_introduced_name_with_an_adverb_behind_it_is_the_name_alone(sentence: str, name: str) -> None:
    """D7: an adverb is no family name."""
    assert introduced(sentence) == name
