"""Names of namespaces and runs as parts of paths: of snapshots, reports and pages. They come from outside, and may hold anything."""

from __future__ import annotations

import hashlib
import re
from typing import Final

_PLAIN_NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
_NOT_PLAIN: Final = re.compile(r"[^0-9A-Za-z_-]+")


def path_part(name: str) -> str:
    """A name as one part of a path: itself when it is plain letters, digits, ``_`` and ``-``, else what is plain of it, a dot
    and a hash: no plain name has a dot, so nobody can call a namespace as another one's folder is called."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    plain = _NOT_PLAIN.sub("-", name).strip("-_")[:48] or "namespace"
    return f"{plain}.{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:12]}"
