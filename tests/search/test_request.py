"""What may be asked of a search."""

import pytest
from pydantic import ValidationError

from slowwave.search.request import SearchRequest


@pytest.mark.parametrize(
    ("alias", "mode"),
    [("text", "bm25"), ("keyword", "bm25"), ("lexical", "bm25"), ("semantic", "vector"), ("hybrid", "hybrid")],
)
def test_dory_modes_have_their_aliases(alias: str, mode: str):
    assert SearchRequest.model_validate({"query": "q", "mode": alias}).mode == mode


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 51},
        {"mode": "fuzzy"},
        {"query": ""},
        {"query": " \n\u3000"},
        {"corpus": "none"},
        {"min_score": 1},
        {"scope": {"x": 1}},
    ],
)
def test_what_cannot_be_asked_is_refused(wrong: dict[str, object]):
    with pytest.raises(ValidationError):
        SearchRequest.model_validate({"query": "q"} | wrong)
