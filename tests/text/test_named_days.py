"""Days of the calendar that a question about the past names."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.date_context import named_days

TODAY = date(2026, 6, 10)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("On May 4th, I told you about a trip. Where did I go?", "2026-05-04", "2026-05-04"),
        ("What did we say on 4 May?", "2026-05-04", "2026-05-04"),
        ("What did I cook on the 4th of May?", "2026-05-04", "2026-05-04"),
        ("What was decided on July 1?", "2025-07-01", "2025-07-01"),
        ("What was decided on Jul 1, 2024?", "2024-07-01", "2024-07-01"),
        ("Who called on 2026-06-02?", "2026-06-02", "2026-06-02"),
        ("Who called in 2026-06?", "2026-06-01", "2026-06-30"),
        ("Which books did I read in March?", "2026-03-01", "2026-03-31"),
        ("Which books did I read in Nov.?", "2025-11-01", "2025-11-30"),
        ("Where was I in February 2024?", "2024-02-01", "2024-02-29"),
        ("Where was I in 2024?", "2024-01-01", "2024-12-31"),
        ("What was poured and drunk with tea on May 4th, 2026?", "2026-05-04", "2026-05-04"),
        ("What happened on Feb 29, 2024?", "2024-02-29", "2024-02-29"),
    ],
)
def test_a_day_month_or_year_of_the_past_is_read(text: str, first: str, last: str) -> None:
    assert named_days(text, TODAY) == (date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(
    "text",
    [
        "What will I do in March?",  # what is to come was not said then
        "What is due on May 4th?",
        "In which month is my holiday?",
        "Did I march in the parade?",
        "What may I have said?",
        "Who said that at 4:05?",
        "What happened on February 30?",
        "What did I pay, 2024 or 2030 euros?",
        "What did I read on 4/5/2025?",
        "Did I order may 12 roses?",
        "",
    ],
)
def test_what_names_no_day_of_the_past_names_none(text: str) -> None:
    assert named_days(text, TODAY) is None


@given(st.text(alphabet="onMay March 4th 2026-05-31,.? did said Sept", max_size=60))
def test_any_text_has_an_answer_and_no_day_without_a_year_is_to_come(text: str) -> None:
    found = named_days(text, TODAY)
    assert found is None or found[0] <= found[1]
    assert found is None or found[0] <= TODAY or str(found[0].year) in text
