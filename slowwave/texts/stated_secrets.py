"""Stated secrets: passwords, PINs, door codes, recovery codes, keys as people write them down, where no sign and no form sets them apart.

"The wifi password at the cabin is …", "login: bob / …", "use … as the password", "the gate code is …", "my datadog key …". What stands
where a secret would is judged by its looks: a word, a date, a version or a length is none. The words are English, with the commonest
of some other languages. Every pattern is linear: repeats are bounded, or cannot follow one another.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

from slowwave.texts.findings import Detection
from slowwave.texts.lexicon import is_known
from slowwave.texts.vocabulary import words_of


class Likeness(NamedTuple):
    """What ``slowwave.texts.secrets`` knows of any value: whether it is a placeholder or reference, or words set apart by signs."""

    harmless: Callable[[str], bool]
    slug: Callable[[str], bool]


def stated_secrets(text: str, small: str, likeness: Likeness) -> Iterator[Detection]:
    """Secrets of a text, ``small`` in small letters, in no order. Cost: linear, and next to nothing where no word names one."""
    if _SIGN.search(text):
        present = {word for word in _PASSWORD_HINTS if word in small}
        if present and _MIXED.search(text):
            yield from _passwords(text, present, likeness)
            yield from (f for f in _near(text) if not likeness.harmless(text[f.start : f.end]))
        if _NUMBER.search(text) and any([word in small for word in _CODE_HINTS]):  # noqa: C419 - a list is faster for so few
            yield from _codes(text)
    if any([word in small for word in _PHRASE_HINTS]):  # noqa: C419
        yield from _phrases(text)
    if any([word in small for word in _NAMED]) and _JOINED_WORDS.search(text):  # noqa: C419
        for match in _JOINED.finditer(text):
            if not is_known(match["s"]):
                yield Detection(match.start("s"), match.end("s"), "secret", "password")
    if any([word in small for word in _NAMED]) and _DASHED_WORDS.search(text):  # noqa: C419
        yield from _dashed(text)
    if any([word in small for word in _KEY_HINTS]) and _LONG.search(text) and _KEY_END.search(text):  # noqa: C419
        yield from _keys(text, likeness)


def _passwords(text: str, present: set[str], likeness: Likeness) -> Iterator[Detection]:
    for hints, pattern, strict in _PASSWORDS:
        if hints.isdisjoint(present):
            continue
        for match in pattern.finditer(text):
            group = str(match.lastgroup)
            value = _TAIL.sub("", match[group])
            slug = likeness.slug(value) and (strict or not _COINED.fullmatch(value))
            if _is_password(value, strict) and not likeness.harmless(value) and not slug:
                start = match.start(group)
                yield Detection(start, start + len(value), "secret", "password", "high" if len(value) > 7 else "medium")


def _codes(text: str) -> Iterator[Detection]:
    for rule, pattern in _CODES:
        for match in pattern.finditer(text):
            yield Detection(match.start("s"), match.end("s"), "secret", rule, "medium")


def _phrases(text: str) -> Iterator[Detection]:
    for match in _SEED.finditer(text):
        words = list(_LETTERS.finditer(match["s"]))
        of_list = list(takewhile(lambda word: word[0].lower() not in _NOT_LISTED, words))  # a sentence may go on
        if len(of_list) >= _SHORTEST_SEED:
            yield Detection(match.start("s"), match.start("s") + of_list[-1].end(), "secret", "recovery phrase")
    for match in _PASSPHRASE.finditer(text):
        if _GRAMMAR.isdisjoint(word.lower() for word in re.split(r"[ \-]+", match["s"].strip())):
            yield Detection(match.start("s"), match.end("s"), "secret", "password")


def _dashed(text: str) -> Iterator[Detection]:
    """Passwords of three or more words with dashes between them: "correct-horse-battery", and not "not-yet-set" or "prod-db-password"."""
    for match in _WORDS.finditer(text):
        group = str(match.lastgroup)
        if _NOT_IN_PASSWORDS.isdisjoint(match[group].lower().split("-")):
            yield Detection(match.start(group), match.end(group), "secret", "password", "medium")


def _keys(text: str, likeness: Likeness) -> Iterator[Detection]:
    for match in _KEY.finditer(text):
        value, between = match["s"], text[match.end("sort") : match.start("s")]
        named = bool(match["known"] or _KNOWN_PART.search(match["name"] or "") or _KNOWN_AFTER.search(between))
        if likeness.harmless(value) or _HARMLESS_KEY.search(text, max(0, match.start() - 16), match.start("sort")):
            continue
        if match["sort"].lower() == "key" and not named:
            continue
        if _UUID.fullmatch(value) or _HEXADECIMAL.fullmatch(value):
            good = named and len(value) >= 24
        else:
            mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
            good = mixed and len(value) >= 20 and not likeness.slug(value) and _bits(value) >= (3.2 if named else 3.6)
            good = good and (named or (any(c.isupper() for c in value) and any(c.islower() for c in value)))
            good = good or (named and len(value) >= 28 and value.isalpha() and _bits(value) >= 3.5)
        if good:
            yield Detection(match.start("s"), match.end("s"), "secret", "key or token")


def _near(text: str) -> Iterator[Detection]:
    """Words that look like nothing but a password, in a line that speaks of one not far from them; not in code."""
    for match in _TALKED_OF.finditer(text):
        begin, end = max(0, match.start() - _NEAR), min(len(text), match.end() + _NEAR)
        begin = max(text.rfind("\n", begin, match.start()) + 1, begin)
        stop = text.find("\n", match.end(), end)
        for word in _APART.finditer(text, begin, end if stop < 0 else stop):
            value = word[0].rstrip(".!?:")
            if (
                (word.start() == begin and begin)
                or value.startswith(("0x", "AAAA"))
                or not _LIKE_NONE_ELSE.fullmatch(value)
                or _ORDINARY.search(value)
            ):
                continue
            kinds = sum((any(map(str.islower, value)), any(map(str.isupper, value)), any(map(str.isdigit, value))))
            signs = any(c in "!@#$%^&*+=?~|" for c in word[0][1:])
            if any(map(str.isdigit, value)) and kinds + signs > 2 and (signs or not _PRODUCT.fullmatch(value)):
                yield Detection(word.start(), word.start() + len(value), "secret", "password", "medium")


def _is_password(value: str, strict: bool) -> bool:
    """Whether a word looks like a password; ``strict`` where little but its place says so."""
    if not 6 <= len(value) <= 64 or _ORDINARY.search(value):
        return False
    digits, letters = sum(c.isdigit() for c in value), sum(c.isalpha() for c in value)
    signs = any(c in "!@#$%^&*+=?~|" for c in value[1:])
    if not letters or not (digits or signs):
        return False
    if not strict:
        return True
    cased = any(c.islower() for c in value) and any(c.isupper() for c in value[1:])
    return bool(digits) and len(value) >= 7 and (signs or cased or digits > 1)


def _bits(value: str) -> float:
    """Shannon's entropy of the characters, in bits a character."""
    return -sum(k / len(value) * math.log2(k / len(value)) for k in Counter(value).values())


