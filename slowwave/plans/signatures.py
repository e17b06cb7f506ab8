"""Approvals that need several people: the rule, the approvals that lack one, and the status of all namespaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from psycopg.rows import class_row

from slowwave.plans.commands import countersign_command
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id

# The number of people who have to approve before an approval counts, and the approvals that lack one. Read only.
#
# The database enforces the rule (``night.signatures_missing``): no run begins for an approval that lacks an approver.
# ``slowwave.plans.gate`` writes first and further approvals.

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
    """The rule for approvals: ``signatures`` is the number of people who have to approve.

    With ``not_author``, people who asked for a plan's changes or wrote the policy that approves them do not count. With ``own_login``,
    approvals through the same database login count once. ``of_all`` states that it is the rule of all namespaces without their own.
    """

    signatures: int = 1
    not_author: bool = False
    own_login: bool = False
    set_by: str = ""
    of_all: bool = False

    def sentence(self) -> str:
        """Return the rule as a sentence."""
        if self == ApprovalRule() or (self.signatures == 1 and not self.not_author):
            return "One signature is enough."
        names = "One signature is needed" if self.signatures == 1 else f"{self.signatures} people have to sign"
        parts = [", each with a login to the database of their own" if self.own_login and self.signatures > 1 else ""]
        parts += [
            "; who asked for a change, or wrote the policy that approves it, does not count" if self.not_author else ""
        ]
        return f"{names}{''.join(parts)}."

    def to_json(self) -> dict[str, object]:
        """Return the rule as ``slowwave policies approvals --json`` shows it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class HalfSigned:
    """An approval that needs ``missing`` more approvers; ``signers`` are those so far, in order."""

    approval_id: str
    namespace: str
    plan_hash: str
    signers: Sequence[str]
    missing: int
    items: int
    not_author: bool

    def sentence(self) -> str:
        """Return who has approved and how many more are needed, as a sentence without a full stop."""
        return signed_by(self.signers, self.missing, not_author=self.not_author)

    def to_json(self) -> dict[str, object]:
        """Return the approval as ``slowwave policies approvals --json`` shows it."""
        return asdict(self)

    def command(self, program: str = "slowwave") -> str:
        """Return the command with which someone else adds an approval."""
        return countersign_command(self.namespace, self.plan_hash, program=program)


def signed_by(signers: Sequence[str], missing: int, *, not_author: bool = False) -> str:
    """Return a sentence without a full stop, such as ``Signed by mara, one more signature needed``."""
    more = "one more signature" if missing == 1 else f"{missing} more signatures"
    other = ", of somebody who did not ask for it" if not_author else ""
    return f"Signed by {', '.join(signers)}, {more} needed{other}"


def half_signed(connection: Connection, namespace: str | None = None, plan_hash: str | None = None) -> list[HalfSigned]:
    """Return the approvals that need more approvers, oldest first, of a namespace or of a plan by its full hash."""
    with connection.cursor(row_factory=class_row(HalfSigned)) as cursor:
        return cursor.execute(_LACKING, {"namespace": namespace, "plan": plan_hash}).fetchall()


def missing_signatures(connection: Connection, approval_id: str) -> int:
    """Return how many more approvers an approval needs."""
    row = connection.execute(_MISSING, (approval_id,)).fetchone()
    return int(str(row[0])) if row and row[0] is not None else 0


def read_rule(connection: Connection, namespace: str | None = None) -> ApprovalRule:
    """Return the rule of a namespace, or the one of all namespaces without their own."""
    if namespace is not None:
        namespace_id(connection, namespace)  # an unknown one is refused
    with connection.cursor(row_factory=class_row(ApprovalRule)) as cursor:
        found = cursor.execute(_RULE, (namespace,)) if namespace is not None else cursor.execute(_RULE_OF_ALL)
        return found.fetchone() or ApprovalRule()
