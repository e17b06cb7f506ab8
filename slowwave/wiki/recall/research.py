"""Research: an answer to a question as a page, in which each line has its sources."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from slowwave.models.panel import Searcher
from slowwave.search.model_help import helper
from slowwave.search.recall_events import Answered, Recalled
from slowwave.search.request import CorpusChoice, KnownNamespace, NotBlank, SearchRequest, SearchResult
from slowwave.store.logins import Connection
from slowwave.store.namespaces import namespace_id
from slowwave.store.settings import Settings
from slowwave.text.markdown import in_line, plain_line
from slowwave.text.quotation import quotable
from slowwave.wiki.pages.lines import escape, flat, hook

# Research: an answer to a question in Markdown, in which each line has its sources, from the results of searches.
#
# Without a model the answer is extracts. A model's sentence counts if it names a source that the model was given. Memory text is untrusted:
# every line of it is flattened and escaped, and secrets are marked.

ResearchKind = Literal["report", "briefing", "wiki-note", "proposal"]

FOLDERS: Final[Mapping[ResearchKind, str]] = {
    "report": "references/reports",
    "briefing": "references/briefings",
    "wiki-note": "wiki/concepts",
    "proposal": "inbox/proposed",
}
"""The folder of a corpus for each kind of artifact."""

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
    """Return the first lines of the best results.

    Results of low confidence, such as sessions, are left out unless there are no others.
    """
    sure = [n for n, r in enumerate(found, 1) if r.confidence != "low"]
    kept: dict[str, Sentence] = {}
    for n in sure or range(1, len(found) + 1):
        text = flat(plain_line(in_line(found[n - 1].snippet)))
        if text and text not in kept and len(kept) < EXTRACTS:
            kept[text] = Sentence(text, (n,))
    return tuple(kept.values())


def cited(answer: Mapping[str, Any], sources: int) -> tuple[Sentence, ...]:
    """Return the sentences of a model's answer that cite existing sources; the others are left out."""
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
    """Format the page: question, answer, evidence, and evidence from sessions if there is any."""
    lines = ["## Question", "", hook(question, 2_000), "", "## Answer", ""]
    lines += [f"- {_shown(sentence.text)} {' '.join(f'[{n}]' for n in sentence.sources)}" for sentence in answer]
    lines += [] if answer else ["Nothing that is remembered answers it."]
    for title, spoken in (("Evidence", False), ("Session evidence", True)):
        of = [(n, r) for n, r in enumerate(found, 1) if (r.evidence_class == "session") is spoken]
        if of:
            lines += ["", f"## {title}", "", *(_source(n, result) for n, result in of)]
    return "\n".join(lines) + "\n"


