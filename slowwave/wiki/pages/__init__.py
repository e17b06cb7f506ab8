"""Pages: MEMORY.md and DREAMS.md, rendered from the ledger and kept in the workspace's folders.

``slowwave.wiki.pages.index`` and ``slowwave.wiki.pages.index`` render, purely; ``slowwave.wiki.pages.workspace`` lets files follow the
rows. What a plan writes is the business of ``slowwave.wiki.operations.compile_pages`` and ``slowwave.changes.pages``.
"""

from __future__ import annotations
