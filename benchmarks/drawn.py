"""Texts with drawn parts: ``{hex:40}`` becomes forty hexadecimal digits, so that no file of the project holds a secret, true or false.

``{an}`` letters and digits, ``{AN}`` capitals and digits, ``{az}`` small letters, ``{d}`` digits, ``{hex}``, ``{b64}`` and ``{url}`` the
characters of base64 and of its form for addresses, each with how many; ``{uuid}``, ``{word}``, ``{pw}`` (a password as people make
them), ``{card}`` and ``{iban}`` with right check digits; ``{base64:…}``, ``{hexadecimal:…}``, ``{rot13:…}``, ``{spaced:…}``,
``{reversed:…}`` of what follows; ``{}`` is nothing, and parts what scanners of repositories look for.
"""

from __future__ import annotations

import base64
import codecs
import re
import string
from collections.abc import Callable, Mapping
from random import Random
from typing import Final
from uuid import UUID

_PART: Final = re.compile(
    r"\{\}|\{(an|AN|az|d|hex|HEX|b64|url):(\d+)\}|\{(uuid|word|pw|card|iban)\}|\{(base64|hexadecimal|rot13|spaced|reversed):([^}]*)\}"
)
_ALPHABETS: Final = {
    "an": string.ascii_letters + string.digits,
    "AN": string.ascii_uppercase + "234567",
    "az": string.ascii_lowercase,
    "d": string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "b64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "-_",
}
_NAMES: Final = (
    *("harbor", "lantern", "copper", "meadow", "violin", "falcon", "pepper"),
    *("glacier", "anchor", "marble", "thunder", "saddle", "orchid", "canyon", "walnut"),
)
_ENCODED: Final[Mapping[str, Callable[[str], str]]] = {
    "base64": lambda said: base64.b64encode(said.encode()).decode(),
    "hexadecimal": lambda said: said.encode().hex(),
    "rot13": lambda said: codecs.encode(said, "rot13"),
    "spaced": lambda said: "  ".join(" ".join(word) for word in said.split()),
    "reversed": lambda said: said[::-1],
}


def drawn(template: str, random: Random) -> str:
    """The template with each part drawn by ``random``; other braces stay."""

    def part(match: re.Match[str]) -> str:
        kind, many, named, encoding, said = match.groups()
        if kind:
            return _some(_ALPHABETS[kind], int(many), random)
        if named:
            return _NAMED[named](random)
        return _ENCODED[encoding](said) if encoding else ""

    return _PART.sub(part, template)


def _some(alphabet: str, many: int, random: Random) -> str:
    """Characters that begin with no zero and have a letter and a digit among them, where there are such and room for them."""
    found = [random.choice(alphabet) for _ in range(many)]
    if found and found[0] == "0":
        found[0] = "7"
    for place, kind in enumerate((string.digits, string.ascii_lowercase, string.ascii_uppercase), 1):
        common = [c for c in kind if c in alphabet and c != "0"]
        if common and many > 6:
            found[place * many // 4] = random.choice(common)
    return "".join(found)


def _password(random: Random) -> str:
    one, two = random.sample(_NAMES, 2)
    forms = (
        f"{one.title()}{random.choice('!#$%&')}{two.title()}{random.randint(10, 99)}",
        f"{one}{random.randint(1950, 2020)}{random.choice('!?*')}",
        _some(_ALPHABETS["an"], 11, random) + random.choice("!%?"),
        f"{one[:3].upper()}{two}{random.randint(100, 999)}",
    )
    return random.choice(forms)


def _card(random: Random) -> str:
    digits = f"4539{_some(string.digits, 11, random)}"
    total = sum(sum(divmod(int(d) * (2 - k % 2), 10)) for k, d in enumerate(digits))
    number = f"{digits}{-total % 10}"
    return " ".join(number[k : k + 4] for k in range(0, 16, 4))


def _iban(random: Random) -> str:
    account = f"37040044{_some(string.digits, 10, random)}"
    number = f"DE{98 - int(f'{account}131400') % 97:02}{account}"
    return " ".join(number[k : k + 4] for k in range(0, len(number), 4))


_NAMED: Final[Mapping[str, Callable[[Random], str]]] = {
    "uuid": lambda random: str(UUID(int=random.getrandbits(128), version=4)),
    "word": lambda random: random.choice(_NAMES),
    "pw": _password,
    "card": _card,
    "iban": _iban,
}
