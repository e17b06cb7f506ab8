"""What an import does with rows that hold a secret, an order to a model or hidden characters: the setting ``screening_on_import``.

What is found belongs to ``slowwave.texts.screening``. A row is refused, or it becomes a memory that recall does not see, or it is only
counted; nothing says what was found beyond the name of the rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import psycopg

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError

Policy = Literal["block", "quarantine", "warn"]
State = Literal["active", "quarantined"]

_KINDS: Final = ("secret", "injection", "hidden", "lookalike")
_OWN_SETTINGS: Final = "SELECT slug, settings FROM memory.namespaces WHERE jsonb_exists(settings, %s)"


class BadRow(ValueError):  # noqa: N818 - a finding of this package, always caught in it
    """A row that cannot be taken; its text is the reason."""


@dataclass(slots=True)
class Screening:
    """The policy of every namespace, and what was found: rows by kind of finding, and those that were quarantined.

    ``own`` holds the policies of namespaces that have one; the others have ``policy``.
    """

    policy: Policy = "warn"
    own: Mapping[str, Policy] = field(default_factory=dict)
    found: Counter[str] = field(default_factory=Counter)
    quarantined: int = 0

    @classmethod
    def of(cls, connection: psycopg.Connection[Any]) -> Screening:
        """As the environment and the namespaces' own settings say; a namespace whose settings cannot be read has the environment's."""
        own = own_settings(connection, "screening_on_import")
        return cls(
            Settings.for_namespace({}).screening_on_import,
            {slug: settings.screening_on_import for slug, settings in own.items()},
        )

    def state(self, namespace: str, text: str) -> State:
        """The state that a row with this text begins with. Raises ``BadRow`` where such rows are refused."""
        from slowwave.texts.screening import screen  # its rules take a while to load

        detected = [f for f in screen(text) if f.severity != "low"]
        if not detected:
            return "active"
        self.found.update({f.kind for f in detected})
        policy = self.own.get(namespace, self.policy)
        acted = [f for f in detected if f.kind != "lookalike"]
        if policy == "warn" or not acted:
            return "active"
        if policy == "block":
            worst = min(acted, key=lambda f: (_KINDS.index(f.kind), f.start))
            raise BadRow(f"its text holds what screening refuses ({worst.kind}: {worst.rule})")
        self.quarantined += 1
        return "quarantined"


def own_settings(connection: psycopg.Connection[Any], name: str) -> dict[str, Settings]:
    """The settings of the namespaces that set ``name`` themselves, by slug; those that cannot be read are left out."""
    own: dict[str, Settings] = {}
    with connection.transaction():
        rows = connection.execute(_OWN_SETTINGS, [name]).fetchall()
    for slug, overlay in rows:
        try:
            own[slug] = Settings.for_namespace(overlay)
        except SettingsError:
            continue
    return own
