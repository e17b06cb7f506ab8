"""Look-alike words: mixed scripts that pass for Latin, and what science and languages mix by right."""

from __future__ import annotations

import pytest

from slowwave.text.findings import lookalikes


@pytest.mark.parametrize("word", ["pаypal", "gооgle", "ignοre", "αpple", "Аmazon", "micrоsоft", "ᏢayPal", "wіndоws"])
def test_a_latin_word_with_a_borrowed_letter_is_found(word: str) -> None:
    """The reader sees a name he trusts; the machine sees another one."""
    text = f"log in to {word} now"
    assert [(text[f.start : f.end], f.severity) for f in lookalikes(text)] == [(word, "medium")]


def test_a_whole_word_of_look_alikes_in_a_latin_text_is_told_of() -> None:
    """Unicode's whole-script confusables; in a Russian text the same letters are Russian."""
    assert [f.severity for f in lookalikes("please visit аррӏе today and pay")] == ["low"]
    assert lookalikes("Он пошёл в хор и сел") == []


@pytest.mark.parametrize(
    "text",
    [
        "Δt and TNFα, kΩ, µm, β-carotene, αβγ, μm, IFN-γ",
        "SMSка от USB-кабеля и iPhone'ов",
        "Привет, мир! Καλημέρα κόσμε",
        "naïve café Zoë Łódź İstanbul",
        "boˈliβar and ˈθiŋ",
        "東京 2024年 서울 ไทย",
    ],
)
def test_signs_of_science_and_endings_are_left_alone(text: str) -> None:
    """A letter that nobody could take for a Latin one deceives nobody."""
    assert lookalikes(text) == []
