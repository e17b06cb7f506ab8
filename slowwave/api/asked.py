"""What a caller asks of a dream: a mode, an approver, a namespace; what cannot be asked is refused before anything is done."""

from __future__ import annotations

from typing import Final, Literal

from slowwave.errors import Refused
from slowwave.plans.gate import check_name
from slowwave.store.connect import Connection

Mode = Literal["dry-run", "apply"]

_SLUG: Final = """
SELECT slug FROM memory.namespaces WHERE slug = %s OR id::text = lower(%s) ORDER BY slug = %s DESC LIMIT 1
"""


def mode_of(text: str | None) -> Mode | None:
    """A mode by its name; None leaves it to the namespace. Raises ``Refused`` for another name."""
    if text is None or text == "dry-run" or text == "apply":
        return text
    raise Refused(f"There is no mode {str(text)[:32]!r}: a dream is a dry-run, or it is to apply. Nothing was done.")


def check_approver(name: str | None) -> None:
    """Raise ``Refused`` for a name that cannot sign; None signs nothing."""
    if name is not None:
        check_name(name)


def slug_of(connection: Connection, namespace: str) -> str:
    """The name of a namespace that is given by its name or its id. Raises ``Refused`` for an unknown one."""
    row = connection.execute(_SLUG, (namespace, namespace, namespace)).fetchone()
    if row is None:
        raise Refused(f"There is no namespace {namespace!r}. `slowwave namespaces` lists those there are.")
    return str(row[0])
