"""Profiles: what the folders and the frontmatter of a corpus mean. Each is a TOML file beside this module, and no code knows its name.

How a file becomes a document by them belongs to ``slowwave.sources.page_files``.
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
    """What holds of pages of one type unless their frontmatter says otherwise. ``under``: folders whose pages are of the type."""

    under: tuple[str, ...] = ()
    status: str | None = None
    source_kind: str | None = None
    temperature: str | None = None
    canonical: bool | None = None
    canonical_if: str | None = None
    """A pattern of paths: pages of the type are canonical where it matches, and nowhere else."""
    named: bool = False
    """Whether another page that says the title or an alias of such a page points at it."""
    named_if: str | None = None
    sections: tuple[str, ...] = ()
    sections_of: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Sections of pages that have a list of their own, by path."""


class PlaneRule(_Data):
    """Files that ``match`` are of a plane."""

    match: str
    plane: Plane


class PageDefaults(_Data):
    """What holds of a page of which nothing else is said."""

    type: str
    status: str
    source_kind: str
    temperature: str
    canonical: bool = False


class Profile(_Data):
    """How a corpus is laid out. A closed list that is empty admits every word."""

    name: str
    about: str
    include: tuple[str, ...] = ("**/*.md", "**/*.markdown")
    exclude: tuple[str, ...] = ()
    largest_file: int = Field(default=5_000_000, description="Bytes; a larger file is not read.")
    inline_tags: bool = False
    defaults: PageDefaults
    types: Mapping[str, PageType] = Field(default_factory=dict)
    closed: bool = False
    """Whether there are no types but those named here."""
    planes: tuple[PlaneRule, ...] = ()
    generic: tuple[str, ...] = ()
    """Titles that say too little for a mention."""
    areas: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    source_kinds: tuple[str, ...] = ()
    temperatures: tuple[str, ...] = ()
    visibilities: tuple[str, ...] = ()
    sensitivities: tuple[str, ...] = ()
    status_aliases: Mapping[str, str] = Field(default_factory=dict)
    type_aliases: Mapping[str, str] = Field(default_factory=dict)

    def takes(self, path: str) -> bool:
        """Whether a file of this relative path is a page of the corpus."""
        return any(matches(path, p) for p in self.include) and not any(matches(path, p) for p in self.exclude)

    def plane_of(self, path: str) -> Plane:
        """The plane of a file."""
        found: Plane = "durable"
        for rule in reversed(self.planes):
            found = rule.plane if matches(path, rule.match) else found
        return found

    def type_of(self, path: str) -> str:
        """The type of a page that does not say it: that of the longest folder that it lies under."""
        found = [
            (len(folder), name) for name, kind in self.types.items() for folder in kind.under if path.startswith(folder)
        ]
        return max(found)[1] if found else self.defaults.type

    def named(self, path: str, type_: str) -> bool:
        """Whether a page is known by its names: who says one points at it."""
        kind = self.types.get(type_, PageType())
        return kind.named and (kind.named_if is None or matches(path, kind.named_if))

    def sections_of(self, path: str, type_: str) -> tuple[str, ...]:
        """The sections that a page should have, in their order; none where any will do."""
        kind = self.types.get(type_, PageType())
        return kind.sections_of.get(path, kind.sections)


def profiles() -> dict[str, Profile]:
    """All profiles by name."""
    return {path.stem: profile(path.stem) for path in sorted(FOLDER.glob("*.toml"))}


@cache
def profile(name: str) -> Profile:
    """The profile of this name; an unknown one is refused."""
    path = FOLDER / f"{name}.toml"
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name) or not path.is_file():
        known = ", ".join(sorted(found.stem for found in FOLDER.glob("*.toml")))
        raise Refused(f"There is no profile {name[:64]!r}. Profiles: {known}.")
    return Profile.model_validate({"name": name, **tomllib.loads(path.read_text(encoding="utf-8"))})


def matches(path: str, pattern: str) -> bool:
    """Whether a relative path fits a pattern: ``*`` within one name, ``**`` over any number of folders."""
    return _compiled(pattern).fullmatch(path) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        "".join(parts.get(p) or re.escape(p) for p in re.split(r"(\*\*/|\*\*|\*|\?)", pattern)), re.DOTALL
    )
