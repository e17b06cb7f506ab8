"""The lexicon: what is a word, and what is made of words."""

from __future__ import annotations

import pytest

from slowwave.text.lexicon import is_known, is_word


@pytest.mark.parametrize(
    "word", ["word", "hypotension", "propene", "colour", "color", "café", "cafe", "zythum", "aahed", "kubernetes"]
)
def test_words_are_found(word: str) -> None:
    """The first and the last of the list as well, in British and American spelling, with accents and without; and terms of computing."""
    assert is_word(word)
    assert is_known(word)


@pytest.mark.parametrize(
    "word", ["", "a", "recieve", "definately", "Word", "word\n", "zzzzzz", "aaaa", "слово", "wor", "1234"]
)
def test_what_is_no_word(word: str) -> None:
    """Words under four letters, capitals and other alphabets are not in the list."""
    assert not is_word(word)
    assert not is_known(word)


@pytest.mark.parametrize("word", ["reindexing", "stacktraces", "sharding", "hypernormalised", "nonblocking"])
def test_what_is_made_of_words_is_known(word: str) -> None:
    """Behind a prefix, before an ending, two as one."""
    assert is_known(word)
