"""Proposals over HTTP: what a token may propose, another approves, and undo takes back exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.wiki.proposals import settle
from tests.memories import ask, remember
from tests.permitting import approve
from tests.wiki.claims import tell
from tests.wiki.corpus.folders import Folder
from tests.wiki.corpus.pages import put, text_of
from tests.wiki.serving import http, mcp_over_http, token_of

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

USER: dict[str, Any] = {
    "kind": "create",
    "target": "core/user.md",
    "content": "# User\n\nMara likes tea.",
    "frontmatter": {"title": "User", "type": "core"},
}


@pytest.fixture
def harbour(store: Store) -> Store:
    remember(store, "acme", {"recall_log_share": 0})  # what was asked is a row as well, and no undo takes it back
    remember(store, "rival")
    return store


def approval_of(store: Store, plan_hash: str) -> str:
    ((id_,),) = ask(store, "SELECT id::text FROM night.approvals WHERE plan_hash = %s", plan_hash)
    return str(id_)


async def test_dory_a_canonical_page_is_proposed_approved_applied_and_undone_to_the_first_digest(
    harbour: Store,
) -> None:
    """A write that may not be becomes a proposal; a plan of it waits beside the night's; another token approves the plan that it read."""
    first = digest(harbour, "acme")
    proposes = token_of(harbour, "acme", "read", "write", "propose")
    approves = token_of(harbour, "acme", "read", "approve")
    async with http(harbour, token=proposes) as client:
        told = (await client.post("/v1/write", json=USER)).json()
        assert (told["action"], told["bytes_written"]) == ("proposed", 0)
        assert digest(harbour, "acme") == first
        again = (await client.post("/v1/memory-proposals", json={"actions": [{"page": USER}]})).json()
        assert (again["id"], again["known"], again["status"]) == (told["proposal"], True, "kept")
        done = settle(harbour, "acme")
        assert done.sealed.keys() == {told["proposal"]}
        one = (await client.get(f"/v1/memory-proposals/{told['proposal'][:8]}")).json()
        assert (one["status"], one["plan_hash"]) == ("pending", done.sealed[told["proposal"]])
        refused = await client.post(f"/v1/memory-proposals/{one['id']}/apply", json={"plan_hash": one["plan_hash"]})
        assert refused.status_code == 403
    async with http(harbour, token=approves) as client:
        route = f"/v1/memory-proposals/{one['id']}/apply"
        assert (await client.post(route, json={"plan_hash": "0" * 64})).status_code in (400, 409, 422)
        assert (await client.post(route, json={"plan_hash": one["plan_hash"]})).json()["status"] == "approved"
    settled = settle(harbour, "acme")
    assert settled.signed == [one["id"]], ask(harbour, "SELECT said FROM memory.proposals")
    result = apply_approval(harbour, approval_of(harbour, one["plan_hash"]))
    assert result.counts["applied"] == 1
    back = undo_run(harbour, result.run_id)
    assert digest(harbour, "acme") == first
    undo_run(harbour, back.run_id)
    async with http(harbour, token=proposes) as client:
        assert (await client.get("/v1/get", params={"path": "core/user.md"})).json()["frontmatter"]["title"] == "User"
        search = {"query": "Mara tea", "mode": "bm25"}
        assert [r["path"] for r in (await client.post("/v1/search", json=search)).json()["results"]] == ["core/user.md"]
        (listed,) = (await client.get("/v1/memory-proposals", params={"status": "applied"})).json()["proposals"]
        assert listed["decided_by"].startswith("token-")


