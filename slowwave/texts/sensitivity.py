"""Privacy classes of a text by its words: credentials, financial, health, legal, contact, personal (Dory 4.9's backfill).

A class is a proposal for a reader, no verdict: words alone say nothing about whose they are. Secrets themselves belong to
``slowwave.texts.secrets``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from slowwave.texts import prefilter

_WORDS: Final = {  # an underscore stands for a space
    "credentials": """
        password passwords passphrase passcode credential credentials api_key api_keys private_key secret_key access_token
        login_details pin_code
        """,
    "financial": """
        salary salaries mortgage bank_account credit_card debit_card iban tax_return taxes debt debts loan loans invoice pension
        credit_score net_worth
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

CLASSES: Final = tuple(_WORDS)
"""The most sensitive first."""


def _group(name: str) -> str:
    terms = sorted((re.escape(t.replace("_", " ")) for t in _WORDS[name].split()), key=len, reverse=True)
    return f"(?P<{name}>{'|'.join(terms)})"


_CLASS = re.compile(
    rf"\b(?:{'|'.join(map(_group, CLASSES))})\b"
    r"|(?P<address>(?<![\w.+\-])[\w.+\-]{1,64}@[\w\-]{1,64}\.[a-z]{2,24})"
    r"|(?P<phone>(?<!\d)\+\d{1,3}[ \-]?\(?\d{2,4}\)?(?:[ \-]?\d{2,4}){2,4}(?!\d))"
)

_MAY_HAVE: Final = prefilter.relaxed(_CLASS.pattern)


def privacy_class(text: str) -> str:
    """The most sensitive class that a word of the text belongs to, or an empty string. Cost: linear."""
    found = {match.lastgroup for match in _CLASS.finditer(text.lower())}
    if found & {"address", "phone"}:
        found.add("contact")
    return next((name for name in CLASSES if name in found), "")


def privacy_classes(texts: prefilter.Texts) -> Iterator[tuple[int, str]]:
    """(place, class) of each text of a column that has one."""
    suspect = np.flatnonzero(prefilter.found(texts, f"(?i:{_MAY_HAVE})"))
    for place, text in zip(suspect.tolist(), texts.take(suspect).to_pylist(), strict=True):
        if name := privacy_class(text):
            yield place, name
