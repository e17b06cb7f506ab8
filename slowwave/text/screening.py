"""Screen a text for secrets, orders to models and hidden characters; quote it without them; find its privacy class."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from slowwave.text import prefilter
from slowwave.text.findings import KINDS, Detection, Kind, Severity, hidden, lookalikes, payload, without
from slowwave.text.injections import injections, may_hold
from slowwave.text.names import is_plain
from slowwave.text.secrets import MAY_HOLD, PROVED, secrets
from slowwave.text.sentences import sentences

# Cache of screening results and text keys: within a night each distinct text is screened once for all callers.
#
# The audit, the planners and the final check of the night's outcome read the same memories. The cache holds a digest of each text and the
# findings, or that there were none, but never the text. Only for short columns it holds the text and its key (``slowwave.text.keys``).

Findings = tuple[Detection, ...]

_KNOWN: Final[ContextVar[dict[bytes, Findings] | None]] = ContextVar("screened", default=None)
_KEYS: Final[ContextVar[dict[str, str] | None]] = ContextVar("keys", default=None)
_CLEAN: Final[ContextVar[set[bytes] | None]] = ContextVar("clean", default=None)

_MOST: Final = 200_000
"""Maximum number of texts that are remembered as clean, about 100 bytes each."""


@contextmanager
def each_text_once() -> Generator[None]:
    """Remember what was found until the outermost of these ends: some 120 bytes a text."""
    if _KNOWN.get() is not None:
        yield
        return
    token, keys, clean = _KNOWN.set({}), _KEYS.set({}), _CLEAN.set(set())
    try:
        yield
    finally:
        _KNOWN.reset(token)
        _KEYS.reset(keys)
        _CLEAN.reset(clean)


def known() -> dict[bytes, Findings] | None:
    """Return the findings so far by ``text_key`` of the text; None if nothing is remembered."""
    return _KNOWN.get()


def known_keys() -> dict[str, str] | None:
    """Return the keys computed so far, by text; None if nothing is remembered."""
    return _KEYS.get()


def is_clean(text: str) -> bool:
    """Return whether a text is noted as having nothing to mask before it is quoted."""
    remembered = _CLEAN.get()
    return bool(remembered) and text_key(text) in remembered


def note_clean(text: str) -> None:
    """Remember that nothing of a text has to be marked."""
    remembered = _CLEAN.get()
    if remembered is not None:
        if len(remembered) >= _MOST:
            remembered.clear()
        remembered.add(text_key(text))


def text_key(text: str) -> bytes:
    """Return the digest under which a text is remembered; different texts have different digests unless BLAKE2 is broken."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


# Screening: secrets, orders to models, hidden characters and look-alike words of one text, and the text without them.
#
# A separate module detects each kind. This part combines them, so that a secret or an order is also found if hidden characters split it or
# spell it. A finding contains the kind and the place, never the detected text.

__all__ = [
    "KINDS",
    "Detection",
    "Kind",
    "Severity",
    "counting",
    "proof",
    "redact",
    "screen",
    "screen_all",
    "unsafe",
    "without_passages",
]

_AGAIN: Final = 8
_CARRIED: Final = "hidden order"
_PAGE: Final = 40
_ORDER_REMOVED: Final = "[removed by screening]"
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_WORDS: Final = {
    "secret": "it holds a secret",
    "injection": "it speaks to a model",
    "hidden": "it holds characters that nobody sees",
    "lookalike": "it holds a word of letters that only look alike",
}


def screen(text: str) -> tuple[Detection, ...]:
    """Return all findings by place.

    Within ``each_text_once`` a text is screened only once. Cost: linear in the text; about 50 microseconds for a message of 200
    characters without findings.
    """
    remembered = known()
    if remembered is None:
        return _read(text)
    key = text_key(text)
    found = remembered.get(key)
    if found is None:
        found = remembered[key] = _read(text)
    return found


def screen_all(texts: prefilter.Texts) -> Iterator[tuple[int, tuple[Detection, ...]]]:
    """Yield (place, findings) for each text of a column that has findings.

    Plain texts cost a few passes of RE2 over the column, the others as much as ``screen``.
    """
    suspect = np.flatnonzero(_may_hold(texts))
    for place, text in zip(suspect.tolist(), texts.take(suspect).to_pylist(), strict=True):
        if found := screen(text):
            yield place, found


