"""The stream of a namespace: its status, and what changes while somebody listens."""

from __future__ import annotations

import json

import anyio
import pytest

from slowwave.store.connect import Store
from slowwave.wiki.serving.answering import Answering
from slowwave.wiki.serving.http_app import StreamRequest, events
from slowwave.wiki.serving.tokens import Caller
from tests.memories import remember
from tests.wiki.serving import OPEN, bearer, http, token_of
from tests.wiki.serving.conftest import MARKER

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

READER = Caller("acme", frozenset(("read",)))


def parted(event: str) -> tuple[str, object]:
    """Its name and its data; a comment is the name of nothing."""
    if event.startswith(":"):
        return "", None
    name, data = event.removesuffix("\n\n").split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


async def test_a_change_is_told_with_the_status_after_it(acme: Store) -> None:
    """Between the second look and the third a memory comes, here and in another namespace."""
    looks = 0

    async def pause(_: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            memory = {"id": "m", "kind": "semantic", "current_version_id": "v"}
            remember(acme, "acme", memories=[memory], memory_versions=[{"id": "v", "memory_id": "m", "content": "tea"}])
        if looks == 3:
            remember(acme, "rival", entities=[{"id": "e", "name": MARKER, "entity_type": "PERSON"}])

    told = [parted(event) async for event in events(Answering(acme), READER, StreamRequest(seconds=8), pause)]
    assert [name for name, _ in told] == ["status", "", "reindex", "status", "", "", "done"]
    assert [data["holds"]["memories"] for name, data in told if name == "status"] == [0, 1]  # type: ignore[index]
    assert MARKER not in str(told)


async def test_a_namespace_that_is_gone_ends_the_stream(acme: Store) -> None:
    """With an error of the shape of all others."""
    told = [parted(e) async for e in events(Answering(acme), Caller("gone", frozenset(("read",))), StreamRequest())]
    ((name, data),) = told
    assert (name, data["code"]) == ("error", "bad_request")  # type: ignore[index]


async def test_over_http_it_is_an_event_stream(acme: Store) -> None:
    """For whoever may read, as long as was asked for."""
    async with http(acme, OPEN) as client:
        answer = await client.get("/v1/stream", params={"seconds": 1})
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert [parted(f"{part}\n\n")[0] for part in answer.text.split("\n\n") if part] == ["status", "done"]
        assert (await client.get("/v1/stream", params={"seconds": 0})).status_code == 422
    async with http(acme, token=token_of(acme, "acme", "write")) as client:
        assert (await client.get("/v1/stream")).status_code == 403


async def test_a_caller_takes_only_its_share_of_streams(acme: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One token's streams leave room for another's, and a stream that ends gives its place back (T12)."""
    monkeypatch.setattr("slowwave.wiki.serving.http_app.EACH", 1)
    mine, other = token_of(acme), token_of(acme)
    async with http(acme) as client, anyio.create_task_group() as tasks:

        async def ask(token: str, seconds: int) -> int:
            asked = await client.get("/v1/stream", params={"seconds": seconds}, headers=bearer(token))
            return asked.status_code

        assert [await ask(mine, 1) for _ in range(3)] == [200] * 3
        tasks.start_soon(ask, mine, 3_600)
        found = 200
        while found == 200:
            await anyio.sleep(0.01)
            found = await ask(mine, 1)
        assert (found, await ask(other, 1)) == (429, 200)
        tasks.cancel_scope.cancel()
