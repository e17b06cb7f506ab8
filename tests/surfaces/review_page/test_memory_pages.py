"""The memory pages: what a person reads about a row, and the proposals and plans that its forms make."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from slowwave.bindings.connect import connect_store
from slowwave.models.embedder import Embedder
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.sources.following import connect_folder
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.surfaces.api.memory import Memory
from slowwave.surfaces.review_page.app import review_app
from slowwave.surfaces.review_page.guard import Entrance
from slowwave.surfaces.review_page.memory_pages import PIECE, Shown, address
from slowwave.surfaces.review_page.memory_rows import PAGE
from slowwave.wiki.corpus.corpora import PAGES_ROOT
from tests.bindings.clients import run_as_owner
from tests.bindings.test_connected import MADE, NOTES
from tests.memories import ask, remember
from tests.permitting import approve
from tests.surfaces.review_page.conftest import ORIGIN, Browser, form_token
from tests.surfaces.review_page.planted import SCRIPT, SLUG, plant
from tests.surfaces.review_page.test_app import Tags

pytestmark = pytest.mark.slow

KEY = "AKIA" + "Q7RZ4KPLM2XW9TNB"


def send(browser: Browser, path: str, **fields: Any) -> Any:
    """Send a form of a row's page as a browser does."""
    token = form_token(browser.get(path.rpartition("/")[0]).text)
    return browser.post(path, data={"form_token": token, **fields}, headers={"origin": ORIGIN})


def words(answer: Any) -> str:
    """Return a page without the elements that isolate the direction of a text."""
    return str(answer.text).replace("<bdi>", "").replace("</bdi>", "")


def row_of(store: Store, table: str, condition: str) -> str:
    """Return the address of the first row of a table that meets a condition."""
    ((id_, slug),) = ask(
        store,
        f"SELECT r.id::text, n.slug FROM memory.{table} r JOIN memory.namespaces n ON n.id = r.namespace_id WHERE {condition} LIMIT 1",
    )
    return f"/memory/{slug}/{table}/{id_}"


def claim_row(store: Store, namespace: str = SLUG) -> tuple[str, str]:
    """Store a claim; return its id and address."""
    done = Memory(namespace, store).remember("Wilhelmina drinks tea.", "Wilhelmina", scope="person", kind="preference")
    return str(done.claim_id), f"/memory/{namespace}/memories/{done.claim_id}"


def test_address_of_a_list_keeps_what_it_selects_and_nothing_else() -> None:
    """Unknown values are ignored, and a search without a kind is one of all kinds."""
    shown = Shown.from_parameters({"list": "facts", "text": " a&b ", "state": "all", "page": "3", "next": "//evil"})
    assert shown == Shown("facts", "a&b", "", every=True, page=3)
    assert shown.query(page=1) == "list=facts&text=a%26b&state=all"
    assert [Shown.from_parameters(given).list for given in ({}, {"list": "x"}, {"text": "x"})] == [
        "memories",
        "memories",
        "",
    ]
    assert [Shown.from_parameters({"page": page}).page for page in ("0", "-1", "x", "²", "9" * 9)] == [1] * 5
    assert address("a/b ?") == "/memory/a%2Fb%20%3F"


def test_row_shows_its_sources_and_what_a_run_did_and_undid(store: Store, browser: Browser) -> None:
    """A merged entity leads to its survivor, to the plan and to its passages; after the undo the same change is marked as undone."""
    plan = plant(store)
    merged = next(i for i in plan.items if i.decision == "merge")
    assert merged.mutation.keep
    path = f"/memory/{SLUG}/entities/{merged.mutation.absorb[0].id}"
    before = browser.get(path).text
    assert "A change of it is pending" in before
    assert plan.plan_hash[:12] in before
    signed = approve(store, SLUG, plan.plan_hash, approver="otto", items=[merged.id], force=True, note="seen")
    run = apply_approval(store, signed.id)
    html = words(browser.get(path))
    assert all(
        part in html
        for part in (
            f'href="{browser.address}/memory/{SLUG}/entities/{merged.mutation.keep.id}"',
            f'href="{browser.address}/plans/{plan.plan_hash}"',
            *("Merged into", "not undone", "by otto", "State: active → merged", "signed for the crane"),
        )
    )
    assert ("It ended on" in html, "Ended" in html) == (True, False), (
        "the time of the change once, next to that of its plan"
    )
    listed = browser.get(f"/memory/{SLUG}?list=entities").text
    assert merged.mutation.absorb[0].id not in listed
    assert merged.mutation.absorb[0].id in browser.get(f"/memory/{SLUG}?list=entities&state=all").text
    undo_run(store, run.run_id, namespace=SLUG)
    assert all(part in browser.get(path).text for part in ("undone since", "An undo restored it"))
    assert "Merged into</h3>" not in browser.get(path).text


