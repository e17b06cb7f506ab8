"""``slowwave connect``: stores of others, from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import psycopg
import pytest

from slowwave.bindings.connect import connect_store
from slowwave.errors import Refused
from slowwave.night.status import due
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.namespaces import refuse_connected
from slowwave.surfaces.cli import session
from slowwave.wiki.agents.langgraph_store import SlowwaveStore
from tests.bindings.clients import run_as_owner
from tests.bindings.collections import collection
from tests.bindings.test_connected import MADE, NOTES
from tests.sources.letta_server import LettaServer
from tests.surfaces.cli.conftest import Run


def test_from_a_table_to_its_audits_in_three_commands(store: Store, run: Run, tmp_path: Path) -> None:
    """Connected, audited, and read no more; the address is nowhere in what is said or kept."""
    run_as_owner(
        store, MADE, "INSERT INTO notes (owner, body) VALUES ('anna', 'likes tea'), ('[red]Ben\x1b[2J', 'likes tea')"
    )
    file = tmp_path / "notes.toml"
    file.write_text(NOTES)
    code, out, _ = run("connect", "table", "--file", str(file))
    assert code == 2
    assert 'GRANT SELECT ON "public"."notes" TO slowwave_reader;' in out
    code, out, _ = run("connect", "table", store.owner, "--file", str(file), "--grant")
    assert (code, "2 rows in 2 namespaces" in out, "Off here: dedupe_entities" in out) == (0, True, True)
    assert "slowwave night ALL" in out
    code, shown, _ = run("connect", "list", "--json")
    assert json.loads(shown) == [
        {"store": "notes", "binding": "notes", "namespaces": 2, "embedding_model": "", "writing": False}
    ]
    code, night, _ = run("night", "ALL", "--json")
    assert code == 0
    assert [one["namespace"] for one in json.loads(night)] == sorted(one["namespace"] for one in json.loads(night))
    code, listed, _ = run("namespace", "list", "--json")
    assert {row["namespace"]: row["memories"] for row in json.loads(listed)}["notes-anna"] == 1
    assert "\x1b" not in out + listed
    assert run("connect", "remove", "notes")[0] == 0
    assert run("connect", "remove", "notes")[0] == 2
    with store.connect("owner") as connection:
        kept = connection.execute("SELECT to_jsonb(s)::text FROM night.stores s").fetchone()
    secret = store.owner.split(":")[2].split("@")[0]
    assert kept is not None
    assert all(secret not in text for text in (out, shown, night, listed, str(kept[0])))


def test_table_in_a_schema_of_somebody_else_is_connected_by_printed_grants(
    postgres: server.Server, database: str, store: Store, run: Run, tmp_path: Path
) -> None:
    """The owner's login has no right on the schema: the statements for its owner are printed, and suffice."""
    with psycopg.connect(postgres.url(database), autocommit=True) as admin:
        admin.execute("CREATE SCHEMA crm")
        admin.execute(MADE.replace("notes", "crm.notes", 1).encode())
        admin.execute("INSERT INTO crm.notes (owner, body) VALUES ('anna', 'likes tea')")
        file = tmp_path / "notes.toml"
        file.write_text(NOTES.replace('table = "notes"', 'schema = "crm"\ntable = "notes"'))
        for given in ((), ("--grant",)):
            code, out, err = run("connect", "table", "--file", str(file), *given)
            grants = re.findall(r"GRANT .*;", out)
            assert (code, err) == (2, "")
            assert 'GRANT USAGE ON SCHEMA "crm" TO slowwave_reader;' in grants
            assert ("connect it again with --grant" in out, "--grant did not help" in out) == (not given, bool(given))
        code, _, err = run("night", "ALL")
        assert (code, "slowwave demo" in err) == (2, False)
        assert "The store notes cannot be read: rights of slowwave_reader on its tables are missing." in err
        for statement in grants:
            admin.execute(statement.encode())
    code, out, _ = run("connect", "table", "--file", str(file))
    assert (code, "1 row in 1 namespace" in out) == (0, True)
    assert run("night", "ALL")[0] == 0


