"""What a row is worth before it is read stays within its bound; what a query asks for is weighed apart."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.search.priors import Days, QueryHints, bound, days_of, is_quarantined, prior, recency

TODAY = date(2026, 4, 15)
paths = st.sampled_from(
    [
        "core/active.md",
        "inbox/quarantine/x.md",
        "logs/daily/2026-04-14.md",
        "wiki/x.md",
        "projects/a/state.md",
        "notes.md",
    ]
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "canonical": st.booleans(),
        "source_kind": st.sampled_from(["canonical", "generated", "human"]),
        "status": st.sampled_from(["active", "raw", "done"]),
        "visibility": st.sampled_from(["private", "public"]),
        "sensitivity": st.sampled_from(["none", "health"]),
    },
)


@given(st.floats(0, 1), st.floats(0, 1), paths, paths, fields, fields, st.dates(), st.dates())
def test_dory_no_prior_lifts_a_row_over_one_that_matches_better(a, b, path_a, path_b, of_a, of_b, day_a, day_b):
    """The seed's priors dominated its fusion. Ours: a lead of twice the bound stands against all priors together."""
    first = a + prior(path_a, day_a.isoformat(), of_a, TODAY)
    second = b + prior(path_b, day_b.isoformat(), of_b, TODAY)
    if a - b > 2 * bound():
        assert first > second


@given(paths, fields, st.text(max_size=12))
def test_a_prior_stays_within_its_bound(path: str, metadata: dict[str, object], day: str):
    assert abs(prior(path, day, metadata, TODAY)) <= bound() == 0.04


def test_dory_canonical_beats_a_raw_inbox_copy_and_an_extracted_variant():
    canonical = prior("decisions/x.md", "2026-04-01", {"canonical": True, "source_kind": "canonical"}, TODAY)
    raw = prior("inbox/x.md", "2026-04-01", {"status": "raw"}, TODAY)
    extracted = prior("sources/semantic/x.md", "2026-04-01", {"source_kind": "extracted"}, TODAY)
    assert canonical > extracted > raw


def test_dory_recency_is_a_real_decay():
    """The seed's differed by 0.003 a year. Ours is halved in 90 days."""
    assert recency("2026-04-15", TODAY) == 1
    assert recency("2026-01-15", TODAY) == pytest.approx(0.5)
    assert recency("2025-04-15", TODAY) == pytest.approx(0.5 ** (365 / 90))
    assert recency("no day", TODAY) == 0


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("what did we do yesterday", Days("2026-04-14", "2026-04-14")),
        ("what happened last week", Days("2026-04-06", "2026-04-12")),
        ("the plan of last month", Days("2026-03", "2026-03-31")),
        ("the plan", None),
        ("what did I tell you on March 4th", Days("2026-03-04", "2026-03-04")),
        ("where did we eat in May", Days("2025-05", "2025-05-31")),
        ("what is due on May 4th", None),
    ],
)
def test_words_of_time_become_days(query: str, days: Days | None):
    assert days_of(query, TODAY) == days


def test_dory_a_temporal_query_prefers_the_daily_log():
    query = "what happened yesterday"
    wishes = QueryHints.from_query(query, TODAY)
    daily = wishes.met("logs/daily/2026-04-14.md", "2026-04-14")
    assert daily > wishes.met("core/active.md", "2026-01-01")
    assert daily <= 0.35


def test_row_of_the_day_that_a_query_names_gets_more_than_a_log_of_another_day():
    wishes = QueryHints.from_query("what did Mara eat on March 4th", TODAY)
    assert wishes.met("memories/a", "2026-03-04") == pytest.approx(0.3)
    assert wishes.met("logs/daily/2026-03-05.md", "2026-03-05") == pytest.approx(0.2)
    assert wishes.met("memories/b", "2026-03-05") == 0


def test_dory_a_privacy_query_prefers_boundary_documents_to_sessions():
    query = "which privacy boundaries hold"
    assert QueryHints.from_query(query, TODAY).met("core/user.md", "2026-01-01") == pytest.approx(0.2)
    assert QueryHints.from_query(query, TODAY).met("logs/sessions/x.md", "2026-01-01") == 0
    assert QueryHints.from_query("which tea", TODAY).met("core/user.md", "2026-01-01") == 0


def test_quarantine_and_tombstones_are_known_by_their_paths():
    assert is_quarantined("inbox/quarantine/a.md")
    assert is_quarantined("people/a.tombstone.md")
    assert not is_quarantined("people/a.md")
