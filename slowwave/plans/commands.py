"""Commands about a plan, formatted for a shell; a person only fills in a name and a reason.

``YOUR-NAME`` and ``WHY`` are the placeholders. What may be approved, and whether it needs force, comes from the ledger; the gate itself
is ``slowwave.plans.gate``.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from slowwave.store.logins import Connection

APPROVER: Final = "YOUR-NAME"
OTHER: Final = "THEIR-NAME"
NOTE: Final = "WHY"


@dataclass(frozen=True, slots=True)
class Undecided:
    """The pending items of a plan.

    ``decided`` counts the items that an approval of the whole plan covers, ``reviews`` the review items that it leaves out. ``failed``
    holds the sentences of the failed probes if an approval of the whole plan needs force. It is empty if a part of the plan was rejected or
    forced or if only review items are left, because parts are judged separately when they are approved.
    """

    namespace: str
    plan_hash: str
    decided: int
    reviews: int
    failed: tuple[str, ...]

    def approve(self, program: str = "slowwave") -> str:
        """Return the command that approves all that one approval may cover, or that answers the questions if only these are left."""
        if not self.decided:
            return self.answer(program)
        return approve_command(self.namespace, self.plan_hash, force=bool(self.failed), program=program)

    def answer(self, program: str = "slowwave") -> str:
        """Return the command that asks the questions of the plan one by one."""
        return f"{program} plans review {argument(self.namespace)} {self.plan_hash[:12]} --by {APPROVER}"


_UNDECIDED: Final = """
SELECT n.slug,
  CASE WHEN bool_or(i.decision <> 'review' AND i.status NOT IN ('pending', 'approved', 'applied', 'deferred'))
    OR EXISTS (SELECT 1 FROM night.approvals a WHERE a.plan_hash = p.plan_hash AND a.forced
      AND NOT EXISTS (SELECT 1 FROM night.revocations r WHERE r.approval_id = a.id))
    THEN NULL ELSE p.summary -> 'needs_force' END,
  count(*) FILTER (WHERE i.status = 'pending' AND i.decision <> 'review'),
  count(*) FILTER (WHERE i.status = 'pending' AND i.decision = 'review')
FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id JOIN night.plan_items i ON i.plan_hash = p.plan_hash
WHERE p.plan_hash = %s AND p.state NOT IN ('rejected', 'superseded', 'expired', 'empty') AND p.expires_at > now()
GROUP BY n.slug, p.plan_hash HAVING bool_or(i.status = 'pending')
"""


def undecided(connection: Connection, plan_hash: str) -> Undecided | None:
    """Return the pending items of a plan, or None if there are none or the plan can no longer be decided."""
    row = connection.execute(_UNDECIDED, (plan_hash,)).fetchone()
    if row is None:
        return None
    slug, failed, decided, reviews = row
    sentences = tuple(str(s) for s in failed) if isinstance(failed, list) and decided else ()
    return Undecided(str(slug), plan_hash, int(str(decided)), int(str(reviews)), sentences)


def approve_command(
    namespace: str, plan_hash: str, *, items: tuple[str, ...] = (), force: bool = False, program: str = "slowwave"
) -> str:
    """Return the ``plans approve`` command of a plan, or of some of its items by their full ids."""
    some = f" --items {','.join(items)}" if items else ""
    forced = f' --force --note "{NOTE}"' if force else ""
    return f"{program} plans approve {argument(namespace)} {plan_hash[:12]}{some} --by {APPROVER}{forced}"


def countersign_command(namespace: str, plan_hash: str, *, program: str = "slowwave") -> str:
    """Return the ``plans countersign`` command of a plan, for someone other than its first approver."""
    return f"{program} plans countersign {argument(namespace)} {plan_hash[:12]} --by {OTHER}"


def reject_command(namespace: str, plan_hash: str, *, items: tuple[str, ...] = (), program: str = "slowwave") -> str:
    """Return the ``plans reject`` command of a plan, or of some of its items by their full ids."""
    some = f" --items {','.join(items)}" if items else ""
    return f'{program} plans reject {argument(namespace)} {plan_hash[:12]}{some} --by {APPROVER} --reason "{NOTE}"'


def argument(text: str) -> str:
    """Quote a name as one argument of a shell command, if it needs quoting."""
    return shlex.quote(text)
