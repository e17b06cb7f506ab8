"""Templates: what a browser is sent, with every value escaped.

Names and texts come from memory and may be written to deceive: besides HTML, characters that reorder or hide text are shown by their
number, and what is longer than a person reads is cut, with what is left out said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from slowwave.texts.hidden import hidden

LONGEST: Final = 4_000
"""Characters of one text that are shown."""

_REORDERING: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Embeddings, overrides and isolates: a name has no business with one, in whatever script."""


def page(template: str, values: Mapping[str, object], status: int = 200) -> HTMLResponse:
    """A template as an answer. A value that it names and that is not there is an error."""
    return HTMLResponse(_environment().get_template(template).render(values), status)


def fragment(html: str) -> HTMLResponse:
    """A part of a page, that a template made, as an answer."""
    return HTMLResponse(html)


def rendered(template: str, values: Mapping[str, object]) -> str:
    """A template as HTML."""
    return _environment().get_template(template).render(values)


def shown(text: object, longest: int = LONGEST) -> Markup:
    """A text of memory as HTML: escaped, hidden characters as ``U+202E``, and set apart so that its direction stays its own."""
    whole = str(text)
    return Markup("<bdi>{}</bdi>").format(visible(whole[:longest])) + left_out(len(whole) - longest)


def left_out(characters: int) -> Markup:
    """That so many characters more are there; empty where none are."""
    if characters <= 0:
        return Markup("")
    return Markup(' <span class="cut">… {:,} more characters</span>').format(characters)


def visible(text: str) -> Markup:
    """A text as HTML, its hidden and reordering characters by number."""
    found = [(run.start, run.end) for run in hidden(text)] + [m.span() for m in _REORDERING.finditer(text)]
    pieces: list[Markup] = []
    at = 0
    for start, end in sorted(found):
        if start >= at:
            pieces += [escape(text[at:start]), _numbers(text[start:end])]
            at = end
    return Markup("").join([*pieces, escape(text[at:])])


def _numbers(run: str) -> Markup:
    codes = " ".join(f"U+{ord(c):04X}" for c in run[:4]) + (" …" if len(run) > 4 else "")
    return Markup('<span class="hidden-character" title="hidden characters">{}</span>').format(codes)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("slowwave.reviewing", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shown"] = shown
    return made
