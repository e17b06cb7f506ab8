"""Migration of folders and exports of other memories into a plan of pages and claims.

The plan needs approval like a night's plan. A migration has four stages, each a pure function of the one before it: every input is staged
as a page; pages are classified and statements extracted; their subjects are merged over the whole folder; statements become claims by a
policy. The result is audited, repaired once, reported, and sealed.
"""

from __future__ import annotations
