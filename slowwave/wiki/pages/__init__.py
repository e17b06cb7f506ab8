"""Pages: MEMORY.md and DREAMS.md, rendered from the ledger and kept in the workspace's folders.

``slowwave.wiki.pages.index`` renders them without side effects; ``slowwave.wiki.pages.workspace`` makes files follow the rows. What a
plan writes is decided in ``slowwave.wiki.operations.compile_pages`` and ``slowwave.changes.pages``.
"""

from __future__ import annotations
