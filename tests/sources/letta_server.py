"""A local server that speaks Letta's protocol of blocks, as its reference documents it: list, one, and update of one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

ID = "block-{:08d}-0000-4000-8000-000000000000"


class LettaServer:
    """``blocks`` by id, in the order they were made; ``asked`` is what came in, as method and id. ``before`` and ``after`` are called with
    those around each request of one block. Pages hold two blocks, whatever is asked for."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.blocks: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, str]] = []
        self.before: Callable[[str, str], None] = lambda _method, _id: None
        self.after: Callable[[str, str], None] = lambda _method, _id: None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(None)

            def do_PATCH(self) -> None:
                self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

            def _answer(self, body: dict[str, Any] | None) -> None:
                status, said = outer.answer(self.command, self.path, self.headers.get("authorization", ""), body)
                content = json.dumps(said).encode()
                try:
                    self.send_response(status)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except ConnectionError:
                    pass  # whoever asked was killed

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def add(self, label: str, value: str, **more: object) -> str:
        """A block; returns its id."""
        id_ = ID.format(len(self.blocks) + 1)
        self.blocks[id_] = {
            "id": id_, "label": label, "value": value, "limit": 2000, "read_only": False, "is_template": False, "metadata": {}, **more,
        }  # fmt: skip
        return id_

    def values(self) -> dict[str, str]:
        """What the blocks say."""
        return {id_: block["value"] for id_, block in self.blocks.items()}

    @property
    def written(self) -> list[str]:
        """The blocks that were updated, one entry an update."""
        return [id_ for method, id_ in self.asked if method == "PATCH"]

    def answer(self, method: str, path: str, authorization: str, body: dict[str, Any] | None) -> tuple[int, object]:
        """Status and content."""
        address = urlsplit(path)
        if self.key and authorization != f"Bearer {self.key}":
            return 401, {"detail": f"Unauthorized: {authorization}"}
        if address.path == "/v1/blocks/" and method == "GET":
            query = {name: values[-1] for name, values in parse_qs(address.query).items()}
            ids = list(self.blocks)
            start = ids.index(query["after"]) + 1 if "after" in query else 0
            return 200, [self.blocks[id_] for id_ in ids[start : start + 2]]
        id_ = address.path.removeprefix("/v1/blocks/")
        self.asked.append((method, id_))
        self.before(method, id_)
        block = self.blocks.get(id_)
        if block is None:
            return 404, {"detail": f"Block not found: {id_}"}
        if body is not None:
            value = body.get("value", block["value"])
            if len(value) > block["limit"]:
                return 422, {"detail": f"Edit failed: Exceeds {block['limit']} character limit"}
            self.blocks[id_] = {**block, **body}
        said = dict(self.blocks[id_])
        self.after(method, id_)
        return 200, said

    def close(self) -> None:
        """Nobody listens any more."""
        self._server.shutdown()
        self._server.server_close()
