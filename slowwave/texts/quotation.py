"""Quotations: memory text where it is quoted, in evidence, findings, summaries and errors: never with what screening would redact.

Evidence is kept long after its memory was redacted, and read by people who may not read memory. What stands in a sealed plan, a report or
the ledger passes ``quotable``; what has to be cut passes ``quote``, as half a secret is known by no rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from slowwave.texts import screened

_SHORTEST: Final = 8
"""Characters of ASCII below which nothing is a secret, not even with its name."""

_LARGEST: Final = 10**11
"""Numbers beyond it are looked at like texts: a card has more digits."""

_MANY: Final = 1_000
"""Values from which looking through them as a column takes less than reading each."""

_OURS: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAMES_ONE: Final = re.compile(r"pass|pwd|secret|token|(?<![a-z])key|cred|auth(?!or)", re.IGNORECASE)

_NAMED: Final = r'(?i:pass|pwd|secret|token|key|cred|auth)[^"]*":'  # a key of which ``_NAMES_ONE`` may say so

_JSON: Final = json.JSONEncoder(ensure_ascii=False, default=str).encode

Known = dict[str, str]
"""Text → what may be quoted of it: equal texts are read once."""


def quote(text: str, longest: int) -> str:
    """The beginning of a text, at most ``longest`` characters with "…" at its end. Where nothing is cut, ``quotable`` looks at it."""
    if len(text) <= longest:
        return text
    shown = _clean(text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def quotable(value: Any, known: Known | None = None) -> Any:
    """A JSON value with a marker for each secret, and for hidden characters, in every depth, keys included; itself where there is none.

    A text whose key names it as a secret is read with its key. Time: linear in the distinct texts, each of which is read once.
    """
    return _value(value, "", {} if known is None else known)


def quotable_all(values: Sequence[Any], written: Iterable[str] | None = None) -> list[Any]:
    """What ``quotable`` gives for each of some JSON values. Many are looked through as one column of JSON, and only those read that may
    hold something: a text of it stands there as it is, beside quotation marks, unless its JSON has a backslash. ``written`` is their JSON
    where somebody needs that as well, without ASCII escapes."""
    known: Known = {}
    if len(values) < _MANY:
        return [quotable(value, known) for value in values]
    import pyarrow as pa  # which takes a while to load, as do the rules of screening

    from slowwave.texts import prefilter
    from slowwave.texts.secrets import MAY_HOLD

    column = pa.array(map(_JSON, values) if written is None else written, pa.large_string())
    suspect = prefilter.found(column, *MAY_HOLD, _NAMED, r"\\").tolist()
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
    """Whether a key names what stands under it as a secret."""
    return _NAMES_ONE.search(key) is not None


def _clean(text: str) -> str:
    if screened.is_clean(text):  # labels and headlines are those of the last night, and of the last user
        return text
    remembered = screened.known()
    found = remembered.get(screened.key(text)) if remembered else None
    if found is not None and all(f.kind not in ("secret", "hidden") for f in found):
        return text  # what is quoted was mostly screened before
    from slowwave.texts.hidden import hidden  # the rules of screening take a while to load
    from slowwave.texts.screening import redact
    from slowwave.texts.secrets import secrets

    if hidden(text) or secrets(text):
        return redact(text)
    screened.note_clean(text)
    return text


def _named(text: str, key: str) -> str:
    """The text without what is a secret because of the key that it stands under."""
    from slowwave.texts.secrets import secrets

    lead = f"{key}: "
    found = [f for f in secrets(lead + text) if f.end > len(lead)]
    return f"[redacted: {found[0].rule}]" if found else text
