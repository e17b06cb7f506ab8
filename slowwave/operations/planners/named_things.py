"""Named things: what conversations call by name beside persons, how often, and which of it is plainly a project.

A name is a word with a capital that is no opener of a sentence by place alone: somewhere it stands within one. A project is what has a
state, a date, a lead or a budget, or is called one; a given name is one when nobody of that name speaks or is spoken of.
Whether a name is known already belongs to ``extract_claims``. Pure and linear.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from slowwave.texts.informative_sentences import NAME
from slowwave.texts.known_names import is_given, known_names
from slowwave.texts.plain_claims import PlainClaim
from slowwave.texts.tokens import fold

TWICE: Final = 2
"""Sentences that name a new thing until it is one."""

_RUN: Final = re.compile(rf"(?<![\w'’-])(?:{NAME})(?: (?:{NAME}))*")
_CALLED: Final = re.compile(
    rf"\b(?:[Pp]roject (?P<after>(?:{NAME})))|\b(?P<before>(?:{NAME})) (?:project|launch|rollout|roll-out|release|"
    rf"migration|deadline|roadmap|beta|"
    r"sprint|milestone|relaunch|rewrite)\b"
)
_MADE: Final = re.compile(
    r"\b(?:runs on|is (?:written|built|hosted|deployed) (?:in|on|with)|depends on|is (?:live|paused|archived|in (?:beta|"
    r"production|staging)))\b"
)
_OF_PROJECTS: Final = (
    "status of ",
    "date of ",
    "lead of ",
    "deadline of ",
    "due date of ",
    "budget of ",
    "launch date of ",
    "release date of ",
)


@dataclass(slots=True)
class NamedThings:
    """``counts``: name as it is written → sentences that name it; ``inside``: names that stand within a sentence somewhere."""

    counts: Counter[str] = field(default_factory=Counter[str])
    inside: set[str] = field(default_factory=set[str])
    projects: set[str] = field(default_factory=set[str])
    people: set[str] = field(default_factory=set[str])
    made: Counter[str] = field(default_factory=Counter[str])

    def read(self, sentence: str, claim: PlainClaim | None = None) -> None:
        """Take up what a sentence names, and what it claims."""
        found: set[str] = set()
        for match in _RUN.finditer(sentence):
            name = _bare(match[0])
            if name:
                found.add(name)
                if match.start():
                    self.inside.add(name)
        self.counts.update(found)
        for match in _CALLED.finditer(sentence):
            self._project(match["after"] or match["before"])
        if claim is None or not claim.about:
            return
        of_project = claim.slot.startswith(_OF_PROJECTS)
        for name in _names(claim.about):
            if is_given_name(name):
                self.made[name] += bool(_MADE.search(sentence))
                if claim.kind in ("preference", "fact") and not _MADE.search(sentence):
                    self.people.add(name)
            elif of_project:
                self._project(name)

    def speaks(self, name: str) -> None:
        """Somebody of this name takes part."""
        if name[:1].isupper():
            self.people.add(name)

    def is_person(self, name: str) -> bool:
        """Whether a name is a person's: a given name of which nothing says that it is something else."""
        return name in self.people or (is_given_name(name) and self.made[name] < TWICE)

    def names_in(self, text: str) -> list[str]:
        """The names of a text that are of no person, as they are written, each once."""
        return [name for name in _names(text) if not self.is_person(name)]

    def persons_in(self, text: str) -> list[str]:
        """The names of persons in a text, each once."""
        return [name for name in _names(text) if self.is_person(name)]

    def is_project(self, name: str) -> bool:
        """Whether a name is plainly one of a project."""
        return name in self.projects or (is_given_name(name) and not self.is_person(name))

    def _project(self, name: str) -> None:
        bare = _bare(name)
        if bare and not is_given_name(bare) and fold(bare) not in known_names().places and not bare.isupper():
            self.projects.add(bare)

    def certain_names(self, sentence: str) -> list[str]:
        """The names of a sentence that are names for sure."""
        return [name for name in self.names_in(sentence) if name in self.inside or self.is_project(name)]

    def new_project(self, name: str) -> bool:
        """Whether a project that nobody knows is plainly called so, in two sentences."""
        return self.is_project(name) and self.counts[name] >= TWICE

    def new_concept(self, name: str) -> bool:
        """Whether something else is."""
        return name in self.inside and not self.is_project(name) and self.counts[name] >= TWICE


def is_given_name(name: str) -> bool:
    """Whether a name begins with a given name."""
    return is_given(fold(name.split()[0]))


def _names(text: str) -> list[str]:
    found = (_bare(match[0]) for match in _RUN.finditer(text))
    return list(dict.fromkeys(name for name in found if name))


def _bare(name: str) -> str:
    return re.sub(r"['’]s?$", "", name).strip("-")
