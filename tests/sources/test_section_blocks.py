"""Blocks of sections: ours between their marks, a person's everywhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.errors import Refused
from slowwave.sources.blocks import block_name, new_body, own_words, rendered_body, section_block, section_blocks

ORDER = ("Summary", "Current State", "Open Work", "Timeline", "Evidence")
TOLD = {"Summary": "Tea at four.", "Current State": "- Tea at four.\n- Cake at five.", "Timeline": "- 2026-03-01: Tea."}

lines = st.text(st.characters(blacklist_categories=["Cs"]), max_size=40).filter(lambda t: "slowwave:" not in t)
contents = st.dictionaries(
    st.sampled_from((*ORDER, "Contradictions")),
    st.lists(st.text("abc -#", min_size=1, max_size=12).map(lambda t: f"- {t}"), max_size=3).map("\n".join),
)


def outside(body: str) -> str:
    """All that stands in no block."""
    for block in sorted(section_blocks(body).values(), key=lambda b: -b.start):
        body = body[: block.start] + body[block.stop :]
    return body


def test_a_new_page_has_all_sections_and_a_second_render_is_the_first() -> None:
    """The timeline and the evidence stand behind a rule and the mark that appended entries go by."""
    body = new_body("Rowan", TOLD, ORDER)
    assert [line for line in body.splitlines() if line.startswith(("#", "---", "<!-- timeline"))] == [
        *("# Rowan", "## Summary", "## Current State", "## Open Work", "---", "<!-- timeline -->"),
        *("## Timeline", "## Evidence"),
    ]
    assert {name: block.inside for name, block in section_blocks(body).items()} == {
        block_name(heading): said for heading, said in TOLD.items()
    }
    again = rendered_body(body, TOLD, ORDER)
    assert (again.text, again.changed, again.edited) == (body, (), ())


def test_a_section_that_has_nothing_left_is_emptied_and_one_that_comes_gets_its_place() -> None:
    """Under its heading where there is one, else before the end of the page."""
    body = new_body("Rowan", TOLD, ORDER)
    other = rendered_body(body, {"Open Work": "Bake.", "Contradictions": "- a Against: b"}, ORDER)
    assert other.changed == ("Summary", "Current State", "Open Work", "Timeline", "Contradictions")
    assert section_blocks(other.text)["summary"].inside == ""
    heads = [line for line in other.text.splitlines() if line.startswith(("## ", "<!-- timeline", "---"))]
    assert heads[2:5] == ["## Open Work", "## Contradictions", "---"]
    assert rendered_body(other.text, TOLD | {"Contradictions": ""}, ORDER).changed == (
        *("Summary", "Current State", "Open Work", "Timeline", "Contradictions"),
    )


def test_what_a_person_edited_in_a_block_stays_and_is_told() -> None:
    """The other sections go on."""
    body = new_body("Rowan", TOLD, ORDER).replace("Tea at four.\n<!--", "Tea at three!\n<!--", 1)
    found = rendered_body(body, TOLD | {"Summary": "x", "Open Work": "Bake."}, ORDER)
    assert (found.edited, found.changed) == (("Summary",), ("Open Work",))
    assert "Tea at three!" in found.text


def test_a_heading_within_a_block_is_no_place_for_another_one() -> None:
    """An index has headings of its own in its block: what comes goes behind it, and the block stays whole."""
    index = section_block("Summary", "## Open Work\n\n- [Kite](kite.md)")
    body = f"# Rowan\n\n{index}\n"
    found = rendered_body(body, {"Summary": "## Open Work\n\n- [Kite](kite.md)", "Open Work": "Bake."}, ORDER)
    assert found.changed == ("Open Work",)
    assert [block.whole for block in section_blocks(found.text).values()] == [True, True]
    assert found.text.startswith(body)


def test_a_page_that_a_person_wrote_gets_its_blocks_under_the_headings_that_it_has() -> None:
    """Not under one in a block of code; what has no heading comes before the timeline, or at the end."""
    written = "# Rowan\n\n```\n## Summary\n```\n\n## current state ##\nMine.\n\n***\n<!-- Timeline: append below -->\n- 2026-01-01: Born."
    found = rendered_body(written, TOLD, ORDER).text
    assert (
        outside(found).replace("\n", "").replace("## Summary", "", 2)
        == written.replace("\n", "").replace("## Summary", "") + "## Timeline"
    )
    assert found.index("slowwave:begin current-state") < found.index("Mine.") < found.index("slowwave:begin summary")
    assert found.index("slowwave:begin summary") < found.index("***") < found.index("slowwave:begin timeline")


@pytest.mark.parametrize(
    "marks",
    [
        "<!-- slowwave:end -->",
        section_block("A", "x").removesuffix("<!-- slowwave:end -->"),
        f"{section_block('A', 'x')}\n{section_block('A', 'y')}",
        "<!-- slowwave:begin -->\nx\n<!-- slowwave:end -->",
        section_block("A", section_block("B", "x")),
    ],
)
def test_marks_that_are_damaged_alone_or_repeated_are_refused(marks: str) -> None:
    """Nobody can tell then what is whose."""
    with pytest.raises(Refused, match="left alone"):
        rendered_body(f"Mine.\n{marks}\nMine, too.", TOLD, ORDER)
    assert "Mine." in own_words(marks + "\nMine.")


def test_a_blocks_line_ends_may_change_but_not_its_words() -> None:
    """An editor may save a page with other line ends."""
    body = new_body("Rowan", TOLD, ORDER).replace("\n", "\r\n")
    assert rendered_body(body, TOLD, ORDER).changed == ()
    assert own_words(body) == ""
    assert own_words(body + "Mine.\r\n") == "Mine."


@given(first=contents, second=contents, said=st.lists(lines, max_size=4), places=st.lists(st.floats(0, 1), max_size=4))
def test_whatever_a_person_writes_outside_blocks_stays_and_rendering_twice_is_rendering_once(
    first: dict[str, str], second: dict[str, str], said: list[str], places: list[float]
) -> None:
    """Render, edit, render: the person's text is a subsequence of what stands outside, unchanged and in its order."""
    body = new_body("Rowan", first, ORDER)
    for text, place in zip(said, places, strict=False):
        blocks = section_blocks(body)
        at = body.find("\n", int(place * len(body))) + 1
        if not any(block.start <= at <= block.stop for block in blocks.values()):
            body = f"{body[:at]}{text}\n{body[at:]}"
    blocks = section_blocks(body)
    rendered = rendered_body(body, second, ORDER)
    again = rendered_body(rendered.text, second, ORDER)
    assert (again.text, again.changed) == (rendered.text, ())
    rest = iter(rendered.text)
    pieces = outside(body)
    assert all(letter in rest for letter in pieces)
    if blocks.keys() == section_blocks(rendered.text).keys():
        assert outside(rendered.text) == pieces
    assert rendered_body(rendered.text, first, ORDER).edited == ()


def test_a_hostile_heading_is_read_in_linear_time() -> None:
    """White space within it, as much as a page holds; a rule that tried each place would never end."""
    body = f"# a{' ' * 200_000}b\n\n## Facts {' #' * 100_000}\n\n{' ' * 200_000}b\n"
    assert rendered_body(body, {"Facts": "Tea."}, ["Facts"]).changed == ("Facts",)
    assert own_words(body).endswith("b")
