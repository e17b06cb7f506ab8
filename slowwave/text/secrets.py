"""Detection of secrets: keys and tokens by the issuer's format, and passwords and codes as people write them down."""

from __future__ import annotations

import base64
import binascii
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

from slowwave.text import prefilter
from slowwave.text.findings import Detection, Severity, outermost
from slowwave.text.lexicon import is_known
from slowwave.text.words import words_of

# Stated secrets: passwords, PINs, door codes, recovery codes and keys in prose, without a sign or a format that sets them apart.
#
# Examples: "The wifi password at the cabin is …", "login: bob / …", "use … as the password", "the gate code is …", "my datadog key …". The
# value is judged by its form: a word, a date, a version or a length is not a secret. The words are English, with the most common ones of
# some other languages. Every pattern is linear: repeats are bounded or cannot follow one another.


class Likeness(NamedTuple):
    """Tests of ``slowwave.text.secrets`` for any value.

    They check whether it is a placeholder or reference (``harmless``), or words separated by signs (``slug``).
    """

    harmless: Callable[[str], bool]
    slug: Callable[[str], bool]


def stated_secrets(text: str, small: str, likeness: Likeness) -> Iterator[Detection]:
    """Yield the secrets of a text, in no order; ``small`` is the text in lower case.

    Cost: linear, and negligible if no word names a secret.
    """
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
        for match in _compiled(pattern, re.IGNORECASE).finditer(text):
            group = str(match.lastgroup)
            value = _TAIL.sub("", match[group])
            slug = likeness.slug(value) and (strict or not _COINED.fullmatch(value))
            if _is_password(value, strict) and not likeness.harmless(value) and not slug:
                start = match.start(group)
                yield Detection(start, start + len(value), "secret", "password", "high" if len(value) > 7 else "medium")


def _codes(text: str) -> Iterator[Detection]:
    for rule, pattern in _CODES:
        for match in _compiled(pattern, re.IGNORECASE).finditer(text):
            yield Detection(match.start("s"), match.end("s"), "secret", rule, "medium")


def _phrases(text: str) -> Iterator[Detection]:
    for match in _SEED.finditer(text):
        words = list(_LETTERS.finditer(match["s"]))
        of_list = list(
            takewhile(lambda word: word[0].lower() not in _NOT_LISTED, words)
        )  # the sentence may continue after the phrase
        if len(of_list) >= _SHORTEST_SEED:
            yield Detection(match.start("s"), match.start("s") + of_list[-1].end(), "secret", "recovery phrase")
    for match in _PASSPHRASE.finditer(text):
        if _GRAMMAR.isdisjoint(word.lower() for word in re.split(r"[ \-]+", match["s"].strip())):
            yield Detection(match.start("s"), match.end("s"), "secret", "password")


def _dashed(text: str) -> Iterator[Detection]:
    """Yield passwords of three or more words joined by dashes.

    "correct-horse-battery" matches; "not-yet-set" and "prod-db-password" do not.
    """
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
    """Yield words that look only like a password, in a line that mentions one nearby; not in code."""
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
    """Return whether a word looks like a password; ``strict`` if little but its position suggests it."""
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
    """Return Shannon's entropy of the characters, in bits per character."""
    return -sum(k / len(value) * math.log2(k / len(value)) for k in Counter(value).values())


_FILE: Final = tomllib.loads(Path(__file__).with_name("stated_secrets.toml").read_text(encoding="utf-8"))


def _pattern(written: str) -> re.Pattern[str]:
    return _compiled(_with_pieces(written), re.IGNORECASE)


def _with_pieces(written: str) -> str:
    for name, piece in _FILE["pieces"].items():
        written = written.replace(f"{{{name}}}", piece)
    return written


