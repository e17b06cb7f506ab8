"""Quote memory text in evidence, findings and errors without what screening redacts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from slowwave.text.screened import remembered_texts, text_key

# Quotations of memory text in evidence, findings, summaries and errors, without anything that screening would redact.
#
# Evidence is kept long after its memory was redacted, and people who may not read memory can read it. Everything in a sealed plan, a report
# or the ledger passes through ``quotable``. Text that has to be cut passes through ``quote``, because no rule detects half a secret.

_SHORTEST: Final = 8
"""Minimum length of a secret in ASCII characters, even with its name."""

_LARGEST: Final = 10**11
"""Numbers of this size and above are screened like texts, because card numbers have more digits."""

_MANY: Final = 1_000
"""Number of values from which screening them as a column is faster than one by one."""

LONGEST_REASON: Final = 500
"""The most characters of a reason that are stored."""

_READ_REASON: Final = 20_000  # characters of it that are checked

_OURS: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAMES_ONE: Final = re.compile(r"pass|pwd|secret|token|(?<![a-z])key|cred|auth(?!or)", re.IGNORECASE)

_NAMED: Final = r'(?i:pass|pwd|secret|token|key|cred|auth)[^"]*":'  # a key of which ``_NAMES_ONE`` may hold

_JSON: Final = json.JSONEncoder(ensure_ascii=False, default=str).encode

Known = dict[str, str]
"""Text → its quotable form; equal texts are screened once."""


def quote(text: str, longest: int) -> str:
    """Shorten a text to at most ``longest`` characters, with "…" at its end if it was cut.

    A longer text is screened before it is cut. A text that is short enough is returned unchanged, for ``quotable`` to check.
    """
    if len(text) <= longest:
        return text
    shown = _clean(text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def quote_change(before: str, after: str, longest: int) -> tuple[str, str]:
    """Shorten two versions of a text to the part in which they differ and the words around it, each to at most ``longest`` characters.

    Both are cut at the same words, so that a comparison of the results shows no difference that the texts do not have. "…" marks a cut.
    Longer texts are screened before they are cut, as by ``quote``.
    """
    if len(before) <= longest and len(after) <= longest:
        return before, after
    old, new = _clean(before), _clean(after)
    shorter = min(len(old), len(new))
    same = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    tail = next((n for n in range(shorter - same) if old[-1 - n] != new[-1 - n]), shorter - same)
    around = max(0, longest - 2 - (max(len(old), len(new)) - same - tail)) // 2
    begin, stop = max(0, same - around), len(old) - max(0, tail - around)
    if begin:
        begin = max(begin, old.find(" ", begin, same) + 1)
    if stop < len(old):
        stop = max(old.rfind(" ", len(old) - tail, stop), 0) or stop
    end = len(old) - stop
    return _part(old, begin, end, longest), _part(new, begin, end, longest)


def _part(text: str, begin: int, end: int, longest: int) -> str:
    """Return a text without its first ``begin`` and its last ``end`` characters."""
    part = f"{'…' if begin else ''}{text[begin : len(text) - end]}{'…' if end else ''}"
    return part if len(part) <= longest else f"{part[: longest - 1]}…"


def plain_reason(text: str) -> str:
    """Clean a reason for storage: one line without control and hidden characters, secrets marked, cut at 500 characters."""
    from slowwave.text.screening import redact  # its rules take a moment to load

    line = redact(" ".join("".join(c if c.isprintable() else " " for c in text[:_READ_REASON]).split()))
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 1].rstrip()}…"


def quotable(value: Any, known: Known | None = None) -> Any:
    """Return a JSON value with markers for secrets and hidden characters at every depth, including keys.

    A value without any is returned itself. A text whose key names it as a secret is checked together with its key. Time: linear in the
    distinct texts, each of which is checked once.
    """
    return _value(value, "", {} if known is None else known)


def quotable_all(values: Sequence[Any], written: Iterable[str] | None = None) -> list[Any]:
    """Return the result of ``quotable`` for each of some JSON values.

    Many values are searched as one column of JSON, and only those that may hold a finding are checked one by one. In that JSON a text
    appears unchanged, next to quotation marks, unless the JSON has a backslash. ``written`` is the JSON of the values without ASCII
    escapes, if the caller has it already.
    """
    known: Known = {}
    if len(values) < _MANY:
        return [quotable(value, known) for value in values]
    import pyarrow as pa  # pyarrow takes a while to load, and so do the rules of screening

    from slowwave.text import prefilter
    from slowwave.text.secrets import secret_marks

    column = pa.array(map(_JSON, values) if written is None else written, pa.large_string())
    suspect = prefilter.found(column, *secret_marks(), _NAMED, r"\\").tolist()
    return [quotable(value, known) if may else value for value, may in zip(values, suspect, strict=True)]


def _value(value: Any, key: str, known: Known) -> Any:
    if isinstance(value, str):
        return _text(value, key, known)
    if value is None or isinstance(value, (float, bool)):
        return value
    if isinstance(value, Mapping):
        pairs = {_text(str(k), "", known): _value(v, str(k), known) for k, v in value.items()}
        same = len(pairs) == len(value) and all(k in pairs and pairs[k] is v for k, v in value.items())
        return value if same else pairs
    if isinstance(value, (list, tuple)):
        parts = [_value(part, key, known) for part in value]
        if all(a is b for a, b in zip(parts, value, strict=True)):
            return value
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, int) and abs(value) > _LARGEST:
        text = str(value)
        return value if _text(text, key, known) == text else _text(text, key, known)
    return value


def _text(text: str, key: str, known: Known) -> str:
    if len(text) < _SHORTEST and text.isascii() and not _names_one(key):
        return text
    clean = known.get(text)
    if clean is None:
        if _OURS.fullmatch(text):
            return text
        clean = known[text] = _clean(text)
    if clean == text and _names_one(key):
        clean = _named(text, key)
    return text if clean == text else clean


@lru_cache(1_024)  # evidence has few keys
def _names_one(key: str) -> bool:
    """Return whether a key names its value as a secret."""
    return _NAMES_ONE.search(key) is not None


def _clean(text: str) -> str:
    remembered = remembered_texts()
    if remembered is not None:
        key = text_key(text)
        if key in remembered.clean:  # labels and headlines repeat from night to night and from user to user
            return text
        found = remembered.findings.get(key)
        if found is not None and all(f.kind not in ("secret", "hidden") for f in found):
            return text  # most quoted texts were screened before
    from slowwave.text.findings import hidden  # the rules of screening take a while to load
    from slowwave.text.secrets import secrets

    if hidden(text) or secrets(text):
        from slowwave.text.screening import redact  # with those of orders to a model

        return redact(text)
    if remembered is not None:
        remembered.note_clean(text)
    return text


def _named(text: str, key: str) -> str:
    """Return a marker for a text that is a secret because of its key, otherwise the text."""
    from slowwave.text.secrets import secrets

    lead = f"{key}: "
    found = [f for f in secrets(lead + text) if f.end > len(lead)]
    return f"[redacted: {found[0].rule}]" if found else text
