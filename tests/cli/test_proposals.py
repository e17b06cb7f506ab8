"""``slowwave proposals``: what an agent proposes, planned, approved, rejected and taken back by hand."""

from __future__ import annotations

import json

from slowwave.config.settings import Settings
from slowwave.proposals.kept import propose
from slowwave.proposals.proposal_request import ProposalRequest
from slowwave.store.connect import Store
from slowwave.store.digest import digest
from tests.cli.conftest import Run
from tests.memories import remember


def test_from_a_proposal_to_an_undo(store: Store, run: Run) -> None:
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
    assert (code, out.count("waits for approval"), out.count("cannot be planned: Nothing is known about")) == (0, 2, 1)
    assert "Nothing was proposed" in run("proposals", "plan", "acme")[1]
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
        shown = json.loads(run("plans", "show", "acme", "--plan", plans[about], "--json")[1])
        assert (
            heading.split(" is new")[0].removeprefix("says of ")
            in run("plans", "show", "acme", "--plan", plans[about])[1]
        )
        code, out, _ = run("why", "acme", shown["items"][0]["id"], "--plan", plans[about])
        assert (code, "It would" in out, heading in out, line in out) == (0, True, True, True)
        code, out, _ = run("plans", "diff", "acme", "--plan", plans[about])
        assert (code, heading in out, line in out) == (0, True, True)
        assert "content_hash" not in out
        assert "vector of" not in out
    assert run("proposals", "approve", "acme", statement, "--by", "mara")[0] == 0
    assert run("proposals", "reject", "acme", written, "--by", "mara", "--reason", "No.")[0] == 0
    assert "1 applied" in run("apply", "acme")[1]
    listed = {p["id"][:8]: p["status"] for p in json.loads(run("proposals", "list", "acme", "--json")[1])}
    assert (listed[statement], listed[written]) == ("applied", "rejected")
    assert run("undo", "last", "--namespace", "acme")[0] == 0
    assert digest(store, "acme") == first
    assert run("proposals", "show", "acme", "ffffffff")[0] == 2
    assert run("proposals", "list", "acme", "--status", "gone")[0] == 2
