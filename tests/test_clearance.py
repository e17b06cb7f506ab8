"""Clearance: only the one word of a person counts."""

from __future__ import annotations

import pytest

from slowwave.clearance import is_cleared


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ('{"screening": "cleared"}', True),
        ('{"screening": "cleared", "shock": true}', True),
        ('{"note": "cleared"}', False),
        ('{"screening": "to be cleared"}', False),
        ('["cleared"]', False),
        ("cleared", False),
        ("{}", False),
        (None, False),
    ],
)
def test_a_memory_is_cleared_by_its_attribute_alone(cell: object, expected: bool) -> None:
    """A memory that talks of clearing is not cleared by it."""
    assert is_cleared(cell) is expected
