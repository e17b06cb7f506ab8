"""Secrets in a text: keys and tokens by the form that their issuer gave them, passwords by what is said of them, cards by their sum.

A provider's form is a rule of its own and is named after it. What has no form of its own (a password, a key of an unknown service)
is known by the name that it is given: ``password = …``, ``"api_key": "…"``, "my password is …". What only looks like a secret is
left out: examples and placeholders, references to variables and files, hashes, ids, public keys. The forms stand in
``secret_forms.toml``. Every pattern is linear: repeats are bounded, or cannot follow one another.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from slowwave.texts import prefilter, stated_secrets
from slowwave.texts.findings import Detection, Severity, outermost


class _Form(NamedTuple):
    """A provider's form: a literal that every such secret holds (small letters) and its pattern; the group ``s`` is the secret."""

    rule: str
    hint: str
    pattern: re.Pattern[str]
    severity: Severity = "high"
    entropy: float = 2.5


_EDGES: Final = {
    "{BEGIN-}": r"(?<![A-Za-z0-9_\-])",
    "{BEGIN}": "(?<![A-Za-z0-9_])",
    "{END-}": r"(?![A-Za-z0-9_\-])",
    "{END}": "(?![A-Za-z0-9])",
    "{UUID}": "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
}


def _form(row: Mapping[str, Any]) -> _Form:
    pattern = row["pattern"]
    for name, edge in _EDGES.items():
        pattern = pattern.replace(name, edge)
    severity = row.get("severity", "high")
    return _Form(row["rule"], row["hint"], re.compile(pattern), severity, row.get("entropy", 2.5))


_RULES: Final = tomllib.loads(Path(__file__).with_name("secret_forms.toml").read_text(encoding="utf-8"))
_FORMS: Final = tuple(map(_form, _RULES["forms"]))
PROVED: Final[Mapping[str, str]] = {
    **dict.fromkeys(_RULES["proved"]["checksummed"], "checksummed format"),
    **dict.fromkeys(_RULES["proved"]["prefixed"], "verified prefix"),
}
"""Rule → the pattern (``slowwave.config.decides_alone``) of secrets that prove themselves; other rules are not in it."""

_STRONG, _SECRETIVE, _HARMLESS_NAME, _PLACEHOLDER, _SEQUENCE = (
    re.compile("|".join(_RULES["named"][name]), re.IGNORECASE)
    for name in ("strong", "secretive", "harmless_name", "placeholder", "sequence")
)
_REFERENCE = re.compile(f"^(?:{'|'.join(_RULES['named']['reference'])})")

_KEYWORD = re.compile(
    r"(?i)pass|pwd|(?<![a-z])pw(?![a-z])|kennwort|contrase|senha|wachtwoord|пароль|密码|パスワード|secret|token|key|cred|auth"
)
_HINTS: Final = (
    *("pass", "pwd", "pw", "kennwort", "contrase", "senha", "wachtwoord", "пароль", "密码", "パスワード"),
    *("secret", "token", "key", "cred", "auth"),
)
_NAME_BEFORE = re.compile(r"[A-Za-z0-9_\-.]{0,50}\Z")
_WORD_BEFORE = re.compile(r"[A-Za-z]{2,14} \Z")
_ASSIGNED = re.compile(  # the rest of a name, what sets a value apart from it, and the value
    r"(?P<rest>[\w\-]{0,40})"
    r"(?:[\"'`\]]{0,3}[ \t]{0,3}(?P<sep>===?|:=|=>|->|=|:|,(?=[ \t]{0,3}[\"'])|\(|>)\s{0,3}"
    r"|(?P<of>[ \t]{1,2}(?:for|to|of|on)[ \t][^\n.:=;!?]{1,60}?)?[ \t]{1,3}"
    r"(?:is set to|is now|is still|is changed to|changed to|set to|is|was|ist|lautet|est|es|è|é)[: \t]{1,3}"
    r"|\s{0,2}[:：=＝是为]\s{0,2})"
    r"(?:[a-zA-Z]{0,2}(?P<quote>[\"'`]{1,3}|\*\*))?(?P<value>[^\s\"'`<>,;]{1,400})?"
)

