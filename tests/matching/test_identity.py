"""Declared identity: equal values merge, different ones never do, and shared values or placeholders decide nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from slowwave.matching import match_entities
from slowwave.matching.answers import Answers
from slowwave.matching.identity import DIFFERENT, MOST_ROWS, NEAR, SAME, UNKNOWN, Identity, normal_form
from slowwave.matching.match import Matches
from slowwave.matching.options import DedupeEntitiesOptions
from slowwave.matching.review import NOTATION
from slowwave.store.settings import Settings

Row = tuple[str, Mapping[str, object]]


def relation(a: Mapping[str, object], b: Mapping[str, object], *properties: str) -> int:
    """The relation of two rows of one type; it is the same from both sides."""
    identity = Identity.from_rows(["person", "Person"], [json.dumps(a), json.dumps(b)], {"person": properties})
    assert identity is not None
    one, other = identity.relation(np.array([0, 1]), np.array([1, 0])).tolist()
    assert one == other
    return one


def matched(rows: Sequence[Row], *properties: str) -> Matches:
    """Persons with the ids a, b, c … matched under a declared identity."""
    names, attributes = zip(*rows, strict=True)
    table = pa.table(
        {
            "id": [chr(97 + k) for k in range(len(rows))],
            "entity_type": ["person"] * len(rows),
            "name": names,
            "attributes": [json.dumps(given) for given in attributes],
        }
    )
    declared = {"person": properties} if properties else {}
    settings = Settings.model_validate({"operations": {"dedupe_entities": {"identity": declared}}})
    return match_entities(table, settings)


@pytest.mark.parametrize(
    ("key", "a", "b", "expected"),
    [
        ("email", "Ann@Acme.org ", "ann@acme.org", SAME),
        ("email", "ann@acme\u200b.org", "ANN@ACME.ORG", SAME),
        ("email", "mailto:ann@acme.org", "ann@acme.org", SAME),
        ("email", "ann.lee@acme.org", "annlee@acme.org", DIFFERENT),
        ("email", "ann+a@acme.org", "ann a@acme.org", DIFFERENT),
        ("email", "a@b.org", "noreply@b.org", UNKNOWN),
        ("phone", "+49 (0)30 123-4567", "0049 30 1234567", SAME),
        ("phone", "+49 30 1234567", "030 1234567", NEAR),
        ("phone", "030 1234567 ext. 5", "030 1234567", NEAR),
        ("phone", "030 1234567 x5", "030 1234567 x6", NEAR),
        ("phone", "030 1234567", "030 1234568", DIFFERENT),
        ("phone", "030 1234567", "000-000-0000", UNKNOWN),
        ("site", "https://www.acme.org/", "http://ACME.org", SAME),
        ("site", "https://a.org/v/dQw4w9", "https://a.org/v/dqw4w9", NEAR),
        ("isbn", "978-3-16-148410-0", "9783161484100", NEAR),
        ("room", "1-11", "11-1", DIFFERENT),
        ("sku", " AB  12", "ab 12", SAME),
        ("number", 17, 17.0, SAME),
        ("number", 17, "17", SAME),
        ("number", 17, 18, DIFFERENT),
        ("number", 17, True, UNKNOWN),
        ("number", 17, {"of": 18}, UNKNOWN),
        ("code", "n/a", "N/A", UNKNOWN),
        ("code", "-", "-", UNKNOWN),
        ("code", "Unknown", "x1", UNKNOWN),
        ("code", "xxx", "xxx", UNKNOWN),
        ("code", "", "x1", UNKNOWN),
        ("emails", ["a@b.org", "c@b.org"], ["C@b.org", "a@b.org"], SAME),
        ("emails", ["a@b.org"], "A@b.org", SAME),
        ("emails", ["a@b.org", "c@b.org"], "a@b.org", NEAR),
        ("emails", ["a@b.org", "c@b.org"], ["d@b.org", "e@b.org"], DIFFERENT),
        ("emails", ["a@b.org", "n/a"], "a@b.org", SAME),
    ],
)
def test_relation_of_two_values_ignores_case_space_and_placeholders(
    key: str, a: object, b: object, expected: int
) -> None:
    assert relation({key: a}, {key: b}, key) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"firm": "Acme", "number": 1}, {"Firm": "ACME", "Number": "1"}, SAME),
        ({"firm": "Acme", "number": 1}, {"firm": "Acme", "number": 2}, DIFFERENT),
        ({"firm": "Acme", "number": 1}, {"firm": "Acme"}, UNKNOWN),
        ({"firm": "Acme", "number": 1}, {"firm": "Bolt"}, DIFFERENT),
    ],
)
def test_several_properties_are_the_identity_together(
    a: dict[str, object], b: dict[str, object], expected: int
) -> None:
    assert relation(a, b, "firm", "number") == expected


def test_rows_of_an_undeclared_type_have_no_identity() -> None:
    """Only the declared type is concerned, and types with other properties are not compared by them."""
    rows = ['{"email": "a@b.org"}'] * 3
    identity = Identity.from_rows(["person", "firm", "sensor"], rows, {"person": ["email"], "sensor": ["email", "mac"]})
    assert identity is not None
    assert identity.relation(np.array([0, 0, 1]), np.array([1, 2, 2])).tolist() == [UNKNOWN] * 3
    assert Identity.from_rows(["person"], rows[:1], {}) is None


def test_equal_identity_merges_whatever_the_names_are() -> None:
    """Names of two people, or two numbers, are asked about or vetoed without the declaration."""
    rows: list[Row] = [("Ann Lee", {"email": "ann@acme.org"}), ("A. Smith-Jones 2", {"email": "ANN@acme.org"})]
    assert matched(rows).merges == ()
    found = matched(rows, "email")
    assert found.merges == (("a", "b"),)
    (pair,) = found.explain_all([("a", "b")])
    assert pair.probability > 0.999
    assert pair.reason.startswith("The values of email are equal")
    assert sum(float(str(step["weight"])) for step in pair.waterfall) == pytest.approx(20, abs=0.01)


def test_different_identity_is_a_veto_that_the_reason_names() -> None:
    """Two rows that agree in everything else merge without the declaration and are not even asked about with it."""
    rows: list[Row] = [
        ("Ann Katharina Lee", {"badge": "7", "phone": "030 1234567", "born": "1990-02-03"}),
        ("Ann Katharina Lee", {"badge": "8", "phone": "030 1234567", "born": "1990-02-03"}),
    ]
    assert matched(rows).merges == (("a", "b"),)
    found = matched(rows, "badge")
    assert (found.merges, found.review) == ((), ())
    assert found.counts["vetoed by identity"] == 1
    assert found.explain("a", "b").reason.startswith("The values of badge differ")


def test_missing_values_fall_back_to_the_ordinary_evidence() -> None:
    rows: list[Row] = [("Ann Lee", {"email": "ann@acme.org"}), ("Ann Lee", {})]
    assert matched(rows, "email").review == matched(rows).review != ()


def test_a_row_without_identity_joins_no_two_rows_with_different_ones() -> None:
    """The row in the middle agrees with both in all it states, and the two must not meet in its cluster."""
    shared = {"phone": "030 1234567", "born": "1990-02-03"}
    rows: list[Row] = [
        ("Ann Katharina Lee", {**shared, "badge": "7"}),
        ("Ann Katharina Lee", shared),
        ("Ann Katharina Lee", {**shared, "badge": "8"}),
    ]
    assert matched(rows).merges == (("a", "b", "c"),)
    assert all(not {"a", "c"} <= set(ids) for ids in matched(rows, "badge").merges)


def test_lists_that_overlap_are_asked_about_and_never_merged_unasked() -> None:
    """One list that names two people's addresses must not join them."""
    rows: list[Row] = [
        ("Ann Katharina Lee", {"email": ["ann@acme.org", "bob@acme.org"], "born": "1990-02-03"}),
        ("Ann Katharina Lee", {"email": "ann@acme.org", "born": "1990-02-03"}),
    ]
    found = matched(rows, "email")
    assert found.merges == ()
    assert [(pair.a, pair.b) for pair in found.review] == [("a", "b")]
    assert found.explain("a", "b").reason == NOTATION


