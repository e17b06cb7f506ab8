"""Imported notes mention several proposals in one sentence, so one name is ASSOCIATED_WITH "EIP-4788" and with "EIP-2929". The audit took
such pairs for contradictions: 70 in sixty Markdown documents, all of them wrong, as were 38 of 38 elsewhere.

Line 12: ASSOCIATED_WITH edges are taken for contradictions of each other. Only types that are declared or shown to take one object conflict
by having two.
"""

from __future__ import annotations

import pytest

from slowwave.operations import AUDITS
from tests.snapshots import make_inputs, make_snapshot, uid

contradictions = AUDITS["contradictions"]

TWINS = [
    ("EIP-4788", "EIP-2929"),
    ("gate east", "gate west"),
    ("version 2.14.3", "version 2.14.4"),
    ("Plan A", "Plan B"),
]
MANY = (
    *(
        "ASSOCIATED_WITH",
        "RELATED_TO",
        "KNOWS",
        "WORKS_WITH",
        "MENTIONS",
        "CO_OCCURS_WITH",
        "LINKED_TO",
        "FRIEND_OF",
        "REFERENCES",
    ),
    *("USES", "GUARDS", "VISITED", "WORKED_ON", "INTERESTED_IN"),
)


def conflicts(edges: list[tuple[str, str, str]], **more: object) -> int:
    """How many conflicts the audit finds among edges (source, type, target)."""
    names = sorted({name for source, _, target in edges for name in (source, target)})
    snapshot = make_snapshot(
        entities=[{"id": uid(n), "name": n, "entity_type": "THING"} for n in names],
        relationships=[
            {
                "id": uid(f"edge {k}"),
                "source_entity_id": uid(source),
                "target_entity_id": uid(target),
                "relationship_type": kind,
                **{column: values[k] for column, values in more.items()},  # type: ignore[index]
            }
            for k, (source, kind, target) in enumerate(edges)
        ],
    )
    return contradictions(make_inputs(snapshot)).numbers["conflicts"]  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.parametrize("kind", MANY)
@pytest.mark.parametrize(("a", "b"), TWINS)
def test_two_things_of_nearly_one_name_may_both_be_meant(kind: str, a: str, b: str) -> None:
    """A thing has as many associates as there are."""
    assert conflicts([("SYSTEM_ADDRESS", kind, a), ("SYSTEM_ADDRESS", kind, b)]) == 0


@pytest.mark.parametrize("kind", ["ASSOCIATED_WITH", "KNOWS", "RELATED_TO"])
def test_habits_of_the_data_do_not_make_an_association_exclusive(kind: str) -> None:
    """Thirty things of which each was associated with one other, told twice; the one with two of them is no contradiction."""
    edges = [(f"who {n}", kind, f"what {n}") for n in range(30) for _ in range(2)]
    assert conflicts([*edges, ("Mara", kind, "the depot"), ("Mara", kind, "the jetty")]) == 0


def test_few_edges_to_a_subject_are_no_evidence() -> None:
    """Forty people of whom notes say once what they use: nothing says that the forty-first cannot use two things."""
    edges = [(f"who {n}", "USES", f"what {n}") for n in range(40)]
    assert conflicts([*edges, ("Mara", "USES", "the crane"), ("Mara", "USES", "the winch")]) == 0


def test_descriptions_of_an_association_complement_each_other() -> None:
    """Where two names stood together says nothing that another place could contradict."""
    says = ["Seen together on 3 May 2024.", "Seen together on 9 June 2024."]
    assert conflicts([("Mara", "ASSOCIATED_WITH", "Tom")] * 2, description=says) == 0
    assert conflicts([("Mara", "HIRED", "Tom")] * 2, description=["Hired on 3 May 2024.", "Hired on 9 June 2024."]) == 1


@pytest.mark.parametrize("kind", ["LIVES_IN", "REPORTS_TO", "MARRIED_TO", "BORN_IN"])
def test_types_that_take_one_object_still_conflict(kind: str) -> None:
    """By their words, and by what is told again and again."""
    assert conflicts([("Mara", kind, "the depot"), ("Mara", kind, "the jetty")]) == 1
    edges = [(f"who {n}", "FILED_UNDER", f"what {n}") for n in range(12) for _ in range(2)]
    assert conflicts([*edges, ("Mara", "FILED_UNDER", "the depot"), ("Mara", "FILED_UNDER", "the jetty")]) == 1
