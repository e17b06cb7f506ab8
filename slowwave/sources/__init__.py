"""Other systems' exports, turned into rows as an agent would write them."""

from __future__ import annotations
