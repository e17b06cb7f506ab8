"""What nights write beside the words of a memory: the same to Python and to PostgreSQL."""

from __future__ import annotations

import pytest

from slowwave.store.connect import Store
from slowwave.text.dates import WRITTEN, own_text
from tests.memories import ask


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("We met yesterday (2026-05-02).", "We met yesterday."),
        (
            "I go there next month (about 2026-06) or in summer (2026-06/2026-08).",
            "I go there next month or in summer.",
        ),
        ("My flat is in Leeds (until 2026-04-12: “I moved to Porto”).", "My flat is in Leeds."),
        ("My flat is in Leeds (until 2026-04-12; then: “I moved to Porto”).", "My flat is in Leeds."),
        ("Mara rang from Oslo (later, on 2026-04-12: “She moved”).", "Mara rang from Oslo."),
        ("Mara rang (told before 2026-04-12).", "Mara rang."),
        ("The flat (later, on the 5th: “no”) is dark.", "The flat (later, on the 5th: “no”) is dark."),
        ("Mara rang (before 2026-04-12) (before 2026-05-01: “She’s off – for good”).", "Mara rang."),
        ("Room (12) is free (until 2026 ends).", "Room (12) is free (until 2026 ends)."),
        ("The lease (until 2026-04-12: see “Lease”) ends.", "The lease (until 2026-04-12: see “Lease”) ends."),
        ("Paid(2026-05-02), twice\n (2026-05-03)", "Paid(2026-05-02), twice\n"),
    ],
)
def test_dates_and_marks_are_no_words_of_it(store: Store, text: str, tells: str) -> None:
    assert own_text(text) == tells
    assert ask(store, "SELECT regexp_replace(%s, %s, '', 'g')", text, WRITTEN) == [(tells,)]