@pytest.mark.parametrize(("rows", "merges"), [(MOST_ROWS, 1), (MOST_ROWS + 1, 0)])
def test_a_value_of_many_rows_is_no_evidence_and_reported_with_its_rows(rows: int, merges: int) -> None:
    """The address of a department: neither its rows merge, nor does it keep one of them from a person's own address."""
    names = ("Ann Lee", "Bob Marsh", "Cleo Dahl", "Dirk Ohm", "Edna Falk", "Finn Gray")
    given: list[Row] = [(name, {"email": "info@acme.org"}) for name in names[:rows]]
    found = matched([*given, (names[0], {"email": "ann@acme.org"})], "email")
    assert len(found.merges) == merges
    assert found.identity is not None
    assert [(v.name, v.value, len(v.rows)) for v in found.identity.ignored] == (
        [] if merges else [("email", "info@acme.org", rows)]
    )
    assert (found.counts["vetoed by identity"] > 0) == (merges > 0)


def test_a_whole_identity_of_many_rows_is_no_evidence_but_a_common_part_is() -> None:
    """Hundreds of people work at one firm; a firm and a number that many rows have is a placeholder."""
    rows = [json.dumps({"firm": "Acme", "number": k}) for k in range(20)]
    rows += [json.dumps({"firm": "Acme", "number": 99})] * (MOST_ROWS + 1)
    identity = Identity.from_rows(["person"] * len(rows), rows, {"person": ["firm", "number"]})
    assert identity is not None
    assert [(v.name, v.value, len(v.rows)) for v in identity.ignored] == [
        ("firm and number", "Acme, 99", MOST_ROWS + 1)
    ]
    assert identity.relation(np.array([0, 0, 20]), np.array([1, 20, 21])).tolist() == [DIFFERENT, UNKNOWN, UNKNOWN]


