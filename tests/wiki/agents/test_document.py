"""What docs/agents.md tells people to paste works as it stands, against scripted models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from agents import set_tracing_disabled
from langchain_core.messages import AIMessage

from slowwave.store.connect import Store
from tests.memories import ask
from tests.wiki.agents.models import ScriptedModel
from tests.wiki.agents.test_openai_session import Scripted, answer

PAGE = (Path(__file__).parents[3] / "docs" / "agents.md").read_text()
SNIPPETS = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def pasted(store: Store, monkeypatch: pytest.MonkeyPatch, marker: str, model: object = None) -> dict[str, Any]:
    """The names that the snippet with this word leaves behind."""
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.owner)
    (snippet,) = [text for text in SNIPPETS if marker in text]
    names: dict[str, Any] = {"model": model}
    exec(compile(snippet, marker, "exec"), names)  # noqa: S102 - our own page
    return names


def test_the_graph_of_the_page_remembers(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it was told is a memory."""
    pasted(store, monkeypatch, "StateGraph", ScriptedModel(script=[AIMessage("Noted.")], shown=[]))
    told = ask(
        store,
        "SELECT scope, external_id, content FROM memory.memories m JOIN memory.memory_versions v ON v.memory_id = m.id",
    )
    assert told == [("memories/mara", "langgraph:memories/mara/note-0", "I drink green tea in the morning.")]


def test_the_tools_of_the_page_find_what_they_keep(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Printed, as a person would see it."""
    pasted(store, monkeypatch, "langmem")["store"].close()
    assert "Mara lives in Oslo." in capsys.readouterr().out


def test_the_session_of_the_page_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second question is asked with the first before it."""
    set_tracing_disabled(disabled=True)
    model = Scripted(answer("A fine name."), answer("Kittiwake."))
    pasted(store, monkeypatch, "SlowwaveSession", model)
    assert capsys.readouterr().out == "A fine name.\nKittiwake.\n"
    assert len(model.shown[1]) == 3


def test_every_snippet_is_tried() -> None:
    """One that is added shows here."""
    assert len(SNIPPETS) == 3
