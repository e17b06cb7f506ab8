"""What of a plan's questions a reviewer chose to see: filters, order and page, as they stand in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final
from urllib.parse import urlencode

STATES: Final[Mapping[str, str]] = {
    "": "All",
    "open": "Open",
    "yes": "Yes",
    "no": "No",
    "skip": "Skipped",
}
"""What became of a question so far, and its name."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Empty fields filter nothing; ``page`` counts from 1."""

    text: str = ""
    question: str = ""
    operation: str = ""
    risk: str = ""
    state: str = ""
    sort: str = ""
    page: int = 1

    @classmethod
    def of(cls, said: Mapping[str, str]) -> Chosen:
        """From the parameters of an address; what is none of ours is left out."""
        given = {f.name: said.get(f.name, "")[:200] for f in fields(cls) if f.name != "page"}
        page = said.get("page", "")
        return cls(**given, page=max(1, int(page)) if page.isascii() and page.isdecimal() and len(page) < 6 else 1)

    @property
    def narrow(self) -> int:
        """How many filters are set, the search aside."""
        return sum(bool(value) for value in (self.question, self.operation, self.risk, self.state, self.sort))

    def query(self, **more: str | int) -> str:
        """As the query of an address, with ``more`` beside it or in place of a field's value; empty values are left out."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "page" or self.page > 1}
        return urlencode({name: value for name, value in (own | more).items() if value})

    def at(self, page: int) -> Chosen:
        """The same on another page."""
        return replace(self, page=page)


@dataclass(frozen=True, slots=True)
class ChoiceField:
    """A filter as a form shows it: its options are value and label, ``chosen`` is the value that is set."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    chosen: str
