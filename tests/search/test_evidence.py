"""Classes of evidence, confidence, warnings and copies."""

import pytest

from slowwave.search.candidates import calibration_of
from slowwave.search.priors import collapsed, confidence, evidence_class, precedence, stale_warning

BODY = "The harbour ledger is kept by Anna, who writes each ship's name, its cargo and the day on which it came in."


@pytest.mark.parametrize(
    ("path", "plane", "metadata", "kind"),
    [
        ("logs/sessions/a.md", "durable", {}, "session"),
        ("chat", "sessions", {"canonical": True}, "session"),
        ("inbox/a.md", "durable", {"canonical": True}, "inbox"),
        ("archive/a.md", "durable", {}, "archive"),
        ("people/a.md", "durable", {"status": "raw", "source_kind": "generated"}, "raw"),
        ("wiki/a.md", "durable", {"source_kind": "generated", "canonical": True}, "generated"),
        ("people/a.md", "durable", {"canonical": True}, "canonical"),
        ("people/a.md", "durable", {"canonical": "yes"}, "other"),
    ],
)
def test_the_first_class_that_fits_is_the_class(path, plane, metadata, kind):
    assert evidence_class(path, plane, metadata) == kind


@pytest.mark.parametrize(
    ("arguments", "sure"),
    [
        (("other", "exact", 0.0, 9, 0.8), "high"),
        (("other", "hybrid", 0.75, 3, 0.2), "high"),
        (("other", "hybrid", 0.75, 4, 0.2), "medium"),
        (("other", "hybrid", 0.0, 2, 0.5), "medium"),
        (("other", "hybrid", 0.3, 3, 0.9), "low"),
        (("session", "exact", 1.0, 1, 1.0), "low"),
        (("other", "hybrid", 0.05, 9, 0.2, 0.5), "medium"),
        (("other", "hybrid", 0.5, 1, 0.2, 0.42), "medium"),
        (("other", "hybrid", 0.5, 1, 0.9, 0.2), "low"),
        (("other", "hybrid", 1.0, 1, 0.9, 0.2), "low"),
        (("other", "hybrid", 1.0, 1, 0.9, 0.35), "high"),
        (("other", "hybrid", 0.6, 1, 0.2, 0.1, calibration_of("fast-use-v3")), "medium"),
        (("other", "hybrid", 0.3, 1, 0.9, 0.1, calibration_of("fast-use-v3")), "low"),
    ],
)
def test_confidence_follows_meaning_where_it_is_known_and_words_and_place_elsewhere(arguments, sure):
    assert confidence(*arguments) == sure


def test_a_page_older_than_its_timeline_warns():
    text = "# A\n\n<!-- timeline -->\n- 2026-04-20 moved\n- **2026-03-01** came"
    assert "2026-04-20" in str(stale_warning(text, {"updated": "2026-04-01"}))
    assert stale_warning(text, {"updated": "2026-04-13"}) is None
    assert stale_warning(text, {}) is None
    assert stale_warning("- 2026-04-20 no timeline", {"updated": "2026-01-01"}) is None
    assert stale_warning("## Timeline\n- 2026-13-40 no day", {"updated": "2026-01-01"}) is None


def test_dory_generated_mirrors_collapse_behind_the_canonical_page():
    wiki = precedence("wiki/a.md", "durable", {"source_kind": "generated"})
    canonical = precedence("people/a.md", "durable", {"canonical": True})
    texts, worth = [BODY + " Mirror.", "other " * 30, BODY], [wiki, 0, canonical]
    assert collapsed(texts, worth, 10) == [[2, 0], [1]]
    assert collapsed([*texts, "one more"], [*worth, 0], 2) == [[2, 0], [1], [3]]
    assert collapsed([*texts, *("more", "and more")], [*worth, 0, 0], 2) == [[2, 0], [1], [3]]


def test_copies_are_long_texts_that_hold_each_other():
    longer = "Before it. " + BODY + " And after it much more is told of other things."
    for one, other, groups in ((BODY, longer, 1), (BODY, BODY[::-1], 2), ("short", "short", 2)):
        assert len(collapsed([one, other], [0, 0], 10)) == groups
