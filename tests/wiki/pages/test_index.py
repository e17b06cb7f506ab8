"""MEMORY.md: what is promoted, one line each, within limits, with its source."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from slowwave.snapshots.snapshot import Snapshot
from slowwave.sources.blocks import is_page
from slowwave.store.settings import Settings
from slowwave.wiki.pages.index import dream_diary, figures, memory_index
from slowwave.wiki.pages.lines import Rendered
from tests.snapshots import uid
from tests.wiki.pages.notes import day, notes, snapshot_of

SECRET = "The deploy token is ghp_" + "q7Zt4Lk9Wm2Xr8Vb5Nc1Jd6Hf3Gs0Pa4Ye7U."  # made up


def index(snapshot: Snapshot, **settings: object) -> Rendered:
    return memory_index(snapshot, Settings.for_namespace(settings))


def entries(page: Rendered) -> list[str]:
    return [line for line in page.body.split("\n") if line.startswith("- ")]


def link(name: str) -> str:
    return f"[{uid(name)[:8]}](mem:{uid(name)})"


def test_a_line_has_its_words_its_figures_and_its_source() -> None:
    """nexo's block: text, score, hits, days; what a promotion does not tell is not shown."""
    page = index(snapshot_of(notes("Tea is at four.", {"text": "No figures.", "scores": {}})))
    assert page.body.split("\n")[1:] == [
        "# Memory",
        "",
        "Memories that proved useful when they were recalled. "
        "Slowwave writes the lines between the two marks; the rest of the file is yours.",
        "",
        "## Semantic",
        f"- Tea is at four. _(score=0.90, hits=3, days=2)_ {link('m0')}",
        f"- No figures. {link('m1')}",
        "<!-- slowwave:end -->",
    ]
    assert is_page(page.body)
    assert (page.entries, page.sources, page.omitted) == (2, (uid("m0"), uid("m1")), 0)


def test_no_promotion_no_page() -> None:
    """Nothing is written while there is nothing to tell."""
    assert index(snapshot_of({})).body == ""
    assert index(snapshot_of(notes({"text": "Gone.", "revoked": day(3)}))).body == ""


def test_the_best_come_first_under_their_subject_or_their_kind() -> None:
    """A subject with one entry is no heading; among equals the newest promotion leads."""
    same = {"score": 0.5}
    page = index(
        snapshot_of(
            notes(
                {"text": "a", "subject": "Anna", "scores": {"score": 0.4}},
                {"text": "b", "scores": same},
                {"text": "c", "scores": same, "kind": "claim", "subject": "Bo"},
                {"text": "d", "subject": "Anna", "scores": {"score": 0.8}},
            )
        )
    )
    shown = [re.sub(r" _.*| \[.*", "", line) for line in page.body.split("\n")[4:-1] if line]
    assert shown == ["## Anna", "- d", "- a", "## Claim", "- c", "## Semantic", "- b"]


@pytest.mark.parametrize(
    "away",
    [
        {"state": "archived"},
        {"state": "quarantined"},
        {"invalidated_at": day(5)},
        {"valid_to": day(5)},
        {"ring": "working"},
        {"text": " \n"},
    ],
)
def test_what_recall_cannot_find_is_not_in_the_index(away: dict[str, object]) -> None:
    """Archived, quarantined, retired, moved to another ring, or without words."""
    page = index(snapshot_of(notes("stays", {"text": "goes", **away})))
    assert page.sources == (uid("m0"),)


def test_a_merged_memory_stands_for_its_survivor() -> None:
    """Merging two memories does not lose a promotion; the line links the memory that lives."""
    rows = notes({"text": "old words", "state": "merged", "merged_into": "s", "invalidated_at": day(4)}, "other")
    rows["memories"] += [{"id": "s", "kind": "summary", "ring": "working", "current_version_id": "vs"}]
    rows["memory_versions"] += [{"id": "vs", "memory_id": "s", "content": "what both said"}]
    page = index(snapshot_of(rows))
    assert page.sources == (uid("s"), uid("m1"))
    assert "what both said" in entries(page)[0]


def test_a_memory_promoted_twice_has_one_line() -> None:
    """Its newest promotion counts."""
    rows = notes("told once")
    rows["promotions"] += [{**rows["promotions"][0], "id": "again", "scores": {"score": 0.2}, "recorded_at": day(9)}]
    (line,) = entries(index(snapshot_of(rows)))
    assert "score=0.20" in line


