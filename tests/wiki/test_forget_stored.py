"""``forget --memory``, ``--entity``, ``--session`` and ``--match``: stored rows are deleted for good by a plan (T6, J23)."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from slowwave.errors import Refused
from slowwave.models.embedder import OfflineEmbedder
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.search import recall_events
from slowwave.search import recall_events as recall_log
from slowwave.search.recall_events import logged
from slowwave.search.request import settings_of
from slowwave.sources.blocks import block
from slowwave.sources.pipeline import ImportSummary, import_messages
from slowwave.sources.tables import import_memories
from slowwave.store.connect import Store
from slowwave.surfaces.api.memory import Memory
from slowwave.wiki import forget as forget_stored
from slowwave.wiki.corpus.corpora import FORGOTTEN_FILE
from slowwave.wiki.forget import FILES, NOT_ERASED, By, plan_forgetting
from slowwave.wiki.pages.workspace import sync_pages
from tests.memories import ask
from tests.permitting import approve
from tests.wiki.claims import MODES, shown
from tests.wiki.corpus.folders import Folder
from tests.wiki.corpus.pages import put

MARKER = "Quillfeather"
"""A name that no other row of the tests holds."""

_TEXTS = """
SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema = 'memory' AND table_name NOT IN ('erasures', 'namespaces')
"""
_LOG = """
INSERT INTO memory.recall_events (id, namespace_id, occurred_at, query) SELECT gen_random_uuid(), id, now(), %s FROM memory.namespaces
"""
_ORPHANS = """
SELECT count(*) FROM memory.search_texts t WHERE t.id NOT IN (
  SELECT id FROM memory.memories UNION SELECT id FROM memory.chunks UNION SELECT id FROM memory.entities)
"""
_WHOLE = """
SELECT count(*) FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id WHERE importance = 0.7
"""
_ERASE = """
INSERT INTO memory.erasures (namespace_id, table_name, row_id, recorded_by) SELECT id, 'memories', %s, %s FROM memory.namespaces
"""


_EVERY_TABLE = """
SELECT t.table_schema || '.' || t.table_name FROM information_schema.tables t
  WHERE t.table_schema IN ('memory', 'night') AND t.table_type = 'BASE TABLE'
"""
LEDGER = frozenset(
    f"night.{name}" for name in ("plans", "plan_items", "approvals", "runs", "journal", "before_images", "snapshots")
)
"""Tables of plans, journals, reports and snapshots: what a plan that forgets rows states it does not erase."""

_QUOTES = """
WITH space AS (SELECT id AS of FROM memory.namespaces), asked AS (SELECT 'About Ada ' || %s AS words)
, a AS (INSERT INTO night.findings (id, namespace_id, operation, severity, message, details)
  SELECT gen_random_uuid(), of, 'screen_content', 'warning', 'An instruction.', jsonb_build_object('text', words) FROM space, asked)
, b AS (INSERT INTO night.model_answers (namespace_id, key, model, answer) SELECT of, repeat('0', 64), 'm', words FROM space, asked)
, c AS (INSERT INTO memory.purges (id, namespace_id, path, reason, agent, bytes)
  SELECT gen_random_uuid(), of, 'people/' || words || '.md', 'Old.', '', 1 FROM space, asked)
, d AS (INSERT INTO memory.proposals (namespace_id, fingerprint, about, actions) SELECT of, 'f', words, '[]' FROM space, asked)
, e AS (INSERT INTO memory.night_requests (namespace_id, reason, agent) SELECT of, words, words FROM space, asked)
INSERT INTO night.conflicts (id, namespace_id, table_name, row_a_id, row_b_id, reason, evidence)
  SELECT gen_random_uuid(), of, 'memories', gen_random_uuid(), gen_random_uuid(), 'Two dates.', jsonb_build_object('a', words)
    FROM space, asked
