"""A local server of OpenAI's protocol, whose answers a test writes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any], int], tuple[int, Any, dict[str, str]]]


class Server:
    """``answer`` gets a request's body and its number among those for its model, and gives status, content and headers.

    Content is bytes, an iterator of bytes that are sent as they come, or anything else as JSON.
    """

    def __init__(self, answer: Answer) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answer = answer
        self.closing = threading.Event()
        outer, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with lock:
                    outer.headers.append(dict(self.headers.items()))
                    outer.requests.append({"path": self.path, "key": self.headers.get("authorization"), **body})
                    number = sum(request["model"] == body["model"] for request in outer.requests)
                status, content, headers = outer.answer(body, number)
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    if hasattr(content, "__next__"):
                        for part in content:
                            self.wfile.write(part)
                    else:
                        self.wfile.write(content if isinstance(content, bytes) else json.dumps(content).encode())
                except ConnectionError:
                    pass  # the client has given up

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        """Nobody listens any more; answers that wait for ``closing`` go on."""
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()


def completion(text: str | None, *, ended: str = "stop", tokens: int | None = 100, **message: object) -> dict[str, Any]:
    """A chat completion; ``tokens`` None reports no usage."""
    body: dict[str, Any] = {
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": ended, "message": {"role": "assistant", "content": text, **message}}],
    }
    if tokens is not None:
        body["usage"] = {"prompt_tokens": tokens - 10, "completion_tokens": 10, "total_tokens": tokens}
    return body
