"""Numbers and their nouns."""

import pytest

from slowwave.text.tokens import counted


@pytest.mark.parametrize(("number", "said"), [(0, "0 items"), (1, "1 item"), (2, "2 items"), (1200, "1,200 items")])
def test_a_noun_follows_its_number(number: int, said: str) -> None:
    assert counted(number, "item") == said


def test_a_plural_that_is_no_s_more() -> None:
    assert [counted(n, "memory") for n in (1, 2)] == ["1 memory", "2 memories"]
    assert [counted(n, "item waits", "items wait") for n in (1, 2)] == ["1 item waits", "2 items wait"]
