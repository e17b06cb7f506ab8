"""Concept tags: three stages, what is no concept, and scripts without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.concepts import MOST, concept, concept_tags


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("", ()),
        ("Yes, it is what we did.", ()),
        (
            "Deploy the search service with docker-compose and PostgreSQL 16 on Friday.",
            ("docker-compose", "deploy", "search", "service", "postgresql"),
        ),
        (
            "The memory leak in session_store was in src/api/main.py since v2.4.1.",
            ("memory-leak", "session-store", "src/api/main.py", "v2.4.1"),
        ),
        ("Machine  Learning behind single sign-on", ("machine-learning", "single-sign-on")),
        ("Anna's cat, Anna’s dog and O'Brien", ("anna", "cat", "dog", "o'brien")),
        ("It rained.Then the ferry left.", ("rained", "ferry")),
        ("ＡＰＩ key", ("api-key",)),
        ("El despliegue de la base de datos falló ayer", ("base-de-datos", "despliegue", "falló")),
        ("我们部署了新的搜索服务，数据库备份失败。", ("部署", "数据库", "备份", "搜索服务", "失败")),
        ("日志を確認しました。バックアップが必要です。", ("日志", "バックアップ", "確認", "必要")),
        ("서버 배포 회의", ("서버", "배포", "회의")),
        ("Резервная копия в Базеле", ("резервная-копия", "базеле")),
    ],
)
def test_tags_of_a_text(text: str, tags: tuple[str, ...]) -> None:
    """Protected terms, then compound tokens, then words, each in the order of the text."""
    order = tuple(t for t in concept_tags(text) if t in tags)
    assert sorted(order) == sorted(tags)
    assert set(concept_tags(text)) == set(tags)


@pytest.mark.parametrize("word", ["memory", "session", "deploy", "search", "agent", "test"])
def test_words_that_people_search_for_are_kept(word: str) -> None:
    """A stop list that shadows the very matter of the memory would be of no use."""
    assert concept(word) == word


@pytest.mark.parametrize(
    "token",
    [
        *("", "ab", "12", "2026-03-01", "2026-03-01.md", "3.11.4", "10/12", "...", "_", "the", "Donde", "pdf", "https"),
        *("don't", "and/or", "e.g", "x" * 33, "日", "です", "これ", "漢" * 11, "9f86d081884c7d659a2feaa0c55ad015"),
        "AKIA" + "Q3EGRIXT7VZM2LWN",
    ],
)
def test_what_is_no_concept(token: str) -> None:
    """Too short, too long, nothing but figures, a day, a stop word, a key or a hash."""
    assert concept(token) is None


@pytest.mark.parametrize(
    ("token", "tag"),
    [("__Internal_Name__", "internal-name"), ("“Basel”", "basel"), ("x" * 32, "x" * 32), ("я" * 32, "я" * 32),
     ("漢" * 10, "漢" * 10), ("漢字", "漢字"), ("ログイン", "ログイン"), ("K8s", "k8s")],
)  # fmt: skip
def test_a_token_as_a_tag(token: str, tag: str) -> None:
    """Length counts in characters, so that a Cyrillic word may be as long as a Latin one."""
    assert concept(token) == tag


def test_what_it_is_called_goes_first_and_eight_are_enough() -> None:
    """Within each stage; later words of a long text are not read."""
    words = ["apple", "banana", "cherry", "damson", "elder", "ferry", "grape", "hazel", "ivy"]
    tags = concept_tags(" ".join(words), "harbour")
    assert tags == ("harbour", *words[:7])


@given(text=st.text(max_size=400), name=st.text(max_size=40))
def test_any_text_gives_at_most_eight_distinct_tags_that_are_tags_of_themselves(text: str, name: str) -> None:
    """Of no text an error; of a tag itself again."""
    tags = concept_tags(text, name)
    assert len(set(tags)) == len(tags) <= MOST
    assert all(concept(t) == t for t in tags)


@pytest.mark.timeout(120)  # a pattern that goes back over the text takes far longer
@pytest.mark.parametrize("text", ["a-" * 50_000, "x" * 100_000, "'’" * 50_000, "日" * 100_000, "a.B" * 30_000])
def test_a_hostile_text_costs_no_more_than_its_length(text: str) -> None:
    """Nothing in the patterns backs up."""
    concept_tags(text)
