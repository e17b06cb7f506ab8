"""The orders in which the questions of a plan can be asked, by name."""

from __future__ import annotations

from typing import Final, Literal, get_args

# The orders in which the questions of a plan may be asked, by name.

Sort = Literal["information", "risk", "probability", "operation"]
SORTS: Final[tuple[Sort, ...]] = get_args(Sort)