def test_removed_store_leaves_nothing_that_fails(store: Store, run: Run, tmp_path: Path) -> None:
    """Before its first night its namespaces go with it; after one they stay, and every kind of night leaves them out (F10)."""
    run_as_owner(store, MADE, "INSERT INTO notes (owner, body) VALUES ('anna', 'likes tea'), ('ben', 'likes tea')")
    file = tmp_path / "notes.toml"
    file.write_text(NOTES)
    connect = ("connect", "table", store.owner, "--file", str(file), "--grant")
    assert run(*connect)[0] == 0
    code, out, _ = run("connect", "remove", "notes")
    assert (code, "2 namespaces without a plan were removed." in out) == (0, True)
    assert json.loads(run("namespace", "list", "--json")[1]) == []
    assert run(*connect)[0] == 0
    with store.connect("owner") as connection:  # a night that failed, as those after a removal did
        connection.execute(
            "INSERT INTO night.runs (id, namespace_id, mode, state) SELECT gen_random_uuid(), id, 'plan', 'crashed' FROM memory.namespaces"
        )
    assert run("night", "notes-ben")[0] == 0
    assert json.loads(run("connect", "remove", "notes", "--json")[1])["namespaces_removed"] == ["notes-anna"]
    for more in ((), ("--force",), ("--ops", "census")):
        code, out, err = run("night", "ALL", *more)
        assert (code, "its store notes was removed" in out) == (0, True), err
    (status,) = json.loads(run("status", "--json")[1])
    assert (status["namespace"], status["next_night"], status["last_failure"]) == ("notes-ben", "store removed", None)
    assert due(store, "notes-ben", weekly=True).closed is not None


def test_night_of_a_table_without_vectors_names_what_did_not_run(store: Store, run: Run, tmp_path: Path) -> None:
    """The night names the operations and the command (F11); equal texts are duplicates without vectors."""
    run_as_owner(
        store,
        MADE,
        "INSERT INTO notes (owner, body) VALUES ('anna', 'Ana prefers window seats.'), ('anna', 'Ana prefers window seats'), ('ben', 'x')",
    )
    file = tmp_path / "notes.toml"
    deleting = NOTES.replace('namespace = "owner"\n', 'namespace = "owner"\nretire = { by = "delete" }\n')
    file.write_text("".join(line for line in deleting.splitlines(keepends=True) if not line.startswith("vector")))
    assert run("connect", "table", store.owner, "--file", str(file), "--grant")[0] == 0
    code, out, _ = run("night", "notes-anna")
    shown = " ".join(out.split())
    assert code == 0
    assert "No memory of notes-anna has a vector, so nothing was compared by " in shown
    assert "neighbour_graph" in shown.split("nothing was compared by ")[1].split(".")[0]
    assert "slowwave connect table --file BINDING.toml --name notes --embedding-model MODEL" in shown
    assert (
        "Without vectors contradictions, dedupe_memories, resolve_conflicts did not compare memories by meaning"
        in shown
    )
    code, out, _ = run("night", "ALL", "--force")
    shown = " ".join(out.split())
    assert "Did not run, because no memory has a vector: " in shown
    assert (
        "Did not compare by meaning, because no memory has a vector: contradictions 2, dedupe_memories 2, resolve_conflicts 2 (namespaces)."
        in shown
    )
    run_as_owner(store, "INSERT INTO notes (owner, body) VALUES ('anna', 'password = \"hunter2-prod-7788\"')")
    assert run("connect", "write", "notes", "--grant")[0] == 0
    assert run("night", "notes-anna", "--force")[0] == 0
    code, out, problem = run("plans", "show", "notes-anna")
    plan = " ".join(out.split())
    assert code == 0, problem
    assert "No memory of notes-anna has a vector, so nothing was compared by " in plan
    assert "slowwave connect table --file BINDING.toml --name notes --embedding-model MODEL" in plan
    assert "“Ana prefers window seats” is merged" in plan or "“Ana prefers window seats.” is merged" in plan
    assert "contradictions" not in shown.split("Found by audits: ")[1].split(". ")[0], (
        "missing vectors are no contradictions"
    )


