"""Settings by day: those of the namespace as they are now, and made once as long as nothing changed."""

from __future__ import annotations

import pytest

from slowwave.errors import Refused
from slowwave.search.request import known_namespace, settings_of
from slowwave.store.connect import Store
from tests.memories import ask, remember
from tests.snapshots import uid


def test_a_change_holds_for_the_next_who_asks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the namespace's own settings and of the environment; without one, the same object is given again."""
    remember(store, "acme", {"recall_log_share": 0.5})
    with store.connect("reader") as connection:
        first = known_namespace(connection, "acme")
        assert (first.id, first.settings.recall_log_share) == (uid("acme"), 0.5)
        assert settings_of(connection, "acme") is first.settings
        ask(store, "UPDATE memory.namespaces SET settings = settings || '{\"recall_log_share\": 0}'")
        assert settings_of(connection, "acme").recall_log_share == 0
        monkeypatch.setenv("SLOWWAVE_WAKE_PROFILES", "/mine.toml")
        assert settings_of(connection, "acme").wake_profiles == "/mine.toml"
        with pytest.raises(Refused, match="no namespace"):
            settings_of(connection, "nobody")
