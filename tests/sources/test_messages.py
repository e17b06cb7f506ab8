"""Chat turns into documents, chunks, memories, entities and relationships; twice, overlapping, and with bad rows."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from slowwave.errors import ImportRefused, StoreError
from slowwave.models.embedder import OfflineEmbedder
from slowwave.search.request import SearchRequest
from slowwave.search.search import search
from slowwave.sources.loading import namespace_id
from slowwave.sources.pipeline import import_messages, read_messages
from slowwave.sources.rows import RowCheck, SkippedRow
from slowwave.sources.turns import MOST_TIES, MentionContext, entity_id, grow, plan_graph, read_names
from slowwave.store import load

DATA = Path(__file__).parents[2] / "../shared/data"
NS = namespace_id("demo")


def turn(content: str, minute: int = 0, *, day: int = 1, **more: object) -> dict[str, object]:
    when = f"2026-03-{day:02}T09:{minute:02}:00+00:00"
    return {"namespace": "demo", "created_at": when, "role": "user", "content": content, **more}


def entities(connection) -> dict[str, tuple[object, ...]]:
    rows = connection.execute(
        """SELECT name, entity_type, mention_count, cardinality(source_chunk_ids), cardinality(source_document_ids)
        FROM memory.entities WHERE invalidated_at IS NULL"""
    ).fetchall()
    return {name: tuple(rest) for name, *rest in rows}


def edges(connection) -> dict[frozenset[str], tuple[float, float, int]]:
    rows = connection.execute(
        """SELECT s.name, t.name, r.weight, r.confidence, cardinality(r.source_chunk_ids), s.id < t.id
        FROM memory.relationships r JOIN memory.entities s ON s.id = source_entity_id
        JOIN memory.entities t ON t.id = target_entity_id
        WHERE r.relationship_type = 'ASSOCIATED_WITH' AND r.invalidated_at IS NULL"""
    ).fetchall()
    assert all(ordered for *_, ordered in rows)
    return {frozenset((a, b)): (weight, confidence, chunks) for a, b, weight, confidence, chunks, _ in rows}


def test_a_large_import_renews_the_statistics_by_which_searches_are_planned(store, embedder, jsonl, monkeypatch):
    """Of what has grown and of the text index; a small one leaves them to PostgreSQL."""

    def counted() -> dict[str, float]:
        names = ["memories", "memory_vectors", "search_texts"]
        return dict(
            connection.execute(
                "SELECT relname, reltuples FROM pg_class WHERE relnamespace = 'memory'::regnamespace AND relname = ANY (%s)",
                (names,),
            ).fetchall()
        )

    with store.connect("owner") as connection:
        before = counted()
        import_messages(connection, jsonl(*(turn(f"tea {n}", n) for n in range(4))), embedder=embedder)
        assert counted() == before
        monkeypatch.setattr(load, "MANY", 4)
        import_messages(connection, jsonl(*(turn(f"tea {n}", n) for n in range(4, 9))), embedder=embedder)
        assert min(counted().values()) >= 9


def test_a_turn_becomes_chunk_memory_entities_and_their_tie(store, embedder, jsonl):
    """Two days, three turns: two documents, three chunks in order, versions, counted names, a weighed edge, vectors."""
    path = jsonl(
        turn("Jane Smith works at Acme Corp. Jane Smith likes tea.", 0, id="a"),
        turn("I saw Jane Smith of Acme Corp.", 1, id="b"),
        turn("Write to bob@x.org", 0, day=2, id="c"),
    )
    with store.connect("owner") as connection:
        summary = import_messages(connection, path, embedder=embedder)
        assert summary.added == {
            "namespaces": 1, "documents": 2, "chunks": 3, "memories": 3, "memory_versions": 3, "entities": 3,
            "relationships": 1, "chunk_vectors": 3, "memory_vectors": 3, "entity_vectors": 3,
        }  # fmt: skip
        assert (summary.seen, summary.known, summary.skipped, summary.namespaces) == (3, 0, (), ("demo",))
        assert entities(connection) == {
            "Jane Smith": ("person", 3, 2, 1),
            "Acme Corp": ("organization", 2, 2, 1),
            "bob@x.org": ("email", 1, 1, 1),
        }
        assert edges(connection) == {frozenset(("Jane Smith", "Acme Corp")): (2.0, 2 / 3, 2)}
        rows = connection.execute(
            """SELECT m.external_id, m.kind, m.author, m.session_id, m.valid_from = m.valid_from, v.content = c.content,
                   c.ordinal, d.external_id, d.title, m.valid_from::text
            FROM memory.memories m JOIN memory.memory_versions v ON v.id = m.current_version_id AND v.memory_id = m.id
            JOIN memory.chunks c ON c.id = m.source_chunk_ids[1] JOIN memory.documents d ON d.id = c.document_id
            WHERE m.source_document_ids = ARRAY[d.id] ORDER BY 1"""
        ).fetchall()
        assert rows[1] == (
            "b", "episodic", "user", "2026-03-01", True, True, 1,
            "messages:2026-03-01", "Conversation of 2026-03-01", "2026-03-01 09:01:00+00",
        )  # fmt: skip
        assert [row[6] for row in rows] == [0, 1, 0]
        assert embedder.embedded.count("Jane Smith (person)") == 1
        assert connection.execute("SELECT model, dimensions FROM memory.vector_models").fetchall() == [("hash-8", 8)]


def test_the_same_file_twice_changes_nothing(store, embedder, jsonl, contents):
    """A nightly cron job may import the same export again and again: no row, count, version or change is added."""
    path = jsonl(
        turn("Jane Smith works at Acme Corp.", 0), turn("Jane Smith called.", 1), turn("Jane Smith called.", 1)
    )
    with store.connect("owner") as connection:
        assert import_messages(connection, path, embedder=embedder).added["chunks"] == 3
        before, asked = contents(), len(embedder.embedded)
        summary = import_messages(connection, path, embedder=embedder)
    assert summary.added == {}
    assert summary.known == summary.seen == 3
    assert contents() == before
    assert len(embedder.embedded) == asked


def test_halves_that_overlap_give_what_the_whole_gives(store, embedder, jsonl):
    """Two exports share a turn: entities and edges end with the counts, weights and arrays of one import of all."""
    first = turn("Jane Smith met Bob Jones at Acme Corp.", 0, id="a")
    shared = turn("Bob Jones likes Jane Smith.", 1, id="b")
    last = turn("Jane Smith and Bob Jones left for New York.", 2, day=2, id="c")
    whole = jsonl(*({**row, "namespace": "whole"} for row in (first, shared, last)), name="whole.jsonl")
    halves = [jsonl(first, shared, name="one.jsonl"), jsonl(shared, last, name="two.jsonl")]
    with store.connect("owner") as connection:
        import_messages(connection, whole, embedder=embedder)
        expected_entities, expected_edges = entities(connection), edges(connection)
        connection.execute("DELETE FROM memory.entity_vectors")
        connection.execute("DELETE FROM memory.relationships")
        connection.execute("DELETE FROM memory.entities")
        added = [import_messages(connection, half, embedder=embedder).added for half in halves]
        assert added[1]["chunks"] == 1
        assert (entities(connection), edges(connection)) == (expected_entities, expected_edges)
        assert expected_edges[frozenset(("Jane Smith", "Bob Jones"))] == (3.0, 0.75, 3)


def merge(connection, victim: str, survivor: str) -> None:
    connection.execute(
        """UPDATE memory.entities v SET merged_into = s.id, invalidated_at = now() FROM memory.entities s
        WHERE v.name = %s AND s.name = %s""",
        [victim, survivor],
    )


def test_a_mention_of_a_merged_name_or_an_alias_goes_to_the_survivor(store, embedder, jsonl):
    """After a night merged Jon Smith into John Smith (twice removed), new turns about Jon must not bring him back."""
    with store.connect("owner") as connection:
        path = jsonl(turn("We met Jon Smith.", 0), turn("We met John Smith.", 1), turn("We met John Smyth.", 2))
        import_messages(connection, path, embedder=embedder)
        merge(connection, "Jon Smith", "John Smyth")
        merge(connection, "John Smyth", "John Smith")
        connection.execute(
            """INSERT INTO memory.entity_aliases (id, namespace_id, entity_id, alias)
            SELECT gen_random_uuid(), namespace_id, id, 'Johnny SMITH' FROM memory.entities WHERE name = 'John Smyth'"""
        )
        path = jsonl(
            turn("We met Jon Smith at Acme Corp.", 3), turn("We met Johnny Smith at Acme Corp.", 4), name="b.jsonl"
        )
        summary = import_messages(connection, path, embedder=embedder)
        assert summary.added["entities"] == 1
        assert entities(connection) == {"John Smith": ("person", 3, 3, 1), "Acme Corp": ("organization", 2, 2, 1)}
        assert edges(connection) == {frozenset(("John Smith", "Acme Corp")): (2.0, 2 / 3, 2)}


def test_a_retired_entity_stays_retired_and_its_name_begins_anew(store, embedder, jsonl):
    """Nothing is brought back behind the operator's back; and the third turn finds the second row, not a third."""
    with store.connect("owner") as connection:
        import_messages(connection, jsonl(turn("We met Jane Smith.", 0)), embedder=embedder)
        connection.execute("UPDATE memory.entities SET invalidated_at = now()")
        for minute in (1, 2):
            path = jsonl(turn("We met Jane Smith.", minute), name=f"{minute}.jsonl")
            import_messages(connection, path, embedder=embedder)
        rows = connection.execute(
            "SELECT id::text, mention_count, external_id FROM memory.entities ORDER BY external_id"
        ).fetchall()
    key = ("person", "jane smith")
    assert rows == [
        (entity_id(NS, key), 1, "person:jane smith"),
        (entity_id(NS, key, 1), 2, "person:jane smith#2"),
    ]


