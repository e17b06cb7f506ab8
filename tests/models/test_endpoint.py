"""Requests to an endpoint: headers, retries, the counts of lost attempts, and the missing client."""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from slowwave.errors import EmbeddingError, SettingsError
from slowwave.models.embedder import EndpointEmbedder
from slowwave.models.endpoint import Endpoint, EndpointChat, Reply
from tests.endpoints import Server

KEY = "SLOWWAVE_JUDGE_API_KEY"


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server(lambda *_: (503, {}, {}))
    yield served
    served.close()


def endpoint(server: Server) -> Endpoint:
    return Endpoint(server.url, "chat.completions", key_variable=KEY, timeout=5.0, attempts=4, most_bytes=1000)


def post(one: Endpoint, text: str = "Hello.") -> Reply:
    with one.connect() as connections:
        return one.post(connections, {"model": "m", "messages": [{"role": "user", "content": text}]})


def test_retries_pause_longer_each_time(server: Server, pauses: list[float]) -> None:
    """Each answer of 5xx may have cost tokens."""
    reply = post(endpoint(server))
    assert (reply.status, reply.kind, reply.lost) == (503, "error status", 4)
    assert [most * 0.75 <= pause <= most for most, pause in zip((0.5, 1, 2), pauses, strict=True)] == [True] * 3


def test_retry_after_sets_the_pause_and_429_costs_nothing(server: Server, pauses: list[float]) -> None:
    server.answer = lambda _, n: [(429, {}, {"Retry-After": "7"}), (500, {}, {}), (200, {"ok": 1}, {})][n - 1]
    assert post(endpoint(server)) == Reply(200, b'{"ok": 1}', lost=1)
    assert pauses[0] == 7


@pytest.mark.parametrize("status", [307, 400, 401, 403, 404, 422])
def test_refusal_or_redirect_is_not_sent_again(server: Server, pauses: list[float], status: int) -> None:
    """A redirect to another server would take the texts there."""
    server.answer = lambda *_: (status, {}, {"Location": f"{server.url}/v1/chat/completions", "Retry-After": "1"})
    reply = post(endpoint(server))
    assert (reply.kind, reply.status, reply.lost) == ("error status", status, 0)
    assert (pauses, len(server.requests)) == ([], 1)


@pytest.mark.parametrize("key", ["", "sk-judge\n"])
def test_variables_of_openai_are_not_sent_to_other_servers(
    server: Server, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """The client reads them by itself; only the key of the role may reach the endpoint."""
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "BASE_URL"):
        monkeypatch.setenv(f"OPENAI_{name}", "http://localhost:1/foreign")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer foreign")
    monkeypatch.setenv(KEY, key)
    server.answer = lambda *_: (200, {}, {})
    assert post(endpoint(server)).status == 200
    (request,) = server.requests
    assert request["key"] == ("Bearer sk-judge" if key else None)
    assert "foreign" not in str(server.headers)


def test_no_log_holds_the_password_of_an_address_or_a_text(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """The HTTP client logs each address at INFO, and the client of models each request at DEBUG; both log again afterwards."""
    caplog.set_level(logging.DEBUG)
    server.answer = lambda *_: (200, {}, {})
    address = server.url.replace("//", "//me:hunter2@")
    one = Endpoint(address, "chat.completions", key_variable=KEY, timeout=5.0, attempts=1, most_bytes=1000)
    assert post(one, "Mara likes tea.").status == 200
    assert [word for word in ("hunter2", "Mara") if word in caplog.text] == []
    logging.getLogger("httpx2").info("as before")
    assert "as before" in caplog.text


def test_lone_surrogates_are_replaced(server: Server) -> None:
    server.answer = lambda *_: (200, {}, {})
    assert post(endpoint(server), "broken \ud800 text").status == 200
    assert server.requests[0]["messages"][0]["content"] == "broken ? text"


def test_key_that_no_header_can_carry_is_a_problem_without_the_key(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "schlüssel")
    reply = post(endpoint(server))
    assert (reply.kind, "schl" in reply.problem, server.requests) == ("unreachable", False, [])


def test_missing_client_is_refused_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r'pip install "slowwave\[models\]"'):
        EndpointChat("http://localhost:1", "m")
    with pytest.raises(EmbeddingError, match=r'pip install "slowwave\[models\]"'):
        EndpointEmbedder("http://localhost:1", "m")


def test_client_is_imported_by_the_first_request_only() -> None:
    """Configuring a model must not cost every command a second."""
    code = (
        "import sys; from slowwave.models.endpoint import EndpointChat; from slowwave.models import embedder; "
        "EndpointChat('http://localhost:1', 'm'); embedder.EndpointEmbedder('http://localhost:1', 'm'); "
        "print(sorted({'openai', 'httpx', 'httpx2'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
