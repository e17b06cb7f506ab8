"""Where the rows of a namespace lie, for whoever applies and undoes: in our own memory, or in a store that lets plans be applied to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from slowwave.bindings.connected import connected_store
from slowwave.bindings.writing import why_not_writable, why_unfit
from slowwave.errors import Refused
from slowwave.mutations.bound_relations import bound_catalogue, row_types
from slowwave.mutations.catalogue import OWN, Catalogue
from slowwave.mutations.mutation import Identified
from slowwave.plans.lowering import find_unexplained_items
from slowwave.store.connect import Connection

_PATIENCE: Final = "SET LOCAL lock_timeout = '5s'"
"""A client of theirs is not kept waiting behind a batch that waits itself."""


def catalogue_of(connection: Connection, namespace_id: str, *, undoing: bool = False) -> Catalogue:
    """The relations that items of a namespace are applied to, as they are in this transaction.

    Raises ``Refused`` for a store to which nothing may be written, or, for what is undone, of which the tables are not those that were
    written to.
    """
    found = connected_store(connection, namespace_id)
    if found is None:
        return OWN
    of, scope = found
    if why := why_unfit(connection, of) if undoing else why_not_writable(connection, namespace_id):
        raise Refused(f"{why} Nothing was {'undone' if undoing else 'applied'}.")
    if connection.info.transaction_status.name == "INTRANS":
        connection.execute(_PATIENCE)
    catalogue = bound_catalogue(of.binding, None if scope.whole else scope.native, row_types(connection, of.binding))

    def unexplained(connection: Connection, items: Sequence[Identified]) -> Mapping[str, str]:
        found = find_unexplained_items(connection, of.binding, of.model, catalogue, items)
        return {item: what.reason for item, what in found.items()}

    return replace(catalogue, unexplained=unexplained)
