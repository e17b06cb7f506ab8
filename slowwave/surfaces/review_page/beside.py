"""Command that serves the review page next to another program on this machine, for as long as that program runs.

Usage: ``python -m slowwave.surfaces.review_page.beside NAME FD [PORT]``. ``slowwave dev`` starts it together with the UI, which links to
it. It listens on a socket that it inherits and admits its reviewer by a link that works once. It prints the link when the UI answers on
its port, below the UI's start messages. It ends when the process that started it ends, for whatever reason.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from threading import Thread
from typing import Final

from slowwave.store import server
from slowwave.store.migrate import open_store
from slowwave.surfaces.review_page.app import review_app
from slowwave.surfaces.review_page.guard import entrance_of, noted
from slowwave.wiki.serving.http_app import answer

_LOOK_SECONDS: Final = 0.5
_PATIENCE_SECONDS: Final = 120.0


def main(name: str, descriptor: int, port_of_ui: int | None = None) -> None:
    """Serve the page for one reviewer on an open socket of a loopback address until the parent ends."""
    parent = os.getppid()
    with socket.socket(fileno=descriptor) as bound:
        host, port = bound.getsockname()[:2]
        entrance = entrance_of(str(host), int(port), reviewer=name)
        app = review_app(open_store(), entrance)
        announcement = f"The review page, as {name}. This link lets you in, once:\n  {entrance.link()}"
        Thread(target=_print_link, args=(announcement, str(host), port_of_ui), daemon=True).start()
        Thread(target=_end_with, args=(parent,), daemon=True).start()
        with noted(server.default_home(), entrance):
            answer(app, bound)


def _print_link(link: str, host: str, port: int | None) -> None:
    """Print the link, after two minutes at most where the UI does not come up."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while port is not None and time.monotonic() < until:
        try:
            socket.create_connection((host, port), timeout=_LOOK_SECONDS).close()
            break
        except OSError:
            time.sleep(_LOOK_SECONDS)
    print(link, flush=True)


def _end_with(parent: int) -> None:
    """End this process once it has another parent: the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:4]))