def test_status_of_a_store_that_is_only_read_or_removed_names_what_was_found(
    store: Store, run: Run, tmp_path: Path
) -> None:
    """A secret in a store that is only read is not "nothing to decide", and a removed store needs no person (C6)."""
    run_as_owner(
        store,
        MADE,
        "INSERT INTO notes (owner, body) VALUES ('ben', 'Tea at noon.'), ('anna', 'My card is 4539 1488 0343 6467.')",
    )
    file = tmp_path / "notes.toml"
    file.write_text(NOTES)
    assert run("connect", "table", store.owner, "--file", str(file), "--grant")[0] == 0
    assert run("night", "ALL")[0] == 0
    found = {one["namespace"]: one for one in json.loads(run("status", "--json")[1])}
    assert (found["notes-anna"]["word"], found["notes-anna"]["secrets"]) == ("secret found", 1)
    listed = {one["namespace"]: one["read_only"] for one in json.loads(run("namespace", "list", "--json")[1])}
    assert listed == {"notes-anna": True, "notes-ben": True}
    assert json.loads(run("namespace", "show", "notes-ben", "--json")[1])["read_only"] is True
    assert found["notes-ben"]["word"] == "nothing to decide"
    shown = " ".join(run("status")[1].split())
    assert "notes-anna: 1 row with a secret, 1 change not planned. The store notes is connected to be read" in shown
    assert "`slowwave connect write notes`" in shown
    page = run("status", "--digest")[1]
    assert "**notes-anna** (1 row with a secret, 1 change not planned): " in page.split("## Look at")[1]
    assert "changes not planned" in run("namespace", "list")[1]
    code, _, err = run("plans", "show", "notes-anna")
    assert (
        code,
        "proposed 1 change for no plan. The store notes is connected to be read" in " ".join(err.split()),
    ) == (2, True)
    seen = " ".join(run("night", "notes-anna", "--force")[1].split())
    assert "It would propose: redact_or_quarantine: " in seen
    assert "is empty" not in seen
    assert "My card is" in seen.split("It would propose:")[1]
    assert "4539" not in seen
    run("connect", "write", "notes", "--grant")
    assert "connect write" not in run("status")[1]
    assert not json.loads(run("namespace", "show", "notes-ben", "--json")[1])["read_only"]
    assert "since then: `slowwave night notes-anna` makes one." in run("status")[1]
    assert run("night", "notes-anna", "--force")[0] == 0
    (unfit,) = json.loads(run("status", "notes-anna", "--json")[1])
    assert (unfit["word"], unfit["not_planned"]) == ("secret found", 0)
    assert "No way is declared to retire a row of notes." in unfit["why_not_planned"]


def test_table_is_connected_under_one_name(store: Store, run: Run, tmp_path: Path) -> None:
    """Two namespaces over the same rows would plan changes of the same rows (F30)."""
    run_as_owner(store, MADE, "INSERT INTO notes (owner, body) VALUES ('anna', 'likes tea')")
    file = tmp_path / "notes.toml"
    file.write_text(NOTES)
    assert run("connect", "table", store.owner, "--file", str(file), "--grant")[0] == 0
    code, _, err = run("connect", "table", store.owner, "--file", str(file), "--name", "again")
    assert (code, "public.notes is connected already, as notes" in err) == (2, True)
    assert run("connect", "table", store.owner, "--file", str(file), "--name", "notes")[0] == 0, "anew, under its name"
    code, _, err = run("connect", "table", store.owner, "--file", str(file), "--name", "set")
    assert (code, "commands use the words" in err) == (2, True)


