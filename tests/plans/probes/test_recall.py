"""The recall probe: what harms recall is flagged, what changes nothing measures exactly nothing."""

from datetime import timedelta

import numpy as np
import pytest

from slowwave.changes.merges import Alike, merge_memories
from slowwave.changes.rows import Loss, filter_references, invalidate_rows, lose_conflict, set_columns
from slowwave.changes.simulate import simulate
from slowwave.plans.items import Item
from slowwave.plans.probes.recall import bootstrap, longest_sentence, recall_probe
from slowwave.store.settings import Settings
from tests.plans.probes.plans import entity, item, merged
from tests.snapshots import TAKEN_AT, make_snapshot, uid

SETTINGS = Settings()


def event(query: str, *selected: str, hits: tuple[str, ...] = (), days: int = 1) -> dict[str, object]:
    return {
        "id": uid(f"{query} {days}"),
        "query": query,
        "occurred_at": TAKEN_AT - timedelta(days=days),
        "selected_ids": [uid(s) for s in selected],
        "hit_ids": [uid(h) for h in hits],
    }


def gone(snapshot, table: str, *names: str):
    mutation = invalidate_rows(snapshot, table, {uid(n): None for n in names})
    return simulate(snapshot, [item(mutation, "prune", "invalidate")])


def people(*events, **columns):
    """Many rows, so that ten hits are not everything."""
    others = [entity(f"Other person {n}") for n in range(60)]
    chunks = [{"id": uid(f"chunk {n}"), "content": f"Talk number {n} about weather"} for n in range(30)]
    return make_snapshot(
        entities=[entity("Mara Reyes", **columns), entity("M. Reyes"), *others],
        chunks=[*chunks, {"id": uid("source"), "content": "Notes on a quiet Reyes afternoon"}],
        recall_events=events,
    )


def test_a_plan_that_changes_nothing_searched_measures_exactly_zero():
    """Cleaning dead references touches provenance, which no search reads."""
    before = people(event("who is mara", "Mara Reyes"), source_chunk_ids=[uid("dead"), uid("source")])
    items = [item(m, "gc_references", "clean") for m in filter_references(before, "entities", [uid("Mara Reyes")])]
    probe = recall_probe(before, simulate(before, items), SETTINGS, None)
    assert (len(items), probe.queries, probe.source) == (1, 1, "recall_events")
    assert (probe.recall_before, probe.recall_after) == (1.0, 1.0)
    assert (probe.delta, probe.low, probe.high, probe.mrr_delta, probe.mrr_low, probe.mrr_high) == (0.0,) * 6
    assert probe.passed


def test_a_true_merge_keeps_recall_because_the_survivor_stands_for_the_absorbed():
    """The agent once used the row that is absorbed; its name lives on as an alias of the survivor."""
    before = people(event("m. reyes", "M. Reyes"), event("mara", "Mara Reyes", days=2))
    after, _ = merged(before, {"Mara Reyes": ["M. Reyes"]})
    probe = recall_probe(before, after, SETTINGS, None)
    assert (probe.queries, probe.recall_before, probe.recall_after, probe.delta) == (2, 1.0, 1.0, 0.0)
    assert probe.passed


def test_a_harmful_plan_is_flagged():
    """Absorbing an entity whose description alone answered a query: the survivor's own description stays, the answer is gone."""
    before = make_snapshot(
        entities=[
            entity("Zed", description="keeper of the lighthouse ledger"),
            entity("Quill", description="writes poems"),
            *(entity(f"lighthouse ledger {n}") for n in range(20)),
        ],
        recall_events=[event("lighthouse ledger keeper", "Zed", days=d) for d in range(1, 9)],
    )
    after, _ = merged(before, {"Quill": ["Zed"]})
    probe = recall_probe(before, after, SETTINGS, None)
    assert (probe.recall_before, probe.recall_after, probe.delta) == (1.0, 0.0, -1.0)
    assert (probe.low, probe.high) == (-1.0, -1.0)
    assert probe.mrr_delta < 0
    assert not probe.passed
    assert "force" in probe.sentence()
    assert recall_probe(before, after, Settings(recall_floor=-1), None).passed


