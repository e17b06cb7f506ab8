"""A review page on a store with a plan, and a client that came in by the link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from slowwave.store.connect import Store
from slowwave.surfaces.review_page.app import review_app
from slowwave.surfaces.review_page.guard import Entrance, entrance_of

ORIGIN = "http://127.0.0.1:4600"


class Browser(TestClient):
    """A client that, once it opened a link, asks for pages below the address of its session, as the links of these pages do."""

    address = ""

    def request(self, method: str, url: Any, **more: Any) -> Any:
        """Ask for a page; its path may be given with or without the address of the session."""
        if str(url).startswith("/") and not str(url).startswith(("/s/", "/static/", "/enter")):
            url = self.address + str(url)
        answer = super().request(method, url, **more)
        if found := re.search(r'content="(/s/[0-9a-f]{64})"', answer.text):
            self.address = found[1]
        return answer


@pytest.fixture
def entrance() -> Entrance:
    """The way in of mara, on this machine."""
    return entrance_of("127.0.0.1", 4600, reviewer="mara")


@pytest.fixture
def outside(store: Store, entrance: Entrance) -> Iterator[Browser]:
    """A browser that has no cookie yet."""
    with Browser(review_app(store, entrance), base_url=ORIGIN, follow_redirects=False) as client:
        yield client


@pytest.fixture
def browser(outside: Browser, entrance: Entrance) -> Browser:
    """The same after the link was opened."""
    assert outside.get(entrance.link()).status_code == 200
    return outside


def form_token(html: str) -> str:
    """The token that forms of a page carry."""
    found = re.search(r'name="form_token" value="([0-9a-f]{64})"', html)
    assert found, "the page has no form"
    return found[1]
