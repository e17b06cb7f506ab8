"""Model codes in names: written in other ways they are one, and a part that is made for a model is another thing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from slowwave.matching.organisations import ModelCodes
from slowwave.matching.population import Population


def same(a: str, b: str, *others: str) -> bool:
    names = [a, b, *others]
    rows = pa.table(
        {"id": [f"{k:03d}" for k in range(len(names))], "entity_type": ["product"] * len(names), "name": names}
    )
    return bool(ModelCodes.from_population(Population.from_table(rows)).same(np.array([0]), np.array([1]))[0])


@pytest.mark.parametrize(
    ("a", "b", "others"),
    [
        ("Veldran WH-1000XM4 headset", "Veldran over-ear headphones wh1000xm4", ()),
        (
            "Veldran RMA 5845 speaker",
            "Veldran coaxial pair RMA-5845",
            (),
        ),  # a space, as another name has the code whole
        ("Veldran KDL-46V41 24-inch screen", "Veldran screen KDL46V41 6x9-inch", ()),  # sizes are no codes
    ],
)
def test_one_code_in_other_writing_is_one_model(a: str, b: str, others: tuple[str, ...]) -> None:
    assert same(a, b, *others)
    assert same(b, a, *others)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Veldran WH-1000XM4 headset", "Veldran WH-1000XM5 headset"),
        ("Veldran AB-1205 camera", "battery for Veldran AB-1205 camera"),
        ("Veldran AB-1205 camera", "Veldran AB-1205 battery grip"),
        ("Veldran AB-1205 camera", "Veldran AB-1205 camera, refurbished"),
        ("Veldran AB-1205 camera", "remote RM-6071 for AB-1205"),
        ("Veldran camera", "Veldran camera"),
    ],
)
def test_other_codes_parts_and_offers_are_others(a: str, b: str) -> None:
    assert not same(a, b)
    assert not same(b, a)


def test_a_code_that_many_things_fit_is_no_model() -> None:
    """ "MP3" and the like stand beside many other codes."""
    others = [f"Kestrel usb30c hub K{k}-{k}000X" for k in range(1, 6)]
    assert not same("Veldran usb30c cable drum", "Kestrel usb30c hub drum", *others)
    assert same("Veldran QX-5000B usb30c hub", "Veldran hub QX5000B", *others)
