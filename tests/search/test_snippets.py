"""The part of a text that is shown."""

from hypothesis import given
from hypothesis import strategies as st

from slowwave.search.snippets import coverage, snippet
from slowwave.search.words import words


def test_a_snippet_is_around_the_hit():
    text = "filler " * 200 + "the ledger of the harbour " + "filler " * 200
    shown = snippet(text, {"ledger", "harbour"}, 240)
    assert "ledger of the harbour" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")


def test_a_short_text_is_shown_whole():
    assert snippet(" short text ", {"none"}, 240) == "short text"


@given(st.text(max_size=900), st.sets(st.text(min_size=1, max_size=5), max_size=4))
def test_no_snippet_is_longer_than_it_may_be(text: str, wanted: set[str]):
    assert len(snippet(text, wanted, 240)) <= 240


@given(st.text(max_size=200), st.text(max_size=30))
def test_words_between_spaces_are_those_of_the_text(text: str, query: str):
    """In any script, so that a part of a text is read once."""
    wanted = words(query)
    assert coverage(f"{text} {query}", wanted) == bool(wanted)
    assert coverage(text, wanted) == (len(set(wanted) & set(words(text))) / len(set(wanted)) if wanted else 0)


def test_coverage_counts_words_once_whatever_their_form():
    assert coverage("Two ledgers, a ledger", ["ledger", "harbour"]) == 0.5
    assert coverage("anything", []) == 0
