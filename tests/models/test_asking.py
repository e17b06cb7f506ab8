"""One call within a budget, and the object in its answer."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from slowwave.models.panel import object_in


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('  ```\n{"a": {"b": []}}```\n', {"a": {"b": []}}),
        ("[1]", None),
        ('"a"', None),
        ('Here it is: {"a": 1}', None),
        ("", None),
        ("[" * 100_000, None),
    ],
)
def test_the_object_is_the_whole_answer_or_there_is_none(answer: str, expected: Mapping[str, object] | None) -> None:
    assert object_in(answer) == expected
