"""The block is ours, the rest of a file is a person's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.errors import Refused
from slowwave.sources.blocks import block, find, is_page, placed

OLD, NEW = block("# Memory\n\n- old"), block("# Memory\n\n- new")
TEXTS = st.text("ab \n\r#-<!>", max_size=60)


@given(TEXTS, TEXTS)
def test_lines_that_a_person_wrote_survive_every_render(before: str, after: str) -> None:
    """Above and below the block, to the last byte, however often it is rendered."""
    first = f"{before}\n{OLD}\n{after}"
    second = placed(first, NEW)
    assert second == f"{before}\n{NEW}\n{after}"
    assert placed(second, NEW) == second
    assert placed(second, OLD) == first


@given(TEXTS)
def test_a_block_comes_to_the_end_of_a_file_and_goes_again(text: str) -> None:
    """A file that a person began keeps every character; without the block it is as it was, but for the last line ends."""
    with_block = placed(text, OLD)
    assert with_block.startswith(text)
    assert with_block.endswith(f"{OLD}\n")
    assert placed(with_block, "").rstrip("\n") == text.rstrip("\n")


@pytest.mark.parametrize(
    "text",
    [
        OLD.replace("- old", "- old, and a line of mine"),
        OLD.replace("<!-- slowwave:end -->", ""),
        OLD.split("\n", 1)[1],
        f"{OLD}\n{OLD}",
        OLD.replace("hash=", "hash=0"),
        OLD.replace("slowwave:begin", "slowwave:begin and more"),
        "\n".join(reversed(OLD.split("\n"))),
    ],
)
def test_an_edited_block_is_never_overwritten(text: str) -> None:
    """A line added, a mark lost or doubled: it is a person's now, and is neither replaced nor removed."""
    for body in (NEW, ""):
        with pytest.raises(Refused, match="left alone"):
            placed(f"mine\n{text}\nmine", body)
    assert not is_page(text)


def test_line_ends_of_another_system_are_no_edit() -> None:
    """An editor or git that writes CRLF has edited nothing."""
    text = f"mine\n{OLD}\nmine\n".replace("\n", "\r\n")
    assert placed(text, NEW) == f"mine\r\n{NEW}\r\nmine\r\n"


def test_only_a_whole_block_is_a_page() -> None:
    """A row that an agent wrote is not ours to render."""
    assert is_page("")
    assert is_page(OLD)
    assert not is_page("# Notes of an agent")
    assert not is_page(f"{OLD}\n")
    assert find("words about <!-- slowwave:begin --> in a line") is None
