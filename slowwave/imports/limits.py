"""How long an imported text may be: the setting ``import_longest_text``, and what follows from it for a line.

Everything that a text goes through (screening, names, its vector) takes time in proportion to its length, by day while an agent waits and
each night again, so a text without a bound has no bound on its cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from slowwave.config.settings import Settings
from slowwave.imports.screening import BadRow, own_settings

_BESIDES: Final = 65_536  # bytes of a line for everything but the text
_ESCAPED: Final = 12  # bytes of JSON for one character, at most: a pair of \uXXXX


@dataclass(frozen=True, slots=True)
class Limits:
    """``text``: characters of one text; ``own`` holds those of namespaces that have a limit of their own."""

    text: int = 100_000
    own: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, connection: psycopg.Connection[Any]) -> Limits:
        """As the environment and the namespaces' own settings say."""
        own = own_settings(connection, "import_longest_text")
        return cls(
            Settings.for_namespace({}).import_longest_text,
            {slug: settings.import_longest_text for slug, settings in own.items()},
        )

    @property
    def line(self) -> int:
        """Bytes or characters of one line: room for the longest text in its longest spelling, and for what stands beside it."""
        return _ESCAPED * max(self.text, *self.own.values(), 0) + _BESIDES

    def check(self, namespace: str, text: str, name: str) -> None:
        """Raise ``BadRow`` for a text that is longer than the namespace takes."""
        longest = self.own.get(namespace, self.text)
        if len(text) > longest:
            raise BadRow(
                f"{name} has {len(text):,} characters, more than {longest:,} (SLOWWAVE_IMPORT_LONGEST_TEXT); split it up"
            )
