"""A server of a test's store in this process, and clients that reach it without a socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from slowwave.store.connect import Store
from slowwave.wiki.serving.answering import Answering, Door
from slowwave.wiki.serving.http_app import http_app
from slowwave.wiki.serving.tokens import new_token

HERE = "http://127.0.0.1:7070"
OPEN = Door(open_to="acme")


def token_of(store: Store, namespace: str = "acme", *scopes: str) -> str:
    """A token that is good for a day; for reading and writing unless ``scopes`` say otherwise."""
    with store.connect("owner") as connection:
        return new_token(connection, namespace, scopes or ("read", "write"), timedelta(days=1))


def bearer(token: str | None) -> dict[str, str]:
    """The header that brings a token; none without one."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def http(store: Store, door: Door | None = None, token: str | None = None) -> httpx.AsyncClient:
    """An HTTP client of a new server. MCP is not started in it."""
    transport = httpx.ASGITransport(http_app(Answering(store), door or Door()))
    return httpx.AsyncClient(transport=transport, base_url=HERE, headers=bearer(token))


@asynccontextmanager
async def mcp_over_http(
    store: Store, door: Door | None = None, token: str | None = None, mode: str = "auto"
) -> AsyncGenerator[Client]:
    """The official client over streamable HTTP, in either of the protocol's ways to begin."""
    app = http_app(Answering(store), door or Door())
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, headers=bearer(token)) as session,
        Client(streamable_http_client(f"{HERE}/mcp", http_client=session), mode=mode) as client,
    ):
        yield client
