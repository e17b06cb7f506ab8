"""Names in pages: the longest that stands there, as far as the line goes."""

from __future__ import annotations

import pytest

from slowwave.sources.page_files import markdown_page
from slowwave.wiki.corpus.links import KnownNames, NamedRow

NAMES = KnownNames(
    [NamedRow("1", ("Casey",), True), NamedRow("2", ("Casey Quist",), True), NamedRow("3", ("north pier",), False)]
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Ask Casey Quist.", ["casey quist"]),
        ("Ask for Casey", ["casey"]),  # the line ends where a longer name would go on
        ("Casey and the North Pier", ["casey", "north pier"]),
        ("the north", []),
    ],
)
def test_the_longest_name_that_stands_there_is_said(line: str, said: list[str]) -> None:
    """Of "Casey" and "Casey Quist", at the end of a line too."""
    assert [mention.said for mention in NAMES.found_in(markdown_page(line))] == said
