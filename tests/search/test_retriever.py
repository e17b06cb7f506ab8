"""The reference retriever on small snapshots."""

import numpy as np
import pytest

from slowwave.errors import EmbeddingError
from slowwave.search.retriever import Retriever
from slowwave.search.rows import searched_rows
from tests.snapshots import TAKEN_AT, make_snapshot, uid


def embed(texts):
    """Two axes: tea and cars."""
    raw = np.array([["tea" in t.lower(), "car" in t.lower()] for t in texts], np.float32)
    return raw / np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1)


def memory(name: str, content: str, **columns: object) -> tuple[dict, dict]:
    row = {"id": uid(name), "kind": "semantic", "current_version_id": uid(f"{name} v2"), **columns}
    return row, {"id": uid(f"{name} v2"), "memory_id": uid(name), "content": content, "ordinal": 2}


def test_live_active_entities_chunks_and_memories_are_searched():
    """Aliases and current versions are text; old versions, retired, ended and archived rows are not."""
    tea, tea_version = memory("tea", "Green tea at noon")
    old, old_version = memory("old", "Archived text", state="archived")
    snapshot = make_snapshot(
        entities=[
            {"id": uid("anna"), "name": "Anna", "description": "a nurse", "entity_type": "PERSON"},
            {"id": uid("gone"), "name": "Gone", "entity_type": "PERSON", "invalidated_at": TAKEN_AT},
            {"id": uid("ended"), "name": "Ended", "entity_type": "PERSON", "valid_to": TAKEN_AT},
        ],
        entity_aliases=[{"entity_id": uid("anna"), "alias": "Dr Reyes"}],
        chunks=[{"id": uid("chunk"), "content": "A chunk"}],
        memories=[tea, old],
        memory_versions=[tea_version, old_version, {"memory_id": uid("tea"), "content": "first words"}],
    )
    rows = searched_rows(snapshot)
    assert dict(zip(rows.ids.to_pylist(), rows.texts.to_pylist(), strict=True)) == {
        uid("anna"): "Anna a nurse Dr Reyes",
        uid("chunk"): "A chunk",
        uid("tea"): "Green tea at noon",
    }
    assert rows.ids.to_pylist() == sorted(rows.ids.to_pylist())


def test_an_empty_namespace_finds_nothing():
    assert Retriever(make_snapshot(), embed).search(["tea", ""]) == [[], []]


def test_words_alone_rank_when_there_is_no_embedder():
    snapshot = make_snapshot(
        chunks=[{"id": uid(n), "content": c} for n, c in enumerate(["tea", "tea and cake", "cars"])]
    )
    assert Retriever(snapshot).search(["tea", "nothing", "cars"]) == [[uid(0), uid(1)], [], [uid(2)]]


def test_vectors_and_words_are_fused_over_all_tables():
    """The chunk says "tea", the entity only means it; the retired entity's vector is never found."""
    snapshot = make_snapshot(
        entities=[
            {"id": uid("sencha"), "name": "Sencha", "entity_type": "DRINK"},
            {"id": uid("gone"), "name": "Matcha", "entity_type": "DRINK", "invalidated_at": TAKEN_AT},
        ],
        chunks=[{"id": uid("said"), "content": "I like tea"}, {"id": uid("car"), "content": "A fast car"}],
        vectors={
            "entity_vectors": {uid("sencha"): (2.0, 0.2), uid("gone"): (1, 0)},
            "chunk_vectors": {uid("said"): (1, 0), uid("car"): (-0.1, 1)},
        },
    )
    retriever = Retriever(snapshot, embed)
    assert retriever.search(["tea"]) == [[uid("said"), uid("sencha")]]
    assert retriever.search(["zzz"]) == [[]]


