"""``slowwave review``: the review page, for a person at this machine or for those whom a proxy logs in."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import Annotated, Final

import typer
from rich.text import Text

from slowwave.cli.session import err, open_store, out, say, suggest
from slowwave.errors import Refused, StoreError
from slowwave.store import server

PORT: Final = 4600


def review(
    namespace: Annotated[str | None, typer.Argument(help="Show the plans of this namespace alone.")] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by", "--as", metavar="NAME", help="Your name: drafts and signatures bear it. Not behind a proxy."
        ),
    ] = "",
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 takes one that is free.", show_default=str(PORT))
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; elsewhere than on loopback a proxy has to log people in.")
    ] = ("127.0.0.1"),
    user_header: Annotated[str, typer.Option(help="The header in which the proxy names who is logged in.")] = "",
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="An IP address that the proxy comes from; again for another. No one else is believed."),
    ] = None,
    origin: Annotated[
        str,
        typer.Option(
            help="The page's address in people's browsers, behind a proxy; with --by, of a container's port that is published on loopback."
        ),
    ] = "",
    link: Annotated[
        bool,
        typer.Option(
            "--link",
            help="Start nothing: print another link of the page that runs here, for a browser elsewhere (ssh).",
        ),
    ] = False,
) -> None:
    """Review plans in a browser: answer what they ask, sign once, apply, undo."""
    if link:
        _another_link(port)
        return
    missing = [name for name in ("starlette", "uvicorn", "jinja2") if find_spec(name) is None]
    if missing:
        raise StoreError("What serves the review page is not installed. Install slowwave[serve].")
    from slowwave.reviewing.app import review_app
    from slowwave.reviewing.entrance import entrance_of
    from slowwave.reviewing.running import noted
    from slowwave.serving.listening import answer

    proxied = bool(user_header or proxy or (origin and not by))
    if not (by or proxied):
        raise Refused(
            "Drafts and signatures bear the name of who reviews: give yours with --by NAME. Nothing was served."
        )
    with _listener(host, PORT if port is None else port) as bound:
        taken = int(bound.getsockname()[1])
        entrance = entrance_of(host, taken, reviewer=by, user_header=user_header, proxies=proxy or (), origin=origin)
        app = review_app(open_store(), entrance, namespace)
        if proxied:
            say(f"The review page is behind the proxy at {entrance.origins[0]}. Ctrl-C ends it.", console=err)
        else:
            suggest("Open this link: it lets you in, once. Ctrl-C ends the page", entrance.link())
            out.file.flush()  # whoever reads the link from a pipe waits for it
        with noted(server.default_home(), entrance):
            answer(app, bound)


def _listener(host: str, port: int) -> socket.socket:
    """A socket for the page. Where a page of this account has the port already, the error names what prints a link to that."""
    from slowwave.reviewing.running import running_page
    from slowwave.serving.listening import listener

    try:
        return listener(host, port)
    except StoreError:
        with suppress(Refused):
            page = running_page(server.default_home(), port)
            raise StoreError(
                f"The review page of {page.reviewer} runs at port {port}. `slowwave review --link --port {port}` prints a link to it; "
                "--port 0 starts another page."
            ) from None
        raise


def _another_link(port: int | None) -> None:
    """The link alone on standard output, and how to reach it from elsewhere beside it."""
    from slowwave.reviewing.entrance import GRANT_SECONDS
    from slowwave.reviewing.running import running_page

    page = running_page(server.default_home(), port)
    say(
        f"It lets {page.reviewer} in, once, within {GRANT_SECONDS // 60} minutes. From another machine, first:",
        console=err,
    )
    err.print(Text(f"  ssh -L {page.port}:127.0.0.1:{page.port} THIS-MACHINE"))
    sys.stdout.write(f"{page.link()}\n")