RETURNING 1
"""

_RENDERED = """
INSERT INTO memory.pages (id, namespace_id, path, body) SELECT gen_random_uuid(), id, 'MEMORY.md', %s FROM memory.namespaces RETURNING 1
"""


def message(n: int, text: str, session: str = "one") -> dict[str, object]:
    at = f"2026-03-0{n}T10:00:00Z"
    return {"id": f"m{n}", "session": session, "text": text, "created_at": at}


MESSAGES = (
    message(1, f"Ada {MARKER} keeps the boat key under the blue pot."),
    message(2, "The ferry to the island leaves at seven in the morning."),
    message(3, f"Call Ada {MARKER} about the harbour fee.", "two"),
    message(4, "The harbour master wants the papers of the boat.", "two"),
)


def import_all(store: Store, folder: Path) -> ImportSummary:
    """Import memories; a second time brings what is not stored."""
    path = folder / "memories.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in MESSAGES))
    with store.connect("owner") as connection:
        return import_memories(connection, path, embedder=OfflineEmbedder(), namespace="acme")


@pytest.fixture
def acme(store: Store, tmp_path: Path) -> Store:
    import_all(store, tmp_path)
    for query in (f"where does Ada {MARKER} keep the key", "when does the ferry leave"):
        shown(store, query)
    for query in (f"where is Ada {MARKER}", "when does the ferry leave"):
        ask(store, _LOG, query)
    logged()
    return store


def holding(store: Store, word: str) -> dict[str, int]:
    """Count the rows of each table of ``memory`` that hold a word, or the vector or search text of a row that held it."""
    found: dict[str, int] = {}
    for (table,) in ask(store, _TEXTS):
        query = f"SELECT count(*) FROM memory.{table} t WHERE t::text ILIKE '%%' || %s || '%%'"
        found[str(table)] = int(str(ask(store, query, word)[0][0]))
    return {table: n for table, n in found.items() if n}


def others(store: Store, word: str) -> dict[str, str]:
    """Hash the rows of each table that do not hold a word, apart from those that only describe rows that hold it."""
    found: dict[str, str] = {}
    for (table,) in ask(store, _TEXTS):
        if table in ("changes", "search_statistics"):
            continue
        hashed = "coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '')"
        query = f"SELECT {hashed} FROM memory.{table} t WHERE t::text NOT ILIKE '%%' || %s || '%%'"
        found[str(table)] = str(ask(store, query, word)[0][0])
    return found


def forget(store: Store, by: By, value: str) -> str:
    """Plan, approve and apply; returns the run."""
    done = plan_forgetting(store, "acme", by, value, reason="She asked for it.")
    signed = approve(store, "acme", done.plan_hash, approver="mara", channel="cli", force=True, note="Asked for.")
    result = apply_approval(store, signed.id)
    assert result.counts["applied"] == 1, ask(store, "SELECT reason FROM night.plan_items")
    return result.run_id


def memory_id(store: Store, external: str) -> str:
    return str(ask(store, "SELECT id::text FROM memory.memories WHERE external_id LIKE %s", f"%{external}")[0][0])


@pytest.mark.parametrize("by", ["match", "entity"])
def test_forget_text_or_entity_leaves_no_row_that_holds_it(acme: Store, by: By) -> None:
    assert {"memories", "memory_versions", "chunks", "recall_events"} - holding(acme, MARKER).keys() <= {"memories"}
    vectors = ask(acme, "SELECT count(*) FROM memory.memory_vectors")[0][0]
    forget(acme, by, MARKER.lower() if by == "match" else f"Ada {MARKER}")
    assert holding(acme, MARKER) == {}
    assert ask(acme, "SELECT count(*) FROM memory.memory_vectors")[0][0] == int(str(vectors)) - 2
    assert ask(acme, _ORPHANS) == [(0,)]
    assert all(MARKER not in shown(acme, "boat key", mode) for mode in MODES)
    memory = Memory("acme", acme)
    told = [memory.wake("codex"), memory.active("Where is the boat key under the blue pot?", "codex")]
    assert all(MARKER not in one.model_dump_json() for one in told)
    assert "ferry" in shown(acme, "ferry")


def test_forget_memory_leaves_every_other_row_as_it_was(acme: Store) -> None:
    ask(acme, "UPDATE memory.memories SET importance = 0.7")
    before = others(acme, "boat key under")
    gone = memory_id(acme, "m1")
    held = {
        str(v)
        for row in ask(acme, "SELECT id::text, current_version_id::text FROM memory.memories WHERE id = %s", gone)
        for v in row
    }
    forget(acme, "memory", "m1")
    assert holding(acme, "boat key under") == {}
    after = others(acme, "boat key under")
    described = {"memories", "chunk_vectors", "memory_vectors", "search_texts", "memory_versions", "chunks"}
    assert {t: h for t, h in after.items() if t not in described} == {
        t: h for t, h in before.items() if t not in described
    }
    assert ask(acme, _WHOLE) == [(3,)]
    assert not any(one in str(row) for one in held for row in ask(acme, "SELECT t::text FROM memory.memory_vectors t"))
    assert "harbour fee" in shown(acme, "harbour fee"), "another memory names the same person"


def test_forget_session_deletes_its_memories_and_passages(acme: Store) -> None:
    forget(acme, "session", "two")
    assert ask(acme, "SELECT count(*) FROM memory.memories WHERE session_id = 'two'") == [(0,)]
    assert ask(acme, "SELECT count(*), count(DISTINCT session_id) FROM memory.memories") == [(2, 1)]
    assert holding(acme, "harbour") == {}
    assert holding(acme, "ferry")["memory_versions"] == 1


def test_import_again_after_forgetting_leaves_the_row_out_and_reports_it(acme: Store, tmp_path: Path) -> None:
    forget(acme, "match", MARKER)
    again = import_all(acme, tmp_path)
    assert (again.forgotten, dict(again.added)) == (2, {})
    assert holding(acme, MARKER) == {}


def test_undo_of_forgotten_rows_is_refused_and_the_plan_states_it(acme: Store) -> None:
    done = plan_forgetting(acme, "acme", "memory", "m1")
    evidence = ask(acme, "SELECT evidence::text, mutation::text FROM night.plan_items")[0]
    assert "cannot be undone" in str(evidence[0])
    assert "cannot be undone" in done.sentence()
    assert NOT_ERASED in done.sentence()
    assert MARKER not in str(evidence), "the plan does not keep what it removes"
    run = forget(acme, "memory", "m1")
    with pytest.raises(Refused, match="forgot rows for good"):
        undo_run(acme, run)
    with pytest.raises(Refused, match="forgot rows for good"):
        undo_run(acme, "last", namespace="acme")
    assert MARKER not in str(ask(acme, "SELECT before, after FROM night.before_images"))


def test_erasures_without_an_approved_plan_are_refused_by_the_database(acme: Store) -> None:
    """The applier's login alone deletes nothing, and no login takes a record back."""
    row, other = memory_id(acme, "m2"), memory_id(acme, "m4")
    done = plan_forgetting(acme, "acme", "memory", row)
    find = "SELECT item_id::text FROM night.plan_items WHERE plan_hash = %s"
    item = str(ask(acme, find, done.plan_hash)[0][0])
    for named, by in ((row, None), (row, item), (other, item)):
        with acme.connect("applier") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(_ERASE.encode(), (named, by))
    forget(acme, "memory", row)
    assert ask(acme, "SELECT count(*) FROM memory.memories") == [(3,)]
    with pytest.raises(psycopg.errors.RaiseException):
        ask(acme, "DELETE FROM memory.erasures RETURNING 1")


