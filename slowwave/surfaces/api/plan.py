"""Plans in Python: ``plan = slowwave.plan(…)``, review its items, approve that hash, apply it, undo it.

The approved plan is the reviewed one: a ``NightPlan`` keeps its hash, and the gate refuses a plan that was superseded meanwhile. Gate,
executor and undo are the same as everywhere. ``slowwave.dream`` plans and applies in one call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from slowwave.errors import Refused
from slowwave.night.answers import AnswerOutcome, describe_answers
from slowwave.night.answers import answer as answer_question
from slowwave.night.executor import ApplyResult, apply_approval
from slowwave.night.night import OPERATIONS, run_night
from slowwave.night.undo import UndoResult, undo_run
from slowwave.operations import named, permits
from slowwave.operations.setting_names import Config
from slowwave.plans.commands import argument
from slowwave.plans.gate import Approval, Countersignature, approve, countersign, reject
from slowwave.plans.items import Decision, Item
from slowwave.plans.ledger import StoredItem, StoredPlan, read_plan
from slowwave.plans.outcome import ItemOutcome, find_outcome
from slowwave.plans.review.drafts import Signature, sign_session
from slowwave.plans.show import called, named_rows, read_names, rewordings, row_changes
from slowwave.plans.signatures import HalfSigned, half_signed
from slowwave.plans.states import find_plan, latest_plan, no_plan, waiting_plans
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.migrate import open_store
from slowwave.text.quotation import quotable
from slowwave.text.tokens import counted
from slowwave.wiki.forget import By, PlannedForgetting, plan_forgetting

if TYPE_CHECKING:
    import pandas as pd


_UNAPPLIED: Final = "SELECT id::text FROM night.open_approvals WHERE plan_hash = %s ORDER BY recorded_at"
_UNDONE: Final = """
SELECT 1 FROM night.plan_items i WHERE i.plan_hash = %(plan)s HAVING bool_or(i.status = 'undone')
  AND NOT bool_or(i.status IN ('pending', 'approved', 'applied'))
"""
_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """One change of a plan.

    If ``decision`` is ``review``, a person is asked: ``question`` is the code of the question, ``reason`` its text. ``name`` names the
    rows of the item, ``changes`` are the values that would be written, one line per change, and ``outcome`` says which row is kept and
    which ends, for an item with two sides. All three contain memory text.
    """

    id: str
    operation: str
    decision: str
    risk: str
    probability: float
    status: str
    question: str
    reason: str
    name: str
    changes: tuple[str, ...]
    outcome: ItemOutcome | None = None

    def __repr__(self) -> str:
        name = self.name if len(self.name) <= 60 else f"{self.name[:59]}…"
        return f"<PlannedItem {self.id[:8]} {self.operation} {self.decision}: {name}>"


@dataclass(frozen=True, slots=True, repr=False)
class AppliedRun:
    """The result of applying a plan, with one run for each of its approvals.

    ``counts`` are the items by outcome (applied, skipped_stale, …).
    """

    results: tuple[ApplyResult, ...]
    store: Store

    @property
    def run_ids(self) -> tuple[str, ...]:
        """Return the run ids, in the order in which the runs wrote."""
        return tuple(result.run_id for result in self.results)

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of items by outcome, over all runs."""
        total: Counter[str] = Counter()
        for result in self.results:
            total.update(result.counts)
        return dict(total)

    @property
    def failed(self) -> dict[str, str]:
        """Return the reason for each failed item, by item id.

        A failed item changed nothing; approve it again by its id to retry it.
        """
        return {item: reason for result in self.results for item, reason in result.failed.items()}

    def undo(
        self, items: Collection[PlannedItem | str] | None = None, *, operation: str | None = None
    ) -> tuple[UndoResult, ...]:
        """Undo the changes exactly, last run first: all of them, ``items``, or those of one operation.

        Raises ``UndoBlocked`` with the rows that have later changes; runs that were undone before the error stay undone.
        """
        chosen = None if items is None else _ids(items)
        return tuple(undo_run(self.store, run, items=chosen, operation=operation) for run in reversed(self.run_ids))

    def __repr__(self) -> str:
        counted = ", ".join(f"{n:,} {what}" for what, n in self.counts.items() if n) or "nothing"
        return f"<AppliedRun {' '.join(run[:8] for run in self.run_ids)}: {counted}>"


