"""Chunks: a file cut where its paragraphs end, each piece small enough for a vector to say what it is about.

A chunk is a run of whole lines of the file, the frontmatter with the first, so that a hit is shown by its lines. The last lines of a
chunk are the first of the next (``OVERLAP``). A heading begins a new chunk once the chunk before it is half full: what is written into one
section then moves no boundary of those that follow.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.texts.token_count import count

MOST_TOKENS: Final = 800
MOST_CHARACTERS: Final = 8_000
OVERLAP: Final = 0.15

_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")


@dataclass(frozen=True, slots=True)
class MarkdownChunk:
    """A run of lines of a file, both ends included, from 1. A line too long for one chunk is several of the same line."""

    content: str
    start_line: int
    end_line: int

    @property
    def content_hash(self) -> str:
        """SHA-256 of the text: chunks of equal text have equal vectors."""
        return hashlib.sha256(self.content.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines ``start`` to ``end`` (excluded) of the file, from 0; ``heads`` says that it begins with a heading."""

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
    """Cut a file whose body begins at ``body_line``; ``tokens`` counts those of a line. Nothing of a blank file.

    Blocks end at blank lines and before headings. As many blocks as fit in ``most`` tokens and ``MOST_CHARACTERS`` make a chunk; a block
    that does not fit is cut between lines, a line that does not between words. Linear in the text.
    """
    lines = [_Line(line, tokens(line)) for line in file_lines(text)]
    cutter = _Cutter(lines, body_line - 1, most, int(most * overlap))
    for block in _blocks(lines, body_line - 1):
        cutter.add(block)
    return cutter.finish()


def file_lines(text: str) -> list[str]:
    """The lines of a file with their ends: a line ends at a line feed and nowhere else, as editors count."""
    lines = text.split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *lines[-1:]] if lines[-1] else [f"{line}\n" for line in lines[:-1]]


class _Cutter:
    """The chunk at hand is the lines ``start`` to ``end`` (excluded); lines before ``fresh`` are the end of the chunk before."""

    def __init__(self, lines: Sequence[_Line], body: int, most: int, overlap: int) -> None:
        self._lines, self._body, self._most, self._overlap = lines, body, most, overlap
        self._tokens = [0, *itertools.accumulate(line.tokens for line in lines)]
        self._characters = [0, *itertools.accumulate(len(line.text) for line in lines)]
        self._start = self._fresh = self._end = 0
        self._done: list[MarkdownChunk] = []
        if body and not self._fits(0, body):  # a head as long as that is a chunk, or several, of its own
            self._by_lines(0, body)
        self._end = body

    def add(self, block: _Block) -> None:
        """Take a block into the chunk at hand, or begin the next one with it."""
        half = block.heads and 2 * (self._tokens[self._end] - self._tokens[self._start]) >= self._most
        if self._end > self._fresh and (half or not self._fits(self._start, block.end)):
            self._cut()
        while self._start < self._fresh and not self._fits(self._start, block.end):
            self._start += 1  # what does not fit of the overlap
        if self._fits(self._start, block.end):
            self._end = block.end
        else:
            self._by_lines(block.start, block.end)

    def finish(self) -> list[MarkdownChunk]:
        """All chunks."""
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
        """The chunk at hand ends; its last lines begin the next."""
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
    """The paragraphs of a body: blank lines go with what stands before them, headings with what follows."""
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
    """A line too long for a chunk, cut between words where it has some."""
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
