"""``slowwave wake`` prints what an agent is told when it begins."""

from __future__ import annotations

import json

from slowwave.store.connect import Store
from tests.memories import remember
from tests.surfaces.cli.conftest import Run
from tests.wiki.recall.test_wake_rows import put_document


def test_the_block_as_it_is_or_with_what_it_rests_on(store: Store, run: Run) -> None:
    """As it is, for a prompt; or with what it rests on."""
    remember(store, "acme")
    code, out, _ = run("wake", "acme")
    assert (code, "acme has no memory that the profile" in out, "slowwave search acme" in out) == (0, True, True)
    put_document(store, "core/user.md", "Mara [bold]x[/].")
    assert run("wake", "acme")[:2] == (0, "## User\n\nMara [bold]x[/].\n")
    code, out, _ = run("wake", "acme", "--json", "--budget", "100")
    assert (code, json.loads(out)["sources"]) == (0, ["core/user.md"])
    assert run("wake", "acme", "--budget", "5000")[0] == 2
    assert run("wake", "acme", "--profile", "none")[0] == 2
