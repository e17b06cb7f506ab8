"""The chat client against a server that speaks the protocol: what it sends, and every way in which no answer comes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from slowwave.errors import ChatError, SettingsError
from slowwave.models.endpoint import EndpointChat, most_tokens
from slowwave.store.configured_models import judges_for
from slowwave.store.settings import Settings
from tests.endpoints import Server, completion

SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string"}}}
ESTIMATE = most_tokens("system", "user", SCHEMA, 50)


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server(lambda *_: (200, completion('{"verdict": "same"}'), {}))
    yield served
    served.close()


def chat(server: Server, timeout: float = 5.0) -> EndpointChat:
    return EndpointChat(server.url, "m", timeout=timeout)


def ask(model: EndpointChat) -> tuple[str, int]:
    return model.ask("system", "user", SCHEMA, 50)


def test_the_request_is_as_deterministic_as_the_protocol_allows(server: Server, monkeypatch: pytest.MonkeyPatch):
    """Temperature 0, a seed, a strict schema and a bound on the answer; the key comes from the environment."""
    monkeypatch.setenv("SLOWWAVE_JUDGE_API_KEY", "sk-secret\n")
    assert ask(chat(server)) == ('{"verdict": "same"}', 100)
    (request,) = server.requests
    assert (request["path"], request["key"], request["model"]) == ("/v1/chat/completions", "Bearer sk-secret", "m")
    assert (request["temperature"], request["max_tokens"], type(request["seed"])) == (0, 50, int)
    assert [(m["role"], m["content"]) for m in request["messages"]] == [("system", "system"), ("user", "user")]
    assert request["response_format"]["json_schema"] == {"name": "answer", "strict": True, "schema": SCHEMA}


def test_a_server_without_schemas_is_told_in_words_and_once(server: Server):
    """Many local servers refuse ``response_format``: the schema goes into the instructions, in every later question at once."""
    server.answer = lambda body, _: (400, {}, {}) if "response_format" in body else (200, completion("{}"), {})
    model = chat(server)
    assert ask(model) == ask(model) == ("{}", 100)
    assert ["response_format" in r for r in server.requests] == [True, True, False, False]
    assert '"verdict": {"type": "string"}' in server.requests[2]["messages"][0]["content"]


@pytest.mark.parametrize("status", [400, 500])
def test_a_server_that_takes_a_schema_in_another_place_gets_it_there(server: Server, status: int):
    """llama-cpp-python's calls ``json_schema`` an error of its own, and keeps to the schema beside ``json_object``."""
    problem = "1 validation error: {'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}"

    def answer(body: dict[str, Any], _: int) -> tuple[int, Any, dict[str, str]]:
        if body["response_format"]["type"] != "json_object":
            return status, {"error": {"message": problem, "param": None}}, {}
        return 200, completion("{}"), {}

    server.answer = answer
    model = chat(server)
    assert ask(model)[0] == ask(model)[0] == "{}"
    assert [r["response_format"]["type"] for r in server.requests[-2:]] == ["json_object"] * 2
    assert server.requests[-1]["response_format"]["schema"] == SCHEMA
    assert '"verdict": {"type": "string"}' in server.requests[-1]["messages"][0]["content"]


def test_a_parameter_that_the_server_names_is_left_out(server: Server):
    """Reasoning models take no temperature and call the bound of an answer by another name."""
    refused = ("max_tokens", "temperature")

    def answer(body: dict[str, Any], _: int) -> tuple[int, Any, dict[str, str]]:
        for name in refused:
            if name in body:
                return 400, {"error": {"message": "Unsupported parameter.", "param": name}}, {}
        return 200, completion("{}"), {}

    server.answer = answer
    assert ask(chat(server)) == ("{}", 100)
    last = server.requests[-1]
    assert (last["max_completion_tokens"], "response_format" in last) == (50, True)


def test_a_server_that_refuses_everything_is_left_alone(server: Server):
    """Once as it should be, once in each plainer way, and that is all."""
    server.answer = lambda *_: (400, {"error": {"message": "no", "param": ["odd"]}}, {})
    with pytest.raises(ChatError, match="status 400") as caught:
        ask(chat(server))
    assert (caught.value.kind, caught.value.tokens, len(server.requests)) == ("error status", 0, 3)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_once_more(server: Server, pauses: list[float], status: int):
    """Twice in all, after the pause that it names."""
    server.answer = lambda _, n: (status, {}, {"Retry-After": "60"}) if n == 1 else (200, completion("{}"), {})
    lost = ESTIMATE if status >= 500 else 0
    assert ask(chat(server)) == ("{}", 100 + lost)
    assert pauses == [60.0]