def test_two_hits_that_one_merge_joins_are_one_thing_to_be_found():
    """Otherwise a plan would gain by finding one row for two, or lose by finding one instead of two."""
    before = people(event("reyes", "Mara Reyes", "M. Reyes", "Other person 7"))
    after, _ = merged(before, {"Mara Reyes": ["M. Reyes"]})
    probe = recall_probe(before, after, SETTINGS, None)
    assert (probe.recall_before, probe.recall_after) == (0.5, 0.5)


def test_before_the_plan_the_survivor_counts_too():
    """The query finds the survivor, not the row that was used: absorbing that row is no gain."""
    before = make_snapshot(
        entities=[entity("Mara Reyes"), entity("Unrelated"), *(entity(f"Person {n}") for n in range(20))],
        recall_events=[event("mara reyes", "Unrelated")],
    )
    after, _ = merged(before, {"Mara Reyes": ["Unrelated"]})
    probe = recall_probe(before, after, SETTINGS, None)
    assert (probe.recall_before, probe.recall_after, probe.delta) == (1.0, 1.0, 0.0)


def test_an_old_merge_is_followed_through_its_chain():
    """The event is older than two merges of past nights."""
    rows = [
        entity("first", invalidated_at=TAKEN_AT, state="merged", merged_into=uid("second")),
        entity("second", invalidated_at=TAKEN_AT, state="merged", merged_into=uid("Mara Reyes")),
        entity("Mara Reyes"),
    ]
    before = make_snapshot(entities=rows, recall_events=[event("mara", "first")])
    probe = recall_probe(before, before, SETTINGS, None)
    assert (probe.queries, probe.recall_before, probe.delta) == (1, 1.0, 0.0)


def test_a_retired_hit_is_stood_for_by_the_chunks_it_cites():
    before = people(event("quiet reyes afternoon notes", "Mara Reyes"), source_chunk_ids=[uid("source"), uid("dead")])
    kept = recall_probe(before, gone(before, "entities", "Mara Reyes"), SETTINGS, None)
    assert (kept.recall_before, kept.recall_after) == (1.0, 1.0)
    uncited = people(event("quiet reyes afternoon notes", "Mara Reyes"))
    lost = recall_probe(uncited, gone(uncited, "entities", "Mara Reyes"), SETTINGS, None)
    assert (lost.recall_before, lost.recall_after, lost.passed) == (1.0, 0.0, False)


def test_hits_stand_in_where_an_agent_selected_nothing_and_the_newest_events_are_replayed(
    monkeypatch: pytest.MonkeyPatch,
):
    """The two oldest events find nothing, and are not asked when three queries are."""
    events = [
        event("mara" if days < 4 else "person 99 of the others", hits=("Mara Reyes", "Other person 3"), days=days)
        for days in range(5, 0, -1)
    ]
    before = people(*events)
    every = recall_probe(before, before, SETTINGS, None)
    assert (every.queries, every.recall_before) == (5, pytest.approx(0.6))
    monkeypatch.setattr("slowwave.plans.probes.recall._QUERIES", 3)
    newest = recall_probe(before, before, SETTINGS, None)
    assert (newest.queries, newest.recall_before) == (3, 1.0)


def test_recall_hit_without_evidence_is_no_target():
    """The hits of "capital of France" are merely the best of all rows (fixes D9); a row that an agent selected is always a target."""
    before = people(
        event("capital of france", hits=("Other person 3", "Mara Reyes")),
        event("mara", hits=("Mara Reyes", "Other person 3"), days=2),
        event("capital of spain", "Other person 4", days=3),
    )
    probe = recall_probe(before, before, SETTINGS, None)
    assert (probe.queries, probe.recall_before) == (2, 0.5)
    lost = recall_probe(before, gone(before, "entities", "Other person 3"), SETTINGS, None)
    assert (lost.delta, lost.passed) == (0.0, True)


