"""``slowwave tokens``: printed once, listed without secrets, revoked."""

from __future__ import annotations

import json

from slowwave.store.connect import Store
from tests.memories import remember
from tests.surfaces.cli.conftest import Run


def test_from_a_new_token_to_its_end(store: Store, run: Run) -> None:
    """The token stands alone on standard output, so that it can be put into a variable."""
    remember(store, "acme")
    code, out, _ = run("tokens", "new", "acme", "--scopes", "read, write", "--expires", "1d")
    token = out.strip()
    key, secret = token.split("_")[1:]
    assert (code, len(token)) == (0, 81)
    code, out, _ = run("tokens", "list", "acme")
    assert (code, key in out, secret in out) == (0, True, False)
    assert run("tokens", "revoke", key)[0] == 0
    code, out, _ = run("tokens", "list", "--json")
    assert [(row["id"], row["valid"]) for row in json.loads(out)] == [(key, False)]
    made = json.loads(run("tokens", "new", "acme", "--json")[1])
    assert (made["namespace"], made["scopes"], made["id"]) == ("acme", ["read", "write"], made["token"].split("_")[1])
    assert run("tokens", "new", "nobody")[0] == 2
    assert run("tokens", "new", "acme", "--scopes", "all")[0] == 2