def test_a_list_of_names_does_not_tie_everything_to_everything(store, embedder, jsonl):
    """A pasted directory of 400 people is untrusted input: its ties are few."""
    names = [f"Anna Q{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(400)]
    with store.connect("owner") as connection:
        summary = import_messages(connection, jsonl(turn(", ".join(names), 0)), embedder=embedder)
    assert summary.added["entities"] == 400
    assert summary.added["relationships"] == MOST_TIES


BAD = {
    '{"namespace": "demo"': "not JSON",
    "[1]": "not a JSON object",
    json.dumps(turn("x", created_at="2026-03-01T09:00:00")): "created_at has no time zone",
    json.dumps(turn("x", created_at="yesterday")): "created_at is not an ISO 8601 time",
    json.dumps(turn("x", created_at=5)): "created_at is not an ISO 8601 time",
    json.dumps(turn("x", created_at="0001-01-01T00:00:00+23:00")): "outside the years",
    json.dumps(turn("a\0b")): "content holds a NUL",
    json.dumps(turn("a\ud800b")): "content holds bytes or escapes that are no character",
    json.dumps(turn("  ")): "content is empty",
    json.dumps(turn("x", role=None)): "role is missing",
    json.dumps(turn("x", namespace="Bad Name!")): "namespace is not a slug",
    json.dumps(turn("x", namespace="a" * 64)): "namespace is not a slug",
    json.dumps(turn("x", id=7)): "id is not text",
    json.dumps(turn("x", id="i" * 501)): "id has 501 characters",
    "[" * 100_000: "nested too deeply",
    json.dumps(turn("other", id="good")): "its id was used in line 1 for another turn",
}


@pytest.mark.parametrize(("line", "reason"), BAD.items(), ids=[str(n) for n in range(len(BAD))])
def test_a_bad_row_is_refused_with_file_line_and_reason(jsonl, line: str, reason: str):
    """An operator sees which line to mend; a blank line counts as a line and as nothing else."""
    path = jsonl(turn("fine", 0, id="good"), "", line)
    with pytest.raises(ImportRefused) as caught:
        list(read_messages(path, RowCheck(str(path), "stop")))
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert reason in str(caught.value)


def test_a_bad_last_row_keeps_every_good_row_out(store, embedder, jsonl, contents):
    """The file is read to its end before its first namespace is written."""
    path = jsonl({**turn("fine", 0), "namespace": "aaa"}, turn("fine", 1), next(iter(BAD)))
    before = contents()
    with store.connect("owner") as connection, pytest.raises(ImportRefused, match="line 3"):
        import_messages(connection, path, embedder=embedder)
    assert contents() == before


def test_two_imports_of_one_file_at_once_count_everything_once(store, embedder, jsonl):
    """Cron and a person start the same import: one waits for the other, finds all turns known and adds nothing."""
    path = jsonl(*(turn(f"Jane Smith met Bob Jones. Note {n}.", n) for n in range(40)))

    def run(_: int) -> int:
        with store.connect("owner") as connection:
            return import_messages(connection, path, embedder=embedder).known

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(run, range(2))) == [0, 40]
    with store.connect("owner") as connection:
        assert entities(connection) == {"Jane Smith": ("person", 40, 40, 1), "Bob Jones": ("person", 40, 40, 1)}
        assert edges(connection) == {frozenset(("Jane Smith", "Bob Jones")): (40.0, 40 / 41, 40)}


