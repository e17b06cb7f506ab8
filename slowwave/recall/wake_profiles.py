"""Wake profiles: which sections an agent is told when it wakes, in the order of their worth; data in ``wake_profiles.toml``.

What fills a section and how the budget is shared belongs to ``slowwave.recall.wake``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from slowwave.errors import Refused, SettingsError

PROJECT: Final = "{project}"
"""Stands in a path for the project that is asked for."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as problem:
        raise ValueError(f"is no regular expression: {problem}") from None
    return pattern


class WakeSection(BaseModel):
    """Documents of a corpus under one title. With ``lines`` only the lines that the expression finds are told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(min_length=1)
    paths: tuple[str, ...] = Field(
        min_length=1, description="Paths in the corpus; an asterisk stands for any characters."
    )
    lines: Annotated[str, AfterValidator(_compiles)] = ""


class WakeProfile(BaseModel):
    """Sections, the dearest first, with the most tokens that one may take, and how much else is told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sections: tuple[str, ...]
    caps: Mapping[str, int] = Field(default_factory=dict, description="Most tokens of a section.")
    decisions: int = Field(default=3, ge=0, le=50, description="Pinned decisions.")
    memories: int = Field(default=0, ge=0, le=200, description="Memories that are no document, the weightiest.")
    pages: int = Field(
        default=0,
        ge=0,
        le=200,
        description="Pages that no section tells, of folders that are not laid out as Dory's, a line each.",
    )
    sessions: bool = Field(default=True, description="Whether recent sessions are told, a line each.")


class WakeProfiles(BaseModel):
    """All profiles and their sections. Raises ``SettingsError`` for one that names a section that is not there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sections: Mapping[str, WakeSection]
    profiles: Mapping[str, WakeProfile]

    def profile(self, name: str) -> WakeProfile:
        """The profile of that name. Raises ``Refused`` where there is none."""
        try:
            return self.profiles[name]
        except KeyError:
            known = ", ".join(sorted(self.profiles))
            raise Refused(f"There is no wake profile {name!r}. Choose one of {known}.") from None


def wake_profiles(own: Path | None = None) -> WakeProfiles:
    """The profiles of this package, with an operator's file on top. Raises ``SettingsError`` for a file that cannot be used."""
    return _shipped() if own is None else _merged(own)


@cache
def _shipped() -> WakeProfiles:
    text = resources.files("slowwave.recall").joinpath("wake_profiles.toml").read_text(encoding="utf-8")
    return WakeProfiles.model_validate(tomllib.loads(text))


def _merged(own: Path) -> WakeProfiles:
    ours = _shipped()
    try:
        read = tomllib.loads(own.read_text(encoding="utf-8"))
        theirs = WakeProfiles.model_validate({"sections": {}, "profiles": {}, **read})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise SettingsError(f"The wake profiles in {own} cannot be read ({problem}). Nothing was told.") from None
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise SettingsError(f"The wake profiles in {own} cannot be used: {place}: {first['msg']}.") from None
    found = WakeProfiles(sections={**ours.sections, **theirs.sections}, profiles={**ours.profiles, **theirs.profiles})
    for name, profile in found.profiles.items():
        if missing := [s for s in (*profile.sections, *profile.caps) if s not in found.sections]:
            raise SettingsError(f"The wake profile {name} in {own} names the section {missing[0]}, which is not there.")
    return found
