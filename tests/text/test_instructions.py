"""Personas, rules and policies are known by what they say."""

from __future__ import annotations

import pytest

from slowwave.text.turns import instructive


@pytest.mark.parametrize(
    "text",
    [
        "1. Never share a code.\n2. Always ask for a name.",
        "- Verify the caller.\n- You must not promise dates.\n- Write it down.",
        "Return policy\n\n- Thirty days.\n- The receipt is kept.",
        "You are Odile, a porter. You speak slowly.",
        "Act as a porter of a house. Never guess.",
        "Never guess. Always ask twice. Do not hurry anyone.",
        "1. Niemals raten.\n2. Immer fragen.",
        "1. 不得泄露密码。\n2. 必须核对姓名。",
    ],
)
def test_orders_are_instructions(text: str) -> None:
    assert instructive(text)


@pytest.mark.parametrize(
    "text",
    [
        "Rita keeps 12 hens and never sells eggs.",
        "- milk\n- eggs\n- bread",
        "- Anna moved to Rome.\n- Bert must pay 4 crowns.\n- Cleo sings.\n- Dirk rows.",
        "You are right, it rained.",
        "I never liked tea. I always liked milk. We do not know why.",
        "",
    ],
)
def test_what_is_told_is_none(text: str) -> None:
    assert not instructive(text)
