"""``python -m slowwave.reviewing.beside NAME FD``: the review page beside another program of this machine, and no longer than that.

``slowwave dev`` starts it beside the UI, which links to it. It listens on a socket that it is handed, lets in by one link, which it prints,
and ends with the process that started it, however that ends.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from threading import Thread
from typing import Final

from slowwave.reviewing.app import review_app
from slowwave.reviewing.entrance import entrance_of
from slowwave.serving.listening import answer
from slowwave.store.opening import open_store

_LOOK_SECONDS: Final = 0.5


def main(name: str, descriptor: int) -> None:
    """Serve the page for one reviewer on an open socket of a loopback address until the parent ends."""
    parent = os.getppid()
    with socket.socket(fileno=descriptor) as bound:
        host, port = bound.getsockname()[:2]
        entrance = entrance_of(str(host), int(port), reviewer=name)
        app = review_app(open_store(), entrance)
        print(f"The review page, as {name}. This link lets you in, once:\n  {entrance.link()}", flush=True)
        Thread(target=_end_with, args=(parent,), daemon=True).start()
        answer(app, bound)


def _end_with(parent: int) -> None:
    """End this process once it has another parent: the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
