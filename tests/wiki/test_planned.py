"""``settle``: what is kept becomes plans, and what a token decided of the plan that it read is signed, and nothing else."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from slowwave.night.executor import apply_approval
from slowwave.night.proposal import seal_proposal
from slowwave.night.runs import Night
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.wiki.proposal_request import (
    ProposalApplyRequest,
    ProposalByIdRequest,
    ProposalRejectRequest,
    ProposalRequest,
)
from slowwave.wiki.proposals import decide, proposal, propose, settle
from tests.memories import ask, remember
from tests.permitting import approve
from tests.wiki.claims import tell
from tests.wiki.serving import token_of


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


def test_a_proposal_that_nobody_understands_stops_no_other(acme: Store) -> None:
    """The server's login keeps what it is given: a row of another form is refused for good, and the next is planned."""
    strange = "SELECT memory.propose('acme', '', repeat('a', 64), 'x', '[{\"page\": {\"odd\": 1}}]', '', '{}', '', '')"
    with acme.connect("owner") as connection:
        connection.execute(strange.encode())
    good = proposed(acme, "ideas/tides.md", "Six o'clock.")
    done = settle(acme, "acme")
    assert [*done.sealed] == [good]
    assert [said for said in done.refused.values() if "not known here" in said]
    assert settle(acme, "acme").refused == {}


def test_a_proposal_that_is_rejected_while_it_is_planned_leaves_no_plan_that_waits(
    acme: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan that was sealed meanwhile is rejected with it."""
    token = token_of(acme, "acme", "approve")
    id_ = proposed(acme, "ideas/tides.md", "Six o'clock.")

    def meanwhile(*given: Any, **more: Any) -> Night:
        with acme.connect("server") as connection:
            decide(connection, "acme", ProposalRejectRequest(id=id_, reason="No."), token=token)
        return seal_proposal(*given, **more)

    monkeypatch.setattr("slowwave.wiki.proposals.seal_proposal", meanwhile)
    done = settle(acme, "acme")
    assert (done.sealed, done.refused) == ({}, {})
    assert ask(acme, "SELECT state FROM memory.proposals") == [("rejected",)]
    assert ask(acme, "SELECT state FROM night.plans") == [("rejected",)]


@pytest.mark.parametrize(
    ("first", "second", "planned"),
    [
        ("Mara lives in Ghent.", "Mara lives in Bruges.", False),
        ("Mara lives in Ghent.", "Mara lives in Ghent.", False),
        ("Mara lives in Ghent.", "Mara plays the oboe.", True),
    ],
)
def test_what_one_proposal_says_of_a_subject_holds_together(
    acme: Store, first: str, second: str, planned: bool
) -> None:
    """Items of one plan do not make each other stale: both would stand of a relation that takes one object."""
    tell(acme, "Mara keeps bees.", "Mara", role="owner", scope="person")
    actions = [{"statement": {"subject": "Mara", "content": content}} for content in (first, second)]
    request = ProposalRequest.model_validate({"actions": actions})
    with acme.connect("owner") as connection:
        id_ = propose(connection, "acme", request, Settings()).id
    done = settle(acme, "acme")
    assert ([*done.sealed] == [id_], "repeats or ends the other" in done.refused.get(id_, "")) == (planned, not planned)


def test_a_replacement_stands_alone_among_statements_of_its_kind(acme: Store) -> None:
    """It ends what was said of the subject, and another of its kind in the same proposal would come after it or before."""
    tell(acme, "Mara keeps bees.", "Mara", role="owner", scope="person")
    said = [
        {"subject": "Mara", "content": "Mara plays the oboe."},
        {"subject": "Mara", "content": "Mara keeps hens.", "action": "replace"},
    ]
    with acme.connect("owner") as connection:
        propose(
            connection,
            "acme",
            ProposalRequest.model_validate({"actions": [{"statement": s} for s in said]}),
            Settings(),
        )
    ((why,),) = [settle(acme, "acme").refused.values()]
    assert "one of which repeats or ends the other" in why


def test_what_was_forgotten_is_told_by_no_proposal(acme: Store) -> None:
    """It was said by a plan that somebody proposed: the proposal stays on record without its words, and the answer counts the plan."""
    token = token_of(acme, "acme", "read", "propose", "approve")
    request = ProposalRequest.model_validate(
        {"subject": "Mara", "scope": "person", "content": "Mara keeps zqxbees.", "agent": "codex"}
    )
    with acme.connect("server") as connection:
        id_ = propose(connection, "acme", request, Settings(), token=token).id
    plan = settle(acme, "acme").sealed[id_]
    apply_approval(acme, approve(acme, "acme", plan, approver="mara").id)
    with acme.connect("reader") as connection:
        assert "zqxbees" in proposal(connection, "acme", ProposalByIdRequest(id=id_)).model_dump_json()
    done = tell(acme, "", "Mara", role="owner", action="forget", reason="She asked.")
    assert done.still_held is not None
    assert (done.result, done.still_held.plans) == ("forgotten", 1)
    assert "1 sealed plan holds them" in done.message
    with acme.connect("reader") as connection:
        left = proposal(connection, "acme", ProposalByIdRequest(id=id_))
        assert "zqxbees" not in left.model_dump_json()
        assert left.about == "what was forgotten"
