"""The server over HTTP: what it answers, to whom, and how it says no."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator

import anyio
import httpx
import pytest
from starlette.types import Message

from slowwave.store.connect import Store
from slowwave.wiki.serving.answering import TOKEN_CHECK_SECONDS, Answering, Door, RequestRate
from slowwave.wiki.serving.calls import CALLS
from slowwave.wiki.serving.http_app import http_app
from tests.memories import ask, remember
from tests.snapshots import uid
from tests.wiki.serving import HERE, OPEN, bearer, http, token_of
from tests.wiki.serving.conftest import MARKER

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

WAKE = {"agent": "codex"}
ROUTES = [*((call.method, call.path) for call in CALLS.values()), ("GET", "/metrics"), ("GET", "/openapi.json")]


def _error(answer: httpx.Response) -> tuple[int, str]:
    """Status and code; the shape is the same for every error."""
    (error,) = answer.json().values()
    assert set(error) == {"code", "message", "type", "request_id"}
    assert error["request_id"] == answer.headers["x-request-id"]
    return answer.status_code, error["code"]


async def test_what_an_agent_asks_from_morning_to_evening(acme: Store) -> None:
    """Wake, status, profiles; what it used is a recall event of its namespace."""
    async with http(acme, token=token_of(acme)) as client:
        assert (await client.get("/healthz", headers={"Authorization": ""})).json() == {"status": "ok"}
        woken = (await client.post("/v1/wake", json=WAKE)).json()
        assert woken == {"profile": "default", "block": "## User\n\nMara likes tea."}
        debug = (await client.post("/v1/wake", json=WAKE | {"debug": True})).json()
        assert (debug["sources"], debug["left_out"]) == (["core/user.md"], 0)
        status = (await client.get("/v1/status")).json()
        assert (status["namespace"], status["holds"]["documents"], status["waiting"]) == ("acme", 1, None)
        assert "coding" in (await client.get("/v1/profiles")).json()["wake"]
        used = {"query": "tea", "result_ids": [uid("a"), uid("b")], "scores": [0.9, 0.2], "selected_ids": [uid("a")]}
        told = (await client.post("/v1/recall-event", json=used)).json()
        assert (told["stored"], told["selected_ids"]) == (True, [uid("a")])
    kept = "SELECT n.slug, r.id::text, r.query, r.scores FROM memory.recall_events r JOIN memory.namespaces n ON n.id = namespace_id"
    assert ask(acme, kept) == [("acme", told["id"], "tea", [0.9, 0.2])]


async def test_a_waiting_plan_is_told_with_what_it_asks(acme: Store) -> None:
    """Plans are read; nothing else of a night is."""
    plan = (
        "INSERT INTO night.plans (plan_hash, namespace_id, run_id, snapshot_id, settings_fingerprint, state, expires_at) "
        "VALUES ('h', %s, gen_random_uuid(), 's', 'f', 'awaiting_approval', now() + %s::interval)"
    )
    ask(acme, plan, uid("acme"), "1 day")
    async with http(acme, OPEN) as client:
        waiting = (await client.get("/v1/status")).json()["waiting"]
        assert (waiting["plan_hash"], waiting["items"]) == ("h", 0)


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=lambda part: part)
async def test_dory_a_bearer_token_is_asked_for_everywhere_but_healthz(acme: Store, method: str, path: str) -> None:
    """None, one of another form, one that nobody made: each is 401 and says nothing more."""
    async with http(acme) as client:
        for told in (None, "", "slw_000000000000_" + "0" * 64, "é"):
            answer = await client.request(
                method, path, headers=bearer(told) if told != "é" else {b"authorization": b"\xe9"}
            )
            assert _error(answer) == (401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"


async def test_dory_errors_have_one_shape_and_a_code_for_each_status(acme: Store) -> None:
    """A validation error is 422 and no longer 400; what is asked for stands in no message."""
    async with http(acme, token=token_of(acme)) as client:
        found = [
            await client.post("/v1/wake", content=b"{"),
            await client.post("/v1/wake", content=b"[1]"),
            await client.post("/v1/wake", content=b"[" * 100_000),
            await client.post("/v1/wake", json=WAKE | {"profile": "none"}),
            await client.get("/v1/nothing"),
            await client.get("/v1/wake"),
            await client.post("/v1/wake", json=WAKE | {"budget_tokens": MARKER}),
            await client.post("/v1/wake", json=WAKE | {"namespace": MARKER}),
            await client.get("/v1/status", params={"namespace": MARKER}),
        ]
    assert [_error(answer) for answer in found] == [
        *[(400, "bad_request")] * 4,
        *[(404, "not_found"), (405, "method_not_allowed")],
        *[(422, "validation_error")] * 3,
    ]
    assert MARKER not in "".join(answer.text for answer in found)
    assert "budget_tokens" in found[6].json()["error"]["message"]
    assert [found[n].json()["error"]["message"].split()[-1] for n in (4, 5)] == ["are.", "POST."]


async def test_dory_a_token_never_sees_another_namespace(acme: Store) -> None:
    """The same path, title and calls: what the rival holds is in no answer, nor in the metrics of its use."""
    async with http(acme, token=token_of(acme, "rival")) as client:
        assert MARKER in (await client.post("/v1/wake", json=WAKE)).text
    async with http(acme, token=token_of(acme)) as client:
        seen = [
            await client.post("/v1/wake", json=WAKE | {"profile": name}) for name in ("default", "coding", "privacy")
        ]
        seen += [await client.request(method, path) for method, path in ROUTES]
    assert MARKER not in "".join(answer.text for answer in seen)
    async with http(acme, Door(only="acme"), token_of(acme, "rival")) as client:
        assert _error(await client.get("/v1/status")) == (401, "unauthorized")


async def test_dory_a_token_does_what_its_scopes_say(acme: Store) -> None:
    """One that reads writes nothing, one that writes reads nothing."""
    async with http(acme, token=token_of(acme, "acme", "read")) as client:
        assert (await client.get("/v1/status")).status_code == 200
        assert _error(await client.post("/v1/recall-event", json={"query": "q"})) == (403, "forbidden")
    async with http(acme, token=token_of(acme, "acme", "write")) as client:
        assert (await client.post("/v1/recall-event", json={"query": "q"})).status_code == 200
        for method, path in (("POST", "/v1/wake"), ("GET", "/v1/status"), ("GET", "/metrics")):
            assert _error(await client.request(method, path, json=WAKE if method == "POST" else None)) == (
                403,
                "forbidden",
            )
    assert ask(acme, "SELECT count(*) FROM memory.recall_events") == [(1,)]


async def test_a_revoked_token_is_refused_at_its_next_request(acme: Store) -> None:
    """Nothing remembers that it was good."""
    async with http(acme, token=token_of(acme)) as client:
        assert (await client.get("/v1/status")).status_code == 200
        ask(acme, "UPDATE memory.tokens SET revoked_at = now()")
        assert (await client.get("/v1/status")).status_code == 401


async def test_dory_the_size_limit_that_is_set_is_the_one_that_holds(acme: Store) -> None:
    """Told or not told beforehand; /mcp too."""
    body = json.dumps({"query": "x" * 3000}).encode()

    async def pieces() -> object:
        for start in range(0, len(body), 100):
            yield body[start : start + 100]

    for most, status in ((2048, 413), (4096, 200)):
        async with http(acme, Door(open_to="acme", request_bytes=most)) as client:
            for content in (body, pieces()):
                answer = await client.post("/v1/recall-event", content=content)  # type: ignore[arg-type]
                assert answer.status_code == status
                assert status == 200 or _error(answer) == (413, "payload_too_large")
            if status == 413:
                assert _error(await client.post("/mcp", content=body)) == (413, "payload_too_large")


async def test_a_token_that_asks_too_often_waits_and_others_do_not(acme: Store) -> None:
    """Two at once, then one a second."""
    now = [0.0]
    door = Door(rate=RequestRate(1, 2), clock=lambda: now[0])
    hasty, calm = token_of(acme), token_of(acme)
    async with http(acme, door) as client:
        asked = [await client.get("/v1/status", headers=bearer(hasty)) for _ in range(3)]
        assert [answer.status_code for answer in asked] == [200, 200, 429]
        assert (_error(asked[2])[1], asked[2].headers["retry-after"]) == ("too_many_requests", "1")
        assert (await client.get("/v1/status", headers=bearer(calm))).status_code == 200
        now[0] = 1.0
        assert (await client.get("/v1/status", headers=bearer(hasty))).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "memory.example"},
        {"Host": "memory.example:7070"},
        {"Origin": "https://page.example"},
        {"Origin": "null"},
        {"Host": ""},
    ],
    ids=str,
)
async def test_a_page_in_a_browser_reaches_no_server_without_tokens(acme: Store, headers: dict[str, str]) -> None:
    """A name of its own for this machine, or its own origin."""
    async with http(acme, OPEN) as client:
        for method, path in (*ROUTES, ("POST", "/mcp")):
            assert _error(await client.request(method, path, headers=headers)) == (403, "forbidden")
        for name in ("localhost:7070", "[::1]:7070", "127.0.0.2"):
            assert (await client.get("/v1/status", headers={"Host": name})).status_code == 200


async def test_the_log_names_calls_and_never_what_was_asked_or_answered(
    acme: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers, refusals, invalid requests, and an error whose message is memory."""
    caplog.set_level(logging.DEBUG)

    def broken(*_: object) -> None:
        raise RuntimeError(MARKER)

    token = token_of(acme, "rival")
    async with http(acme, token=token) as client:
        await client.post("/v1/wake", json=WAKE)
        await client.post("/v1/wake", json={"agent": MARKER, "project": MARKER, "budget_tokens": MARKER})
        await client.post("/v1/recall-event", json={"query": MARKER, "selected_ids": [uid("a")]})
        await client.get("/v1/status", params={MARKER: MARKER})
        monkeypatch.setattr("slowwave.wiki.recall.wake.body", broken)
        answer = await client.post("/v1/wake", json=WAKE)
    assert _error(answer) == (500, "internal_error")
    assert MARKER not in answer.text
    assert (await _refused(acme)).status_code == 401
    ours = [record.getMessage() for record in caplog.records if record.name != "httpx"]  # which is the client here
    assert any("http wake 200" in line and token.split("_")[1] in line for line in ours)
    assert any(answer.headers["x-request-id"] in line for line in ours)
    assert any("RuntimeError" in line for line in ours)
    assert any("refused 401" in line for line in ours)
    assert [line for line in ours if MARKER in line or token.split("_")[2] in line] == []


