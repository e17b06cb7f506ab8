"""Searches of a namespace in the real store, from the request to the logged recall."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from slowwave.changes.merges import Alike, merge_memories
from slowwave.errors import EmbeddingError
from slowwave.models.embedder import Embedder
from slowwave.night.executor import apply_approval
from slowwave.night.undo import undo_run
from slowwave.operations import permits
from slowwave.plans.items import Item
from slowwave.plans.ledger import write_plan
from slowwave.plans.seal import Header, seal
from slowwave.search.candidates import Domain, leading_mean, matches
from slowwave.search.recall_events import logged
from slowwave.search.request import SearchRequest, SearchResponse, SearchScope
from slowwave.search.search import search
from slowwave.snapshots.export import export_snapshot, memory_digest
from slowwave.store import doctor
from slowwave.store.claims import open_plan_run
from slowwave.store.connect import Store
from tests.memories import MODEL, ago, ask, remember, unit
from tests.permitting import approve
from tests.snapshots import uid

TODAY = date(2026, 4, 15)
TEA = "The tea ceremony of the harbour house is held at noon, and everybody who comes brings a cup of his own to it."


class Axes:
    """Two meanings: tea and cars."""

    model, dimensions = MODEL, 512

    def embed(self, texts: Any) -> np.ndarray:
        return np.array([unit("tea" in t, "car" in t, 0.1) for t in texts], np.float32)


class Broken(Axes):
    """A model that is not there."""

    def embed(self, texts: Any) -> np.ndarray:
        raise EmbeddingError("The server is away.")


def file(
    name: str, path: str, text: str, plane: str = "durable", **metadata: object
) -> dict[str, list[dict[str, Any]]]:
    return {
        "documents": [{"id": f"{name} d", "corpus_id": "corpus", "path": path, "plane": plane, "metadata": metadata, "content": text}],
        "chunks": [{"id": name, "document_id": f"{name} d", "content": text, "start_line": 1, "end_line": 2}],
        "chunk_vectors": [{"id": name, "vector": unit("tea" in text, "car" in text, 0.1)}],
    }  # fmt: skip


def corpus(store: Store, *files: dict[str, list[dict[str, Any]]], **tables: Any) -> None:
    joined = {k: [row for one in files for row in one[k]] for k in ("documents", "chunks", "chunk_vectors")}
    remember(store, "acme", corpora=[{"id": "corpus", "root": "/nowhere", "profile": "dory"}], **joined, **tables)


def ids(store: Store, query: str, embedder: Embedder | None = None, **fields: object) -> list[str]:
    return [r.id for r in asked(store, query, embedder, **fields).results]


def asked(store: Store, query: str, embedder: Embedder | None = None, **fields: object) -> SearchResponse:
    request = SearchRequest.model_validate({"query": query, **fields})
    return search(store, "acme", request, embedder=embedder or Axes(), today=TODAY)


@pytest.mark.parametrize("mode", ["bm25", "vector", "hybrid", "exact"])
def test_dory_scores_are_from_0_to_1_in_every_mode(store: Store, mode: str):
    """And memories, entities and passages are found alike."""
    corpus(
        store,
        file("page", "people/anna.md", "Anna drinks tea"),
        memories=[{"id": "m", "kind": "semantic", "current_version_id": "v"}],
        memory_versions=[{"id": "v", "memory_id": "m", "content": "tea at noon"}],
        memory_vectors=[{"id": "m", "vector": unit(1, 0)}],
        entities=[{"id": "e", "name": "Tea house", "entity_type": "PLACE"}],
        entity_vectors=[{"id": "e", "vector": unit(1, 0, 0.2)}],
    )
    response = asked(store, "tea", mode=mode)
    assert {r.id for r in response.results} == {uid("page"), uid("m"), uid("e")}
    assert all(0 < r.score <= 1 for r in response.results)
    assert {r.kind for r in response.results} == {"chunks", "memories", "entities"}
    assert next(r.lines for r in response.results if r.id == uid("page")) == "1-2"


def test_meaning_and_words_are_fused(store: Store):
    corpus(
        store,
        file("said", "a.md", "I like tea"),
        file("car", "b.md", "A fast car"),
        file("meant", "c.md", "matcha tea"),
    )
    assert ids(store, "matcha", mode="bm25") == [uid("meant")]
    assert ids(store, "tea matcha")[:2] == [uid("meant"), uid("said")]


def turns(*said: str) -> dict[str, Any]:
    """A conversation as it is imported: each turn is a passage and a memory. A turn that says tea or car has a vector that means it."""
    place = list(enumerate(said))
    return {
        "documents": [{"id": "talk", "title": "Conversation of Mara"}],
        "chunks": [{"id": f"turn {n}", "document_id": "talk", "ordinal": n, "content": text} for n, text in place],
        "chunk_vectors": [{"id": f"turn {n}", "vector": unit("tea" in t, "car" in t, 0.1)} for n, t in place],
        "memories": [{"id": f"m {n}", "kind": "episodic", "current_version_id": f"v {n}"} for n, _ in place],
        "memory_versions": [{"id": f"v {n}", "memory_id": f"m {n}", "content": text} for n, text in place],
    }


def test_an_answer_is_found_by_the_question_before_it(store: Store):
    """It shares no word and no meaning with what is asked, and follows what does; what follows another turn means as little."""
    remember(store, "acme", **turns("Which tea do you like?", "Sencha.", "Fine."))
    scores = {r.id: r.score for r in asked(store, "tea").results}
    assert scores[uid("turn 0")] > scores[uid("turn 1")] > scores[uid("turn 2")] + 0.05
    assert uid("turn 1") not in ids(store, "tea", mode="bm25")


def test_search_by_meaning_of_a_message_includes_the_message_before_it(store: Store):
    """Passages of pages are compared alone."""
    rows = turns("Which tea do you like?", "Sencha.", "Fine.")
    rows["chunks"] = [chunk | {"external_id": chunk["id"]} for chunk in rows["chunks"]]
    rows["chunks"] += [
        {"id": f"page {n}", "document_id": "page", "ordinal": n, "content": f"Part {n}."} for n in (0, 1)
    ]
    rows["chunk_vectors"] += [{"id": f"page {n}", "vector": unit(n == 0, 0, 0.1)} for n in (0, 1)]
    rows["documents"].append({"id": "page", "title": "Page"})
    remember(store, "acme", **rows)
    scores = {r.id: r.score for r in asked(store, "tea", mode="vector").results}
    assert scores[uid("turn 1")] > scores[uid("turn 2")] + 0.1
    assert scores[uid("page 1")] == pytest.approx(scores[uid("turn 2")], abs=0.05)


def test_row_behind_sixty_by_words_and_sixty_by_meaning_is_found_by_both(store: Store):
    """Turns take two places each among the candidates of a list."""
    texts = {f"word {n}": f"harbour gate {n}" for n in range(60)} | {f"near {n}": f"cup {n}" for n in range(60)}
    texts["both"] = "The harbour and the old gate in the wall of the house"
    vectors = {name: unit(name.startswith("near"), name.startswith("word"), 0.1) for name in texts}
    remember(
        store,
        "acme",
        documents=[{"id": "d"}],
        chunks=[
            {"id": n, "document_id": "d", "ordinal": 2 * at, "content": t} for at, (n, t) in enumerate(texts.items())
        ],
        chunk_vectors=[{"id": n, "vector": unit(1, 0.2) if n == "both" else v} for n, v in vectors.items()],
    )
    assert ids(store, "tea harbour gate")[0] == uid("both")


@pytest.mark.parametrize("seed", range(5))
def test_candidates_of_both_include_the_best_of_each_half(store: Store, seed: int):
    """Thirty texts of random words and vectors, of which the two halves find different ones first; ten are asked for."""
    rng = np.random.default_rng(seed)
    texts = {f"c{n}": " ".join(f"w{w}" for w in rng.integers(0, 12, rng.integers(2, 9))) for n in range(30)}
    remember(
        store,
        "acme",
        documents=[{"id": "d"}],
        chunks=[{"id": n, "document_id": "d", "ordinal": 2 * at, "content": t} for at, (n, t) in enumerate(texts.items())],
        chunk_vectors=[{"id": n, "vector": unit(*rng.normal(size=3))} for n in texts],
    )  # fmt: skip
    domain = Domain(uid("acme"), ("durable",), SearchScope())
    with store.connect("reader") as connection:
        halves = [matches(connection, domain, "w1 w2 w3 tea", mode, Axes, 10).scores for mode in ("bm25", "vector")]
        both = matches(connection, domain, "w1 w2 w3 tea", "hybrid", Axes, 10).scores
    assert {len(half) for half in halves} == {10}
    assert halves[0].keys() != halves[1].keys()
    assert halves[0].keys() | halves[1].keys() <= both.keys()


def test_memories_take_no_place_of_passages_that_others_follow(store: Store):
    """Thirty memories match better than the question, which is found all the same with what follows it."""
    rows = turns("Which tea do you like?", "Sencha.", "Fine.")
    rows["memories"] = [{"id": f"n {n}", "kind": "semantic", "current_version_id": f"w {n}"} for n in range(30)]
    rows["memory_versions"] = [{"id": f"w {n}", "memory_id": f"n {n}", "content": f"tea {n}"} for n in range(30)]
    remember(store, "acme", **rows, memory_vectors=[{"id": f"n {n}", "vector": unit(1, 0)} for n in range(30)])
    scores = {r.id: r.score for r in asked(store, "tea", k=40).results}
    assert scores[uid("turn 1")] > scores[uid("turn 2")] + 0.05


def test_words_lead_by_three_things_and_not_by_three_wordings(store: Store):
    remember(store, "acme", **made_of(LONG, "The tea is in the tin.", "Mara has a boat."))
    said = {uid("passage"): 0.9, uid("m 0"): 0.8, uid("m 1"): 0.7, uid("one"): 0.6, uid("two"): 0.3, uid("three"): 0.2}
    with store.connect("reader") as connection:
        assert leading_mean(connection, said) == pytest.approx((0.9 + 0.6 + 0.3) / 3)
        assert leading_mean(connection, {uid("one"): 0.6}) == pytest.approx(0.2)


def test_a_turn_is_shown_once(store: Store):
    """It is a memory and a passage of the same words; two turns that say the same are two."""
    remember(store, "acme", **turns("I like tea.", "I like tea."))
    assert len(ids(store, "like tea", mode="bm25")) == 2
    assert len(ids(store, "like tea")) == 2


LONG = "Mara came late today and spoke of the harbour, of the weather and of her boat. The tea is kept in the tin. Then she left for home."


def made_of(passage: str, *facts: str, kind: str = "semantic", **cites: object) -> dict[str, Any]:
    """A passage and memories that cite it, unless ``cites`` says what else they cite."""
    told = list(enumerate(facts))
    links = cites or {"source_chunk_ids": ["passage"]}
    return {
        "documents": [{"id": "talk"}],
        "chunks": [{"id": "passage", "document_id": "talk", "content": passage}],
        "memories": [{"id": f"m {n}", "kind": kind, "current_version_id": f"v {n}", **links} for n, _ in told],
        "memory_versions": [{"id": f"v {n}", "memory_id": f"m {n}", "content": text} for n, text in told],
    }


@pytest.mark.parametrize("mode", ["bm25", "hybrid", "exact"])
def test_a_memory_and_the_passage_that_it_was_made_of_are_one_thing(store: Store, mode: str):
    """The shorter one tells it, and the other is named beside it. Both facts of a passage are told; the log names what told nothing too."""
    remember(store, "acme", **made_of(LONG, "The tea is in the tin.", "Mara has a boat, and no tea."))
    found = asked(store, "tea", mode=mode).results
    assert [r.id for r in found if r.kind == "chunks"] == []
    assert {r.id for r in found} == {uid("m 0"), uid("m 1")}
    assert [o.id for r in found for o in r.also_in] == [uid("passage")]
    (said, *_) = asked(store, "weather tea", mode="bm25").results
    assert (said.id, {o.id for o in said.also_in}) == (uid("passage"), {uid("m 0"), uid("m 1")})
    logged()
    ((hits, scores),) = ask(
        store, "SELECT hit_ids::text[], scores FROM memory.recall_events WHERE query = 'weather tea'"
    )
    assert (hits[0], set(hits[1:]), scores) == (uid("passage"), {uid("m 0"), uid("m 1")}, [said.score] * 3)  # type: ignore[index]


@pytest.mark.parametrize("mode", ["bm25", "vector", "hybrid"])
def test_merged_memories_are_one_result_until_the_merge_is_undone(store: Store, mode: str):
    """The survivor cites the passages of both, and each passage is a wording of it."""
    texts = {"one": "All the tea is bought by Nadia Brandt.", "two": "Nadia Brandt buys all the tea."}
    chunks = [{"id": n, "document_id": f"d {n}", "content": text} for n, text in texts.items()]
    memories = [
        {"id": f"m {n}", "kind": "semantic", "current_version_id": f"v {n}", "source_chunk_ids": [n]} for n in texts
    ]
    remember(
        store,
        "acme",
        documents=[{"id": f"d {n}"} for n in texts],
        chunks=chunks,
        chunk_vectors=[{"id": n, "vector": unit(1, 0, 0.1)} for n in texts],
        memories=memories,
        memory_versions=[{"id": f"v {n}", "memory_id": f"m {n}", "content": text} for n, text in texts.items()],
        memory_vectors=[{"id": f"m {n}", "vector": unit(1, 0, 0.1)} for n in texts],
    )
    before = asked(store, "Who buys the tea?", Axes(), mode=mode).results
    assert len(before) == 2
    snapshot = export_snapshot(store, "acme")
    (merge,) = merge_memories(snapshot, [Alike(uid("m one"), (uid("m two"),))])
    with store.connect("planner") as connection:
        run = open_plan_run(connection, "acme")
    item = Item("dedupe_memories", "merge", merge, {}, "low", probability=1.0)
    plan = seal(Header(snapshot.namespace_id, "acme", snapshot.snapshot_id, "f"), [item], permits())
    write_plan(store, plan, run_id=run, expiry_days=7, probes={}, summary={})
    signed = approve(store, "acme", plan.plan_hash, approver="mara", force=True, note="as seen")
    applied = apply_approval(store, signed.id).run_id
    (found,) = asked(store, "Who buys the tea?", Axes(), mode=mode).results
    assert {found.id, *(o.id for o in found.also_in)} == {uid("m one"), uid("one"), uid("two")}
    undo_run(store, applied, namespace="acme")
    assert [r.id for r in asked(store, "Who buys the tea?", Axes(), mode=mode).results] == [r.id for r in before]


def test_search_changes_no_digest(store: Store, monkeypatch: pytest.MonkeyPatch):
    """The log of recalls is no memory; a namespace without a recall has the digest of earlier versions, which hashed the log."""
    remember(store, "acme", **made_of(LONG, "The tea is in the tin."))
    before = memory_digest(store, "acme")
    with monkeypatch.context() as earlier:
        earlier.setattr(doctor, "NO_MEMORY", frozenset[str]())
        assert memory_digest(store, "acme") == before
    assert asked(store, "tea").results
    logged()
    assert ask(store, "SELECT count(*) FROM memory.recall_events") == [(1,)]
    assert memory_digest(store, "acme") == before


@pytest.mark.parametrize(
    ("summary", "count"),
    [
        ("The tea is in the tin and the cups are on the shelf.", 1),
        ("The tea is in the tin, and Rosa Klein came on 3 May.", 2),
    ],
)
def test_a_summary_stands_for_the_passages_that_it_tells(store: Store, summary: str, count: int):
    """The passage says that the cups stand on the shelf; a summary that leaves it out is another thing."""
    remember(store, "acme", **made_of("Tea cups are on the shelf.", summary, kind="summary"))
    found = asked(store, "tea", mode="bm25").results
    assert (len(found), sum(len(r.also_in) for r in found)) == (count, 2 - count)


def test_a_memory_of_a_document_is_one_thing_with_the_passage_that_tells_it(store: Store):
    rows = made_of(LONG, "The tea is kept in the tin.", source_document_ids=["talk"])
    rows["chunks"].append({"id": "other", "document_id": "talk", "ordinal": 1, "content": "Tea is dear in Lisbon."})
    remember(store, "acme", **rows)
    found = {r.id: [o.id for o in r.also_in] for r in asked(store, "tea", mode="bm25").results}
    assert found == {uid("m 0"): [uid("passage")], uid("other"): []}


def test_a_list_is_full_however_often_one_thing_is_told(store: Store):
    """Sixty facts of one passage match better than anything else; three results are three things."""
    rows = made_of("tea tea tea", *(f"tea and tea {n}" for n in range(60)))
    rows["chunks"] += [
        {"id": f"other {n}", "document_id": "talk", "ordinal": n, "content": f"{LONG} {n}"} for n in (1, 2)
    ]
    remember(store, "acme", **rows)
    first, second = asked(store, "tea", mode="bm25", k=2).results
    assert (first.id, len(first.also_in), second.kind) == (uid("passage"), 60, "chunks")


@pytest.mark.parametrize("gone", [{"status": "superseded"}, {"status": "retired"}, {"superseded_by": "b.md"}])
def test_dory_forget_hides_the_original_from_every_mode(store: Store, gone: dict[str, str]):
    """Whatever is superseded or retired comes back only when it is asked for; with a scope as well."""
    corpus(store, file("old", "people/anna.md", TEA, **gone), file("stone", "people/anna.tombstone.md", TEA + " gone"))
    for mode in ("bm25", "vector", "hybrid", "exact"):
        assert ids(store, "tea ceremony", mode=mode) == []
        assert ids(store, "tea ceremony", mode=mode, scope={"path_glob": "people/*"}) == []
    assert uid("old") in ids(store, "tea ceremony", include_retired=True)


def test_quarantined_memories_never_come_back_unasked(store: Store):
    remember(
        store,
        "acme",
        memories=[{"id": "m", "kind": "semantic", "current_version_id": "v", "state": "quarantined"}],
        memory_versions=[{"id": "v", "memory_id": "m", "content": "planted tea"}],
    )
    assert ids(store, "planted tea", mode="bm25") == []
    assert ids(store, "planted tea", mode="exact") == []


def test_dory_durable_hybrid_never_falls_back_to_sessions(store: Store):
    corpus(store, file("session", "logs/sessions/a.md", TEA, "sessions", agent="claude"))
    assert ids(store, "tea ceremony") == []
    assert ids(store, "tea ceremony", corpus="sessions") == [uid("session")]
    (result,) = asked(store, "tea ceremony", mode="recall").results
    assert (result.evidence_class, result.confidence) == ("session", "low")


def test_dory_all_corpus_suppresses_live_sessions_unless_they_are_asked_for(store: Store):
    corpus(
        store,
        file("live", "logs/sessions/a.md", "tea at the pier", "sessions", status="active"),
        file("done", "logs/sessions/b.md", "tea on the roof", "sessions", status="done"),
        file("page", "people/anna.md", "tea in the hall"),
    )
    assert ids(store, "tea", corpus="all") == [uid("page"), uid("done")]
    assert set(ids(store, "tea in which session", corpus="all")) == {uid("live"), uid("done"), uid("page")}


def test_dory_recall_puts_the_recent_before_the_old(store: Store):
    """In sessions as alike as can be, by a decay that is worth something."""
    corpus(
        store,
        file("old", "logs/sessions/a.md", "tea one", "sessions", date="2024-04-14"),
        file("new", "logs/sessions/b.md", "tea two", "sessions", date="2026-04-14"),
    )
    response = asked(store, "tea", mode="recall", debug=True)
    assert [r.id for r in response.results] == [uid("new"), uid("old")]
    assert response.results[0].score - response.results[1].score > 0.1


def test_dory_copies_collapse_behind_the_canonical_page(store: Store):
    corpus(
        store,
        file("wiki", "wiki/tea.md", TEA, source_kind="generated"),
        file("inbox", "inbox/tea.md", TEA + " Again.", status="raw"),
        file("page", "concepts/tea.md", TEA, canonical=True, source_kind="canonical"),
    )
    response = asked(store, "tea ceremony")
    assert [(r.id, r.evidence_class) for r in response.results] == [(uid("page"), "canonical")]


def test_a_file_is_one_row_and_a_conversation_is_as_many_as_it_has_turns(store: Store):
    corpus(
        store,
        {
            **file("a", "notes.md", "tea one"),
            "chunks": [
                {"id": n, "document_id": "a d", "content": f"tea {n}", "start_line": 1, "end_line": 2} for n in "ab"
            ],
        },
    )
    remember(
        store,
        "acme",
        documents=[{"id": "talk"}],
        chunks=[{"id": f"turn{n}", "document_id": "talk", "content": f"tea turn {n}"} for n in range(3)],
    )
    found = ids(store, "tea", mode="bm25")
    assert len(found) == 4
    assert len({uid("a"), uid("b")} & set(found)) == 1


def test_a_day_that_the_query_names_comes_first(store: Store):
    corpus(
        store,
        file("then", "logs/daily/2026-04-14.md", "tea was poured twice, and somebody sang", date="2026-04-14"),
        file("other", "logs/daily/2026-01-01.md", "tea was poured", date="2026-01-01"),
    )
    assert ids(store, "tea poured yesterday", mode="bm25")[0] == uid("then")


def test_a_day_that_the_query_names_is_found_behind_much_that_matches_better(store: Store):
    """Of other days there is more than a list of candidates holds."""
    then = datetime(2026, 2, 4, 12, tzinfo=UTC)
    days = {f"other {n}": then + timedelta(days=n % 28 + 1) for n in range(60)} | {"then": then}
    texts = {name: "tea was poured and drunk" if name != "then" else f"tea {'and so on ' * 9}" for name in days}
    remember(
        store,
        "acme",
        memories=[
            {"id": n, "kind": "semantic", "current_version_id": f"v {n}", "valid_from": day} for n, day in days.items()
        ],
        memory_versions=[{"id": f"v {n}", "memory_id": n, "content": f"{text} {n}"} for n, text in texts.items()],
    )
    assert ids(store, "what was poured and drunk with tea on February 4th, 2026", mode="bm25")[0] == uid("then")


@pytest.mark.parametrize("first", ["one", "two"])
def test_of_two_that_match_alike_the_prior_decides(store: Store, first: str):
    """The page that the corpus calls its own word, whichever it is."""
    corpus(
        store,
        *(
            file(name, f"wiki/{name}.md", f"tea is drunk {name}", date="2026-04-14", canonical=name == first)
            for name in ("one", "two")
        ),
    )
    assert ids(store, "tea is drunk", mode="bm25")[0] == uid(first)


def test_what_stood_then_is_searched_as_of_then(store: Store):
    remember(
        store,
        "acme",
        documents=[{"id": "d"}],
        chunks=[{"id": "old", "document_id": "d", "content": "tea", "recorded_at": ago(9), "invalidated_at": ago(3)}],
    )
    assert ids(store, "tea", mode="bm25", as_of=ago(5)) == [uid("old")]
    assert ids(store, "tea", mode="bm25") == []


def test_result_of_a_page_with_marks_of_programs_shows_its_words_alone(store: Store):
    """D23: neither comments nor references to claims are part of a snippet."""
    text = "<!-- slowwave:begin hash=5cc8 -->\nTea is at noon. [9c28caec](claim:9c28caec)\n<!-- slowwave:end -->"
    corpus(store, file("tea", "tea.md", text))
    (found,) = asked(store, "when is tea", mode="bm25").results
    assert found.snippet == "Tea is at noon."


def test_bare_entity_is_no_answer_to_a_question(store: Store):
    """D10: unless its name alone or its type is asked for, nothing else is found, or something is known of it."""
    told = {
        "memories": [{"id": "m", "kind": "semantic", "current_version_id": "v"}],
        "memory_versions": [{"id": "v", "memory_id": "m", "content": "We all like how Percival sings in the choir."}],
    }
    entities = [
        {"id": "bare", "name": "Percival", "entity_type": "PERSON"},
        {"id": "known", "name": "Choir", "entity_type": "CONCEPT", "description": "sings on Mondays"},
        {"id": "other", "name": "Ottoline", "entity_type": "PERSON"},
    ]
    remember(store, "acme", **told, entities=entities)
    assert ids(store, "percival choir", mode="bm25") == [uid("m"), uid("known")]
    assert ids(store, "What does Percival do?", mode="bm25") == [uid("m")]
    assert ids(store, "percival", mode="bm25") == [uid("bare"), uid("m")]
    assert ids(store, "What does Percival do?", mode="bm25", scope={"type": ["PERSON"]}) == [uid("bare")]
    assert ids(store, "where is ottoline", mode="bm25") == [uid("other")]


@pytest.mark.parametrize("table", ["memories", "entities", "documents"])
def test_what_has_ended_in_the_world_is_not_found_unasked(store: Store, table: str):
    """``valid_to`` in the past is enough, as in a snapshot: nothing has to be retired. However many they are, what holds is found."""

    ends = {f"over{n}": ago(3) for n in range(60)} | {"holds": None, "ends later": ago(-3)}
    of = [{"id": name, "valid_from": ago(9), "recorded_at": ago(9), "valid_to": end} for name, end in ends.items()]
    match table:
        case "memories":
            rows = {
                "memories": [{**row, "kind": "semantic", "current_version_id": f"v {row['id']}"} for row in of],
                "memory_versions": [{"id": f"v {n}", "memory_id": n, "content": f"tea {n}"} for n in ends],
            }
        case "entities":
            rows = {"entities": [{**row, "name": f"tea {row['id']}", "entity_type": "CONCEPT"} for row in of]}
        case _:
            rows = {
                "documents": [{**row, "id": f"of {row['id']}"} for row in of],
                "chunks": [
                    {"id": n, "document_id": f"of {n}", "content": f"tea {n}", "recorded_at": ago(9)} for n in ends
                ],
            }
    remember(store, "acme", **rows)
    assert set(ids(store, "tea", mode="bm25")) == {uid("holds"), uid("ends later")}
    assert uid("over1") in ids(store, "tea over1", mode="bm25", as_of=ago(5))
    assert len(ids(store, "tea", mode="bm25", include_retired=True)) == 10


@pytest.mark.parametrize(("passage", "gone"), [("The tea is kept in the tin.", True), (LONG, False)])
def test_a_passage_that_says_no_more_than_an_ended_memory_is_retired_with_it(store: Store, passage: str, gone: bool):
    """As of an earlier day it stands; one that says more stands on."""
    rows = made_of(passage, "The tea is kept in the tin.")
    rows["memories"][0] |= {"recorded_at": ago(9), "valid_to": ago(3), "invalidated_at": ago(3)}
    rows["chunks"][0]["recorded_at"] = ago(9)
    remember(store, "acme", **rows)

    def told(**fields: object) -> bool:
        results = asked(store, "tea", mode="bm25", **fields).results
        return uid("passage") in {id_ for r in results for id_ in (r.id, *(other.id for other in r.also_in))}

    assert told() is not gone
    assert told(include_retired=True)
    assert told(as_of=ago(5))


@pytest.mark.parametrize(("passage", "gone"), [("The tea is kept in the tin.", True), (LONG, False)])
@pytest.mark.parametrize("mode", ["bm25", "exact"])
def test_a_passage_that_says_no_more_than_a_quarantined_memory_is_not_told(
    store: Store, passage: str, gone: bool, mode: str
):
    """Whatever day is asked about: what was set aside is no knowledge of then. One that says more stands on."""
    rows = made_of(passage, "The tea is kept in the tin.")
    rows["memories"][0] |= {"recorded_at": ago(9), "state": "quarantined"}
    rows["chunks"][0]["recorded_at"] = ago(9)
    remember(store, "acme", **rows)

    def told(**fields: object) -> bool:
        results = asked(store, "tea", mode=mode, **fields).results
        return uid("passage") in {id_ for r in results for id_ in (r.id, *(other.id for other in r.also_in))}

    assert told() is not gone
    assert told(as_of=ago(5)) is not gone
    assert told(include_retired=True)


@pytest.mark.parametrize(("passage", "gone"), [("The key of the tea tin is QX-91.", True), (LONG, False)])
@pytest.mark.parametrize("mode", ["bm25", "exact"])
def test_a_passage_that_says_no_more_than_what_was_redacted_is_not_told(
    store: Store, passage: str, gone: bool, mode: str
):
    """The memory is found without its secret, and the passage that it was made of does not tell it."""
    rows = made_of(passage, "The key of the tea tin is QX-91.")
    rows["memory_versions"].append(
        {
            "id": "new",
            "memory_id": "m 0",
            "ordinal": 2,
            "content": "The key of the tea tin is [redacted].",
            "reason": "redact",
        }
    )
    rows["memories"][0]["current_version_id"] = "new"
    remember(store, "acme", **rows)

    def told(**fields: object) -> set[str]:
        results = asked(store, "tea", mode=mode, **fields).results
        return {id_ for r in results for id_ in (r.id, *(other.id for other in r.also_in))}

    assert told() == ({uid("m 0")} if gone else {uid("m 0"), uid("passage")})
    assert uid("passage") in told(include_retired=True)


def reworded(passage: str, *texts: str, reason: str = "absolutize_dates") -> dict[str, Any]:
    """A passage, and a memory made from it that has had the texts; the last one is current."""
    rows = made_of(passage, texts[0])
    rows["memory_versions"] += [
        {"id": f"w {n}", "memory_id": "m 0", "ordinal": n + 1, "content": text, "reason": reason}
        for n, text in enumerate(texts)
        if n
    ]
    rows["memories"][0]["current_version_id"] = f"w {len(texts) - 1}"
    return rows


OLD, MARKED = "The payment provider is Stripe.", "The payment provider is Stripe (later: “We switched to Mollie”)."


@pytest.mark.parametrize("mode", ["bm25", "hybrid", "exact"])
@pytest.mark.parametrize("query", ["payment provider", "the payment provider is stripe"])
def test_a_memory_with_a_newer_text_is_shown_for_its_passage(store: Store, mode: str, query: str):
    """The passage matches better, as it is shorter: its memory has its score and place."""
    rows = reworded(OLD, OLD, MARKED)
    rows["documents"].append({"id": "other"})
    rows["chunks"].append({"id": "other", "document_id": "other", "content": "A provider of payment advice came by."})
    rows["chunk_vectors"] = [{"id": "passage", "vector": unit(1, 0, 0.1)}, {"id": "other", "vector": unit(1, 0, 0.3)}]
    rows["memory_vectors"] = [{"id": "m 0", "vector": unit(1, 0, 0.6)}]
    remember(store, "acme", **rows)
    (alone,) = asked(store, query, Axes(), mode=mode, k=1, corpus="durable", scope={"path_glob": "documents/*"}).results
    first = asked(store, query, Axes(), mode=mode).results[0]
    assert (alone.id, first.id, first.snippet) == (uid("passage"), uid("m 0"), MARKED)
    assert [o.id for o in first.also_in] == [uid("passage")]
    assert first.score >= alone.score


@pytest.mark.parametrize(
    ("passage", "texts", "shown"),
    [
        (OLD, (OLD, "We charge our customers with Mollie."), "m 0"),  # the new text does not match the query
        (
            "In fine weather came Stripe.",
            ("Stripe came.", "Stripe came (later: “He left on Monday”)."),
            "passage",
        ),  # states more
        (
            LONG + " " + OLD,
            (LONG + " " + OLD, "Stripe is used."),
            "passage",
        ),  # a summary leaves out what may be asked for
    ],
)
def test_a_passage_is_replaced_by_a_newer_text_of_what_it_states(
    store: Store, passage: str, texts: tuple[str, ...], shown: str
):
    remember(store, "acme", **reworded(passage, *texts))
    query = "stripe weather"
    (first, *_) = asked(store, query, mode="bm25").results
    assert first.id == uid(shown)
    assert asked(store, query, mode="bm25", scope={"path_glob": "documents/*"}).results[0].id == uid("passage")
    assert asked(store, query, mode="bm25", as_of=ago(-1)).results[0].id == uid(shown)


def test_a_passage_is_shown_for_a_text_that_an_import_corrected(store: Store):
    remember(store, "acme", **reworded(OLD, OLD, MARKED, reason="import"))
    assert asked(store, "payment provider", mode="bm25").results[0].id == uid("passage")


@pytest.mark.parametrize(("passage", "gone"), [("Thanks, that's great!", True), ("Thanks, the tea is great!", False)])
@pytest.mark.parametrize("mode", ["bm25", "exact"])
def test_small_talk_is_not_found_once_its_memory_is_archived(store: Store, passage: str, gone: bool, mode: str):
    """A passage of any other archived memory stays: it may be the only row that states it."""
    rows = made_of(passage, passage)
    rows["memories"][0] |= {"recorded_at": ago(9), "state": "archived"}
    rows["chunks"][0]["recorded_at"] = ago(9)
    remember(store, "acme", **rows)

    def told(**fields: object) -> bool:
        results = asked(store, "great", mode=mode, **fields).results
        return uid("passage") in {id_ for r in results for id_ in (r.id, *(other.id for other in r.also_in))}

    assert told() is not gone
    assert told(include_retired=True)
    assert told(as_of=ago(5))
    ask(store, "UPDATE memory.memories SET state = 'active'")
    assert told()


def test_a_model_that_fails_leaves_words_and_a_warning(store: Store):
    corpus(store, file("page", "a.md", "tea"))
    response = asked(store, "tea", Broken())
    assert [r.id for r in response.results] == [uid("page")]
    assert "The server is away." in response.warnings[0]
    with pytest.raises(EmbeddingError):
        asked(store, "tea", Broken(), mode="vector")


def test_vectors_of_another_model_are_never_compared(store: Store):
    """They lie in the same table under another name: words answer, and the answer says so."""
    corpus(store, file("page", "a.md", "tea"))
    other = Axes()
    other.model = "another"
    response = asked(store, "tea", other)
    assert [r.id for r in response.results] == [uid("page")]
    assert "another" in response.warnings[0]


def test_search_whose_conditions_no_row_meets_says_so(store: Store):
    """The reason is the scope, not the vectors; rows without a vector are still named (D27)."""
    corpus(store, file("page", "a.md", "tea", tags=["x"]))
    other = Axes()
    other.model = "another"
    assert "no row" not in str(asked(store, "tea", scope={"tags": ["#x"]}).warnings).lower()
    assert "meets the conditions" in asked(store, "tea", scope={"tags": ["y"]}).warnings[0]
    assert "vector" in asked(store, "car", other, scope={"tags": ["x"]}).warnings[0]


def test_a_search_is_a_recall_with_scores(store: Store):
    """Logged behind the answer; a share of 0 logs none, and no plan depends on the setting."""
    corpus(store, file("page", "a.md", "tea"))
    (result,) = asked(store, "tea").results
    logged()
    ((query, hits, scores),) = ask(store, "SELECT query, hit_ids::text[], scores FROM memory.recall_events")
    assert (query, hits, scores) == ("tea", [uid("page")], [pytest.approx(result.score, abs=1e-6)])
    ask(store, "UPDATE memory.namespaces SET settings = settings || '{\"recall_log_share\": 0}'")
    asked(store, "tea")
    logged()
    assert ask(store, "SELECT count(*) FROM memory.recall_events") == [(1,)]


def test_newer_of_two_statements_of_one_form_comes_first(store: Store):
    """The spare key has moved; the row that was stated first matches as well (fixes J11)."""
    said = {"old": "The spare tea key is with Ada since winter.", "new": "The spare tea key is with Otto since spring."}
    corpus(
        store,
        memories=[
            {"id": n, "kind": "semantic", "current_version_id": f"{n} v", "valid_from": ago(at), "recorded_at": ago(at)}
            for n, at in (("old", 90), ("new", 2))
        ],
        memory_versions=[{"id": f"{n} v", "memory_id": n, "content": text} for n, text in said.items()],
        memory_vectors=[{"id": n, "vector": unit(1, 0, 0.1)} for n in said],
    )
    for mode in ("bm25", "vector", "hybrid"):
        assert ids(store, "Where is the spare tea key?", mode=mode) == [uid("new"), uid("old")]
