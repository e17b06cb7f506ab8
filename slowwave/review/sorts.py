"""The orders in which the questions of a plan may be asked, by name; what they mean belongs to ``slowwave.review.queue``."""

from __future__ import annotations

from typing import Final, Literal, get_args

Sort = Literal["information", "risk", "probability", "operation"]
SORTS: Final[tuple[Sort, ...]] = get_args(Sort)
