"""``python -m benchmarks.shortened``: write the texts of ``shortened.toml`` into ``shortened.md``, before and after their stages of decay.

What a reader says of them stands in the file; what is shortened is shortened now, at default settings.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from slowwave.operations.options import DecayTransitionOptions
from slowwave.operations.scoring import STAGES
from slowwave.store.settings import Settings
from slowwave.text.shortening import shorten
from slowwave.text.tokens import count

PAGE: Final = Path(__file__).with_suffix(".md")
MARKS: Final = ("<!-- ten texts -->", "<!-- end of ten texts -->")
TEXTS: Final[list[dict[str, Any]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))[
    "text"
]


def stages(text: str, asked: tuple[str, ...] = ()) -> dict[str, str]:
    """Stage → what a text is in it, beginning with "full"; a stage that changes nothing has the text of the one before."""
    found = {STAGES[0]: text}
    for stage in STAGES[1:-1]:
        room = Settings().options("decay_transition", DecayTransitionOptions).tokens[stage]
        text = shorten(text, room, asked).text or text
        found[stage] = text
    return found


def section() -> str:
    """The texts as Markdown."""
    return "\n".join(part for entry in TEXTS for part in _parts(entry))


def _parts(entry: dict[str, Any]) -> list[str]:
    told = stages(entry["text"].strip(), tuple(entry.get("recalled", ())))
    asked = "; ".join(f"*{q}*" for q in entry.get("recalled", ()))
    sizes = ", ".join(f"{stage} {count(text)}" for stage, text in told.items())
    parts = [f"#### {entry['title']}", "", f"**{entry['verdict'].capitalize()}.** {entry['judgement']}", ""]
    parts += [f"Recalled by: {asked}.", ""] * bool(asked)
    parts += ["<details>", f"<summary>Tokens: {sizes}</summary>", ""]
    before = ""
    for stage, text in told.items():
        parts += [f"{stage.capitalize()}:", "", *(["as before."] if text == before else ["````text", text, "````"]), ""]
        before = text
    return [*parts, "</details>", ""]


def written(page: str) -> str:
    """A page with the texts between their marks."""
    head, rest = page.split(MARKS[0])
    _, tail = rest.split(MARKS[1])
    return f"{head}{MARKS[0]}\n\n{section()}\n{MARKS[1]}{tail}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
