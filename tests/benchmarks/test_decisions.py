"""The measurement of decisions without a question, on small labelled sets."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.decisions import Decided, decisions, half_of, mistype, part, respell

CLAIMS = (
    "The ferry leaves pier nine at six.",
    "The ferry leaves pier nine at seven.",
    "Café Mara isn't open in March.",
)


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Two claims of minimal edits and one with an accent, four utterances of two intents, and three persons in four rows."""
    for name in ("contradictions_dev", "clusters_dev", "er"):
        (tmp_path / name).mkdir()
    rows = [{"id": "1", "a": CLAIMS[0], "b": CLAIMS[1], "label": "contradiction"}]
    rows.append({"id": "2", "a": CLAIMS[2], "b": CLAIMS[0], "label": "entailment"})
    (tmp_path / "contradictions_dev" / "few.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    talk = "id,text,cluster\n1,thanks a lot,thank_you\n2,please say that again,repeat\n3,the ferry is late,travel\n"
    (tmp_path / "clusters_dev" / "clinc150_few.csv").write_text(talk, encoding="utf-8")
    persons = "id,source,entity_type,name,attrs,cluster_id\n" + "".join(
        f'{id_},crm,person,{name},"{{""born"": ""{born}""}}",{cluster}\n'
        for id_, name, born, cluster in (
            *(("a", "Mara Olsen", "1980-03-04", "p1"), ("b", "mara olsen", "1980-03-04", "p1")),
            *(("c", "Jon Dahl", "1971-01-02", "p2"), ("d", "Jon Dahl", "1999-09-09", "p3")),
        )
    )
    (tmp_path / "er" / "febrl1.csv").write_text(persons, encoding="utf-8")
    return tmp_path


def test_decisions_on_small_sets_are_counted_by_pattern(labelled: Path) -> None:
    found = [one for one in decisions(labelled) if one.operation not in ("resolve_conflicts", "mark_ended_statements")]
    counts = Counter((one.operation, one.pattern, one.right) for one in found)
    assert counts["archive_small_talk", "small talk alone", True] == 1
    assert counts["archive_small_talk", "small talk alone", False] == 1
    assert counts["dedupe_facts", "equal words", True] == len(CLAIMS)
    assert counts["dedupe_memories", "equal texts", True] == 2 * len(CLAIMS)
    assert counts["normalize_schema", "one name after the rename", True] == 1
    assert not any(n for (operation, _, right), n in counts.items() if operation.startswith("dedupe") and not right)


def test_table_of_a_half_counts_its_own_cases_and_lists_every_pattern() -> None:
    kept = next(f"case {n}" for n in range(99) if half_of(f"case {n}") == "kept back")
    other = next(f"case {n}" for n in range(99) if half_of(f"case {n}") == "development")
    made = [Decided("dedupe_facts", "equal words", kept, False), Decided("dedupe_facts", "equal words", other, True)]
    rows = {row[0]: row[1:] for row in part(made, "kept back").rows}
    assert rows["dedupe_facts / equal words"][:2] == ["1", "1"]
    assert rows["gc_references / dead reference"] == ["0", "0", "–", "–", "yes"]
    assert rows["decay_transition / shorter text"][-1] == "asks"


def test_spellings_leave_the_words_and_a_slip_changes_one() -> None:
    decomposed = unicodedata.normalize("NFD", "It isn't Zoë's café.")
    assert respell("It isn't Zoë's café.") == [
        "It  isn't  Zoë's  café",
        "it isn't Zoë's café.",
        decomposed,
        "It isn’t Zoë’s café.",
        "It is not Zoë's café.",
    ]
    assert mistype("The inspection was paid.") == "The inspetcion was paid."
    assert mistype("No long word.") == "No long word."
