"""Privacy classes of a text by its words: credentials, financial, health, legal, contact, personal (Dory 4.9's backfill).

A class is a proposal for a reader, no verdict: words alone say nothing about whose they are. Questions, wishes, and what is told of
"you", of people at large or of nobody ("walking can lower blood pressure") count for none; a short note needs no person ("Diagnosed with
asthma"). Secrets themselves belong to
``slowwave.texts.secrets``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

import numpy as np

from slowwave.texts import prefilter
from slowwave.texts.known_names import is_plain

PrivacyClass = Literal["credentials", "financial", "health", "legal", "contact", "personal"]

_WORDS: Final[dict[PrivacyClass, str]] = {  # an underscore stands for a space
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

CLASSES: Final[tuple[PrivacyClass, ...]] = tuple(_WORDS)
"""The most sensitive first."""


def _group(name: PrivacyClass) -> str:
    terms = sorted((re.escape(t.replace("_", " ")) for t in _WORDS[name].split()), key=len, reverse=True)
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
    """A class of ``CLASSES``, and the first word of the text that belongs to it, as a dictionary has it; of an address or a number its form
    alone, as its words tell what is private."""

    name: PrivacyClass
    word: str


def private_word(text: str) -> PrivateWord | None:
    """That of the most sensitive class that words of the text belong to, or None. Cost: linear."""
    found: dict[str, str] = {}
    for match in _CLASS.finditer(text.lower()):
        group = match.lastgroup or ""
        if group in _OF_A_PERSON and not _of_somebody(text, match.start()):
            continue
        found.setdefault("contact" if group in _FORMS else group, _FORMS.get(group, match.group()))
    return next((PrivateWord(name, found[name]) for name in CLASSES if name in found), None)


def _of_somebody(text: str, at: int) -> bool:
    """Whether the sentence around a place tells of somebody: of who speaks, of a person or a name, or as a note without a subject."""
    start = max((text.rfind(mark, 0, at) for mark in _STOPS), default=-1) + 1
    end = _END.search(text, at)
    sentence = text[start : end.end() if end else len(text)]
    if _GENERIC.search(sentence):
        return False
    named = any(not is_plain(word.lower()) for word in _CAPITALISED.findall(sentence))
    return bool(named or _SOMEBODY.search(sentence) or (len(sentence.split()) <= _NOTE and not _MAY.search(sentence)))


def privacy_class(text: str) -> str:
    """The most sensitive class that a word of the text belongs to, or an empty string. Cost: linear."""
    found = private_word(text)
    return found.name if found else ""


def private_words(texts: prefilter.Texts) -> Iterator[tuple[int, PrivateWord]]:
    """The place and the word of each text of a column that has one."""
    suspect = np.flatnonzero(prefilter.found(texts, f"(?i:{_MAY_HAVE})"))
    for place, text in zip(suspect.tolist(), texts.take(suspect).to_pylist(), strict=True):
        if found := private_word(text):
            yield place, found
