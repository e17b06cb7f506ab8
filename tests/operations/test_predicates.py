"""Which predicates take one object is read from the facts, and only where they bear it out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import pyarrow as pa
import pytest

from slowwave.operations.scoring import Predicate, weigh

Told = Iterable[tuple[str, str, str]]


def columns(told: Told) -> tuple[pa.Array, pa.Array, pa.Array]:
    rows = list(told)
    subject, predicate, object_ = (pa.array([r[n] for r in rows], pa.string()) for n in range(3))
    return subject, predicate, object_


def verdicts(told: Told) -> dict[str, str]:
    return {p.key: p.verdict for p in weigh(*columns(told))}


def single(told: Told) -> set[str]:
    return {spelling for p in weigh(*columns(told)) if p.verdict == "single" for spelling in p.spellings}


def test_a_predicate_told_again_with_the_same_object_takes_one() -> None:
    """Twelve people are told of twice, and each time the same; another spelling of the predicate is the same predicate."""
    told = [(f"p{n}", said, f"city {n % 3}") for n in range(12) for said in ("born in", "Born_in")]
    assert verdicts(told) == {"born in": "single"}
    assert single(told) == {"born in", "Born_in"}


def test_a_predicate_that_every_subject_has_once_takes_one() -> None:
    """Chance would give most of thirty subjects a second object; one has it."""
    told = [(f"p{n}", "born in", f"city {n}") for n in range(30)]
    assert verdicts([*told, ("p3", "born in", "another")]) == {"born in": "single"}


def test_a_predicate_that_few_subjects_have_says_nothing() -> None:
    """Thirty of three thousand: a second object would be rare by chance as well."""
    others = [(f"p{n}", "is", f"thing {n}") for n in range(3000)]
    told = [(f"p{n}", "knows", f"p{n + 1}") for n in range(30)]
    assert verdicts(chain(others, told)) == {"is": "single", "knows": "unknown"}


def test_a_predicate_of_which_subjects_have_several_objects_takes_many() -> None:
    """Five subjects with several objects are enough to say so, whatever the share."""
    told = [(f"p{n}", "likes", f"thing {k}") for n in range(12) for k in range(1 + n % 2)]
    assert verdicts(told) == {"likes": "many"}
    assert single(told) == set()


def test_four_exceptions_among_few_are_no_evidence_either_way() -> None:
    """Neither single nor many: a person may be asked."""
    told = [("a", "works at", "x"), ("a", "works at", "y"), ("b", "works at", "x"), ("c", "works at", "z")]
    assert verdicts(told) == {"works at": "unknown"}


def test_objects_that_differ_in_spelling_only_are_one() -> None:
    """Else every restatement would count as another object."""
    told = [(f"p{n}", "born in", said) for n in range(12) for said in ("New York", "new-york.")]
    assert verdicts(told) == {"born in": "single"}


def test_the_evidence_is_told_in_numbers() -> None:
    """Golden: 30 of 60 subjects, so a mean of ln 2, and 1 - ln 2 of the covered have a second object by chance."""
    told = [(f"p{n}", "born in", f"c{n}") for n in range(30)] + [(f"q{n}", "is", "x") for n in range(30)]
    (born,) = (p for p in weigh(*columns(told)) if p.key == "born in")
    assert (born.subjects, born.single, born.restated, born.repeated, born.share) == (30, 30, 0, 0, 1.0)
    assert born.expected == pytest.approx(1 - 0.6931471805599453)
    assert born.to_json()["expected_with_several"] == pytest.approx(0.3069, abs=1e-4)


def test_chance_is_beaten_by_chernoffs_bound() -> None:
    """Golden: of n subjects none has a second object and 10 % would: exp(-n · ln(1/0.9)) ≤ 1/100 from n = 44 on."""

    def predicate(n: int) -> Predicate:
        return Predicate("p", ("p",), n, n, 0, 0, 0.1)

    assert [predicate(n).verdict for n in (43, 44)] == ["unknown", "single"]


def test_nothing_is_said_of_nothing() -> None:
    """Empty columns."""
    assert weigh(*columns([])) == ()
    assert single([]) == set()
