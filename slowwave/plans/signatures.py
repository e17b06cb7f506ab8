"""How many people have to sign before an approval counts, and which approvals lack a signature. Read, never changed.

The database holds to the rule (``night.signatures_missing``): no run begins for an approval that lacks a signature. Further signatures are
made by ``slowwave.plans.countersigning``, first ones by ``slowwave.plans.gate``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from psycopg.rows import class_row

from slowwave.plans.commands import countersign_command
from slowwave.store.connect import Connection
from slowwave.store.namespaces import namespace_id

_LACKING: Final = """
SELECT h.id::text AS approval_id, n.slug AS namespace, h.plan_hash, h.signers, h.missing, cardinality(h.item_ids) AS items,
  coalesce((SELECT r.not_author FROM night.approval_rule(h.namespace_id) r), false) AS not_author
FROM night.half_signed_approvals h JOIN memory.namespaces n ON n.id = h.namespace_id
WHERE (%(namespace)s::text IS NULL OR n.slug = %(namespace)s) AND (%(plan)s::text IS NULL OR h.plan_hash = %(plan)s)
ORDER BY h.recorded_at, h.id
"""
_RULE: Final = """
SELECT r.signatures, r.not_author, r.own_login, r.set_by, r.namespace_id IS NULL AS of_all
FROM memory.namespaces n, night.approval_rule(n.id) r WHERE n.slug = %s
"""
_RULE_OF_ALL: Final = """
SELECT signatures, not_author, own_login, set_by, true AS of_all FROM night.approval_rules WHERE namespace_id IS NULL
ORDER BY id DESC LIMIT 1
"""
_MISSING: Final = "SELECT night.signatures_missing(%s)"


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """What an approval needs: ``signatures`` by as many names. With ``not_author`` those of whoever asked for a plan's changes, or wrote
    the policy that approves them, do not count; with ``own_login`` no two count that came by one login of the database. ``of_all`` says
    that it holds in all namespaces without a rule of their own."""

    signatures: int = 1
    not_author: bool = False
    own_login: bool = False
    set_by: str = ""
    of_all: bool = False

    def sentence(self) -> str:
        """What it asks for."""
        if self == ApprovalRule() or (self.signatures == 1 and not self.not_author):
            return "One signature is enough."
        names = "One signature is needed" if self.signatures == 1 else f"{self.signatures} people have to sign"
        parts = [", each with a login to the database of their own" if self.own_login and self.signatures > 1 else ""]
        parts += [
            "; who asked for a change, or wrote the policy that approves it, does not count" if self.not_author else ""
        ]
        return f"{names}{''.join(parts)}."

    def to_json(self) -> dict[str, object]:
        """As ``slowwave signatures --json`` shows it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class HalfSigned:
    """An approval that waits for ``missing`` more signatures; ``signers`` are who signed it so far, the first one first."""

    approval_id: str
    namespace: str
    plan_hash: str
    signers: Sequence[str]
    missing: int
    items: int
    not_author: bool

    def sentence(self) -> str:
        """Who signed, and how many are still needed."""
        return signed_by(self.signers, self.missing, not_author=self.not_author)

    def to_json(self) -> dict[str, object]:
        """As ``slowwave signatures --json`` shows it."""
        return asdict(self)

    def command(self, program: str = "slowwave") -> str:
        """The command by which somebody else signs."""
        return countersign_command(self.namespace, self.plan_hash, program=program)


def signed_by(signers: Sequence[str], missing: int, *, not_author: bool = False) -> str:
    """``Signed by mara, one more signature needed``: a sentence without its full stop."""
    more = "one more signature" if missing == 1 else f"{missing} more signatures"
    other = ", of somebody who did not ask for it" if not_author else ""
    return f"Signed by {', '.join(signers)}, {more} needed{other}"


def half_signed(connection: Connection, namespace: str | None = None, plan_hash: str | None = None) -> list[HalfSigned]:
    """The approvals that lack a signature, of a namespace or of a plan by its whole hash, the oldest first."""
    with connection.cursor(row_factory=class_row(HalfSigned)) as cursor:
        return cursor.execute(_LACKING, {"namespace": namespace, "plan": plan_hash}).fetchall()


def missing_signatures(connection: Connection, approval_id: str) -> int:
    """How many signatures an approval still needs."""
    row = connection.execute(_MISSING, (approval_id,)).fetchone()
    return int(str(row[0])) if row and row[0] is not None else 0


def read_rule(connection: Connection, namespace: str | None = None) -> ApprovalRule:
    """The rule that holds in a namespace, or in all that have none of their own."""
    if namespace is not None:
        namespace_id(connection, namespace)  # an unknown one is refused
    with connection.cursor(row_factory=class_row(ApprovalRule)) as cursor:
        found = cursor.execute(_RULE, (namespace,)) if namespace is not None else cursor.execute(_RULE_OF_ALL)
        return found.fetchone() or ApprovalRule()
