"""Where a link of the review page leads: below the address of its session."""

from __future__ import annotations

import re
from urllib.parse import urljoin


def way_on(link: str, html: str) -> str:
    """The whole address of the pages that the page behind a link leads to, by itself and by the one link it has."""
    leads = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', html)
    offered = re.search(r'<a href="([^"]+)">Go on', html)
    assert leads, "the page leads nowhere by itself"
    assert offered, "the page has no way on"
    assert leads[1] == offered[1]
    return urljoin(link, leads[1])
