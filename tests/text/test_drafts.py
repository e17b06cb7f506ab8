"""``slowwave.text.drafts``: a draft states a thing only as one clause of a source does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.drafts import unsupported

NAMES = ("Ann Lee", "Bob Ray", "Rita Falk", "Otto Beck")
THINGS = ("hens", "boats", "lamps", "nets", "kites")
VERBS = ("keeps", "repairs", "sells", "paints")


@pytest.mark.parametrize(
    ("draft", "sources"),
    [
        (
            "Bob Ray likes green tea. Ann Lee likes black coffee.",
            ["Ann Lee likes green tea.", "Bob Ray likes black coffee."],
        ),
        ("The cellar is damp and the attic is dry.", ["The cellar is dry and the attic is damp in winter."]),
        ("The attic is damp. It is cold.", ["The cellar is dry. It is cold.", "The attic is damp."]),
        ("Ann Lee has 3 goats.", ["Ann Lee has 3 cats and feeds the goats daily."]),
        ("Ann Lee runs 5 miles.", ["Ann Lee runs 5 km."]),
        ("It weighs 300 kg.", ["It weighs almost 300 kg."]),
        ("All hens of Ann lay eggs.", ["Some hens of Ann lay eggs."]),
        ("Ann Lee keeps ducks.", ["Ann Lee does not sell eggs.", "Ann Lee does not keep ducks."]),
        ("Ann Lee does not sell eggs.", ["Ann Lee sells eggs, not milk."]),
        ("Ann Lee sells eggs.", ["Ann Lee stopped selling eggs in May."]),
        ("Ann Lee sells eggs.", ["Bob Ray said that Ann Lee sells eggs."]),
        ("Ann Lee sells eggs.", ["Does Ann Lee sell eggs?"]),
        ("Ann Lee sells eggs.", ["Ann Lee sells eggs, Bob thinks."]),
        ("Ann Lee moves to Oslo.", ["Ann Lee might move to Oslo."]),
        ("Ann Lee buys a boat.", ["Ann Lee wants to buy a boat."]),
        ("Ann Lee is a nurse.", ["Ann Lee was a nurse."]),
        ("Ann Lee moved from Oslo.", ["Ann Lee moved to Oslo."]),
        ("Ann Lee mends nets.", ["Ann Lee's brother mends nets."]),
        ("Ann Lee lives in Oslo.", ["I live in Oslo."]),
        ("Ann Lee paints in the barn with her husband.", ["Ann Lee paints in the barn."]),
        ("Ann Lee painted yesterday.", ["Ann Lee painted."]),
        ("Ann Lee keeps hens and cats.", ["Ann Lee keeps hens.", "Ann Lee hates cats."]),
        ("Ann Lee peint dans la grange.", ["Ann Lee paints in the barn."]),
        ("Ann Lee cuida gallinas.", ["Ann Lee keeps hens."]),
        ("Ann Lee met Otto. He sings.", ["Ann Lee met Otto.", "Bob Ray sings."]),
    ],
)
def test_a_clause_that_no_source_clause_supports_is_found(draft: str, sources: list[str]) -> None:
    """Every word is a source's, or only one is new: the clause alone shows it."""
    assert unsupported(draft, sources)


@pytest.mark.parametrize(
    ("draft", "sources"),
    [
        (
            "Rita Falk keeps 12 hens. She does not sell eggs.",
            ["Rita Falk keeps 12 hens.", "Rita Falk does not sell eggs."],
        ),
        ("Ann Lee likes green tea and black coffee.", ["Ann Lee likes green tea.", "Ann Lee likes black coffee."]),
        ("Ann Lee and Bob Ray keep hens.", ["Ann Lee keeps hens.", "Bob Ray keeps hens."]),
        (
            "Ann Lee, who works as a nurse, moved to Oslo in 2021.",
            ["Ann Lee moved to Oslo in 2021.", "Ann Lee works as a nurse."],
        ),
        ("12 hens were sold to Otto by Rita.", ["Rita sold 12 hens to Otto."]),
        ("Ann Lee has run it since 6 May 2019.", ["Ann Lee has run it since 2019-05-06."]),
        ("Ann Lee keeps twelve hens.", ["Ann Lee keeps 12 hens in a barn."]),
        ("Ann Lee does not sell eggs.", ["Ann Lee doesn't sell eggs."]),
        ("I live in Oslo.", ["I live in Oslo near the port."]),
    ],
)
def test_another_form_of_a_source_clause_is_supported(draft: str, sources: list[str]) -> None:
    """Joined, shortened at its end, turned into a passive, or with the number and date in another spelling."""
    assert unsupported(draft, sources) == ""


@st.composite
def statements(draw: st.DrawFn) -> list[tuple[str, str, str, int, str]]:
    """Statements of different people: name, negation, verb, number and thing."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True))
    numbers = draw(st.lists(st.integers(2, 99), min_size=4, max_size=4, unique=True))
    things = draw(st.permutations(THINGS))
    return [
        (name, draw(st.sampled_from(("", "not "))), draw(st.sampled_from(VERBS)), numbers[k], things[k])
        for k, name in enumerate(names)
    ]


def written(said: list[tuple[str, str, str, int, str]]) -> list[str]:
    """Return a sentence for each statement."""
    return [
        f"{name} does not {verb.removesuffix('s')} {number} {thing}."
        if negation
        else f"{name} {verb} {number} {thing}."
        for name, negation, verb, number, thing in said
    ]


@given(statements(), st.data())
def test_a_changed_number_name_negation_or_thing_is_never_supported(
    said: list[tuple[str, str, str, int, str]], data: st.DataObject
) -> None:
    """The sentences in any order are supported; with one part changed, or exchanged between two of them, they are not."""
    sources = written(said)
    assert unsupported(" ".join(data.draw(st.permutations(sources))), sources) == ""
    k = data.draw(st.integers(0, len(said) - 1))
    other = said[(k + 1) % len(said)]
    name, negation, verb, number, thing = said[k]
    changed = data.draw(
        st.sampled_from(
            [
                (other[0], negation, verb, number, thing),
                (name, "" if negation else "not ", verb, number, thing),
                (name, negation, verb, other[3], thing),
                (name, negation, verb, number + 100, thing),
                (name, negation, verb, number, other[4]),
                (name, negation, "guards", number, thing),
            ]
        )
    )
    drafts = [*said]
    drafts[k] = changed
    assert unsupported(" ".join(written(drafts)), sources)