def test_source_leads_to_the_marked_passage_of_its_page(store: Store, browser: Browser) -> None:
    """The mark is around the passage, also beyond the first piece of a long text."""
    begin = "Nothing happened.\n" * 2_000
    remember(
        store,
        "long",
        documents=[{"id": "page", "title": "Log", "content": f"{begin}The pump was changed.\nAll left."}],
        chunks=[
            {
                "id": "part",
                "document_id": "page",
                "content": "The pump was changed.",
                "start_line": 2_001,
                "end_line": 2_001,
            }
        ],
        memories=[{"id": "m", "kind": "episodic", "current_version_id": "v", "source_chunk_ids": ["part"]}],
        memory_versions=[{"id": "v", "memory_id": "m", "content": "The pump was changed."}],
    )
    html = browser.get(row_of(store, "memories", "true")).text
    assert "line 2001" in html
    link = next(str(a["href"]) for a in Tags(html).all("a") if "passage=" in str(a.get("href")))
    page = browser.get(link.partition("#")[0])
    assert '<mark id="passage">The pump was changed.</mark>' in page.text
    assert len(page.text) < 2 * PIECE + 30_000
    assert "← Before" in page.text


def test_text_of_memory_is_escaped_and_secrets_are_redacted_everywhere(store: Store, browser: Browser) -> None:
    """In lists, searches, rows, their neighbours and forms; a text with a redaction is not offered for editing."""
    plant(store, hostile=True)
    namespace = ask(store, "SELECT id FROM memory.namespaces")[0][0]
    secret = "INSERT INTO memory.memories (id, namespace_id, kind, subject, current_version_id) VALUES (%s, %s, 'episodic', %s, %s)"
    version = "INSERT INTO memory.memory_versions (id, namespace_id, memory_id, content) VALUES (%s, %s, %s, %s)"
    ids = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002")
    with store.connect("owner") as owner, owner.transaction():
        owner.execute(secret, (ids[0], namespace, SCRIPT, ids[1]))
        owner.execute(version, (ids[1], namespace, ids[0], f"The key of the crane is {KEY}, see https://evil.example"))
    entity = row_of(store, "entities", "r.name LIKE '<script>%%'")
    for path in (
        f"/memory/{SLUG}",
        f"/memory/{SLUG}?list=entities&state=all",
        f"/memory/{SLUG}?text=key+crane",
        f"/memory/{SLUG}/memories/{ids[0]}",
        entity,
    ):
        html = browser.get(path).text
        assert SCRIPT not in html, path
        assert KEY not in html, path
        assert 'href="https://evil' not in html
    row = browser.get(f"/memory/{SLUG}/memories/{ids[0]}").text
    assert "[redacted" in row
    assert re.search(r'<textarea id="statement"[^>]*>\s*</textarea>', row), (
        "the marker of a secret is no text to start from"
    )


def test_change_of_a_claim_is_a_proposal_with_a_plan_and_writes_no_row(store: Store, browser: Browser) -> None:
    """The reviewer is its agent; the plan waits for approval, and applied it ends the claim."""
    plant(store)
    claim, path = claim_row(store)
    rows = ask(store, "SELECT count(*) FROM memory.memories")
    sent = send(browser, f"{path}/propose", statement="Wilhelmina drinks coffee.", reason="She said so.")
    assert sent.status_code == 303
    ((actions, agent, plan),) = ask(store, "SELECT actions, agent, plan_hash FROM memory.proposals")
    assert sent.headers["location"] == f"{browser.address}/plans/{plan}/sign"
    assert agent == "mara"
    statement = actions[0]["statement"]  # type: ignore[index]
    assert (statement["action"], statement["claim_ids"], statement["subject"]) == (
        "replace",
        [claim],
        "person:wilhelmina",
    )
    assert ask(store, "SELECT count(*) FROM memory.memories") == rows
    assert "A change of it is pending" in browser.get(path).text
    again = send(browser, f"{path}/propose", statement="Wilhelmina drinks coffee.", reason="She said so.")
    assert again.headers["location"] == sent.headers["location"], "the same proposal is not stored twice"
    apply_approval(store, approve(store, SLUG, str(plan), approver="otto").id)
    assert "Wilhelmina drinks coffee." in browser.get(path).text, "its successor"