def test_recall_hit_with_a_near_vector_is_a_target_though_it_shares_no_word():
    """Meaning is evidence, and an unrelated vector is none."""
    before = make_snapshot(
        entities=[entity("a"), entity("b")],
        vectors={"entity_vectors": {uid("a"): (1, 0), uid("b"): (0, 1)}},
        recall_events=[event("x", hits=("a", "b")), event("nothing was found", days=2)],
    )

    def embed(texts):
        return np.tile(np.array([[1.0, 0.0]], np.float32), (len(texts), 1))

    kept = recall_probe(before, gone(before, "entities", "b"), SETTINGS, embed)
    assert (kept.queries, kept.delta, kept.passed) == (1, 0.0, True)
    assert not recall_probe(before, gone(before, "entities", "a"), SETTINGS, embed).passed


def test_plan_that_only_adds_pages_passes_whatever_they_displace():
    """Thirty new pages state the answer and push the old one out of ten; with a row retired besides, the plan fails (fixes D9)."""
    texts = {"old": "The ferry leaves the north pier at nine", "other": "Tomatoes go out in May"}
    new = {f"new {n}": "ferry north pier nine" for n in range(30)}
    events = [event("ferry north pier nine", hits=("old",), days=days) for days in range(1, 9)]

    def snapshot(rows: dict[str, str]):
        documents = [{"id": uid(f"{name} page"), "path": f"{name}.md"} for name in rows]
        chunks = [{"id": uid(name), "document_id": uid(f"{name} page"), "content": text} for name, text in rows.items()]
        return make_snapshot(documents=documents, chunks=chunks, recall_events=events)

    before = snapshot(texts)
    added = recall_probe(before, snapshot(texts | new), SETTINGS, None)
    assert (added.delta, added.only_adds, added.passed) == (-1.0, True, True)
    assert "only adds rows" in added.sentence()
    without = recall_probe(before, snapshot({"old": texts["old"]} | new), SETTINGS, None)
    assert (without.delta, without.only_adds, without.passed) == (-1.0, False, False)
    reworded = recall_probe(before, snapshot(texts | new | {"other": "Tomatoes go out in June"}), SETTINGS, None)
    assert (reworded.only_adds, reworded.passed) == (False, False)


@pytest.mark.parametrize(("lost", "passed"), [(0, False), (2, False), (3, True), (9, True)])
def test_of_hits_of_which_none_was_selected_the_first_three_are_answers(lost: int, passed: bool):
    """A list of ten always has a last one, which any better row displaces: one past search would keep every plan from a small store."""
    hits = tuple(f"Mara Reyes {n}" for n in range(10))
    before = make_snapshot(entities=[entity(h) for h in hits], recall_events=[event("mara reyes", hits=hits)])
    assert recall_probe(before, gone(before, "entities", hits[lost]), SETTINGS, None).passed is passed


def test_events_about_rows_long_gone_ask_nothing():
    """What was already lost before the plan is not the plan's harm; questions come from episodes instead."""
    before = people(event("who", "never stored"), event("   ", "Mara Reyes"))
    probe = recall_probe(before, before, SETTINGS, None)
    assert (probe.source, probe.queries, probe.delta) == ("episodes", 31, 0.0)


def test_without_events_raw_episodes_are_asked_about():
    """A lost episode is seen; consolidated memories are never asked about."""
    names = [f"episode {n}" for n in range(40)]
    before = make_snapshot(
        memories=[
            {"id": uid(n), "kind": "episodic" if i else "summary", "current_version_id": uid(f"{n} v")}
            for i, n in enumerate(names)
        ],
        memory_versions=[
            {"id": uid(f"{n} v"), "memory_id": uid(n), "content": f"Hi. On day {i} topic{i} came up."}
            for i, n in enumerate(names)
        ],
        chunks=[{"id": uid("blank"), "content": " … "}],
    )
    same = recall_probe(before, before, SETTINGS, None)
    assert (same.source, same.queries, same.recall_before, same.delta) == ("episodes", 39, 1.0, 0.0)
    harmed = recall_probe(before, gone(before, "memories", *names[1:14]), SETTINGS, None)
    assert harmed.recall_after == pytest.approx(26 / 39)
    assert not harmed.passed
    assert "raw episodes" in harmed.sentence()


