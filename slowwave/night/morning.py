"""The morning's page for those who do not look by themselves: what it may say outside of the database, and the webhook that it goes to.

The address is of the environment alone, ``SLOWWAVE_DIGEST_URL``, else that of the events (``slowwave.reports.webhook``), and so is the
secret that signs it. An address may hold a token, and no error shows more of it than the host.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from slowwave.errors import SettingsError, StoreError
from slowwave.night.digest import digest, hidden, message_of
from slowwave.night.namespace_status import NamespaceStatus, read_namespace_status
from slowwave.reports.redaction import levels_in, strictest
from slowwave.reports.webhook import SECRET, URL, Address, WebhookSink, address
from slowwave.store.connect import Store

DIGEST_URL: Final = "SLOWWAVE_DIGEST_URL"


def morning_page(store: Store, now: datetime | None = None) -> tuple[str, list[NamespaceStatus]]:
    """The digest of all namespaces as the strictest ``redact_text`` of them lets it be, and what it tells."""
    with store.connect("reader") as connection:
        statuses = read_namespace_status(connection)
        level = strictest(levels_in(connection, [one.namespace for one in statuses])) if statuses else "none"
    shown = hidden(statuses, level)
    return digest(shown, now), shown


def digest_address(environment: Mapping[str, str] = os.environ) -> Address | None:
    """Where the page goes, or None. Raises ``SettingsError`` for an address or a secret that cannot be used."""
    url = environment.get(DIGEST_URL, "").strip() or environment.get(URL, "")
    return address({URL: url, SECRET: environment.get(SECRET, "")})


def send_page(page: str, now: datetime | None = None, *, seconds: float = 60.0, first_pause: float = 0.5) -> str:
    """Send the page to the webhook of the environment, signed, and again where it is not taken, for at most ``seconds``; returns the host.

    Raises ``SettingsError`` where there is no address, and ``StoreError`` where nobody took it.
    """
    to = digest_address()
    if to is None:
        raise SettingsError(
            f"There is no address to send to. Set {DIGEST_URL} and {SECRET}; docs/telemetry.md says how a receiver verifies what it gets."
        )
    sink = WebhookSink(to, closing_seconds=seconds, first_pause=first_pause)
    sink.send(message_of(page, now or datetime.now(UTC)))
    sink.close()
    if sink.lost:
        raise StoreError(
            f"The webhook at {to.shown()} did not take the page. `slowwave status --digest` prints it; try again later."
        )
    return to.shown()
