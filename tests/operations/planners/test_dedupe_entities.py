"""``dedupe_entities``: clusters become whole items; what people refused stays refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.changes.cells import decode
from slowwave.matching.identity import DIFFERENT, Identity
from slowwave.models.endpoint import Answer
from slowwave.operations import PLANNERS, Inputs, Proposal
from slowwave.operations.planners.dedupe_entities import OTHER_TYPE_IDENTIFIED
from slowwave.plans.items import Item
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from tests.matching.test_identity import PERSONS
from tests.matching.test_match import many_persons
from tests.snapshots import make_snapshot, uid

dedupe_entities = PLANNERS["dedupe_entities"]


def entity(name: str, of: str = "", **columns: object) -> dict[str, object]:
    return {"id": uid(of or name), "name": name, "entity_type": "tool", "mention_count": 1, **columns}


def around(centre: int, size: int = 8, tilt: float = 0.0) -> list[float]:
    """A unit vector near an axis."""
    vector = np.zeros(size)
    vector[centre], vector[(centre + 1) % size] = np.cos(tilt), np.sin(tilt)
    return vector.tolist()


def night(
    entities: Sequence[Mapping[str, object]], vectors: Mapping[str, Sequence[float]] | None = None, **tables: object
) -> Proposal:
    return dedupe_entities(inputs(snapshot(entities, vectors, **tables)))


def snapshot(
    entities: Sequence[Mapping[str, object]], vectors: Mapping[str, Sequence[float]] | None = None, **tables: object
) -> Snapshot:
    given = vectors if vectors is not None else {str(e["id"]): around(0) for e in entities}
    return make_snapshot(entities=entities, vectors={"entity_vectors": given}, **tables)  # type: ignore[arg-type]


def inputs(given: Snapshot, **more: object) -> Inputs:
    return Inputs(given, {}, Settings(), **more)  # type: ignore[arg-type]


def rejection(item: Item) -> dict[str, object]:
    """The row that the gate writes."""
    return {
        "operation": item.operation,
        "subject": item.subject(),
        "row_ids": list(item.mutation.row_ids()),
        "reason": "no",
        "rejected_by": "me",
    }


def test_a_merge_is_whole_and_survives_json() -> None:
    """The item carries evidence, sources, the vector and the aliases, and reads back as itself."""
    chunks = [{"id": uid(f"chunk {k}"), "content": "text"} for k in range(12)]
    rows = [
        entity("Open Telemetry", mention_count=3, source_chunk_ids=[c["id"] for c in chunks[:11]]),
        entity("OpenTelemetry", source_chunk_ids=[chunks[11]["id"], uid("gone")]),
    ]
    vectors = {str(rows[0]["id"]): around(0), str(rows[1]["id"]): around(0, tilt=0.3)}
    (item,) = night(rows, vectors, chunks=chunks).items
    assert (item.operation, item.decision, item.risk) == ("dedupe_entities", "merge", "low")
    assert item.mutation.keep is not None
    assert item.mutation.keep.id == uid("Open Telemetry")
    assert item.probability >= 0.99
    assert item.evidence["names"] == ["Open Telemetry", "OpenTelemetry"]
    assert item.evidence["centroid"] == "centroid"
    assert len(item.sources) == 10
    assert item.sources[1] == chunks[11]["id"]  # members take turns
    assert uid("gone") not in item.sources
    assert any(w.cell.table == "entity_vectors" for w in item.mutation.writes)
    (renamed,) = [w for w in item.mutation.writes if w.cell.column == "name"]
    assert (renamed.cell.row, renamed.seen, renamed.value) == (uid("Open Telemetry"), "Open Telemetry", "OpenTelemetry")
    assert [i.values["alias"] for i in item.mutation.inserts] == ["Open Telemetry"]
    again = Item.from_json(json.loads(json.dumps(item.to_json())))
    assert again == item


@pytest.mark.parametrize(("description", "decisions"), [("", ["review"]), ("Reads sockets in Rust.", ["merge"])])
def test_what_has_no_description_has_the_vector_of_its_name(description: str, decisions: list[str]) -> None:
    """Which says nothing beside it: of two names that are alike and another licence a person is asked."""
    rows = [
        entity("Open Telemetry", attributes={"license": "MIT"}, description=description),
        entity("OpenTelemetry", attributes={"license": "BSD"}, description=description),
    ]
    vectors = {str(rows[0]["id"]): around(0), str(rows[1]["id"]): around(0, tilt=0.3)}
    assert [i.decision for i in night(rows, vectors).items] == decisions


def test_the_survivor_is_pinned_then_mentioned_then_early_then_smallest() -> None:
    """Each rule decides when those before it tie."""
    old, new = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
    for first, second in (
        (entity("Grafana", "x", pinned=True), entity("grafana", "y", mention_count=9)),
        (entity("Grafana", "x", mention_count=2, valid_from=new), entity("grafana", "y", valid_from=old)),
        (entity("Grafana", "x", valid_from=old), entity("grafana", "y", valid_from=new)),
    ):
        for rows in ([first, second], [second, first]):
            (item,) = night(rows).items
            assert item.mutation.keep is not None
            assert item.mutation.keep.id == uid("x")
    (item,) = night([entity("Grafana", "x"), entity("grafana", "y")]).items
    assert item.mutation.keep is not None
    assert item.mutation.keep.id == min(uid("x"), uid("y"))


def test_retired_entities_are_not_looked_at() -> None:
    """A row merged last night does not come back."""
    gone = datetime(2026, 1, 1, tzinfo=UTC)
    found = night([entity("Grafana", "x"), entity("grafana", "y", invalidated_at=gone)])
    assert (found.items, found.report.numbers["rows"]) == ((), 1)


def test_a_doubtful_pair_is_an_item_for_review_that_can_be_approved() -> None:
    """Review items hold the whole merge."""
    rows = [entity("Mercury", "planet"), entity("Mercury", "element")]
    vectors = {uid("planet"): around(0), uid("element"): around(0, tilt=0.9)}
    (item,) = night(rows, vectors).items
    assert (item.decision, item.risk, item.mutation.kind) == ("review", "high", "merge_rows")
    assert item.evidence["centroid"] == "skip_multimodal"
    assert str(item.evidence["reason"]).endswith(".")


def test_multimodal_cluster_is_a_finding_that_names_its_rows_and_no_item() -> None:
    """Two rows of one name are near a third, and too far apart from each other for one entity (K15)."""
    rows, matrix = many_persons()
    across = (matrix[300] - 0.97 * matrix[0]) / np.sqrt(1 - 0.97**2)
    angle = 2 * np.arccos(0.93)
    matrix[300], third = (np.cos(x) * matrix[0] + np.sin(x) * across for x in (angle / 2, angle))
    rows.append({**rows[0], "id": "c000"})
    entities = [{"id": uid(str(r["id"])), "name": r["name"], "entity_type": r["entity_type"]} for r in rows]
    vectors = {str(e["id"]): v.tolist() for e, v in zip(entities, [*matrix, third], strict=True)}
    found = night(entities, vectors)
    (finding,) = [f for f in found.report.findings if "they are not merged" in f.message]
    apart = {uid("a000"), uid("b000"), uid("c000")}
    assert (set(finding.rows), finding.severity) == (apart, "warning")
    assert not [i for i in found.items if i.decision == "merge" and apart & set(i.mutation.row_ids())]


def test_a_rejected_review_is_no_item_of_the_next_night() -> None:
    """A person said no; whatever happens to other columns, nobody is asked again until the name, type or attributes change."""
    rows = [entity("Mercury", "planet"), entity("Mercury", "element")]
    (item,) = night(rows, {}).items
    assert item.decision == "review"
    again = night(
        [{**rows[0], "description": "Once more.", "mention_count": 7}, rows[1]], {}, rejections=[rejection(item)]
    )
    assert (again.items, again.report.numbers.get("vetoed by rejection")) == ((), 1)
    told_more = [{**rows[0], "attributes": {"symbol": "Hg"}}, rows[1]]
    assert len(night(told_more, {}, rejections=[rejection(item)]).items) == 1


def test_a_source_known_to_be_free_of_duplicates_never_merges_within_itself() -> None:
    """Its rows still merge with those of others; a row of no source is of none."""
    rows = [entity("Grafana", "x", source="crm"), entity("grafana", "y", source="crm")]
    strict = Settings(operations={"dedupe_entities": {"unique_sources": ("*",)}})
    assert len(night(rows).items) == 1
    assert not dedupe_entities(Inputs(snapshot(rows), {}, strict)).items
    for other in ("wiki", ""):
        mixed = [rows[0], {**rows[1], "source": other}]
        assert len(dedupe_entities(Inputs(snapshot(mixed), {}, strict)).items) == 1
    unknown = [{**r, "source": ""} for r in rows]
    assert len(dedupe_entities(Inputs(snapshot(unknown), {}, strict)).items) == 1


def test_a_fresh_namespace_full_of_repetitions_has_its_problem_upstream() -> None:
    """Every entity is written twice: the headline says so, until something was merged there."""
    words = [f"{a}{b}{c}ford" for a in "BDFGK" for b in "aeiou" for c in ("rn", "lt")]
    rows = [entity(name.upper() if k else name, f"{name}{k}") for name in words for k in range(2)]
    vectors = {str(r["id"]): np.random.default_rng(n // 2).normal(size=64).tolist() for n, r in enumerate(rows)}
    flood = night(rows, vectors)
    assert len(flood.items) == len(words)
    assert "The problem is upstream: 50% of the entities repeat another one" in flood.report.headline
    assert [f.severity for f in flood.report.findings if "upstream" in f.message] == ["warning"]
    gone = {**entity("Old"), "merged_into": rows[0]["id"], "invalidated_at": datetime(2026, 1, 1, tzinfo=UTC)}
    assert "upstream" not in night([*rows, gone], vectors).report.headline
    assert "upstream" not in night(rows[:20], vectors).report.headline, "twenty rows are no flood"


class Model:
    """A judge that answers the same to everything and remembers what it was shown."""

    def __init__(self, model: str, verdict: str) -> None:
        self.model, self.verdict = model, verdict
        self.shown: list[str] = []

    def ask(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> Answer:
        """Cites the first row."""
        self.shown.append(user)
        cited = [json.loads(user.split("\n")[1])["rows"][0]["id"]]
        return Answer(
            json.dumps({"verdict": self.verdict, "confidence": 0.9, "cited": cited, "reason": "As it is."}), 50
        )


def test_two_judges_who_agree_make_a_merge_of_a_doubtful_pair() -> None:
    """Both answers stand in the evidence, the tokens in the item; one who disagrees leaves it to a person."""
    chunk = {"id": uid("chunk"), "content": "Mercury is the planet nearest to the sun."}
    rows = [entity("Mercury", "x", source_chunk_ids=[chunk["id"]]), entity("Mercury", "y")]
    for second, decision in (("same", "merge"), ("different", "review")):
        judges = (Model("one", "same"), Model("two", second))
        found = dedupe_entities(inputs(snapshot(rows, {}, chunks=[chunk]), judges=judges))
        (item,) = found.items
        assert (item.decision, item.tokens) == (decision, 100)
        assert item.risk == ("medium" if decision == "merge" else "high")
        told = item.evidence["judges"]
        assert isinstance(told, dict)
        assert [o["verdict"] for o in told["opinions"]] == ["same", second]
        assert "nearest to the sun" in judges[0].shown[0]
        assert any("one and two were asked" in f.message for f in found.report.findings)
        assert found.report.numbers["tokens of the judges"] == 100
        assert Item.from_json(json.loads(json.dumps(item.to_json()))) == item


def test_no_judge_is_asked_what_only_a_person_may_decide() -> None:
    """An identifier in conflict, or a name that says more than the other, is no matter of opinion."""
    mail = {"email": "a@acme.io"}
    contested = [entity("Acme", n, attributes={**mail, "url": f"acme.{n}"}) for n in ("io", "com")]
    for rows in (contested, [entity("Grafana"), entity("Grafana 11")]):
        judges = (Model("one", "same"), Model("two", "same"))
        (item,) = dedupe_entities(inputs(snapshot(rows), judges=judges)).items
        assert (item.decision, judges[0].shown) == ("review", [])


def test_a_second_look_at_some_rows_finds_what_a_look_at_all_finds_about_them() -> None:
    """With focus and the weights of tonight: what the convergence probe asks for."""
    rows = [entity("Grafana", "x"), entity("grafana", "y"), entity("Mara Reyes", "m"), entity("mara reyes", "n")]
    given = snapshot(rows, {str(r["id"]): around(0 if n < 2 else 4) for n, r in enumerate(rows)})
    whole = dedupe_entities(inputs(given))
    assert len(whole.items) == 2
    learnt = {"dedupe_entities": whole.learnt}
    part = dedupe_entities(inputs(given, focus=frozenset({uid("x")}), learnt=learnt))
    assert [i.id for i in part.items] == [i.id for i in whole.items if uid("x") in i.mutation.row_ids()]
    assert not dedupe_entities(inputs(given, focus=frozenset(), learnt=learnt)).items


def test_pairs_beside_a_merge_are_seen_again() -> None:
    """Two spellings know one person each, who turn out to be one: they have a neighbour in common after that."""
    rows = [
        entity("Grafana", "x"),
        entity("grafana", "y"),
        entity("Tally Ledger"),
        entity("Tally Lodger"),
        entity("Far away"),
    ]
    ends = [("x", "Tally Ledger"), ("Tally Lodger", "y"), ("Far away", "Tally Ledger")]
    links = [{"source_entity_id": uid(a), "target_entity_id": uid(b)} for a, b in ends]
    found = night(rows, {uid("x"): around(0), uid("y"): around(0)}, relationships=links)
    assert set(found.nearer) == {uid("Tally Ledger"), uid("Tally Lodger")}
    assert night(rows[2:], relationships=links).nearer == ()


def test_no_entity_stands_in_two_items() -> None:
    """Merged rows do not stand in reviews; a row with several doubtful partners takes the strongest. The rest is reported."""
    rows = [
        *(entity("Kubernetes", f"k{n}") for n in range(2)),
        entity("Kubernets", "typo"),
        *(entity("Jansen Boats", "j1"), entity("Jensen Boats", "j2"), entity("Janson Boats", "j3")),
    ]
    found = night(rows, {str(r["id"]): around(0 if n < 3 else 4) for n, r in enumerate(rows)})
    assert sorted(i.decision for i in found.items) == ["merge", "review"]
    seen = [id_ for item in found.items for id_ in item.mutation.row_ids()]
    assert len(seen) == len(set(seen))
    assert found.report.numbers["review pairs that wait"] >= 2
    assert any("wait" in f.message for f in found.report.findings)


def test_a_recorded_conflict_forbids_the_merge_until_it_is_resolved() -> None:
    """Law 9: contradictions come first."""
    rows = [entity("Grafana", "x"), entity("grafana", "y")]
    conflict = {"table_name": "entities", "row_a_id": uid("y"), "row_b_id": uid("x"), "reason": "different owners"}
    assert not night(rows, conflicts=[conflict]).items
    resolved = {**conflict, "resolved_at": datetime(2026, 1, 1, tzinfo=UTC)}
    assert len(night(rows, conflicts=[resolved]).items) == 1


def test_a_rejected_pair_stays_away_until_its_rows_change() -> None:
    """Not the item, nor a review of it, whichever row would survive by now; a new name is a new question."""
    rows = [entity("Grafana", "x", mention_count=5), entity("grafana", "y")]
    (item,) = night(rows).items
    refused = night(rows, rejections=[rejection(item)])
    assert (refused.items, refused.report.numbers["vetoed by rejection"]) == ((), 1)
    more_mentions = [rows[0], {**rows[1], "mention_count": 50}]
    assert not night(more_mentions, rejections=[rejection(item)]).items
    renamed = [rows[0], {**rows[1], "name": "GRAFANA"}]
    assert len(night(renamed, rejections=[rejection(item)]).items) == 1


def test_a_rejected_pair_does_not_come_back_inside_a_larger_cluster() -> None:
    """A third spelling turns up: it joins one of the two, never both."""
    rows = [entity("Grafana", "x", mention_count=5), entity("grafana", "y", mention_count=3)]
    (item,) = night(rows).items
    third = entity("GRAFANA", "z")
    assert len(night([*rows, third]).items[0].mutation.absorb) == 2
    found = night([*rows, third], rejections=[rejection(item)])
    for proposed in found.items:
        assert not {uid("x"), uid("y")} <= set(proposed.mutation.row_ids())


def test_another_operations_rejection_is_none_of_ours() -> None:
    """Rejections are kept per operation."""
    rows = [entity("Grafana", "x"), entity("grafana", "y")]
    (item,) = night(rows).items
    other = {**rejection(item), "operation": "dedupe_memories"}
    assert len(night(rows, rejections=[other]).items) == 1


def test_far_names_are_embedded_again_in_one_call() -> None:
    """The text is that of the survivor after the merge; without an embedder the item says so."""
    rows = [
        entity("IBM", "x", mention_count=4, attributes={"url": "https://ibm.com"}),
        entity("International Business Machines", "y", attributes={"url": "ibm.com"}, description="A maker."),
    ]
    calls: list[list[str]] = []

    def embed(texts: Sequence[str]) -> np.ndarray:
        calls.append(list(texts))
        return np.tile(np.array(around(3), np.float32), (len(texts), 1))

    given = snapshot(rows)
    (item,) = dedupe_entities(inputs(given, embed=embed)).items
    assert calls == [["International Business Machines (tool): A maker."]]
    assert item.evidence["centroid"] == "re_embed"
    (write,) = [w for w in item.mutation.writes if w.cell.table == "entity_vectors"]
    assert decode(str(write.value)).tolist() == around(3)
    (item,) = dedupe_entities(inputs(given)).items
    assert item.evidence["centroid"] == "re_embed_unavailable"
    assert not any(w.cell.table == "entity_vectors" for w in item.mutation.writes)


def test_the_report_holds_its_denominators() -> None:
    """Rows, candidates by key, gates, vetoes, items."""
    names = ("Grafana", "grafana", "Loki 10", "Loki 11")
    found = night([entity(name) for name in names], {uid(n): around(0 if n < "Lo" or n > "a" else 4) for n in names})
    numbers = found.report.numbers
    assert (numbers["rows"], numbers["items"], numbers["merge clusters"]) == (4, 1, 1)
    assert numbers["vetoed by specifics"] == 1
    assert numbers["candidates by vector"] == 2
    assert 0 < numbers["expected false merges"] < 0.05
    assert len(found.report.summary()) < 1000
    assert "Grafana = grafana" in found.report.markdown() or "grafana = Grafana" in found.report.markdown()
    assert [f.message for f in found.report.findings if "needs a probability" in f.message]


def test_a_type_alone_keeps_no_namesakes_apart_and_merges_none() -> None:
    """A row without a type joins the one of its name, and takes its type; of two types a person is asked, once and for all."""
    rows = [
        entity("Zorblax Quuxly", "said", entity_type="unknown", mention_count=9),
        entity("Zorblax Quuxly", "known", entity_type="person"),
        entity("Rowan Vextor", "who", entity_type="person"),
        entity("Rowan Vextor", "what", entity_type="project"),
        entity("Mara Lindqvist", "alone", entity_type="person"),
    ]
    items = {frozenset(r.id for r in (i.mutation.keep, *i.mutation.absorb) if r): i for i in night(rows).items}  # type: ignore[union-attr]
    joined, asked = items[frozenset((uid("said"), uid("known")))], items[frozenset((uid("who"), uid("what")))]
    assert (joined.decision, asked.decision, len(items)) == ("merge", "review", 2)
    assert joined.mutation.keep is not None
    assert joined.mutation.keep.id == uid("said")
    typed = {w.cell.column: w.value for w in joined.mutation.writes if w.cell.row == uid("said")}
    assert "person" in str(typed["entity_type"])
    assert "types differ" in json.dumps(asked.evidence)
    again = night(rows, rejections=[rejection(asked)]).items
    assert [i.decision for i in again] == ["merge"]


def person(id_: str, name: str, entity_type: str = "person", **attributes: object) -> dict[str, object]:
    return {**entity(name, id_), "entity_type": entity_type, "attributes": attributes}


def declared(rows: Sequence[Mapping[str, object]], *properties: str, types: Sequence[str] = ("person",)) -> Proposal:
    """A night in which the properties are declared to identify the types."""
    identity = dict.fromkeys(types, properties)
    settings = Settings.model_validate({"operations": {"dedupe_entities": {"identity": identity}}})
    return dedupe_entities(Inputs(snapshot(rows, {}), {}, settings))


def test_a_declared_identity_merges_as_the_operator_chose_and_gives_the_reason() -> None:
    """Names that differ are no question then; the item is not the same after the declaration is removed."""
    rows = [person("x", "Ann Lee", email="Ann@acme.org"), person("y", "Anna Smith", email="ann@acme.org")]
    (item,) = declared(rows, "email").items
    assert (item.decision, item.risk) == ("merge", "medium")
    assert str(item.evidence["reason"]).startswith("The values of email are equal, and the settings declare")
    assert item.probability > 0.999
    assert [i.decision for i in dedupe_entities(inputs(snapshot(rows, {}))).items] != ["merge"]


def test_rows_with_different_identities_are_neither_merged_nor_asked_about() -> None:
    """Not under one type, and not as namesakes of two types that are identified by the same property."""
    alike = {"phone": "030 1234567", "born": "1990-02-03"}
    rows = [person("x", "Ann Katharina Lee", badge="7", **alike), person("y", "Ann Katharina Lee", badge="8", **alike)]
    assert [i.decision for i in dedupe_entities(inputs(snapshot(rows, {}))).items] == ["merge"]
    found = declared(rows, "badge")
    assert (found.items, found.report.numbers["vetoed by identity"]) == ((), 1)
    rows[1]["entity_type"] = "contact"
    assert declared(rows, "badge", types=("person", "contact")).items == ()
    assert [i.decision for i in declared(rows, "badge").items] == ["review"]  # a contact has no identity here


def test_rows_of_two_types_with_one_identity_are_a_question() -> None:
    """A type is never overruled without a person, whatever identifies it."""
    rows = [person("x", "Ann Lee", email="ann@acme.org"), person("y", "A. L. Smith", "contact", email="ANN@acme.org")]
    (item,) = declared(rows, "email", types=("person", "contact")).items
    assert (item.decision, item.evidence["reason"]) == ("review", OTHER_TYPE_IDENTIFIED)
    assert declared(rows, "email").items == ()


def test_values_that_identify_nobody_and_misspelt_declarations_are_reported() -> None:
    """Hundreds of rows may hold one address of a department; the report says how many."""
    rows = [person(f"p{k}", f"Person {chr(65 + k)}{chr(97 + k)}lo", email="info@acme.org") for k in range(8)]
    rows += [person("q", "Quentin Vale", email="n/a")]
    found = declared(rows, "email")
    messages = [finding.message for finding in found.report.findings]
    assert any(
        "“info@acme.org” of email is in more than 5 rows, so it identifies none of its 8 rows" in m for m in messages
    )
    assert any("“n/a” of email is a placeholder, so it identifies none of its 1 row." in m for m in messages)
    assert not [item for item in found.items if item.decision == "merge"]
    (warning,) = [f for f in declared(rows, "emial").report.findings if f.severity == "warning"]
    assert "“emial”" in warning.message
    assert warning.message.endswith("Did you mean email?")


def test_questions_whose_rows_a_pending_pair_connects_name_one_cluster() -> None:
    """Four spellings of one company make two questions now and further pairs after them; another company is not among them."""
    rows = [
        *(entity(name) for name in ("Jansen Boats", "Jensen Boats", "Janson Boats", "Jenson Boats")),
        *(entity(name) for name in ("Mara Fisheries", "Mora Fisheries")),
    ]
    found = night(rows, {str(r["id"]): around(0 if n < 4 else 4) for n, r in enumerate(rows)})
    clusters = [(str(i.evidence.get("cluster")), "Fisheries" in str(i.evidence["names"])) for i in found.items]
    assert len(found.items) == 3
    assert (
        sorted(cluster for cluster, other in clusters if not other) == [min(uid(str(r["name"])) for r in rows[:4])] * 2
    )
    assert [cluster for cluster, other in clusters if other] == ["None"]


@given(PERSONS, st.sets(st.integers(0, 11)), st.booleans())
def test_no_item_joins_rows_with_different_identities(
    persons: list[tuple[str, dict[str, object]]], contacts: set[int], both: bool
) -> None:
    """Neither a merge nor a question, among rows of one type or of two, whichever of the two declares it."""
    rows = [
        person(f"p{k}", name, "contact" if k in contacts else "person", **{key: v for key, v in has.items() if v})
        for k, (name, has) in enumerate(persons)
    ]
    types = ("person", "contact") if both else ("person",)
    identity = Identity.from_rows(
        [str(r["entity_type"]) for r in rows], [r["attributes"] for r in rows], dict.fromkeys(types, ("badge",))
    )
    assert identity is not None
    place = {str(r["id"]): k for k, r in enumerate(rows)}
    for item in declared(rows, "badge", types=types).items:
        at = np.array([place[id_] for id_ in item.mutation.row_ids() if id_ in place])
        i, j = np.triu_indices(len(at), 1)
        assert len(at) > 1
        assert DIFFERENT not in identity.relation(at[i], at[j])
