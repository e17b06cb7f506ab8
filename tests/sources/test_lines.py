"""Lines: numbered, whole up to the bound, passed over beyond it."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.errors import ImportRefused
from slowwave.sources.rows import bounded_lines


@given(st.lists(st.text('ab"', max_size=12), max_size=8), st.booleans())
def test_lines_are_those_of_the_file(parts: list[str], ended: bool):
    """Each with its number; one of up to five characters as it stands, a longer one as nothing but its quotes."""
    content = "\n".join(parts) + ("\n" if ended else "")
    expected = content.splitlines()
    text = list(bounded_lines(io.StringIO(content, newline="").readline, 5))
    raw = list(bounded_lines(io.BytesIO(content.encode()).readline, 5))
    assert [line.number for line in text] == [line.number for line in raw] == list(range(1, len(expected) + 1))
    for line, octets, whole in zip(text, raw, expected, strict=True):
        assert (None if line.text is None else line.text.rstrip("\n")) == (whole if len(whole) <= 5 else None)
        assert (line.text or "").encode() == (octets.text or b"")
        assert line.quotes == octets.quotes == (whole.count('"') if len(whole) > 5 else 0)


def test_no_more_than_a_piece_is_asked_for():
    """What is read at a time does not grow with the line."""
    asked: list[int] = []
    file = io.BytesIO(b"x" * 1_000_000 + b"\nlast\n")

    def read(size: int) -> bytes:
        asked.append(size)
        return file.readline(size)

    assert [line.text for line in bounded_lines(read, 100)] == [None, b"last\n"]
    assert max(asked) <= 65_536


def test_every_end_of_line_is_known_in_text():
    """Windows, Unix and the old Macintosh; the end is not counted."""
    lines = list(bounded_lines(io.StringIO("abcde\r\nfghij\rklmno\n", newline="").readline, 5))
    assert [line.text for line in lines] == ["abcde\r\n", "fghij\r", "klmno\n"]


@pytest.mark.parametrize("endless", ["x", b"x"])
def test_bounded_lines_line_without_an_end_refuses_early(endless: str | bytes) -> None:
    """T19: a device or a file of one endless line is refused with the line named, after a bounded amount is read."""
    given: list[int] = []

    def read(size: int) -> str | bytes:
        given.append(size)
        return (
            b"first\n"
            if len(given) == 1 and isinstance(endless, bytes)
            else "first\n"
            if len(given) == 1
            else endless * size
        )

    with pytest.raises(ImportRefused, match="Line 2 does not end"):
        list(bounded_lines(read, 100))  # type: ignore[type-var]
    assert sum(given) < (64 << 20) + 200_000
