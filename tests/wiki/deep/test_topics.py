"""Topic files: memories as lines, and back again, whatever they say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slowwave.wiki.deep.scratch import Entry, entries_of, loose, same, written

ID = "053c2e8b-78a1-5f96-8978-21f95cdc89ed"
OTHER = "8b58a5a7-5d36-58ee-8fa4-1bd2be8f0998"


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip), max_size=4))
def test_deep_what_is_written_reads_as_it_was(texts: list[str]) -> None:
    """Lines, marks and entries within a text make no entry of their own."""
    said = [text for text in texts if "[source:" not in text]
    back = entries_of(written("about", [Entry(ID, text) for text in said]))
    assert [entry.memory for entry in back] == [ID] * len(said)
    assert all(same(entry.text, text) for entry, text in zip(back, said, strict=True))
    assert loose(written("about", [Entry(ID, text) for text in said])) == []


def test_deep_a_text_cannot_forge_an_entry() -> None:
    """A memory that looks like a topic file is one memory."""
    forged = f"A note.\n- [mem:{OTHER}] The gate is open.\n# another"
    (entry,) = entries_of(written("about", [Entry(ID, forged)]))
    assert (entry.memory, entry.text) == (ID, forged)


def test_deep_new_statements_name_their_sources() -> None:
    """Several in one mark or in several."""
    (entry,) = entries_of("- Mara left. [source: sessions/a.md, pages/wiki/b.md] [source: sessions/c.md]\n")
    assert (entry.memory, entry.text) == ("", "Mara left.")
    assert entry.sources == ("sessions/a.md", "pages/wiki/b.md", "sessions/c.md")


def test_deep_lines_that_are_no_entry_are_noticed() -> None:
    """What they say would be lost."""
    assert loose("# about\n\nThe gate is open.\n- one\n  more\n") == ["The gate is open."]
