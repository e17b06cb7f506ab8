"""A review page on a store with a plan, and a client that came in by the link."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from slowwave.reviewing.app import review_app
from slowwave.reviewing.entrance import Entrance, entrance_of
from slowwave.store.connect import Store

ORIGIN = "http://127.0.0.1:4600"


@pytest.fixture
def entrance() -> Entrance:
    """The way in of mara, on this machine."""
    return entrance_of("127.0.0.1", 4600, reviewer="mara")


@pytest.fixture
def outside(store: Store, entrance: Entrance) -> Iterator[TestClient]:
    """A browser that has no cookie yet."""
    with TestClient(review_app(store, entrance), base_url=ORIGIN, follow_redirects=False) as client:
        yield client


@pytest.fixture
def browser(outside: TestClient, entrance: Entrance) -> TestClient:
    """The same after the link was opened."""
    assert outside.get(entrance.link()).status_code == 200
    return outside


def form_token(html: str) -> str:
    """The token that forms of a page carry."""
    found = re.search(r'name="form_token" value="([0-9a-f]{64})"', html)
    assert found, "the page has no form"
    return found[1]
