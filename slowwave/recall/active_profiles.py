"""Profiles of active memory: what an agent is reminded of while it works, and what it is never told; data in ``active_profiles.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from slowwave.errors import Refused

AUTO: Final = "auto"
GENERAL: Final = "general"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PathWeight(_Data):
    """What is added to the score of a page whose path fits; an asterisk stands for any characters."""

    path: str
    add: float = Field(ge=-0.1, le=0.1)


class NeverShown(_Data):
    """What no profile tells: paths, and values of frontmatter."""

    paths: tuple[str, ...]
    statuses: tuple[str, ...]
    source_kinds: tuple[str, ...]
    sensitivities: tuple[str, ...]


class Intent(_Data):
    """Words by which a prompt asks for something."""

    words: tuple[str, ...]


class ActiveProfile(_Data):
    """Which wake profile goes with it, with pinned decisions or not, whether durable pages and sessions are searched, and what is denied
    besides.
    """

    wake: str
    decisions: bool = True
    durable: bool = True
    sessions: Literal["intent", "always", "never"] = "intent"
    words: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()
    visibilities: tuple[str, ...] = ()
    sensitivities: tuple[str, ...] = ()


class ActiveProfiles(_Data):
    """All of the file."""

    order: tuple[str, ...]
    weights: tuple[PathWeight, ...]
    never: NeverShown
    profiles: Mapping[str, ActiveProfile]
    intent: Intent

    @cached_property
    def _patterns(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        return tuple((name, _any_of(self.profiles[name].words)) for name in self.order)

    def chosen(self, asked: str, prompt: str) -> tuple[str, ActiveProfile]:
        """The profile that is asked for by name; for ``auto`` the first whose words stand in the prompt, else ``general``.

        Raises ``Refused`` for a name that is none.
        """
        if asked == AUTO:
            asked = next((name for name, words in self._patterns if words.search(prompt)), GENERAL)
        if asked not in self.profiles:
            raise Refused(f"There is no profile {asked!r}. Choose {AUTO} or one of {', '.join(sorted(self.profiles))}.")
        return asked, self.profiles[asked]

    def wants_sessions(self, profile: ActiveProfile, prompt: str) -> bool:
        """Whether sessions are searched for a prompt."""
        if profile.sessions != "intent":
            return profile.sessions == "always"
        return _any_of(self.intent.words).search(prompt) is not None


@cache
def active_profiles() -> ActiveProfiles:
    """The profiles that come along."""
    text = resources.files("slowwave.recall").joinpath("active_profiles.toml").read_text(encoding="utf-8")
    return ActiveProfiles.model_validate(tomllib.loads(text))


@cache
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """Whole words, in their singular or with an s, whatever their case; none finds nothing."""
    if not words:
        return re.compile(r"(?!)")
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})s?(?!\w)", re.IGNORECASE)
