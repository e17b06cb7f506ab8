"""Draws of entities for a person to judge: the same twice, of one half, without what was drawn before."""

from __future__ import annotations

from benchmarks.named_things import Text, draw, half, sections

TEXTS = [
    Text("wiki", f"doc {n}", f"We met {name} Vexa at `tool_{n}`.")
    for n, name in enumerate(("Anna", "Omar", "Petra", "Ines"))
]


def test_a_draw_comes_again_and_leaves_out_what_was_seen() -> None:
    """By names or by what is written by a rule; an earlier draw's lines are none of the next."""
    first = draw(TEXTS, 1, {"wiki": 2}, named=True)
    assert first == draw(TEXTS[::-1], 1, {"wiki": 2}, named=True)
    assert len(first) == 2
    seen = frozenset("\t".join(line.split("\t")[:3]) for line in first)
    rest = draw(TEXTS, 1, {"wiki": 9}, named=True, without=seen)
    assert len(rest) == 2
    assert set(rest).isdisjoint(first)
    assert len(draw(TEXTS, 1, {"wiki": 9}, named=False)) == 4


def test_documents_keep_together_and_fences_are_no_headings() -> None:
    """All sections of a document are of one half."""
    text = f"# One\n{'words ' * 10}\n```\n# no heading\n```\n## Two\n{'words ' * 10}\n"
    assert [section.splitlines()[0] for section in sections(text)] == ["# One", "## Two"]
    assert {half(Text("wiki", "a", section)) for section in sections(text)} == {half(Text("wiki", "a", ""))}
