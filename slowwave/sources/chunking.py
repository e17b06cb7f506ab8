"""Chunks: a file cut where its paragraphs end, each piece small enough for one vector."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.text.tokens import count

# Chunks: a file is cut at the ends of paragraphs, and each piece is small enough for one vector to represent it.
#
# A chunk is a run of whole lines of the file, the frontmatter with the first chunk, so that a hit is shown by its lines. The last lines of
# a chunk are the first of the next (``OVERLAP``). A heading begins a new chunk if the chunk before it is at least half full: text added to
# one section then moves no boundary of the sections after it.

MOST_TOKENS: Final = 800
MOST_CHARACTERS: Final = 8_000
OVERLAP: Final = 0.15

_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")


@dataclass(frozen=True, slots=True)
class MarkdownChunk:
    """A run of lines of a file, both ends included, counted from 1.

    A line that is too long for one chunk becomes several chunks with the same line number.
    """

    content: str
    start_line: int
    end_line: int

    @property
    def content_hash(self) -> str:
        """Return the SHA-256 of the text: chunks with equal text have equal vectors."""
        return hashlib.sha256(self.content.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class _Block:
    """The lines ``start`` to ``end`` (excluded) of the file, from 0; ``heads`` says that they begin with a heading."""

    start: int
    end: int
    heads: bool


def chunks_of(
    text: str,
    body_line: int = 1,
    *,
    most: int = MOST_TOKENS,
    overlap: float = OVERLAP,
    tokens: Callable[[str], int] = count,
) -> list[MarkdownChunk]:
    """Cut a file whose body begins at ``body_line`` into chunks; ``tokens`` counts the tokens of a line.

    A blank file has no chunks. Blocks end at blank lines and before headings. A chunk has as many blocks as fit in ``most`` tokens and
    ``MOST_CHARACTERS``. A block that does not fit is cut between lines, and a line that does not fit between words. Linear in the text.
    """
    lines = [_Line(line, tokens(line)) for line in file_lines(text)]
    cutter = _Cutter(lines, body_line - 1, most, int(most * overlap))
    for block in _blocks(lines, body_line - 1):
        cutter.add(block)
    return cutter.finish()


def file_lines(text: str) -> list[str]:
    """Split a text into lines with their ends; a line ends only at a line feed, as editors count."""
    lines = text.split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *lines[-1:]] if lines[-1] else [f"{line}\n" for line in lines[:-1]]


class _Cutter:
    """The state of cutting a file into chunks.

    The current chunk is the lines ``start`` to ``end`` (excluded); lines before ``fresh`` are the end of the previous chunk.
    """

    def __init__(self, lines: Sequence[_Line], body: int, most: int, overlap: int) -> None:
        self._lines, self._body, self._most, self._overlap = lines, body, most, overlap
        self._tokens = [0, *itertools.accumulate(line.tokens for line in lines)]
        self._characters = [0, *itertools.accumulate(len(line.text) for line in lines)]
        self._start = self._fresh = self._end = 0
        self._done: list[MarkdownChunk] = []
        if body and not self._fits(0, body):  # a head that is too long for one chunk becomes one or more chunks
            self._by_lines(0, body)
        self._end = body

    def add(self, block: _Block) -> None:
        """Add a block to the current chunk, or begin the next one with it."""
        half = block.heads and 2 * (self._tokens[self._end] - self._tokens[self._start]) >= self._most
        if self._end > self._fresh and (half or not self._fits(self._start, block.end)):
            self._cut()
        while self._start < self._fresh and not self._fits(self._start, block.end):
            self._start += 1  # drop the part of the overlap that does not fit
        if self._fits(self._start, block.end):
            self._end = block.end
        else:
            self._by_lines(block.start, block.end)

    def finish(self) -> list[MarkdownChunk]:
        """Return all chunks."""
        if self._end > self._fresh:
            self._emit(self._start, self._end)
        return self._done

    def _by_lines(self, start: int, end: int) -> None:
        for n in range(start, end):
            if self._end > self._fresh and not self._fits(self._start, n + 1):
                self._cut()
            while self._start < self._fresh and not self._fits(self._start, n + 1):
                self._start += 1
            if self._fits(self._start, n + 1):
                self._end = n + 1
            else:
                self._done += _pieces(self._lines[n], n + 1, self._most)
                self._start = self._fresh = self._end = n + 1

    def _cut(self) -> None:
        """End the current chunk and begin the next one with its last lines."""
        self._emit(self._start, self._end)
        start, kept = self._end, 0
        while start > max(self._start, self._body) and kept < self._overlap:
            start -= 1
            kept += self._lines[start].tokens
        self._start, self._fresh = start, self._end

    def _emit(self, start: int, end: int) -> None:
        while end > start and not self._lines[end - 1].text.strip():
            end -= 1
        while start < end and not self._lines[start].text.strip():
            start += 1
        if end > start:
            content = "".join(line.text for line in self._lines[start:end])
            self._done.append(MarkdownChunk(content.rstrip("\r\n"), start + 1, end))

    def _fits(self, start: int, end: int) -> bool:
        characters = self._characters[end] - self._characters[start]
        return self._tokens[end] - self._tokens[start] <= self._most and characters <= MOST_CHARACTERS


def _blocks(lines: Sequence[_Line], body: int) -> list[_Block]:
    """Return the paragraphs of a body: blank lines belong to the text before them, headings to the text after them."""
    blocks: list[_Block] = []
    start, heads, written, fence = body, False, False, ""
    for n in range(body, len(lines)):
        text = lines[n].text
        blank, heading = not text.strip(), not fence and _HEADING.match(text) is not None
        after_blank = n > start and not lines[n - 1].text.strip()
        if n > start and written and not blank and (heading or after_blank):
            blocks.append(_Block(start, n, heads))
            start, heads, written = n, False, False
        heads = heads or heading
        written = written or not (blank or heading)
        if found := _FENCE.match(text):
            fence = "" if fence == found[1] else fence or found[1]
    if start < len(lines):
        blocks.append(_Block(start, len(lines), heads))
    return blocks


def _pieces(line: _Line, number: int, most: int) -> list[MarkdownChunk]:
    """Cut a line that is too long for a chunk, between words if there are any."""
    width = max(1, min(MOST_CHARACTERS, len(line.text) * most // max(line.tokens, 1)))
    text, found = line.text.rstrip("\r\n"), list[MarkdownChunk]()
    start = 0
    while start < len(text):
        end = min(len(text), start + width)
        if end < len(text) and (space := text.rfind(" ", start + width // 2, end)) > 0:
            end = space + 1
        if piece := text[start:end].strip():
            found.append(MarkdownChunk(piece, number, number))
        start = end
    return found
