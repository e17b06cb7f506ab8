"""A session of the OpenAI Agents SDK (``SlowwaveSession``) whose items are kept as they were given."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from slowwave.errors import Refused
from slowwave.search.request import settings_of
from slowwave.sources.loading import claim
from slowwave.sources.rows import chosen_slug
from slowwave.store.connect import Store
from slowwave.store.logins import Connection
from slowwave.store.migrate import open_store
from slowwave.wiki.corpus.corpora import SESSIONS_ROOT
from slowwave.wiki.corpus.requests import SessionIngestRequest
from slowwave.wiki.corpus.sessions import session_ingest
from slowwave.wiki.corpus.transcripts import cleaned, turn_of

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings


# Items of an agent's session, kept as they were given, and their text as pages of the plane ``sessions``.
#
# A page holds about ten thousand characters of a session, so that a session of several weeks is not rewritten with every turn. Undone items
# are retired together with their words.

LONGEST_ID: Final = 200
"""Maximum characters of a session's id."""

_PAGE: Final = 12_000
"""Characters of items after which a session continues on another page."""

_LONGEST_TURN: Final = 100_000
"""Maximum characters of a turn on a page; the item keeps the full text."""

_NAMESPACE: Final = "SELECT id::text, read_only FROM memory.namespaces WHERE slug = %s"

_LOCK: Final = "SELECT memory.lock_name(%s || ':' || %s, 4)"

_LAST_PAGE: Final = """
SELECT page, sum(length(item)) FROM memory.session_items WHERE namespace_id = %s AND session_id = %s AND invalidated_at IS NULL
 GROUP BY page ORDER BY page DESC LIMIT 1"""

_ADD: Final = """
INSERT INTO memory.session_items (namespace_id, session_id, page, item)
SELECT %s, %s, page, item FROM unnest(%s::integer[], %s::text[]) WITH ORDINALITY AS r (page, item, place) ORDER BY place"""

_NEWEST: Final = """
SELECT i.item FROM memory.session_items i JOIN memory.namespaces n ON n.id = i.namespace_id
 WHERE n.slug = %s AND i.session_id = %s AND i.invalidated_at IS NULL ORDER BY i.id DESC LIMIT %s"""

_POP: Final = """
UPDATE memory.session_items SET invalidated_at = now() WHERE id = (
  SELECT max(id) FROM memory.session_items WHERE namespace_id = %s AND session_id = %s AND invalidated_at IS NULL)
RETURNING page, item"""

_CLEAR: Final = """
WITH gone AS (
  UPDATE memory.session_items SET invalidated_at = now() WHERE namespace_id = %s AND session_id = %s AND invalidated_at IS NULL
  RETURNING page)
SELECT DISTINCT page FROM gone"""

_ON_PAGE: Final = """
SELECT item, recorded_at FROM memory.session_items
 WHERE namespace_id = %s AND session_id = %s AND page = %s AND invalidated_at IS NULL ORDER BY id"""

_RETIRE: Final = """
WITH ended AS (
  UPDATE memory.documents d SET invalidated_at = now() FROM memory.corpora c WHERE c.id = d.corpus_id AND c.root = %s
    AND d.namespace_id = %s AND d.path = ANY (%s) AND d.invalidated_at IS NULL RETURNING d.id)
UPDATE memory.chunks k SET invalidated_at = now() FROM ended WHERE k.document_id = ended.id AND k.invalidated_at IS NULL"""


