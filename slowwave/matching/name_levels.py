"""How the names of pairs agree: the strongest level that holds, from different upward, and how much information they share.

What a level is worth belongs to ``slowwave.matching.weights``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA, JaroWinkler

from slowwave.matching.names import LONGEST
from slowwave.matching.population import Population
from slowwave.matching.values import each_pair
from slowwave.matching.words import WordInformation

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Levels = NDArray[np.int8]

NAME_LEVELS: Final[Mapping[str, tuple[float, str]]] = {
    "different": (-4.0, "The names differ"),
    "similar": (-2.5, "The names have some words in common, others differ"),
    "replaced": (-1.0, "A few words of the names differ"),
    "alike": (0.0, "The names differ by some letters"),
    "extended": (0.5, "All words of one name stand in the other"),
    "contained": (2.0, "All words of one name, two or more, stand in the other"),
    "explained": (2.5, "What one name says more stands in the attributes of the other"),
    "initials": (3.0, "One name has initials of the other"),
    "spelling": (3.0, "The names differ in spelling only"),
    "acronym": (4.0, "One name is the acronym of the other"),
    "nickname": (4.5, "One name has a short form of the other's first name"),
    "coded": (4.5, "The names have the same model codes, and a word besides"),
    "reordered": (4.5, "The names have the same words in another order"),
    "alias": (5.0, "One name is a recorded alias of the other"),
    "compact": (5.5, "The names are the same but for spaces, titles or legal form"),
    "exact": (6.0, "The names are the same"),
    "organisation": (8.0, "The names are of one organisation, whatever the abbreviations, legal form and address"),
}
"""Name level → prior weight and how a person says it, weakest first; the position is the code."""

LEVEL: Final[Mapping[str, int]] = {level: k for k, level in enumerate(NAME_LEVELS)}


_SHORT: Final = 24  # letters up to which Jaro-Winkler tells names apart: long ones that begin alike all look similar


def shared(matrix: Any, i: Ints, j: Ints) -> Reals:
    """How many columns of a 0/1 matrix the two rows of each pair share."""
    if not matrix.nnz or not len(i):
        return np.zeros(len(i))
    return np.asarray(matrix[i].multiply(matrix[j]).sum(axis=1), float).ravel()


def name_levels(population: Population, words: WordInformation, i: Ints, j: Ints) -> tuple[Levels, Reals]:
    """How the names of pairs agree, the strongest level that holds, and how much information (nats) they share."""
    names = population.names
    found = np.zeros(len(i), np.int8)

    def raise_to(level: str, where: NDArray[np.bool_]) -> None:
        np.maximum(found, np.where(where, LEVEL[level], 0), out=found, casting="unsafe")

    def equal(codes: Ints) -> NDArray[np.bool_]:
        return (codes[i] == codes[j]) & (codes[i] >= 0)

    raise_to("exact", equal(names.plain))
    raise_to("compact", equal(names.compact))
    raise_to("reordered", equal(names.ordered))
    if population.known_as.shape[1]:
        raise_to("alias", shared(population.known_as, i, j) > 0)
    for a in names.nickname.T:
        for b in names.nickname.T:
            raise_to("nickname", (a[i] == b[j]) & (a[i] >= 0))
    for a in names.acronym.T:
        raise_to("acronym", (a[i] == names.short[j]) & (a[i] >= 0))
        raise_to("acronym", (a[j] == names.short[i]) & (a[j] >= 0))
    raise_to("initials", equal(names.initial) & (names.abbreviated[i] | names.abbreviated[j]))
    plain, mended = words.shared(i, j)
    left = np.flatnonzero(found < LEVEL["acronym"])
    found[left] = np.maximum(found[left], _word_levels(population, words, i[left], j[left], plain[left], mended[left]))
    whole = np.isin(found, [LEVEL[level] for level in ("nickname", "compact", "exact")])
    information = np.where(whole, np.minimum(words.total[i], words.total[j]), np.maximum(plain, mended))
    return found, information


def _word_levels(
    population: Population, words: WordInformation, i: Ints, j: Ints, plain: Reals, mended: Reals
) -> Levels:
    """Levels of names that are not the same in any form: by letters when short, by what is left of their words else."""
    names = population.names
    level = np.zeros(len(i), np.int8)
    over = [1 - mended / np.maximum(words.mended_total[rows], 1e-9) for rows in (i, j)]
    fewer, more = np.minimum(*over), np.maximum(*over)
    level[(mended > 0) & (more <= 0.8)] = LEVEL["similar"]
    level[(more <= 0.35)] = LEVEL["replaced"]
    level[(fewer <= 1e-6) & (mended > 0)] = LEVEL["extended"]
    naming = np.where(over[0] <= 1e-6, words.naming[i], words.naming[j])
    level[(fewer <= 1e-6) & (mended > 0) & (naming > 1)] = LEVEL["contained"]
    level[(more <= 1e-6) & (mended > 0)] = LEVEL["spelling"]
    short = np.flatnonzero(np.maximum(names.length[i], names.length[j]) <= LONGEST)
    p, q = i[short], j[short]
    letters = np.minimum(names.length[p], names.length[q])
    allowed = np.where(letters >= 12, 2, np.where(letters >= 6, 1, 0))
    squeezed, folded = (names.squeezed[p], names.squeezed[q]), (names.folded[p], names.folded[q])
    edits = each_pair(*squeezed, OSA.distance, 2, np.int32)
    winkler = each_pair(*folded, JaroWinkler.similarity, 0.84, np.float32)  # a little under the least that counts
    ratio = each_pair(*squeezed, OSA.normalized_similarity, 0.79, np.float32)
    alike = (ratio >= 0.9) | ((winkler >= 0.92) & (ratio >= 0.8) & (letters <= _SHORT))
    by_letters = np.where(alike, LEVEL["alike"], np.where((winkler >= 0.85) & (letters <= _SHORT), LEVEL["similar"], 0))
    by_letters = np.where((edits <= allowed), LEVEL["spelling"], by_letters)
    level[short] = np.maximum(level[short], by_letters)
    return level
