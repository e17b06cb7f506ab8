"""Research: an answer to a question in Markdown, each line of it with the sources that it rests on, from what searches found.

Without a model the answer is extracts; a model's sentence counts where it names a source that it was given. Memory text is untrusted: every
line of it is flattened and escaped, and secrets are marked. Searching and asking belong to ``slowwave.recall.research_request``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from slowwave.pages.lines import escape, flat, hook
from slowwave.search.request import SearchResult
from slowwave.texts.quotation import quotable
from slowwave.texts.sections import in_line

ResearchKind = Literal["report", "briefing", "wiki-note", "proposal"]

FOLDERS: Final[Mapping[ResearchKind, str]] = {
    "report": "references/reports",
    "briefing": "references/briefings",
    "wiki-note": "wiki/concepts",
    "proposal": "inbox/proposed",
}
"""Where an artifact of each kind belongs in a corpus."""

_TYPES: Final[Mapping[ResearchKind, str]] = {
    "report": "report",
    "briefing": "briefing",
    "wiki-note": "wiki",
    "proposal": "capture",
}

EXTRACTS: Final = 3
_LINE: Final = 300  # characters of an extract or a sentence
_SENTENCES: Final = 12


@dataclass(frozen=True, slots=True)
class Sentence:
    """A line of an answer, and the numbers of its sources, from 1."""

    text: str
    sources: tuple[int, ...]


def extracted(found: Sequence[SearchResult]) -> tuple[Sentence, ...]:
    """The first lines of the best results that are no sessions and match; of all results where none is so."""
    sure = [n for n, r in enumerate(found, 1) if r.confidence != "low"]
    kept: dict[str, Sentence] = {}
    for n in sure or range(1, len(found) + 1):
        text = flat(in_line(found[n - 1].snippet))
        if text and text not in kept and len(kept) < EXTRACTS:
            kept[text] = Sentence(text, (n,))
    return tuple(kept.values())


def cited(answer: Mapping[str, Any], sources: int) -> tuple[Sentence, ...]:
    """The sentences of a model's answer that name sources which there are; others are left out."""
    sentences: list[Sentence] = []
    listed = cast("list[Any]", answer["sentences"]) if isinstance(answer.get("sentences"), list) else []
    for one in listed[:_SENTENCES]:
        if not (isinstance(one, dict) and isinstance(one.get("text"), str) and isinstance(one.get("sources"), list)):
            continue
        numbers = cast("list[Any]", one["sources"])
        named = tuple(dict.fromkeys(n for n in numbers if type(n) is int and 1 <= n <= sources))
        if named and one["text"].strip():
            sentences.append(Sentence(cast("str", one["text"]), named))
    return tuple(sentences)


def body(question: str, answer: Sequence[Sentence], found: Sequence[SearchResult]) -> str:
    """The page: question, answer, evidence, and evidence from sessions where there is some."""
    lines = ["## Question", "", hook(question, 2_000), "", "## Answer", ""]
    lines += [f"- {_shown(said.text)} {' '.join(f'[{n}]' for n in said.sources)}" for said in answer]
    lines += [] if answer else ["Nothing that is remembered answers it."]
    for title, spoken in (("Evidence", False), ("Session evidence", True)):
        of = [(n, r) for n, r in enumerate(found, 1) if (r.evidence_class == "session") is spoken]
        if of:
            lines += ["", f"## {title}", "", *(_source(n, result) for n, result in of)]
    return "\n".join(lines) + "\n"


def file_name(day: str, question: str) -> str:
    """A name that tells the day and the question, of ASCII letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", question).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].rstrip("-")
    return f"{day}-{slug or 'question'}.md"


def page_text(title: str, kind: ResearchKind, day: str, sources: Sequence[str], text: str) -> str:
    """A page with the frontmatter of what was generated and nobody has checked."""
    fields = {"title": title, "type": _TYPES[kind], "status": "raw", "source_kind": "generated", "created": day}
    head = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())
    listed = f"sources: {json.dumps(list(sources), ensure_ascii=False)}\n"
    return f"---\n{head}{listed}---\n\n{text}"


def _source(number: int, result: SearchResult) -> str:
    where = f"{result.path}:{result.lines}" if result.lines else result.path
    stale = " May be out of date." if result.stale_warning else ""
    return f"{number}. {escape(flat(where))} ({result.evidence_class}, {result.confidence}): {_shown(result.snippet)}{stale}"


def _shown(text: str) -> str:
    return hook(str(quotable(in_line(text))), _LINE)