def test_an_entity_retired_while_vectors_are_made_is_left_for_a_new_one(store, embedder, jsonl):
    """An apply run retires Jane while vectors are being made: nothing is hung on a retired row."""
    with store.connect("owner") as connection, store.connect("owner") as other:
        import_messages(connection, jsonl(turn("We met Jane Smith.", 0)), embedder=embedder)

        class Slow(type(embedder)):
            def embed(self, texts):
                other.execute("UPDATE memory.entities SET invalidated_at = now() WHERE invalidated_at IS NULL")
                return super().embed(texts)

        path = jsonl(turn("Jane Smith called Bob Jones.", 1), name="b.jsonl")
        assert import_messages(connection, path, embedder=Slow()).added["entities"] == 2
        rows = connection.execute(
            "SELECT external_id, mention_count, invalidated_at IS NULL FROM memory.entities ORDER BY 1"
        ).fetchall()
    assert rows == [
        ("person:bob jones", 1, True), ("person:jane smith", 1, False), ("person:jane smith#2", 1, True)
    ]  # fmt: skip


def test_an_entity_retired_after_names_were_matched_stops_the_batch(store, embedder, jsonl):
    """The last moment at which it can happen: between matching and growing, within the transaction."""
    with store.connect("owner") as connection:
        import_messages(connection, jsonl(turn("We met Jane Smith.", 0)), embedder=embedder)
        when = datetime(2026, 3, 1, tzinfo=UTC)
        graph = plan_graph(connection, NS, [(MentionContext(NS, NS, when), read_names("We met Jane Smith."))])
        assert len(graph.grown_entities) == 1
        connection.execute("UPDATE memory.entities SET invalidated_at = now()")
        with pytest.raises(StoreError, match="retired while it ran"):
            grow(connection, graph)