@dataclass(frozen=True, slots=True)
class SessionItems:
    """The items of one session (its id) of a namespace (its name).

    ``agent`` is the participant that the session's pages name.
    """

    store: Store
    namespace: str
    agent: str
    session_id: str

    def newest(self, limit: int | None = None) -> list[Any]:
        """Return the last items, or all without a limit, in the order in which they were given."""
        with self.store.connect("server") as connection:
            rows = connection.execute(_NEWEST, (self.namespace, self.session_id, limit)).fetchall()
        return [json.loads(str(item)) for (item,) in reversed(rows)]

    def add(self, items: Sequence[object]) -> None:
        """Add items after the existing ones, all or none.

        Raises ``Refused`` for an item that is not JSON, or that screening refuses.
        """
        try:
            given = [json.dumps(item) for item in items]
        except (TypeError, ValueError, RecursionError) as problem:
            raise Refused(f"An item of a session is no JSON value ({problem}). Nothing was stored.") from None
        if not given:
            return
        with self.store.connect("owner") as connection, connection.transaction():
            namespace = self._locked(connection)
            row = connection.execute(_LAST_PAGE, (namespace, self.session_id)).fetchone()
            pages = _paged(given, *((1, 0) if row is None else (int(str(row[0])), int(str(row[1])))))
            connection.execute(_ADD, (namespace, self.session_id, pages, given))
            self._update_pages(connection, namespace, pages)

    def pop(self) -> Any:
        """Remove the newest item and its words, and return it, or None if there is none."""
        with self.store.connect("owner") as connection, connection.transaction():
            namespace = self._locked(connection, make=False)
            row = connection.execute(_POP, (namespace, self.session_id)).fetchone()
            if row is None:
                return None
            self._update_pages(connection, namespace, [int(str(row[0]))])
        return json.loads(str(row[1]))

    def clear(self) -> None:
        """Remove all items."""
        with self.store.connect("owner") as connection, connection.transaction():
            namespace = self._locked(connection, make=False)
            pages = [int(str(page)) for (page,) in connection.execute(_CLEAR, (namespace, self.session_id)).fetchall()]
            self._retire(connection, namespace, pages)

    def _locked(self, connection: Connection, *, make: bool = True) -> str | None:
        """Lock the session for other writers until the transaction ends, and return the id of the namespace.

        With ``make``, a missing namespace is created; otherwise None is returned for it. Raises ``Refused`` for a read-only namespace.
        """
        row = connection.execute(_NAMESPACE, (self.namespace,)).fetchone()
        if row is not None and row[1]:
            raise Refused(f"Read-only: {self.namespace}. Nothing was stored. Make it writable first.")
        if row is None and not make:
            return None
        namespace = str(row[0]) if row else claim(connection, self.namespace, Counter(), _usual_model())
        connection.execute(_LOCK, (namespace, self.session_id))
        return namespace

    def _update_pages(self, connection: Connection, namespace: str | None, pages: Sequence[int]) -> None:
        """Update pages to the text of their items."""
        for page in dict.fromkeys(pages):
            rows = connection.execute(_ON_PAGE, (namespace, self.session_id, page)).fetchall()
            item_texts = [_item_text(json.loads(str(item)), at) for item, at in rows]
            if page_text := "\n\n".join(filter(None, item_texts)):
                request = SessionIngestRequest(
                    path=self._path(page),
                    content=page_text,
                    agent=self.agent,
                    session_id=self.session_id,
                    updated=_instant(rows[-1][1]),
                )
                session_ingest(connection, self.namespace, request, settings_of(connection, self.namespace))
            else:
                self._retire(connection, namespace, [page])

    def _retire(self, connection: Connection, namespace: str | None, pages: Sequence[int]) -> None:
        connection.execute(_RETIRE, (SESSIONS_ROOT, namespace, [self._path(page) for page in pages]))

    def _path(self, page: int) -> str:
        """Return the path of a page; two sessions never share a path, whatever their names."""
        name = re.sub(r"[^a-z0-9]+", "-", self.session_id.lower())[:60]
        known = hashlib.sha256(self.session_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return f"logs/sessions/{self.agent}/{f'{name}-{known}'.lstrip('-')}/{page:04}.md"


def _paged(given: Sequence[str], page: int, filled: int) -> list[int]:
    """Return the page of each item that is added to one that is filled so far."""
    pages: list[int] = []
    for item in given:
        if filled >= _PAGE:
            page, filled = page + 1, 0
        pages.append(page)
        filled += len(item)
    return pages


def _item_text(item: object, at: object) -> str:
    """Return the words of a speaker in an item, in the form of a session's page, or an empty text for tool calls and the like."""
    if not isinstance(item, Mapping):
        return ""
    moment = _instant(at)
    turn = turn_of({str(name): value for name, value in item.items()}, moment.isoformat())
    text = cleaned(turn.text)[:_LONGEST_TURN] if turn is not None else ""
    return f"**{turn.role}** {moment:%Y-%m-%d %H:%M}\n\n{text}" if turn is not None and text else ""


def _usual_model() -> str:
    """Return the embedding model of a namespace without settings."""
    from slowwave.store.settings import Settings

    return Settings.for_namespace({}).embedding_model


def _instant(value: object) -> datetime:
    assert isinstance(value, datetime)  # noqa: S101 - a column of instants
    return value


# ``SlowwaveSession``: a session of the OpenAI Agents SDK in a namespace of Slowwave, so that a night can learn from its turns.
#
# It has the methods of a session; the SDK itself is not needed to import it.

AGENT: Final = "openai-agents"
"""The participant that the pages of such sessions name."""


class SlowwaveSession:
    """The history of one conversation, by its id, in a namespace of Slowwave (its name).

    The namespace is created with the first item. Items are returned as they were given, in every process. The words of users and
    assistants become pages of the plane of sessions: searches that ask for sessions find them, and durable answers do not. ``store``
    defaults to the environment's; ``session_settings`` may limit the number of items that a run gets. Raises ``Refused`` for items that
    cannot be accepted.
    """

    def __init__(
        self,
        session_id: str,
        namespace: str,
        store: Store | None = None,
        *,
        session_settings: SessionSettings | None = None,
    ) -> None:
        if not 0 < len(session_id) <= LONGEST_ID or not session_id.isprintable():
            raise Refused(
                f"A session's id has 1 to {LONGEST_ID} printable characters. Nothing was done. Choose another."
            )
        self.session_id = session_id
        self.session_settings = session_settings
        self._items = SessionItems(store or open_store(), chosen_slug(namespace) or namespace, AGENT, session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the last ``limit`` items, or as many as the settings state, or else all, in the order in which they were added."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await asyncio.to_thread(self._items.newest, None if limit is None or limit < 0 else limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items after the existing ones: all of them, or none."""
        await asyncio.to_thread(self._items.add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and return it, or None if there is none."""
        popped: Any = await asyncio.to_thread(self._items.pop)
        return popped

    async def clear_session(self) -> None:
        """Remove all items; no search finds their words any more."""
        await asyncio.to_thread(self._items.clear)
