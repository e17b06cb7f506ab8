"""``slowwave proposals``: what an agent proposes, planned, approved, rejected and taken back by hand."""

from __future__ import annotations

import json

from slowwave.night.night import run_night
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.settings import Settings
from slowwave.wiki.proposal_request import ProposalRequest
from slowwave.wiki.proposals import propose
from tests.memories import remember
from tests.night.test_proposal import sealed
from tests.surfaces.cli.conftest import Run


def test_dory_from_a_proposal_to_an_undo(store: Store, run: Run) -> None:
    """Kept, planned, shown without markup, approved, applied, undone; another is rejected; what is no proposal is refused in words."""
    remember(store, "acme")
    first = digest(store, "acme")
    page = {"kind": "create", "target": "core/user.md", "frontmatter": {"title": "User", "type": "core"}}
    with store.connect("owner") as connection:
        for asked in (
            {"subject": "Mara", "scope": "person", "content": "[bold]Mara[/] likes tea.", "agent": "codex"},
            {"actions": [{"page": page | {"content": "Mara likes tea."}}], "reason": "Asked."},
            {"subject": "Nobody", "content": "Nobody likes tea."},
        ):
            propose(connection, "acme", ProposalRequest.model_validate(asked), Settings())
    code, out, _ = run("proposals", "list", "acme")
    assert (code, out.count(" kept ")) == (0, 3)
    code, out, _ = run(
        "proposals",
        "approve",
        "acme",
        json.loads(run("proposals", "list", "acme", "--json")[1])[0]["id"],
        "--by",
        "mara",
    )
    assert code == 2
    code, out, _ = run("proposals", "plan", "acme")
    assert (code, out.count(" is pending as plan "), out.count("cannot be planned: Nothing is known about")) == (
        0,
        2,
        1,
    )
    assert "There is no new proposal" in run("proposals", "plan", "acme")[1]
    found = {
        p["about"]: p["id"][:8]
        for p in json.loads(run("proposals", "list", "acme", "--status", "pending", "--json")[1])
    }
    statement, written = found["write Mara"], found["create core/user.md"]
    code, out, _ = run("proposals", "show", "acme", statement)
    assert (code, "[bold]Mara[/] likes tea." in out, "plans approve acme" in out) == (0, True, True)
    plans = {
        p["about"]: p["plan_hash"]
        for p in json.loads(run("proposals", "list", "acme", "--status", "pending", "--json")[1])
    }
    for about, heading, line in (
        ("write Mara", "says of Mara", "[bold]Mara[/] likes tea."),
        ("create core/user.md", "page core/user.md is new", "+ Mara likes tea."),
    ):
        shown = json.loads(run("plans", "show", "acme", plans[about], "--json")[1])
        assert heading.split(" is new")[0].removeprefix("says of ") in run("plans", "show", "acme", plans[about])[1]
        code, out, _ = run("why", "acme", shown["items"][0]["id"], plans[about])
        assert (code, "It would" in out, heading in out, line in out) == (0, True, True, True)
        code, out, _ = run("plans", "diff", "acme", plans[about])
        assert (code, heading in out, line in out) == (0, True, True)
        assert "content_hash" not in out
        assert "vector of" not in out
    assert run("proposals", "approve", "acme", statement, "--by", "mara")[0] == 0
    assert run("proposals", "reject", "acme", written, "--by", "mara", "--reason", "No.")[0] == 0
    assert "1 applied" in run("apply", "acme")[1]
    listed = {p["id"][:8]: p["status"] for p in json.loads(run("proposals", "list", "acme", "--json")[1])}
    assert (listed[statement], listed[written]) == ("applied", "rejected")
    assert run("undo", "acme", "last")[0] == 0
    assert digest(store, "acme") == first
    assert run("proposals", "show", "acme", "ffffffff")[0] == 2
    assert run("proposals", "list", "acme", "--status", "gone")[0] == 2


def test_who_asks_for_the_plan_of_the_night_is_shown_it_and_told_of_others(store: Store, run: Run) -> None:
    """At three in the morning: the night's plan, with the command that shows what proposals wait beside it."""
    twice = [
        {"id": n, "entity_type": "person", "name": "Mara Reyes", "attributes": {"email": "m@b.example"}} for n in "ab"
    ]
    remember(store, "acme", entities=twice)
    night = run_night(store, "acme").plan
    assert night is not None
    first, other = sealed(store, "At six.", "one").plan, sealed(store, "At six.", "two", "ideas/moon.md").plan
    assert first is not None
    assert other is not None
    code, out, _ = run("plans", "show", "acme")
    assert (
        code,
        f"Plan {night.plan_hash[:12]} of acme" in out,
        "2 other plans of proposals or deep passes are pending" in out,
    ) == (0, True, True)
    assert f"slowwave plans show acme {other.plan_hash[:12]}" in out
    assert run("plans", "reject", "acme", other.plan_hash, "--by", "mara", "--reason", "No.")[0] == 0
    assert "Another plan of a proposal" in run("plans", "show", "acme")[1]
    named = run("plans", "show", "acme", first.plan_hash)[1]
    assert "Another plan waits" not in named, "it was asked for by name"
    assert run("plans", "reject", "acme", night.plan_hash, "--by", "mara", "--reason", "Not now.")[0] == 0
    assert f"Plan {first.plan_hash[:12]} of acme" in run("plans", "show", "acme")[1]


def test_what_a_plan_would_forget_is_said_with_what_holds_it_after_all(store: Store, run: Run) -> None:
    """The page that stays, how much ends with what goes, and what else holds the words; once they are forgotten no command tells them."""
    remember(store, "acme")
    for said in ("Mara lives in Oslo.", "Mara moved to Bergen."):
        assert run("remember", "acme", said, "--subject", "Mara Lind", "--scope", "person")[0] == 0
    asked = {"subject": "Mara Lind", "action": "forget", "reason": "She asked for it.", "agent": "codex"}
    with store.connect("owner") as connection:
        kept = propose(connection, "acme", ProposalRequest.model_validate(asked), Settings())
    assert run("proposals", "plan", "acme")[0] == 0
    code, shown, _ = run("proposals", "show", "acme", kept.id)
    assert (code, "2 versions and 2 pages of evidence are kept, retired" in shown) == (0, True)
    plan = json.loads(run("proposals", "list", "acme", "--json")[1])[0]["plan_hash"]
    item = json.loads(run("plans", "show", "acme", "--json")[1])["items"][0]["id"]
    told = [run("plans", "diff", "acme", plan)[1], run("why", "acme", item, plan)[1]]
    assert all("forgets 2 statements about Mara Lind" in one and "Mara lives in Oslo, since" in one for one in told)
    assert all("2 pages of evidence" in one and "says why" in one and "She asked for it." in one for one in told)
    assert "forget 2 statements" in run("plans", "show", "acme")[1]
    assert run("proposals", "approve", "acme", kept.id, "--by", "mara")[0] == 0
    assert "1 applied" in run("apply", "acme")[1]
    told = [run("plans", "diff", "acme", plan)[1], run("why", "acme", item, plan)[1]]
    told += [run("history", "acme", "Mara Lind")[1], run("search", "acme", "Mara Oslo Bergen")[1]]
    assert not any("Oslo" in one.replace("search acme", "") or "Bergen" in one for one in told)
    assert "forgotten on" in told[2]