def test_placeholders_are_reported_with_their_rows() -> None:
    found = matched(
        [("Ann Lee", {"email": "n/a"}), ("Bob Marsh", {"email": "N/A"}), ("Cleo Dahl", {"email": "-"})], "email"
    )
    assert found.identity is not None
    assert [(v.value, v.rows, v.placeholder) for v in found.identity.ignored] == [
        ("n/a", (0, 1), True),
        ("-", (2,), True),
    ]


def test_misspelt_types_and_properties_are_named_with_the_nearest() -> None:
    """A misspelt declaration protects nothing, so it must not stay unnoticed."""
    rows = ['{"email": "a@b.org"}', '{"Email": "c@b.org"}']
    identity = Identity.from_rows(["person"] * 2, rows, {"preson": ["email"], "Person": ["emial", "email"]})
    assert identity is not None
    type_, property_ = sorted(identity.problems, key=lambda problem: "emial" in problem)
    assert "“preson”" in type_
    assert type_.endswith("Did you mean person?")
    assert "none of its 2 rows" in property_
    assert property_.endswith("Did you mean email?")


@pytest.mark.parametrize(
    "identity", [{"person": []}, {"person": [" "]}, {"person": "email"}, {"Person": ["email"], "person": ["phone"]}]
)
def test_declarations_without_a_property_or_of_one_type_twice_are_refused(identity: object) -> None:
    with pytest.raises(ValidationError):
        DedupeEntitiesOptions.model_validate({"identity": identity})


def test_an_answer_outweighs_an_equal_identity() -> None:
    rows: list[Row] = [("Ann Lee", {"email": "ann@acme.org"}), ("Ann Lee", {"email": "ann@acme.org"})]
    found = matched(rows, "email")
    assert found.merges == (("a", "b"),)
    assert found.learn(Answers.from_triples([("a", "b", False)])).merges == ()


def test_an_answer_does_not_join_what_a_different_identity_separates() -> None:
    rows: list[Row] = [("Ann Lee", {"badge": "7"}), ("Ann Lee", {"badge": "8"})]
    assert matched(rows, "badge").learn(Answers.from_triples([("a", "b", True)])).merges == ()
    assert matched(rows).learn(Answers.from_triples([("a", "b", True)])).merges == (("a", "b"),)


BADGES = st.sampled_from(["7", "8", "9", "n/a", ["7", "8"], ["8", "9"], None])
PERSONS = st.lists(
    st.tuples(
        st.sampled_from(["Ann Katharina Lee", "Ann K. Lee", "A. Lee", "Bob Marsh", "Robert Marsh"]),
        st.fixed_dictionaries(
            {"badge": BADGES},
            optional={
                "phone": st.sampled_from(["030 1234567", "030 7654321"]),
                "born": st.sampled_from(["1990-02-03", "1991-02-03"]),
                "email": st.sampled_from(["ann@acme.org", "bob@acme.org"]),
            },
        ),
    ),
    min_size=2,
    max_size=12,
)


@given(PERSONS, st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.booleans()), max_size=4))
def test_no_cluster_holds_two_rows_with_different_identities(
    rows: list[Row], given_answers: list[tuple[int, int, bool]]
) -> None:
    """Neither directly nor through rows without an identity, and no answer of a person changes it."""
    n = len(rows)
    pairs = {(min(a, b), max(a, b)): same for a, b, same in given_answers if a != b and max(a, b) < n}
    answers = [(chr(97 + a), chr(97 + b), same) for (a, b), same in pairs.items()][:1]  # one cannot contradict itself
    found = matched(rows, "badge")
    identity = found.identity
    assert identity is not None
    for decided in (found, found.learn(Answers.from_triples(answers))):
        for ids in decided.merges:
            at = np.array([ord(id_) - 97 for id_ in ids])
            i, j = np.triu_indices(len(at), 1)
            assert DIFFERENT not in identity.relation(at[i], at[j])
    clusters = {id_: ids for ids in found.merges for id_ in ids}
    i, j = np.triu_indices(n, 1)
    for a, b in zip(*(x[identity.relation(i, j) == SAME].tolist() for x in (i, j)), strict=True):
        assert chr(97 + b) in clusters[chr(97 + a)]


@given(st.text(max_size=20))
def test_the_normal_form_of_a_normal_form_is_itself(value: str) -> None:
    """Sealed values are compared with new ones, and equal exact forms imply equal loose forms."""
    if (form := normal_form("code", value)) is not None:
        again = normal_form("code", form.exact)
        assert again is not None
        assert again.loose == form.loose
