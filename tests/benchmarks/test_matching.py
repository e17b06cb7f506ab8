"""The quality benchmark end to end on small sets: read, matched in a process of its own, compared, written into the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import matching, worlds
from benchmarks.listings import Row
from benchmarks.trial import Trial, is_labelled, measure

pytestmark = pytest.mark.slow


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Two sources that number their rows alike: 60 persons twice, with email and birth date, and one namesake pair."""
    rows = []
    for k in range(60):
        first, last = ("Mara", "Noor", "Ines", "Tove", "Anja", "Rhea")[k % 6], f"{'bdfglmnrst'[k // 6]}alderen{k}"
        attrs = {"email": f"{first}.{last}@mail.example".lower(), "born": f"19{40 + k % 50}-0{1 + k % 9}-1{k % 9}"}
        rows += [Row(f"{k}", source, "person", f"{first} {last}", attrs, f"p{k}") for source in ("crm", "mail")]
    rows.append(
        Row("n", "crm", "person", "Mara balderen0", {"email": "other@else.example", "born": "1999-09-09"}, "pn")
    )
    path = tmp_path / "people.csv"
    worlds.write(rows, path)
    (tmp_path / "people.pairs.csv").write_text("a,b,kind\ncrm/0,crm/n,namesakes\ncrm/0,mail/0,the same\n")
    return path


def test_a_set_is_measured_in_a_process_of_its_own(people: Path) -> None:
    """Ids that two sources share are told apart; what comes back through JSON is what was measured; near misses are counted."""
    found = matching.run(people)
    assert isinstance(found, Trial)
    here = measure(people)
    for name in (
        "rows",
        "merges",
        "reviewed",
        "asked",
        "accepted",
        "review",
        "candidates",
        "links",
        "reliability",
        "near_misses",
    ):
        assert getattr(found, name) == getattr(here, name), name
    assert (found.rows, found.merges.gold, found.candidates.recall) == (121, 60, 1.0)
    assert found.accepted.right == 60
    assert found.near_misses["namesakes"] == (1, 0)
    assert found.reference.f1 > 0.9
    assert found.seconds > 0
    assert found.peak_mb > 20


def test_a_set_that_cannot_be_matched_says_why(tmp_path: Path) -> None:
    """The error of the process is shown, and nothing is measured."""
    bad = tmp_path / "bad.csv"
    bad.write_text("id,source,entity_type,name,attrs,cluster_id\n1,s,person,Ann,{not json,1\n")
    assert "JSON" in str(matching.run(bad))


def test_only_labelled_sets_are_tried(people: Path) -> None:
    """Pairs beside a set and entities without gold are no sets."""
    (people.parent / "plain.csv").write_text("id,source,entity_type,name,attrs\n")
    (people.parent / "notes.txt").write_text("cluster_id")
    assert [path.name for path in sorted(people.parent.iterdir()) if is_labelled(path)] == ["people.csv"]


def test_contradictions_become_memories_that_must_not_merge(tmp_path: Path) -> None:
    """Sentences of other labels stay away; equal sentences of two pairs may merge."""
    lines = [
        {"a": "Tea is hot.", "b": "Tea is cold.", "label": "contradiction"},
        {"a": "Tea is hot.", "b": "Tea is a drink.", "label": "entailment"},
        {"a": "Tea is cold.", "b": "Tea is hot.", "label": "contradiction"},
    ]
    given = tmp_path / "dev.jsonl"
    given.write_text("\n".join(map(json.dumps, lines)))
    trial = matching.run(matching.contradictions(given, tmp_path))
    assert isinstance(trial, Trial)
    assert (trial.rows, trial.merges.gold, trial.near_misses) == (4, 2, {"contradictions": (2, 0)})


def test_the_page_keeps_its_prose(people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what stands between the marks is written, however often; the terminal shows the same figures."""
    page = tmp_path / "matching.md"
    page.write_text(f"# Matching\n\nBefore.\n\n{matching.MARKS[0]}\nstale\n{matching.MARKS[1]}\n\nAfter.\n")
    monkeypatch.setattr(matching, "PAGE", page)
    found = matching.parts([measure(people)])
    matching.write(found)
    matching.write(found)
    text = page.read_text()
    assert text.startswith("# Matching\n\nBefore.\n")
    assert text.endswith("\n\nAfter.\n")
    assert "stale" not in text
    assert text.count("| people | 121 | 60 |") == 1
    console = Console(record=True, width=400)
    matching.show(found, console)
    assert "namesakes" in console.export_text()
