"""A request to ``remember`` after screening: its texts without secrets, the findings, and the time since when the statement holds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from slowwave.errors import Refused
from slowwave.sources.rows import BadRow, Screening
from slowwave.store.settings import Settings
from slowwave.text.screening import counting, redact, screen
from slowwave.wiki.claims.request import RememberRequest
from slowwave.wiki.corpus.transcripts import cleaned

# Preparation of a request: its texts without secrets, the screening result, and the time since when the statement holds.

_TEXTS: Final = ("subject", "reason", "source", "agent", "session_id", "origin_surface")
_TAKEN_OUT: Final = "Something was taken out of it, as screening asks: a secret, hidden characters or a call of a tool."
_CLOCKS: Final = timedelta(minutes=1)
"""Tolerated difference between clocks."""


class ScreenedRequest(NamedTuple):
    """A screened request: ``request`` as it may be stored, its statement ``said``, and the time ``since`` when it holds.

    ``hidden`` is whether it is kept from recall.
    """

    request: RememberRequest
    said: str
    since: datetime
    hidden: bool
    warnings: tuple[str, ...] = ()


def screened_request(namespace: str, request: RememberRequest, settings: Settings, now: datetime) -> ScreenedRequest:
    """Screen the texts of a request that would be stored.

    Raises ``Refused`` for text that the policy blocks, and for a statement that begins in the future.
    """
    plain = request.content.replace("\r\n", "\n").replace("\0", "").strip()
    fields = {name: str(getattr(request, name)).replace("\0", "") for name in _TEXTS}
    kept_texts = fields.values() if request.action == "forget" else (plain, *fields.values())
    hidden, order = _judged(namespace, "\n".join(kept_texts), request, settings)
    statement = cleaned(plain).strip()
    if not statement and request.action != "forget":
        raise Refused("Nothing is left of the statement once calls of tools are taken out. Nothing was stored.")
    kept: Mapping[str, str] = {name: _one_line(redact(text)) for name, text in fields.items()}
    taken_out = statement != plain or any(redact(text) != text for text in fields.values())
    since = _since(request.occurred_at, now)
    warnings = (*((_TAKEN_OUT,) if taken_out else ()), *((order,) if order else ()))
    return ScreenedRequest(
        request.model_copy(update={**kept, "content": statement}), statement, since, hidden, warnings
    )


def _judged(namespace: str, text: str, request: RememberRequest, settings: Settings) -> tuple[bool, str]:
    """Return whether the text must be hidden from recall, and the warning about an instruction to a model in it.

    Raises ``Refused``. Text that imports block or hide is blocked or hidden here as well. Where imports only warn, an instruction is
    handled as on a page that an agent writes, because words cannot be removed from it as a secret can.
    """
    try:
        if Screening(settings.screening_on_import).state(namespace, text) == "quarantined":
            return True, ""
    except BadRow as problem:
        raise Refused(f"It cannot be remembered: {problem}. Nothing was stored.") from None
    orders = [finding.rule for finding in counting(screen(text)) if finding.kind == "injection"]
    if not orders:
        return False, ""
    if settings.screening_on_write == "warn":
        return False, f"Screening found an order to a model in it ({orders[0]})."
    if request.action != "forget" and (request.soft or settings.screening_on_write == "quarantine"):
        return (
            True,
            f"Screening refuses it as an order to a model ({orders[0]}), so it is in quarantine, where no search finds it.",
        )
    aside = (
        "Say it in other words."
        if request.action == "forget"
        else "Say it in other words, or with soft to put it aside."
    )
    raise Refused(
        f"It cannot be remembered: screening refuses it as an order to a model ({orders[0]}). {aside} Nothing was stored."
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
