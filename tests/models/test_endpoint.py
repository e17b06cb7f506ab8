"""What every client of an endpoint shares: how long it waits, how often it asks, and what it never repeats."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from slowwave.models.endpoint import Endpoint, Reply
from tests.endpoints import Server


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server(lambda *_: (503, {}, {}))
    yield served
    served.close()


def endpoint(server: Server, pauses: list[float], chance: float = 0.0, **options: Any) -> Endpoint:
    return Endpoint(
        server.url,
        "chat/completions",
        key_variable="SLOWWAVE_JUDGE_API_KEY",
        timeout=5.0,
        attempts=4,
        longest_pause=60.0,
        most_bytes=1000,
        pause=pauses.append,
        chance=lambda: chance,
        **options,
    )


def post(one: Endpoint) -> Reply:
    with one.client() as client:
        return one.post(client, {"model": "m"})


def test_pauses_double_and_chance_takes_up_to_half(server: Server) -> None:
    """Clients that failed together come back apart."""
    for chance, expected in [(0.0, [0.5, 1.0, 2.0]), (1.0, [0.25, 0.5, 1.0]), (0.5, [0.375, 0.75, 1.5])]:
        pauses: list[float] = []
        assert post(endpoint(server, pauses, chance)).status == 503
        assert pauses == expected


def test_by_default_chance_is_chance(server: Server) -> None:
    """Two clients do not wait the same."""
    waited: list[list[float]] = []
    for _ in range(2):
        pauses: list[float] = []
        one = Endpoint(
            *(server.url, "x"),
            key_variable="NONE",
            timeout=5.0,
            attempts=3,
            longest_pause=9.0,
            most_bytes=1000,
            pause=pauses.append,
        )
        post(one)
        waited.append(pauses)
    assert waited[0] != waited[1]


def test_the_server_says_how_long_in_seconds_or_as_a_date(server: Server) -> None:
    """Its word goes before our own pauses, chance or not; nonsense, the past and a date without a zone count as silence."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    for said, low, high in [
        ("7", 7, 7),
        ("0", 0, 0),
        ("6000", 60, 60),
        (soon, 25, 30),
        ("-3", 0.25, 0.5),
        ("tomorrow", 0.25, 0.5),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.25, 0.5),
        ("Wed, 21 Oct 2099 07:28:00", 0.25, 0.5),
        ("nan", 0.25, 0.5),
        ("inf", 60, 60),
    ]:
        server.requests.clear()
        server.answer = lambda _, n, said=said: (429, {}, {"Retry-After": said}) if n == 1 else (200, {}, {})
        pauses: list[float] = []
        assert post(endpoint(server, pauses, 1.0)).status == 200
        (pause,) = pauses
        assert low <= pause <= high, said


def test_a_server_that_is_rate_limited_is_left_alone_by_the_next_request(server: Server) -> None:
    """The last 429 says how long; the request after it waits first, and the one after an answer does not."""
    server.answer = lambda _, n: (429, {}, {"Retry-After": "20"}) if n <= 4 else (200, {}, {})
    pauses: list[float] = []
    one = endpoint(server, pauses)
    assert post(one).status == 429
    assert pauses == [20.0, 20.0, 20.0]
    assert post(one).status == 200
    assert 15 < pauses[3] <= 20
    assert post(one).status == 200
    assert len(pauses) == 4
    assert len(server.requests) == 6


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_will_not_pass_is_asked_once(server: Server, status: int) -> None:
    """A wrong key does not get better by waiting."""
    server.answer = lambda *_: (status, {}, {"Retry-After": "1"})
    pauses: list[float] = []
    assert post(endpoint(server, pauses)).kind == "error status"
    assert (pauses, len(server.requests)) == ([], 1)
