"""Reports as a browser gets them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt

from slowwave.plans.report import Report


@pytest.fixture
def rendered() -> Callable[[Report], str]:
    """Report → HTML by CommonMark with tables, raw HTML allowed: the most that any viewer would let through."""
    renderer = MarkdownIt("commonmark").enable("table")
    return lambda report: renderer.render(report.markdown())