_FILE: Final = tomllib.loads(Path(__file__).with_name("stated_secrets.toml").read_text(encoding="utf-8"))


def _pattern(written: str) -> re.Pattern[str]:
    for name, piece in _FILE["pieces"].items():
        written = written.replace(f"{{{name}}}", piece)
    return re.compile(written, re.IGNORECASE)


class _StatedPattern(NamedTuple):
    """Words of which a text must hold one, the pattern, and whether it says so little that the value has to say more."""

    hints: frozenset[str]
    pattern: re.Pattern[str]
    strict: bool


def _stated_pattern(row: Mapping[str, Any]) -> _StatedPattern:
    hints = row["hints"]
    return _StatedPattern(
        frozenset(_FILE["hints"][hints] if isinstance(hints, str) else hints),
        _pattern(row["pattern"]),
        row.get("strict", False),
    )


_PASSWORDS: Final = tuple(map(_stated_pattern, _FILE["passwords"]))
_CODES: Final = tuple((str(row["rule"]), _pattern(row["pattern"])) for row in _FILE["codes"])
_SEED, _PASSPHRASE, _WORDS, _JOINED, _KEY, _KEY_END, _HARMLESS_KEY, _KNOWN_PART, _KNOWN_AFTER, _ORDINARY = (
    _pattern(_FILE["others"][name])
    for name in (
        "seed",
        "passphrase",
        "words",
        "joined",
        "key",
        "key_end",
        "harmless_key",
        "known_part",
        "known_after",
        "ordinary",
    )
)
_COINED: Final = re.compile(r"[A-Z][a-z]+-(?:[A-Z]?[a-z]+-){0,4}[A-Z][a-z]+\d{1,3}")
"""Words with a number behind the last, written as nobody writes a name: "Coffee-and-Cake99"."""

_TAIL: Final = re.compile(r"(?:[.!?:)\]}]|\*\*)+$")
_NEAR: Final = 48  # characters
_TALKED_OF: Final = re.compile(
    r"(?i)\b(?:pass(?:word|wort|code|phrase)|passwort|passwd|pwd?|kennwort|mot de passe|contrase[nñ]a|clave|senha|wachtwoord|wi-?fi|wlan|"
    r"guest network|log-?in|credentials|creds|decrypt|unlock|user(?:name)?|admin|basic auth|"
    r"ssid|ssh(?!-)|nas|router|vpn|portal|netflix|log into|"
    r"when it asks)\b"
)
_APART: Final = re.compile(r"(?<![^\s:/,(\"'`“])[^\s,;()\[\]{}<>\"'`“”:/]{8,40}(?![^\s.,;:!?)\"'`”])")
_LIKE_NONE_ELSE: Final = re.compile(r"[A-Za-z0-9!@#$%^&*+=?~|]+")
_PRODUCT: Final = re.compile(
    r"[A-Z]{0,5}[a-z]*(?:[A-Z][a-z]*)*\d{1,2}[A-Za-z]{0,6}|[A-Za-z]{1,4}\d+[A-Za-z]{0,3}|\d[A-Z][a-z]+|[0-9a-f]+|[A-Z0-9]+"
)
"""Names of products and types: "iPhone15Pro", "OAuth2", "SHA256withRSA"."""

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEXADECIMAL: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_GRAMMAR: Final = words_of("""
the and not for with that this from have has been must should can may will too very when than then but you your our his her their was are
into all any long short same only also before after never always required stored written kept case sensitive nowhere unknown lost somewhere
still used because
""")
"""Words of a sentence about a passphrase, of which none is in one."""


