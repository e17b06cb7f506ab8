"""A chat model that calls tools, played by a server: what is sent, what is read, what is an error."""

from __future__ import annotations

from typing import Any

import pytest

from slowwave.errors import ChatError, SettingsError
from slowwave.models.endpoint import MOST_CALLS, ToolChat, answered
from slowwave.store.configured_models import deep_chat
from slowwave.store.settings import Settings
from tests.endpoints import completion
from tests.wiki.deep.players import playing, turn

TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
HELLO = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Begin."}]


def test_3_8_deep_tools_are_sent_and_calls_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """nexo's daemon sends an empty list of them, so that its model can talk and not work. The key stands in no message."""
    monkeypatch.setenv("SLOWWAVE_WRITER_API_KEY", "sesame")
    with playing(lambda *_: turn([("read", {"file": "a"}), ("read", {"file": "b"})], tokens=321)) as (model, server):
        said = model.turn(HELLO, [TOOL], 50)
        model.turn([*HELLO, said.message, *(answered(call, "text") for call in said.calls)], [TOOL], 50)
    assert [(call.name, call.arguments) for call in said.calls] == [
        ("read", '{"file": "a"}'),
        ("read", '{"file": "b"}'),
    ]
    assert (said.tokens, said.text) == (321, "")
    first, second = server.requests
    assert (first["tools"], first["tool_choice"], first["temperature"], first["key"]) == (
        [TOOL],
        "auto",
        0,
        "Bearer sesame",
    )
    assert [m["role"] for m in second["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert second["messages"][3] == {"role": "tool", "tool_call_id": "call-0", "content": "text"}


@pytest.mark.parametrize(
    ("served", "kind"),
    [
        ((200, b"no JSON", {}), "bad answer"),
        ((200, {"choices": []}, {}), "bad answer"),
        ((200, completion(""), {}), "bad answer"),
        ((200, completion(None, tool_calls=[{"function": "read"}]), {}), "bad answer"),
        ((200, completion(None, refusal="I will not."), {}), "refused"),
        ((200, b"[" * 100_000, {}), "bad answer"),
        ((404, {"error": {"message": "no such model"}}, {}), "error status"),
        ((503, b"", {}), "error status"),
    ],
)
def test_deep_what_is_no_turn_is_an_error(served: Any, kind: str) -> None:
    """In a sentence without key or texts."""
    with playing(lambda *_: served) as (model, _), pytest.raises(ChatError) as problem:
        model.turn(HELLO, [TOOL], 50)
    assert problem.value.kind == kind
    assert "Begin" not in str(problem.value)


def test_deep_a_parameter_that_a_server_refuses_is_left_out() -> None:
    """Each is asked for once more without it, and never again with it."""

    def picky(body: dict[str, Any], _: int) -> Any:
        for name in ("temperature", "max_tokens"):
            if name in body:
                return 400, {"error": {"param": name, "message": "unsupported"}}, {}
        return turn("Fine.")

    with playing(picky) as (model, server):
        assert model.turn(HELLO, [TOOL], 50).text == "Fine."
        assert model.turn(HELLO, [TOOL], 50).text == "Fine."
    assert len(server.requests) == 4
    assert server.requests[-1]["max_completion_tokens"] == 50


def test_deep_more_calls_than_a_turn_may_have_are_left_out() -> None:
    """Neither made nor answered: the message that goes back has as many."""
    with playing(lambda *_: turn([("read", {"file": str(n)}) for n in range(MOST_CALLS + 5)])) as (model, _):
        said = model.turn(HELLO, [TOOL], 50)
    sent: Any = said.message["tool_calls"]
    assert len(said.calls) == len(sent) == MOST_CALLS


def test_deep_the_model_is_the_one_of_the_settings() -> None:
    """None without a name; a name without a server is a sentence."""
    assert deep_chat(Settings(), "", 120) is None
    found = deep_chat(Settings(writer_endpoint="http://localhost:1"), "m", 120)
    assert isinstance(found, ToolChat)
    assert found.model == "m"
    with pytest.raises(SettingsError, match="SLOWWAVE_WRITER_ENDPOINT"):
        deep_chat(Settings(), "m", 120)
    with pytest.raises(SettingsError, match="http"):
        deep_chat(Settings(writer_endpoint="localhost:1"), "m", 120)
