"""Where a server may listen, and whom it lets in there."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import pytest
import uvicorn
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from slowwave.errors import Refused, StoreError
from slowwave.store.connect import Store
from slowwave.wiki.serving.answering import Door, is_loopback
from slowwave.wiki.serving.http_app import door_of, limited_protocol, listener
from tests.memories import ask
from tests.wiki.serving import token_of


def _door(store: Store, host: str, namespace: str | None = None, rate: float = 50) -> Door:
    with store.connect("server") as connection:
        return door_of(connection, host, namespace, rate, 1024)


def test_dory_without_tokens_only_this_machine_is_served_and_one_namespace_named(acme: Store) -> None:
    """No switch lets everybody in."""
    assert _door(acme, "127.0.0.1", "acme", rate=0) == Door(open_to="acme", request_bytes=1024)
    for host, namespace in (("0.0.0.0", "acme"), ("::", "acme"), ("192.0.2.1", "acme"), ("memory.example", "acme")):  # noqa: S104
        with pytest.raises(Refused, match="everybody"):
            _door(acme, host, namespace)
    with pytest.raises(Refused, match="serve NAMESPACE"):
        _door(acme, "127.0.0.1")
    with pytest.raises(Refused, match="no namespace"):
        _door(acme, "127.0.0.1", "nobody")


def test_with_tokens_they_are_asked_for_everywhere(acme: Store) -> None:
    """Those of another namespace open nothing where one is named; those that are over are none."""
    token_of(acme, "rival")
    found = _door(acme, "0.0.0.0")  # noqa: S104
    assert (found.open_to, found.only, found.rate is not None) == (None, None, True)
    assert _door(acme, "127.0.0.1", "acme").open_to == "acme"
    assert _door(acme, "127.0.0.1", "rival").only == "rival"
    assert _door(acme, "127.0.0.1", rate=0).rate is None
    ask(acme, "UPDATE memory.tokens SET expires_at = now() - interval '1 second'")
    with pytest.raises(Refused):
        _door(acme, "0.0.0.0", "rival")  # noqa: S104


def test_loopback_is_an_address_or_its_name() -> None:
    """Nothing that looks like it."""
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST")))
    assert not any(map(is_loopback, ("", "0.0.0.0", "::", "127.0.0.1.example", "localhost.example", "10.0.0.1")))  # noqa: S104


def test_a_port_that_is_taken_is_said_in_words() -> None:
    """Before anything is started."""
    with listener("127.0.0.1", 0) as taken:
        with pytest.raises(StoreError):
            listener("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(StoreError):
            listener("127.0.0.1", 99_999)


def test_a_server_starts_without_what_only_searches_and_models_need() -> None:
    """They come with the first call that needs them: half of the time to start, and 20 MB of each server that never searches."""
    loaded = "import sys, slowwave.wiki.serving.http_app, slowwave.wiki.serving.http_app; print(*sys.modules)"
    found = set(
        subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    )
    dear = {
        "numpy",
        "httpx",
        "sqlalchemy",
        "pyarrow",
        "onnxruntime",
        "mcp",
        "markdown_it",
        "slowwave.text.dates",
        "slowwave.text.screening",
    }
    assert found & dear == set()


def test_half_a_head_closes_the_connection_and_a_whole_one_is_answered() -> None:
    """A client that does not finish its head in time holds no connection (T13)."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response("well")(scope, receive, send)

    config = uvicorn.Config(app, log_config=None, http=limited_protocol(0.2), lifespan="off", ws="none")
    server = uvicorn.Server(config)
    with listener("127.0.0.1", 0) as bound:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            with socket.create_connection(bound.getsockname(), timeout=30) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
                assert client.recv(100) == b""
            with socket.create_connection(bound.getsockname(), timeout=30) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert b"200 OK" in client.recv(1000)
                client.sendall(b"GET / HTTP/1.1\r\n")
                assert client.recv(100) == b"", "the head of a second request has a limit as well"
        finally:
            server.should_exit = True
            thread.join()
