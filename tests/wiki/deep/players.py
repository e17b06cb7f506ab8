"""Models that a local server plays: turns of a deep pass, written by a test."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from slowwave.models.endpoint import ToolChat
from tests.endpoints import Server, completion

Call = tuple[str, dict[str, Any]]
Played = Sequence[Call] | str
"""A turn: the calls that the model makes, or the words with which it ends."""

NAME = "player"


def turn(played: Played, *, tokens: int = 100) -> dict[str, Any]:
    """A completion with tool calls, or with words alone."""
    if isinstance(played, str):
        return completion(played, tokens=tokens)
    calls = [
        {"id": f"call-{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(played)
    ]
    return completion(None, ended="tool_calls", tokens=tokens, tool_calls=calls)


@contextmanager
def playing(answer: Callable[[dict[str, Any], int], Any]) -> Generator[tuple[ToolChat, Server]]:
    """A model whose answer to the nth request ``answer`` makes: a turn, or what the server sends as it stands."""

    def served(body: dict[str, Any], number: int) -> tuple[int, Any, dict[str, str]]:
        made = answer(body, number)
        return made if isinstance(made, tuple) else (200, made, {})

    server = Server(served)
    try:
        yield ToolChat(server.url, NAME), server
    finally:
        server.close()


@contextmanager
def script(*turns: Played) -> Generator[tuple[ToolChat, Server]]:
    """A model that plays these turns one after another, and then says that it is done."""
    with playing(lambda _, number: turn(turns[number - 1] if number <= len(turns) else "Done.")) as played:
        yield played


def told(server: Server) -> list[str]:
    """What the tools answered, in order."""
    last = server.requests[-1]["messages"] if server.requests else []
    return [message["content"] for message in last if message["role"] == "tool"]
