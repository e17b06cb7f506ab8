"""Changes in a scratch copy, and the check that the given texts support the words of a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from slowwave.sources.blocks import MEMORY
from slowwave.text.screening import unsafe
from slowwave.text.specifics import exchanged_parties, specifics, ungrounded, unsaid
from slowwave.text.statements import stem
from slowwave.text.words import GRAMMAR
from slowwave.wiki.deep.scratch import PAGES, HandedOut, entries_of, loose, same, slug

# The difference between the copy that was handed out and the one that came back, as changes of memories, pages and the index.
#
# The planner ``deep_pass`` decides what a change writes and whether it is accepted. Before that, ``slowwave.wiki.deep.scratch`` finds files
# that no tool can have written.


@dataclass(frozen=True, slots=True)
class Reworded:
    """A memory with another text, and the sources that it names."""

    memory: str
    file: str
    was: str
    says: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """A memory whose entry is no longer in any file."""

    memory: str
    file: str
    was: str


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement that no memory makes yet, the subject of its file, and the sources that it names."""

    file: str
    subject: str
    says: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """A page of a corpus with another text; ``was`` is empty for a new one."""

    file: str
    root: str
    path: str
    was: str
    says: str


@dataclass(frozen=True, slots=True)
class IndexChanged:
    """The index with another text."""

    was: str
    says: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a deep pass.

    ``odd`` are sentences about edits without a meaning. ``lost`` is the number of characters of lines that no longer occur anywhere, out
    of the ``handed`` characters in files that may be changed.
    """

    reworded: tuple[Reworded, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    stated: tuple[Stated, ...] = ()
    pages: tuple[ChangedPage, ...] = ()
    index: IndexChanged | None = None
    odd: tuple[str, ...] = ()
    lost: int = 0
    handed: int = 0

    def beyond(self, share: float, characters: int) -> str:
        """Return why the changes remove too much, or an empty text if they do not.

        They may remove the greater of ``share`` of the handed-out characters and ``characters``, but never more than half, and they may
        not empty the index.
        """
        if self.index and self.index.was.strip() and not self.index.says.strip():
            return f"{MEMORY} was emptied"
        allowed = min(max(share * self.handed, characters), self.handed / 2)
        if self.lost <= allowed:
            return ""
        return f"{self.lost:,} of {self.handed:,} characters were taken away, and {allowed:,.0f} may be"

    def __len__(self) -> int:
        return len(self.reworded) + len(self.dropped) + len(self.stated) + len(self.pages) + (self.index is not None)


@dataclass(frozen=True, slots=True)
class Worked:
    """A copy as it was handed out and as it came back (name → text), the files that were read, and the model that used it."""

    copy: HandedOut
    after: Mapping[str, str]
    read: tuple[str, ...] = ()
    model: str = ""


@dataclass(slots=True)
class _Found:
    reworded: list[Reworded] = field(default_factory=list)
    stated: list[Stated] = field(default_factory=list)
    pages: list[ChangedPage] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)  # memory → its text


def changes(copy: HandedOut, after: Mapping[str, str]) -> Changes:
    """Compare a copy with the files that came back (name → text).

    Cost: linear in the files.
    """
    found = _Found()
    was = {entry.memory: (name, entry.text) for name in copy.subjects for entry in entries_of(copy.files[name])}
    for name in sorted(after):
        if name in copy.pages or _under_pages(name, copy):
            _page(found, copy, name, after[name])
        elif name not in copy.sessions and name != MEMORY:
            _topic(found, copy, name, after[name], was)
    dropped = [Dropped(memory, name, text) for memory, (name, text) in sorted(was.items()) if memory not in found.seen]
    lost, handed = _lost(copy, after)
    index_was, index_is = copy.files.get(MEMORY, ""), after.get(MEMORY, "")
    return Changes(
        tuple(found.reworded),
        tuple(dropped),
        tuple(found.stated),
        tuple(found.pages),
        None if same(index_was, index_is) else IndexChanged(index_was, index_is),
        tuple(found.odd),
        lost,
        handed,
    )


def _topic(found: _Found, copy: HandedOut, name: str, text: str, was: Mapping[str, tuple[str, str]]) -> None:
    if text == copy.files.get(name):
        found.seen |= {entry.memory: entry.text for entry in entries_of(text)}
        return
    if lines := loose(text):
        found.odd.append(f"{name} has {len(lines)} lines that are no entry: an entry begins with `- `.")
    subject = copy.subjects[name] if name in copy.subjects else _called(name, text)
    for entry in entries_of(text):
        if not entry.memory:
            if entry.text.strip():
                found.stated.append(Stated(name, subject, entry.text.strip(), entry.sources))
        elif entry.memory not in was:
            found.odd.append(f"{name} names a memory that was not handed out.")
        elif entry.memory in found.seen:
            if not same(found.seen[entry.memory], entry.text):
                found.odd.append(f"{name} says something else of a memory than another entry does.")
        else:
            found.seen[entry.memory] = entry.text
            if not same(was[entry.memory][1], entry.text) and entry.text.strip():
                found.reworded.append(Reworded(entry.memory, name, was[entry.memory][1], entry.text, entry.sources))
            elif not entry.text.strip():
                del found.seen[entry.memory]


def _called(name: str, text: str) -> str:
    """Return the subject of a new topic file: its heading if the file is named after it, else the words of its name."""
    called = name.rpartition("/")[2].removesuffix(".md")
    heading = text.split("\n", 1)[0].removeprefix("# ").strip()
    return heading if slug(heading) == called else called.replace("-", " ")


def _page(found: _Found, copy: HandedOut, name: str, text: str) -> None:
    was = copy.files.get(name, "")
    if text == was:
        return
    page = copy.pages.get(name)
    if page:
        found.pages.append(ChangedPage(name, page.root, page.path, was, text))
        return
    folder = next(f for f in _folders(copy) if name.startswith(f"{f}/"))
    found.pages.append(ChangedPage(name, copy.may_grow[folder], name.removeprefix(f"{folder}/"), "", text))


def _under_pages(name: str, copy: HandedOut) -> bool:
    return name.startswith(f"{PAGES}/") and any(name.startswith(f"{folder}/") for folder in _folders(copy))


def _folders(copy: HandedOut) -> Iterator[str]:
    yield from sorted(copy.may_grow, key=len, reverse=True)


def _lost(copy: HandedOut, after: Mapping[str, str]) -> tuple[int, int]:
    """Count the characters of handed-out lines that are in no file that came back, and of all handed-out lines."""
    handed: Counter[str] = Counter()
    stands: Counter[str] = Counter()
    for name, text in copy.files.items():
        if copy.may_write(name):
            handed.update(line.strip() for line in text.split("\n"))
    for name, text in after.items():
        if name not in copy.sessions:
            stands.update(line.strip() for line in text.split("\n"))
    gone = handed - stands
    return sum(len(line) * n for line, n in gone.items()), sum(len(line) * n for line, n in handed.items())


# Check that a model's text is supported by what the model was given, as ``slowwave.text.specifics`` defines it, with the sources it names.
#
# Words, figures and names are compared. The meaning of a sentence is not checked, so a wrong sentence made only of the sources' words
# passes, and a person decides it.

PASSAGE: Final = 20_000
"""Maximum characters of one source that a text is compared with."""

_SHARE: Final = 0.5  # least share of a new text's words that its sources contain
_TOLD: Final = 0.7  # least share of a text's words that another text must contain to repeat it
_WORD: Final = re.compile(r"[^\W_]{4,}|\d+")


def unborne(text: str, known: Sequence[str]) -> str:
    """Return why ``known`` does not support a text, as the end of a sentence, or an empty text if it does.

    Cost: linear in the texts.
    """
    if why := unsafe(text):
        return why
    if foreign := ungrounded(text, known):
        return f"says what no source of it does ({len(foreign)} words or figures)"
    words = _stems(text)
    if len(words & frozenset[str]().union(*map(_stems, known))) < _SHARE * len(words):
        return "says what no source of it does"
    if exchanged_parties(text, known):
        return "exchanges who did what to whom"
    return ""


def passage(text: str, claim: str) -> str:
    """Return the lines of a source that share a word of four letters or a number with a claim, up to ``PASSAGE`` characters."""
    words = frozenset(w.casefold() for w in _WORD.findall(claim))
    kept = (line for line in text.split("\n") if not words.isdisjoint(w.casefold() for w in _WORD.findall(line)))
    return "\n".join(kept)[:PASSAGE]


def covered_by(text: str, others: Iterable[str]) -> str:
    """Return the first of ``others`` that states all specifics and most words of a text, or an empty text if none does."""
    terms, words = specifics(text).terms(), _stems(text)
    for other in others:
        if len(words & _stems(other)) >= _TOLD * len(words) and not unsaid(terms, [other]):
            return other
    return ""


def lost(was: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the numbers, dates, names and other specifics of a text that none of ``texts`` has, sorted."""
    return tuple(sorted(unsaid(specifics(was).terms(), texts)))


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in specifics(text).words if w not in GRAMMAR)