def note_plain(texts: prefilter.Texts) -> None:
    """Remember within ``each_text_once`` that the plain texts of a column have no findings.

    A column of a few texts is not searched as a whole. A caller that screens many such columns passes all of their texts at once.
    """
    remembered = known()
    if remembered is not None:
        for text in texts.filter(pa.array(~_may_hold(texts))).to_pylist():
            remembered.setdefault(text_key(text), ())


def _may_hold(texts: prefilter.Texts) -> prefilter.Flags:
    return prefilter.found(texts, *MAY_HOLD) | may_hold(texts)


def _read(text: str) -> tuple[Detection, ...]:
    unseen = hidden(text)
    if not unseen:
        found = [*secrets(text), *injections(text), *lookalikes(text)]
        return tuple(sorted(found)) if found else ()
    plain, places = without(text, [(f.start, f.end) for f in unseen])
    below = [*secrets(plain), *injections(plain), *lookalikes(plain)]
    found = [Detection(places[f.start], places[f.end - 1] + 1, f.kind, f.rule, f.severity) for f in below]
    return tuple(sorted([*unseen, *found, *_carried(text, unseen)]))


def counting(findings: Iterable[Detection]) -> tuple[Detection, ...]:
    """Return the findings that lead to an action on a memory: stray marks and look-alike words alone do not."""
    return tuple(f for f in findings if f.severity != "low" and f.kind != "lookalike")


def proof(finding: Detection) -> str:
    """Return the pattern by which a finding proves itself (``slowwave.plans.items``), empty if it may be something else."""
    if finding.kind == "hidden" or finding.rule == _CARRIED:
        return "hidden characters"
    return PROVED.get(finding.rule, "") if finding.kind == "secret" else ""


def without_passages(text: str, findings: Iterable[Detection]) -> str:
    """Return a page with a marker for each secret, each hidden run and each sentence with an order; empty if it is not a page.

    A page has at least ``_PAGE`` words outside the sentences with findings, so that one line does not take the others with it. The
    result holds nothing that counts. Time: linear, for each of up to eight rounds.
    """
    found = counting(findings)
    for _ in range(_AGAIN):
        spans = _passages(text, found)
        words = len(_WORD.findall(text)) - sum(len(_WORD.findall(text[start:end])) for start, end in spans)
        if words < _PAGE:
            return ""
        orders = [Detection(start, end, "injection", "") for start, end in spans if _is_order(found, start, end)]
        text = _marked(text, _spans([*orders, *(f for f in found if f.kind in ("secret", "hidden"))]))
        found = counting(screen(text))
        if not found:
            return text
    return ""


def redact(text: str, findings: Iterable[Detection] | None = None) -> str:
    """Return the text with a marker for each secret and each hidden run that may carry content.

    Stray hidden characters are left out. Orders and look-alikes stay, because they are words. ``findings`` are those of ``screen``, if
    they are known. Findings that appear only in the redacted text are removed as well. If some remain after ``_AGAIN`` rounds, the result
    is empty.
    """
    found = tuple(screen(text) if findings is None else findings)
    for _ in range(_AGAIN):
        spans = _spans([f for f in found if f.kind in ("secret", "hidden")])
        if not spans:
            return text
        text = _marked(text, spans)
        found = screen(text)
    return "" if any(f.kind in ("secret", "hidden") for f in found) else text


def unsafe(text: str) -> str:
    """Return why a text must not be written where people and models trust it; empty if it may be written.

    The reason does not quote the text.
    """
    for finding in sorted(screen(text), key=lambda f: KINDS.index(f.kind)):
        if finding.severity != "low":
            return f"{_WORDS[finding.kind]} ({finding.rule})"
    return ""