def test_at_most_a_hundred_episodes_are_drawn_and_always_the_same():
    before = make_snapshot(chunks=[{"id": uid(n), "content": f"text{n} of a chunk"} for n in range(1_000)])
    assert recall_probe(before, before, SETTINGS, None).queries == 100
    assert recall_probe(before, before, SETTINGS, None) == recall_probe(before, before, SETTINGS, None)


def test_what_is_said_over_and_over_is_not_asked_about():
    """Of eight rows that say one courtesy none is the one to be found; where nothing else is said it is asked for all the same."""
    courtesy = {f"c{n}": "You have handled harder things." for n in range(8)}
    told = {f"t{n}": f"Room {n} was painted blue." for n in range(5)}
    some, all_alike = (
        make_snapshot(chunks=[{"id": uid(n), "content": text} for n, text in texts.items()])
        for texts in ({**courtesy, **told}, courtesy)
    )
    assert recall_probe(some, some, SETTINGS, None).queries == 5
    assert recall_probe(all_alike, all_alike, SETTINGS, None).queries == 8


def test_an_empty_namespace_says_that_nothing_was_measured():
    probe = recall_probe(make_snapshot(), make_snapshot(), SETTINGS, None)
    assert (probe.source, probe.queries, probe.passed) == ("none", 0, True)
    assert "not measured" in probe.sentence()


def test_queries_are_embedded_once_for_both_snapshots():
    asked: list[list[str]] = []

    def embed(texts):
        asked.append(list(texts))
        return np.tile(np.array([[1.0, 0.0]], np.float32), (len(texts), 1))

    before = make_snapshot(
        entities=[entity("a"), entity("b")],
        vectors={"entity_vectors": {uid("a"): (1, 0), uid("b"): (0, 1)}},
        recall_events=[event("x", "a"), event("x", "a", days=2), event("y", "b")],
    )
    probe = recall_probe(before, gone(before, "entities", "a"), SETTINGS, embed)
    assert asked == [["x", "y"]]
    assert (probe.queries, probe.recall_before, probe.recall_after) == (3, pytest.approx(2 / 3), 0.0)


def test_bootstrap_bounds_are_those_of_the_binomial():
    """A tenth of 1,000 queries lose all: the mean of a resample has a standard deviation of √(0.1·0.9/1000) = 0.0095."""
    differences = np.zeros((1_000, 1))
    differences[:100] = -1
    mean, low, high = bootstrap(differences)
    assert mean[0] == -0.1
    assert low[0] == pytest.approx(-0.1 - 1.96 * 0.00949, abs=0.002)
    assert high[0] == pytest.approx(-0.1 + 1.96 * 0.00949, abs=0.002)
    again = bootstrap(differences)
    assert np.array_equal([mean, low, high], again)


def test_bootstrap_of_equal_differences_has_no_width():
    assert [x.tolist() for x in bootstrap(np.full((7, 2), 0.25))] == [[0.25, 0.25]] * 3


def test_the_longest_sentence_is_asked_and_dots_in_words_do_not_end_it():
    assert longest_sentence("Hi! Version v2.3 runs on db.example now. Bye.") == "Version v2.3 runs on db.example now."
    assert longest_sentence(" ".join(map(str, range(50)))).split()[-1] == "31"


def test_a_memory_that_was_merged_is_stood_for_by_its_survivor():
    """The agent used the memory that is absorbed; its survivor tells the same and is found instead."""

    def memory(name: str, text: str):
        row = {"id": uid(name), "kind": "event", "current_version_id": uid(text)}
        return row, {"id": uid(text), "memory_id": uid(name), "content": text}

    rows = [memory("keep", "The hoist brake overheated."), memory("gone", "Its hoist brake overheated.")]
    rows += [memory(f"other {n}", f"Nothing happened on watch {n}.") for n in range(40)]
    before = make_snapshot(
        memories=[m for m, _ in rows],
        memory_versions=[v for _, v in rows],
        recall_events=[event("hoist brake overheated", "gone")],
    )
    items = [item(m, "dedupe_memories") for m in merge_memories(before, [Alike(uid("keep"), (uid("gone"),))])]
    probe = recall_probe(before, simulate(before, items), SETTINGS, None)
    assert (probe.queries, probe.recall_before, probe.recall_after, probe.passed) == (1, 1.0, 1.0, True)