def test_every_line_is_shorter_than_150_characters_whatever_it_holds() -> None:
    """Long and multiline text becomes one line that is cut."""
    texts = ["x" * 5_000, "word " * 900, "*_`[" * 500, "a\nb\r\nc\td  e", "日本語" * 300]
    page = index(snapshot_of(notes(*texts)))
    assert len(entries(page)) == len(texts)
    assert max(map(len, page.body.split("\n"))) < 150


@pytest.mark.slow
@pytest.mark.parametrize(("lines", "size"), [(200, 25_000), (10, 25_000), (37, 25_000), (200, 1_000), (200, 2_345)])
def test_the_index_keeps_its_limits_and_says_what_it_leaves_out(lines: int, size: int) -> None:
    """200 lines and 25 KB out of the box; the best are kept, the rest is one line."""
    page = index(
        snapshot_of(notes(*(f"Memory {n} — told in plain words, of some length, about a thing" for n in range(300)))),
        operations={"compile_pages": {"max_lines": lines, "max_bytes": size}},
    )
    assert page.body.count("\n") + 1 <= lines
    assert len(page.body.encode()) <= size
    assert page.entries + page.omitted == 300
    assert page.entries == len(entries(page)) > 0
    assert page.sources == tuple(uid(f"m{n}") for n in range(page.entries))
    assert f"{page.omitted:,} more are promoted and not shown" in page.body


def test_one_secret_leaves_out_one_line() -> None:
    """nexo let one secret burn a whole sweep."""
    page = index(snapshot_of(notes("a", SECRET, "c")))
    assert page.sources == (uid("m0"), uid("m2"))
    assert page.unsafe == (uid("m1"),)
    assert "ghp" not in page.body


def test_a_secret_in_a_subject_is_no_heading() -> None:
    """The memories are told all the same, under their kind."""
    page = index(snapshot_of(notes({"text": "a", "subject": SECRET}, {"text": "b", "subject": SECRET})))
    assert page.entries == 2
    assert "ghp" not in page.body
    assert "## Semantic" in page.body


def test_no_memory_can_end_the_block() -> None:
    """A mark in a memory or a subject is words."""
    mark = "<!-- slowwave:end -->"
    page = index(snapshot_of(notes({"text": mark, "subject": mark}, {"text": f"x\n{mark}\n# Mine", "subject": mark})))
    assert is_page(page.body)
    assert page.body.count("\n<!--") == 1


def test_the_same_inputs_hash_the_same_and_others_do_not() -> None:
    """Recalls, a later night and other memories change nothing; words, figures and limits that bite do."""
    first = index(snapshot_of(notes("a", "b")))
    used = notes({"text": "a", "access_count": 99}, "b")
    used["memories"] += [{"id": "new", "kind": "episodic"}]
    assert index(snapshot_of(used)) == first
    assert index(snapshot_of(notes("a", "B"))).input_hash != first.input_hash
    assert index(snapshot_of(notes("a"))).input_hash != first.input_hash
    assert index(snapshot_of(notes("a", {"text": "b", "scores": {"score": 0.1}}))).input_hash != first.input_hash
    assert index(snapshot_of(notes("a", "b")), operations={"compile_pages": {"max_lines": 100}}) == first


def test_no_two_namespaces_have_a_page_of_one_hash() -> None:
    """Else both would make it by one item, and by one row."""
    here = snapshot_of(notes("a"))
    there = replace(here, namespace_id=uid("elsewhere"))
    assert memory_index(here, Settings()).input_hash != memory_index(there, Settings()).input_hash


def test_a_page_of_an_earlier_instant_tells_nothing_of_later_ones() -> None:
    """A night that is planned as of an instant (``--now``) renders what was so then."""
    whole = snapshot_of(notes("first", "second"))
    then = replace(whole, taken_at=day(0.5))
    assert "first" in index(then).body
    assert "second" not in index(then).body
    assert "second" in index(whole).body
    diary = dream_diary(then, Settings())
    assert f"{day(0):%Y-%m-%d}" in diary.body
    assert f"{day(1):%Y-%m-%d}" not in diary.body


def test_figures_of_any_depth_are_read_or_left_out() -> None:
    """Scores are what an agent may have written; no nesting ends the night."""
    assert figures("[" * 100_000 + "]" * 100_000) == (None, None, None)
    assert figures('{"score": 1e999, "hits": true, "days": "3"}') == (None, None, None)
