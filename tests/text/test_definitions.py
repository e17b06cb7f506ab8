"""What "X is a …" says that X is."""

from __future__ import annotations

import pytest

from slowwave.text.names import defined_type


@pytest.mark.parametrize(
    ("behind", "kind"),
    [
        (" is a retired Irish violinist from Cork.", "person"),
        (" (born 1961) was an English actor and director.", "person"),
        (" is the sister of Tom.", "person"),
        (" is a 1964 American thriller film directed by somebody.", "work"),
        (" is an American film director.", "person"),
        (" is a small fishing village in Norway.", "location"),
        (" was one of the oldest breweries of the town.", None),
        (" is our new deployment tool.", "product"),
        (" is a rock band formed in 2004.", "organization"),
        (" is a good idea.", None),
        (" is tired.", None),
        (" and a film.", None),
    ],
)
def test_the_head_of_what_it_is_said_to_be_types_it(behind: str, kind: str | None) -> None:
    """The last noun before the phrase goes on; a noun that no list has says nothing."""
    assert defined_type(f"Xyzzy{behind}", 5) == kind
