"""The page of a session: what is said of it can be read back, whatever it holds."""

from __future__ import annotations

from slowwave.corpus.session_page import session_page
from slowwave.texts.frontmatter import frontmatter


def test_fields_are_read_back_as_they_were_given() -> None:
    """Quotes, colons, lines and letters of any script; what is unknown is left out, and a NUL cannot be stored."""
    fields = {"title": 'a: "b"\n--- # c', "agent": "Ÿ 港", "device": None, "tags": ["x y", "z"]}
    page = session_page(fields, "said\0")
    head = frontmatter(page)
    assert head.fields == {name: value for name, value in fields.items() if value is not None}
    assert page[head.end :] == "\nsaid\n"
