"""Review page in the browser: a person reads a plan's questions, answers them, approves once, and sees the plan applied."""

from __future__ import annotations