_CALL = re.compile(r"^[A-Za-z_][\w.]{0,80}(?:\(|\[)|^[a-z_]{1,40}(?:\.[A-Za-z_]{1,40}){1,5}$|\)$")
_MANUAL_CLAIMS: Final = "eyJzdWIiOiIxMjM0NTY3ODkw"  # {"sub":"1234567890
_HASH = re.compile(
    r"^(?:(?:sha\d{1,3}|md5|blake2[bs]?|blake3)[-:=]|\$(?:2[aby]|argon2|5|6|1|scrypt|pbkdf2)\$|\{SSHA\})|^sha\d{3}-",
    re.IGNORECASE,
)
_DATE = re.compile(r"^[\d./:\-T+Z]{4,32}$")
_UUIDS = re.compile(_EDGES["{UUID}"])
_KEY_BODY = re.compile(r"[A-Za-z0-9+/]{24}|Private-MAC")
_ARN = re.compile(r"\barn:[\w:\-]*\Z")
_SENTENCE_END = re.compile(r"[.!?)\]}]+$")

_TEST_CARDS: Final = frozenset(
    ("4111111111111111", "4242424242424242", "5555555555554444", "378282246310005", "4012888888881881", "4000056655665556",
     "5105105105105100", "371449635398431", "6011111111111117", "3530111333300000", "4222222222222", "5200828282828210", "4000000000000002")
)  # fmt: skip
_CARD = re.compile(
    r"(?<![\w.\-/=#:])(?:(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|6(?:011|5\d{2}|4[4-9]\d)|35\d{2})"
    r"(?P<c>[ \-]?)\d{4}(?P=c)\d{4}(?P=c)\d{4}|3[47]\d{2}(?P<a>[ \-]?)\d{6}(?P=a)\d{5})(?![\w\-]|\.\d)"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_IBAN_LENGTHS: Final = (  # country and characters
    "AT20 BE16 BG22 CH21 CY28 CZ24 DE22 DK18 EE20 ES24 FI18 FR27 GB22 GR27 HR21 HU28 IE22 IT27 LI21 LT20 LU20 LV21 MT31 NL18 "
    "NO15 PL28 PT25 RO24 SE24 SI19 SK24 TR26 AE23 SA24 IL23 BR29 UA29"
)
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_AWS_NEAR = re.compile(r"(?i)aws|amazon|secret.?access.?key|AKIA|ASIA")
_DIGITS = re.compile(r"\d{4}[ \-]?\d{4,6}[ \-]?\d{4,5}")
_TOKEN = re.compile(r"[A-Za-z0-9+/_=.:~|\-]{16}|://|curl|sshpass|mysql|redis-cli|docker login|psk=|machine|BEGIN ")

_GIVEN: Final = (  # what sets a value apart from its name
    r"[\"'`\]]*\s*[=:,(>\-]"
    r"|(?:[ \t]+(?:for|to|of|on)[ \t][^\n.:=;!?]*)?[ \t]+(?:is|was|changed to|set to|ist|lautet|est|es)[: \t]"
)
_TOGETHER: Final = 40
"""Forms in one pattern: RE2's automaton of all of them is too large for its memory, and takes four times as long."""

MAY_HOLD: Final = (
    *(
        "|".join(prefilter.relaxed(f.pattern.pattern) for f in _FORMS[n : n + _TOGETHER])
        for n in range(0, len(_FORMS), _TOGETHER)
    ),
    r"[A-Za-z0-9/+]{40}",  # Amazon's
    prefilter.relaxed(_DIGITS.pattern),
    rf"(?i:(?:{'|'.join(_HINTS)})[\w\-]*(?:{_GIVEN}))",
    *stated_secrets.MAY_HOLD,
)
"""Patterns of RE2, for ``prefilter.found``: where none of them is found there is no secret."""


def secrets(text: str) -> list[Detection]:
    """Every secret that a rule knows, the first and longest where several do. Cost: linear in the text."""
    token = _TOKEN.search(text)
    small = text.lower()
    named = any([word in small for word in _HINTS])  # noqa: C419 - a list is faster than a generator for so few
    digits = _DIGITS.search(text)
    found: list[Detection] = []
    if token or named:
        found += (f for form in _FORMS if form.hint in small for f in _of_form(form, text))
        if "aws" in small or "amazon" in small or "akia" in small or "access" in small:
            found += _aws(text)
    if digits:
        found += (*_cards(text), *_ibans(text))
    if named:
        found += _apart(_assigned(text), found)
    found += _apart(stated_secrets.stated_secrets(text, small, _LIKENESS), found)
    return outermost(found) if found else found


def _apart(more: Iterable[Detection], sure: Sequence[Detection]) -> list[Detection]:
    """Findings that touch none of those that are surer."""
    spans = [(f.start, f.end) for f in sure]
    return [f for f in more if not any(s < f.end and f.start < e for s, e in spans)]


def _of_form(form: _Form, text: str) -> Iterator[Detection]:
    group = "s" if "s" in form.pattern.groupindex else 0
    for match in form.pattern.finditer(text):
        value = match[group]
        if form.entropy and (entropy(value) < form.entropy or _PLACEHOLDER.search(value)):
            continue
        sequence = form.entropy and _SEQUENCE.search(value)
        if sequence and form.rule not in PROVED:
            continue
        if form.rule == "openai key" and (_is_slug(value) or not re.search(r"\d.*[A-Z]|[A-Z].*\d|\d.*\d.*\d", value)):
            continue
        if form.rule == "json web token" and not _is_jwt(value):
            continue
        if form.rule == "private key" and not _KEY_BODY.search(value):
            continue
        if not form.entropy and form.rule != "private key" and not _says_something(value):
            continue
        # a key of the issuer's prefix and length may hold "1234567890" by chance or be a sample, so it proves nothing
        rule, severity = (f"possible {form.rule}", "medium") if sequence else (form.rule, form.severity)
        yield Detection(match.start(group), match.end(group), "secret", rule, severity)


def _assigned(text: str) -> Iterator[Detection]:
    """Values of names such as ``password``: those that look like what the name says, and like nothing harmless."""
    at, looked = 0, 0
    while keyword := _KEYWORD.search(text, at):
        at = keyword.end()
        match = _ASSIGNED.match(text, at)
        if not match or not match["value"]:
            continue
        looked += 1
        if looked > _MOST_LOOKED:
            at = match.end()  # values within values are for ordinary texts
        value, start = match["value"], match.start("value")
        name = _name(text, keyword.start()) + keyword[0] + match["rest"]
        if _HARMLESS_NAME.search(name) or _ARN.search(text, max(0, keyword.start() - 120), keyword.start()):
            continue
        if not match["quote"]:
            value = value if re.search(r"[(\[{]", value) else _SENTENCE_END.sub("", value)
            if match["sep"] in ("==", "===") and value.endswith(":"):  # the end of a condition
                value = value[:-1]
        elif match["quote"] == "**":
            value = value.removesuffix("**")
        rule = _kind_of(name, value, quoted=bool(match["quote"]), sep=match["sep"] or "")
        if rule:
            at = start + len(value)
            yield Detection(start, at, "secret", rule, "high" if len(value) > 7 else "medium")


def _name(text: str, end: int) -> str:
    """What stands before a keyword and belongs to the name: the beginning of an identifier, or the word before."""
    before = text[max(0, end - 50) : end]
    found = _NAME_BEFORE.search(before) if before and not before[-1].isspace() else _WORD_BEFORE.search(before)
    return found[0] if found else ""


def _kind_of(name: str, value: str, *, quoted: bool, sep: str) -> str:
    """The rule by which a named value is a secret, or an empty string."""
    if len(value) < 4 or _is_example(value) or _REFERENCE.match(value) or _HASH.match(value):
        return ""
    if not quoted and _CALL.search(value):
        return ""
    if sep in ("(", ">", ",") and not quoted:
        return ""
    letters, digits = any(c.isalpha() for c in value), any(c.isdigit() for c in value)
    signs = any(not c.isalnum() and c not in "_-." for c in value)
    if _STRONG.search(name):
        if _DATE.match(value) and not (quoted and len(value) > 7):
            return ""
        mixed = (letters and digits) or (signs and len(value) >= 6)
        if len(value) >= 6 and mixed and entropy(value) >= 2.0:
            return "password"
        # a word alone is a password where a program gives it, and only there
        plain = sep in _BY_PROGRAM or (quoted and sep == ":")
        if plain and len(value) >= 6 and not _is_identifier(value) and entropy(value) >= 2.3:
            return "password"
        return ""
    if _SECRETIVE.search(name):
        floor = 3.0 if len(value) < 24 else 3.2
        if _UUIDS.fullmatch(value):
            return "key or token" if re.search(r"(?i)api|secret|token|auth", name) else ""
        if len(value) >= 16 and digits and letters and entropy(value) >= floor and not _is_slug(value):
            return "key or token"
        if (
            len(value) >= 8
            and re.search(r"(?i)secret", name)
            and (digits or signs)
            and letters
            and entropy(value) >= 2.5
        ):
            return "key or token" if not _is_slug(value) else ""
        if (
            len(value) >= 20
            and quoted
            and letters
            and entropy(value) >= 4.0
            and re.search(r"[a-z]", value)
            and re.search(r"[A-Z]", value)
        ):
            return "key or token" if " " not in value and not _is_identifier(value) else ""
    return ""


_MOST_LOOKED: Final = 2_000
_BY_PROGRAM: Final = ("=", ":=", "=>", "(")


def _says_something(value: str) -> bool:
    """Whether a password in a URL or a command is one, and no placeholder or variable."""
    return (
        not _is_example(value)
        and not _REFERENCE.match(value)
        and not re.fullmatch(r"(?i)p(?:ass)?w?(?:or)?d?|\d{1,5}|[A-Z_]{3,}PASS(?:WORD)?", value)
    )


def _is_example(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value) or _SEQUENCE.search(value))


