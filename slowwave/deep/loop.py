"""The loop: a model is asked turn by turn, its calls are made, and it ends when the model says so or a limit is reached.

While a model answers, whoever holds the run is asked again and again whether it goes on: a kill or the end of the time ends the loop at
once, and an answer that comes later is thrown away. What the loop came to is read from the folder, never from what the model says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import Final, Literal, Protocol

from slowwave.deep.tools import TOOLS, Tools
from slowwave.errors import ChatError
from slowwave.language.budget import Budget, Usage
from slowwave.language.completions import ATTEMPTS
from slowwave.language.tool_chat import Message, ModelTurn, answered, most_tokens
from slowwave.texts.screening import redact

OPERATION: Final = "deep_pass"

KEPT_TURNS: Final = 30
"""Turns that are kept, the last ones."""

KEPT_FILES: Final = 200
LONGEST_KEPT: Final = 300
"""Characters of a turn that are kept."""

ANSWER_TOKENS: Final = 4_096

_POLL_SECONDS: Final = 0.5
_READ: Final = 5_000  # characters of a turn that are screened
_IDLE: Final = 8  # turns in a row of which every call was refused

Ended = Literal["done", "turns", "time", "budget", "garbage"]
"""Why a loop ended. Only of ``done`` anything comes: the others left work half done."""


class Talks(Protocol):
    """A model that takes turns."""

    @property
    def model(self) -> str:
        """Its name."""
        ...

    def turn(self, messages: Sequence[Message], tools: Sequence[Mapping[str, object]], max_tokens: int) -> ModelTurn:
        """The next turn. Raises ``ChatError``."""
        ...


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """One turn as it is kept: the beginning of its words, without secrets, and how many calls it made."""

    text: str
    tool_use_count: int


@dataclass(slots=True)
class Progress:
    """How far a loop is: ``phase`` is ``starting`` until the first file is written, then ``updating``."""

    turns: int = 0
    kept: list[KeptTurn] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    phase: Literal["starting", "updating"] = "starting"
    calls: int = 0
    refused: int = 0
    model_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a loop came to; ``failure`` is the sentence of an endpoint that gave nothing."""

    ended: Ended
    progress: Progress
    failure: str = ""


def work(
    model: Talks,
    budget: Budget,
    tools: Tools,
    conversation: Sequence[Message],
    *,
    turns: int,
    seconds: float,
    note: Callable[[Progress], None],
    keep_words: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Let a model work with tools until it calls none, for at most ``turns`` turns and ``seconds``, within ``budget``.

    ``note`` is called after each turn and again and again while the model answers; what it raises ends the loop and is passed on.
    Raises ``ChatError`` when the endpoint gives no answer that can be used.
    """
    messages, progress, until, idle = list(conversation), Progress(), clock() + seconds, 0
    while progress.turns < turns:
        estimate = ATTEMPTS * most_tokens(messages, TOOLS, ANSWER_TOKENS)
        if not budget.allow(estimate):
            return Outcome("budget", progress)
        began = clock()
        turn = _asked(model, messages, lambda: clock() > until, lambda: note(progress), budget, estimate)
        progress.model_seconds += clock() - began
        if turn is None:
            return Outcome("time", progress)
        progress.turns += 1
        progress.kept = [*progress.kept, _kept(turn, keep_words=keep_words)][-KEPT_TURNS:]
        if not turn.calls:
            note(progress)
            return Outcome("done", progress)
        messages.append(turn.message)
        known = tools.refused
        for call in turn.calls:
            if clock() > until:
                return Outcome("time", progress)
            messages.append(answered(call, tools.call(call.name, call.arguments)))
        idle = idle + 1 if tools.refused - known == len(turn.calls) else 0
        progress.calls, progress.refused = tools.calls, tools.refused
        progress.files = list(tools.touched)[:KEPT_FILES]
        progress.phase = "updating" if progress.files else "starting"
        note(progress)
        if idle == _IDLE:
            return Outcome("turns" if tools.calls > tools.limits.calls else "garbage", progress)
    return Outcome("turns", progress)


def _asked(
    model: Talks,
    messages: Sequence[Message],
    late: Callable[[], bool],
    look: Callable[[], None],
    budget: Budget,
    estimate: int,
) -> ModelTurn | None:
    """The next turn; None when the time was up first. The answer is waited for on a thread of its own, which is left to itself then."""
    came: list[ModelTurn | BaseException] = []
    began = time.perf_counter()

    def ask() -> None:
        try:
            came.append(model.turn(messages, TOOLS, ANSWER_TOKENS))
        except BaseException as problem:  # noqa: BLE001 - raised where it is waited for
            came.append(problem)

    thread = Thread(target=ask, name="deep-pass-model", daemon=True)
    thread.start()
    spent = estimate  # of an answer that nobody waited for nobody knows what it cost
    try:
        while True:
            thread.join(_POLL_SECONDS)
            if not thread.is_alive():
                break
            look()
            if late():
                return None
        answer = came[0]
        if isinstance(answer, ModelTurn):
            spent = answer.tokens
            return None if late() else answer
        spent = answer.tokens if isinstance(answer, ChatError) else estimate
        raise answer
    finally:
        if spent:
            budget.spend(Usage(OPERATION, model.model, spent, seconds=time.perf_counter() - began), estimate)
        else:
            budget.release(estimate)


def _kept(turn: ModelTurn, *, keep_words: bool) -> KeptTurn:
    line = " ".join("".join(c if c.isprintable() else " " for c in turn.text[:_READ]).split())
    return KeptTurn(redact(line)[:LONGEST_KEPT] if keep_words else "", len(turn.calls))
