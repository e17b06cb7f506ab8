"""Who is let in to the review page, under which name, and for how long."""

from __future__ import annotations

import pytest

from slowwave.errors import Refused
from slowwave.surfaces.review_page.guard import GRANT_SECONDS, HOURS, Entrance, Proxy, entrance_of, granted

PROXIED = {"user_header": "X-User", "proxies": ["10.0.0.5"], "origin": "https://review.example.com/"}


def token(link: str) -> str:
    return link.partition("token=")[2]


def test_a_link_lets_in_once_and_its_session_ends_with_the_working_day() -> None:
    """Nothing that is kept would let anybody in."""
    now = [0.0]
    entrance = Entrance(("http://127.0.0.1:1",), "mara", clock=lambda: now[0])
    link = entrance.link()
    session = entrance.enter(token(link))
    assert session
    assert entrance.enter(token(link)) is None
    assert entrance.enter("") is None
    reviewer = entrance.by_session(session)
    assert reviewer
    assert (reviewer.name, len(reviewer.form_token)) == ("mara", 64)
    assert entrance.by_session(token(link)) is None
    assert session not in repr(entrance)
    now[0] = HOURS * 3600
    assert entrance.by_session(session) is None


def test_a_link_made_elsewhere_with_the_key_lets_in_once_and_in_time() -> None:
    """Another key, another time, one with more to it: nothing of that lets in, and nor does anything where a proxy does."""
    now = [1_000_000.0]
    entrance = Entrance(("http://127.0.0.1:1",), "mara", wall=lambda: now[0])
    made = granted(entrance.key(), now[0])
    end, nonce, signed = made.split(".")
    later = f"{int(end) + 1}.{nonce}.{signed}"
    far = granted(entrance.key(), now[0] + 1)
    for wrong in (
        "",
        "..",
        later,
        far,
        f"{made}0",
        f"{end}.{nonce}.é",
        granted(Entrance(("http://a",), "mara").key(), now[0]),
    ):
        assert entrance.enter(wrong) is None, wrong
    session = entrance.enter(made)
    assert session is not None
    assert entrance.by_session(session) is not None
    assert entrance.enter(made) is None
    late = granted(entrance.key(), now[0])
    now[0] += GRANT_SECONDS
    assert entrance.enter(late) is None
    proxied = Entrance(
        ("https://review.example",), proxy=Proxy(frozenset(("10.0.0.1",)), "x-user"), wall=lambda: now[0]
    )
    assert proxied.enter(granted(proxied.key(), now[0])) is None


def test_two_sessions_have_forms_of_their_own() -> None:
    """The token of one opens no form of the other."""
    entrance = entrance_of("127.0.0.1", 4600, reviewer="mara")
    sessions = [entrance.enter(token(entrance.link())) or "" for _ in range(2)]
    assert len({r.form_token for s in sessions if (r := entrance.by_session(s))}) == 2


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "memory.example", "127.0.0.1.example"])  # noqa: S104
def test_elsewhere_than_on_loopback_a_proxy_has_to_log_people_in(host: str) -> None:
    """No switch lets everybody in, and no part of a proxy is taken for granted."""
    with pytest.raises(Refused, match="could sign"):
        entrance_of(host, 4600, reviewer="mara")
    for left_out in PROXIED:
        given = {name: value for name, value in PROXIED.items() if name != left_out}
        with pytest.raises(Refused, match="all three"):
            entrance_of(host, 4600, reviewer="", **given)  # pyright: ignore[reportArgumentType]
    with pytest.raises(Refused, match="leave --by out"):
        entrance_of(host, 4600, reviewer="mara", **PROXIED)  # pyright: ignore[reportArgumentType]
    found = entrance_of(host, 4600, reviewer="", **PROXIED)  # pyright: ignore[reportArgumentType]
    assert (found.origins, found.secure) == (("https://review.example.com",), True)
    assert found.proxy == Proxy(frozenset(["10.0.0.5"]), "x-user")


@pytest.mark.parametrize("name", ["", "m", "policy", "Policy", "mara reyes", "{env:HOME}", "a" * 65, "<b>"])
def test_only_a_name_that_may_sign_is_taken(name: str) -> None:
    """As the gate takes it; a policy's is nobody's."""
    with pytest.raises(Refused):
        entrance_of("127.0.0.1", 4600, reviewer=name)


@pytest.mark.parametrize(
    "origin",
    ["review.example.com", "ftp://x", "https://", "https://x/path", "https://u@x", "https://x:99999", "https://x?q"],
)
def test_an_origin_is_an_address_and_nothing_more(origin: str) -> None:
    """And a proxy is an IP address."""
    with pytest.raises(Refused, match="--origin"):
        entrance_of("0.0.0.0", 1, reviewer="", user_header="X-User", proxies=["10.0.0.5"], origin=origin)  # noqa: S104
    with pytest.raises(Refused, match="--proxy"):
        entrance_of("0.0.0.0", 1, reviewer="", user_header="X-User", proxies=["proxy"], origin="https://x")  # noqa: S104


def test_a_login_is_believed_from_the_proxy_alone() -> None:
    """One name, from its address."""
    entrance = entrance_of("0.0.0.0", 1, reviewer="", **PROXIED)  # pyright: ignore[reportArgumentType]  # noqa: S104
    reviewer = entrance.by_proxy("10.0.0.5", ["noor@example.com"])
    assert reviewer
    assert reviewer.name == "noor@example.com"
    assert entrance.by_proxy("10.0.0.6", ["noor@example.com"]) is None
    assert entrance.by_proxy("10.0.0.5", []) is None
    assert entrance.by_proxy("10.0.0.5", ["noor", "mara"]) is None
    with pytest.raises(Refused):
        entrance.by_proxy("10.0.0.5", ["policy"])
    assert entrance.by_session("anything") is None
