"""The text of a topic: everything that was said, once, with its days, and what holds now first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slowwave.operations.planners.topic_memories import TopicLine, read_topic, render_topic
from slowwave.text.sentences import sentences
from slowwave.text.tokens import normalise_name

_SAID = st.lists(
    st.sampled_from(
        (
            *(
                "I live in Bergen.",
                "As I said, I live in Bergen, so the ferry matters.",
                "I live in Bergen!",
                "It rains.",
            ),
            *("I live in Bergen, with a cat.", "As I said, I live in Bergen.", "The ferry is late, and it rains."),
        )
    ),
    min_size=1,
    max_size=3,
    unique=True,
).map(" ".join)
_DAY = st.sampled_from(("2026-01-02", "2026-01-09", "2026-02-03"))
_LINES = st.lists(
    st.builds(
        TopicLine,
        _DAY,
        _SAID,
        st.integers(0, 99).map(lambda n: (str(n),)),
        st.just(()),
        st.sampled_from(("", "", "2026-02-05")),
    ),
    min_size=1,
    max_size=7,
    unique_by=lambda line: line.ids,
)


def clauses(text: str) -> list[str]:
    return [normalise_name(c) for s in sentences(text) for c in s.replace("As I said, ", "").split(", ")]


@given(_LINES)
def test_every_sentence_of_every_source_is_told_with_its_day_its_end_and_its_source(lines: list[TopicLine]) -> None:
    """By a line that cites it, of its day or that names its day besides."""
    text = render_topic("Mara", ["home"], lines)
    for line in lines:
        telling = [t for t in text.lines if line.ids[0] in t.ids and t.until == line.until]
        assert telling
        assert any(line.day == t.day or line.day in t.also for t in telling)
        said = {c for t in telling for c in clauses(t.said)}
        assert said >= set(clauses(line.said))
    assert {id_ for t in text.lines for id_ in t.ids} == {id_ for line in lines for id_ in line.ids}


@given(_LINES)
def test_a_text_is_read_as_it_was_written(lines: list[TopicLine]) -> None:
    """So that what comes later is put into it; one that says something else by now is not read."""
    text = render_topic("Mara", ["home", "ferry"], lines)
    ids = [line.ids for line in text.lines]
    assert read_topic(str(text), ids) == text
    assert read_topic(str(text) + "\nBy the way.", ids) is None
    assert read_topic(str(text) + "\nBy the way.", [*ids, ("x",)]) is None


@given(_LINES)
def test_what_is_written_again_stays_as_it_is(lines: list[TopicLine]) -> None:
    """Order and repetitions are settled the first time."""
    text = render_topic("Mara", ["home"], lines)
    assert render_topic("Mara", ["home"], text.lines) == text


def test_what_holds_now_comes_first_and_what_is_over_says_until_when() -> None:
    """All since the last change, then all before it, in the order of time."""
    lines = [
        TopicLine("2026-01-05", "I live in Leeds.", ("a",), until="2026-03-01"),
        TopicLine("2026-02-01", "It rains in Leeds.", ("b",)),
        TopicLine("2026-03-01", "I moved to Bergen.", ("c",)),
        TopicLine("2026-04-01", "I moved to Bergen.", ("d",)),
        TopicLine("2026-04-02", "It rains in Bergen.", ("e",)),
    ]
    assert str(render_topic("rita", ["home", "rains"], lines)).split("\n") == [
        "About rita: home, rains.",
        "2026-03-01: I moved to Bergen. (also 2026-04-01)",
        "2026-04-02: It rains in Bergen.",
        "2026-01-05: I live in Leeds. (until 2026-03-01)",
        "2026-02-01: It rains in Leeds.",
    ]


def test_where_nothing_was_told_since_the_last_end_what_lasts_comes_first() -> None:
    """Something ended, and nothing took its place."""
    lines = [
        TopicLine("2026-01-05", "I rent a boat.", ("a",), until="2026-03-01"),
        TopicLine("2026-02-01", "My boat is red.", ("b",)),
    ]
    assert [line.ids for line in render_topic("rita", ["boat"], lines).lines] == [("b",), ("a",)]


def test_what_is_said_with_a_condition_is_not_told_by_what_is_said_without() -> None:
    """Only what goes on with "so", "and" or "which" says all of it; a sentence that follows another one stays with it."""
    lines = [
        TopicLine("2026-01-01", "I take the ferry.", ("a",)),
        TopicLine("2026-01-02", "I take the ferry, if it runs.", ("b",)),
        TopicLine("2026-01-03", "I take the ferry. It is cheap.", ("c",)),
        TopicLine("2026-01-04", "I take the ferry, so I sleep less.", ("d",)),
    ]
    told = [line.said for line in render_topic("rita", ["ferry"], lines[:2]).lines]
    assert told == [line.said for line in lines[:2]]
    told = [line.said for line in render_topic("rita", ["ferry"], lines).lines]
    assert told == [
        "I take the ferry, if it runs.",
        "I take the ferry. It is cheap.",
        "I take the ferry, so I sleep less.",
    ]
