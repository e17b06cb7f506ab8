"""The writer of the settings: its own endpoint, key and advice, and no call when nobody asked for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slowwave.errors import ChatError, SettingsError
from slowwave.store.configured_models import consolidator_for, writer_for
from slowwave.store.settings import Settings
from tests.endpoints import Server, completion


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server(lambda *_: (200, completion('{"text": "x"}'), {}))
    yield served
    served.close()


def test_no_model_means_no_writer():
    """Out of the box summaries are taken from the sources."""
    assert writer_for(Settings(), "") is None
    assert writer_for(Settings(writer_endpoint="http://localhost:1"), "") is None


def test_the_writer_has_a_key_of_its_own(server: Server, monkeypatch: pytest.MonkeyPatch):
    """The judges' key does not go to the writer's server."""
    monkeypatch.setenv("SLOWWAVE_JUDGE_API_KEY", "sk-judge")
    monkeypatch.setenv("SLOWWAVE_WRITER_API_KEY", "sk-writer")
    writer = writer_for(Settings(writer_endpoint=server.url), "w")
    assert writer is not None
    assert writer.ask("system", "user", {}, 50).text == '{"text": "x"}'
    (request,) = server.requests
    assert (writer.model, request["model"], request["key"]) == ("w", "w", "Bearer sk-writer")


def test_one_endpoint_serves_both_writers(server: Server):
    """Summaries of communities and of memories may have different models, or only one of them any."""
    settings = Settings(consolidation_model="c", writer_endpoint=server.url)
    assert writer_for(settings, "") is None
    consolidator = consolidator_for(settings)
    assert consolidator is not None
    assert consolidator.model == "c"
    with pytest.raises(SettingsError, match="SLOWWAVE_CONSOLIDATION_MODEL"):
        consolidator_for(Settings(consolidation_model="c"))


def test_errors_name_the_writers_settings(server: Server, monkeypatch: pytest.MonkeyPatch):
    """What to do next is said with the variables that matter here."""
    monkeypatch.setenv("SLOWWAVE_WRITER_API_KEY", "sk-writer")
    server.answer = lambda *_: (401, {}, {})
    writer = writer_for(Settings(writer_endpoint=server.url), "w")
    assert writer is not None
    with pytest.raises(ChatError, match=r"so it wrote nothing.*SLOWWAVE_WRITER_API_KEY") as caught:
        writer.ask("system", "private text", {}, 50)
    assert not any(word in str(caught.value) for word in ("private", "sk-writer", "JUDGE"))


def test_a_model_without_an_endpoint_is_a_mistake():
    """Said before the night begins its work, and not taken for 'no model'."""
    with pytest.raises(SettingsError, match="SLOWWAVE_WRITER_ENDPOINT"):
        writer_for(Settings(), "w")
    with pytest.raises(SettingsError, match=r"The writer's endpoint is not an http.*SLOWWAVE_WRITER_ENDPOINT"):
        writer_for(Settings(writer_endpoint="localhost:1"), "w")