def _carried(text: str, unseen: Sequence[Detection]) -> list[Detection]:
    """Return the orders that hidden characters encode: each run alone, and all runs of one rule together."""
    found = [
        Detection(f.start, f.end, "injection", _CARRIED)
        for f in unseen
        if f.end - f.start > 3 and injections(payload(text[f.start : f.end]))
    ]
    if found:
        return found
    for rule in {f.rule for f in unseen}:
        runs = [f for f in unseen if f.rule == rule]
        if len(runs) > 1 and injections(payload("".join(text[f.start : f.end] for f in runs))):
            found.append(Detection(runs[0].start, runs[-1].end, "injection", _CARRIED))
    return found


def _spans(found: Sequence[Detection]) -> list[tuple[int, int, str]]:
    """Return start, end and marker of the parts to replace, without overlap; secrets win, and overlapping parts are merged."""
    spans: list[tuple[int, int, str]] = []
    for f in sorted(found, key=lambda f: (f.start, f.kind != "secret", -f.end)):
        marker = f"[redacted: {f.rule}]" if f.kind == "secret" or f.end - f.start > 2 else ""
        if f.kind == "injection":
            marker = _ORDER_REMOVED
        if spans and f.start < spans[-1][1]:
            start, end, first = spans[-1]
            spans[-1] = (start, max(end, f.end), first or marker)
        else:
            spans.append((f.start, f.end, marker))
    return spans


def _passages(text: str, found: Sequence[Detection]) -> list[tuple[int, int]]:
    """Return the sentences that contain findings, line by line and without overlap."""
    spans: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        start = at
        for sentence in sentences(line):
            begin = text.find(sentence, start, at + len(line))
            if begin < 0:  # the splitter changed white space, so the line is used as the passage
                begin, sentence = at, line
            start = begin + len(sentence)
            if any(f.start < start and begin < f.end for f in found):
                spans.append((begin, start))
        at += len(line)
    return spans


def _is_order(found: Sequence[Detection], start: int, end: int) -> bool:
    return any(f.kind == "injection" and f.start < end and start < f.end for f in found)


