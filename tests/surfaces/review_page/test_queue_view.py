"""Rows of the queue, and the choices that an address may make."""

from __future__ import annotations

from slowwave.plans.review.queue import Waiting
from slowwave.surfaces.review_page.plan_pages import Chosen, queue_row


def waiting(n: int) -> Waiting:
    return Waiting(str(n), "dedupe_entities", "same", "?", f"pair {n}", "low", n / 100, 0.0, None)


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
