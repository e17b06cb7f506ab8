"""Index, hot and log: short lines, within limits, whatever titles and statements say."""

from __future__ import annotations

from slowwave.sources.blocks import section_blocks
from slowwave.wiki.pages.wiki_pages import (
    HOT,
    INDEX,
    LOG,
    ListedPage,
    hot_content,
    index_content,
    log_content,
    wiki_body,
)

HOSTILE = "[x](javascript:alert(1)) <b>\n## no heading " * 9


def page(n: int, kind: str = "person", says: str = "") -> ListedPage:
    return ListedPage(f"people/p{n}.md", f"P{n}", kind, says, f"2026-01-{n % 28 + 1:02d}")


def test_an_index_has_a_short_line_for_each_page_by_type() -> None:
    """Core first, then Dory's families, then others; what a page says is words."""
    pages = [
        page(1),
        page(2, "zebra"),
        page(3, "core"),
        page(4, "project", "Tea at four."),
        page(5, "concept", HOSTILE),
    ]
    lines = index_content(pages, 200, 25_000).splitlines()
    assert [line for line in lines if line.startswith("## ")] == [
        *("## Core", "## People", "## Projects", "## Concepts", "## Zebras"),
    ]
    assert "- [P4](../people/p4.md) · Tea at four." in lines
    assert all(len(line) < 150 for line in lines)
    assert not any(r"](javascript" in line and r"\]" not in line for line in lines)


def test_an_index_keeps_its_limits_and_says_what_it_leaves_out() -> None:
    """The pages that were changed last stay."""
    content = index_content([page(n, says="word " * 40) for n in range(400)], 120, 9_000)
    assert content.count("\n") < 120
    assert len(content.encode()) <= 9_000
    assert "more are not shown" in content
    assert "p27.md" in content


def test_the_hot_page_lists_what_changed_and_what_is_recalled_and_never_itself() -> None:
    """Ten of each at most."""
    pages = [page(n) for n in range(20)] + [ListedPage(INDEX, "Index", "wiki", "", "2026-02-01")]
    content = hot_content(pages, ["people/p3.md", "people/gone.md"])
    changed, recalled = content.split("**Recalled most**")
    assert changed.count("- [") == 10
    assert recalled.strip() == "- [P3](../people/p3.md)"
    assert "index.md" not in content
    assert hot_content([], []) == ""


def test_a_log_has_a_line_a_day() -> None:
    """With as many links as have room, the oldest day first; of a thousand the oldest goes."""
    many = {"2026-01-02": [page(1)], "2026-01-01": [page(n) for n in range(300)]}
    first, second = log_content(many).splitlines()
    assert first.startswith("- 2026-01-01: [P0](../people/p0.md), ")
    assert first.endswith(" more")
    assert len(first) < 150
    assert second == "- 2026-01-02: [P1](../people/p1.md)"
    days = [f"{2000 + n // 300}-{n % 300 // 28 + 1:02d}-{n % 28 + 1:02d}" for n in range(1_200)]
    kept = log_content({day: [page(1)] for day in days}).splitlines()
    assert (len(kept), kept[-1][2:12]) == (1_000, max(days))


def test_what_a_person_writes_around_an_index_stays() -> None:
    """Its block has the name of its title."""
    body = "Mine.\n" + wiki_body(LOG, "- a").text + "Mine, too.\n"
    found = wiki_body(LOG, "- a\n- b", body)
    assert found.text == body.replace(section_blocks(body)["log"].inside, "- a\n- b").replace(
        body.split("hash=")[1][:64], found.text.split("hash=")[1][:64]
    )
    assert wiki_body(HOT, "x", wiki_body(HOT, "x").text).changed == ()
