"""Pages: MEMORY.md and DREAMS.md, rendered from the ledger and kept in the workspace's folders.

``slowwave.pages.index`` and ``slowwave.pages.diary`` render, purely; ``slowwave.pages.workspace`` lets files follow the rows. What a
plan writes is the business of ``slowwave.operations.planners.compile_pages`` and ``slowwave.mutations.render_page``.
"""