def test_skipping_lists_what_was_left_out(store, embedder, jsonl):
    """--on-error skip takes the good rows and names every other one; a byte that is no text spoils its line alone."""
    path = jsonl(*(line for line in BAD if "other" not in line), turn("fine", 0, id="good"))
    path.write_bytes(path.read_bytes() + b'{"namespace": "\xff"}\n')
    with store.connect("owner") as connection:
        summary = import_messages(connection, path, embedder=embedder, on_error="skip")
    assert summary.added["chunks"] == 1
    assert summary.seen == len(BAD) + 1
    assert len(summary.skipped) == len(BAD)
    assert summary.skipped[-1] == SkippedRow(str(path), len(BAD) + 1, "not UTF-8")


def test_a_read_only_namespace_refuses_and_no_other_is_begun(store, embedder, jsonl, contents):
    """A frozen customer among the rows stops the file before its first namespace is written."""
    with store.connect("owner") as connection:
        import_messages(connection, jsonl(turn("Hello", 0)), embedder=embedder)
        connection.execute("UPDATE memory.namespaces SET read_only = true")
        before = contents()
        with pytest.raises(ImportRefused, match="Read-only: demo"):
            import_messages(
                connection, jsonl({**turn("x", 1), "namespace": "aaa"}, turn("y", 1), name="b.jsonl"), embedder=embedder
            )
    assert contents() == before


def test_a_namespace_that_is_named_takes_every_row(store, embedder, jsonl):
    """--namespace replaces what the rows say, also rows that say nothing; a name that is no slug is refused."""
    row = turn("Hello", 0)
    del row["namespace"]
    path = jsonl(row, turn("Bye", 1))
    with store.connect("owner") as connection:
        assert import_messages(connection, path, embedder=embedder, namespace="mine").namespaces == ("mine",)
        with pytest.raises(ImportRefused, match="cannot be used"):
            import_messages(connection, path, embedder=embedder, namespace="../etc")
        with pytest.raises(ImportRefused, match="cannot be read"):
            import_messages(connection, path.with_name("absent.jsonl"), embedder=embedder)


def test_it_commits_on_a_connection_that_is_not_in_autocommit(store, embedder, jsonl):
    """The caller's connection mode must not decide whether an import survives."""
    with psycopg.connect(store.owner) as connection:
        import_messages(connection, jsonl(turn("Hello", 0)), embedder=embedder)
        connection.rollback()
    with store.connect("owner") as connection:
        assert connection.execute("SELECT count(*) FROM memory.chunks").fetchone() == (1,)


def test_a_failing_embedder_leaves_nothing_behind(store, embedder, jsonl, contents):
    """Vectors come before rows: an endpoint that breaks down leaves no half-imported namespace."""

    class Broken(type(embedder)):
        def embed(self, texts):
            raise RuntimeError("down")

    before = contents()
    with store.connect("owner") as connection, pytest.raises(RuntimeError):
        import_messages(connection, jsonl(turn("Hello", 0)), embedder=Broken())
    assert contents() == before


