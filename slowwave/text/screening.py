"""Screen a text for secrets, orders to models and hidden characters; quote it without them; find its privacy class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from slowwave.text import prefilter
from slowwave.text.findings import (
    KINDS,
    KNOWN,
    PART_OF,
    Detection,
    Kind,
    Severity,
    hidden,
    lookalikes,
    payload,
    without,
)
from slowwave.text.injections import injections, may_hold
from slowwave.text.names import is_plain
from slowwave.text.screened import remembered_texts, text_key
from slowwave.text.secrets import PROVED, secret_marks, secrets
from slowwave.text.sentences import sentences

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
    "is_distinctive",
    "known_pattern",
    "proof",
    "redact",
    "repeated",
    "screen",
    "screen_all",
    "screen_together",
    "secret_values",
    "unsafe",
    "without_passages",
]

_AGAIN: Final = 8
_CARRIED: Final = "hidden order"
_PAGE: Final = 40
_PART: Final = 8
"""Characters of a secret by which a word is a part of it. Beside such a word, half as many are one as well."""

_PART_WORD: Final = re.compile(
    rf"(?<![A-Za-z0-9])(?!eyJ)(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{{{_PART // 2},}}(?![A-Za-z0-9])"
)
"""A word with a letter and a digit, but no header of a web token, which many share. Matches "q8Zr4Lw1"; not "password", "20261129"."""

_LONGEST_KNOWN: Final = 200  # characters; RE2 would need too much memory for longer values
_AT_ONCE: Final = 200  # values in one pattern

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

    Within ``each_text_once`` a text is screened only once. Cost: linear in the text.
    """
    remembered = remembered_texts()
    if remembered is None:
        return _read(text)
    key = text_key(text)
    found = remembered.findings.get(key)
    if found is None:
        found = remembered.findings[key] = _read(text)
    return found


def screen_all(texts: prefilter.Texts) -> Iterator[tuple[int, tuple[Detection, ...]]]:
    """Yield (place, findings) for each text of a column that has findings.

    Plain texts cost a few passes of RE2 over the column, the others as much as ``screen``.
    """
    suspect = np.flatnonzero(_may_hold(texts))
    for place, text in zip(suspect.tolist(), texts.take(suspect).to_pylist(), strict=True):
        if found := screen(text):
            yield place, found


def screen_together(texts: prefilter.Texts, kept: prefilter.Texts) -> Iterator[tuple[int, tuple[Detection, ...]]]:
    """Yield (place, findings) as ``screen_all`` does, and also the words of each text that are another text's secret or a part of it.

    The secrets are those of ``texts`` and of ``kept``. A part counts if the text has a word of letters and digits that is eight characters
    of one or more. Time: that of ``screen_all``, and if there are secrets, a pass over the words of ``texts`` for each ``_AT_ONCE``.
    """
    found = dict(screen_all(texts))
    known = secret_values(texts, found.items()) | secret_values(kept, screen_all(kept))
    for again in (repeated, _parts) if known else ():
        for place, more in again(texts, known):
            whole = found.get(place, ())
            more = [one for one in more if not any(one.start < f.end and f.start < one.end for f in whole)]
            found[place] = tuple(sorted([*whole, *more]))
    yield from sorted((place, some) for place, some in found.items() if some)


def secret_values(texts: prefilter.Texts, found: Iterable[tuple[int, tuple[Detection, ...]]]) -> set[str]:
    """Return the secrets among findings, given as (place, findings) of texts."""
    return {
        texts[place].as_py()[f.start : f.end]
        for place, some in found
        for f in some
        if f.kind == "secret" and f.severity != "low"
    }


def is_distinctive(secret: str) -> bool:
    """Return whether a secret is one wherever it is repeated: short values and numbers occur by accident."""
    return _PART <= len(secret) <= _LONGEST_KNOWN and not secret.isdigit()


def known_pattern(known: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for known secrets, which never matches if there are none. Time of a search: linear in text and secrets."""
    return re.compile(
        rf"(?<![^\W_])(?:{'|'.join(map(re.escape, sorted(known, key=len, reverse=True))) or '(?!)'})(?![^\W_])"
    )


def repeated(texts: prefilter.Texts, known: Iterable[str]) -> Iterator[tuple[int, list[Detection]]]:
    """Yield for each text the places where it repeats a known secret that is distinctive."""
    distinctive = sorted(filter(is_distinctive, known), key=lambda value: (-len(value), value))
    for start in range(0, len(distinctive), _AT_ONCE):
        some = distinctive[start : start + _AT_ONCE]
        pattern = known_pattern(some)
        for place in np.flatnonzero(prefilter.found(texts, "|".join(map(re.escape, some)))).tolist():
            if places := [m.span() for m in pattern.finditer(texts[place].as_py() or "")]:
                yield place, [Detection(*span, "secret", KNOWN, "medium") for span in places]


def _parts(texts: prefilter.Texts, known: Iterable[str]) -> Iterator[tuple[int, list[Detection]]]:
    """Yield for each text its words that are parts of known secrets, if one of them is long enough to be no accident."""
    together = "\n".join(sorted(known))
    begun = {together[n : n + _PART] for n in range(len(together) - _PART + 1)}
    for place in np.flatnonzero(prefilter.found(texts, rf"[A-Za-z0-9]{{{_PART}}}")).tolist():
        words = list(_PART_WORD.finditer(texts[place].as_py() or ""))
        if any(m[0][:_PART] in begun and m[0] in together for m in words):
            yield place, [Detection(*m.span(), "secret", PART_OF, "medium") for m in words if m[0] in together]


def note_plain(texts: prefilter.Texts) -> None:
    """Remember within ``each_text_once`` that the plain texts of a column have no findings.

    A column of a few texts is not searched as a whole. A caller that screens many such columns passes all of their texts at once.
    """
    remembered = remembered_texts()
    if remembered is not None:
        import pyarrow as pa

        for text in texts.filter(pa.array(~_may_hold(texts))).to_pylist():
            remembered.findings.setdefault(text_key(text), ())


def _may_hold(texts: prefilter.Texts) -> prefilter.Flags:
    return prefilter.found(texts, *secret_marks()) | may_hold(texts)


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
