"""``SlowwaveSession``: a session of the OpenAI Agents SDK in a namespace of Slowwave, so that a night can learn from what was said.

It is a session by its methods; the package itself is not needed to load it. How items are kept belongs to
``slowwave.agents.session_items``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from slowwave.agents.session_items import LONGEST_ID, SessionItems
from slowwave.errors import Refused
from slowwave.imports.rows import chosen_slug
from slowwave.store.connect import Store
from slowwave.store.opening import open_store

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings

AGENT: Final = "openai-agents"
"""Who took part, as the pages of such sessions say."""


class SlowwaveSession:
    """The history of one conversation, by its id, in a namespace of Slowwave (its name), which is made with the first item.

    Items come back as they were given, from every process. What a user and an assistant said in them becomes pages of the plane of
    sessions: searches find it when they ask for sessions, and durable answers have none of it. ``store`` is the environment's unless it is
    given; ``session_settings`` may limit how many items a run is shown. Raises ``Refused`` for what cannot be taken.
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
        """The last ``limit`` items, else as many as the settings say, else all, in the order in which they were added."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await asyncio.to_thread(self._items.newest, None if limit is None or limit < 0 else limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items after those that are there: all of them, or none."""
        await asyncio.to_thread(self._items.add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item back and give it; None where there is none."""
        popped: Any = await asyncio.to_thread(self._items.pop)
        return popped

    async def clear_session(self) -> None:
        """Take all items back. What was said is found by no search any more."""
        await asyncio.to_thread(self._items.clear)
