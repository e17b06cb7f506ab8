"""The review of a plan: questions for a person, comments of reviewers, and the approval."""

from __future__ import annotations

from typing import Final, Literal, get_args

Sort = Literal["information", "risk", "probability", "operation"]
SORTS: Final[tuple[Sort, ...]] = get_args(Sort)
"""The orders in which the questions of a plan can be asked, by name."""
