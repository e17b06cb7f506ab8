"""Notes of review pages that run: who can read them, which of them still answer, and the links that they give."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from slowwave.errors import Refused
from slowwave.surfaces.review_page.guard import Entrance, entrance_of, noted, running_page


@contextmanager
def page(home: Path, name: str = "mara") -> Iterator[Entrance]:
    """A page that is noted and listens."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        entrance = entrance_of("127.0.0.1", bound.getsockname()[1], reviewer=name)
        with noted(home, entrance):
            yield entrance


def test_a_page_that_runs_gives_links_to_its_account_alone(tmp_path: Path) -> None:
    """The note is gone with the page."""
    with page(tmp_path) as entrance:
        (note,) = tmp_path.iterdir()
        assert note.stat().st_mode & 0o077 == 0
        found = running_page(tmp_path)
        assert (found.origin, found.reviewer) == (entrance.origins[0], "mara")
        assert entrance.key() not in repr(found)
        assert entrance.enter(found.link().partition("token=")[2])
    assert list(tmp_path.iterdir()) == []


def test_of_several_the_port_is_said_and_one_that_was_killed_is_none(tmp_path: Path) -> None:
    """A note is no page: something has to listen."""
    with ExitStack() as both:
        ports = [both.enter_context(page(tmp_path, name)).origins[0].rpartition(":")[2] for name in ("mara", "otto")]
        with pytest.raises(Refused) as several:
            running_page(tmp_path)
        assert all(port in str(several.value) for port in ports)
        assert running_page(tmp_path, int(ports[1])).reviewer == "otto"
        left = {note: note.read_text() for note in tmp_path.iterdir()}
    for note, text in left.items():
        note.write_text(text)
    (tmp_path / "review-1.json").write_text("{")
    with pytest.raises(Refused, match="review --by NAME"):
        running_page(tmp_path)


def test_a_page_behind_a_proxy_has_no_links_and_leaves_no_note(tmp_path: Path) -> None:
    """Who comes in is who is logged in."""
    behind = entrance_of(
        *("10.0.0.1", 4600),
        reviewer="",
        user_header="X-User",
        proxies=["10.0.0.5"],
        origin="https://review.example.com",
    )
    with noted(tmp_path, behind):
        assert list(tmp_path.iterdir()) == []
