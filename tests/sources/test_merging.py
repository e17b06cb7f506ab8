"""What a person wrote, brought together with rows: unchanged blocks keep theirs, what a plan changed of others is kept."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from slowwave.sources.merging import BlockRow, Segment, merged, nearest

TEXTS = st.lists(st.sampled_from(["- a\n", "- b\n", "- c\n", "\n", "# H\n"]), max_size=12)


def rows(texts: list[str]) -> list[BlockRow]:
    return [BlockRow(str(n), "block", "", "", text, "", text, False, None) for n, text in enumerate(texts)]


@given(TEXTS, TEXTS, st.sets(st.integers(0, 11)))
def test_every_segment_and_every_row_has_its_place(before: list[str], now: list[str], retired: set[int]) -> None:
    """Segments in their order, each once; a row stands for a segment that says the same, or ended, or says nothing in the file."""
    held = [replace(row, gone=True, said="") if int(row.id) in retired else row for row in rows(before)]
    found = merged(held, [Segment(text) for text in now])
    assert [s.raw for _, s in found.parts if s is not None] == now
    kept = [(row, s) for row, s in found.parts if row is not None]
    assert all(row.said == s.raw for row, s in kept if s is not None)
    unsaid = {row.id for row in held if not row.said}
    assert {row.id for row, s in kept if s is None} == unsaid | {row.id for row in found.ended}
    assert sorted(row.id for row, _ in kept) == sorted(row.id for row in held)
    shown = [row.said for row in held if row.said]
    if shown == now:
        assert not found.ended
        assert [row.id for row, _ in kept] == [row.id for row in held], "and what is retired stays where it stood"


def test_an_edit_ends_one_row_and_leaves_the_others() -> None:
    held = [*rows(["- a\n", "- b\n", "- c\n"])]
    held[2] = replace(held[2], body="- c, as of today\n")  # a plan's, which the file has yet to follow
    found = merged(held, [Segment("- a\n"), Segment("- b by hand\n"), Segment("- c\n")])
    assert [row.id if row else None for row, _ in found.parts] == ["0", "1", None, "2"]
    assert [row.id for row in found.ended] == ["1"]


def test_a_plan_that_was_written_and_never_noted_is_not_taken_for_a_persons() -> None:
    """A person adds a line after what the plan wrote, or after what stood there before."""
    held = rows(["- a\n", "- b\n", "- c\n"])
    held[0] = replace(held[0], body="- A\n")
    held[1] = replace(held[1], gone=True)
    for texts, said in ((["- A\n", "- c\n", "- d\n"], "wanted"), (["- a\n", "- b\n", "- c\n", "- d\n"], "said")):
        before = nearest(held, [Segment(text) for text in texts])
        assert [row.said for row in before] == [getattr(row, said) for row in held]
        assert not merged(before, [Segment(text) for text in texts]).ended


def test_a_file_of_which_all_is_new_takes_no_long_time() -> None:
    """Beyond a bound nobody looks for what moved."""
    found = merged(rows([f"- {n}\n" for n in range(3000)]), [Segment(f"- new {n}\n") for n in range(3000)])
    assert (len(found.ended), len(found.parts)) == (3000, 6000)
