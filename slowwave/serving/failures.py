"""What an answer says where there is none: a status, a code and a sentence, in one shape for every call.

``{"error": {"code", "message", "type", "request_id"}}``; the message repeats nothing of what was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from slowwave.errors import plain_fault

CODES: Final[Mapping[int, str]] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    409: "conflict",
    413: "payload_too_large",
    422: "validation_error",
    429: "too_many_requests",
    500: "internal_error",
    503: "service_unavailable",
}
"""Code by status."""

_MOST_FAULTS: Final = 5


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call has no answer. ``message`` is for whoever asked; ``retry_after`` in seconds, where asking again may help."""

    status: int
    message: str
    retry_after: int | None = None

    @property
    def code(self) -> str:
        """The code of its status."""
        return CODES.get(self.status, "bad_request" if self.status < 500 else "internal_error")

    def body(self, request_id: str) -> dict[str, dict[str, str]]:
        """The answer as it is sent."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"code": self.code, "message": self.message, "type": kind, "request_id": request_id}}


def invalid(problem: ValidationError) -> Failure:
    """A request that its model does not admit: places and reasons, no values."""
    faults = problem.errors(include_input=False, include_url=False, include_context=False)
    told = [
        f"{'.'.join(map(str, fault['loc'])) or 'request'}: {plain_fault(fault['msg'])}"
        for fault in faults[:_MOST_FAULTS]
    ]
    return Failure(422, "; ".join(told) + ".")