@pytest.mark.parametrize(
    ("by", "value", "why"),
    [
        ("memory", "m9", "no memory"),
        ("entity", "Nobody", "no entity"),
        ("match", "xylophone", "No stored row"),
        ("match", "a", "characters"),
    ],
)
def test_selector_that_means_nothing_is_refused(acme: Store, by: By, value: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        plan_forgetting(acme, "acme", by, value)


def test_forget_refuses_a_namespace_of_a_connected_store(acme: Store) -> None:
    connected: Any = ask(acme, "SELECT id FROM memory.namespaces")[0][0]
    ask(acme, "INSERT INTO night.stores (name, kind) VALUES ('notes', 'khora')")
    ask(acme, "INSERT INTO night.store_namespaces (namespace_id, store) VALUES (%s, 'notes')", connected)
    with pytest.raises(Refused, match="connected store notes"):
        plan_forgetting(acme, "acme", "memory", "m1")


def test_forget_text_deletes_the_messages_of_a_speaker_of_that_name(store: Store, tmp_path: Path) -> None:
    """A message holds its speaker's name next to its text, and search finds it by the name."""
    rows = [
        {"namespace": "acme", "created_at": f"2026-03-0{n}T10:00:00Z", "role": role, "content": text, "id": f"t{n}"}
        for n, role, text in (
            (1, MARKER, "The boat key is under the blue pot."),
            (2, "Otto", "The ferry to the island leaves at seven."),
            (3, "user", "Thanks, that is all for today."),
        )
    ]
    path = tmp_path / "messages.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    with store.connect("owner") as connection:
        import_messages(connection, path, embedder=OfflineEmbedder())
    assert holding(store, MARKER)["chunks"] == 1
    forget(store, "match", MARKER)
    assert holding(store, MARKER) == {}
    assert ask(store, "SELECT count(*) FROM memory.memories") == [(2,)]


def tables_holding(store: Store, word: str) -> set[str]:
    """Search the text of every column of every table, without ``LEDGER``."""
    names = {str(name) for (name,) in ask(store, _EVERY_TABLE)} - LEDGER
    return {
        name
        for name in names
        if ask(store, f"SELECT 1 FROM {name} t WHERE t::text ILIKE '%%' || %s || '%%' LIMIT 1", word)
    }


@pytest.fixture
def vault(acme: Store, tmp_path: Path) -> Folder:
    """A followed folder with pages about a person, one of which has an older version that names her."""
    found = Folder(tmp_path / "vault", acme, "vault", "acme")
    found.write("People/Ada.md", f"---\ntitle: Ada {MARKER}\ntype: person\n---\n\nKeeps the key. See [[Boat]].\n")
    found.write("Boat.md", f"Moored by Ada {MARKER}.\n")
    found.write("Ferry.md", "Leaves at seven. [[People/Ada]]\n")
    assert found.sync().new == 3
    found.write("Boat.md", "Moored at the pier.\n")
    assert found.sync().changed == 1
    return found


def test_forget_text_leaves_no_occurrence_in_any_table_but_the_ledger(vault: Folder) -> None:
    """Pages with versions, what syncs remember, findings, conflicts, proposals, purges and answers of models included."""
    store = vault.store
    put(
        store,
        target="notes/harbour.md",
        content=f'She signs as "Ada {MARKER}".',
        frontmatter={"title": "H", "type": "note"},
    )
    ask(store, _QUOTES, MARKER)
    wake = Memory("acme", store).session_ingest
    wake("logs/sessions/codex/s1.md", f"user: call Ada {MARKER} tomorrow", "codex", "s1")
    held = tables_holding(store, MARKER)
    assert {"memory.documents", "memory.chunks", "memory.corpora", "night.findings", "night.conflicts"} <= held
    assert {"night.model_answers", "memory.purges", "memory.proposals", "memory.recall_events"} <= held
    forget(store, "match", MARKER)
    assert tables_holding(store, MARKER) == set()
    assert sorted(vault.live()) == ["Boat.md", "Ferry.md"], "a page whose text is clean now loses only the version"
    assert ask(store, "SELECT count(*) FROM memory.documents WHERE version_of IS NOT NULL") == [(0,)]
    assert ask(store, _ORPHANS) == [(0,)]
    assert not [file for file in vault.root.rglob("*.md") if MARKER in file.read_text()]
    with pytest.raises(Refused, match="forgot this session"):
        wake("logs/sessions/codex/s1.md", f"user: call Ada {MARKER} tomorrow, please", "codex", "s1")


def test_forget_text_deletes_files_and_refuses_the_same_path_or_text_again(vault: Folder) -> None:
    person, boat = (vault.root / "People/Ada.md").read_bytes(), f"Moored by Ada {MARKER}.\n"
    done = plan_forgetting(vault.store, "acme", "match", MARKER)
    assert (done.pages, done.edited, done.histories) == (("People/Ada.md",), (), ())
    assert FILES in done.sentence()
    assert MARKER not in str(ask(vault.store, "SELECT mutation, evidence FROM night.plan_items"))
    forget(vault.store, "match", MARKER)
    assert sorted(file.name for file in vault.root.rglob("*.md")) == ["Boat.md", "Ferry.md"]
    for path, text in (("People/Ada.md", f"Ada {MARKER} again.\n"), ("Else.md", person), ("Boat.md", boat)):
        vault.write(path, text)
        synced = vault.sync()
        assert [(out.path, out.reason) for out in synced.left_out] == [(path, FORGOTTEN_FILE)]
        assert (synced.new, synced.changed, synced.gone) == (0, 0, 0)
        assert tables_holding(vault.store, MARKER) == set()
        (vault.root / path).unlink()
        vault.write("Boat.md", "Moored at the pier.\n")
    vault.write("People/Ada M.md", "Keeps the key.\n")
    assert vault.sync().new == 1, "the rest comes in under another name"


def test_forget_text_keeps_a_file_that_a_person_edited_and_names_it(vault: Folder) -> None:
    (vault.root / ".git").mkdir()
    vault.write("People/Ada.md", f"Ada {MARKER} moved.\n")
    done = plan_forgetting(vault.store, "acme", "match", MARKER)
    assert (done.edited, done.histories) == (("People/Ada.md",), (str(vault.root),))
    forget(vault.store, "match", MARKER)
    assert MARKER in (vault.root / "People/Ada.md").read_text()
    warned = ask(vault.store, "SELECT message FROM night.findings WHERE operation = 'corpus'")
    assert FORGOTTEN_FILE in str(warned)
    synced = vault.sync()
    assert ([out.reason for out in synced.left_out], synced.superseded) == ([FORGOTTEN_FILE], ())
    assert tables_holding(vault.store, MARKER) == set()


def test_forget_entity_deletes_pages_that_have_its_name_in_their_path(acme: Store) -> None:
    put(
        acme,
        target="people/ada-quillfeather.md",
        content="Keeps the key.",
        frontmatter={"title": "Ada", "type": "person"},
    )
    put(acme, target="notes/tea.md", content="Is green.", frontmatter={"title": "Tea", "type": "note"})
    forget(acme, "entity", f"Ada {MARKER}")
    assert ask(acme, "SELECT path FROM memory.documents WHERE corpus_id IS NOT NULL") == [("notes/tea.md",)]


def test_forget_memory_deletes_a_page_that_quotes_it(acme: Store) -> None:
    text = f"- Ada {MARKER} keeps the boat key under the blue pot.\n"
    put(acme, target="notes/key.md", content=text, frontmatter={"title": "Key", "type": "note"})
    put(acme, target="notes/pot.md", content="The blue pot.", frontmatter={"title": "Pot", "type": "note"})
    assert plan_forgetting(acme, "acme", "memory", "m1").pages == ("notes/key.md",)
    forget(acme, "memory", "m1")
    assert ask(acme, "SELECT path FROM memory.documents WHERE corpus_id IS NOT NULL") == [("notes/pot.md",)]
    put(acme, target="notes/key.md", content="A new page.", frontmatter={"title": "Key", "type": "note"})


def test_forget_text_removes_the_block_of_a_rendered_page_from_the_workspace(
    acme: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file follows its row at once, and a person's own lines stay."""
    monkeypatch.setenv("SLOWWAVE_WORKSPACE_PATH", str(tmp_path / "space"))
    ask(acme, _RENDERED, block(f"- Ada {MARKER}"))
    with acme.connect("reader") as connection:
        settings = settings_of(connection, "acme")
    assert sync_pages(acme, "acme", settings).written == ("MEMORY.md",)
    file = tmp_path / "space/acme/MEMORY.md"
    file.write_text(f"My own line.\n\n{file.read_text()}")
    forget(acme, "match", MARKER)
    assert file.read_text().strip() == "My own line."


def test_forget_text_includes_a_recall_that_this_process_is_still_logging(
    acme: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recall is written once the plan waits for it, or else only after the rows are selected."""
    going_on = threading.Event()
    write, select = recall_events._write, forget_stored._selected  # pyright: ignore[reportPrivateUsage]

    def write_late(*asked: Any) -> None:
        assert going_on.wait(60)
        write(*asked)

    def select_now(*asked: Any) -> Any:
        found = select(*asked)
        going_on.set()
        return found

    def wait_for_it() -> None:
        going_on.set()
        logged()

    monkeypatch.setattr(forget_stored, "logged", wait_for_it)
    monkeypatch.setattr(recall_log, "_write", write_late)
    monkeypatch.setattr(forget_stored, "_selected", select_now)
    shown(acme, f"{MARKER} once more")
    forget(acme, "match", MARKER)
    logged()
    assert holding(acme, MARKER) == {}


def test_match_of_a_word_keeps_rows_with_longer_words_and_reports_them(store: Store, tmp_path: Path) -> None:
    rows = [message(1, "Tom has the boat key."), message(2, "The ferry leaves tomorrow at seven.")]
    path = tmp_path / "memories.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with store.connect("owner") as connection:
        import_memories(connection, path, embedder=OfflineEmbedder(), namespace="acme")
    with pytest.raises(Refused, match="inside a longer word only: “tomorrow”"):
        plan_forgetting(store, "acme", "match", "omorro")
    done = plan_forgetting(store, "acme", "match", "tom")
    assert (done.rows["memories"], done.words) == (1, ("tomorrow",))
    assert "2 rows contain the text only inside a longer word (“tomorrow”) and are kept" in done.sentence()


@pytest.mark.parametrize(
    ("text", "stored", "found"),
    [
        ("Tom", "tom, come here", True),
        ("Tom", "Tomorrow", False),
        ("Tom", r'{"text": "First.\nTom"}', True),
        ("Jörg", "jörgen", False),
        ("田中", "田中さん", True),
        ("@tom", "write@tom", True),
    ],
)
def test_match_uses_the_word_boundaries_of_the_script(store: Store, text: str, stored: str, found: bool) -> None:
    pattern = forget_stored._pattern([text], any_case=True)  # pyright: ignore[reportPrivateUsage]
    assert ask(store, "SELECT %s ~ %s", stored, pattern) == [(found,)]


def test_name_of_two_entities_is_stated_before_both_are_deleted(acme: Store) -> None:
    name = f"Ada {MARKER}"
    assert plan_forgetting(acme, "acme", "entity", name).namesakes == 0
    twin = """INSERT INTO memory.entities (id, namespace_id, entity_type, name)
      SELECT gen_random_uuid(), namespace_id, 'ship', name FROM memory.entities WHERE name = %s LIMIT 1"""
    ask(acme, twin, name)
    done = plan_forgetting(acme, "acme", "entity", name)
    assert (done.namesakes, done.to_json()["namesakes"]) == (2, 2)
    assert "2 entities have this name, and all of them are deleted." in done.sentence()


def test_page_that_names_an_entity_reports_passages_deleted_without_the_name(acme: Store) -> None:
    name = f"Ada {MARKER}"
    ferry = "\n\n".join("The ferry is blue and leaves at nine.\n" * 60 for _ in range(4))
    content = f"# Keys\n\n{name} keeps the key.\n\n# Ferry\n\n{ferry}"
    put(acme, target="notes/keys.md", content=content, frontmatter={"title": "Keys", "type": "note"})
    done = plan_forgetting(acme, "acme", "match", name)
    assert done.along >= 1
    assert "The ferry is blue" in str(done.examples)
    along = "not match the selection: a page that matches is deleted with all its passages."
    assert done.sentence().index(along) < done.sentence().index("cannot be undone")
    ((summary,),) = ask(acme, "SELECT summary::text FROM night.plans WHERE plan_hash = %s", done.plan_hash)
    assert along in " ".join(str(summary).split())
    assert "Nothing is lost" not in str(summary)
    assert "deleted for good with all statements" in str(summary)
