"""What operations do to memory is measured on simulated plans, and told in a table of the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import memory_quality
from benchmarks.memory_quality import Effect, effect, live_tokens, table_of, write
from benchmarks.report import Part
from slowwave.snapshots.export import export_snapshot
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from tests.memories import MODEL
from tests.toy import toy


@pytest.fixture
def snapshot(store: Store) -> Snapshot:
    """The toy namespace."""
    toy(store)
    return export_snapshot(store, "toy", model=MODEL)


def test_a_merge_saves_the_tokens_of_what_it_absorbs(snapshot: Snapshot) -> None:
    """One sentence of two that are equal leaves recall, with nothing lost and nothing left for a second night."""
    found = effect("dedupe_memories", ("dedupe_memories",), [snapshot], embedder_for(Settings()))
    assert (found.items, found.reviews, found.again) == (1, 0, 0)
    assert found.tokens[0] == live_tokens(snapshot)
    assert found.tokens[0] - found.tokens[1] == -(-len("The night ferry to Sund leaves from pier nine at six.") // 4)
    assert found.specifics[1] == 0
    assert found.questions == 10
    assert not found.harms


def test_all_together_are_sealed_as_one_plan(snapshot: Snapshot) -> None:
    """What meets on one row waits, and is not told as work of a second night."""
    operations = ("archive_stale", "promote_memories", "decay_transition")
    found = effect("all together", operations, [snapshot, snapshot], embedder_for(Settings()))
    assert found.deferred > 0
    assert found.again == 0


def test_an_operation_that_harms_stands_in_bold() -> None:
    """Recall that falls by more than a plan may, or a specific that is lost."""
    fine = Effect("fine", 1, 0, 0, (10, 5), (3, 0), 4, (0.9, 0.9), 0)
    part = table_of(
        "t", "s", [fine, replace(fine, name="falls", recall=(0.9, 0.8)), replace(fine, name="loses", specifics=(3, 1))]
    )
    assert [row[0] for row in part.rows] == ["fine", "**falls**", "**loses**"]
    assert all(len(row) == len(part.header) for row in part.rows)


def test_the_tables_stand_between_the_marks_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written twice, the page holds them once, and its own words stay."""
    page = tmp_path / "quality.md"
    page.write_text(f"before\n{memory_quality.MARKS[0]}\nold\n{memory_quality.MARKS[1]}\nafter\n")
    monkeypatch.setattr(memory_quality, "PAGE", page)
    for _ in range(2):
        write([Part("Title", "Says.", ["a", "b"], [["x", "1"]])])
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert text.count("## Title") == 1
    assert "| x | 1 |" in text
    assert "old" not in text
