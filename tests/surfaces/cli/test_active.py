"""``slowwave active`` prints what an agent is reminded of while it works, and ``slowwave.Memory`` gives the same."""

from __future__ import annotations

import json

import pytest

import slowwave
from slowwave.errors import Refused
from slowwave.store.connect import Store
from tests.memories import remember
from tests.surfaces.cli.conftest import Run
from tests.wiki.recall.test_active_request import PROMPT, put_page


def test_what_may_be_told_is_printed_with_its_source(store: Store, run: Run) -> None:
    """Or that there is nothing; JSON holds the whole answer."""
    remember(store, "acme")
    code, out, _ = run("active", "acme", PROMPT, "--timeout", "30000")
    assert (code, "Nothing that may be told" in out) == (0, True)
    put_page(store, "notes/heating.md", "thermostat", status="active")
    code, out, _ = run("active", "acme", PROMPT, "--timeout", "30000")
    assert code == 0
    assert "controlled by thermostat. (notes/heating.md)\n" in out
    code, out, _ = run("active", "acme", PROMPT, "--json", "--timeout", "30000")
    assert (code, json.loads(out)["sources"]) == (0, ["notes/heating.md"])
    assert run("active", "acme", PROMPT, "--profile", "none")[0] == 2


def test_python_has_the_same(store: Store) -> None:
    """A wake and an active memory of a namespace; what cannot be asked is refused with the field."""
    remember(store, "acme")
    put_page(store, "core/user.md", "thermostat", status="active")
    memory = slowwave.Memory("acme", store)
    assert memory.wake("tests").block.startswith("## User\n\nThe heating")
    assert memory.active(PROMPT, "tests", timeout_ms=30_000).sources == ("core/user.md",)
    with pytest.raises(Refused, match="budget_tokens"):
        memory.wake("tests", budget_tokens=9_000)
    with pytest.raises(Refused, match="timeout_ms"):
        memory.active(PROMPT, "tests", timeout_ms=1)
