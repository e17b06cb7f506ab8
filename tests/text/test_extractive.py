"""Extractive summaries keep every specific, say everything once, invent nothing, and say when they cannot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.extractive import Extract, Source, extract, split
from slowwave.text.specifics import specifics, unsaid
from slowwave.text.tokens import count

START = datetime(2026, 3, 1, tzinfo=UTC)


def told(*texts: str, room: int = 300) -> Extract:
    """Sources a, b, c … told a day after each other."""
    return extract([Source(chr(97 + n), t, START + timedelta(days=n)) for n, t in enumerate(texts)], room)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One ran. Two sat.", ["One ran.", "Two sat."]),
        ("Dr. Smith ran 3.5 km, e.g. for J. Doe. Fine!", ["Dr. Smith ran 3.5 km, e.g. for J. Doe.", "Fine!"]),
        ('"Go." she said. Then he went?', ['"Go." she said.', "Then he went?"]),
        ("- milk\n- 12 eggs\n\nDone", ["- milk", "- 12 eggs", "Done"]),
        ("他来了。她走了！好", ["他来了。", "她走了！", "好"]),
        ("use v1.2.3 at https://a.example/b.c now", ["use v1.2.3 at https://a.example/b.c now"]),
        ("  \n ", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, sentences: list[str]) -> None:
    """Abbreviations, initials, figures and addresses hold their full stops."""
    assert split(text) == sentences


def test_what_is_said_twice_stands_once_in_the_order_of_time() -> None:
    """Case, spaces and final marks make no other sentence; the earlier wording stays."""
    found = told("Mara likes tea.", "Jo has 3 dogs. MARA likes tea!", "Mara  likes tea")
    assert found.sentences == ("Mara likes tea.", "Jo has 3 dogs.")
    assert found.text == "Mara likes tea. Jo has 3 dogs."
    assert (found.cited, found.complete) == (("a", "b", "c"), True)


def test_every_specific_stays_and_filler_goes() -> None:
    """Numbers, dates, versions, names and what is denied are kept; what repeats in other words is not."""
    found = told(
        "The old pump of Hall 4 started on 2026-02-11. So the pump started.",
        "That old pump started. Rita does not trust version 2.3.1 of the controller.",
    )
    for term in ("Hall 4", "2026-02-11", "not trust", "2.3.1"):
        assert term in found.text
    assert found.text.count("started") == 1
    assert (found.cited, found.missing) == (("a", "b"), ())


def test_a_second_not_is_no_repetition_of_the_first() -> None:
    """Each thing that is denied is a specific of its own."""
    assert told("Rita does not eat fish.", "Rita does not drink milk.").text.count("not") == 2


def test_a_figure_stays_with_the_name_that_has_it() -> None:
    """The number and the name stand elsewhere; that they go together must not get lost all the same."""
    found = told("Here Anna Lee has 3 dogs.", "Here Anna Lee met Bob Ray.", "Here Bob Ray has 3 dogs.")
    assert len(found.sentences) == 3  # "met" is news, though all names stand elsewhere
    assert len(told("Here Anna Lee has 3 dogs.", "Anna Lee is here.", "Here Bob Ray has 3 dogs.").sentences) == 2


def test_where_there_is_no_room_it_says_what_is_missing_and_cites_nobody_it_cuts() -> None:
    """Nothing is dropped in silence: story "uncited members stay unmarked" begins here."""
    found = told("Hall 4 has 12 pumps.", "The gate of Port Vale passed 412 lorries on 2026-02-11.", room=6)
    assert (found.text, found.cited, found.complete) == ("Hall 4 has 12 pumps.", ("a",), False)
    assert {"412", "2026-02-11"} <= set(found.missing)


def test_a_sentence_too_long_for_the_room_is_left_out_whole() -> None:
    """A clause may turn round what its sentence says: "Refunds are given, unless …"."""
    text = (
        "The first shift counted 12 crates of nails, the second shift counted 7 barrels of oil, someone else the rest"
    )
    found = told(text, room=12)
    assert (found.sentences, found.complete) == ((), False)
    assert told("word " * 50, room=5).text == ""


def test_nothing_from_nothing() -> None:
    """No source, or none with a word."""
    assert extract([], 10) == Extract("", (), ())
    assert told("", "  ").text == ""


words = st.sampled_from(["Mara", "pump", "12", "not", "2026-02-11", "runs", "Hall", "tea", "v2.1", "five", "no", "the"])
texts = st.lists(st.lists(words, min_size=1, max_size=8).map(lambda w: " ".join(w) + "."), max_size=5).map(" ".join)


@given(st.lists(texts, max_size=5), st.integers(3, 60))
def test_it_is_made_of_sentences_fits_and_keeps_what_it_says_it_keeps(given_: list[str], room: int) -> None:
    """Whatever the sources: the text is theirs, within the room, and a cited source has no specific that it lacks."""
    found = told(*given_, room=room)
    everything = {s for t in given_ for s in split(t)}
    assert set(found.sentences) <= everything
    assert count(found.text) <= room
    for n, text in enumerate(given_):
        if chr(97 + n) in found.cited:
            assert not unsaid(specifics(text).terms(), [found.text])
    if found.complete:
        assert not unsaid(frozenset().union(*(specifics(t).terms() for t in given_)), [found.text])


def test_words_that_several_sentences_have_between_them_tell_nothing_of_another() -> None:
    """A question is told where one sentence has its words, not where two have half of them each: else its source is not cited."""
    told_ = told(
        "Do you have any recipes to recommend?",
        "I took a look at the recipes. Lentils were the best of them.",
        "Friends recommend the new cinema.",
        room=16,
    )
    assert "a" not in told_.cited or "recipes to recommend" in told_.text


@given(
    st.lists(
        st.sampled_from(["Mara likes tea.", "Jo has 3 dogs.", "It rained today.", "Ann paid Bob 40 euros."]), max_size=8
    )
)
def test_a_dated_extract_fits_and_names_who_says_each_part(texts: list[str]) -> None:
    """Days count within the room; every part begins with a day of one of its sources."""
    sources = [Source(chr(97 + n), t, START + timedelta(days=n // 2)) for n, t in enumerate(texts)]
    found = extract(sources, 20, dated=True)
    assert count(found.text) <= 20
    lines = found.text.split("\n") if found.text else []
    assert len(lines) == len(found.statements)
    at = {s.id: f"{s.at:%Y-%m-%d}" for s in sources}
    assert all(line[:10] in {at[id_] for id_ in ids} for line, ids in zip(lines, found.statements, strict=True))


def test_today_is_told_of_its_own_day_and_a_question_by_a_question() -> None:
    """What was felt on one day is not told by what was felt on another, nor "Where do you travel?" by who travels."""
    moods = [
        Source("a", "I felt very well today.", START),
        Source("b", "Jo Park says that I felt very well today.", START + timedelta(days=1)),
    ]
    assert "a" not in extract(moods, 40, dated=True).cited
    assert extract(moods, 40).cited == ("a", "b")
    asked = told("Where is Jo Park planning to travel?", "Jo Park has a plan to travel far. It is a long way.", room=16)
    assert "a" not in asked.cited or "Where" in asked.text
