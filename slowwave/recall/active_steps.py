"""What a language model may do for a reminder: plan its searches, and word what they found. Each takes place only where there is time.

A plan adds queries and says how many pages are told; whether sessions may be searched at all stays the profile's to say. A worded line
counts where it names pages that it was given and states nothing that they do not; where no line is left, the pages are told as they are.
What a profile denies is never sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from slowwave.language.searcher import Searcher, texts_of
from slowwave.recall.active import DURABLE, SESSIONS, FoundPage
from slowwave.recall.research import cited
from slowwave.texts.quotation import quotable

PLAN_SECONDS: Final = 1.8
COMPOSE_SECONDS: Final = 2.2
"""Left of the time that a reminder may take; with less the step is left out."""

MOST_QUERIES: Final = 3
MOST_DURABLE: Final = 8
MOST_SESSIONS: Final = 6
LONGEST_PROMPT: Final = 4_000
"""Characters of a prompt that a model reads."""

_LONGEST_QUERY: Final = 500
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_PLAN: Final = (
    "An agent is about to act on a prompt. Plan what to look for in its memory: short durable_queries for pages and facts, session_queries "
    "for past conversations, whether conversations are wanted, and how many of each are worth telling."
)
_PLANNED: Final = {
    "durable_queries": _TEXTS,
    "session_queries": _TEXTS,
    "include_sessions": {"type": "boolean"},
    "durable_limit": {"type": "integer", "minimum": 1, "maximum": MOST_DURABLE},
    "session_limit": {"type": "integer", "minimum": 0, "maximum": MOST_SESSIONS},
}
_COMPOSE: Final = (
    "An agent is about to act on a prompt. Tell it what of the pages bears on that, in at most six short sentences, each with the numbers "
    "of the pages that say so. Keep names, numbers and negations as they are written. Leave out what no page says."
)
_COMPOSED: Final = {
    "sentences": {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["text", "sources"],
            "properties": {"text": {"type": "string"}, "sources": {"type": "array", "items": {"type": "integer"}}},
        },
    }
}


class ReminderPlan(NamedTuple):
    """Queries beside the prompt, whether sessions are wanted, and the most pages of each plane; ``warning`` where a model gave none."""

    durable: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    include_sessions: bool = False
    most_durable: int = DURABLE
    most_sessions: int = SESSIONS
    warning: str = ""


class WordedLine(NamedTuple):
    """A line of a reminder, and the pages that say so."""

    text: str
    sources: tuple[str, ...]


def reminder_plan(searcher: Searcher, prompt: str) -> ReminderPlan:
    """A plan for a prompt; numbers out of bounds are brought within them."""
    helped = searcher.ask("active_plan", _PLAN, {"prompt": prompt[:LONGEST_PROMPT]}, _PLANNED)
    answer = helped.answer
    if answer is None:
        return ReminderPlan(warning=helped.warning)
    durable, sessions = (
        tuple(text[:_LONGEST_QUERY] for text in texts_of(answer, name, MOST_QUERIES))
        for name in ("durable_queries", "session_queries")
    )
    most_durable, most_sessions = (
        min(most, max(least, value)) if type(value := answer[name]) is int else usual
        for name, least, most, usual in (
            ("durable_limit", 1, MOST_DURABLE, DURABLE),
            ("session_limit", 0, MOST_SESSIONS, SESSIONS),
        )
    )
    return ReminderPlan(durable, sessions, answer["include_sessions"] is True, most_durable, most_sessions)


def worded(searcher: Searcher, prompt: str, pages: Sequence[FoundPage]) -> tuple[tuple[WordedLine, ...], str]:
    """Lines that pages bear out, and why there are none where there are none."""
    from slowwave.texts.grounding import ungrounded  # knows more of language than a server needs to start

    texts = [str(quotable(" ".join(page.text.split()))) for page in pages]
    shown = [
        {"number": n, "path": page.path, "text": text}
        for n, (page, text) in enumerate(zip(pages, texts, strict=True), 1)
    ]
    helped = searcher.ask("active_compose", _COMPOSE, {"prompt": prompt[:LONGEST_PROMPT], "pages": shown}, _COMPOSED)
    if helped.answer is None:
        return (), helped.warning
    lines = tuple(
        WordedLine(" ".join(said.text.split()), tuple(dict.fromkeys(pages[n - 1].path for n in said.sources)))
        for said in cited(helped.answer, len(pages))
        if not ungrounded(said.text, [texts[n - 1] for n in said.sources])
    )
    return lines, "" if lines else "What the model worded does not stand in the pages, so they are told as they are."
