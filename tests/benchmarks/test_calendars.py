"""Generated conversations: every fact is told, the last value answers, and rows are judged by what they tell."""

from __future__ import annotations

from datetime import UTC, datetime

from benchmarks.calendars import DAYS, FACTS, Asked, Conversation, conversations

END = datetime(2026, 6, 1, tzinfo=UTC)


def first() -> Conversation:
    return next(conversations(1, END))


def test_the_same_conversations_every_time() -> None:
    """Of a number and an end, so that figures can be compared."""
    assert first() == first()
    one, other = conversations(2, END)
    assert one.turns != other.turns


def test_every_answer_and_every_stale_value_is_told_in_its_time() -> None:
    """A hundred facts, the value at the end told after those before it; days follow each other up to the end."""
    talk = first()
    assert len(talk.asked) == FACTS
    for asked in talk.asked:
        told = [t.at for t in talk.turns if asked.tells(t.text, talk.others)]
        stale = [t.at for t in talk.turns if asked.misleads(t.text, talk.others)]
        assert told
        assert not asked.stale or min(stale) < min(told)
    days = sorted({t.at.date() for t in talk.turns})
    assert (len(days), days[-1]) == (DAYS, END.date())
    assert {t.role for t in talk.turns} == {"user", "assistant"}


def test_a_row_is_judged_by_whom_and_what_it_names() -> None:
    """The old value beside the new one is history; another person's is none of it."""
    asked = Asked("Which town does Mara live in?", "Bergen", ("Oslo",), "Mara")
    assert asked.tells("Mara lives in Bergen.", ())
    assert not asked.tells("Nora lives in Bergen.", ())
    assert asked.misleads("Mara lives in Oslo.", ())
    assert not asked.misleads("Mara moved from Oslo to Bergen.", ())
    own = Asked("Which town do I live in?", "Bergen", ("Oslo",), "")
    assert own.tells("I live in Bergen.", ("Mara",))
    assert not own.tells("Mara lives in Bergen.", ("Mara",))
    assert not own.tells("I live in Bergenfield.", ("Mara",))
