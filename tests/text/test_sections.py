"""Sections by their headings."""

from __future__ import annotations

from slowwave.text.markdown import in_line, sections

TEXT = """# Page

Before.

## Open Questions ##

- Who?

### Under it

More.

## Timeline

```
## Not this one
```

~~~~
~~~
# nor this
~~~~

## Evidence

# Last
## open questions

Again.
"""


def test_a_section_ends_at_the_next_heading_of_its_level_or_above() -> None:
    found = sections(TEXT)
    assert list(found) == ["page", "open questions", "under it", "timeline", "evidence", "last"]
    assert found["open questions"] == "- Who?\n\n### Under it\n\nMore."
    assert found["page"].endswith("## Evidence")
    assert (found["under it"], found["evidence"]) == ("More.", "")


def test_code_holds_no_headings() -> None:
    """A fence ends at one of its own kind, as long or longer."""
    assert sections(TEXT)["timeline"].count("#") == 3


def test_without_headings_there_is_nothing() -> None:
    assert sections("#no heading\n\n    # code\n") == {}


def test_headings_lead_what_is_under_them_where_lines_are_one() -> None:
    """No mark of a heading is left, and a comment in code is none."""
    text = "# Harbour rebuild\n\nLed by Mara.\n\n## When?\n\nMay.\n\n```\n# make it\n```\n#tag"
    assert " ".join(in_line(text).split()) == "Harbour rebuild: Led by Mara. When? May. ``` # make it ``` #tag"
    assert in_line("") == ""
