"""Proposals as they are listed, and how long they keep the words of what came to nothing."""

from __future__ import annotations

import psycopg
import pytest

from slowwave.night.executor import apply_approval
from slowwave.night.retention import retain
from slowwave.plans.gate import reject
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.wiki.proposal_request import ProposalByIdRequest, ProposalRequest, ProposalsRequest
from slowwave.wiki.proposals import proposal, proposals, propose, settle
from tests.memories import ask, remember
from tests.permitting import approve

OLD = Settings.for_namespace({"retention_days": 30, "retention_runs_per_namespace": 0})


@pytest.fixture
def acme(store: Store) -> Store:
    remember(store, "acme")
    return store


def asked(store: Store, name: str) -> str:
    """A page of this name is proposed, with a word of its own."""
    page = {"kind": "create", "target": f"ideas/{name}.md", "content": f"zqx{name}."}
    page |= {"frontmatter": {"title": name, "type": "idea"}}
    request = ProposalRequest.model_validate({"actions": [{"page": page}], "reason": f"Because of {name}."})
    with store.connect("owner") as connection:
        return propose(connection, "acme", request, Settings()).id


def age(store: Store, *ids: str) -> None:
    ask(
        store,
        "UPDATE memory.proposals SET recorded_at = recorded_at - interval '40 days' WHERE id = ANY(%s::uuid[])",
        [*ids],
    )


def kept(store: Store, id_: str) -> str:
    (row,) = ask(store, "SELECT concat_ws(' ', about, actions, reason, said) FROM memory.proposals WHERE id = %s", id_)
    return str(row[0])


def test_a_list_counts_the_changes_and_one_proposal_tells_them(acme: Store) -> None:
    """What a list answers is bounded by how many it lists, however long the pages are."""
    id_ = asked(acme, "tides")
    with acme.connect("reader") as connection:
        (listed,) = proposals(connection, "acme", ProposalsRequest()).proposals
        whole = proposal(connection, "acme", ProposalByIdRequest(id=id_[:8]))
    assert (listed.id, listed.about, listed.changes, listed.actions) == (id_, "create ideas/tides.md", 1, ())
    assert (whole.changes, [a.page.content for a in whole.actions if a.page]) == (1, ["zqxtides."])


def test_words_of_proposals_of_which_nothing_came_go_in_the_end(acme: Store) -> None:
    """What was rejected goes. What waits, stands or is young keeps it, and the same
    is still known."""
    names = ("rejected", "applied", "waiting", "young", "unplanned")
    ids = {name: asked(acme, name) for name in names[:-1]}
    sealed = settle(acme, "acme").sealed
    reject(acme, "acme", sealed[ids["rejected"]], rejected_by="mara", reason="No.")
    reject(acme, "acme", sealed[ids["young"]], rejected_by="mara", reason="No.")
    apply_approval(acme, approve(acme, "acme", sealed[ids["applied"]], approver="mara").id)
    ids["unplanned"] = asked(acme, "unplanned")
    age(acme, *(ids[name] for name in names if name != "young"))
    assert retain(acme, "acme", OLD)["proposals"] == 1
    assert {name for name in names if f"zqx{name}" in kept(acme, ids[name])} == set(names) - {"rejected"}
    assert kept(acme, ids["rejected"]).strip() == "past its retention []"
    assert asked(acme, "rejected") == ids["rejected"]
    assert retain(acme, "acme", OLD)["proposals"] == 0


@pytest.mark.parametrize("role", ["reader", "planner", "approver", "server"])
def test_only_who_applies_takes_words_out(acme: Store, role: str) -> None:
    """And it reaches none that may still come to something."""

    asked(acme, "tides")
    forget = "SELECT memory.forget_proposals(id, now() + interval '1 day') FROM memory.namespaces"
    with acme.connect(role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(forget.encode())
    with acme.connect("applier") as connection:
        assert connection.execute(forget.encode()).fetchone() == (0,)
