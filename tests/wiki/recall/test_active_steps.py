"""What a model may do for a reminder, played by a local server: a plan within bounds, and lines that the pages bear out."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from slowwave.models.panel import Searcher
from slowwave.store.configured_models import searcher_for
from slowwave.store.settings import Settings
from slowwave.wiki.recall.active import FoundPage, ReminderPlan, WordedLine, reminder_plan, worded
from tests.endpoints import Server, completion

PAGES = (
    FoundPage("projects/lake/state.md", "The heat pump comes from Norrvik on 2026-11-30.", 0.9),
    FoundPage("core/active.md", "The boiler is not to be sold.", 0.8),
)


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(lambda *_: (500, {}, {}))
    yield found
    found.close()


def helper(server: Server, said: object) -> Searcher:
    """A model that always says the same."""
    server.answer = lambda *_: (200, completion(json.dumps(said)), {})
    found = searcher_for(Settings(search_model="m", search_endpoint=server.url, search_steps=("active_plan",)))
    assert found is not None
    return found


def test_a_plan_is_kept_within_bounds(server: Server) -> None:
    """Numbers, lists of texts; whatever else stands there is the usual."""
    said = {"durable_queries": ["a", "a", 3], "session_queries": [], "include_sessions": True}
    many = helper(server, said | {"durable_limit": 99, "session_limit": -4})
    assert reminder_plan(many, "q") == ReminderPlan(("a",), (), True, 8, 0)
    odd = helper(server, said | {"durable_limit": "8", "session_limit": True, "include_sessions": "yes"})
    assert reminder_plan(odd, "q") == ReminderPlan(("a",), (), False, 6, 3)
    short = reminder_plan(helper(server, {"durable_queries": []}), "q")
    assert (short[:-1], "another form" in short.warning) == (ReminderPlan()[:-1], True)


def test_lines_that_pages_bear_out_are_told_with_the_pages(server: Server) -> None:
    """Words of a page's own; a line of two pages names both."""
    said = {
        "sentences": [
            {"text": "The heat pump comes on 2026-11-30.", "sources": [1]},
            {"text": "The boiler is not to be sold; the heat pump comes from Norrvik.", "sources": [2, 1]},
        ]
    }
    lines, warning = worded(helper(server, said), "q", PAGES)
    assert (lines[0], warning) == (WordedLine("The heat pump comes on 2026-11-30.", ("projects/lake/state.md",)), "")
    assert lines[1].sources == ("core/active.md", "projects/lake/state.md")


@pytest.mark.parametrize(
    "sentence",
    [
        {"text": "The heat pump comes on 2026-12-01.", "sources": [1]},
        {"text": "The boiler is to be sold.", "sources": [2]},
        {"text": "Ana brings the heat pump.", "sources": [1]},
        {"text": "The heat pump comes from Norrvik.", "sources": [2]},
        {"text": "The heat pump comes from Norrvik.", "sources": []},
        {"text": "The heat pump comes from Norrvik.", "sources": [3]},
        "nothing is known",
    ],
    ids=str,
)
def test_dory_a_composer_that_contradicts_the_evidence_is_ignored(server: Server, sentence: object) -> None:
    """Another date, a "not" that is gone, a name that nobody said, a page that does not say it: no line is left, and that is said."""
    lines, warning = worded(helper(server, {"sentences": [sentence]}), "q", PAGES)
    assert (lines, "told as they are" in warning) == ((), True)


def test_a_secret_in_a_page_is_not_sent(server: Server) -> None:
    """A marker stands in its place."""
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA3"
    page = FoundPage("a.md", f"The key is {secret}, kept by Ana.", 0.9)
    worded(helper(server, {"sentences": []}), "q", (page,))
    assert secret not in json.dumps(server.requests)
    assert "kept by Ana" in json.dumps(server.requests)
