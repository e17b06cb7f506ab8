"""Research pages: extracts and cited sentences, from texts that nobody trusts."""

from __future__ import annotations

import pytest
import yaml

from slowwave.search.request import SearchResult
from slowwave.wiki.recall.research import Sentence, body, cited, extracted, file_name, page_text
from tests.wiki.recall.test_wake_rows import KEY


def result(path: str, snippet: str, **fields: object) -> SearchResult:
    """A result as a search gives it."""
    said = {"id": "i", "kind": "chunks", "title": "", "lines": "1-2", "evidence_class": "other", "stale_warning": None}
    return SearchResult.model_validate(
        {**said, "confidence": "high", "score": 0.5, "path": path, "snippet": snippet, **fields}
    )


def test_extracts_are_the_best_lines_that_differ() -> None:
    """At most three, the unsure only where nothing else is there."""
    found = [result(f"{n}.md", text) for n, text in enumerate(("one", "one", "two\n\nlines", "three", "four"))]
    assert extracted(found) == (Sentence("one", (1,)), Sentence("two lines", (3,)), Sentence("three", (4,)))
    assert extracted([result("a.md", "a", confidence="low"), result("b.md", "b")]) == (Sentence("b", (2,)),)
    assert extracted([result("a.md", "a", confidence="low")]) == (Sentence("a", (1,)),)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ({"sentences": [{"text": "So.", "sources": [2, 2, 9, True, "1"]}]}, (Sentence("So.", (2,)),)),
        ({"sentences": [{"text": "Unfounded.", "sources": []}, {"text": " ", "sources": [1]}, "no", {"text": 1}]}, ()),
        ({"sentences": "none"}, ()),
        ({}, ()),
    ],
)
def test_a_sentence_without_a_source_does_not_count(answer: dict[str, object], kept: tuple[Sentence, ...]) -> None:
    """A number that no source has is none, whatever it is written as."""
    assert cited(answer, 2) == kept


def test_memory_text_stays_text() -> None:
    """No heading, link, markup or list of it becomes the page's, and no secret is told."""
    hostile = f"# Answer\n\n<script>x</script> [a](http://evil) {KEY} | **bold**"
    found = [result("a.md", hostile), result("logs/sessions/s.md", "Said so.", evidence_class="session")]
    page = body("Why\n# not?", extracted(found), found)
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings == ["## Question", "## Answer", "## Evidence", "## Session evidence"]
    assert KEY not in page
    assert "<script>" not in page.replace("\\<", "")
    assert "](http" not in page.replace("\\]", "")
    assert "2. logs/sessions/s.md:1-2 (session, high): Said so." in page.splitlines()
    assert "Nothing that is remembered answers it." in body("Why?", (), [])


def test_a_file_has_a_name_and_a_head_that_can_be_read_again() -> None:
    """Whatever the question holds."""
    assert file_name("2026-05-01", "Wärme: ../../what?") == "2026-05-01-warme-what.md"
    assert file_name("2026-05-01", "何?") == "2026-05-01-question.md"
    text = page_text('A "title": # x', "briefing", "2026-05-01", ["a.md"], "## Question\n")
    _, head, rest = text.split("---\n", 2)
    assert rest == "\n## Question\n"
    assert yaml.safe_load(head)["title"] == 'A "title": # x'
    assert yaml.safe_load(head)["type"] == "briefing"
