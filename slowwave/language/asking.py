"""Asking a model for a text: one call within a budget, and the JSON object in its answer.

What is asked, and whether an answer stands, belongs to the callers (``slowwave.operations.planners``); how a model is reached to
``slowwave.language.chat``.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from slowwave.errors import ChatError
from slowwave.language.budget import Budget, Usage
from slowwave.language.chat import Chat, most_tokens
from slowwave.language.completions import ATTEMPTS

_FENCED: Final = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a model wrote and what it cost. With a ``problem``, that of ``ChatError``, it wrote nothing; ``failure`` is the sentence."""

    text: str = ""
    tokens: int = 0
    problem: str = ""
    failure: str = ""


def ask_within(
    budget: Budget,
    writer: Chat,
    operation: str,
    system: str,
    user: str,
    schema: Mapping[str, object],
    max_tokens: int,
) -> CallResult | None:
    """One call, or None when the budget does not hold its upper estimate. The budget is charged what it cost, whatever came of it."""
    estimate = ATTEMPTS * most_tokens(system, user, schema, max_tokens)
    if not budget.allow(estimate):
        return None
    began = time.perf_counter()
    try:
        answer = writer.ask(system, user, schema, max_tokens)
    except ChatError as error:
        if error.tokens:
            budget.spend(Usage(operation, writer.model, error.tokens, seconds=time.perf_counter() - began), estimate)
        else:
            budget.release(estimate)
        return CallResult(tokens=error.tokens, problem=error.kind, failure=str(error))
    except BaseException:
        budget.release(estimate)
        raise
    budget.spend(Usage(operation, writer.model, answer.tokens, seconds=time.perf_counter() - began), estimate)
    return CallResult(answer.text, answer.tokens)


def object_in(answer: str) -> Mapping[str, Any] | None:
    """The JSON object of an answer, a code fence around it tolerated; None when it is none."""
    fence = _FENCED.fullmatch(answer)
    try:
        value: Any = json.loads(fence[1] if fence else answer)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
