"""Text as data: tokens, names and specifics. This package uses no models and no storage."""

from __future__ import annotations
