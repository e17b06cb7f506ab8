"""A local receiver of webhooks, whose answers a test writes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Delivery:
    """One attempt as it came in."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def content(self) -> dict[str, Any]:
        return json.loads(self.body)


Answer = Callable[[Delivery, int], tuple[int, dict[str, str]]]


class Receiver:
    """``answer`` gets an attempt and its number, from 1, and gives status and headers."""

    def __init__(self, answer: Answer = lambda _delivery, _number: (204, {}), *, port: int = 0) -> None:
        self.deliveries: list[Delivery] = []
        outer, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                delivery = Delivery(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                with lock:
                    outer.deliveries.append(delivery)
                    number = len(outer.deliveries)
                status, headers = answer(delivery, number)
                try:
                    self.send_response(status)
                    for name, value in {"content-length": "0", **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                except ConnectionError:
                    pass  # the sender has given up

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def types(self) -> list[str]:
        """What came in, in order."""
        return [delivery.content["type"] for delivery in self.deliveries]

    def close(self) -> None:
        """Nobody listens any more."""
        self.server.shutdown()
        self.server.server_close()
