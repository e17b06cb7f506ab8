"""Commands about a plan, spelled for a shell: what a surface prints is accepted as it is printed, but for a name and a reason.

``YOUR-NAME`` and ``WHY`` stand where a person writes their own. What may be approved, and whether it takes force, is asked of the
ledger; the gate itself is ``slowwave.plans.gate``.
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
    """What of a plan waits for a person: ``decided`` items that an approval of the whole plan covers, and ``reviews`` that it leaves
    out, ``review`` being the first of them. ``failed`` are the sentences of the probes for which an approval of the whole plan takes
    force; empty where a part of it is rejected, forced or all that is left: parts are judged by themselves when they are approved.
    """

    namespace: str
    plan_hash: str
    decided: int
    reviews: int
    review: str
    failed: tuple[str, ...]

    def approve(self, program: str = "slowwave") -> str:
        """The command that approves all that an approval may cover at once; of reviews alone, the first."""
        items = () if self.decided else (self.review,)
        return approve_command(self.namespace, self.plan_hash, items=items, force=bool(self.failed), program=program)


_UNDECIDED: Final = """
SELECT n.slug,
  CASE WHEN bool_or(i.decision <> 'review' AND i.status NOT IN ('pending', 'approved', 'applied', 'deferred'))
    OR EXISTS (SELECT 1 FROM night.approvals a WHERE a.plan_hash = p.plan_hash AND a.forced
      AND NOT EXISTS (SELECT 1 FROM night.revocations r WHERE r.approval_id = a.id))
    THEN NULL ELSE p.summary -> 'needs_force' END,
  count(*) FILTER (WHERE i.status = 'pending' AND i.decision <> 'review'),
  count(*) FILTER (WHERE i.status = 'pending' AND i.decision = 'review'),
  coalesce((array_agg(i.item_id::text ORDER BY i.ordinal) FILTER (WHERE i.status = 'pending' AND i.decision = 'review'))[1], '')
FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id JOIN night.plan_items i ON i.plan_hash = p.plan_hash
WHERE p.plan_hash = %s AND p.state NOT IN ('rejected', 'superseded', 'expired', 'empty') AND p.expires_at > now()
GROUP BY n.slug, p.plan_hash HAVING bool_or(i.status = 'pending')
"""


def undecided(connection: Connection, plan_hash: str) -> Undecided | None:
    """What waits in a plan; None when nothing does, or when its state lets nobody decide any more."""
    row = connection.execute(_UNDECIDED, (plan_hash,)).fetchone()
    if row is None:
        return None
    slug, failed, decided, reviews, review = row
    sentences = tuple(str(s) for s in failed) if isinstance(failed, list) and decided else ()
    return Undecided(str(slug), plan_hash, int(str(decided)), int(str(reviews)), str(review), sentences)


def approve_command(
    namespace: str, plan_hash: str, *, items: tuple[str, ...] = (), force: bool = False, program: str = "slowwave"
) -> str:
    """``plans approve`` of a plan, or of some of its items by their whole ids."""
    some = f" --items {','.join(items)}" if items else ""
    forced = f' --force --note "{NOTE}"' if force else ""
    return f"{program} plans approve {argument(namespace)} {plan_hash[:12]}{some} --by {APPROVER}{forced}"


def countersign_command(namespace: str, plan_hash: str, *, program: str = "slowwave") -> str:
    """``plans countersign`` of a plan, by somebody else than who signed it."""
    return f"{program} plans countersign {argument(namespace)} {plan_hash[:12]} --by {OTHER}"


def reject_command(namespace: str, plan_hash: str, *, items: tuple[str, ...] = (), program: str = "slowwave") -> str:
    """``plans reject`` of a plan, or of some of its items by their whole ids."""
    some = f" --items {','.join(items)}" if items else ""
    return f'{program} plans reject {argument(namespace)} {plan_hash[:12]}{some} --by {APPROVER} --reason "{NOTE}"'


def argument(text: str) -> str:
    """A name as one argument of a command line, quoted where a shell would read it otherwise."""
    return shlex.quote(text)
