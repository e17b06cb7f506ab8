"""The content that agents get at run time: the wake block, active memory, research, and the recalls that they report."""

from __future__ import annotations
