"""Secrets as people tell them: what is dialled, what opens a door, what a login asks for; and a column is looked through."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from benchmarks.drawn import drawn
from slowwave.text import prefilter, secrets
from slowwave.text.screening import redact

TOLD = [
    "SSID HausMeer, key {pw}",
    "Log into the portal as nina with {pw}.",
    "ssh deploy@10.0.0.4, it wants {pw}",
    "answer to the security question (first pet): {word}{d:2}!",
    "To get into the building dial {d:4} and wait.",
    "Our garage opens with {d:6}.",
    "front door {d:4}#, then press the bell",
    "voicemail {d:4} is the pin",
    "my debit card, the pin {d:4}",
    "She whispered the alarm code, {d:4}, to the sitter.",
    "The safe: {d:2} left, {d:2} right, {d:2} left",
    "il codice del cancello è {d:4}",
    "Le digicode est {d:4}.",
    "Set HMAC_KEY to {hex:64}.",
    "das Passwort für das NAS ist Kaffee-und-Kuchen{d:2}",
    "sudo pw on the lab machine: {word}{word}{word}{word}",
    "my 2FA code is {d:3} {d:3} hurry up",
    "encryption key (base64): {b64:43}=",
    "BitLocker key {d:6}-{d:6}-{d:6}-{d:6}-{d:6}-{d:6}-{d:6}-{d:6}",
    "seed phrase: {word} {word} {word} {word} {word} {word} {word} {word} {word} {word} {word} {word} The talk went on for hours.",
    "my key for the maps service, {an:39}, expires in May",
    "My password is {word}-{word}-{word}",
    "The new passcode for the shed: {word}-{word}-{word}-{word}, please keep it",
    "{word}-{word}-{word} is our password for the guest network.",
    "la contraseña es {word}-{word}-{word}",
]

NONE = [
    "He dialled 4455 and waited in line.",
    "Our garage opens with a remote; 1204 people asked.",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{b64:44} mara@laptop",
    "Log into the portal as nina with care.",
    "SSID HausMeer, key under the mat",
    "Twilio account AC{hex:32}",
    "the balance of the account is 0x{hex:40}",
    "sudo pw on the lab machine: compartmentalization",
    "my 2FA code has 6 digits, 583 of them",
    "Order 369454-474950 was shipped.",
    "The seed is where birds never find food because others take what little remains after every single winter that comes",
    "Turn 30 left, 20 right, 10 left on the path.",
    "Error 40013 is the pin that is loose.",
    "The password is not-yet-set on the new router.",
    "password: prod-db-password",
    "Our password is a one-time-use code.",
    "The password was end-to-end encrypted.",
    "State-of-the-art is the password manager of Rui.",
    "The password is on the back-of-house board, next to the first-aid-box.",
    "The passport is up-to-date-stamped, says Mara-Lena-Ida.",
    "pw reset flow: see reset-flow-v2.md",
]


@pytest.mark.parametrize("template", TOLD)
def test_what_is_told_is_found_in_a_text_and_in_a_column(template: str) -> None:
    """Whatever is drawn for the secret."""
    texts = [drawn(template, Random(n)) for n in range(5)]
    assert all(secrets.secrets(text) for text in texts)
    column = pa.array([*texts, *("sunny weather",) * prefilter.FEW])
    assert prefilter.found(column, *secrets.secret_marks())[:5].all()


@pytest.mark.parametrize("template", NONE)
def test_what_only_looks_so_is_none(template: str) -> None:
    """Numbers and words near doors, portals and pins."""
    assert not any(secrets.secrets(drawn(template, Random(n))) for n in range(5))


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("My password for the terminal is Hx7-Quay-2291!", "Hx7-Quay-2291!"),
        ("The wifi password is Tr0ub4dor&3xyz?!, as before.", "Tr0ub4dor&3xyz?!"),
        ("password: Hx7-Quay-2291! Keep it.", "Hx7-Quay-2291!"),
        ("My password is Hx7Quay2291!", "Hx7Quay2291"),
        ("My password is Hx7-Quay-2291.", "Hx7-Quay-2291"),
    ],
)
def test_redaction_takes_the_last_sign_of_a_password_that_contains_signs(text: str, hidden: str) -> None:
    """Its "!" or "?" may be part of it; a full stop and the "!" after letters and digits end the sentence."""
    assert redact(text) == text.replace(hidden, "[redacted: password]")


def test_each_recovery_code_of_a_list_is_redacted() -> None:
    """On lines of their own, with or without a mark; words that have a dash as well are none."""
    codes = [drawn("{hex:4}1-{hex:5}", Random(n)) for n in range(6)]
    text = "GitHub recovery codes:\n" + "\n".join(
        f"{mark}{code}" for mark, code in zip(("", "", "- ", "* ", "5. ", ""), codes, strict=True)
    )
    assert redact(text + "\nleft-over soup") == "GitHub recovery codes:\n[redacted: recovery code]\nleft-over soup"
