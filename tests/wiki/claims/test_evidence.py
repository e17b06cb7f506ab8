"""The page of what was said: its path by the day, its fields, and the lines that the statement takes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.wiki.claims.claim import capture, evidence, said_on
from slowwave.wiki.claims.request import RememberRequest
from tests.wiki.claims import NOW

PATH = r"sources/semantic/2026/05/01/[a-z0-9][a-z0-9-]*-20260501t090000000000-[0-9a-f]{12}-write\.md"


@given(
    st.text(st.characters(blacklist_categories=("Cs", "Cc"), whitelist_characters="\n"), min_size=1)
    .map(str.strip)
    .filter(bool)
)
def test_what_was_said_stands_on_its_page_word_for_word(said: str) -> None:
    """Whatever it is, a frontmatter of its own included."""
    page = evidence(RememberRequest(content=said, subject="Rowan", reason=said[:200]), "Rowan", said, NOW)
    assert said_on(page.page) == said
    assert "\n".join(page.page.split("\n")[page.first_line - 1 : page.last_line]) == said


@pytest.mark.parametrize("subject", ["Rowan", "project:rowan", "../../core/user", "東京", "-", "x" * 200])
def test_its_path_is_its_day_and_its_subject(subject: str) -> None:
    """Two of one instant have two paths; no name leads out of its folder."""
    request = RememberRequest(content="It is red.", subject=subject)
    one, other = (evidence(request, subject, "It is red.", NOW).path for _ in range(2))
    assert re.fullmatch(PATH, one)
    assert one != other


def test_a_capture_lies_in_the_inbox_or_in_quarantine() -> None:
    request = RememberRequest(content="Ask Mara.\nSoon.", force_inbox=True)
    page = capture(request, "Ask Mara.\nSoon.", NOW, quarantined=False)
    assert (page.path, page.title) == ("inbox/semantic/20260501t090000000000-ask-mara-soon.md", "Ask Mara.")
    hidden = capture(request, "Ask Mara.", NOW, quarantined=True)
    assert re.fullmatch(r"inbox/quarantine/ask-mara-[0-9a-f]{12}\.md", hidden.path)
    assert hidden.title == hidden.path