def test_given_query_vectors_are_used_as_they_are():
    snapshot = make_snapshot(
        chunks=[{"id": uid("a"), "content": "x"}, {"id": uid("b"), "content": "y"}],
        vectors={"chunk_vectors": {uid("a"): (1, 0), uid("b"): (0, 1)}},
    )
    assert Retriever(snapshot).search(["?"], np.array([[0.1, 0.9]], np.float32), 1) == [[uid("b")]]


def test_vectors_of_another_model_are_refused_with_a_sentence():
    snapshot = make_snapshot(chunks=[{"id": uid("a"), "content": "x"}], vectors={"chunk_vectors": {uid("a"): (1, 0)}})
    with pytest.raises(EmbeddingError, match="3 numbers and the namespace's rows of 2"):
        Retriever(snapshot).search(["x"], np.ones((1, 3), np.float32))


def test_equals_rank_by_id_among_hundreds_of_equal_rows():
    snapshot = make_snapshot(chunks=[{"id": uid(n), "content": "the same words"} for n in range(700)])
    assert Retriever(snapshot).search(["same"], k=200) == [sorted(uid(n) for n in range(700))[:200]]


def test_a_retriever_built_on_another_finds_what_one_built_anew_finds():
    """Rows that go, come and change their text between two snapshots."""
    rng = np.random.default_rng(4)
    words = np.array([f"w{n}" for n in range(60)])
    rows = [{"id": uid(n), "content": " ".join(rng.choice(words, 8))} for n in range(400)]
    before = make_snapshot(chunks=rows)
    changed = [{**row, "content": row["content"] + " novelty"} for row in rows[50:80]]
    after = make_snapshot(chunks=[*rows[100:], *changed, {"id": uid("new"), "content": "novelty w1"}])
    base = Retriever(before)
    queries = ["w1 w2 w3", "novelty", "w59 w7"]
    shared, anew = Retriever(after, base=base), Retriever(after)
    assert shared.search(queries) == anew.search(queries)
    assert shared.search(queries) != base.search(queries)
    assert not shared.finds_the_same_as(base)
    assert Retriever(before, base=base).finds_the_same_as(base)


def test_a_changed_vector_is_a_different_retriever():
    rows = [{"id": uid("a"), "content": "x"}]
    one, two = (make_snapshot(chunks=rows, vectors={"chunk_vectors": {uid("a"): v}}) for v in ((1, 0), (0, 1)))
    assert not Retriever(one).finds_the_same_as(Retriever(two))
    assert Retriever(one).finds_the_same_as(Retriever(one))


def test_all_queries_are_answered_when_they_do_not_fit_one_tile(monkeypatch: pytest.MonkeyPatch):
    rows = [{"id": uid(n), "content": f"word{n}"} for n in range(50)]
    vectors = {"chunk_vectors": {uid(n): np.eye(50)[n].tolist() for n in range(50)}}
    retriever = Retriever(make_snapshot(chunks=rows, vectors=vectors), lambda q: np.eye(50, dtype=np.float32)[: len(q)])
    whole = retriever.search([f"word{n}" for n in range(50)])
    monkeypatch.setattr("slowwave.search.retriever._TILE", 120)
    assert retriever.search([f"word{n}" for n in range(50)]) == whole == [[uid(n)] for n in range(50)]


def test_a_retriever_of_some_tables_finds_their_rows_alone():
    """With the counts of one that has read all, as an agent without passages would."""
    tea, version = memory("tea", "tea at noon")
    snapshot = make_snapshot(
        chunks=[{"id": uid("chunk"), "content": "tea at noon"}],
        memories=[tea],
        memory_versions=[version],
        vectors={"chunk_vectors": {uid("chunk"): (1, 0)}, "memory_vectors": {uid("tea"): (1, 0)}},
    )
    whole = Retriever(snapshot, embed)
    alone = Retriever(snapshot, embed, base=whole, tables=("memories",))
    assert [sorted(hits) for hits in whole.search(["tea"])] == [sorted([uid("tea"), uid("chunk")])]
    assert alone.search(["tea"]) == [[uid("tea")]]
    assert alone.search(["tea"]) == Retriever(snapshot, embed, tables=("memories",)).search(["tea"])


