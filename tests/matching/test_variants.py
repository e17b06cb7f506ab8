"""Tests of offers of one model that differ in a word of no list: colours, materials, tastes, plugs."""

import pyarrow as pa
import pytest

from slowwave.matching import match_entities
from slowwave.matching.match import Matches

KINDS = ("desk lamp", "door mat", "rain coat", "table cloth")


def offers(*ends: str, sources: tuple[str, ...] = ("mill",)) -> Matches:
    """Thirty models, each with one name for every end, whose prices say nothing; end k stands in source k, the last in all others."""
    rows = [
        {
            "id": f"{model}-{k}",
            "entity_type": "product",
            "name": f"Torvald QR{model * 37 + 211} {KINDS[model % 4]} {end}",
            "attributes": {"price": f"{20 + model}.50"},
            "source": sources[min(k, len(sources) - 1)],
        }
        for model in range(30)
        for k, end in enumerate(ends)
    ]
    return match_entities(pa.Table.from_pylist(rows))


@pytest.mark.parametrize(
    "ends",
    [
        ("in ochre", "in teal"),
        ("linen", "hemp"),
        ("slate blue", "rust"),
        ("flat plug", "round plug"),
        ("sugar free", "classic"),
    ],
)
def test_words_that_part_the_offers_of_a_model_merge_none_of_them(ends: tuple[str, str]) -> None:
    found = offers(*ends)
    assert found.merges == ()
    assert len({(q.a, q.b) for q in found.review}) == 30  # a person may say that they are one after all


def test_each_variant_merges_with_its_own_whatever_else_its_name_says() -> None:
    found = offers("ochre", "teal", "with shade, ochre", "with shade, teal")
    assert len(found.merges) == 60
    assert all(int(a[-1]) % 2 == int(b[-1]) % 2 for a, b in found.merges)


def test_words_of_two_shops_may_be_two_words_for_one_thing() -> None:
    assert len(offers("lantern", "luminaire", sources=("mill", "barn")).merges) == 30