def test_forgetting_makes_the_plan_of_the_command_with_the_reviewer_as_author(store: Store, browser: Browser) -> None:
    """A claim can be ended, which can be undone, or deleted for good; other memories can be deleted."""
    plant(store)
    _, path = claim_row(store)
    ended = send(browser, f"{path}/forget", how="end", reason="asked")
    (plan,) = ask(store, "SELECT plan_hash FROM memory.proposals")[0]
    assert ended.headers["location"] == f"{browser.address}/plans/{plan}/sign"
    deleted = send(browser, f"{path}/forget", how="delete", reason="asked")
    plan = deleted.headers["location"].rpartition("/plans/")[2].removesuffix("/sign")
    kinds = ask(
        store,
        "SELECT mutation ->> 'kind', night.plan_authors(plan_hash) FROM night.plan_items WHERE plan_hash = %s",
        plan,
    )
    assert kinds == [("forget_rows", ["mara"])]
    page = browser.get(deleted.headers["location"]).text
    assert "cannot be undone" in page
    apply_approval(store, approve(store, SLUG, plan, approver="otto").id)
    signed = browser.get(f"/plans/{plan}/signed").text
    assert ("there is no undo" in signed, "Undo this run" in signed, "slowwave undo" in signed) == (True, False, False)
    gone = browser.get(path)
    assert (gone.status_code, "no such row" in gone.text) == (404, True)


def test_words_of_a_forgotten_claim_are_shown_nowhere(store: Store, browser: Browser) -> None:
    """Neither in lists and searches of all states, nor on its row, nor on the page of its evidence; it can still be deleted."""
    plant(store)
    _, path = claim_row(store)
    evidence = row_of(store, "documents", "r.path LIKE 'sources/semantic/%%'")
    assert all("drinks tea" in browser.get(one).text for one in (path, evidence, f"/memory/{SLUG}"))
    Memory(SLUG, store).forget("Wilhelmina")
    for one in (path, evidence, f"/memory/{SLUG}?state=all", f"/memory/{SLUG}?state=all&text=Wilhelmina+drinks+tea"):
        answer = browser.get(one)
        assert (answer.status_code, "drinks tea" in re.sub(r"<input[^>]*>", "", answer.text)) == (200, False), one
    row = browser.get(path).text
    assert ("It was forgotten" in row, "<textarea" in row, "deletes this memory for good" in row) == (True, False, True)
    assert send(browser, f"{path}/forget", how="end", reason="asked").status_code == 303
    assert ask(store, "SELECT count(*) FROM memory.proposals") == [(0,)], (
        "a plan that deletes it, and no proposal to end it again"
    )


def test_page_of_a_corpus_is_replaced_or_forgotten_by_a_proposal(store: Store, browser: Browser) -> None:
    """The plan names the page; evidence pages offer no form."""
    plant(store)
    memory = Memory(SLUG, store)
    memory.write("create", "notes/tides.md", "The lock opens at six.", frontmatter={"title": "Tides", "type": "note"})
    claim_row(store)
    path = row_of(
        store,
        "documents",
        f"r.path = 'notes/tides.md' AND EXISTS (SELECT 1 FROM memory.corpora c WHERE c.root = '{PAGES_ROOT}')",
    )
    html = browser.get(path).text
    hash_ = next(str(i["value"]) for i in Tags(html).all("input") if i.get("name") == "expected_hash")
    sent = send(
        browser,
        f"{path}/propose",
        content="---\ntitle: Tides\ntype: note\n---\nThe lock opens at seven.\n",
        expected_hash=hash_,
    )
    assert sent.status_code == 303, sent.text
    forgotten = send(browser, f"{path}/forget", reason="wrong harbour")
    assert forgotten.status_code == 303
    about = {about for (about,) in ask(store, "SELECT about FROM memory.proposals")}
    assert about == {"replace notes/tides.md", "forget notes/tides.md"}
    evidence = browser.get(row_of(store, "documents", "r.path LIKE 'sources/semantic/%%'")).text
    assert "<textarea" not in evidence
    assert "This page is evidence" in evidence


