"""Drawn texts: what stands for a secret in a file becomes one at run time, the same for the same seed."""

from __future__ import annotations

import base64
import re
from random import Random

from benchmarks.drawn import drawn


def test_parts_are_drawn_and_other_braces_stay() -> None:
    """So many characters of an alphabet; a variable of a shell is none."""
    assert re.fullmatch(r"a [0-9a-f]{40} b", drawn("a {hex:40} b", Random(1)))
    assert drawn("{}x{} ${VAR} {{ y }}", Random(1)) == "x ${VAR} {{ y }}"
    assert drawn("{an:12}", Random(1)) == drawn("{an:12}", Random(1)) != drawn("{an:12}", Random(2))


def test_cards_and_accounts_have_right_check_digits() -> None:
    """By Luhn and by ISO 13616."""
    for seed in range(20):
        card = drawn("{card}", Random(seed)).replace(" ", "")
        assert sum(sum(divmod(int(d) * (2 - k % 2), 10)) for k, d in enumerate(card)) % 10 == 0
        account = drawn("{iban}", Random(seed)).replace(" ", "")
        assert int("".join(str(int(c, 36)) for c in account[4:] + account[:4])) % 97 == 1


def test_disguises_are_made_of_what_follows() -> None:
    """Base64, hexadecimal digits, ROT13, single letters, backwards."""
    assert base64.b64decode(drawn("{base64:Go on.}", Random(1))) == b"Go on."
    assert drawn("{rot13:Go} {hexadecimal:Go} {spaced:go on} {reversed:go}", Random(1)) == "Tb 476f g o  o n og"
