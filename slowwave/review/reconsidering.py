"""Reconsidering: a rejection that was signed is withdrawn, so that the next night may propose again what it was about.

The item stays rejected where it was, and both stand on record. What is taken back before a signature are drafts
(``slowwave.review.drafts``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from slowwave.errors import Refused
from slowwave.plans.commands import argument
from slowwave.plans.gate import POLICY, check_name
from slowwave.store.connect import Connection, Store
from slowwave.store.namespaces import namespace_id

_LEAST: Final = 4
_FIND: Final = """
SELECT DISTINCT n.name, r.item_id::text, r.operation, r.subject, EXISTS (SELECT 1 FROM night.withdrawals w WHERE w.rejection_id = r.id)
FROM unnest(%s::text[]) n(name) JOIN night.rejections r ON r.namespace_id = %s AND starts_with(r.item_id::text, n.name)
"""
_WITHDRAW: Final = """
INSERT INTO night.withdrawals (rejection_id, namespace_id, withdrawn_by, reason)
SELECT r.id, r.namespace_id, %(by)s, %(reason)s FROM night.rejections r
WHERE r.namespace_id = %(namespace)s AND ((r.operation, r.subject) IN (SELECT * FROM unnest(%(operations)s::text[], %(subjects)s::text[]))
  OR r.plan_hash IN (SELECT d.amended FROM night.review_drafts d
    WHERE d.namespace_id = r.namespace_id AND d.item_id = ANY(%(items)s::uuid[])))
ON CONFLICT (rejection_id) DO NOTHING
"""
"""An item that came of an answer to one of the items is about the same rows: its rejection, such as by undo, is withdrawn as well."""


@dataclass(frozen=True, slots=True)
class Reconsidered:
    """Items whose rejection stands no longer, and how many rejections were withdrawn with them: those of the same proposal as well."""

    namespace: str
    items: tuple[str, ...]
    withdrawn: int


def reconsider(store: Store, namespace: str, items: Sequence[str], *, withdrawn_by: str, reason: str) -> Reconsidered:
    """Withdraw the rejections of items (ids or their first characters), of undone ones too; all of them or none.

    A proposal that was rejected several times is withdrawn whole. Raises ``Refused`` where an item was not rejected, or is withdrawn.
    """
    check_name(withdrawn_by)
    if withdrawn_by.lower() == POLICY:
        raise Refused("A policy reconsiders nothing: name the person who does, with --by. Nothing was withdrawn.")
    if not reason.strip():
        raise Refused("To withdraw a rejection needs a reason, which stays on record with it. Give --reason.")
    if not items:
        raise Refused("Name at least one item whose rejection is to be withdrawn.")
    with store.connect("approver") as connection, connection.transaction():
        scope = namespace_id(connection, namespace)
        found = _rejected(connection, namespace, scope, items)
        withdrawn = connection.execute(
            _WITHDRAW,
            {
                **{"by": withdrawn_by, "reason": reason.strip()[:2000], "namespace": scope},
                **{"operations": [o for _, o, _ in found], "subjects": [s for _, _, s in found]},
                "items": [item for item, _, _ in found],
            },
        ).rowcount
    return Reconsidered(namespace, tuple(dict.fromkeys(item for item, _, _ in found)), withdrawn)


def _rejected(connection: Connection, namespace: str, scope: str, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """The rejected items that are meant, in one query: id, operation and subject of each."""
    begins = [name.strip().lower() for name in names]
    told: dict[str, list[tuple[str, str, str, bool]]] = {}
    for begin, *row in connection.execute(_FIND, ([b for b in begins if len(b) >= _LEAST], scope)):
        item, operation, subject, gone = row
        told.setdefault(str(begin), []).append((str(item), str(operation), str(subject), bool(gone)))
    named = zip(names, begins, strict=True)
    return [meant for name, begin in named for meant in _meant(namespace, name, told.get(begin, []))]


def _meant(namespace: str, name: str, rows: Sequence[tuple[str, str, str, bool]]) -> list[tuple[str, str, str]]:
    """The rejections that a name means, of those that it begins: several of an item that was split."""
    ids = sorted({item for item, *_ in rows})
    if len(ids) != 1:
        what = "begins several rejected items" if ids else "is no item that was rejected"
        raise Refused(f"{name[:64]!r} {what} in {namespace}. `slowwave plans show {argument(namespace)}` lists items.")
    standing = [(item, operation, subject) for item, operation, subject, gone in rows if not gone]
    if not standing:
        raise Refused(f"The rejection of item {ids[0]} was withdrawn already. Nothing was withdrawn.")
    return standing
