"""``relative_dates``: what is counted, by kind and by reason, and what the gates leave out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from slowwave.errors import SettingsError
from slowwave.operations import AUDITS
from slowwave.plans.report import Report
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import make_inputs, make_snapshot, uid

relative_dates = AUDITS["relative_dates"]

TOLD = datetime(2026, 4, 15, 10, tzinfo=UTC)


def namespace(*texts: str, settings: dict[str, object] | None = None, **more: object) -> Snapshot:
    """Active memories with these texts, told on a Wednesday."""
    memories = [
        {
            **{
                "id": uid(n),
                "kind": "episodic",
                "state": "active",
                "valid_from": TOLD,
                "current_version_id": uid((n, "v")),
            },
            **more,
        }
        for n in range(len(texts))
    ]
    versions = [{"id": uid((n, "v")), "memory_id": uid(n), "content": text} for n, text in enumerate(texts)]
    return make_snapshot(memories=memories, memory_versions=versions, settings=settings)


def test_phrases_are_counted_by_kind_and_by_reason() -> None:
    """Six memories: three hold four dates, one quotes, one says goodbye, one has no word of time."""
    report = relative_dates(
        make_inputs(
            namespace(
                "We met yesterday.",
                "Last week and three days ago it rained.",
                "Our train leaves tomorrow! The gym is closed on Sunday.",
                "See you tomorrow!",
                'She said "see you tomorrow".',
                "Tea is hot.",
            )
        )
    )
    expected = {
        "active memories": 6, "with a word of time": 5, "memories with relative dates": 3, "relative dates": 4,
        "of these pinned": 0, "left as they are: verbatim": 1, "left as they are: unclear": 1,
        "left as they are: idle": 1,
    }  # fmt: skip
    assert {k: report.numbers[k] for k in expected} == expected
    assert report.headline == "3 of 6 active memories hold 4 relative dates that can be written out."
    assert {row["kind"]: (row["phrases"], row["for example"]) for row in report.table} == {
        "yesterday": (2, "tomorrow → 2026-04-16; yesterday → 2026-04-14"),
        "last week": (1, "Last week → 2026-04-06/2026-04-12"),
        "N units ago": (1, "three days ago → 2026-04-12"),
    }
    assert report.details["kinds"] == {"yesterday": 2, "last week": 1, "N units ago": 1}
    assert sum(report.plots[0].values) == 4


@pytest.mark.parametrize(
    ("more", "number"),
    [
        ({"valid_from": None}, "of these without a start"),
        ({"kind": "summary"}, "of these summaries"),
    ],
)
def test_what_the_gates_leave_out_is_counted(more: dict[str, object], number: str) -> None:
    """Nobody knows on which day it was said."""
    report = relative_dates(make_inputs(namespace("We met yesterday.", **more)))
    assert (report.numbers[number], report.numbers["relative dates"], report.plots) == (1, 0, ())


def test_memories_that_recall_does_not_find_are_not_looked_at() -> None:
    """Merged, archived and retired ones."""
    for more in ({"state": "merged"}, {"state": "archived"}, {"invalidated_at": TOLD}):
        assert relative_dates(make_inputs(namespace("yesterday", **more))).numbers["active memories"] == 0


def test_pinned_memories_and_unknown_zones_are_findings() -> None:
    """A person has to look at them."""
    report = relative_dates(
        make_inputs(namespace("We met yesterday.", pinned=True, attributes={"timezone": "Mars/Base"}))
    )
    assert [f.message[:30] for f in report.findings] == [
        "1 pinned memories hold relativ",
        "1 memory names an unknown time",
    ]
    assert report.findings[0].rows == (uid(0),)


def test_a_setting_that_is_no_zone_is_refused_in_a_sentence() -> None:
    """Not read as UTC in silence."""
    with pytest.raises(SettingsError, match="dates_zone is 'Nowhere', which is no time zone"):
        relative_dates(make_inputs(namespace("yesterday", settings={"dates_zone": "Nowhere"})))


def test_hostile_phrases_stay_text(rendered: Callable[[Report], str]) -> None:
    """Examples in the report come from memories."""
    html = rendered(
        relative_dates(make_inputs(namespace("<b>x</b> last\nweek | ![x](http://evil.example/a.png) yesterday")))
    )
    assert not any(tag in html for tag in ("<b>x", '<img src="http://evil'))


def test_it_is_registered_in_its_place() -> None:
    """After relevance, before what is due to decay."""
    names = list(AUDITS)
    assert names.index("relevance") < names.index("relative_dates") < names.index("decay_due")
