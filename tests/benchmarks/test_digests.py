"""The benchmark of digests makes the same sessions each time, and both planners find something in them."""

from __future__ import annotations

from benchmarks.digests import TURNS, growth, measure, sessions_of
from slowwave.text.turns import session_turns


def test_a_few_sessions_become_digests_and_claims() -> None:
    """As many turns as it says, the same each time; pages and claims of a few sessions."""
    (_, _, page), *_ = made = sessions_of(2)
    assert len(session_turns(page)) == TURNS
    assert made == sessions_of(2)
    figures = measure([2, 4])
    assert [f.sessions for f in figures] == [2, 4]
    assert all(f.pages > 0 and f.written > 0 and f.told > 0 for f in figures)
    assert growth(figures) < 3
