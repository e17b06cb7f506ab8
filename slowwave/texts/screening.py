"""Screening: secrets, orders to models, hidden characters and look-alike words of one text, and the text without them.

Each kind has a module of its own beside this one; here they are put together, so that a secret or an order is found under the hidden
characters that split it, and in what the hidden characters say. A finding says what and where, never the thing itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from slowwave.texts import prefilter, screened
from slowwave.texts.findings import KINDS, Detection, Kind, Severity
from slowwave.texts.hidden import hidden, payload, without
from slowwave.texts.injections import injections, may_hold
from slowwave.texts.lookalikes import lookalikes
from slowwave.texts.secrets import MAY_HOLD, PROVED, secrets
from slowwave.texts.sentences import sentences

__all__ = [
    "KINDS",
    "Detection",
    "Kind",
    "Severity",
    "counting",
    "proof",
    "redact",
    "screen",
    "screen_all",
    "unsafe",
    "without_passages",
]

_AGAIN: Final = 8
_CARRIED: Final = "hidden order"
_PAGE: Final = 40
_ORDER_REMOVED: Final = "[removed by screening]"
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_WORDS: Final = {
    "secret": "it holds a secret",
    "injection": "it speaks to a model",
    "hidden": "it holds characters that nobody sees",
    "lookalike": "it holds a word of letters that only look alike",
}


def screen(text: str) -> tuple[Detection, ...]:
    """All findings, by place; within ``each_text_once`` a text that was read is not read again. Cost: linear in the text; some 50
    microseconds for a message of 200 characters without any."""
    remembered = screened.known()
    if remembered is None:
        return _read(text)
    key = screened.key(text)
    found = remembered.get(key)
    if found is None:
        found = remembered[key] = _read(text)
    return found


def screen_all(texts: prefilter.Texts) -> Iterator[tuple[int, tuple[Detection, ...]]]:
    """(place, findings) of each text of a column that has any. Plain texts cost a few passes of RE2 over the column, the others what
    ``screen`` costs."""
    suspect = np.flatnonzero(_may_hold(texts))
    for place, text in zip(suspect.tolist(), texts.take(suspect).to_pylist(), strict=True):
        if found := screen(text):
            yield place, found


def note_plain(texts: prefilter.Texts) -> None:
    """Remember of the plain texts of a column, within ``each_text_once``, that they hold nothing. A column of a few texts is not looked
    through as a whole: who will screen many of them has all of them looked through at once."""
    remembered = screened.known()
    if remembered is not None:
        for text in texts.filter(pa.array(~_may_hold(texts))).to_pylist():
            remembered.setdefault(screened.key(text), ())


def _may_hold(texts: prefilter.Texts) -> prefilter.Flags:
    return prefilter.found(texts, *MAY_HOLD) | may_hold(texts)


def _read(text: str) -> tuple[Detection, ...]:
    unseen = hidden(text)
    if not unseen:
        found = [*secrets(text), *injections(text), *lookalikes(text)]
        return tuple(sorted(found)) if found else ()
    plain, places = without(text, [(f.start, f.end) for f in unseen])
    below = [*secrets(plain), *injections(plain), *lookalikes(plain)]
    found = [Detection(places[f.start], places[f.end - 1] + 1, f.kind, f.rule, f.severity) for f in below]
    return tuple(sorted([*unseen, *found, *_carried(text, unseen)]))


def counting(findings: Iterable[Detection]) -> tuple[Detection, ...]:
    """The findings for which a memory is acted on: not stray marks, and no look-alike words by themselves."""
    return tuple(f for f in findings if f.severity != "low" and f.kind != "lookalike")


def proof(finding: Detection) -> str:
    """Return the pattern by which a finding proves itself (``slowwave.config.decides_alone``), empty if it may be something else."""
    if finding.kind == "hidden" or finding.rule == _CARRIED:
        return "hidden characters"
    return PROVED.get(finding.rule, "") if finding.kind == "secret" else ""


def without_passages(text: str, findings: Iterable[Detection]) -> str:
    """Return a page with a marker for each secret, each hidden run and each sentence with an order; empty if it is not a page.

    A page has at least ``_PAGE`` words outside the sentences with findings, so that one line does not take the others with it. The
    result holds nothing that counts. Time: linear, for each of up to eight rounds.
    """
    found = counting(findings)
    for _ in range(_AGAIN):
        spans = _passages(text, found)
        words = len(_WORD.findall(text)) - sum(len(_WORD.findall(text[start:end])) for start, end in spans)
        if words < _PAGE:
            return ""
        orders = [Detection(start, end, "injection", "") for start, end in spans if _is_order(found, start, end)]
        text = _marked(text, _spans([*orders, *(f for f in found if f.kind in ("secret", "hidden"))]))
        found = counting(screen(text))
        if not found:
            return text
    return ""


def redact(text: str, findings: Iterable[Detection] | None = None) -> str:
    """The text with a marker for each secret and each hidden run that may carry something; stray hidden characters are left out.

    Orders and look-alikes stay: they are words. ``findings`` are those of ``screen`` when it has been asked. What only shows itself in
    the redacted text goes as well.
    """
    found = tuple(screen(text) if findings is None else findings)
    for _ in range(_AGAIN):
        spans = _spans([f for f in found if f.kind in ("secret", "hidden")])
        if not spans:
            return text
        text = _marked(text, spans)
        found = screen(text)
    return "" if any(f.kind in ("secret", "hidden") for f in found) else text


def unsafe(text: str) -> str:
    """Why a text must not be written where people and models trust it, in words without the text; empty when it may."""
    for finding in sorted(screen(text), key=lambda f: KINDS.index(f.kind)):
        if finding.severity != "low":
            return f"{_WORDS[finding.kind]} ({finding.rule})"
    return ""


def _carried(text: str, unseen: Sequence[Detection]) -> list[Detection]:
    """Orders in what hidden characters say: each run by itself, and all of one rule together."""
    found = [
        Detection(f.start, f.end, "injection", _CARRIED)
        for f in unseen
        if f.end - f.start > 3 and injections(payload(text[f.start : f.end]))
    ]
    if found:
        return found
    for rule in {f.rule for f in unseen}:
        runs = [f for f in unseen if f.rule == rule]
        if len(runs) > 1 and injections(payload("".join(text[f.start : f.end] for f in runs))):
            found.append(Detection(runs[0].start, runs[-1].end, "injection", _CARRIED))
    return found


def _spans(found: Sequence[Detection]) -> list[tuple[int, int, str]]:
    """Start, end and marker of what goes, apart from each other: secrets first, what overlaps becomes one."""
    spans: list[tuple[int, int, str]] = []
    for f in sorted(found, key=lambda f: (f.start, f.kind != "secret", -f.end)):
        marker = f"[redacted: {f.rule}]" if f.kind == "secret" or f.end - f.start > 2 else ""
        if f.kind == "injection":
            marker = _ORDER_REMOVED
        if spans and f.start < spans[-1][1]:
            start, end, first = spans[-1]
            spans[-1] = (start, max(end, f.end), first or marker)
        else:
            spans.append((f.start, f.end, marker))
    return spans


def _passages(text: str, found: Sequence[Detection]) -> list[tuple[int, int]]:
    """The sentences of lines that hold findings, apart from each other."""
    spans: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        start = at
        for sentence in sentences(line):
            begin = text.find(sentence, start, at + len(line))
            if begin < 0:  # the splitter changed white space: then the line is the passage
                begin, sentence = at, line
            start = begin + len(sentence)
            if any(f.start < start and begin < f.end for f in found):
                spans.append((begin, start))
        at += len(line)
    return spans


def _is_order(found: Sequence[Detection], start: int, end: int) -> bool:
    return any(f.kind == "injection" and f.start < end and start < f.end for f in found)


def _marked(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, marker in spans:
        parts += (text[at:start], marker)
        at = end
    return "".join((*parts, text[at:]))
