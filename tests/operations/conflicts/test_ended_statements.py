"""Sentences of longer memories that a later memory says are over."""

from __future__ import annotations

from datetime import timedelta

from slowwave.operations.conflicts.find import ended_statements, find_conflicts
from slowwave.store.settings import Settings
from tests.operations.conflicts.test_memories import world
from tests.operations.conflicts.test_news import OLD, said
from tests.snapshots import uid

LONGER, SOLD = "The garage is full. I drive a Fiat Panda.", "I sold the Fiat Panda and bought a Kia Niro."


def ended(*memories: dict[str, object]) -> list[tuple[str, str]]:
    """Sentences and what ended them."""
    return [(e.sentence, e.said) for e in ended_statements(world(*memories))]


def test_the_sentence_that_is_over_is_found_and_what_says_so() -> None:
    """Not the others of its memory; of two that say it the first counts."""
    later = (said("c", f"Hi! {SOLD}", 9), said("d", "The Fiat Panda is gone.", 12))
    (one,) = ended_statements(world(said("a", LONGER), *later))
    assert (one.memories, one.sentence, one.later, one.said, one.since) == (
        (uid("a"),),
        "I drive a Fiat Panda.",
        uid("c"),
        SOLD,
        OLD + timedelta(days=9),
    )


def test_a_memory_that_says_nothing_else_is_a_conflict_instead() -> None:
    assert ended(said("a", "I drive a Fiat Panda."), said("b", SOLD, 9)) == []


def test_one_of_several_things_of_a_sentence_is_marked() -> None:
    assert ended(said("a", "I play the cello and the oboe."), said("b", "I gave up the cello.", 9)) == [
        ("I play the cello and the oboe.", "I gave up the cello.")
    ]


def test_a_relation_that_has_another_object_now_ends_the_sentence_that_states_it() -> None:
    """Instead of a question to a person, unless such sentences are not to be marked."""
    memories = said("a", "It rains a lot. I live in Oslo."), said("b", "Good news: I live in Bergen now.", 9)
    assert ended(*memories) == [("I live in Oslo.", "Good news: I live in Bergen now.")]
    off = Settings.model_validate({"operations": {"mark_ended_statements": {"enabled": False}}})
    assert find_conflicts(world(*memories), Settings()).conflicts == ()
    (conflict,) = find_conflicts(world(*memories), off).conflicts
    assert conflict.doubtful


def test_a_relation_without_a_word_of_change_is_for_a_person() -> None:
    """Nothing ends; the later statement is noted next to the sentence, if a person agrees."""
    memories = said("a", "It rains a lot. I live in Oslo."), said("b", "I live in Bergen.", 9)
    assert not find_conflicts(world(*memories), Settings()).conflicts
    (one,) = ended_statements(world(*memories))
    assert (one.sentence, one.said, one.holds) == ("I live in Oslo.", "I live in Bergen.", True)


def test_other_audiences_authors_and_orders_end_nothing() -> None:
    """What is quoted must be for whom the memory is for."""
    for more in ({"visibility": "public"}, {"sensitivity": "health"}, {"scope": "two"}, {"author": "ben"}):
        assert ended(said("a", LONGER), said("b", SOLD, 9, **more)) == [], more
    assert ended(said("a", LONGER, 12), said("b", SOLD, 9)) == []


def test_copies_of_a_memory_are_marked_together_and_marked_ones_are_left() -> None:
    copies = said("a", LONGER), said("b", LONGER, 1)
    assert [len(e.memories) for e in ended_statements(world(*copies, said("c", SOLD, 9)))] == [2]
    marked = "The garage is full. I drive a Fiat Panda (until 2026-02-11; then: “I sold the Fiat Panda”)."
    assert ended(said("a", marked), said("c", SOLD, 9)) == []


def test_a_store_without_memories_has_none() -> None:
    assert ended() == []
