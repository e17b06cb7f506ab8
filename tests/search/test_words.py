"""One analysis of words: in Python, in Arrow and in the store."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.search.bm25 import split_words, stemmed
from slowwave.search.words import asked, words
from slowwave.store.connect import Store
from tests.memories import ask

TEXTS = (
    "ANNA’s Café, v2: berries and buses",
    "東京 tower … ไทย हिन्दी naïve—x_y 1.5 \u00a0 z",
    "it's “smart” ﬁne Ⅷ x² glass's  bus policies ties a\tb\nc 𝒳 🎉party",
    "ß É " + "l" * 40,
    "",
)


def of_column(text: str) -> list[str]:
    (found,) = split_words(pa.array([text], pa.large_string())).to_pylist()
    return stemmed(pa.array([w for w in found if w], pa.large_string())).to_pylist()


def test_words_are_folded_stemmed_and_unspaced_scripts_are_read_by_character():
    assert words(TEXTS[0]) == ["anna", "café", "v2", "berry", "and", "buse"]
    assert words("東京 tower…") == ["東", "京", "tower"]


@pytest.mark.parametrize("text", TEXTS)
def test_the_store_and_columns_split_as_queries_do(store: Store, text: str):
    assert of_column(text) == words(text)
    assert [word for (word,) in ask(store, "SELECT memory.search_words(%s)", text)] == words(text)


@given(st.text(alphabet=st.characters(max_codepoint=0x2FFF, exclude_characters="İ", exclude_categories=("Cs", "Cn"))))
def test_a_column_is_split_as_a_query_is(text: str):
    assert of_column(text) == words(text)


def test_stop_words_are_asked_for_where_there_is_nothing_else():
    assert asked("What is the fee of it?") == ["fee"]
    assert asked("Who is it?") == ["who", "i", "it"]
