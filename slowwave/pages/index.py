"""MEMORY.md: the index of what is promoted, one line a memory, each with the link to its source (nexo 3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from slowwave.config.settings import Settings
from slowwave.pages.lines import LINE, flat, hook, source
from slowwave.pages.page import MEMORY, Rendered, body_of, fits, input_hash
from slowwave.pages.promoted import Promoted, in_brackets, promoted
from slowwave.pages.screened import PageScreen
from slowwave.snapshots.snapshot import Snapshot

TEMPLATE: Final = 1
"""Version of the words around the entries: another one renders every page again."""

_TITLE: Final = "Memory"
_OPENING: Final = (
    f"# {_TITLE}",
    "",
    "What recall has proved useful. Slowwave writes what stands between the two marks; the rest of the file is yours.",
)
_HEADING: Final = 80


def memory_index(snapshot: Snapshot, settings: Settings) -> Rendered:
    """The index of a namespace: the best promoted memories within ``compile_pages.max_lines`` and ``compile_pages.max_bytes``.

    They are grouped by subject where one has several, else by kind. The same promotions of the same words give the same page,
    whenever it is rendered. Cost: that of ``promoted``, and a screening of every memory that is shown or left out.
    """
    screen = PageScreen()
    limits = settings.operations.compile_pages.max_lines, settings.operations.compile_pages.max_bytes
    every = promoted(snapshot)
    safe: list[Promoted] = []
    for n, memory in enumerate(every):
        if len(safe) == limits[0]:
            omitted = len(every) - n
            break
        if screen.passes(memory.memory, memory.text):
            safe.append(memory)
    else:
        omitted = 0
    shown = safe
    body = body_of(_lines(shown, screen, omitted))
    while shown and not fits(body, *limits):
        shown = shown[: len(shown) - max(1, (body.count("\n") + 1 - limits[0]) // 2)]
        body = body_of(_lines(shown, screen, omitted + len(safe) - len(shown)))
    omitted += len(safe) - len(shown)
    inputs = [[m.memory, _words(m, screen), m.score, m.hits, m.days] for m in shown]
    return Rendered(
        path=MEMORY,
        title=_TITLE,
        body=body,
        input_hash=input_hash(TEMPLATE, snapshot.namespace_id, inputs, omitted, limits if omitted else None),
        entries=len(shown),
        sources=tuple(m.memory for m in shown),
        unsafe=tuple(sorted(screen.refused)),
        omitted=omitted,
    )


def _words(memory: Promoted, screen: PageScreen) -> list[str]:
    return [_line(memory), _subject(memory, screen), memory.kind]


def _lines(shown: Sequence[Promoted], screen: PageScreen, omitted: int) -> list[str]:
    if not shown:
        return []
    subjects = Counter(_subject(m, screen) for m in shown)
    groups: dict[str, list[str]] = {}
    for memory in shown:
        subject = _subject(memory, screen)
        named = bool(subject) and subjects[subject] > 1
        heading = hook(subject, _HEADING) if named else _kind(memory, screen)
        groups.setdefault(heading, []).append(_line(memory))
    lines = list(_OPENING)
    for heading, entries in groups.items():
        lines += ["", f"## {heading}", *entries]
    if omitted:
        lines += ["", f"_{omitted:,} more are promoted and not shown: the index has reached its limit._"]
    return lines


def _line(memory: Promoted) -> str:
    end = f"{in_brackets(memory.score, memory.hits, memory.days)} {source(memory.memory)}"
    return f"- {hook(memory.text, LINE - 2 - len(end))}{end}"


def _subject(memory: Promoted, screen: PageScreen) -> str:
    subject = flat(memory.subject)
    return subject if subject and screen.passes("", subject) else ""


def _kind(memory: Promoted, screen: PageScreen) -> str:
    kind = flat(memory.kind)
    return hook(kind.capitalize(), _HEADING) if kind and screen.passes("", kind) else "Memories"
