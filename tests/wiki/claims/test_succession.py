"""Which of several statements held when does not depend on the order in which they were said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from slowwave.wiki.claims.claim import Period, Succession, succession

FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: int) -> datetime:
    return FIRST + timedelta(days=number)


def told(days: list[int]) -> dict[str, Period]:
    """Statements in the order in which they are said, each of its day."""
    standing: dict[str, Period] = {}
    for number in days:
        place = succession(day(number), standing.values())
        standing |= {id_: standing[id_]._replace(until=day(number)) for id_ in place.closes}
        standing[str(number)] = Period(str(number), day(number), place.until)
    return standing


def test_dory_a_state_of_january_that_is_told_after_that_of_march_is_history() -> None:
    """The golden case: March stays, and January ends where it begins."""
    march = Period("march", day(59), None)
    assert succession(day(0), [march]) == Succession((), day(59), "march")
    assert succession(day(70), [march]) == Succession(("march",))


@given(
    st.lists(st.integers(0, 60), unique=True, min_size=1, max_size=12).flatmap(
        lambda days: st.tuples(st.just(days), st.permutations(days))
    )
)
def test_dory_any_order_of_arrival_ends_in_one_history(orders: tuple[list[int], list[int]]) -> None:
    """Each ends where the next begins, and the last one stands."""
    one, other = map(told, orders)
    assert one == other
    in_time = sorted(one.values(), key=lambda p: p.since)
    assert all(a.until == b.since for a, b in pairwise(in_time))
    assert in_time[-1].until is None


@given(st.lists(st.integers(0, 20), min_size=1, max_size=12))
def test_of_those_that_begin_at_once_the_last_one_said_holds(days: list[int]) -> None:
    """However often a day comes: at any instant one statement holds at the most, and none ends before it begins."""
    standing: list[Period] = []
    for n, number in enumerate(days):
        place = succession(day(number), standing)
        standing = [p._replace(until=day(number)) if p.id in place.closes else p for p in standing]
        standing.append(Period(str(n), day(number), place.until))
    for number in days:
        assert sum(p.since <= day(number) and (p.until is None or p.until > day(number)) for p in standing) == 1
    assert all(p.until is None or p.until >= p.since for p in standing)