def _marked(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, marker in spans:
        parts += (text[at:start], marker)
        at = end
    return "".join((*parts, text[at:]))


# Quotations of memory text in evidence, findings, summaries and errors, without anything that screening would redact.
#
# Evidence is kept long after its memory was redacted, and people who may not read memory can read it. Everything in a sealed plan, a report
# or the ledger passes through ``quotable``. Text that has to be cut passes through ``quote``, because no rule detects half a secret.

_SHORTEST: Final = 8
"""Minimum length of a secret in ASCII characters, even with its name."""

_LARGEST: Final = 10**11
"""Numbers of this size and above are screened like texts, because card numbers have more digits."""

_MANY: Final = 1_000
"""Number of values from which screening them as a column is faster than one by one."""

_OURS: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAMES_ONE: Final = re.compile(r"pass|pwd|secret|token|(?<![a-z])key|cred|auth(?!or)", re.IGNORECASE)

_NAMED: Final = r'(?i:pass|pwd|secret|token|key|cred|auth)[^"]*":'  # a key of which ``_NAMES_ONE`` may hold

_JSON: Final = json.JSONEncoder(ensure_ascii=False, default=str).encode

Known = dict[str, str]
"""Text → its quotable form; equal texts are screened once."""


def quote(text: str, longest: int) -> str:
    """Shorten a text to at most ``longest`` characters, with "…" at its end if it was cut.

    A longer text is screened before it is cut. A text that is short enough is returned unchanged, for ``quotable`` to check.
    """
    if len(text) <= longest:
        return text
    shown = _clean(text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def quotable(value: Any, known: Known | None = None) -> Any:
    """Return a JSON value with markers for secrets and hidden characters at every depth, including keys.

    A value without any is returned itself. A text whose key names it as a secret is checked together with its key. Time: linear in the
    distinct texts, each of which is checked once.
    """
    return _value(value, "", {} if known is None else known)


def quotable_all(values: Sequence[Any], written: Iterable[str] | None = None) -> list[Any]:
    """Return the result of ``quotable`` for each of some JSON values.

    Many values are searched as one column of JSON, and only those that may hold a finding are checked one by one. In that JSON a text
    appears unchanged, next to quotation marks, unless the JSON has a backslash. ``written`` is the JSON of the values without ASCII
    escapes, if the caller has it already.
    """
    known: Known = {}
    if len(values) < _MANY:
        return [quotable(value, known) for value in values]
    import pyarrow as pa  # pyarrow takes a while to load, and so do the rules of screening

    from slowwave.text import prefilter
    from slowwave.text.secrets import MAY_HOLD

    column = pa.array(map(_JSON, values) if written is None else written, pa.large_string())
    suspect = prefilter.found(column, *MAY_HOLD, _NAMED, r"\\").tolist()
    return [quotable(value, known) if may else value for value, may in zip(values, suspect, strict=True)]


def _value(value: Any, key: str, known: Known) -> Any:
    if isinstance(value, str):
        return _text(value, key, known)
    if value is None or isinstance(value, (float, bool)):
        return value
    if isinstance(value, Mapping):
        pairs = {_text(str(k), "", known): _value(v, str(k), known) for k, v in value.items()}
        same = len(pairs) == len(value) and all(k in pairs and pairs[k] is v for k, v in value.items())
        return value if same else pairs
    if isinstance(value, (list, tuple)):
        parts = [_value(part, key, known) for part in value]
        if all(a is b for a, b in zip(parts, value, strict=True)):
            return value
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, int) and abs(value) > _LARGEST:
        text = str(value)
        return value if _text(text, key, known) == text else _text(text, key, known)
    return value


def _text(text: str, key: str, known: Known) -> str:
    if len(text) < _SHORTEST and text.isascii() and not _names_one(key):
        return text
    clean = known.get(text)
    if clean is None:
        if _OURS.fullmatch(text):
            return text
        clean = known[text] = _clean(text)
    if clean == text and _names_one(key):
        clean = _named(text, key)
    return text if clean == text else clean


@lru_cache(1_024)  # evidence has few keys
def _names_one(key: str) -> bool:
    """Return whether a key names its value as a secret."""
    return _NAMES_ONE.search(key) is not None


def _clean(text: str) -> str:
    if is_clean(text):  # labels and headlines repeat from night to night and from user to user
        return text
    remembered = known()
    found = remembered.get(text_key(text)) if remembered else None
    if found is not None and all(f.kind not in ("secret", "hidden") for f in found):
        return text  # most quoted texts were screened before
    from slowwave.text.findings import hidden  # the rules of screening take a while to load
    from slowwave.text.secrets import secrets

    if hidden(text) or secrets(text):
        return redact(text)
    note_clean(text)
    return text


def _named(text: str, key: str) -> str:
    """Return a marker for a text that is a secret because of its key, otherwise the text."""
    from slowwave.text.secrets import secrets

    lead = f"{key}: "
    found = [f for f in secrets(lead + text) if f.end > len(lead)]
    return f"[redacted: {found[0].rule}]" if found else text


# Privacy classes of a text, by its words: credentials, financial, health, legal, contact, personal (as in the backfill of Dory 4.9).
#
# A class is a proposal for a reader and not a verdict, since words alone do not show whose data they are. Questions, wishes, and statements
# about "you", about people in general or about nobody ("walking can lower blood pressure") do not count. A short note needs no person
# ("Diagnosed with asthma"). ``slowwave.text.secrets`` detects the secrets themselves.

PrivacyClass = Literal["credentials", "financial", "health", "legal", "contact", "personal"]

_WORDS_SENSITIVITY: Final[dict[PrivacyClass, str]] = {  # an underscore means a space
    "credentials": """
        password passwords passphrase passcode credential credentials api_key api_keys private_key secret_key access_token
        login_details pin_code
        """,
    "financial": """
        salary salaries mortgage bank_account credit_card debit_card iban tax_return taxes debt debts loan loans invoice pension
        credit_score net_worth visa_card visa_cards
        """,
    "health": """
        diagnosis diagnosed medication medications prescription prescribed therapist surgery symptom symptoms disease cancer
        diabetes depression anxiety pregnant pregnancy blood_pressure allergic allergy hospital doctor's_appointment insulin asthma
        """,
    "legal": """
        lawsuit attorney lawyer divorce custody visa immigration contract_dispute subpoena probation arrested criminal_record
        """,
    "contact": """
        phone_number home_address email_address mailing_address mobile_number zip_code postcode emergency_contact
        """,
    "personal": """
        date_of_birth birthday social_security_number passport_number national_id driver's_license maiden_name religion
        sexual_orientation ethnicity
        """,
}

CLASSES: Final[tuple[PrivacyClass, ...]] = tuple(_WORDS_SENSITIVITY)
"""From the most to the least sensitive."""


def _group(name: PrivacyClass) -> str:
    terms = sorted((re.escape(t.replace("_", " ")) for t in _WORDS_SENSITIVITY[name].split()), key=len, reverse=True)
    return f"(?P<{name}>{'|'.join(terms)})"


_CLASS = re.compile(
    rf"\b(?:{'|'.join(map(_group, CLASSES))})\b"
    r"|(?P<address>(?<![\w.+\-])[\w.+\-]{1,64}@[\w\-]{1,64}\.[a-z]{2,24})"
    r"|(?P<phone>(?<!\d)\+\d{1,3}[ \-]?\(?\d{2,4}\)?(?:[ \-]?\d{2,4}){2,4}(?!\d))"
)

_FORMS: Final = {"address": "an e-mail address", "phone": "a telephone number"}
_OF_A_PERSON: Final = frozenset(("financial", "health", "legal", "personal"))
_STOPS: Final = ".!?\n"
_END: Final = re.compile(r"[.!?\n]+")
_GENERIC: Final = re.compile(
    r"\?|\b(?:you|your|yours|yourself|people|everyone|anyone|patients|happy birthday)\b", re.IGNORECASE
)
_SOMEBODY: Final = re.compile(
    r"\b(?:I|(?i:my|me|mine|we|our|us|he|she|his|her|hers|him|(?:the|this) (?:user|customer|client|patient)))\b|\w['’]s\b"
)
_CAPITALISED: Final = re.compile(r"\b[A-Z][a-z]+\b")
_MAY: Final = re.compile(r"\b(?:can|could|may|might|should|must|helps?|reduces?|lowers?|causes?)\b", re.IGNORECASE)
_NOTE: Final = 8  # words
_MAY_HAVE: Final = prefilter.relaxed(_CLASS.pattern)


class PrivateWord(NamedTuple):
    """Class of ``CLASSES`` and the first word of the text that belongs to it, in dictionary form.

    For an address or a number only its kind is given, because the words themselves are private.
    """

    name: PrivacyClass
    word: str


def private_word(text: str) -> PrivateWord | None:
    """Return the word of the most sensitive class to which words of the text belong, or None.

    Cost: linear.
    """
    found: dict[str, str] = {}
    for match in _CLASS.finditer(text.lower()):
        group = match.lastgroup or ""
        if group in _OF_A_PERSON and not _of_somebody(text, match.start()):
            continue
        found.setdefault("contact" if group in _FORMS else group, _FORMS.get(group, match.group()))
    return next((PrivateWord(name, found[name]) for name in CLASSES if name in found), None)


def _of_somebody(text: str, at: int) -> bool:
    """Return whether the sentence around a place is about a person.

    This is the speaker, another person or a name. A short note without a subject counts as well.
    """
    start = max((text.rfind(mark, 0, at) for mark in _STOPS), default=-1) + 1
    end = _END.search(text, at)
    sentence = text[start : end.end() if end else len(text)]
    if _GENERIC.search(sentence):
        return False
    named = any(not is_plain(word.lower()) for word in _CAPITALISED.findall(sentence))
    return bool(named or _SOMEBODY.search(sentence) or (len(sentence.split()) <= _NOTE and not _MAY.search(sentence)))


def privacy_class(text: str) -> str:
    """Return the most sensitive class to which a word of the text belongs, or an empty string.

    Cost: linear.
    """
    found = private_word(text)
    return found.name if found else ""


def private_words(texts: prefilter.Texts) -> Iterator[tuple[int, PrivateWord]]:
    """Yield the place and the private word of each text of a column that has one."""
    suspect = np.flatnonzero(prefilter.found(texts, f"(?i:{_MAY_HAVE})"))
    for place, text in zip(suspect.tolist(), texts.take(suspect).to_pylist(), strict=True):
        if found := private_word(text):
            yield place, found
