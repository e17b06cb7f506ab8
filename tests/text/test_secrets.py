"""Secrets: the forms of providers and the names of values; look-alikes are left alone."""

from __future__ import annotations

import pytest

from slowwave.text.findings import MOST
from slowwave.text.screening import proof
from slowwave.text.secrets import entropy, secrets
from tests.text.made_secrets import LETTERS, Maker, harmless_of, secrets_of


@pytest.mark.parametrize("seed", range(6))
def test_every_form_is_found_under_its_name(seed: int) -> None:
    """What an agent was told in confidence must not wander into a page that everybody reads."""
    missed = [(rule, [f.rule for f in secrets(text)]) for rule, text in secrets_of(seed) if not secrets(text)]
    assert missed == []
    wrong = [(rule, f.rule) for rule, text in secrets_of(seed) for f in secrets(text) if f.rule != rule]
    assert wrong == []


def test_key_of_an_issuer_that_holds_a_sequence_is_found_and_proves_nothing() -> None:
    """A real key may hold "1234567890", and so may a sample: a person is asked. A masked key and one of a manual are samples."""
    some = Maker(3).some
    possible = {
        f"ghp{'_'}0123456789{some(26)}": "possible github token",
        f"ghp{'_'}{'0123456789abcdefghijklmnopqrstuvwxyz'}": "possible github token",
        f"sk-{'proj'}-{some(32)}1234567890abcd": "possible openai project key",
        f"npm{'_'}{some(30)}abc123": "possible npm token",
    }
    for key, rule in possible.items():
        (found,) = secrets(f"Use {key} for the crane.")
        assert (found.rule, found.severity, proof(found)) == (rule, "medium", "")
    (proved,) = secrets(f"Use ghp{'_'}{some(36)} for the crane.")
    assert proof(proved) == "verified prefix"
    for sample in (f"ghp{'_'}{'x' * 36}", f"AKI{'A'}IOSFODNN7EXAMPLE", f"sk-{'1234567890abcdef' * 2}"):
        assert secrets(f"Use {sample} for the crane.") == []


@pytest.mark.parametrize("seed", range(6))
def test_look_alikes_are_left_alone(seed: int) -> None:
    """A scanner that cries at every hash of a lock file is switched off within a week."""
    assert [text for text in harmless_of(seed) if secrets(text)] == []


def test_only_the_value_is_marked() -> None:
    """Who reads the redacted memory still learns that there was a password, and for what."""
    value = Maker(1).some(12)
    (found,) = secrets(f"The password for the printer is {value}.")
    assert f"The password for the printer is {value}."[found.start : found.end] == value
    (found,) = secrets(f'DB_PASS="{value}" # production')
    assert found.start == len('DB_PASS="')


def test_card_numbers_and_accounts_need_their_check_digits() -> None:
    """Sixteen digits are an order number more often than a card."""
    card, account = " ".join(("4539", "1488", "0343", "6467")), " ".join(("DE89", "3704", "0044", "0532", "0130", "00"))
    assert [f.rule for f in secrets(f"card {card}, account {account}")] == ["card number", "bank account"]
    assert secrets(f"card {card[:-1]}8, account {account[:-1]}1") == []
    assert secrets("tweet 1592038475610293847, invoice 4111111111111111") == []


@pytest.mark.parametrize(
    "text",
    [
        "Order number {} was shipped.",
        "Tracking id {} is out for delivery.",
        "The tracking number of the parcel to Anna is {}.",
        "Invoice: {}",
        "The parcel with the number {} is late.",
        "My customer no. {} is on the letter.",
        "The serial number is {}",
        "Orders 5425233430109903 and {} are late.",
        "Die Sendungsnummer ist {}.",
        "Numéro de commande : {}",
        "Invoice number {} was paid.",
    ],
)
def test_card_number_that_has_another_name_proves_nothing(text: str) -> None:
    number = "".join(("4539", "1488", "0343", "6467"))
    assert {f.rule for f in secrets(text.format(number))} == {"possible card number"}


def test_order_that_was_paid_with_a_card_is_not_the_card() -> None:
    order, card = "".join(("4539", "1488", "0343", "6467")), "".join(("5425", "2334", "3010", "9903"))
    found = secrets(f"The order {order} was paid with card {card}.")
    assert [f.rule for f in found] == ["possible card number", "card number"]


@pytest.mark.parametrize(
    "text",
    [
        "The number is {}.",
        "For the order use {}.",
        "Order: card {}",
        "Order number 12 is paid with {}.",
        "The order with {} is confirmed.",
        "Customer {}, CVV 123",
        "Invoice {} expires 04/29",
        "My order arrived. {} is the new one.",
    ],
)
def test_card_number_next_to_words_of_payment_keeps_its_proof(text: str) -> None:
    number = "".join(("4539", "1488", "0343", "6467"))
    assert "card number" in {f.rule for f in secrets(text.format(number))}


def test_a_private_key_goes_as_a_whole() -> None:
    """Half a key is a key to whoever has the other half."""
    text = f"a -----BEGIN PRIV{'ATE'} KEY-----\n{Maker(2).some(900)}\n-----END PRIV{'ATE'} KEY----- b"
    (found,) = secrets(text)
    assert (found.start, found.end) == (2, len(text) - 2)
    (cut,) = secrets(text[:300])
    assert cut.end == 300


def test_entropy_is_bits_a_character() -> None:
    """Shannon: equal characters say nothing, sixteen different ones four bits each."""
    assert entropy("") == entropy("aaaa") == 0
    assert entropy("0123456789abcdef") == pytest.approx(4)


def test_a_flood_of_secrets_is_told_up_to_a_limit() -> None:
    """A report is not to grow with the text of whoever wants it to."""
    token = f"ghp{'_'}{Maker(3).some(36, LETTERS)} "
    assert len(secrets(token * (MOST + 50))) == MOST


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("docker login -u me -p ", ""),
        ("<db:password>", "</db:password>"),
        ("ENV API_TOKEN ", "\n"),
        ('- name: DB_PASSWORD\n  value: "', '"'),
        ("redis-cli -h cache -a ", " ping"),
        ("htpasswd -b users mara ", ""),
        ('psk="', '"'),
        ("btw the streaming pw: ", ""),
        ("mot de passe : ", ""),
    ],
)
def test_places_where_only_a_password_stands(before: str, after: str) -> None:
    """Commands, containers, mark-up and plain talk give no form to a password; the place says what it is."""
    value = Maker(5).some(14)
    (found,) = secrets(before + value + after)
    assert (found.start, found.end) == (len(before), len(before) + len(value))


def test_a_password_said_without_a_sign() -> None:
    """ "Password Tiger#42x", but not the words that follow the word."""
    value = f"Tiger{'#'}42xyz"
    (found,) = secrets(f"login as mara with password {value}, please")
    assert found.end - found.start == len(value)
    for text in ("the password protects 100% of it", "if password == expected_password:", "password reset-2024 page"):
        assert secrets(text) == []


def test_the_seed_of_one_time_passwords() -> None:
    """Whoever has the seed has every code."""
    value = Maker(6).some(32, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    assert [f.rule for f in secrets(f"TOTP secret {value}")] == ["one-time password seed"]
    assert secrets("TOTP secret SETTINGSANDPRIVACYPAGE") == []
