"""What is quoted holds no secret, whole or half, and nothing else changes."""

from __future__ import annotations

from slowwave.texts.quotation import plain, quotable, quote
from tests.texts.made_secrets import Maker

TOKEN = f"ghp{'_'}{Maker(1).some(36)}"


def test_a_value_without_secrets_is_itself() -> None:
    value = {"names": ["Rita keeps 12 hens."], "n": 4, "at": ("2024-01-02", None), "key": "9f86d081884c7d65"}
    assert quotable(value) is value


def test_secrets_go_in_every_depth_and_as_keys() -> None:
    value = {"a": [{"b": f"it is {TOKEN}"}], TOKEN: 1, "c": ("x", TOKEN), "card": 4539148803436467}
    found = quotable(value)
    assert TOKEN[:20] not in str(found)
    assert (found["c"][0], found["a"][0]["b"]) == ("x", "it is [redacted: github token]")
    assert "4539" not in str(found)


def test_a_name_beside_a_value_makes_it_a_secret() -> None:
    secret = Maker(2).some(24)
    assert secret not in str(quotable({"api_key": secret}))
    assert quotable({"author": "Rita Falk", "tokens_before": 500}) == {"author": "Rita Falk", "tokens_before": 500}


def test_a_secret_is_not_cut_in_two() -> None:
    text = f"{'a ' * 90}{TOKEN} opens it. {'b ' * 90}"
    assert TOKEN[:8] not in quote(text, 200)
    assert len(quote(text, 200)) <= 200
    assert quote("short", 200) == "short"


def test_what_is_looked_through_as_a_column_is_quoted_as_ever() -> None:
    """Plain texts are known before they are asked for, those with a secret are not, and names of secrets still count."""
    values = [{"says": f"Rita keeps {n} hens.", "more": [f"and {n} geese by the pond"]} for n in range(600)]
    secret = {
        "it": f"holds {TOKEN}",
        "api_key": Maker(2).some(24),
        "card": "4539148803436467",
        "hidden": "wo\u200brd here",
    }
    known = plain([*values, secret, "9f86d081-884c-7d65-9f86-d081884c7d65", "short"])
    assert len(known) == 1_200 + 1  # the value of api_key is no secret without its name
    assert quotable([*values, secret], known) == quotable([*values, secret]) != [*values, secret]
    assert plain(values[:2]) == {}