def _is_harmless(value: str) -> bool:
    return bool(_is_example(value) or _REFERENCE.match(value) or _HASH.match(value))


def _is_identifier(value: str) -> bool:
    """Words of a program: camel case, snake case or dotted, without digits that words do not have."""
    return bool(re.fullmatch(r"[a-z]+(?:[A-Z][a-z]+)+|[A-Za-z]+(?:[_\-.][A-Za-z]+)+|[A-Z]{2,}(?:_[A-Z]+)+", value))


def _is_slug(value: str) -> bool:
    """Words set apart by signs, with a number or a date here and there: ``release-2024-01-token-cache``."""
    parts = re.split(r"[_\-./:]", value)
    return len(parts) > 2 and all(re.fullmatch(r"[A-Za-z]{2,}\d{0,2}|\d{1,4}|[A-Za-z]|", p) for p in parts)


_LIKENESS: Final = stated_secrets.Likeness(_is_harmless, _is_slug)


def _is_jwt(value: str) -> bool:
    """Whether the first part of a token is JSON, and it is not the one of the manuals."""
    head, claims, *_ = f"{value}.".split(".")
    try:
        if not base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)).lstrip().startswith(b"{"):
            return False
    except (ValueError, binascii.Error):
        return False
    return not claims.startswith(_MANUAL_CLAIMS)