def test_fifteen_people_talk_for_ten_days(store, embedder):
    """The demo corpus as it is: every turn arrives once, progress ends at the end, and provenance points at real chunks."""
    path = DATA / "memorybank/messages.jsonl"
    if not path.exists():
        pytest.skip("the shared demo data is not beside this checkout")
    told: list[tuple[int, int]] = []
    with store.connect("owner") as connection:
        summary = import_messages(connection, path, embedder=embedder, progress=lambda *step: told.append(step))
        assert summary.seen == summary.added["chunks"] == summary.added["memories"] == 1132
        assert summary.added["namespaces"] == 15
        assert summary.added["entities"] > 150
        assert told == sorted(told)
        assert told[-1] == (1132, 1132)
        counted = Counter(
            dict(connection.execute("SELECT namespace_id::text, count(*) FROM memory.chunks GROUP BY 1").fetchall())
        )
        assert counted[namespace_id("memorybank-frank")] == 104
        dangling = connection.execute(
            """SELECT count(*) FROM memory.entities e, unnest(e.source_chunk_ids) AS c
            WHERE NOT EXISTS (SELECT 1 FROM memory.chunks k WHERE k.id = c AND k.namespace_id = e.namespace_id)"""
        ).fetchone()
        assert dangling == (0,)
        mentions = connection.execute(
            "SELECT sum(mention_count), sum(cardinality(source_chunk_ids)) FROM memory.entities"
        ).fetchone()
        assert mentions[0] >= mentions[1] > 300


@pytest.mark.parametrize(
    "doubled", ['"namespace":"bad","namespace":"other"', '"namespace":"other","extra":{"a":1,"a":2}']
)
def test_a_key_that_is_given_twice_is_refused_with_its_line(store, embedder, tmp_path: Path, doubled: str):
    """T19: of two values of one key the last was taken without a word."""
    file = tmp_path / "messages.jsonl"
    good = '{"namespace":"demo","created_at":"2026-03-01T09:00:00+00:00","role":"user","content":"Hi."}'
    file.write_text(f"{good}\n{{{doubled},{good[good.index(',') + 1 :]}\n")
    with store.connect("owner") as connection:
        with pytest.raises(ImportRefused, match=r"line 2: the key '.*' is given twice"):
            import_messages(connection, file, embedder=embedder)
        assert connection.execute("SELECT count(*) FROM memory.memories").fetchone() == (0,)


@pytest.mark.parametrize(
    ("role", "speaker"), [("Jon", "Jon"), (" Jon ", "Jon"), ("user", None), ("Assistant", None), ("tool", None)]
)
def test_message_of_a_named_speaker_is_embedded_with_the_name(store, embedder, jsonl, role, speaker):
    """J19: so is a later wording. Roles name no one. Vectors of memories stay without it: a name makes texts alike that are compared."""

    def found() -> dict[str, tuple[object, ...]]:
        rows = connection.execute(
            """SELECT c.content, c.speaker, v.speaker, v.vector::text, m.vector::text FROM memory.chunks c
            JOIN memory.chunk_vectors v ON v.id = c.id JOIN memory.memories o ON c.id = ANY (o.source_chunk_ids)
            JOIN memory.memory_vectors m ON m.id = o.id WHERE c.invalidated_at IS NULL"""
        ).fetchall()
        return {text: tuple(rest) for text, *rest in rows}

    def held(text: str) -> list[float]:
        return embedder.embed([text])[0].tolist()

    with store.connect("owner") as connection:
        for text in ("The green one is mine.", "The red one is mine."):
            import_messages(connection, jsonl(turn(text, id="a", role=role)), embedder=embedder)
            [(content, (of_chunk, of_vector, chunk, memory))] = found().items()
            assert (content, of_chunk, of_vector) == (text, speaker, speaker)
            assert json.loads(chunk) == pytest.approx(held(f"{speaker}: {text}" if speaker else text))
            assert json.loads(memory) == pytest.approx(held(text))


def test_search_for_a_speaker_finds_messages_that_name_no_one(store, jsonl):
    """J19: by words and by meaning. The text of a message rarely names who sent it."""
    said = [
        ("Ava", "I grow beans and peas."),
        ("Jon", "I grow roses."),
        ("Mia", "I grow herbs."),
        ("Ole", "I grow figs."),
    ]
    rows = [turn(text, n, role=name, id=name) for n, (name, text) in enumerate(said)]
    with store.connect("owner") as connection:
        import_messages(connection, jsonl(*rows), embedder=OfflineEmbedder())
    for name, text in said:
        for mode in ("bm25", "vector", "hybrid"):
            request = SearchRequest(query=f"What does {name} grow?", mode=mode, k=1)
            first = search(store, "demo", request, embedder=OfflineEmbedder()).results[0]
            assert (mode, first.snippet) == (mode, text)
