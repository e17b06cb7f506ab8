"""What agents are given by day: the wake block, active memory, research, and the recalls that they report."""

from __future__ import annotations
