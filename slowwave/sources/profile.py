"""Profiles: the meaning of the folders and the frontmatter of a corpus.

Each profile is a TOML file next to this module, and no code depends on its name. How a file becomes a document by a profile belongs to
``slowwave.sources.page_files``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from slowwave.errors import Refused

FOLDER: Final = Path(__file__).with_name("profiles")

Plane = Literal["durable", "sessions"]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PageType(_Data):
    """The defaults for pages of one type, unless their frontmatter states otherwise.

    ``under``: folders whose pages are of the type.
    """

    under: tuple[str, ...] = ()
    status: str | None = None
    source_kind: str | None = None
    temperature: str | None = None
    canonical: bool | None = None
    canonical_if: str | None = None
    """A pattern of paths: pages of the type are canonical if it matches, and not otherwise."""
    named: bool = False
    """If true, a page that mentions the title or an alias of such a page points at it."""
    named_if: str | None = None
    sections: tuple[str, ...] = ()
    sections_of: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """The sections of pages with a separate list, by path."""


class PlaneRule(_Data):
    """A rule that assigns files that ``match`` to a plane."""

    match: str
    plane: Plane


class PageDefaults(_Data):
    """The defaults for a page that has no other values."""

    type: str
    status: str
    source_kind: str
    temperature: str
    canonical: bool = False


class Profile(_Data):
    """The layout of a corpus.

    A closed list that is empty admits every word.
    """

    name: str
    about: str
    include: tuple[str, ...] = ("**/*.md", "**/*.markdown")
    exclude: tuple[str, ...] = ()
    largest_file: int = Field(default=5_000_000, description="Bytes; a larger file is not read.")
    inline_tags: bool = False
    defaults: PageDefaults
    types: Mapping[str, PageType] = Field(default_factory=dict)
    closed: bool = False
    """If true, there are no types other than those named here."""
    planes: tuple[PlaneRule, ...] = ()
    generic: tuple[str, ...] = ()
    """Titles that are too general to count as a mention."""
    areas: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    source_kinds: tuple[str, ...] = ()
    temperatures: tuple[str, ...] = ()
    visibilities: tuple[str, ...] = ()
    sensitivities: tuple[str, ...] = ()
    status_aliases: Mapping[str, str] = Field(default_factory=dict)
    type_aliases: Mapping[str, str] = Field(default_factory=dict)

    def takes(self, path: str) -> bool:
        """Return whether a file with this relative path is a page of the corpus."""
        return any(matches(path, p) for p in self.include) and not any(matches(path, p) for p in self.exclude)

    def plane_of(self, path: str) -> Plane:
        """Return the plane of a file."""
        found: Plane = "durable"
        for rule in reversed(self.planes):
            found = rule.plane if matches(path, rule.match) else found
        return found

    def type_of(self, path: str) -> str:
        """Return the type of a page that does not state it: that of the longest folder that contains the page."""
        found = [
            (len(folder), name) for name, kind in self.types.items() for folder in kind.under if path.startswith(folder)
        ]
        return max(found)[1] if found else self.defaults.type

    def named(self, path: str, type_: str) -> bool:
        """Return whether a page is known by its names, so that a mention of a name points at it."""
        kind = self.types.get(type_, PageType())
        return kind.named and (kind.named_if is None or matches(path, kind.named_if))

    def sections_of(self, path: str, type_: str) -> tuple[str, ...]:
        """Return the sections that a page should have, in their order; empty if any sections are allowed."""
        kind = self.types.get(type_, PageType())
        return kind.sections_of.get(path, kind.sections)


def profiles() -> dict[str, Profile]:
    """Return all profiles by name."""
    return {path.stem: profile(path.stem) for path in sorted(FOLDER.glob("*.toml"))}


@cache
def profile(name: str) -> Profile:
    """Return the profile of this name.

    Raises ``Refused`` for an unknown name.
    """
    path = FOLDER / f"{name}.toml"
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name) or not path.is_file():
        known = ", ".join(sorted(found.stem for found in FOLDER.glob("*.toml")))
        raise Refused(f"There is no profile {name[:64]!r}. Profiles: {known}.")
    return Profile.model_validate({"name": name, **tomllib.loads(path.read_text(encoding="utf-8"))})


def matches(path: str, pattern: str) -> bool:
    """Return whether a relative path matches a pattern: ``*`` within one name, ``**`` over any number of folders."""
    return _compiled(pattern).fullmatch(path) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        "".join(parts.get(p) or re.escape(p) for p in re.split(r"(\*\*/|\*\*|\*|\?)", pattern)), re.DOTALL
    )
