"""Languages of texts: what counts as another language than English, and what counts as English because the evidence is not clear."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.languages import describe_languages, language_of, languages

FOREIGN = [
    ("Die Werft in Bremen öffnet um neun Uhr.", "de"),
    ("Mon frère habite à Lyon depuis deux ans.", "fr"),
    ("Mi hermana trabaja en un hospital de Sevilla.", "es"),
    ("Mia sorella lavora in un ospedale di Torino.", "it"),
    ("A minha irmã trabalha num hospital de Lisboa.", "pt"),
    ("我姐姐在上海的一家医院工作。", "zh"),
    ("姉は東京の病院で働いています。", "ja"),
    ("Моя сестра работает в больнице.", "ru"),
]
SENTENCES = ["The shipyard in Bremen opens at nine.", *(text for text, _ in FOREIGN)]


@pytest.mark.parametrize(("text", "language"), FOREIGN)
def test_language_of_plain_sentence_is_detected(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Danke!",
        "The shipyard in Bremen opens at nine.",
        "Sofía García López works at Telefónica",
        "Ordered pizza margherita and tiramisù",
        "Ich arbeite seit dem Sommer in Bremen and my sister works in Lyon.",
        "commit 5edff4ae6ff62c7e0bbfad624fc3d0ba7dc84392 https://example.org/a/b",
        "SELECT id FROM memories WHERE kind = 'event' LIMIT 10",
    ],
)
def test_language_of_english_short_or_mixed_text_is_unknown(text: str) -> None:
    """No English text is lost to the rules for English."""
    assert language_of(text) == ""


def test_languages_of_column_are_in_its_order() -> None:
    """A null has no language, and a column in chunks is read as one."""
    texts = pa.chunked_array(
        [["Ich wohne seit dem Sommer in Leipzig.", None], ["I live in Leipzig."]], pa.large_string()
    )
    assert languages(texts) == ["de", "", ""]


def test_describe_languages_names_the_most_frequent_first() -> None:
    assert describe_languages({"fr": 3, "de": 1_200}) == "German 1,200, French 3"


@given(st.lists(st.text(max_size=80) | st.sampled_from(SENTENCES).map(lambda s: s * 12), max_size=12))
def test_column_has_the_languages_of_its_texts_read_one_by_one(texts: list[str]) -> None:
    """Also texts longer than what is read, without features, and in capitals."""
    texts = [*texts, *map(str.upper, texts), *SENTENCES]
    assert languages(pa.array(texts, pa.large_string())) == [language_of(text) for text in texts]
