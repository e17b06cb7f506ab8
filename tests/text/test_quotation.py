"""What is quoted holds no secret, whole or half, and nothing else changes."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from slowwave.plans.show import reworded_line
from slowwave.text.quotation import quotable, quotable_all, quote, quote_change
from tests.text.made_secrets import Maker

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
    """Plain values come back themselves; a secret counts wherever it stands, behind an escape, as a key and because of its key."""
    values: list[object] = [{"says": f"Rita keeps {n} hens.", "more": [f"and {n} geese"], "n": n} for n in range(1_200)]
    secrets: list[object] = [
        {"it": f"holds {TOKEN}"},
        {"it": f"\n{TOKEN}"},
        {TOKEN: 1},
        {"the api_key": Maker(2).some(24)},
        {"card": 4539148803436467},
        {"hidden": "wo\u200brd here"},
    ]
    found = quotable_all([*values, *secrets])
    assert all(a is b for a, b in zip(found, values, strict=False))
    assert found[len(values) :] == [quotable(value) for value in secrets]
    assert all(a != b for a, b in zip(found[len(values) :], secrets, strict=True))
    assert quotable_all(secrets) == found[len(values) :]


@given(
    words=st.lists(
        st.sampled_from(["the", "crane", "opens", "on", "Friday", "and", "Mara", "walks", "home", "early"]),
        min_size=1,
        max_size=200,
    ),
    at=st.integers(0, 199),
    later=st.integers(0, 199),
)
def test_versions_of_a_text_are_cut_at_the_same_words(words: list[str], at: int, later: int) -> None:
    """Two dates are added somewhere: the comparison shows no other difference, at least the first of them, and nothing is too long."""
    at, later = sorted((at % len(words), later % len(words)))
    after = [*words[: at + 1], "(2023-05-05)", *words[at + 1 : later + 1], "(2023-05-06)", *words[later + 1 :]]
    old, new = quote_change(" ".join(words), " ".join(after), 300)
    assert (len(old) <= 300, len(new) <= 300) == (True, True)
    line = reworded_line(old, new)
    assert "[-" not in line
    added = [part.strip() for part in re.findall(r"{\+(.*?)\+}", line)]
    assert added[0].startswith("(2023-05-05)")
    assert set("".join(added).replace(")(", ") (").split()) <= {"(2023-05-05)", "(2023-05-06)"}


def test_inserted_note_is_one_run_of_whole_words() -> None:
    """The note has the words and the full stop that follow it."""
    note = " (later, on 2026-10-09: “My dentist is Dr. Falkner”)"
    line = reworded_line("My dentist is Dr. Falk. I sing.", f"My dentist is Dr. Falk{note}. I sing.")
    assert line.endswith(f"Dr. Falk{{+{note}+}}. I sing.")
    line = reworded_line("My dentist is Dr. Falk. I sing.", "My dentist is Dr. Falk senior. I sing. I sing.")
    assert line.endswith("Dr. Falk{+ senior. I sing+}. I sing.")
    assert reworded_line("I sing a b. I row.", "I sing. I row.").endswith("I sing[- a b-]. I row.")


def test_change_at_the_end_of_a_long_text_is_quoted() -> None:
    """A cut at one length showed nothing of it, or a loss that there was not."""
    before = f"{'The crane stands still. ' * 60}It opens on Friday."
    old, new = quote_change(before, before.replace("Friday", "Friday (2023-05-05)"), 400)
    assert reworded_line(old, new).endswith("It opens on Friday{+ (2023-05-05)+}.")
    assert quote_change("short", "shorter", 400) == ("short", "shorter")
    text = f"{'a ' * 300}{TOKEN} opens it."
    assert TOKEN[:8] not in "".join(quote_change(text, f"{text} Again.", 200))