def remembered(texts: dict[str, str], *events, **columns):
    """Memories with the passage that each was made from."""
    return make_snapshot(
        chunks=[{"id": uid(f"{n} chunk"), "content": text} for n, text in texts.items()],
        memories=[
            {
                **{"id": uid(n), "kind": "semantic", "current_version_id": uid(f"{n} v")},
                **{"source_chunk_ids": [uid(f"{n} chunk")], **columns},
            }
            for n in texts
        ],
        memory_versions=[{"id": uid(f"{n} v"), "memory_id": uid(n), "content": text} for n, text in texts.items()],
        recall_events=events,
    )


TEXTS = {"a": "Ann lives in Oslo", "b": "Ann lives in Rome", **{f"n{k}": f"Note {k}" for k in range(40)}}


def test_a_passage_does_not_answer_for_a_memory_where_memories_are_asked_alone():
    before = remembered(TEXTS, event("ann lives oslo", "a"), event("note 7", "n7", days=2))
    archive = set_columns(before, "set_state", "memories", {uid("a"): {"state": "archived"}})
    probe = recall_probe(before, simulate(before, [item(m) for m in archive]), SETTINGS, None)
    assert (probe.recall_after, probe.memories.recall_after, probe.passed) == (1.0, 0.5, False)
    assert uid("a") in probe.lost
    assert uid("n7") not in probe.lost
    message = probe.to_json()
    assert "lost" not in message
    assert message["memories"]["queries"] == 2  # type: ignore[index]


def test_what_a_plan_withholds_is_no_target_and_what_was_withheld_before_is_gone_anyway():
    before = remembered(TEXTS, event("ann lives oslo", "a"), event("ann lives", "a", "b", days=2))
    hold = set_columns(before, "set_state", "memories", {uid("a"): {"state": "quarantined"}})
    after = simulate(before, [item(m) for m in hold])
    probe = recall_probe(before, after, SETTINGS, None)
    assert (probe.queries, probe.withheld, probe.delta, probe.passed) == (1, 1, 0.0, True)
    assert "intended" in probe.sentence()
    assert recall_probe(after, after, SETTINGS, None).withheld == 0


def test_small_talk_that_a_plan_archives_is_no_target():
    """Searches listed it beside what was looked for; what tells something stays a target, also where it is archived."""
    texts = {"a": "Ann lives in Oslo", "b": "Good to hear that!"}
    before = remembered(texts, event("hear of ann", hits=("a", "b")), kind="episodic")
    for name, recall in (("b", 1.0), ("a", 0.5)):
        archive = set_columns(before, "set_state", "memories", {uid(name): {"state": "archived"}})
        probe = recall_probe(before, simulate(before, [item(m) for m in archive]), SETTINGS, None)
        assert (probe.memories.queries, probe.memories.recall_after) == (1, recall)


def test_the_winner_of_a_contradiction_answers_for_its_loser():
    """The plan says which; without its items the loser is simply gone."""
    before = remembered(TEXTS, event("where does ann live in oslo", "a"))
    items = [item(m) for m in lose_conflict(before, "memories", [Loss(uid("b"), (uid("a"),), ())])]
    after = simulate(before, items)
    assert recall_probe(before, after, SETTINGS, None, items).passed
    assert not recall_probe(before, after, SETTINGS, None).passed


