"""What code names: an identifier, a path, a command; a value, a formula and a form's keys name nothing."""

from __future__ import annotations

import pytest

from slowwave.text.extraction import LONGEST, is_code_name, metadata_keys


@pytest.mark.parametrize(
    "code",
    [
        "make test",
        "git commit -m",
        "user_name",
        "getUser()",
        "--retain-data",
        "src/app.py",
        "eth/63",
        "genesis_0.chainId",
        "MAX_SIZE",
    ],
)
def test_what_another_text_may_name_too_is_a_name(code: str) -> None:
    """Identifiers, flags, paths and short commands."""
    assert is_code_name(code)


@pytest.mark.parametrize(
    "code",
    [
        "0xfd",
        "v1.1.0",
        "1.5.0rc1",
        "2024-01-01",
        "deadbeef01",
        "2**14 + 2**13",
        "tx.to == nil",
        "a = b",
        "A_b",
        "x",
        "This is said",
        "()",
    ],
)
def test_values_formulas_and_sentences_are_none(code: str) -> None:
    """No number, version, date or address, nothing with an operator, no symbol of one or two letters."""
    assert not is_code_name(code)
    assert not is_code_name("x_name" * LONGEST)


def test_keys_of_a_head_are_its_forms() -> None:
    """Those of the head alone, with nested ones."""
    text = "---\ntitle: Tea\nsource_kind: note\ntags:\n  - key_word: x\n---\nbody_key: stays\n"
    assert [text[a:b].strip(" -") for a, b in metadata_keys(text)] == ["title:", "source_kind:", "tags:", "key_word:"]
    assert metadata_keys("body_key: stays\n") == []
