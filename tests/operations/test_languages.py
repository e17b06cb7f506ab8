"""Memories in other languages: operations for English do not read them, and the reports of the night count them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from slowwave.operations import AUDITS, PLANNERS
from slowwave.operations.registry import operations, run_audit, run_planner
from slowwave.snapshots.memories import active_memories, english_only
from slowwave.snapshots.snapshot import Snapshot
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

ENGLISH = ("The build needs a signing key.", "The build does not need a signing key.")
GERMAN = ("Die Werft in Bremen öffnet um neun Uhr.", "Die Werft in Bremen öffnet nicht um neun Uhr.")


def remembered(*texts: str, **more: Any) -> Snapshot:
    """A namespace with these memories, all with one vector."""
    return make_snapshot(
        memories=[
            {
                "id": uid(f"m{n}"),
                "kind": "semantic",
                "subject": "Work",
                "valid_from": TAKEN_AT,
                "current_version_id": uid(f"v{n}"),
                **more,
            }
            for n in range(len(texts))
        ],
        memory_versions=[
            {"id": uid(f"v{n}"), "memory_id": uid(f"m{n}"), "content": text} for n, text in enumerate(texts)
        ],
        vectors={"memory_vectors": {uid(f"m{n}"): (1.0, 0.0) for n in range(len(texts))}},
    )


def test_contradictions_of_another_language_are_not_searched() -> None:
    """The rules find the denial in both languages; they are measured in English only."""
    report = run_audit(AUDITS["contradictions"], make_inputs(remembered(*ENGLISH, *GERMAN)))
    assert report.numbers["conflicts"] == 1
    assert report.numbers["memories in other languages"] == 2
    (finding,) = (f for f in report.findings if "English" in f.message)
    assert "2 memories in other languages (German 2)" in finding.message
    assert finding.coverage


def test_report_of_english_memories_says_nothing_of_languages() -> None:
    inputs = make_inputs(remembered(*ENGLISH))
    assert english_only(inputs.snapshot) is inputs.snapshot
    report = run_audit(AUDITS["contradictions"], inputs)
    assert "memories in other languages" not in report.numbers
    assert not any("English" in f.message for f in report.findings)


def test_census_counts_languages_and_names_the_operations_that_did_not_read_them() -> None:
    inputs = make_inputs(remembered(*ENGLISH, *GERMAN, "Mi hermana trabaja en un hospital de Sevilla."))
    report = AUDITS["census"](inputs)
    assert report.numbers["memories_in_other_languages"] == 3
    assert report.details["languages"] == {"de": 2, "es": 1}
    assert "3 are in other languages than English (German 2, Spanish 1)" in report.headline
    (finding,) = (f for f in report.findings if "languages" in f.details)
    unread = set(str(finding.details["operations"]).strip("[]").replace("'", "").split(", "))
    assert {"contradictions", "archive_small_talk"} <= unread
    assert "decay_transition" not in unread  # it is not part of this night
    assert not {"dedupe_memories", "safety_scan", "redact_or_quarantine"} & unread


@pytest.mark.parametrize("name", [name for name, made in operations().items() if made.english])
def test_operation_for_english_never_touches_another_language(name: str) -> None:
    """Whatever it does with memories in English: those in German are not among its rows."""
    read: list[str] = []
    made = operations()[name]
    inputs = make_inputs(remembered(*ENGLISH, *GERMAN, kind="episodic"))
    given = inputs.only(made.reads, made.models).snapshot
    read += active_memories(english_only(given))["text"].to_pylist()
    assert sorted(read) == sorted(ENGLISH)
    run = run_audit(AUDITS[name], inputs) if made.kind == "audit" else run_planner(PLANNERS[name], inputs, {name})
    report = run if made.kind == "audit" else run.report  # pyright: ignore[reportAttributeAccessIssue]
    assert report.numbers["memories in other languages"] == 2  # pyright: ignore[reportAttributeAccessIssue]


def test_answers_about_all_memories_and_about_english_ones_are_kept_apart() -> None:
    """Operations of both kinds alternate in a night, and each finds its answer again."""
    snapshot = remembered(*ENGLISH, *GERMAN)
    every, english = active_memories(snapshot), active_memories(english_only(snapshot))
    assert (len(every), len(english)) == (4, 2)
    assert active_memories(snapshot) is every
    assert active_memories(english_only(snapshot)) is english


@pytest.mark.parametrize(
    ("one", "other"),
    [
        GERMAN,
        ("Le magasin ferme à sept heures le samedi.", "Le magasin ferme à huit heures le samedi."),
        ("La tienda de Sevilla abre los domingos.", "La tienda de Sevilla nunca abre los domingos."),
        ("Il negozio di Torino è aperto la domenica.", "Il negozio di Torino non è aperto la domenica."),
        ("A loja de Lisboa abre aos domingos.", "A loja de Lisboa não abre aos domingos."),
        ("这家商店星期日营业到八点。", "这家商店星期日不营业到八点。"),
        ("この店は日曜日に八時まで開いています。", "この店は日曜日に九時まで開いています。"),
        ("Feeds registriert.", "Keine Feeds registriert."),
        ("Le magasin de Lyon ferme à sept heures.", "Le magasin de Lyon ferme à sept heures sauf samedi."),
    ],
)
@pytest.mark.parametrize("kind", ["event", "semantic"])
def test_memories_that_differ_by_a_negation_number_or_condition_are_not_merged(one: str, other: str, kind: str) -> None:
    assert not PLANNERS["dedupe_memories"](make_inputs(remembered(one, other, kind=kind))).items


def test_equal_memories_of_another_language_are_merged() -> None:
    found = PLANNERS["dedupe_memories"](make_inputs(remembered(GERMAN[0], GERMAN[0].upper(), kind="event")))
    (item,) = found.items
    assert item.evidence["pattern"] == "equal texts"


def test_relative_date_of_another_language_is_asked_about() -> None:
    """Its phrases are right in all lists that they were compared with; no running texts with known dates were at hand."""
    snapshot = remembered(
        "Gestern habe ich in Bremen die neue Werft besucht.", "Gisteren heb ik de werf in Bremen bezocht."
    )
    found = PLANNERS["absolutize_dates"](make_inputs(snapshot))
    (item,) = found.items
    day = (TAKEN_AT - timedelta(days=1)).date().isoformat()
    assert item.is_question
    assert item.evidence["rewrites"] == [{"phrase": "Gestern", "value": day, "grain": "day", "about": False}]
    assert found.report.numbers["in languages whose dates are not read"] == 1
    report = AUDITS["relative_dates"](make_inputs(snapshot))
    assert report.details["kinds"] == {"other language": 1}


def test_relative_dates_report_names_the_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = remembered("Gestern habe ich in Bremen die neue Werft besucht.")
    monkeypatch.setattr("slowwave.operations.audits.relative_dates.can_find_foreign_dates", lambda: False)
    (finding,) = AUDITS["relative_dates"](make_inputs(snapshot)).findings
    assert "slowwave[languages]" in finding.message


def test_equal_texts_with_relative_dates_of_two_days_are_not_merged() -> None:
    text = "Gestern habe ich in Bremen die neue Werft besucht."
    days = iter((TAKEN_AT, TAKEN_AT - timedelta(days=3)))
    snapshot = remembered(text, text)
    rows = [{**row, "valid_from": next(days)} for row in snapshot.table("memories").to_pylist()]
    moved = replace(
        snapshot,
        tables={**snapshot.tables, "memories": pa.Table.from_pylist(rows, snapshot.table("memories").schema)},
    )
    assert len(PLANNERS["dedupe_memories"](make_inputs(snapshot)).items) == 1
    assert not PLANNERS["dedupe_memories"](make_inputs(moved)).items