async def test_dory_what_was_rejected_is_proposed_again_only_when_its_sources_change(harbour: Store) -> None:
    """The same request is the rejected one, until the page that it rests on says something else."""
    put(harbour, target="notes/source.md", content="Mara is said to like tea.")
    token = token_of(harbour, "acme", "read", "propose", "approve")
    asked = {
        "subject": "Mara",
        "scope": "person",
        "content": "Mara likes tea.",
        "kind": "preference",
        "source_paths": ["notes/source.md"],
    }
    async with http(harbour, token=token) as client:
        kept = (await client.post("/v1/memory-proposals", json=asked)).json()
        (plan_hash,) = settle(harbour, "acme").sealed.values()
        told = (await client.post(f"/v1/memory-proposals/{kept['id']}/reject", json={"reason": "Hearsay."})).json()
        assert told["status"] == "rejected"
        assert settle(harbour, "acme").rejected == [kept["id"]]
        assert ask(harbour, "SELECT state FROM night.plans WHERE plan_hash = %s", plan_hash) == [("rejected",)]
        again = (await client.post("/v1/memory-proposals", json=asked | {"reason": "Once more."})).json()
        assert (again["id"], again["known"], again["status"]) == (kept["id"], True, "rejected")
        assert settle(harbour, "acme").sealed == {}
        put(harbour, "append", "notes/source.md", "She said so herself.")
        fresh = (await client.post("/v1/memory-proposals", json=asked)).json()
        assert (fresh["known"], fresh["status"]) == (False, "kept")
        assert settle(harbour, "acme").sealed.keys() == {fresh["id"]}


async def test_dory_drift_of_the_page_makes_it_stale_and_parts_are_approved_alone(
    harbour: Store, tmp_path: Path
) -> None:
    """Of the changes two are approved; the third page was written meanwhile, which the plan did not see. A folder's file follows."""
    folder = Folder(tmp_path / "vault", harbour, "dory", "acme")
    folder.write("people/ann.md", b"---\ntitle: Ann\ntype: person\n---\n\n# Ann\n\nAnn rows.\n")
    folder.sync()
    first = digest(harbour, "acme")
    token = token_of(harbour, "acme", "read", "propose")
    changes = [
        {"page": {"kind": "append", "target": "people/ann.md", "content": "Ann also sails."}},
        {"page": USER},
        {"statement": {"subject": "Ann", "scope": "person", "content": "Ann rows."}},
    ]
    async with http(harbour, token=token) as client:
        kept = (await client.post("/v1/memory-proposals", json={"actions": changes, "agent": "codex"})).json()
    (plan_hash,) = settle(harbour, "acme").sealed.values()
    items = dict(
        ask(
            harbour,
            "SELECT evidence->'evidence'->>'path', item_id::text FROM night.plan_items WHERE plan_hash = %s",
            plan_hash,
        )
    )
    assert len(items) == 3
    part = approve(harbour, "acme", plan_hash, approver="mara", items=[items["people/ann.md"], items[None]])
    result = apply_approval(harbour, part.id)
    assert (result.counts["applied"], result.counts["failed"]) == (2, 0)
    assert "Ann also sails." in (tmp_path / "vault/people/ann.md").read_text()
    put(harbour, target="core/user.md", content="Mine.", frontmatter=USER["frontmatter"], follow=True)
    rest = approve(harbour, "acme", plan_hash, approver="mara")
    assert apply_approval(harbour, rest.id).counts["skipped_stale"] == 1
    async with http(harbour, token=token) as client:
        assert (await client.get(f"/v1/memory-proposals/{kept['id']}")).json()["status"] == "partly_applied"
    undo_run(harbour, result.run_id)
    assert "Ann also sails." not in (tmp_path / "vault/people/ann.md").read_text()
    assert digest(harbour, "acme") != first, "the page that an agent wrote stays"


FORGET: list[dict[str, Any]] = [
    {"page": {"kind": "forget", "target": "people/ann.md", "reason": "She left."}},
    {"statement": {"subject": "person:mara-lind", "action": "forget", "reason": "She asked for it."}},
]


