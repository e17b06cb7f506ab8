"""``slowwave namespace as-of`` shows what was live at an earlier instant."""

from __future__ import annotations

import json

from slowwave.store.connect import Store
from tests.store.test_as_of import SLUG, before, night
from tests.surfaces.cli.conftest import Run


def test_the_command_shows_it(store: Store, run: Run) -> None:
    """As a table and as JSON, with a word to look for; a text that is not an instant is refused."""
    namespace, then = before(store)
    night(store, namespace)
    code, out, _ = run("namespace", "as-of", SLUG, then.isoformat(), "--text", "archived", "--json")
    assert code == 0
    assert [m["text"] for m in json.loads(out)["memories"]] == ["The archived one."]
    code, out, _ = run("namespace", "as-of", SLUG, then.isoformat())
    assert code == 0
    assert "The quarantined one." in out
    code, out, _ = run("namespace", "as-of", SLUG, "1999-01-01")
    assert (code, "had nothing" in out) == (0, True)
    for wrong in ("last Tuesday", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", ""):
        code, _, err = run("namespace", "as-of", SLUG, wrong)
        assert code == 2
        assert "is not an instant" in err
    code, _, err = run("namespace", "as-of", SLUG, "2026-01-01", "--text", "\udcff")
    assert (code, "UTF-8" in err) == (2, True)
    assert run("namespace", "as-of", SLUG, "2026-01-01", "--limit", "9" * 20)[0] == 2
