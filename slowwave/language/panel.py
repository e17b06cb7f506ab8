"""A panel: two different models that answer the same questions at once, within a budget, until one of them keeps failing.

What is asked and what the answers come to belongs to the callers (``slowwave.matching.judge``, ``slowwave.conflicts.judge``); how a
model is reached to ``slowwave.language.chat``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from types import TracebackType
from typing import Final, Self

from slowwave.errors import ChatError, SettingsError
from slowwave.language.budget import Budget, Usage
from slowwave.language.chat import Chat, most_tokens
from slowwave.language.completions import ATTEMPTS

ENDPOINT_PROBLEMS: Final = ("timeout", "unreachable", "error status")
FAILURES_IN_A_ROW: Final = 3


@dataclass(frozen=True, slots=True)
class PanelReply:
    """What a model wrote; with a ``problem`` it wrote nothing that counts, and ``failure`` is the sentence about it."""

    model: str
    text: str = ""
    tokens: int = 0
    problem: str = ""  # timeout, unreachable, error status, refused, bad answer
    failure: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class Panel:
    """Use as a context. ``cap`` is what the questions may cost in all, ``budget`` the run's and the day's, which is charged for every call.

    ``stopped`` says why no more questions are asked; ``exhausted`` that it is for the run's or the day's budget. ``failures`` holds the
    first sentence about each kind of failure.
    """

    judges: Sequence[Chat]
    system: str
    schema: Mapping[str, object]
    max_tokens: int
    operation: str
    cap: int
    budget: Budget | None = None
    spent: int = 0
    stopped: str = ""
    exhausted: bool = False
    failures: dict[str, str] = field(default_factory=dict)
    _in_a_row: dict[str, int] = field(default_factory=dict)
    _pool: ThreadPoolExecutor | None = None

    def __post_init__(self) -> None:
        names = self.names
        if len(names) != 2 or names[0] == names[1]:
            raise SettingsError(
                "The judges are not two different models, so no pair can have two votes. Set SLOWWAVE_JUDGE_MODELS to two, or to []."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The models, in the order of their answers."""
        return tuple(chat.model for chat in self.judges)

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(len(self.judges))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool:
            self._pool.shutdown()

    def ask(self, user: str) -> tuple[PanelReply, ...] | None:
        """Both answers, or None when the question was not asked, see ``stopped``.

        It is asked only while the budgets hold the upper estimate of both calls and their retries; what is counted is what the
        endpoint reports. Nothing is asked any more once a model's endpoint failed three times in a row.
        """
        if self.stopped or self._pool is None:
            return None
        each = ATTEMPTS * most_tokens(self.system, user, self.schema, self.max_tokens)
        if self.spent + len(self.judges) * each > self.cap:
            self.stopped = "the token budget reaches no further"
            return None
        if self.budget and not self.budget.allow(len(self.judges) * each):
            self.stopped, self.exhausted = "the run's or the day's token budget reaches no further", True
            return None
        said = tuple(self._pool.map(self._one, self.judges, repeat(user)))
        for one in said:
            self.spent += one.tokens
            if self.budget:
                self.budget.spend(Usage(self.operation, one.model, one.tokens, seconds=one.seconds), each)
            if one.failure:
                self.failures.setdefault(f"{one.problem} of {one.model}", one.failure)
            failed = one.problem in ENDPOINT_PROBLEMS
            self._in_a_row[one.model] = self._in_a_row.get(one.model, 0) + 1 if failed else 0
            if self._in_a_row[one.model] == FAILURES_IN_A_ROW and not self.stopped:
                self.stopped = f"{one.model} failed {FAILURES_IN_A_ROW} times in a row"
        return said

    def _one(self, model: Chat, user: str) -> PanelReply:
        began = time.perf_counter()
        try:
            answer = model.ask(self.system, user, self.schema, self.max_tokens)
        except ChatError as error:
            return PanelReply(
                model.model,
                tokens=error.tokens,
                problem=error.kind,
                failure=str(error),
                seconds=time.perf_counter() - began,
            )
        return PanelReply(model.model, answer.text, answer.tokens, seconds=time.perf_counter() - began)
