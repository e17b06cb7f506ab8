"""One counter of tokens for what goes in, what comes out and what is saved."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slowwave.text.tokens import count, counts


@pytest.mark.parametrize(("characters", "tokens"), [(1500, 375), (1501, 376), (2000, 500), (0, 0), (1, 1)])
def test_plugged_ins_count_of_outputs_is_the_count_of_everything(characters: int, tokens: int) -> None:
    """Its golden values for outputs are 375, 376 and 500; for inputs it has 500, 501 and 667 for the same texts, which we leave."""
    assert count("x" * characters) == tokens


def test_a_column_is_counted_by_the_same_rule() -> None:
    """Bytes, not characters: four of Chinese are twelve bytes, three tokens."""
    texts = ["", "abcd", "abcde", "记忆管理", None]
    for kind in (pa.string(), pa.large_string()):
        assert counts(pa.chunked_array([texts], kind)).tolist() == [0, 1, 2, 3, 0]
    assert [count(t or "") for t in texts] == [0, 1, 2, 3, 0]