def test_refusal_is_shown_on_the_row_with_what_was_typed(store: Store, browser: Browser) -> None:
    """A read-only namespace, an unknown subject and an empty statement are refused in a sentence, and nothing is stored."""
    plant(store)
    path = row_of(store, "memories", "true")
    unknown = send(browser, f"{path}/propose", subject="Bartholomew", statement="Bartholomew left.", scope="")
    assert (unknown.status_code, "Bartholomew left." in unknown.text, 'role="alert"' in unknown.text) == (
        409,
        True,
        True,
    )
    empty = send(browser, f"{path}/propose", subject="Bartholomew", statement=" ")
    assert (empty.status_code, "content is what to remember" in empty.text) == (409, True)
    ask(store, "UPDATE memory.namespaces SET read_only = true")
    refused = send(browser, f"{path}/propose", subject="Bartholomew", statement="Bartholomew left.", scope="person")
    assert (refused.status_code, "The namespace is read-only." in refused.text) == (409, True)
    assert ask(store, "SELECT count(*) FROM night.plans WHERE state <> 'empty'") == [(1,)], "that of the night alone"


def test_form_without_the_token_of_the_page_is_refused(store: Store, browser: Browser) -> None:
    """As every form of this server."""
    plant(store)
    _, path = claim_row(store)
    for way in ("propose", "forget"):
        fields = {"statement": "x", "form_token": "0" * 64}
        assert browser.post(f"{path}/{way}", data=fields, headers={"origin": ORIGIN}).status_code == 403
        token = form_token(browser.get(path).text)
        elsewhere = {"origin": "http://evil.example"}
        assert browser.post(f"{path}/{way}", data={"form_token": token}, headers=elsewhere).status_code == 403
        assert browser.get(f"{path}/{way}").status_code in (404, 405, 409)
    assert ask(store, "SELECT count(*) FROM memory.proposals") == [(0,)]


def test_server_of_one_namespace_shows_no_other(store: Store, entrance: Entrance) -> None:
    """Its lists, rows and forms are refused alike, whether the namespace exists or not."""
    plant(store)
    plant(store, slug="elsewhere")
    _, path = claim_row(store, "elsewhere")
    with Browser(review_app(store, entrance, SLUG), base_url=ORIGIN, follow_redirects=False) as browser:
        browser.get(entrance.link())
        assert browser.get("/memory").headers["location"] == f"{browser.address}/memory/{SLUG}"
        token = form_token(browser.get(row_of(store, "entities", f"n.slug = '{SLUG}'")).text)
        texts = {
            browser.get(one).text.replace("nowhere", "elsewhere") for one in ("/memory/elsewhere", "/memory/nowhere")
        }
        assert len(texts) == 1
        for answer in (
            browser.get(path),
            browser.post(f"{path}/forget", data={"form_token": token}, headers={"origin": ORIGIN}),
        ):
            assert (answer.status_code, "this page shows harbor" in answer.text) in ((409, True), (404, True))
            assert "Wilhelmina" not in answer.text


def test_lists_say_what_to_do_when_they_are_empty(store: Store, browser: Browser) -> None:
    """Without a namespace, without rows, without rows of a kind, and without a match."""
    assert "There is no namespace yet" in browser.get("/memory").text
    remember(store, "empty")
    assert "Nothing is stored here yet" in browser.get("/memory/empty").text
    plant(store)
    assert f"/memory/{SLUG}" in browser.get("/memory").text
    assert "choose another kind above" in browser.get(f"/memory/{SLUG}?list=facts").text
    assert "leave the search" in browser.get(f"/memory/{SLUG}?list=facts&text=xyzzyq").text
    assert "ends before this page" in browser.get(f"/memory/{SLUG}?page=9").text
    assert "There is no namespace" in browser.get("/memory/nowhere").text


