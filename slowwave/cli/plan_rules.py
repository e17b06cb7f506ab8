"""What answers teach in words, in the terminal: the rules of a review, offered as policies for the nights to come."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from slowwave.cli.listing import one_line
from slowwave.cli.session import out, program, say, suggest
from slowwave.errors import Refused
from slowwave.plans.commands import argument
from slowwave.store.connect import Store

if TYPE_CHECKING:
    from slowwave.plans.ledger import StoredPlan
    from slowwave.review.rules import LearntRule


_LONGEST: Final = 400


def learnt(store: Store, plan: StoredPlan) -> list[LearntRule]:
    """The rules that the drafts of a plan bear out now and that no policy has."""
    from slowwave.plans.policies import read_policies
    from slowwave.review.drafts import read_drafts
    from slowwave.review.rules import learnt_rules

    with store.connect("reader") as connection:
        policies = read_policies(connection, plan.header.namespace)
    return learnt_rules(plan, read_drafts(store, plan.header.namespace, plan.plan_hash), policies)


def offer_rules(store: Store, plan: StoredPlan, reviewer: str) -> None:
    """One rule after another: what its questions have in common, how right it was, and a line that accepts it. Raises ``Refused`` where
    there is none."""
    from slowwave.review.rules import AGREED, ENOUGH, accept_rule

    rules = learnt(store, plan)
    if not rules:
        raise Refused(
            f"No rule yet: that takes {ENOUGH} answers, one by one, to questions of a kind, and {AGREED:.0%} of them yes, or no."
        )
    for rule in rules:
        say(f"{one_line(rule.sentence(), _LONGEST)}.")
        does, but = ("approve", "none that contradicts or would lose a value")
        if rule.verdict == "no":
            does, but = ("reject", "and `plans reconsider` takes a rejection back")
        say(
            f"Accepted, nights {does} such questions by themselves, in your name: {rule.per_night:,} a night at most, {but}."
        )
        out.print(
            f"y accepts with {rule.per_night:,}, y N with another limit, anything else not > ", end="", markup=False
        )
        key, _, most = sys.stdin.readline().strip().partition(" ")
        if key != "y" or not (most.strip() or "1").isdecimal():
            say("Not accepted.")
            continue
        limit = int(most) if most.strip() else None
        made = accept_rule(store, plan, rule.key, accepted_by=reviewer, per_night=limit)
        say(f"Accepted: {made.per_night:,} a night, from the next night on.")
        name = argument(plan.header.namespace)
        suggest("Revoke it", f'{program()} policies revoke {name} {made.id[:8]} --by YOUR-NAME --reason "WHY"')
