"""References of subjects (``project:rowan``): a family, a slug, and the page that a subject of the family has. Pure."""

from __future__ import annotations

import hashlib
import re
from typing import Final, Literal, NamedTuple, get_args

Family = Literal["person", "project", "concept", "decision", "core"]
FAMILIES: Final[tuple[Family, ...]] = get_args(Family)

CORE: Final = ("user", "identity", "soul", "env", "active", "defaults")
"""The subjects of the family ``core``: its pages."""

_PAGES: Final = {
    "person": "people/{}.md",
    "project": "projects/{}/state.md",
    "concept": "concepts/{}.md",
    "decision": "decisions/{}.md",
    "core": "core/{}.md",
}
_FORM: Final = re.compile(rf"({'|'.join(FAMILIES)}):([a-z0-9][a-z0-9-]{{0,119}})", re.IGNORECASE)
_LONGEST: Final = 80
_LEADING_DAY: Final = re.compile(r"^\d{4}-\d\d(?:-\d\d)?[-_ ]+")


class SubjectRef(NamedTuple):
    """A reference in its parts."""

    family: Family
    slug: str

    def __str__(self) -> str:
        return f"{self.family}:{self.slug}"

    @property
    def path(self) -> str:
        """The canonical page of the subject, whether there is one or not."""
        return _PAGES[self.family].format(self.slug)

    @classmethod
    def read(cls, text: str) -> SubjectRef | None:
        """A reference as somebody wrote it; None for what is none."""
        form = _FORM.fullmatch(text.strip())
        return None if form is None else cls(_family(form[1].lower()), form[2].lower())


def family_of(entity_type: str) -> Family:
    """The family of an entity of any type; what is none of them is a concept."""
    return _family(entity_type.casefold())


def slug_of(name: str) -> str:
    """A name as a part of a path: Latin letters and digits. A name that has none gets a slug of its own all the same."""
    from slowwave.matching.alphabets import latin  # its room brings NumPy, which whoever only reads does without

    bare = re.sub(r"[^a-z0-9]+", "-", latin(name)).strip("-")[:_LONGEST].strip("-")
    return bare or f"n-{hashlib.sha256(name.strip().casefold().encode()).hexdigest()[:10]}"


def undated(stem: str) -> str:
    """A file's name without the day or month that it begins with."""
    return _LEADING_DAY.sub("", stem)


def _family(text: str) -> Family:
    known: dict[str, Family] = {family: family for family in FAMILIES}
    return known.get(text, "concept")