def entropy(value: str) -> float:
    """Shannon's entropy of the characters, in bits a character."""
    n = len(value)
    return -sum(k / n * math.log2(k / n) for k in Counter(value).values()) if n else 0.0


def _aws(text: str) -> Iterator[Detection]:
    """Forty characters that are no hash, not far after a word of Amazon's."""
    for match in _AWS_SECRET.finditer(text):
        value = match[0]
        if re.fullmatch(r"[0-9a-fA-F]{40}", value) or entropy(value) < 4.0 or _is_example(value):
            continue
        if value.count("/") > 6 or not re.search(r"\d", value):
            continue
        if _AWS_NEAR.search(text, max(0, match.start() - 120), match.start()):
            yield Detection(match.start(), match.end(), "secret", "aws secret key")


def _cards(text: str) -> Iterator[Detection]:
    for match in _CARD.finditer(text):
        number = re.sub(r"\D", "", match[0])
        if number not in _TEST_CARDS and number[:5] != "40000" and len(set(number)) > 4 and _luhn(number):
            yield Detection(match.start(), match.end(), "secret", "card number", "medium")


def _luhn(number: str) -> bool:
    doubled = (sum(divmod(2 * int(d), 10)) for d in number[-2::-2])
    return (sum(doubled) + sum(int(d) for d in number[-1::-2])) % 10 == 0


def _ibans(text: str) -> Iterator[Detection]:
    for match in _IBAN.finditer(text):
        number = match[0].replace(" ", "")
        if f"{number[:2]}{len(number)}" in _IBAN_LENGTHS:
            turned = "".join(str(int(c, 36)) for c in number[4:] + number[:4])
            if int(turned) % 97 == 1:
                yield Detection(match.start(), match.end(), "secret", "bank account", "low")
