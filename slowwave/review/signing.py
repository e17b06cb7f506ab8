"""The signature under the drafts of a plan: one approval of every yes, with the items that need no person, and a rejection of every no.

Until then nothing follows from a draft. All of it is one transaction: either everything that was said counts, or nothing does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from slowwave.errors import Refused
from slowwave.plans.commands import argument
from slowwave.plans.gate import check_approver, lock_plan, refuse_state, reject_items, sign_items
from slowwave.plans.ledger import StoredItem, StoredPlan, verify_sealed
from slowwave.review.drafts import Draft, current_drafts
from slowwave.review.superseding import parts_rejected
from slowwave.store.collector import few_collections
from slowwave.store.connect import Store

CHANNEL: Final = "review"
UNEXPLAINED: Final = "Rejected in review."
"""The reason of a rejection for which nobody wrote a note."""

_NAMED: Final = 3
_NOTE_SIGNATURE: Final = """
INSERT INTO night.review_signatures (namespace_id, plan_hash, approval_id, signed_by, approved, rejected) VALUES (%s, %s, %s, %s, %s, %s)
"""


@dataclass(frozen=True, slots=True)
class Signature:
    """What one signature did: its approval, if it approved anything, how many items it approved and rejected, and how many still wait.

    ``lacks`` says that it needs a further signature, see ``slowwave.plans.signatures``; empty where it does not."""

    namespace: str
    plan_hash: str
    signed_by: str
    approval_id: str | None
    approved: int
    rejected: int
    left: int
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The pending items of a plan, by what an approval does with them.

    ``yes`` and ``no`` were answered so, ``decided`` are items that planners decided and nobody answered, and ``left`` stay pending.
    """

    yes: tuple[StoredItem, ...]
    no: tuple[StoredItem, ...]
    decided: tuple[StoredItem, ...]
    left: tuple[StoredItem, ...]

    @property
    def digest(self) -> str:
        """A name for exactly these items and verdicts; a page sends it back, so that it approves what it showed."""
        parts = (f"{name} {s.id}" for name in ("yes", "no", "decided") for s in getattr(self, name))
        return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def coverage(plan: StoredPlan, drafts: Mapping[str, Draft]) -> Coverage:
    """Sort the pending items of a plan by what an approval of these drafts does with them."""
    found: dict[str, list[StoredItem]] = {"yes": [], "no": [], "decided": [], "left": []}
    for stored in plan.items:
        if stored.status != "pending":
            continue
        said = drafts[stored.id].verdict if stored.id in drafts else ""
        kind = said if said in ("yes", "no") else "left" if said or stored.decision == "review" else "decided"
        found[kind].append(stored)
    return Coverage(*(tuple(found[kind]) for kind in ("yes", "no", "decided", "left")))


@few_collections()
def sign(
    store: Store,
    namespace: str,
    plan_hash: str,
    *,
    reviewer: str,
    include_decided: bool = True,
    force: bool = False,
    note: str = "",
    shown: str | None = None,
) -> Signature:
    """Sign what all reviewers drafted: every yes is approved, every no rejected with its note, what was skipped waits on.

    Of an item that was split, only the pairs of a row that was taken out and one that stays are remembered as rejected.

    ``include_decided`` approves with it what needs no person and nobody said anything of. It is held to all that an approval is held to
    (``slowwave.plans.gate.approve``), and refused where two reviewers contradict each other, and where there is nothing to sign.

    ``shown`` is the ``Coverage.digest`` of what the reviewer saw. Raises ``Refused`` if answers or items have changed since.
    """
    check_approver(reviewer, CHANNEL)
    with store.connect("approver") as connection, connection.transaction():
        plan = lock_plan(connection, namespace, plan_hash)
        refuse_state(connection, plan)
        verify_sealed(plan, "approved")
        drafts = current_drafts(connection, plan.plan_hash)
        _refuse_contradictions(plan, drafts)
        found = coverage(plan, drafts)
        if shown is not None and shown != found.digest:
            raise Refused(
                "The answers or items have changed since this page was shown, so it does not list what would be approved. "
                "Nothing was approved. Read the list again, then approve."
            )
        yes = [*found.yes, *(found.decided if include_decided else ())]
        no = [(s, drafts[s.id].note or UNEXPLAINED) for s in found.no]
        if not yes and not no:
            raise Refused(
                f"There is nothing to sign: nobody said yes or no of an item of plan {plan.plan_hash[:12]} that waits, and it has none "
                f"that needs no person. `slowwave plans review {argument(namespace)}` asks about them."
            )
        approval = sign_items(store, connection, plan, yes, reviewer, CHANNEL, force=force, note=note) if yes else None
        if no:
            amended = {s.id: made for s, _ in no if (made := drafts[s.id].amended)}
            parts = parts_rejected(connection, amended, [s for s, _ in no])
            reject_items(connection, plan, no, reviewer, instead=parts)
        approval_id = approval.id if approval else None
        connection.execute(
            _NOTE_SIGNATURE,
            (plan.header.namespace_id, plan.plan_hash, approval_id, reviewer, len(yes), len(no)),
        )
    left = len(found.left) + (0 if include_decided else len(found.decided))
    lacks = approval.lacks if approval else ""
    return Signature(namespace, plan.plan_hash, reviewer, approval_id, len(yes), len(no), left, lacks)


def _refuse_contradictions(plan: StoredPlan, drafts: Mapping[str, Draft]) -> None:
    """Refuse to sign while two reviewers say the opposite of one item."""
    found = [drafts[s.id] for s in plan.items if s.id in drafts and drafts[s.id].against]
    if not found:
        return
    told = "; ".join(
        f"{draft.item}: {draft.verdict} by {draft.reviewer}, but not by {', '.join(draft.against)}"
        for draft in found[:_NAMED]
    )
    more = f"; and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
    raise Refused(
        f"Reviewers contradict each other about {len(found):,} of the items ({told}{more}). One of each two has to take theirs back, or to "
        "say the same. Nothing was signed."
    )
