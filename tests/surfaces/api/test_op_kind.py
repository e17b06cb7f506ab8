"""The enum of operations."""

from __future__ import annotations

from slowwave import OpKind
from slowwave.operations.registry import operations


def test_op_kind_has_a_member_for_each_operation_in_the_order_of_a_night() -> None:
    assert [str(kind) for kind in OpKind] == list(operations()), (
        "add the new operation to slowwave/surfaces/api/op_kind.py"
    )
    assert [kind.name for kind in OpKind] == [name.upper() for name in operations()]