@dataclass(slots=True, repr=False)
class NightPlan:
    """A plan of a namespace.

    Its hash and the effect of its items are fixed; the decisions on them are loaded again after each decision.
    """

    namespace: str
    hash: str
    store: Store
    forgetting: PlannedForgetting | None = None
    """The rows, pages and files that a plan made by ``forget`` deletes."""
    _stored: StoredPlan = field(init=False)
    _items: tuple[PlannedItem, ...] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Load the decisions again, including those made elsewhere."""
        with self.store.connect("reader") as connection:
            self._stored = read_plan(connection, self.hash)
        self._items = None

    @property
    def items(self) -> tuple[PlannedItem, ...]:
        """Return the items in sealed order, followed by the items deferred to the next night."""
        if self._items is None:
            read = [(stored, stored.item) for stored in self._stored.items]
            with self.store.connect("reader") as connection:
                names = read_names(connection, named_rows(item for _, item in read), self._stored.header.namespace_id)
            self._items = tuple(
                PlannedItem(
                    *(stored.id, stored.operation, stored.decision, stored.risk, stored.probability, stored.status),
                    *(stored.question, stored.reason, called(item, names, stored.status)),
                    *(_changes(item, names, stored.status), find_outcome(item, names, stored.status)),
                )
                for stored, item in read
            )
        return self._items

    def to_frame(self) -> pd.DataFrame:
        """Return the items as a pandas frame, one row for each: the fields of ``PlannedItem`` as columns, the id as the index."""
        import pandas as pd  # pandas comes with the extra `dagster`

        columns = [name for name in PlannedItem.__slots__ if name != "id"]
        rows = [[getattr(item, name) for name in columns] for item in self.items]
        return pd.DataFrame(rows, columns=columns, index=pd.Index([item.id for item in self.items], name="id"))

    @property
    def questions(self) -> tuple[PlannedItem, ...]:
        """Return the items that need a person's answer and have none."""
        return tuple(item for item in self.items if item.decision == Decision.REVIEW and item.status == "pending")

    @property
    def state(self) -> str:
        """Return the state that users see: ``awaiting_approval``, ``partly_approved``, ``applied``, ``undone``, …."""
        return self._stored.shown_state

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the number of items by status."""
        return self._stored.counts

    @property
    def expires_at(self) -> datetime:
        """Return the time until which the plan can be approved."""
        return self._stored.expires_at

    @property
    def failed(self) -> tuple[str, ...]:
        """Return sentences that describe the failed probes.

        If there are any, approving the whole plan needs ``force`` and a ``note``.
        """
        return _sentences(self._stored, "needs_force")

    @property
    def proven(self) -> tuple[str, ...]:
        """Return sentences that describe the checks the plan passed before anyone reviewed it."""
        return _sentences(self._stored, "sentences")

    def approve(
        self,
        approver: str,
        items: Collection[PlannedItem | str] | None = None,
        *,
        without: Collection[PlannedItem | str] = (),
        include_review: bool = False,
        force: bool = False,
        note: str = "",
    ) -> Approval:
        """Approve this plan: all pending items except questions, or ``items`` (objects, ids or first characters of ids).

        ``without`` leaves out items or whole operations. Raises ``ProbesFailed`` if the approved items fail their probes and ``force``
        with a ``note`` does not override them, and ``Refused`` for what is not allowed, such as a plan that is over or an invalid name.
        """
        done = approve(
            self.store,
            self.namespace,
            self.hash,
            approver=approver,
            permits=permits(),
            items=None if items is None else _ids(items),
            without=_ids(without),
            include_review=include_review,
            force=force,
            note=note,
        )
        self.refresh()
        return done

    @property
    def lacking(self) -> tuple[HalfSigned, ...]:
        """Return the approvals that still need a second approval by the rules of the namespace, with who approved them."""
        with self.store.connect("reader") as connection:
            return tuple(half_signed(connection, self.namespace, self.hash))

    def countersign(self, by: str, note: str = "") -> Countersignature:
        """Give the second approval to what another person approved.

        Raises ``Refused`` if no second approval is needed, or if ``by`` cannot give it.
        """
        done = countersign(self.store, self.namespace, self.hash, signed_by=by, note=note)
        self.refresh()
        return done

    def answers(self, item: PlannedItem | str) -> dict[str, str]:
        """Return the answers that a question offers, by name, each with its consequence.

        ``yes``, ``no`` and ``skip`` are accepted as well.
        """
        return {one.name: says for one, says in describe_answers(self._question(item))}

    def answer(self, item: PlannedItem | str, answer: str, by: str, note: str = "") -> AnswerOutcome:
        """Answer a question of two sides (``this``, ``other``, ``both``, ``neither``) or a merge.

        The answers to a merge are ``same``, ``different`` and ``other_name``, those about a memory that may take the words of its source
        ``source``, ``kept`` and ``ended``. The answer is a draft until ``sign`` approves it. The
        result names the plans that the answer created: one for an amended item, and one for the questions that follow from it, which are
        answered like any other (``plan(namespace, plan_hash=…)``). Raises ``Refused`` for an answer that the question does not offer.
        """
        done = answer_question(self.store, self._stored, self._question(item).id, answer, by=by, note=note)
        self.refresh()
        return done

    def sign(
        self, by: str, *, include_decided: bool = False, force: bool = False, note: str = ""
    ) -> tuple[Signature, ...]:
        """Approve all answers, including those of the plans that they created, with one approval per plan.

        Raises as ``approve`` does.
        """
        done = sign_session(
            *(self.store, self.namespace, self.hash),
            reviewer=by,
            permits=permits(),
            include_decided=include_decided,
            force=force,
            note=note,
        )
        self.refresh()
        return done

    def _question(self, item: PlannedItem | str) -> StoredItem:
        named = item if isinstance(item, str) else item.id
        found = [stored for stored in self._stored.items if stored.id.startswith(named)]
        if len(found) != 1 or not named:
            raise Refused(f"{named[:64]!r} names {len(found):,} items of plan {self.hash[:_DIGITS]}. Nothing was kept.")
        return found[0]

    def reject(self, by: str, reason: str, items: Collection[PlannedItem | str] | None = None) -> int:
        """Reject the plan, or ``items`` of it, and return how many items were rejected.

        They are not proposed again unless their rows change.
        """
        chosen = None if items is None else _ids(items)
        count = reject(self.store, self.namespace, self.hash, rejected_by=by, reason=reason, items=chosen)
        self.refresh()
        return count

    def apply(self, *, wait: float = 0.0) -> AppliedRun:
        """Apply what is approved in this plan and not applied yet.

        ``wait`` is the number of seconds to wait while another run holds the namespace. Raises ``Refused`` if there is nothing to apply;
        then nothing is written.
        """
        with self.store.connect("reader") as connection:
            approvals = [str(id_) for (id_,) in connection.execute(_UNAPPLIED, (self.hash,))]
        if not approvals and (lacking := self.lacking):
            raise Refused(
                f"{lacking[0].sentence()} for plan {self.hash[:_DIGITS]}: let somebody else `countersign` it."
            )
        if not approvals:
            raise Refused(
                f"Nothing of plan {self.hash[:_DIGITS]} is approved and unapplied: it is {self.state}. Approve it, or items of it, first."
            )
        done = tuple(apply_approval(self.store, approval, wait=wait) for approval in approvals)
        self.refresh()
        return AppliedRun(done, self.store)

    def __iter__(self) -> Iterator[PlannedItem]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self._stored.items)

    def __repr__(self) -> str:
        waiting = [stored for stored in self._stored.items if stored.status == "pending"]
        asked = sum(stored.is_question for stored in waiting)
        return (
            f"<NightPlan {self.namespace} {self.hash[:_DIGITS]} {self.state}: {len(waiting) - asked:,} to approve, "
            f"{counted(asked, 'question')}>"
        )


def plan(
    namespace: str,
    ops: str | Collection[str] | None = None,
    *,
    plan_hash: str | None = None,
    force: bool = False,
    config: Config | None = None,
    store: Store | None = None,
) -> NightPlan:
    """Plan a namespace now and return the plan; no memory is written.

    ``ops`` are the operations to run, by name, or ``all``; by default those that the settings enable. If nothing changed since the last
    night, or nothing new was found, the current plan is returned; ``force`` plans anyway. ``config`` are settings of this plan alone, as
    in ``dream``. With ``plan_hash`` (or its first characters) nothing is planned and that plan is returned. Without ``store`` the store
    of the environment is used.

    Raises ``Refused`` if there is no such namespace or plan, or if the namespace has nothing to decide.
    """
    store = store or open_store()
    if plan_hash is not None:
        with store.connect("reader") as connection:
            return NightPlan(namespace, find_plan(connection, namespace, plan_hash.strip()), store)
    night = run_night(store, namespace, force=force, ops=None if ops is None else _named(ops), config=config)
    if night.plan is not None and night.state != "empty":
        return NightPlan(namespace, night.plan.plan_hash, store)
    with store.connect("reader") as connection:
        return NightPlan(namespace, _current_plan(connection, namespace), store)


def forget(
    namespace: str,
    *,
    memory: str = "",
    entity: str = "",
    session: str = "",
    match: str = "",
    reason: str = "",
    wait: float = 0.0,
    store: Store | None = None,
) -> NightPlan:
    """Plan to delete stored rows and pages for good; nothing is deleted until the plan is approved and applied.

    Give exactly one selector: a memory by its id, an entity by its name with every row and page that names it, everything of a session by
    its id, or every row and page that contains a text (``match``). ``forgetting`` of the plan lists what it deletes. There is no undo.

    Raises ``Refused`` without exactly one selector, and for a selector that matches no row, too many rows, or rows of a connected store.
    """
    selectors: dict[By, str] = {"memory": memory, "entity": entity, "session": session, "match": match}
    given: list[tuple[By, str]] = [(by, value) for by, value in selectors.items() if value]
    if len(given) != 1:
        raise Refused("Name exactly one of memory, entity, session and match. Nothing was planned.")
    store = store or open_store()
    by, value = given[0]
    done = plan_forgetting(store, namespace, by, value, reason=reason, wait=wait)
    return NightPlan(namespace, done.plan_hash, store, done)


def _changes(item: Item, names: Mapping[str, str], status: str) -> tuple[str, ...]:
    """Describe the row changes of an item, and the new text of the memories that it rewords."""
    new_texts = (str(quotable(reworded.text)) for reworded in rewordings(item) if reworded.text)
    return (*row_changes(item, names, status).lines, *(f"says then: {text}" for text in new_texts))


def _current_plan(connection: Connection, namespace: str) -> str:
    """Return the plan to use if a night made none: the newest pending plan, else the newest plan.

    Raises ``Refused`` if there is no plan, or if the newest plan was undone.
    """
    if waiting := waiting_plans(connection, namespace):
        return waiting[0]
    if found := latest_plan(connection, namespace):
        if connection.execute(_UNDONE, {"plan": found}).fetchone():
            name = argument(namespace)
            raise Refused(
                f"{namespace} has nothing to decide: its latest plan, {found[:12]}, was undone, and is not proposed again while its rows "
                f"say what they said. `slowwave plans show {name} {found[:12]}` shows it, and "
                f"`slowwave plans reconsider {name} ITEM --reason WHY` lets the next night propose an item again."
            )
        return found
    raise Refused(f"{no_plan(connection, namespace)} List the runs: `slowwave runs list {argument(namespace)}`.")


def _named(ops: str | Collection[str]) -> str:
    given = ops if isinstance(ops, str) else ",".join(ops)
    named(given, OPERATIONS)
    return given


def _ids(items: Collection[PlannedItem | str]) -> list[str]:
    return [item if isinstance(item, str) else item.id for item in items]


def _sentences(stored: StoredPlan, name: str) -> tuple[str, ...]:
    found = stored.summary.get(name)
    return tuple(map(str, found)) if isinstance(found, Sequence) and not isinstance(found, str) else ()
