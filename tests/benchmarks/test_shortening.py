"""Harm is counted by rules that know nothing of those that shorten."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.shortening import Sample, harms, measured, ours, questions, samples

TALK = "User: Which bus goes back?\nAssistant: Yes, number 37. It leaves at noon.\nUser: Thank you for that."


@pytest.mark.parametrize(
    ("before", "after", "harm"),
    [
        ("The pump broke. It was old.", "It was old.", "a pronoun without its subject"),
        (
            "The pump broke. If this pump stops, call us.",
            "If this pump stops, call us.",
            "a pronoun without its subject",
        ),
        ("Rain fell. The pump broke. He was sad.", "Rain fell. He was sad.", "a pronoun without its subject"),
        ("The pump broke. Therefore hall 4 is shut.", "Therefore hall 4 is shut.", "a consequence without its cause"),
        ("The queue is to blame. It was not so.", "The queue is to blame.", "a statement without what turns it"),
        (TALK, "Assistant: Yes, number 37. It leaves at noon.", "an answer without its question"),
        (TALK, "User: Which bus goes back?\nUser: Thank you for that.", "a question without its answer"),
        ("We open the gate of hall 4 and go.", "We open the gate", "half a sentence"),
        ("# One\n\nRain.\n\n# Two\n\nSun.", "# One\n\n# Two\n\nSun.", "a heading over nothing"),
        ("```\na\n```\n\nRain.", "```\na\n\nRain.", "broken Markdown"),
        ("- a b\n- c d\n- e f", "- a b\n- e f", "a list that reads as whole"),
        ("It rained.", "It snowed.", "no sentence of the text"),
    ],
)
def test_each_class_of_harm_is_seen_and_the_whole_text_has_none(before: str, after: str, harm: str) -> None:
    assert harms(before, after)[harm] == 1
    assert not harms(before, before)


def test_a_line_that_says_so_makes_no_whole_of_a_part() -> None:
    assert not harms("- a b\n- c d\n- e f", "- a b\n- …\n- e f")
    assert not harms("The pump is red. It is old. It is loud.", "The pump is red. It is loud.")


def test_figures_of_a_text_and_of_what_was_asked() -> None:
    busy = " ".join(f"Crate {n} of Port Vale weighs {n * 7} kilograms exactly." for n in range(60))
    text = f"{busy} Somebody remembered yesterday's beautiful concert."
    assert ours("short", 10, ()) == "short"
    found = measured([Sample("note", "a", text)])
    assert list(found) == ["compressed", "summary", "essence"]
    assert found["essence"].after <= 50 < found["essence"].before
    assert 0 < found["essence"].kept < found["essence"].specifics
    asked = measured([Sample("note", "a", text)], ask=True)
    assert asked["essence"].answered >= found["essence"].answered
    assert all(s in text for _, s in questions(text))


def test_a_folder_without_texts_has_none(tmp_path: Path) -> None:
    (tmp_path / "eips_md").mkdir()
    (tmp_path / "eips_md" / "a.md").write_text(
        f"---\nno: 1\n---\n## One\n\n{'The pump of hall 4 is old. ' * 30}\n## Two\n\nShort.\n"
    )
    assert [(s.kind, s.name) for s in samples(tmp_path)] == [("document", "a.md## One")]
