"""Which page a link means: a path that is right, else what a vault calls a page, the nearest first."""

from __future__ import annotations

import pytest

from slowwave.sources.page_files import LinkKind
from slowwave.wiki.corpus.links import LinkTarget, LinkTargets

PAGES = {
    "Harbor.md": ("Harbor", ()),
    "Equipment/Crane.md": ("The crane", ("the big one",)),
    "Notes/Crane.md": ("Crane notes", ()),
    "Notes/Tide tables.md": ("Tides", ("The Big One",)),
    "Notes/index.md": ("Notes", ()),
    "deep/Sub/Page.md": ("Page", ()),
    "Caf\u00e9.md": ("Caf\u00e9", ()),
}
TARGETS = LinkTargets(LinkTarget(path, path, title, aliases) for path, (title, aliases) in PAGES.items())


@pytest.mark.parametrize(
    ("path", "kind", "target", "meant"),
    [
        ("Harbor.md", "wikilink", "Crane", "Notes/Crane.md"),  # of two, the shorter path
        ("Equipment/x.md", "wikilink", "Crane", "Equipment/Crane.md"),  # the own folder first
        ("Harbor.md", "wikilink", "Equipment/Crane", "Equipment/Crane.md"),
        ("Notes/Crane.md", "wikilink", "the big one", "Notes/Tide tables.md"),
        ("Harbor.md", "wikilink", "THE CRANE", "Equipment/Crane.md"),
        ("Harbor.md", "wikilink", "tide tables", "Notes/Tide tables.md"),
        ("Harbor.md", "markdown", "Notes", "Notes/index.md"),  # a folder's own page
        ("Notes/Crane.md", "markdown", "../Harbor.md", "Harbor.md"),
        ("Notes/Crane.md", "markdown", "/Harbor", "Harbor.md"),
        ("Notes/Crane.md", "markdown", "Equipment/Crane.md", "Equipment/Crane.md"),  # not beside it, but from the root
        ("Notes/Crane.md", "markdown", "other/Crane.md", None),  # a path that is wrong is no name
        ("Harbor.md", "markdown", "Sub/Page.md", None),  # the end of a path means a page in wikilinks alone
        ("Harbor.md", "wikilink", "Sub/Page", "deep/Sub/Page.md"),
        ("Harbor.md", "wikilink", "./Page", None),
        ("Harbor.md", "wikilink", "/Page", None),
        ("Harbor.md", "markdown", "../Harbor.md", None),  # nothing outside of the corpus
        ("Harbor.md", "wikilink", "Cafe\u0301", "Caf\u00e9.md"),  # one name, two spellings
        ("Harbor.md", "wikilink", "", "Harbor.md"),
        ("Harbor.md", "wikilink", "Nowhere", None),
        ("Harbor.md", "wikilink", "rane", None),
    ],
)
def test_what_a_link_means(path: str, kind: LinkKind, target: str, meant: str | None) -> None:
    assert TARGETS.resolve(path, kind, target) == meant


def test_the_order_in_which_pages_come_changes_nothing() -> None:
    turned = LinkTargets(LinkTarget(path, path, *PAGES[path]) for path in reversed(PAGES))
    for name in ("Crane", "the big one", "Notes", "harbor"):
        assert turned.resolve("Harbor.md", "wikilink", name) == TARGETS.resolve("Harbor.md", "wikilink", name)
