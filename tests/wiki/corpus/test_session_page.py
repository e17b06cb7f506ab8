"""The page of a session: what is said of it can be read back, whatever it holds."""

from __future__ import annotations

import pytest

from slowwave.text.frontmatter import frontmatter
from slowwave.wiki.corpus.requests import session_page


def test_fields_are_read_back_as_they_were_given() -> None:
    """Quotes, colons, lines and letters of any script; what is unknown is left out, and a NUL cannot be stored."""
    fields = {"title": 'a: "b"\n--- # c', "agent": "Ÿ 港", "device": None, "tags": ["x y", "z"]}
    page = session_page(fields, "said\0")
    head = frontmatter(page)
    assert head.fields == {name: value for name, value in fields.items() if value is not None}
    assert page[head.end :] == "\nsaid\n"


@pytest.mark.parametrize("title", ["\x80", "a\x07b", "\x7f", "\ufffe", "é: \"quoted\" 'too'", "\x85\u2028"])
def test_whatever_a_session_begins_with_its_head_can_be_read(title: str) -> None:
    """A terminal's control characters made a page that nothing could take."""
    assert frontmatter(session_page({"title": title}, "Hello.")).fields["title"] == title
