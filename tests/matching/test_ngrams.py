"""The letters of names as numbers."""

from __future__ import annotations

import numpy as np
import pytest

from slowwave.matching.blocks import CharacterNgrams


def letters(*texts: str) -> CharacterNgrams:
    return CharacterNgrams.from_texts(np.array(texts, np.object_))


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [
        ("jansen", "jensen", True),  # changed
        ("jansen", "janssen", True),  # inserted
        ("jansen", "janse", True),  # lost
        ("jansen", "jasnen", True),  # swapped
        ("jansen", "jansen", True),
        ("jansen", "jenson", False),
        ("jansen", "nansej", False),
        ("ab", "cd", False),
    ],
)
def test_one_slip_leaves_a_form_in_common(a: str, b: str, *, share: bool) -> None:
    """Two names share a form with a letter left out exactly when one slip parts them."""
    owner, form = letters("x", a, "yy", b).deletions(0, 4)
    assert bool(set(form[owner == 1].tolist()) & set(form[owner == 3].tolist())) is share


def test_parts_read_alone_are_the_whole_read_at_once() -> None:
    """Large populations are read in parts."""
    texts = letters("anna", "", "bo", "çelik", "anna")
    for read in (texts.triples, texts.deletions):
        whole, parts = read(0, 5), [read(0, 2), read(2, 5)]
        together = [np.concatenate([p[k] for p in parts]) for k in (0, 1)]
        assert sorted(zip(*(c.tolist() for c in whole), strict=True)) == sorted(
            zip(*(c.tolist() for c in together), strict=True)
        )


def test_triples_do_not_cross_from_one_name_into_the_next() -> None:
    """Four letters have two groups of three, two letters none."""
    owner, group = letters("abca", "bc", "abc").triples(0, 3)
    assert owner.tolist() == [0, 0, 2]
    assert group[0] == group[2] != group[1]