def test_a_memory_and_the_passage_that_it_cites_are_one_thing():
    """Whichever ranks best tells it, and k things are found; a summary is one thing with the passages that it tells alone."""
    rows = [
        memory("fact", "Tea in the tin", source_chunk_ids=[uid("long")]),
        memory("other fact", "Tea is dear, and cars are dear", source_chunk_ids=[uid("long")]),
        memory("whole", "Cars and a boat", source_document_ids=[uid("page")]),
        memory("summary", "Boats, nets and 3 oars", kind="summary", source_chunk_ids=[uid("nets"), uid("oars")]),
    ]
    snapshot = make_snapshot(
        documents=[{"id": uid("page"), "title": "Page of 2026-04-01"}, {"id": uid("talk")}],
        chunks=[
            {"id": uid("long"), "document_id": uid("talk"), "content": "tea in a tin on a shelf of a house of Mara"},
            {"id": uid("cars"), "document_id": uid("page"), "content": "cars and a boat"},
            {"id": uid("dear"), "document_id": uid("page"), "content": "nothing is as dear as this"},
            {"id": uid("nets"), "document_id": uid("talk"), "content": "boats nets"},
            {"id": uid("oars"), "document_id": uid("talk"), "content": "boats with 4 oars"},
        ],
        memories=[row for row, _ in rows],
        memory_versions=[version for _, version in rows],
    )
    retriever = Retriever(snapshot)
    tea, dear, cars, oars = (
        [set(thing) for thing in found]
        for found in retriever.things(["tea tin", "dear", "cars boat", "boats nets oars"])
    )
    assert tea == [{uid("fact"), uid("long")}, {uid("other fact")}]
    assert dear == [{uid("dear")}, {uid("other fact")}] or dear == [{uid("other fact")}, {uid("dear")}]
    assert {uid("whole"), uid("cars")} in cars
    assert {uid("summary"), uid("nets")} in oars
    assert {uid("oars")} in oars
    assert len(retriever.search(["tea tin"], k=2)[0]) == 2


def test_words_lead_by_things_and_not_by_wordings():
    """A passage and its memory say both words. As two things they would speak for words, and what says one of them would be ahead of what
    means them.
    """
    row, version = memory("fact", "tea tin", source_chunk_ids=[uid("both")])
    said = {
        "both": ("tea tin", (1, 0)),
        "says": ("a tin on the shelf", (0, 1)),
        "means": ("cups of sencha", (0.25, 0.97)),
    }
    parts = {
        "settings": {"embedding_model": "all-minilm-l6-v2-int8"},
        "chunks": [{"id": uid(name), "content": text} for name, (text, _) in said.items()],
        "memory_versions": [version],
        "vectors": {
            "chunk_vectors": {uid(name): vector for name, (_, vector) in said.items()},
            "memory_vectors": {uid("fact"): (1, 0)},
        },
    }
    query = np.array([[1, 0]], np.float32)
    linked, alone = (
        Retriever(make_snapshot(memories=[m], **parts)).search(["tea tin"], query)[0]
        for m in (row, {**row, "source_chunk_ids": []})
    )
    assert linked.index(uid("means")) < linked.index(uid("says"))
    assert alone.index(uid("says")) < alone.index(uid("means"))


def test_rows_that_cite_something_else_are_found_otherwise():
    row, version = memory("fact", "Tea", source_chunk_ids=[uid("long")])
    parts = {"chunks": [{"id": uid("long"), "content": "tea"}], "memory_versions": [version]}
    cites, alone = (Retriever(make_snapshot(memories=[m], **parts)) for m in (row, {**row, "source_chunk_ids": []}))
    assert (len(cites.search(["tea"])[0]), len(alone.search(["tea"])[0])) == (1, 2)
    assert not cites.finds_the_same_as(alone)
