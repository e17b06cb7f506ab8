"""How a night fares with the model that words its texts: what was asked, what came of it, and when it is not asked again.

What a text is about and what becomes of it belongs to ``summary_text`` and ``community_text`` beside this module.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from slowwave.language.chat import Chat
from slowwave.language.panel import ENDPOINT_PROBLEMS, FAILURES_IN_A_ROW
from slowwave.reports.model import Finding

EXTRACTIVE: Final = "extractive"
"""The writer of what is taken from the sources."""

UNSENT: Final = "too long to be shown"
"""The problem of a text about which the model was not asked, as its sources do not fit in a document."""

LONGEST_DOCUMENT: Final = 24_000
"""Characters of the JSON that a model reads."""


class Text(Protocol):
    """``problem`` says why a model's words were not taken, ``failure`` why its endpoint gave none, in a sentence without memory text."""

    @property
    def writer(self) -> str:
        """The model, or ``EXTRACTIVE``."""
        ...

    @property
    def tokens(self) -> int:
        """What it cost."""
        ...

    @property
    def problem(self) -> str:
        """Empty where the model's words stand, or none was asked."""
        ...

    @property
    def failure(self) -> str:
        """Empty unless the endpoint gave none."""
        ...


AnyText = TypeVar("AnyText", bound=Text)


@dataclass(slots=True, kw_only=True)
class Attempts(Generic[AnyText]):
    """Once an endpoint failed three times in a row (``stop`` says so) the sources have the word.

    ``texts`` are what was written, in order; ``no_budget`` counts those for which the budget did not reach.
    """

    texts: list[AnyText] = field(default_factory=list)
    no_budget: int = 0
    calls: int = 0
    stop: str = ""
    _in_a_row: int = 0

    def take(self, text: AnyText | None, writer: Chat | None) -> AnyText | None:
        """Count what came of a text by ``writer``: None where the budget did not reach."""
        if text is None:
            self.no_budget += 1
            return None
        self.texts.append(text)
        if writer is not None:
            self.calls += text.problem != UNSENT
            self._in_a_row = self._in_a_row + 1 if text.problem in ENDPOINT_PROBLEMS else 0
            if self._in_a_row == FAILURES_IN_A_ROW:
                self.stop = f"{writer.model} failed {FAILURES_IN_A_ROW} times in a row and was not asked again tonight."
        return text

    def by_model(self) -> list[AnyText]:
        """The texts that a model wrote."""
        return [text for text in self.texts if text.writer != EXTRACTIVE]

    def findings(self, what: str = "texts", done: str = "are taken") -> tuple[Finding, ...]:
        """What went wrong with the model, without memory text: ``what`` ``done`` from their sources."""
        problems = Counter(t.problem for t in self.texts if t.problem)
        first = {t.problem: t.failure for t in reversed(self.texts) if t.failure}
        found = [
            f"{n:,} {what} {done} from their sources, as the model did not do it: {problem}."
            + (f" {first[problem]}" if problem in first else "")
            for problem, n in sorted(problems.items(), key=lambda p: (-p[1], p[0]))
        ]
        if self.stop:
            found.append(self.stop)
        if self.no_budget:
            found.append(
                f"{self.no_budget:,} {what} wait for another night: the token budget does not reach (llm_budget_exhausted). Raise "
                "SLOWWAVE_LLM_MAX_TOKENS_PER_RUN or SLOWWAVE_LLM_MAX_TOKENS_PER_NAMESPACE_PER_DAY if that is too slow."
            )
        return tuple(Finding(sentence, severity="warning") for sentence in found)
