"""Grounding: what a sentence adds to its sources is found, and what it only says in other words is not."""

from __future__ import annotations

import pytest

from slowwave.text.specifics import ungrounded

SOURCES = [
    "Anna Ruiz",
    "Runs the Grafana cluster at Harbor since 2024-05-06. She does not use Kibana. The office lies in the north.",
    "Anna Ruiz works at Harbor Labs with 40 people.",
]


@pytest.mark.parametrize(
    "claim",
    [
        "Anna Ruiz works at Harbor Labs.",
        "Anna Ruiz runs Grafana since May 6, 2024.",
        "Anna Ruiz does not use Kibana.",
        "The cluster is run by Anna Ruiz with 40 people.",
        "Ruiz's cluster is at Harbor.",
        "",
    ],
)
def test_other_words_for_the_same_pass(claim: str) -> None:
    """Dates in another spelling, parts of a name, the words of grammar."""
    assert ungrounded(claim, SOURCES) == ()


@pytest.mark.parametrize(
    ("claim", "added"),
    [
        ("Anna Ruiz works at Harbor Labs with 41 people.", "41 people"),
        ("Anna Ruiz runs Grafana since 2023-05-06.", "2023-05-06"),
        ("Anna Ruiz runs Grafana 11.2.0.", "11.2.0"),
        ("Anna Ruiz works with Zoe Quill.", "zoe quill"),
        ("Zanzibar hosts the cluster.", "zanzibar"),
        ("Anna Grafana runs the cluster.", "anna grafana"),
        ("Anna Ruiz does not run the cluster.", "not run"),
        ("Anna Ruiz refuses the cluster.", "not cluster"),
        ("Anna Ruiz uses Kibana.", "not use"),
        ("The office lies in the south.", "south"),
        ("Write to anna@harbor.example.", "anna@harbor.example"),
    ],
)
def test_what_is_added_is_named(claim: str, added: str) -> None:
    """Numbers, dates, versions, names, addresses, a "not" too many or too few, the opposite term."""
    assert added in ungrounded(claim, SOURCES)


def test_without_sources_only_grammar_stands() -> None:
    """Whatever is specific is foreign."""
    assert ungrounded("She is there.", []) == ()
    assert ungrounded("Anna is 40.", []) == ("40", "anna")


@pytest.mark.timeout(120)  # a pattern that goes back over the text takes far longer
def test_hostile_lengths_take_no_time() -> None:
    """Memory text is untrusted, and so is what a model makes of it."""
    ungrounded("Aa1-" * 5_000, ["not " * 20_000, "A. " * 20_000])
