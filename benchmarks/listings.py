"""Listings: rows of one type that name entities, with the gold beside them. What the rows say belongs to the modules of the worlds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from benchmarks.vocabulary import (
    Dice,
)


class Row(NamedTuple):
    """One line of a labelled set; ``attrs`` without empty values."""

    id: str
    source: str
    entity_type: str
    name: str
    attrs: Mapping[str, Any]
    cluster_id: str


class Listing:
    """Rows of one world as they are made; ids tell nothing of the clusters."""

    def __init__(self, dice: Dice, entity_type: str) -> None:
        self._dice, self._type = dice, entity_type
        self._rows: list[tuple[str, str, dict[str, Any], str]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, source: str, cluster: object, name: str, **attrs: Any) -> None:
        """One row; empty values are left out, as an exporter does."""
        kept = {key: value for key, value in attrs.items() if value not in (None, "", [])}
        self._rows.append((source, " ".join(name.split()) or "unknown", kept, str(cluster)))

    def rows(self) -> list[Row]:
        """All of them in an order of chance, numbered in it."""
        mixed = self._dice.shuffled(self._rows)
        return [
            Row(f"{source}-{at}", source, self._type, name, attrs, cluster)
            for at, (source, name, attrs, cluster) in enumerate(mixed)
        ]
