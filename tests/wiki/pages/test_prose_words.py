"""Which statements stand on a page outside of Slowwave's blocks, and which do not."""

from __future__ import annotations

import pytest

from slowwave.sources.blocks import section_block
from slowwave.wiki.pages.subject_page import ProseWords

BODY = f"""# Rowan is a boat.

Works from Oslo. Asks for *plain* [words](https://example.org), and
for short ones.

- Async-first.
- [ ] Costs $5.
- Lives in Oslo (no longer true).
<!-- - Hidden tea. -->

{section_block("Summary", "Told by us.")}

## Timeline

- 2026-01-01 to 2026-03-01: State: Tea \\_at\\_ four. [28c55d46](claim:28c55d46-0000) (`sources/imported/old.md`)
- **2026-02-03** — Bought the Heron.

### Older

Began in May (`notes/may.md`)

## Evidence

- `people/mara.md`
"""


@pytest.mark.parametrize(
    ("statement", "says", "dates"),
    [
        ("works from oslo", True, False),
        ("Works from Oslo. Asks for plain words, and for short ones.", True, False),
        ("Async-first!", True, False),
        ("Async first", False, False),
        ("Costs $5.", True, False),
        ("Costs €5.", False, False),
        ("Works from", False, False),
        ("Lives in Oslo.", False, False),
        ("Hidden tea.", False, False),
        ("Told by us.", False, False),
        ("Rowan is a boat.", False, False),
        ("Tea _at_ four.", True, True),
        ("Bought the Heron.", True, True),
        ("2026-02-03 — Bought the Heron.", True, True),
        ("Began in May.", True, True),
        ("...", False, False),
    ],
)
def test_a_statement_stands_where_whole_sentences_have_its_words(statement: str, says: bool, dates: bool) -> None:
    """Not in a part of one, in a heading, in a comment or in a block; in the timeline alone where it is dated."""
    words = ProseWords.from_body(BODY)
    assert (words.says(statement), words.dates(statement)) == (says, dates)


def test_a_hostile_page_is_read_in_linear_time() -> None:
    """Runs of one character that a rule looks for, and nothing behind them: a rule that tried each place would never end."""
    for run in ("_", ".", " ", "*", "[", "(`", "<!--", "> ", "[["):
        assert not ProseWords.from_body(f"# a{run * 200_000}b\n\na{run * 200_000}b").says("Tea.")


def test_what_has_ended_is_dated_by_the_day_of_its_end() -> None:
    """Else the page would not say that it has."""
    words = ProseWords.from_body(BODY)
    assert [words.dates("Tea _at_ four.", day) for day in ("2026-03-01", "2026-04-01")] == [True, False]


def test_places_are_named_as_they_are_written_and_a_damaged_page_says_nothing() -> None:
    words = ProseWords.from_body(BODY)
    assert [words.names(place) for place in ("people/mara.md", "sources/imported/old.md", "people")] == [
        True,
        True,
        False,
    ]
    assert not ProseWords.from_body(BODY.replace("<!-- slowwave:end -->", "")).says("Async-first.")
