"""A call that an agent can make: what it takes and gives, which scope it needs, and by which names it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from slowwave.search.recall_log import Answered
from slowwave.serving.tokens import Caller, Scope
from slowwave.store.connect import Connection

Effect = Literal["none", "adds", "replaces"]
"""What a call does to memory at most: nothing but the log of what was recalled; something new beside what is there; or what is there says
something else afterwards, is no longer found, or is gone."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call. ``name`` is the end of its path, and its tool's name with underscores; ``description`` is what an agent reads.

    ``answer`` gets a connection with the server's login, the caller and a ``request``, and gives a ``response`` of the caller's namespace,
    with what it recalls where it does; it raises ``Refused`` in words that may be shown. ``text`` is what of an answer a model reads, where
    that is not the answer as JSON. ``at`` is the field of the request that stands in the path, where one does: at its end, or where the
    ``route`` says it, which is given of calls whose path is not their name. ``effect`` is the most that any request may do.
    """

    name: str
    description: str
    request: type[BaseModel]
    response: type[BaseModel]
    scope: Scope
    answer: Callable[[Connection, Caller, Any], BaseModel | Answered[Any]]
    method: Literal["GET", "POST"] = "POST"
    text: Callable[[Any], str] | None = None
    at: str = ""
    route: str = ""
    effect: Effect = "none"

    @property
    def tool(self) -> str:
        """What the MCP tool is called."""
        return self.name.replace("-", "_")

    @property
    def path(self) -> str:
        """Where it is asked for over HTTP."""
        if self.route:
            return self.route
        return f"/v1/{self.name}/{{{self.at}}}" if self.at else f"/v1/{self.name}"