@cache
def _compiled(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Compile a format or statement when its first text comes; all of them at import would take a fifth of a second."""
    return re.compile(pattern, flags)


class _StatedPattern(NamedTuple):
    """Words of which a matching text contains at least one, the pattern, and whether the value is checked strictly.

    A pattern is ``strict`` if it is weak evidence by itself.
    """

    hints: frozenset[str]
    pattern: str
    strict: bool


def _stated_pattern(row: Mapping[str, Any]) -> _StatedPattern:
    hints = row["hints"]
    return _StatedPattern(
        frozenset(_FILE["hints"][hints] if isinstance(hints, str) else hints),
        _with_pieces(row["pattern"]),
        row.get("strict", False),
    )


_PASSWORDS: Final = tuple(map(_stated_pattern, _FILE["passwords"]))
_CODES: Final = tuple((str(row["rule"]), _with_pieces(row["pattern"])) for row in _FILE["codes"])
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
"""Hyphenated words with a number after the last, in a form that no name has: "Coffee-and-Cake99"."""

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
"""Words of a sentence about a passphrase that do not occur in a passphrase."""


_NOT_IN_PASSWORDS: Final = _GRAMMAR | words_of("""
one two per off out far well yet now set use used using read write time date day days end auto self non pre post sub multi cross open
password passwords passcode pass secret token key keys name user users login admin root account auth access api app apps db sql database
prod production dev test staging config file files path url vault manager service server client cluster node id env var variable default
based like free safe wide proof friendly specific related level sensitive protected encrypted hashed salted generated managed shared stored
""")
"""Words in compounds that describe a password ("one-time-use") and in names of configurations ("prod-db-password")."""

_NOT_LISTED: Final = words_of("""
the and for with from not has was were are but your our his her their its she had been they did because others would could which whose
these those than
""")
"""Words of a sentence that are in no word list for recovery phrases (BIP 39)."""

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
    """Build an RE2 pattern for texts that match both patterns, in any order."""
    return f"{one}(?s:.*){other}|{other}(?s:.*){one}"


def _of(words: Iterable[str]) -> str:
    return f"(?i:{'|'.join(re.escape(w) for w in sorted(words) if w.isascii())})"


# Secrets in a text: keys and tokens by their issuer's format, passwords by the words around them, card numbers by their checksum.
#
# Each provider's format is a rule with the provider's name. Secrets without a format (a password, a key of an unknown service) are detected
# by their name: ``password = …``, ``"api_key": "…"``, "my password is …". Values that only look like secrets are excluded: examples and
# placeholders, references to variables and files, hashes, ids, public keys. The formats are in ``secret_forms.toml``. Every pattern is
# linear: repeats are bounded or cannot follow one another.


class _Form(NamedTuple):
    """Provider's format of a secret: a lower-case literal that every such secret contains, and its pattern.

    The group ``s`` of the pattern is the secret.
    """

    rule: str
    hint: str
    pattern: str
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
    return _Form(row["rule"], row["hint"], pattern, severity, row.get("entropy", 2.5))


_RULES: Final = tomllib.loads(Path(__file__).with_name("secret_forms.toml").read_text(encoding="utf-8"))
_FORMS: Final = tuple(map(_form, _RULES["forms"]))
PROVED: Final[Mapping[str, str]] = {
    **dict.fromkeys(_RULES["proved"]["checksummed"], "checksummed format"),
    **dict.fromkeys(_RULES["proved"]["prefixed"], "verified prefix"),
}
"""Rule → the pattern (``slowwave.plans.items``) of secrets whose format alone proves them. Other rules are missing."""

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
_ASSIGNED = re.compile(  # the rest of a name, the separator, and the value
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
_LAST_SIGNS = re.compile(r"[!?]+(?![\w!?])")
"""Signs at the end of a token: "!" of "Hx7-Quay-2291! ", not the one in "a-1!b"."""

_TEST_CARDS: Final = frozenset(
    ("4111111111111111", "4242424242424242", "5555555555554444", "378282246310005", "4012888888881881", "4000056655665556",
     "5105105105105100", "371449635398431", "6011111111111117", "3530111333300000", "4222222222222", "5200828282828210", "4000000000000002")
)  # fmt: skip
_CARD = re.compile(
    r"(?<![\w.\-/=#:])(?:(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|6(?:011|5\d{2}|4[4-9]\d)|35\d{2})"
    r"(?P<c>[ \-]?)\d{4}(?P=c)\d{4}(?P=c)\d{4}|3[47]\d{2}(?P<a>[ \-]?)\d{6}(?P=a)\d{5})(?![\w\-]|\.\d)"
)
_NEAR_CARD: Final = 120  # characters
_NUMBERED: Final = re.compile(
    r"\b(?:(?:order|tracking|invoice|ticket|customer|client|parcel|package|shipment|shipping|consignment|delivery|waybill|serial|reference|ref|"
    r"booking|reservation|confirmation|case|claim|contract|policy|member(?:ship)?|patient|employee|student|user|device|imei|part|item|article|"
    r"product|sku|barcode|ean|transaction|request|session|job|batch|record|document|file|incident|issue|message|post|tweet|meter|po|rma)s?"
    r"(?:['’]s)?(?:[ _-]?(?:number|no|nr|num|id|identifier|code|ref(?:erence)?)s?\b\.?)?"
    r"|(?:bestell|sendungs|rechnungs|kunden|auftrags|vorgangs|serien|referenz|paket|ticket|liefer)nummer|(?:sendungs|paket|kunden)-?id"
    r"|(?:numéro|número|numero|n[°º]) (?:de |di |d['’])?(?:commande|suivi|facture|client|série|colis|pedido|seguimiento|factura|"
    r"cliente|serie|envío|ordine|spedizione|fattura|rastreio|fatura|encomenda))"
    r"(?: (?:for|of|from|to) (?:[\w'’-]+ ){1,4}?)?[\s:#=(\"'`]{0,4}"
    r"(?:(?:is|was|are|ist|lautet|est|es|è|é|has|with(?= the (?:number|no\b|id))|the|number|no\.?|id)[\s:#=(\"'`]{1,4}){0,3}"
    r"(?:[\d -]{12,23}(?:, | and | or )){0,4}$",
    re.IGNORECASE,
)
"""The words before a number that is not a card's: "the tracking number of the parcel is …", not "For the order use …"."""

_CARD_DETAILS: Final = re.compile(
    r"\b(?:cvv|cvc|exp(?:ir\w+|\.)|valid (?:thru|until|through)|pin|visa|master ?card|amex)\b|\b(?:0[1-9]|1[0-2])/\d\d\b",
    re.IGNORECASE,
)
"""Words after a card's number: "…, exp 04/29", not "… was paid with card …", which has a number of its own."""

_CARD_WORDS: Final = re.compile(
    rf"{_CARD_DETAILS.pattern}|\b(?:(?:credit|debit|gift|bank)?[ -]?cards?|american express|maestro|discover|diners|credit|debit|"
    r"pay|pays|paid|paying|payments?|charge[ds]?|billed|\w*karten?|"
    r"carte|tarjeta|cart[ãa]o|carta|(?:be)?zahl\w*|pag[oa]\w*|paiement|payer)\b",
    re.IGNORECASE,
)
"""Words of cards and payments before a number."""

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_IBAN_LENGTHS: Final = (  # country code and length in characters
    "AT20 BE16 BG22 CH21 CY28 CZ24 DE22 DK18 EE20 ES24 FI18 FR27 GB22 GR27 HR21 HU28 IE22 IT27 LI21 LT20 LU20 LV21 MT31 NL18 "
    "NO15 PL28 PT25 RO24 SE24 SI19 SK24 TR26 AE23 SA24 IL23 BR29 UA29"
)
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_AWS_NEAR = re.compile(r"(?i)aws|amazon|secret.?access.?key|AKIA|ASIA")
_DIGITS = re.compile(r"\d{4}[ \-]?\d{4,6}[ \-]?\d{4,5}")
_TOKEN = re.compile(r"[A-Za-z0-9+/_=.:~|\-]{16}|://|curl|sshpass|mysql|redis-cli|docker login|psk=|machine|BEGIN ")

_GIVEN: Final = (  # separators between a name and its value
    r"[\"'`\]]*\s*[=:,(>\-]"
    r"|(?:[ \t]+(?:for|to|of|on)[ \t][^\n.:=;!?]*)?[ \t]+(?:is|was|changed to|set to|ist|lautet|est|es)[: \t]"
)
_TOGETHER: Final = 40
"""Number of formats in one pattern. One RE2 automaton for all of them exceeds its memory limit and takes four times as long."""


@cache
def secret_marks() -> tuple[str, ...]:
    """Return RE2 patterns for ``prefilter.found``: a text without a match contains no secret and states none."""
    formats = [prefilter.relaxed(form.pattern) for form in _FORMS]
    return (
        *("|".join(formats[n : n + _TOGETHER]) for n in range(0, len(formats), _TOGETHER)),
        r"[A-Za-z0-9/+]{40}",  # Amazon's
        prefilter.relaxed(_DIGITS.pattern),
        rf"(?i:(?:{'|'.join(_HINTS)})[\w\-]*(?:{_GIVEN}))",
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


def secrets(text: str) -> list[Detection]:
    """Return every secret that a rule knows; of overlapping ones the first and longest.

    Cost: linear in the text.
    """
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
    found += _apart(stated_secrets(text, small, _LIKENESS), found)
    return outermost([_with_its_end(f, text) for f in found]) if found else found


def _with_its_end(finding: Detection, text: str) -> Detection:
    """Return a password with its final "!" or "?", which may belong to it if it contains other signs: all of it has to be hidden."""
    last = _LAST_SIGNS.match(text, finding.end) if finding.rule == "password" else None
    signs = any(not (c.isalnum() or c.isspace()) for c in text[finding.start : finding.end])
    return replace(finding, end=last.end()) if last and signs else finding


def _apart(more: Iterable[Detection], sure: Sequence[Detection]) -> list[Detection]:
    """Return the findings that do not overlap any of the surer ones."""
    spans = [(f.start, f.end) for f in sure]
    return [f for f in more if not any(s < f.end and f.start < e for s, e in spans)]


def _of_form(form: _Form, text: str) -> Iterator[Detection]:
    pattern = _compiled(form.pattern)
    group = "s" if "s" in pattern.groupindex else 0
    for match in pattern.finditer(text):
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
        # A key with the issuer's prefix and length may contain "1234567890" by chance or be a sample, so it proves nothing.
        rule, severity = (f"possible {form.rule}", "medium") if sequence else (form.rule, form.severity)
        yield Detection(match.start(group), match.end(group), "secret", rule, severity)


def _assigned(text: str) -> Iterator[Detection]:
    """Yield the values of names such as ``password`` that look like a secret and not like anything harmless."""
    at, looked = 0, 0
    while keyword := _KEYWORD.search(text, at):
        at = keyword.end()
        match = _ASSIGNED.match(text, at)
        if not match or not match["value"]:
            continue
        looked += 1
        if looked > _MOST_LOOKED:
            at = match.end()  # the patterns for ordinary text find values within values
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
    """Return the text before a keyword that belongs to the name: the start of an identifier, or the preceding word."""
    before = text[max(0, end - 50) : end]
    found = _NAME_BEFORE.search(before) if before and not before[-1].isspace() else _WORD_BEFORE.search(before)
    return found[0] if found else ""


def _kind_of(name: str, value: str, *, quoted: bool, sep: str) -> str:
    """Return the rule by which a named value is a secret, or an empty string."""
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
        # A single word is a password only where a program writes it.
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
    """Return whether a password in a URL or a command is a real one rather than a placeholder or variable."""
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
    """Return whether a value is an identifier of a program: camel case, snake case or dotted, without digits."""
    return bool(re.fullmatch(r"[a-z]+(?:[A-Z][a-z]+)+|[A-Za-z]+(?:[_\-.][A-Za-z]+)+|[A-Z]{2,}(?:_[A-Z]+)+", value))


def _is_slug(value: str) -> bool:
    """Return whether a value is words joined by signs, with a few numbers or dates: ``release-2024-01-token-cache``."""
    parts = re.split(r"[_\-./:]", value)
    return len(parts) > 2 and all(re.fullmatch(r"[A-Za-z]{2,}\d{0,2}|\d{1,4}|[A-Za-z]|", p) for p in parts)


_LIKENESS: Final = Likeness(_is_harmless, _is_slug)


def _is_jwt(value: str) -> bool:
    """Return whether the first part of a token is JSON and the token is not the example from the manuals."""
    head, claims, *_ = f"{value}.".split(".")
    try:
        if not base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)).lstrip().startswith(b"{"):
            return False
    except (ValueError, binascii.Error):
        return False
    return not claims.startswith(_MANUAL_CLAIMS)


def entropy(value: str) -> float:
    """Return Shannon's entropy of the characters, in bits per character."""
    n = len(value)
    return -sum(k / n * math.log2(k / n) for k in Counter(value).values()) if n else 0.0


def _aws(text: str) -> Iterator[Detection]:
    """Yield runs of forty characters that are not a hash, shortly after a word of Amazon's."""
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
            # One number in ten has the check digit by chance, so a number that its text calls by another name proves nothing.
            rule = "possible card number" if _has_other_name(text, match.start(), match.end()) else "card number"
            yield Detection(match.start(), match.end(), "secret", rule, "medium")


def _has_other_name(text: str, start: int, end: int) -> bool:
    """Return whether a text calls a number an order, tracking, customer or serial number and the like.

    It does not if it mentions a card before the number, or gives details of one after it.
    """
    before, after = text[max(0, start - _NEAR_CARD) : start], text[end : end + _NEAR_CARD]
    if _CARD_WORDS.search(before) or _CARD_DETAILS.search(after):
        return False
    return _NUMBERED.search(text, max(0, start - _NEAR_CARD), start) is not None


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