def test_connected_table_and_folder_show_what_they_hold(store: Store, browser: Browser, tmp_path: Path) -> None:
    """Rows are read where they are, searched by their characters, and offer no form that the store would refuse."""
    run_as_owner(
        store, MADE, "INSERT INTO notes (owner, body) SELECT 'anna', '100% of pump ' || n FROM generate_series(1, 60) n"
    )
    connect_store(store, "table", own_text=NOTES, grant=True)
    (tmp_path / "tides.md").write_text("# Tides\n\n- The lock opens at 06:20\n- Mara keeps the spare key\n")
    embedder: Embedder = embedder_for(Settings.for_namespace({}))
    connect_folder(store, tmp_path, embedder, name="vault")
    first, second = (browser.get(f"/memory/notes-anna{query}").text for query in ("", "?page=2"))
    assert [html.count("100% of pump") for html in (first, second)] == [PAGE, 10]
    assert browser.get("/memory/notes-anna?text=PUMP+7").text.count("100% of pump") == 1
    vault = words(browser.get("/memory/vault?text=tides"))
    assert all(part in vault for part in ("The lock opens at 06:20", "tides.md, line 3", "connected store vault"))
    link = next(str(a["href"]) for a in Tags(vault).all("a") if "/memories/" in str(a.get("href")))
    row = browser.get(link).text
    assert ("tides.md" in row, "<textarea" in row, "with the program that owns it" in row) == (True, False, True)
    token = form_token(browser.get(row_of_own(store, browser)).text)
    for way in ("propose", "forget"):
        fields = {
            "form_token": token,
            "subject": "Mara",
            "statement": "Mara left.",
            "scope": "person",
            "reason": "asked",
        }
        refused = browser.post(f"{link}/{way}", data=fields, headers={"origin": ORIGIN})
        assert (refused.status_code, "connected store" in refused.text) == (409, True)


def row_of_own(store: Store, browser: Browser) -> str:
    """Return the address of a row of Slowwave's own memory, whose page has a form."""
    plant(store)
    return row_of(store, "entities", f"n.slug = '{SLUG}'")


def test_page_costs_as_many_statements_with_many_rows_as_with_few(
    store: Store, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list, a search and a row, of 8 entities and of 120; and not more than a dozen."""
    plant(store, asked=2, decided=2, slug="small")
    plant(store, asked=40, decided=20, slug="large")
    asked: list[str] = []
    original = psycopg.Cursor.execute

    def counted(cursor: Any, query: Any, *arguments: Any, **named: Any) -> Any:
        asked.append(str(query))
        return original(cursor, query, *arguments, **named)

    def cost(slug: str) -> list[int]:
        entity = row_of(store, "entities", f"n.slug = '{slug}' AND r.external_id = '1-0'")
        document = row_of(store, "documents", f"n.slug = '{slug}'")
        found: list[int] = []
        for path in (
            f"/memory/{slug}?list=entities",
            f"/memory/{slug}?list=facts&text=x",
            f"/memory/{slug}?text=crane+Monday",
            entity,
            document,
        ):
            asked.clear()
            assert browser.get(path).status_code == 200
            found.append(len([query for query in asked if "RESET" not in query and "SET ROLE" not in query]))
        return found

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    small, large = cost("small"), cost("large")
    assert small == large
    assert max(large) <= 14, large


def test_pages_can_be_read_and_used_without_seeing_them(store: Store, browser: Browser) -> None:
    """One main landmark and heading, a label for each field, unique ids, and no link without an address."""
    plant(store)
    _, claim = claim_row(store)
    for path in (
        "/memory",
        f"/memory/{SLUG}",
        f"/memory/{SLUG}?text=crane",
        claim,
        row_of(store, "entities", f"n.slug = '{SLUG}'"),
    ):
        answer = browser.get(path)
        if answer.status_code == 303:
            continue
        tags = Tags(answer.text)
        assert len(tags.all("main")) == len(tags.all("h1")) == len(tags.all("title")) == 1
        ids = [str(a["id"]) for _, a in tags.found if "id" in a]
        assert len(ids) == len(set(ids)), path
        labelled = {a.get("for") for a in tags.all("label")}
        fields = (*tags.all("input"), *tags.all("select"), *tags.all("textarea"))
        assert [f for f in fields if f.get("type") != "hidden" and f.get("id") not in labelled] == []
        assert all(a["aria-labelledby"] in ids for _, a in tags.found if "aria-labelledby" in a)
        assert not [a for a in tags.all("a") if not a.get("href")]
        assert any(a.get("class") == "skip" for a in tags.all("a"))
