"""Told secrets: what people write down without a sign, and what only looks so."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from benchmarks.drawn import drawn
from slowwave.texts.screening import screen, screen_all
from slowwave.texts.secrets import secrets

SETS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("The wifi password at the cabin is {pw}.", "password"),
        ("login: bob / {pw}", "password"),
        ("use {pw} as the password for it", "password"),
        ("They changed the password from {pw} to {pw}", "password"),
        ("Das Passwort für das Postfach lautet {pw}", "password"),
        ("пароль от почты {pw}", "password"),
        ("パスワードは{pw}です", "password"),
        ("the passphrase is {word} {word} {word} {word}", "password"),
        ("My PIN is {d:4}.", "pin"),
        ("The gate code is {d:4}", "door code"),
        ("the safe opens with {d:2}-{d:2}-{d:2}", "door code"),
        ("cvv {d:3}", "card verification code"),
        ("backup code {hex:4}-{hex:4}-{hex:4}7", "recovery code"),
        ("my datadog key is {hex:32}", "key or token"),
        ("seed phrase: {word} {word} {word} {word} {word} {word} {word} {word} {word} {word} {word} {word}", "recovery phrase"),
    ],
)  # fmt: skip
def test_what_a_person_tells_is_found(text: str, rule: str) -> None:
    """The place says what it is; the value alone would not."""
    for seed in range(8):
        said = drawn(text, Random(seed))
        assert [f.rule for f in secrets(said)][-1:] == [rule], said


@pytest.mark.parametrize(
    "text",
    [
        "The password has 12 characters.",
        "The PIN is needed at 3 of the 4 gates.",
        "GPIO pin 4 is the LED.",
        "zip code: 10115",
        "error code 40103",
        "The key is under the mat.",
        "The passphrase is case sensitive and long.",
        "The recovery phrase has 12 words.",
        "user: mara, team: platform",
        "password is [redacted: password]",
        "partition key {uuid}",
        "continuation token {url:44}",
    ],
)
def test_talk_about_secrets_is_none(text: str) -> None:
    """Codes of places, lengths, rules and names of values."""
    assert secrets(drawn(text, Random(1))) == []


def test_a_column_is_read_as_its_texts_are() -> None:
    """Of every text of the benchmark's sets: what is looked at before a pattern leaves none out."""
    random = Random(5)
    texts = [
        drawn(template, random)
        for path in sorted(SETS.glob("*/secrets.toml")) + sorted(SETS.glob("*/injections.toml"))
        for kinds in tomllib.loads(path.read_text(encoding="utf-8")).values()
        for templates in kinds.values()
        for template in templates
    ]
    alone = {place: found for place, text in enumerate(texts) if (found := screen(text))}
    assert len(alone) > 300
    assert dict(screen_all(pa.array([*texts, *["Tea is hot."] * 600]))) == alone
