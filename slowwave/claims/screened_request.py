"""What is taken of a request: its texts without secrets, what screening says of them, and the instant since when it is true."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from slowwave.claims.remember_request import RememberRequest
from slowwave.config.settings import Settings
from slowwave.corpus.transcripts import cleaned
from slowwave.errors import Refused
from slowwave.imports.screening import BadRow, Screening
from slowwave.texts.screening import redact

_TEXTS: Final = ("subject", "reason", "source", "agent", "session_id", "origin_surface")
_CLOCKS: Final = timedelta(minutes=1)
"""How far clocks may be apart."""


class ScreenedRequest(NamedTuple):
    """``request`` as it may be stored, ``said`` its statement, ``since`` when it begins. ``hidden``: it is kept from recall."""

    request: RememberRequest
    said: str
    since: datetime
    hidden: bool
    warnings: tuple[str, ...] = ()


def screened_request(namespace: str, request: RememberRequest, settings: Settings, now: datetime) -> ScreenedRequest:
    """Screen a request as imports and sessions are. Raises ``Refused`` for what the policy blocks, and for what is not true yet."""
    plain = request.content.replace("\r\n", "\n").replace("\0", "").strip()
    told = {name: str(getattr(request, name)).replace("\0", "") for name in _TEXTS}
    screening = Screening(settings.screening_on_import)
    try:
        hidden = screening.state(namespace, "\n".join((plain, *told.values()))) == "quarantined"
    except BadRow as problem:
        raise Refused(f"It cannot be remembered: {problem}. Nothing was stored.") from None
    said = cleaned(plain).strip()
    if not said and request.action != "forget":
        raise Refused("Nothing is left of the statement once calls of tools are taken out. Nothing was stored.")
    kept: Mapping[str, str] = {name: _one_line(redact(text)) for name, text in told.items()}
    taken_out = said != plain or any(redact(text) != text for text in told.values())
    since = _since(request.occurred_at, now)
    warnings = ("Something was taken out of it, as screening asks: a secret, hidden characters or a call of a tool.",)
    return ScreenedRequest(
        request.model_copy(update={**kept, "content": said}), said, since, hidden, warnings if taken_out else ()
    )


def _since(occurred_at: datetime | None, now: datetime) -> datetime:
    if occurred_at is None:
        return now
    since = (occurred_at if occurred_at.tzinfo else occurred_at.replace(tzinfo=UTC)).astimezone(UTC)
    if since > now + _CLOCKS:
        raise Refused(
            f"{since:%Y-%m-%d %H:%M} UTC is still to come, and a claim is true since its instant. Leave occurred_at out and say in the "
            "statement when it will be. Nothing was stored."
        )
    return min(since, now)


def _one_line(text: str) -> str:
    return " ".join(text.split())
