"""Text, as data: tokens, names and what is specific in it. No models and no storage."""

from __future__ import annotations
