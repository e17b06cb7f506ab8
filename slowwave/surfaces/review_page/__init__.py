"""The review page: a person reads the questions of a plan, answers them, signs once, and sees it applied, in a browser."""

from __future__ import annotations