def test_of_a_statement_that_has_ended_its_successor_is_asked_for():
    """In the words of the old value others rank before the new one. What an agent once asked, and a loser of which nothing says that it is
    over, are asked for as they are.
    """
    others = {f"o{n}": f"Ann likes the place in Oslo number {n}" for n in range(12)}
    texts = {"a": "Ann lives in Oslo", "b": "Good morning to you all! Ann moved to Bergen", **others}
    drawn, recalled = (
        remembered(texts, *events, kind="episodic") for events in ((), (event("Ann lives in Oslo", "a"),))
    )
    for before, replaces, queries in ((drawn, True, 14), (drawn, False, 14), (recalled, True, 1)):
        loss = lose_conflict(before, "memories", [Loss(uid("b"), (uid("a"),), ())])
        items = [Item("resolve_conflicts", "resolve", m, evidence={"conflict": {"replaces": replaces}}) for m in loss]
        alone = recall_probe(before, simulate(before, items), SETTINGS, None, items).memories
        assert (alone.queries, alone.recall_after == 1.0) == (queries, before is drawn and replaces)


def test_a_memory_and_its_passage_are_one_thing_to_be_found_and_take_one_place():
    """Twenty rows match as well as each other, and they are ten things: all of them are found. Two of a recall that are one count once."""
    texts = {f"n{k}": f"Ann lives in house {k}" for k in range(10)}
    asked = event("ann lives", *texts)
    probe = recall_probe(before := remembered(texts, asked), before, SETTINGS, None)
    assert (probe.recall_before, probe.memories.recall_before) == (1.0, 1.0)
    before = remembered(TEXTS, event("ann lives oslo", "a", "a chunk", "n7"))
    gone_memory = set_columns(before, "set_state", "memories", {uid("a"): {"state": "archived"}})
    probe = recall_probe(before, simulate(before, [item(m) for m in gone_memory]), SETTINGS, None)
    assert (probe.recall_before, probe.recall_after) == (0.5, 0.5)


def test_what_a_plan_wrote_is_no_episode_to_ask_about() -> None:
    """Questions are drawn from what people and agents wrote; a page that a plan made is found, and nobody asked for it."""
    said = {
        "Ann": "The ferry leaves the north pier at nine in the morning.",
        "made": "Ferries leave at nine, says a plan.",
    }
    documents = [
        {"id": uid("Ann"), "path": "people/ann.md", "metadata": {"title": "Ann", "made": "by hand"}},
        {"id": uid("made"), "path": "concepts/ferry.md", "metadata": {"title": "Ferry", "made_from": "0f" * 32}},
    ]
    chunks = [{"id": uid(f"c{n}"), "document_id": uid(n), "content": text} for n, text in said.items()]
    snapshot = make_snapshot(documents=documents, chunks=chunks)
    assert recall_probe(snapshot, snapshot, SETTINGS, None).queries == 1
    assert recall_probe(snapshot, gone(snapshot, "chunks", "cmade"), SETTINGS, None).recall_after == 1.0
    assert recall_probe(snapshot, gone(snapshot, "chunks", "cAnn"), SETTINGS, None).recall_after == 0.0


def test_memory_that_contains_the_sentence_of_its_passage_answers_the_question_drawn_from_the_passage() -> None:
    """A memory with other words does not: "Ann lives in Rome" was found by its passage alone."""
    before = remembered(TEXTS, kind="episodic")
    versions = before.table("memory_versions").to_pylist()
    reworded = [row | {"content": "Ann is at home"} if row["id"] == uid("b v") else row for row in versions]
    before = make_snapshot(
        **{name: before.table(name).to_pylist() for name in ("chunks", "memories")}, memory_versions=reworded
    )
    for name, lost in (("a", False), ("b", True)):
        probe = recall_probe(before, gone(before, "chunks", f"{name} chunk"), SETTINGS, None)
        assert (probe.source, probe.recall_before, uid(f"{name} chunk") in probe.lost) == ("episodes", 1.0, lost)


def test_row_that_a_persons_answer_ends_without_a_replacement_is_not_looked_for() -> None:
    before = remembered(TEXTS, event("ann lives oslo", "a"), event("ann lives", "a", "b", days=2))
    (ends,) = lose_conflict(before, "memories", [Loss("", (uid("a"), uid("b")), ())])
    items = [item(ends)]
    after = simulate(before, items)
    assert not recall_probe(before, after, SETTINGS, None, items).passed
    probe = recall_probe(before, after, SETTINGS, None, items, answered=frozenset({items[0].id}))
    assert (probe.passed, probe.source, probe.withheld) == (True, "episodes", 2)