async def _refused(store: Store) -> httpx.Response:
    async with http(store, token=MARKER) as client:
        return await client.get("/v1/status")


async def test_a_store_that_is_gone_is_503_and_asks_to_try_again(acme: Store) -> None:
    """Its address stands in no answer."""
    gone = Store(acme.owner, {"server": "postgresql://u:p@127.0.0.1:1/none"})
    for door in (OPEN, Door()):
        async with http(gone, door, "slw_000000000000_" + "0" * 64) as client:
            answer = await client.get("/v1/status")
            assert (_error(answer), answer.headers["retry-after"]) == ((503, "service_unavailable"), "5")
            assert "127.0.0.1" not in answer.text


async def test_metrics_count_the_callers_namespace_alone(acme: Store) -> None:
    """Calls by name, surface and status, and how long they took."""
    mine, theirs = token_of(acme), token_of(acme, "rival")
    async with http(acme) as client:
        for token in (mine, theirs, theirs):
            await client.get("/v1/status", headers=bearer(token))
        page = (await client.get("/metrics", headers=bearer(mine))).text
    assert 'slowwave_calls_total{call="status",status="200",surface="http"} 1.0' in page
    assert 'slowwave_call_seconds_count{call="status"} 1.0' in page


async def test_the_openapi_page_is_made_of_the_calls(acme: Store) -> None:
    """Every call with its models, the stream of events, and every reference leads somewhere."""
    async with http(acme, OPEN) as client:
        page = (await client.get("/openapi.json")).json()
    assert sorted((path, method) for path, told in page["paths"].items() for method in told) == sorted(
        [*((call.path, call.method.lower()) for call in CALLS.values()), ("/v1/stream", "get")]
    )
    stream = page["paths"]["/v1/stream"]["get"]
    assert [(told["name"], told["schema"]["maximum"]) for told in stream["parameters"]] == [("seconds", 3_600)]
    assert list(stream["responses"]["200"]["content"]) == ["text/event-stream"]
    wake = page["paths"]["/v1/wake"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert page["components"]["schemas"][wake["$ref"].split("/")[-1]]["required"] == ["agent"]
    referred = {part.split('"')[0] for part in json.dumps(page).split("#/components/schemas/")[1:]}
    assert referred <= set(page["components"]["schemas"])


async def test_a_namespace_that_went_away_is_refused(acme: Store) -> None:
    """A server without tokens keeps its namespace's name alone."""
    remember(acme, "acme")
    async with http(acme, Door(open_to="gone")) as client:
        assert _error(await client.get("/v1/status")) == (400, "bad_request")


async def test_a_server_without_tokens_asks_for_one_as_soon_as_there_is_one(acme: Store) -> None:
    """Also after the token was revoked: a server does not open by itself (T11)."""
    now = 0.0
    async with http(acme, Door(open_to="acme", clock=lambda: now)) as client:
        assert (await client.get("/v1/status")).status_code == 200
        token, other = token_of(acme), token_of(acme, "rival")
        now += TOKEN_CHECK_SECONDS
        assert _error(await client.get("/v1/status")) == (401, "unauthorized")
        assert _error(await client.get("/v1/status", headers=bearer(other))) == (401, "unauthorized")
        assert (await client.get("/v1/status", headers=bearer(token))).status_code == 200
        ask(acme, "UPDATE memory.tokens SET revoked_at = now()")
        now += TOKEN_CHECK_SECONDS
        assert _error(await client.get("/v1/status")) == (401, "unauthorized")


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost:9999"},
        {"Origin": "http://127.0.0.1:9999"},
    ],
)
async def test_a_page_of_another_site_or_port_reads_and_writes_nothing(acme: Store, headers: dict[str, str]) -> None:
    """An image, and a form of another local port (T12); a page of the server itself and a program are answered."""
    async with http(acme, OPEN) as client:
        refused = await client.get("/v1/status", headers=headers | {"Authorization": "Bearer slw_of-a-caller"})
        assert _error(refused) == (403, "forbidden")
        assert "with or without a token" in refused.json()["error"]["message"]
        assert _error(await client.get("/v1/stream", headers=headers)) == (403, "forbidden")
        assert _error(await client.post("/v1/recall-event", json={"query": "q"}, headers=headers)) == (403, "forbidden")
        own = {"Sec-Fetch-Site": "same-origin", "Origin": HERE}
        assert (await client.get("/v1/status", headers=own)).status_code == 200
    assert ask(acme, "SELECT count(*) FROM memory.recall_events") == [(0,)]


async def test_a_body_that_does_not_arrive_in_time_is_refused(acme: Store) -> None:
    """T13: what is held is a connection for a bounded time."""

    async def endless() -> AsyncGenerator[bytes]:
        yield b"{"
        await anyio.sleep_forever()

    async with http(acme, Door(open_to="acme", body_seconds=0.05)) as client:
        assert _error(await client.post("/v1/wake", content=endless())) == (408, "request_timeout")


async def test_a_client_that_leaves_is_no_error(acme: Store, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is logged as an error, and no answer is sent (T14)."""
    caplog.set_level(logging.INFO)
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    asked = {"type": "http", "method": "POST", "path": "/v1/wake", "query_string": b"", "http_version": "1.1"}
    scope = asked | {
        "headers": [(b"host", b"127.0.0.1:7070")],
        "scheme": "http",
        "raw_path": b"/v1/wake",
        "root_path": "",
    }
    await http_app(Answering(acme), OPEN)(scope, receive, send)
    assert sent == []
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING or "refused" in r.getMessage()]
