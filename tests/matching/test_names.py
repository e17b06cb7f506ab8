"""Names in their forms: what is the same name, and what is not."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.matching.names import Names, fold, fold_all, prepare


def equal(form: str, *names: str) -> bool:
    """Whether all names have one form, and have it at all."""
    codes = getattr(prepare(names), form)
    return bool((codes == codes[0]).all() and codes[0] >= 0)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Café  Zoë", "cafe zoe"),
        ("O'Brien & Sons, Inc.", "obrien and sons inc"),
        ("C++", "c++"),
        ("Søren Kjær", "soren kjaer"),
        ("Straße", "strasse"),
        ("İstanbul", "istanbul"),
        ("Пётр Чайковский", "pyotr chaykovskiy"),
        ("Щербак, Юлія", "shcherbak yuliya"),
        ("Νίκος Παπαδόπουλος", "nikos papadopoulos"),
        ("北京大学", "北京大学"),
        ("???", "???"),
        ("", ""),
    ],
)
def test_folding_keeps_the_letters_that_tell_names_apart(text: str, folded: str) -> None:
    """Accents, case and punctuation go; an alphabet becomes Latin, a script whose words share sounds does not."""
    assert fold(text) == folded


@given(st.lists(st.text(max_size=30), max_size=8))
def test_many_names_fold_as_one_does(texts: list[str]) -> None:
    """Folding token by token is folding the whole."""
    assert fold_all(pa.array(texts, pa.string())).to_pylist() == [fold(t) for t in texts]


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("plain", ("Reyes, Mara", "Mara Reyes", "MARA  REYES")),
        ("plain", ("Smith, John, Jr.", "John Smith Jr")),
        ("compact", ("OpenTelemetry", "Open Telemetry", "open-telemetry")),
        ("compact", ("Northwind Ltd", "Northwind, Inc.", "Northwind GmbH", "The Northwind")),
        ("compact", ("Dr. Mara Reyes", "Mara Reyes PhD")),
        ("ordered", ("Reyes Mara", "Mara Reyes")),
        ("family", ("J. Smith", "John Smith", "Smith J", "Smith J R", "James Q. Smith Jr.")),
        ("ends", ("Debra Wright", "Debra T. Wright", "Debra Anne Wright")),
        ("nickname", ("Bob Marsh", "Robert Marsh", "Bobby Marsh")),
    ],
)
def test_other_ways_to_write_a_name_share_a_form(form: str, names: tuple[str, ...]) -> None:
    """Order, spaces, titles, legal forms, initials, middle names, short forms."""
    if form == "nickname":
        codes = prepare(names).nickname
        assert set.intersection(*({int(c) for c in row if c >= 0} for row in codes))
    else:
        assert equal(form, *names)


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("plain", ("Boats, Inc.", "Inc Boats")),  # a legal form is no first name
        ("plain", ("Oslo, Lima, Quito", "Quito Oslo Lima")),  # nor is a list a name turned round
        ("compact", ("Mara Reyes", "Mara Reyes Jr")),  # a father and his son
        ("ordered", ("Mara Reyes", "Mara Reyes Reyes")),
        ("plain", ("C", "C++")),
    ],
)
def test_what_differs_stays_apart(form: str, names: tuple[str, ...]) -> None:
    """Forms forget how a name is written, not what it says."""
    assert not equal(form, *names)


def test_an_acronym_is_looked_up_among_the_names_that_may_be_one() -> None:
    """Initials that nobody uses as a name pair nothing."""
    names = prepare(
        ["IBM", "International Business Machines", "I.B.M.", "Parent Teacher Association Meeting", "PTA Meeting", "Ulm"]
    )
    assert names.short[0] == names.short[2] == names.acronym[1][0] >= 0
    assert names.short[4] in names.acronym[3]
    assert (prepare(["International Business Machines", "Mara Reyes"]).acronym == -1).all()


def test_a_namespace_in_small_letters_has_acronyms_too() -> None:
    """Where no name has a capital, small letters say nothing against an acronym."""
    names = prepare(["ibm", "international business machines"])
    assert names.short[0] == names.acronym[1][0] >= 0


def test_initials_are_known_as_such() -> None:
    """What is abbreviated matters: "J Smith" may be John, John is not James."""
    names = prepare(["J. Smith", "John Smith", "Smith J R", "Pier 4"])
    assert names.lettered.tolist() == [True, False, True, False]
    assert names.abbreviated.tolist() == [True, False, False, False]
    assert names.family[3] == -1


def test_names_without_a_word_or_none_at_all() -> None:
    """Nothing breaks on what extractors leave behind."""
    names = prepare(["", " ", ",", "???", "a" * 3000])
    assert names.plain.tolist()[:2] == [-1, -1]
    assert names.length.tolist()[-1] == 3000
    assert isinstance(prepare([]), Names)
    assert prepare([]).nickname.shape[0] == 0
