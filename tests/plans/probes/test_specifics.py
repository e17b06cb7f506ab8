"""Nothing specific is lost by a merge, or the merge is named."""

from slowwave.changes.merges import Alike, merge_facts, merge_memories
from slowwave.changes.mutation import REDACTION
from slowwave.changes.rows import NewVersion, new_versions
from slowwave.changes.simulate import simulate
from slowwave.plans.probes.texts import CENSORED, LostTerm, specifics_probe, with_reviews
from tests.plans.probes.plans import entity, item, merged, merges
from tests.snapshots import TAKEN_AT, make_snapshot, uid
from tests.text.made_secrets import Maker

AWS_KEY = f"AKIA{Maker(7).some(16).upper()}"


def probe(clusters, **tables):
    before = make_snapshot(**tables)
    after, items = merged(before, clusters)
    return specifics_probe(before, after, items), items


def lost_terms(found) -> set[str]:
    return {loss.term for loss in found.lost}


def test_names_and_aliases_of_the_absorbed_live_on_as_aliases():
    found, _ = probe(
        {"Mara Reyes": ["Mara Reyes Lopez"]},
        entities=[entity("Mara Reyes"), entity("Mara Reyes Lopez")],
        entity_aliases=[{"entity_id": uid("Mara Reyes Lopez"), "alias": "Agent 47"}],
    )
    assert found.items == 1
    assert found.terms >= 2
    assert found.passed
    assert "all of" in found.sentence()


def test_a_number_only_in_the_absorbed_description_is_lost():
    """The survivor's own description stays, so the absorbed one is read by nobody."""
    found, items = probe(
        {"Keep": ["Gone"]},
        entities=[
            entity("Keep", description="A pump."),
            entity("Gone", description="Pumps 42 litres, never stops, built 2024-05-06 by Mara Reyes."),
        ],
    )
    assert lost_terms(found) == {"42 l", "2024-05-06", "mara reyes", "not"}
    assert set(found.lost) >= {LostTerm(items[0].id, uid("Gone"), "42 l")}
    assert found.items_losing() == {items[0].id}
    assert not found.passed
    assert "review" in found.sentence()


def test_a_description_that_the_survivor_takes_over_loses_nothing():
    found, _ = probe(
        {"Keep": ["Gone"]}, entities=[entity("Keep"), entity("Gone", description="Pumps 42 litres since 2024-05-06.")]
    )
    assert found.terms >= 2
    assert found.passed


def test_a_live_cited_source_keeps_a_term_reachable_and_a_dead_one_does_not():
    """A chunk and a document that the absorbed row cites become the survivor's."""
    rows = [
        entity("Keep", description="A pump."),
        entity(
            "Gone",
            description="It pumps 42 litres for Acme Works.",
            source_chunk_ids=[uid("chunk")],
            source_document_ids=[uid("document")],
        ),
    ]
    chunk = {"id": uid("chunk"), "content": "measured: 42 litres"}
    document = {"id": uid("document"), "content": "A contract with acme works, signed."}
    kept, _ = probe({"Keep": ["Gone"]}, entities=rows, chunks=[chunk], documents=[document])
    assert kept.passed
    dead, _ = probe(
        {"Keep": ["Gone"]}, entities=rows, chunks=[{**chunk, "invalidated_at": TAKEN_AT}], documents=[document]
    )
    assert lost_terms(dead) == {"42 l"}


def test_conflicting_attributes_stand_beside_each_other():
    found, _ = probe(
        {"Keep": ["Gone"]},
        entities=[
            entity("Keep", attributes={"employees": 120}),
            entity("Gone", attributes={"employees": 135, "ids": ["SKU-9981", {"deep": "2031-01-02"}], "active": True}),
        ],
    )
    assert found.passed
    assert found.terms == 4


def test_every_merge_answers_for_itself():
    """One merge loses a number, the other nothing; only the first goes to review."""
    found, items = probe(
        {"Keep": ["Gone"], "Other": ["Another"]},
        entities=[
            entity("Keep", description="x"),
            entity("Gone", description="room 17"),
            entity("Other", description="room 17"),
            entity("Another", description="room 17"),
        ],
    )
    assert found.items == 2
    assert found.items_losing() == {i.id for i in items if i.mutation.keep and i.mutation.keep.id == uid("Keep")}
    assert found.to_json()["lost"] == [{"item": found.lost[0].item, "row": uid("Gone"), "term": "17"}]


def test_a_plan_without_merges_has_nothing_to_lose():
    found = specifics_probe(make_snapshot(), make_snapshot(), [])
    assert (found.items, found.terms, found.passed) == (0, 0, True)


def told(snapshot, mutations):
    """The probe of merges of facts or memories."""
    items = [item(m, "dedupe", "merge") for m in mutations]
    return specifics_probe(snapshot, simulate(snapshot, items), items), items


def fact(name: str, object_: str, text: str, **more: object):
    return {"id": uid(name), "subject": "Gate", "predicate": "passed", "object": object_, "fact_text": text, **more}


