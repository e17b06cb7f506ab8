"""Functions that take the table of permits, called with that of all planners, for tests that are not about permits."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from slowwave.operations import permits
from slowwave.plans import gate, policies
from slowwave.plans.probes import radius
from slowwave.plans.review import drafts

Result = TypeVar("Result")


def with_permits(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return a function that passes the permits of all planners."""

    @wraps(function)
    def call(*arguments: object, **named: object) -> Result:
        return function(*arguments, permits=permits(), **named)

    return call


approve = with_permits(gate.approve)
accept_operations = with_permits(policies.accept_operations)
decide_by_policies = with_permits(policies.decide_by_policies)
sign = with_permits(drafts.sign)
sign_session = with_permits(drafts.sign_session)
blast_radius = with_permits(radius.blast_radius)
prove_subset = with_permits(radius.prove_subset)
harmful = with_permits(radius.harmful)
waiting = with_permits(radius.waiting)