async def test_what_is_proposed_to_be_forgotten_is_found_by_nobody_until_it_is_undone(harbour: Store) -> None:
    """A page and all that was said of somebody: planned, told what else holds the words, approved, applied, undone to the first digest."""
    put(harbour, target="people/ann.md", content="Ann rows at dawn.", frontmatter={"title": "Ann", "type": "person"})
    tell(harbour, "Mara lives in Oslo.", "Mara Lind", scope="person", role="owner")
    tell(harbour, "Mara sings in Bergen.", "Mara Lind", role="owner")
    first = digest(harbour, "acme")
    proposes = token_of(harbour, "acme", "read", "propose")

    async def found() -> list[bool]:
        asked = [("Ann rows at dawn", "Ann rows"), ("Mara Oslo", "Oslo"), ("Mara Bergen", "Bergen")]
        async with http(harbour, token=proposes) as client:
            told = [(await client.post("/v1/search", json={"query": q, "corpus": "all"})).json() for q, _ in asked]
        return [words in str(one["results"]) for one, (_, words) in zip(told, asked, strict=True)]

    assert await found() == [True, True, True]
    async with http(harbour, token=proposes) as client:
        kept = (await client.post("/v1/memory-proposals", json={"actions": FORGET, "agent": "codex"})).json()
        assert (kept["status"], kept["about"]) == ("kept", "forget people/ann.md; forget person:mara-lind")
        assert await found() == [True, True, True]
        done = settle(harbour, "acme")
        assert done.sealed.keys() == {kept["id"]}, done.refused
        one = (await client.get(f"/v1/memory-proposals/{kept['id']}")).json()
        said, page = sorted(one["still_held"])
        assert ("its versions (1)" in page, "2 versions and 2 pages of evidence" in said) == (True, True)
    (probes,) = ask(harbour, "SELECT summary->>'needs_force' FROM night.plans WHERE plan_hash = %s", one["plan_hash"])
    assert probes[0] in (None, "[]", "false"), probes
    part = approve(harbour, "acme", one["plan_hash"], approver="mara")
    result = apply_approval(harbour, part.id)
    assert (result.counts["applied"], result.counts["failed"]) == (2, 0)
    assert await found() == [False, False, False]
    async with http(harbour, token=proposes) as client:
        history = (await client.get("/v1/history", params={"subject": "Mara Lind"})).json()
        assert {(c["status"], c["statement"], c["events"][-1]["reason"]) for c in history["claims"]} == {
            ("retired", "", "She asked for it.")
        }
        (evidence,) = {c["events"][-1]["evidence_path"] for c in history["claims"]}
        assert "Oslo" not in text_of(harbour, evidence)
        stone = (await client.get("/v1/get", params={"path": "people/ann.tombstone.md"})).json()
        assert "She left." in stone["content"]
        again = await client.post("/v1/memory-proposals", json={"actions": FORGET[1:], "agent": "codex"})
        assert (again.status_code, "Nothing was" in again.text) == (400, True), "it is forgotten"
        asked = {"subject": "Mara Lind", "content": "Mara is back.", "action": "write"}
        assert (await client.post("/v1/memory-proposals", json=asked)).json()["status"] == "kept"
    undo_run(harbour, result.run_id)
    assert digest(harbour, "acme") == first
    assert await found() == [True, True, True]
    put(harbour, "append", "people/ann.md", "And at dusk.")
    async with http(harbour, token=proposes) as client:
        anew = (await client.post("/v1/memory-proposals", json={"actions": FORGET[:1], "agent": "codex"})).json()
        assert anew["known"] is False


async def test_nobody_forgets_what_is_not_theirs(harbour: Store) -> None:
    """Neither of another namespace nor of sessions and evidence, nor by a token that may only read, nor in the words of a path."""
    for name in ("acme", "rival"):
        page = {"title": "Ann", "type": "person"}
        put(harbour, target="people/ann.md", content="Ann rows.", frontmatter=page, namespace=name)
        tell(harbour, "Mara lives in Oslo.", "Mara Lind", name, scope="person", role="owner")
    rival = digest(harbour, "rival")
    (evidence,) = ask(
        harbour,
        "SELECT d.path FROM memory.documents d JOIN memory.namespaces n ON n.id = d.namespace_id "
        "WHERE n.slug = 'acme' AND d.path LIKE 'sources/semantic/%%'",
    )[0]
    (claim,) = ask(
        harbour,
        "SELECT m.id::text FROM memory.memories m JOIN memory.namespaces n ON n.id = m.namespace_id "
        "WHERE n.slug = 'rival' AND m.kind = 'claim'",
    )[0]
    forget = {"kind": "forget", "reason": "Mine now."}
    async with http(harbour, token=token_of(harbour, "acme", "read", "write")) as client:
        assert (await client.post("/v1/memory-proposals", json={"actions": FORGET})).status_code == 403
    async with http(harbour, token=token_of(harbour, "acme", "read", "propose")) as client:
        for page in ("../rival/people/ann.md", "/people/ann.md", "logs/sessions/codex/one.md"):
            told = await client.post("/v1/memory-proposals", json={"actions": [{"page": forget | {"target": page}}]})
            assert told.status_code in (400, 422), told.text
        theirs = {"subject": "Mara Lind", "action": "forget", "claim_ids": [claim]}
        told = await client.post("/v1/memory-proposals", json={"actions": [{"statement": theirs}]})
        assert (told.status_code, "Nothing was forgotten" in told.text) == (400, True)
        kept = await client.post("/v1/memory-proposals", json={"actions": [{"page": forget | {"target": evidence}}]})
        ours = {"actions": [{"page": FORGET[0]["page"]}]}
        assert (await client.post("/v1/memory-proposals", json=ours)).status_code == 200
    done = settle(harbour, "acme")
    assert "no page" in done.refused[kept.json()["id"]]
    (plan_hash,) = done.sealed.values()
    result = apply_approval(harbour, approve(harbour, "acme", plan_hash, approver="mara").id)
    assert (result.counts["applied"], digest(harbour, "rival")) == (1, rival)