def test_what_only_an_absorbed_fact_says_is_lost_unless_a_source_says_it():
    """The survivor keeps its own words; the chunks of the absorbed fact become its chunks."""
    rows = [fact("Keep", "Lorries", "It was busy."), fact("Gone", "lorries", "412 lorries on 2024-05-06.")]
    before = make_snapshot(memory_facts=rows)
    found, items = told(before, merge_facts(before, [Alike(uid("Keep"), (uid("Gone"),))]))
    assert {loss.term for loss in found.lost} == {"412", "2024-05-06"}
    assert found.items_losing() == {items[0].id}
    cited = make_snapshot(
        memory_facts=[rows[0], {**rows[1], "source_chunk_ids": [uid("c")]}],
        chunks=[{"id": uid("c"), "content": "On 2024-05-06 the gate passed 412 lorries."}],
    )
    assert told(cited, merge_facts(cited, [Alike(uid("Keep"), (uid("Gone"),))]))[0].passed


def test_what_only_an_absorbed_memory_says_is_lost_unless_a_source_says_it():
    """Text, subject and attributes count; tags become the survivor's, former versions are history."""

    def memory(name: str, text: str, **more: object):
        return {"id": uid(name), "kind": "event", "current_version_id": uid(text), **more}, {
            "id": uid(text),
            "memory_id": uid(name),
            "content": text,
        }

    def probe_of(**gone: object):
        rows = [memory("Keep", "The gate was busy."), memory("Gone", "412 lorries passed.", **gone)]
        old = {"id": uid("old"), "memory_id": uid("Gone"), "content": "999 lorries passed."}
        before = make_snapshot(
            memories=[m for m, _ in rows],
            memory_versions=[*(v for _, v in rows), old],
            chunks=[{"id": uid("c"), "content": "412 lorries"}],
        )
        return told(before, merge_memories(before, [Alike(uid("Keep"), (uid("Gone"),))]))[0]

    assert {loss.term for loss in probe_of().lost} == {"412"}
    assert probe_of(source_chunk_ids=[uid("c")], tags=["v1.2.3"]).passed
    lost = probe_of(source_chunk_ids=[uid("c")], attributes={"gate": "G-17"})
    assert {loss.term for loss in lost.lost} == {"g17"}
    assert probe_of(source_chunk_ids=[uid("c")], attributes={"success": 0.2, "decay_rate": 0.3}).passed


def test_merges_of_several_tables_answer_side_by_side():
    """One plan, one probe: the entity takes the description over, the fact keeps its own."""
    before = make_snapshot(
        entities=[entity("Keep"), entity("Gone", description="room 17")],
        memory_facts=[fact("A", "x", "room 18"), fact("B", "x", "room 19")],
    )
    after, items = merged(before, {"Keep": ["Gone"]})
    facts = [item(m, "dedupe_facts") for m in merge_facts(before, [Alike(uid("A"), (uid("B"),))])]
    found = specifics_probe(before, simulate(after, facts), [*items, *facts])
    assert (found.items, {loss.term for loss in found.lost}) == (2, {"19"})


def reworded(text: str, reason: str):
    """A memory of a figure and a key, said as ``text`` from now on: the snapshot before it, and the item."""
    before = make_snapshot(
        memories=[{"id": uid("m"), "kind": "episodic", "current_version_id": uid("v")}],
        memory_versions=[
            {"id": uid("v"), "memory_id": uid("m"), "content": f"412 lorries passed. The key is {AWS_KEY}."}
        ],
    )
    (mutation,) = new_versions(before, [NewVersion(uid("m"), text, reason)])
    return before, item(mutation, "decay_transition", "compress")


def test_a_new_version_answers_for_the_one_before_it_and_a_redaction_for_nothing():
    """What a redaction takes out is meant to go. A secret that is lost is named by what it is."""
    before, shorter = reworded("Lorries passed.", "decay")
    found = specifics_probe(before, simulate(before, [shorter]), [shorter])
    assert (found.items, "412" in lost_terms(found), CENSORED in lost_terms(found)) == (1, True, True)
    assert not any(AWS_KEY.casefold() in term for term in lost_terms(found))
    before, redacted = reworded("412 lorries passed.", REDACTION)
    assert specifics_probe(before, simulate(before, [redacted]), [redacted]).items == 0


def test_reviews_say_what_they_would_lose_beside_the_verdict_of_the_plan():
    """A review is looked at on top of the plan; an item that was sealed anew is named as it is in the plan."""
    rows = [
        entity("Keep", description="A pump."),
        entity("Gone", description="Pumps 42 litres."),
        entity("Other", description="A hoist."),
        entity("Lost", description="Lifts 17 tons."),
    ]
    before = make_snapshot(entities=rows)
    after, decided = merged(before, {"Keep": ["Gone"]})
    (review,) = merges(after, {"Other": ["Lost"]})
    probe_ = specifics_probe(before, after, decided)
    found = with_reviews(probe_, before, after, [review], {decided[0].id: "anew"})
    assert {(loss.item, loss.term) for loss in found.lost} == {("anew", "42 l")}
    assert {(loss.item, loss.term) for loss in found.asked} == {(review.id, "17 t")}
    assert with_reviews(probe_, before, after, [], {decided[0].id: "anew"}).asked == ()