_NOT_IN_PASSWORDS: Final = _GRAMMAR | words_of("""
one two per off out far well yet now set use used using read write time date day days end auto self non pre post sub multi cross open
password passwords passcode pass secret token key keys name user users login admin root account auth access api app apps db sql database
prod production dev test staging config file files path url vault manager service server client cluster node id env var variable default
based like free safe wide proof friendly specific related level sensitive protected encrypted hashed salted generated managed shared stored
""")
"""Words of compounds that describe a password ("one-time-use") and of names in configurations ("prod-db-password")."""

_NOT_LISTED: Final = words_of("""
the and for with from not has was were are but your our his her their its she had been they did because others would could which whose
these those than
""")
"""Words of a sentence that no list for recovery phrases (BIP 39) has."""

_SHORTEST_SEED: Final = 12
_LETTERS: Final = re.compile(r"[A-Za-z]+")
_JOINED_WORDS: Final = re.compile(r"[a-z]{16}")
_DASHED_WORDS: Final = re.compile(r"[A-Za-z]{3}-[A-Za-z]{3,12}-[A-Za-z]{3}")
_SIGNS: Final = r"[\d!@#$%^&*+=?~|]"
_SIGN: Final = re.compile(r"[\d@#$%^&*+=~|]|[!?]\w")
_MIXED: Final = re.compile(rf"[A-Za-z][^\s]{{0,64}}?(?:\d|{_SIGNS}[^\s])|{_SIGNS}[^\s]{{0,64}}?[A-Za-z]")
_NUMBER: Final = re.compile(r"\d{3}|\d-\d|\d ?(?:left|right)\b")
_LONG: Final = re.compile(r"[A-Za-z0-9+/_\-]{20}")
_CODE_HINTS: Final = (
    *(
        "pin",
        "puk",
        "code",
        "combination",
        "combo",
        "geheimzahl",
        "opens",
        "cvv",
        "cvc",
        "lock",
        "safe",
        "codice",
        "código",
        "codigo",
        "kod ",
        "dial",
        "door",
        "gate",
        "vault",
        "otp",
    ),
    *("recovery", "backup", "back-up", "mfa"),
)
_PASSWORD_HINTS: Final = frozenset(word for row in _PASSWORDS for word in row.hints) | {
    "guest network",
    "admin",
    "decrypt",
    "unlock",
    "basic auth",
    "wlan",
    *("ssid", "ssh ", "nas ", "router", "vpn", "portal", "netflix", "log into", "when it asks"),
}
_NAMED: Final = ("passw", "passc", "passp", "pw", "kennwort", "mot de passe", "contrase", "senha", "wachtwoord")
_PHRASE_HINTS: Final = ("phrase", "mnemonic", "seed", "words")
_KEY_HINTS: Final = ("key", "token", "secret")


def _both(one: str, other: str) -> str:
    """A pattern of RE2 for texts with both."""
    return f"{one}(?s:.*){other}|{other}(?s:.*){one}"


def _of(words: Iterable[str]) -> str:
    return f"(?i:{'|'.join(re.escape(w) for w in sorted(words) if w.isascii())})"


MAY_HOLD: Final = (
    _both(_of(_PASSWORD_HINTS), rf"(?:[A-Za-z]\S*(?:\d|{_SIGNS}\S)|{_SIGNS}\S*[A-Za-z])"),
    _both(
        r"(?i:\bpin|\bpuk|code|codice|c.{1,2}digo|\bkod |dial|press|punch|key in|door|gate|vault|"
        r"combination|combo|geheimzahl|opens |\block|\bsafe|\bcvv|\bcvc|recovery|back-?up|bitlock|\botp)",
        r"(?:\d{3}|\d-\d|\d ?(?:left|right))",
    ),
    r"(?i:(?:seed|recovery|backup|wallet|mnemonic|secret) (?:phrase|words)|mnemonic|\bseed\b|pass[ -]?phrase|"
    r"(?:passw|pwd?\b|kennwort)[^\n]*[a-z]{16})",
    _both(_of(_NAMED), r"[A-Za-z]{3}-[A-Za-z]{3,12}-[A-Za-z]{3}"),
    rf"{_of(_KEY_HINTS)}(?s:.*)[A-Za-z0-9+/_\-]{{20}}",
)
"""Patterns of RE2, for ``prefilter.found``: where none of them is found nothing is told."""
