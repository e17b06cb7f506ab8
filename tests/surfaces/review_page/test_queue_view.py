"""Samples of a kind, and what an address may choose."""

from __future__ import annotations

from slowwave.plans.review.queue import Waiting
from slowwave.surfaces.review_page.plan_pages import Chosen, queue_row, spread


def waiting(n: int) -> Waiting:
    return Waiting(str(n), "dedupe_entities", "same", "?", f"pair {n}", "low", n / 100, 0.0, None)


def test_a_sample_reaches_from_the_least_to_the_most_probable() -> None:
    """Whoever answers all of a kind has seen its ends."""
    rows = [waiting(n) for n in range(95)]
    sample = [int(w.id) for w in spread(rows, 10)]
    assert (len(set(sample)), sample[0], sample[-1], sorted(sample)) == (10, 0, 94, sample)
    assert [w.id for w in spread(rows[:3], 10)] == ["0", "1", "2"]


def test_an_address_chooses_what_there_is_and_comes_back_as_it_was() -> None:
    """What is none of ours is not passed on: it could lead elsewhere."""
    chosen = Chosen.from_parameters(
        {"risk": "high", "text": "a&b=c", "page": "3", "next": "//evil.example", "sort": ""}
    )
    assert chosen == Chosen(text="a&b=c", risk="high", page=3)
    assert chosen.query(item="x") == "text=a%26b%3Dc&risk=high&page=3&item=x"
    assert (chosen.narrow, chosen.at(1).query()) == (1, "text=a%26b%3Dc&risk=high")
    assert [Chosen.from_parameters({"page": page}).page for page in ("", "0", "-1", "x", "²", "9" * 40)] == [1] * 6


def test_a_row_says_open_until_somebody_answers() -> None:
    """With its probability as people read it."""
    row = queue_row(waiting(50), "/there")
    assert (row.said, row.sign, row.odds, row.href) == ("open", "○", "50.0 %", "/there")
