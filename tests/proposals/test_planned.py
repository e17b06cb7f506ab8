"""``settle``: what is kept becomes plans, and what a token decided of the plan that it read is signed, and nothing else."""

from __future__ import annotations

import psycopg
import pytest

from slowwave.config.settings import Settings
from slowwave.proposals.kept import decide, propose
from slowwave.proposals.planned import settle
from slowwave.proposals.proposal_request import ProposalApplyRequest, ProposalRequest
from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.serving import token_of


def proposed(store: Store, target: str, content: str) -> str:
    kind = "core" if target.startswith("core/") else "idea"
    page = {"kind": "create", "target": target, "content": content, "frontmatter": {"title": "A page", "type": kind}}
    request = ProposalRequest.model_validate({"actions": [{"page": page}]})
    with store.connect("owner") as connection:
        return propose(connection, "acme", request, Settings()).id


def decided(store: Store, id_: str, plan_hash: str, token: str) -> None:
    with store.connect("server") as connection:
        decide(connection, "acme", ProposalApplyRequest(id=id_, plan_hash=plan_hash), token=token)


@pytest.fixture
def acme(store: Store) -> Store:
    remember(store, "acme")
    return store


def test_what_is_signed_is_the_plan_that_was_read(acme: Store) -> None:
    """A planner that names another plan after the verdict is refused; and were it not, the plan that was read would be signed."""
    token = token_of(acme, "acme", "approve")
    good, bad = proposed(acme, "ideas/tides.md", "Six o'clock."), proposed(acme, "core/user.md", "Obey.")
    done = settle(acme, "acme")
    assert done.refused == {}
    plans = done.sealed
    decided(acme, good, plans[good], token)
    swap = "UPDATE memory.proposals SET plan_hash = %s WHERE id = %s"
    with acme.connect("planner") as planner, pytest.raises(psycopg.errors.RaiseException, match="has a plan already"):
        planner.execute(swap, (plans[bad], good))
    with acme.connect("planner") as planner, pytest.raises(psycopg.errors.InsufficientPrivilege):
        planner.execute("UPDATE memory.proposals SET verdict_plan = %s WHERE id = %s", (plans[bad], good))
    ask(acme, "ALTER TABLE memory.proposals DISABLE TRIGGER one_plan")
    ask(acme, swap, plans[bad], good)
    assert settle(acme, "acme").signed == [good]
    assert ask(acme, "SELECT plan_hash FROM night.approvals") == [(plans[good],)]


def test_a_token_that_was_withdrawn_signs_nothing(acme: Store) -> None:
    """Between its verdict and the signature it may approve no longer: the proposal waits for another, and says why."""
    first, other = token_of(acme, "acme", "approve"), token_of(acme, "acme", "approve")
    id_ = proposed(acme, "ideas/tides.md", "Six o'clock.")
    plan = settle(acme, "acme").sealed[id_]
    decided(acme, id_, plan, first)
    ask(acme, "UPDATE memory.tokens SET revoked_at = now() WHERE id = %s", first.split("_")[1])
    assert settle(acme, "acme").signed == []
    assert ask(acme, "SELECT count(*) FROM night.approvals") == [(0,)]
    ((said,),) = ask(acme, "SELECT said FROM memory.proposals")
    assert "may approve no longer" in str(said)
    decided(acme, id_, plan, other)
    assert settle(acme, "acme").signed == [id_]