def file_name(day: str, question: str) -> str:
    """Return a file name made of the day and the question, in ASCII letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", question).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].rstrip("-")
    return f"{day}-{slug or 'question'}.md"


def page_text(title: str, kind: ResearchKind, day: str, sources: Sequence[str], text: str) -> str:
    """Format a page with frontmatter that marks it as generated and not checked by anyone."""
    fields = {"title": title, "type": _TYPES[kind], "status": "raw", "source_kind": "generated", "created": day}
    head = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())
    listed = f"sources: {json.dumps(list(sources), ensure_ascii=False)}\n"
    return f"---\n{head}{listed}---\n\n{text}"


def _source(number: int, result: SearchResult) -> str:
    where = f"{result.path}:{result.lines}" if result.lines else result.path
    stale = " May be out of date." if result.stale_warning else ""
    return f"{number}. {escape(flat(where))} ({result.evidence_class}, {result.confidence}): {_shown(result.snippet)}{stale}"


def _shown(text: str) -> str:
    return hook(str(quotable(plain_line(in_line(text)))), _LINE)


# The request and the response of research, and the steps in between: a search, an answer with its sources, a page.

_TASK: Final = (
    "Answer the question from the sources alone, in at most eight short sentences. Each sentence names the numbers of the sources that "
    "say so. Where the sources disagree, say so. Leave out what no source says; give no sentence where none answers."
)
_ANSWER: Final = {
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


class ResearchRequest(BaseModel):
    """A question to be answered as a page."""

    model_config = ConfigDict(extra="forbid")

    question: NotBlank = Field(min_length=1, max_length=2_000)
    kind: ResearchKind = Field(default="report", description="What the page is to be; where it belongs follows.")
    corpus: CorpusChoice = "all"
    limit: int = Field(default=8, ge=1, le=20, description="How many sources at most.")
    save: bool = Field(default=False, description="Keep the page as well; it takes a token with the scope write.")


class ResearchSource(BaseModel):
    """A source of a sentence; ``number`` is the number by which it is cited."""

    number: int
    id: str
    path: str
    lines: str | None
    evidence_class: str
    confidence: str


class ResearchPage(BaseModel):
    """The page: ``body`` is Markdown, ``page`` is the same with frontmatter, and ``target`` is its path in a corpus."""

    kind: ResearchKind
    title: str
    question: str
    body: str
    page: str
    sources: tuple[str, ...]
    target: str
    status: Literal["raw"] = "raw"


class ResearchArtifact(BaseModel):
    """The page that was stored."""

    path: str
    kind: ResearchKind
    bytes_written: int


class ResearchResponse(BaseModel):
    """The answer to a research question.

    ``synthesis`` says whether a model worded the answer; otherwise it consists of extracts. ``artifact`` is the page in which it was
    stored (``slowwave.wiki.corpus.page_write``).
    """

    artifact: ResearchArtifact | None = None
    research: ResearchPage
    sources: tuple[ResearchSource, ...]
    synthesis: bool = False
    warnings: tuple[str, ...] = ()


def research(
    connection: Connection, namespace: str, request: ResearchRequest, settings: Settings, today: date | None = None
) -> Answered[ResearchResponse]:
    """Return an answer with its sources, which is stored nowhere, and the search that it is based on.

    Raises ``Refused`` if the namespace does not exist.
    """
    from slowwave.search.search import search_on  # NumPy and the embedder: a server starts without them

    today = today or datetime.now(UTC).date()
    asked = SearchRequest(query=request.question, k=request.limit, corpus=request.corpus, include_content=False)
    found = search_on(connection, namespace, asked, today=today)
    known = KnownNamespace(namespace_id(connection, namespace), settings)
    answer, synthesis, warning = _answer(connection, known, request.question, found.results)
    title = " ".join(request.question.split())[:120]
    text = body(request.question, answer, found.results)
    paths = tuple(dict.fromkeys(result.path for result in found.results))
    page = ResearchPage(
        kind=request.kind,
        title=title,
        question=request.question,
        body=text,
        page=page_text(title, request.kind, today.isoformat(), paths, text),
        sources=paths,
        target=f"{FOLDERS[request.kind]}/{file_name(today.isoformat(), title)}",
    )
    sources = tuple(
        ResearchSource(
            number=n,
            **result.model_dump(include={"id", "path", "lines", "evidence_class", "confidence"}),
        )
        for n, result in enumerate(found.results, 1)
    )
    warnings = (*found.warnings, *filter(None, (warning,)))
    response = ResearchResponse(artifact=None, research=page, sources=sources, synthesis=synthesis, warnings=warnings)
    return Answered(response, (Recalled.of_search(found),))


def _answer(
    connection: Connection, known: KnownNamespace, question: str, found: tuple[SearchResult, ...]
) -> tuple[tuple[Sentence, ...], bool, str]:
    """Return the sentences, whether a model worded them, and what went wrong."""
    searcher, problem = helper(connection, known)
    if searcher is None or "research" not in searcher.steps or not found:
        return extracted(found), False, problem
    worded, warning = _worded(searcher, question, found)
    return (worded, True, "") if worded else (extracted(found), False, warning)


def _worded(searcher: Searcher, question: str, found: tuple[SearchResult, ...]) -> tuple[tuple[Sentence, ...], str]:
    sources = [
        {"number": n, "path": result.path, "text": str(quotable(result.snippet))} for n, result in enumerate(found, 1)
    ]
    helped = searcher.ask("research", _TASK, {"question": question, "sources": sources}, _ANSWER)
    sentences = cited(helped.answer, len(found)) if helped.answer else ()
    return sentences, helped.warning or "The model named no source for what it said, so the answer is extracts."