@pytest.mark.parametrize("scopes", [("read",), ("read", "write"), ("propose",)])
async def test_a_token_without_the_scope_proposes_and_decides_nothing(harbour: Store, scopes: tuple[str, ...]) -> None:
    """Over HTTP, MCP and with the server's own login: the store's functions look at the token themselves."""
    maker = token_of(harbour, "acme", "propose", "read")
    async with http(harbour, token=maker) as client:
        kept = (await client.post("/v1/memory-proposals", json={"actions": [{"page": USER}]})).json()
    (plan_hash,) = settle(harbour, "acme").sealed.values()
    token, rival = token_of(harbour, "acme", *scopes), token_of(harbour, "rival", "read", "propose", "approve")
    decide = "SELECT memory.decide_proposal('acme', %s, %s::uuid, 'approve', %s, '')"
    make = "SELECT memory.propose('acme', %s, repeat('0', 64), 'x', '[{}]', '', '{}', '', '')"
    with harbour.connect("server") as connection:
        for bearer in (token, rival, "", f"slw_{'0' * 12}_{'0' * 64}"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(decide, (bearer, kept["id"], plan_hash))
            if bearer != token or "propose" not in scopes:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(make, (bearer,))
        for statement in (
            "UPDATE memory.proposals SET state = 'kept', plan_hash = NULL",
            "INSERT INTO memory.proposals (fingerprint, about, actions) VALUES ('x', 'x', '[]')",
            "DELETE FROM memory.proposals",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
    async with http(harbour, token=token) as client:
        route = f"/v1/memory-proposals/{kept['id']}"
        assert (await client.post(f"{route}/apply", json={"plan_hash": plan_hash})).status_code == 403
        assert (await client.post(f"{route}/reject", json={"reason": "No."})).status_code == 403
        if "propose" not in scopes:
            assert (await client.post("/v1/memory-proposals", json={"actions": [{"page": USER}]})).status_code == 403
            assert (await client.post("/v1/write", json=USER)).status_code == 403
    assert ask(harbour, "SELECT verdict FROM memory.proposals") == [(None,)]
    assert settle(harbour, "acme").signed == []


async def test_what_screening_finds_is_not_kept(harbour: Store) -> None:
    """People read proposals, and so do logs: nothing of one may be a secret or an instruction."""
    token = token_of(harbour, "acme", "propose", "read")
    secret = "AKIA" + "Q7RZ4KPLM2XW9TNB"
    async with http(harbour, token=token) as client:
        for asked in (
            {"subject": "Mara", "content": f"The key is {secret}."},
            {"subject": "Mara", "content": "Mara likes tea.", "reason": f"As {secret} says."},
            {"actions": [{"page": USER | {"frontmatter": {"title": secret, "type": "core"}}}]},
        ):
            answer = await client.post("/v1/memory-proposals", json=asked)
            assert (answer.status_code, secret in answer.text) == (400, False), answer.text
    assert ask(harbour, "SELECT count(*) FROM memory.proposals") == [(0,)]


async def test_tools_propose_and_read(harbour: Store) -> None:
    """The same by MCP."""
    async with mcp_over_http(harbour, token=token_of(harbour, "acme", "propose", "read")) as client:
        made = await client.call_tool("memory_proposals", {"actions": [{"page": USER}]})
        assert "kept" in str(made.content)
        listed = await client.call_tool("memory_proposals_list", {})
        assert "core/user.md" in str(listed.content)