def test_a_folder_is_connected_by_its_path(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its namespace has its name; what it holds is untrusted; doctor and remove know it as any store."""
    root = tmp_path / "Notes"
    root.mkdir()
    (root / "a.md").write_text("- likes tea\n- [red]likes\x1b[2J coffee\n")
    (root / "\x1b[2Jodd.md").symlink_to(root / "a.md")
    code, out, _ = run("connect", "folder", str(root))
    assert (code, "2 rows in 1 namespace" in out, "1 file of" in out, "\x1b" in out) == (0, True, True, False)
    code, out, _ = run("connect", "folder", str(root), "--json")
    assert (code, json.loads(out)["folder"]["left"].keys()) == (0, {"\x1b[2Jodd.md"})
    code, out, _ = run("doctor")
    assert (code, "Of the folder notes, 1 file is left out" in out, "\x1b" in out) == (0, True, False)
    assert run("connect", "folder", str(root / "a.md"))[0] == 2
    assert run("connect", "write", "notes")[0] == 0
    again = [run("connect", "folder", str(root))[1] for _ in range(2)]
    assert ["slowwave connect write notes" in shown for shown in again] == [True, False]
    code, out, _ = run("night", "ALL")
    assert (code, "notes" in out) == (0, True)
    root.rename(tmp_path / "away")
    monkeypatch.setattr(session, "width_of", lambda _: 60)
    code, out, err = run("night", "ALL")
    assert " ".join(err.split()).count("is no folder") == 1
    assert "notes: Its night was refused, see the note above." in " ".join(err.split())
    assert all(len(line) <= 60 for line in err.splitlines() if line.startswith(("Note", " ")))
    assert run("doctor")[0] == 1
    assert run("connect", "remove", "notes")[0] == 0
    assert run("doctor")[0] == 0


def test_a_collection_that_is_not_there_is_refused_by_its_name(store: Store, run: Run) -> None:
    """Nothing is noted of it."""
    code, _, err = run("connect", "mem0", "--collection", "nowhere")
    assert (code, "public.nowhere" in err) == (2, True)
    assert json.loads(run("connect", "list", "--json")[1]) == []


def test_another_database_than_the_environments_is_refused(run: Run) -> None:
    """And the password in the address is not repeated."""
    code, out, err = run("connect", "langgraph", "postgresql://me:secret-word@elsewhere/theirs")
    assert (code, "different databases" in err, "secret-word" in out + err) == (2, True, False)


def test_doctor_speaks_of_stores_as_well(store: Store, run: Run, tmp_path: Path) -> None:
    """A table that is gone is a problem, and its remedy names the command; namespaces may be written to once the store may."""
    run_as_owner(store, MADE, "INSERT INTO notes (owner, body) VALUES ('anna', 'likes tea')")
    file = tmp_path / "notes.toml"
    file.write_text(NOTES)
    run("connect", "table", "--file", str(file), "--grant")
    assert "0 namespaces may be written to; read-only: notes-anna." in run("doctor")[1]
    assert run("connect", "write", "notes", "--grant")[0] == 0
    assert "1 namespace may be written to." in run("doctor")[1]
    run_as_owner(store, "DROP TABLE notes")
    code, out, _ = run("doctor")
    assert (code, "public.notes" in out, "slowwave connect remove notes" in out) == (1, True, True)


@pytest.mark.parametrize(
    ("command", "table", "key"),
    [
        (
            ("langchain", "--table", "notes"),
            "notes",
            "langchain_id uuid PRIMARY KEY, content text, langchain_metadata json",
        ),
        (("llamaindex", "--table", "data_notes"), "data_notes", "id bigint PRIMARY KEY, text varchar, metadata_ json"),
        (("supabase", "--id-type", "uuid"), "documents", "id uuid PRIMARY KEY, content text, metadata jsonb"),
    ],
)
def test_whose_rows_of_a_table_are_is_told_by_a_key_a_column_or_not_at_all(
    store: Store, run: Run, command: tuple[str, ...], table: str, key: str
) -> None:
    """Two users by the metadata, three by a column, and one namespace of all."""
    meta = key.split()[-2]
    text = key.split(", ")[1].split()[0]
    ids = ["00000000-0000-0000-0000-00000000000" + n if "uuid" in key else n for n in "123"]
    rows = ", ".join(
        f"('{id_}', 'likes tea', '{{\"user_id\": \"{user}\"}}', '{owner}')"
        for id_, user, owner in zip(ids, ("anna", "ben", "ben"), "xyz", strict=True)
    )
    run_as_owner(
        store,
        f"CREATE TABLE {table} ({key}, owner text, embedding vector(3))",
        f"INSERT INTO {table} ({key.split()[0]}, {text}, {meta}, owner) VALUES {rows}",
    )
    for number, options in ((2, ()), (3, ("--user-column", "owner")), (1, ("--whole",))):
        name = f"notes_{number}"
        code, out, _ = run("connect", *command, *options, "--name", name, "--grant", "--json")
        found = json.loads(out)
        assert (code, found["rows"]["read"], found["namespaces"]) == (0, 3, number)
        assert run("connect", "remove", name)[0] == 0


def test_memory_is_not_added_to_a_namespace_of_a_store(store: Store, run: Run, tmp_path: Path) -> None:
    """Imports, statements and items of agents would lie in tables of ours that nothing of that namespace reads: each is refused, by the
    store's name, and nothing of it is kept."""
    run_as_owner(store, MADE, "INSERT INTO notes (owner, body) VALUES ('anna', 'likes tea')")
    connect_store(store, "table", own_text=NOTES, grant=True)
    message = {"namespace": "notes-anna", "created_at": "2026-03-01T08:00:00Z", "role": "user", "content": "Hi."}
    files = {
        "messages": ("messages.jsonl", json.dumps(message)),
        "entities": ("entities.csv", "id,source,entity_type,name,attrs\n1,a,person,Anna,{}"),
        "facts": ("facts.csv", "subject,predicate,object\nAnna,likes,tea"),
    }
    for kind, (name, text) in files.items():
        file = tmp_path / name
        file.write_text(f"{text}\n")
        there = [] if kind == "messages" else ["--namespace", "notes-anna"]
        code, _, err = run("import", kind, str(file), *there)
        assert (code, "connected store notes" in " ".join(err.split())) == (2, True), (kind, err)
    code, _, err = run("remember", "notes-anna", "Anna likes tea.", "--subject", "Anna", "--scope", "person")
    assert (code, "connected store notes" in " ".join(err.split())) == (2, True), err
    code, _, err = run("forget", "notes-anna", "Anna")
    assert (code, "it has no claims that could end" in " ".join(err.split())) == (2, True), err
    with SlowwaveStore("notes-anna", store) as items, pytest.raises(Refused, match="connected store notes"):
        items.put(("memories",), "tea", {"content": "Anna likes tea."})
    with store.connect("server") as connection, pytest.raises(Refused, match="connected store notes"):
        refuse_connected(connection, ["notes-anna"])
    with store.connect("owner") as connection:
        counted = [
            connection.execute(f"SELECT count(*) FROM memory.{name}".encode()).fetchone()
            for name in ("memories", "entities", "memory_facts", "documents")
        ]
    assert counted == [(0,)] * 4


def test_what_keeps_a_store_from_its_nights_is_named_with_what_to_do(store: Store, run: Run) -> None:
    """One after the other: rights, a trigger, row security that hides rows, tables that changed; then the store is let go."""
    names = collection(store)
    troubles = [
        ("REVOKE SELECT ON mem0 FROM slowwave_reader", 'GRANT SELECT ON "public"."mem0" TO slowwave_reader;'),
        ("REVOKE UPDATE ON mem0 FROM slowwave_applier", 'GRANT UPDATE ON "public"."mem0" TO slowwave_applier;'),
        (
            "CREATE TRIGGER tidy BEFORE UPDATE ON mem0 FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "public.mem0 has triggers that the binding does not know: tidy.",
        ),
        (
            "ALTER TABLE mem0 ENABLE ROW LEVEL SECURITY",
            "Row security of public.mem0 hides 37 rows from slowwave_reader",
        ),
        ("CREATE POLICY their_own ON mem0 TO slowwave_reader USING (true)", "Give slowwave_applier BYPASSRLS"),
        ("ALTER TABLE mem0 DISABLE ROW LEVEL SECURITY; ALTER TABLE mem0 ADD COLUMN score real", "mem0 has score real"),
    ]
    undone = [
        "GRANT SELECT ON mem0 TO slowwave_reader",
        "GRANT UPDATE ON mem0 TO slowwave_applier",
        "DROP TRIGGER tidy ON mem0",
    ]
    assert run("doctor")[0] == 0
    for (trouble, sentence), remedy in zip(troubles, [*undone, "", "", ""], strict=True):
        run_as_owner(store, *trouble.split("; "))
        found = run("doctor")
        assert (found[0], sentence in found[1]) == (1, True), (trouble, found)
        if remedy:
            run_as_owner(store, remedy)
    code, _, err = run("namespace", "reembed", "mem0-anna")
    assert (code, "mem0-anna is a namespace of the connected store mem0: its vectors are its client's" in err) == (
        2,
        True,
    )
    assert json.loads(run("connect", "remove", "mem0", "--json")[1]) == {
        "store": "mem0",
        "connected": False,
        "namespaces_removed": names,
    }
    assert "mem0" not in run("doctor")[1].replace("connect mem0`", ""), (
        "it is named only as an example of a store to connect"
    )
    assert json.loads(run("connect", "list", "--json")[1]) == []


def test_blocks_of_a_letta_server_are_connected_by_its_address(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with the key of the environment, which is in no output; what is left out is said, and doctor says how to mend what is amiss."""
    server = LettaServer("a-key-of-letta")
    try:
        server.add("human", "Likes tea\n[red]Likes\x1b[2J coffee\n")
        server.add("rules", "Be kind", read_only=True)
        code, _, err = run("connect", "letta-api", server.url)
        assert (code, "set LETTA_API_KEY" in " ".join(err.split())) == (2, True)
        monkeypatch.setenv("LETTA_API_KEY", "a-key-of-letta")
        assert run("connect", "letta-api", "localhost:8283")[0] == 2
        code, out, _ = run("connect", "letta-api", server.url)
        assert (code, "2 rows in 1 namespace" in out, "1 block of" in out, "read-only" in out) == (0, True, True, True)
        code, shown, _ = run("connect", "letta-api", server.url, "--json")
        assert (code, json.loads(shown)["folder"]["files"]) == (0, 1)
        assert run("connect", "letta-api", server.url, "--name", "again")[0] == 2
        code, said, _ = run("doctor")
        assert (code, "Of the folder letta_api, 1 block is left out" in said) == (0, True)
    finally:
        server.close()
    code, amiss, _ = run("doctor")
    assert (code, "does not answer" in " ".join(amiss.split())) == (1, True)
    assert run("connect", "remove", "letta_api")[0] == 0
    assert all(secret not in text for secret in ("a-key-of-letta", "\x1b") for text in (err, out, shown, said, amiss))


def test_digest_of_a_connected_namespace_covers_the_rows_of_its_store(store: Store, run: Run, tmp_path: Path) -> None:
    """A row that its program changes gives another digest; the same row gives the first one again; other namespaces do not count."""
    run_as_owner(
        store,
        MADE,
        "INSERT INTO notes (owner, body) VALUES ('anna', 'Ana prefers window seats.'), ('ben', 'Ben prefers aisle seats.')",
    )
    file = tmp_path / "notes.toml"
    file.write_text("".join(line for line in NOTES.splitlines(keepends=True) if not line.startswith("vector")))
    assert run("connect", "table", store.owner, "--file", str(file), "--grant")[0] == 0

    def digest() -> str:
        code, out, problem = run("namespace", "digest", "notes-anna")
        assert code == 0, problem
        return out.strip()

    first = digest()
    run_as_owner(store, "UPDATE notes SET body = 'Ben prefers window seats.' WHERE owner = 'ben'")
    assert digest() == first
    run_as_owner(store, "UPDATE notes SET body = 'Ana prefers aisle seats.' WHERE owner = 'anna'")
    assert digest() != first
    run_as_owner(store, "UPDATE notes SET body = 'Ana prefers window seats.' WHERE owner = 'anna'")
    assert digest() == first
