"""``python -m benchmarks.conditions``: behaviours that stages of decay leave without the condition under which they hold.

The paragraphs are generated from ``conditions.toml``: each has one behaviour, its condition in another sentence, and sentences about other
subjects around them. ``built`` are the forms that the rules were made with, ``unseen`` those that were written afterwards. A behaviour
without its condition is a false memory.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.shortened import stages
from slowwave.operations.scoring import STAGES
from slowwave.text.sentences import sentences

_FILE: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_FILLERS: Final = 14
OUTCOMES: Final = ("both", "neither", "behaviour alone", "condition alone")


class Paragraph(NamedTuple):
    """A generated paragraph: its text, and the sentences that hold its behaviour and its condition."""

    text: str
    behaviour: str
    condition: str


def paragraphs(kind: str) -> Iterator[Paragraph]:
    """Yield fifty paragraphs of the ``built`` or the ``unseen`` forms, the same at each call."""
    random = Random(f"conditions {kind}")  # noqa: S311 - nothing is kept secret here
    for form in _FILE["forms"][kind]:
        for behaviour, clause, noun, sentence in _FILE["facts"]:
            said = form.format(B=behaviour, b=behaviour[0].lower() + behaviour[1:], C=clause, N=noun, D=sentence)
            first, second = sentences(said)
            fillers = random.sample(_FILE["fillers"], _FILLERS)
            place = random.randrange(1, _FILLERS)
            text = " ".join((*fillers[:place], said, *fillers[place:]))
            last = form.startswith("{D}")
            yield Paragraph(text, second if last else first, first if last else second)


def outcome(paragraph: Paragraph, text: str) -> str:
    """Return which of the two sentences a shorter text has."""
    behaviour, condition = paragraph.behaviour in text, paragraph.condition in text
    if behaviour == condition:
        return "both" if behaviour else "neither"
    return "behaviour alone" if behaviour else "condition alone"


def measured(kind: str) -> dict[str, Counter[str]]:
    """Return for each stage how often each outcome comes of the paragraphs."""
    found: dict[str, Counter[str]] = {stage: Counter() for stage in STAGES[1:-1]}
    for paragraph in paragraphs(kind):
        for stage, text in stages(paragraph.text).items():
            if stage in found:
                found[stage][outcome(paragraph, text)] += 1
    return found


def main() -> None:
    """Print one line for each kind of forms and stage."""
    for kind in ("built", "unseen"):
        for stage, counts in measured(kind).items():
            print(f"{kind} | {stage} | " + " | ".join(f"{name} {counts[name]}" for name in OUTCOMES))


if __name__ == "__main__":
    main()
