"""Chunks: sizes, overlap, lines."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from slowwave.sources.chunking import MOST_CHARACTERS, MOST_TOKENS, chunks_of, file_lines
from slowwave.text.tokens import count


def words(text: str) -> int:
    return len(text.split())


BLOCKS = "\n\n".join(" ".join(f"w{n}x{k}" for k in range(100)) for n in range(16)) + "\n"


def test_dory_golden_chunk_sizes() -> None:
    """Sixteen blocks of a hundred words under a head of four words; the last two begin with 120 tokens or more of the one before."""
    chunks = chunks_of(f"---\ntitle: X\n---\n{BLOCKS}", 4, tokens=words)
    assert [words(chunk.content) for chunk in chunks] == [704, 800, 500]
    for before, after in itertools.pairwise(chunks):
        shared = range(after.start_line, before.end_line + 1)
        lines = f"---\ntitle: X\n---\n{BLOCKS}".splitlines()
        assert sum(words(lines[n - 1]) for n in shared) >= 120


def test_a_chunk_is_the_lines_that_it_names() -> None:
    """From the first, with the frontmatter, to the last."""
    text = f"---\ntitle: X\n---\n{BLOCKS}"
    lines = text.splitlines()
    for chunk in chunks_of(text, 4, tokens=words):
        assert chunk.content == "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
    assert chunks_of(text, 4)[0].start_line == 1


def test_a_section_that_changes_moves_no_later_boundary() -> None:
    """Headings are where chunks meet again."""
    sections = [
        f"## Part {n}\n\n" + "\n".join(f"line {n} {k} " + "word " * 20 for k in range(25)) + "\n\n" for n in range(8)
    ]
    before = {chunk.content_hash for chunk in chunks_of("".join(sections))}
    sections[0] = "## Part 0\n\nShort.\n\n"
    after = {chunk.content_hash for chunk in chunks_of("".join(sections))}
    assert len(after - before) <= 2


def test_a_long_block_is_cut_by_lines_and_a_long_line_between_words() -> None:
    block = "\n".join("word " * 50 for _ in range(100))
    assert all(words(chunk.content) <= 800 for chunk in chunks_of(block, tokens=words))
    line = chunks_of("word " * 5_000)
    assert {(chunk.start_line, chunk.end_line) for chunk in line} == {(1, 1)}
    assert " ".join(chunk.content for chunk in line).split() == ["word"] * 5_000


def test_a_heading_goes_with_what_follows() -> None:
    text = "word " * 700 + "\n\n## Next\n\n" + "other " * 300
    chunks = chunks_of(text, tokens=words)
    assert chunks[1].content.startswith("## Next")


def test_lines_end_at_line_feeds_alone() -> None:
    """A form feed or a line separator is no line to an editor."""
    assert file_lines("a\x0cb\u2028c\r\nd\n") == ["a\x0cb\u2028c\r\n", "d\n"]
    assert file_lines("") == []


def test_nothing_of_nothing() -> None:
    assert chunks_of("") == []
    assert chunks_of("\n\n  \n") == []


@given(st.lists(st.sampled_from(["", "# H", "word " * 30, "x" * 9_000, "a\tb", "```", "é" * 40, "---"]), max_size=60))
def test_every_word_is_in_a_chunk_and_no_chunk_is_too_large(lines: list[str]) -> None:
    text = "\n".join(lines)
    chunks = chunks_of(text)
    for chunk in chunks:
        assert len(chunk.content) <= MOST_CHARACTERS
        assert count(chunk.content) <= MOST_TOKENS + 1
    covered = {n for chunk in chunks for n in range(chunk.start_line, chunk.end_line + 1)}
    assert covered >= {n for n, line in enumerate(lines, 1) if line.strip()}
    assert [chunk.start_line for chunk in chunks] == sorted(chunk.start_line for chunk in chunks)