@pytest.mark.parametrize(
    ("status", "content", "kind", "problem", "requests", "tokens"),
    [
        (429, {}, "error status", "status 429", 2, 0),
        (500, {}, "error status", "status 500", 2, 2 * ESTIMATE),
        (401, {}, "error status", "status 401", 1, 0),
        (307, {}, "error status", "status 307", 1, 0),
        (200, b"<html>proxy</html>", "bad answer", "not a chat completion", 1, ESTIMATE),
        (200, b"[" * 100_000, "bad answer", "not a chat completion", 1, ESTIMATE),
        (200, b"x" * 1_000_001, "bad answer", "more than 1,000,000 bytes", 1, ESTIMATE),
        (200, {"choices": []}, "bad answer", "not a chat completion", 1, ESTIMATE),
        (200, {"usage": {"total_tokens": 7}, "choices": None}, "bad answer", "not a chat completion", 1, 7),
        (200, completion(None), "bad answer", "empty answer", 1, 100),
        (200, completion("{", ended="length"), "bad answer", "cut off", 1, 100),
        (200, completion("{}", ended="content_filter"), "refused", "refused to answer", 1, 100),
        (200, completion(None, refusal="I cannot."), "refused", "refused to answer", 1, 100),
    ],
)
def test_every_failure_has_its_kind_its_cost_and_a_sentence(
    server: Server, status: int, content: Any, kind: str, problem: str, requests: int, tokens: int
):
    """What may have been worked on is paid for in the books, and only what may pass is tried again."""
    server.answer = lambda *_: (status, content, {})
    with pytest.raises(ChatError, match=problem) as caught:
        ask(chat(server))
    assert (caught.value.kind, caught.value.tokens, len(server.requests)) == (kind, tokens, requests)


def test_a_server_that_says_nothing_or_drips_is_too_late(server: Server):
    """The time is that of the whole answer. An answer that began and ends late is not asked for again."""

    def silent(*_: object) -> tuple[int, Any, dict[str, str]]:
        server.closing.wait(10)
        return 200, b"", {}

    def dripping(*_: object) -> tuple[int, Any, dict[str, str]]:
        return 200, (b" " for _ in itertools.takewhile(lambda _: not server.closing.wait(0.05), itertools.count())), {}

    for answer, attempts in ((silent, 2), (dripping, 1)):
        server.answer = answer
        with pytest.raises(ChatError, match=r"did not answer within 0\.2 s") as caught:
            ask(chat(server, timeout=0.2))
        assert (caught.value.kind, caught.value.tokens) == ("timeout", attempts * ESTIMATE)


def test_a_server_that_is_not_there_costs_nothing(server: Server, pauses: list[float]):
    """The error comes after one more attempt."""
    server.close()
    with pytest.raises(ChatError, match=r"could not be asked \(ConnectError\)") as caught:
        ask(chat(server))
    assert (caught.value.kind, caught.value.tokens, pauses) == ("unreachable", 0, pauses)
    assert [0.375 <= pause <= 0.5 for pause in pauses] == [True]


@pytest.mark.parametrize("usage", [None, {}, {"total_tokens": 0}, {"total_tokens": -5}, {"total_tokens": "9"}, [1]])
def test_usage_that_makes_no_sense_counts_as_the_estimate(server: Server, usage: object):
    """A server that reports nothing cannot make a budget endless."""
    server.answer = lambda *_: (200, completion("{}", tokens=None) | {"usage": usage}, {})
    assert ask(chat(server)) == ("{}", ESTIMATE)


def test_errors_repeat_neither_key_nor_password_nor_text(server: Server, monkeypatch: pytest.MonkeyPatch):
    """They end up in reports: they name the server and the model, never what was sent or what came back."""
    monkeypatch.setenv("SLOWWAVE_JUDGE_API_KEY", "sk-secret")
    server.answer = lambda *_: (400, {"error": {"message": "your prompt was: private text"}}, {})
    model = EndpointChat(server.url.replace("//", "//user:hidden@"), "m")
    with pytest.raises(ChatError, match=r"The model m at http://127\.0\.0\.1:\d+ answered") as caught:
        model.ask("system", "private text", SCHEMA, 50)
    assert not any(word in str(caught.value) for word in ("private", "sk-secret", "hidden", "prompt"))


def test_settings_name_two_models_or_none():
    """Both come from one endpoint, and one model twice is no second vote."""
    assert judges_for(Settings()) == ()
    both = Settings(judge_models=("a", "b"), judge_endpoint="http://localhost:1")
    assert [judge.model for judge in judges_for(both)] == ["a", "b"]
    with pytest.raises(SettingsError, match="no endpoint"):
        judges_for(Settings(judge_models=("a", "b")))
    for address in ("localhost:1", "ftp://x", "http://", "http://x:port"):
        with pytest.raises(SettingsError, match="not an http"):
            judges_for(Settings(judge_models=("a", "b"), judge_endpoint=address))
    for models in (["a"], ["a", "a"], ["a", "b", "c"], ["a", ""]):
        with pytest.raises(SettingsError, match=r"judge_models cannot be .* two different models are needed"):
            Settings.for_namespace({"judge_models": models})
