"""Frontmatter: what is read, and what is refused by its line."""

from __future__ import annotations

import pytest

from slowwave.text.frontmatter import UnreadableFile, body, frontmatter


def test_values_are_those_of_yaml_1_2() -> None:
    """Norway stays Norway, and half past twelve is no 750."""
    head = frontmatter(
        "---\na: no\nb: 12:30\nc: 2026-01-02\nd: 007\ne: 1.5\nf: true\ng: ~\nh: 3\ntags: [x, 'y']\n---\nbody\n"
    )
    assert head.fields == {
        **{"a": "no", "b": "12:30", "c": "2026-01-02", "d": "007", "e": 1.5, "f": True, "g": None, "h": 3},
        "tags": ["x", "y"],
    }
    assert head.lines == 11


@pytest.mark.parametrize(
    ("text", "lines"),
    [("body", 0), ("---\nnever closed\n", 0), ("---\n---\nx", 2), ("\ufeff---\r\na: 1\r\n---\r\nbody", 3), ("", 0)],
)
def test_a_head_is_between_two_rules(text: str, lines: int) -> None:
    head = frontmatter(text)
    assert head.lines == lines
    assert text[head.end :] in ("body", "x", text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\nok: 1\na: &x [1]\nb: *x\n---\n", 3),
        ("---\na: !!python/object/apply:os.system [id]\n---\n", 2),
        ("---\na: !include other\n---\n", 2),
        ("---\na: 1\nb: 2\na: 3\n---\n", 4),
        ("---\na: [\n---\n", 3),
        ("---\nb: 1\na: " + "[" * 2_000 + "\n---\n", 3),
        ("---\n- a\n---\n", 2),
        ("---\na: \x07\n---\n", 2),
        ("---\n? [a]\n: b\n---\n", 2),
        ("---\nok: 1\ntitle: a: b\n---\n", 3),
        ("---\na: " + "x" * 70_000 + "\n---\n", 1),
        ("---\nlol: &lol [x]\n" + "".join(f"l{n}: &l{n} [*lol, *lol]\n" for n in range(9)) + "---\n", 2),
    ],
)
def test_hostile_heads_are_refused_by_their_line(text: str, line: int) -> None:
    """Aliases that unfold, tags that construct, keys that hide each other, depth, and what is no YAML."""
    with pytest.raises(UnreadableFile) as found:
        frontmatter(text)
    assert found.value.line == line


def test_the_body_is_what_stands_under_the_head() -> None:
    """However wrong the head is, which is not read; a text without an end of its head is whole."""
    assert body("---\na: [\n---\nText.\n") == "Text.\n"
    assert body("---\na: 1\n") == "---\na: 1\n"
    assert body("Text.\n---\n") == "Text.\n---\n"
