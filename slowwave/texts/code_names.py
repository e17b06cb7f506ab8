"""Names in code: which stretch between backticks names a thing, and which is a value, a formula or a sentence.

Where code stands belongs to ``slowwave.texts.code_spans``; names in prose belong to ``slowwave.texts.extraction``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 60
"""Characters; longer code is a line of a program."""

_NAME: Final = re.compile(r"(?=\S*(?:[\d_./()-]|[a-z][A-Z]))[\w.$@#~/:()-]{3,60}")
"""One word, by a sign, a figure or a capital none of English."""
_VALUE: Final = re.compile(r"0[xXbBoO][\da-fA-F_]*|[vV]?[\d.,_:/()+-]+(?:[a-z]{1,2}\d*)?|[\da-fA-F]{7,}|[^\w]*")
"""A number, a version, a date, an address in hexadecimal."""
_LETTERS: Final = re.compile(r"[^\W\d_]")
_LEAST: Final = 3
"""Letters; a symbol of a formula has one or two."""
_COMMAND: Final = re.compile(r"[a-z][a-z0-9_.-]*(?: -{0,2}(?=[^ ]*\w)[\w./:@][\w./:@=-]*){1,3}")
_KEY: Final = re.compile(r"^[ \t]*(?:- +)?[\"']?[A-Za-z_][\w-]*[\"']?:(?=[ \t]|$)", re.MULTILINE)
_HEAD: Final = re.compile(r"\ufeff?---[ \t]*\n.*?^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)


def is_code_name(code: str) -> bool:
    """Whether code names something that another text may name too: an identifier, a path, a command of up to four words."""
    if (
        len(code) > LONGEST
        or code[0] == code[-1] == ":"
        or len(_LETTERS.findall(code)) < _LEAST
        or _VALUE.fullmatch(code)
    ):
        return False
    return bool(_NAME.fullmatch(code) or _COMMAND.fullmatch(code))


_FILE: Final = re.compile(
    r"(?<![\w./~-])[\w-]{1,64}\.(?:md|rst|txt|py|ipynb|json|jsonl|toml|ya?ml|csv|tsv|sql|sh|cfg|ini|html|css|tsx?|rs|go|java|lock|log)(?![\w/.-])"
)


def file_names(text: str) -> Iterator[tuple[int, int]]:
    """Spans of files that are named without a folder."""
    return (match.span() for match in _FILE.finditer(text))


def metadata_keys(text: str) -> list[tuple[int, int]]:
    """Spans of the keys of a text's YAML head: they are the form's, not what the text speaks of. Linear in the text."""
    head = _HEAD.match(text)
    return [match.span() for match in _KEY.finditer(text, 0, head.end())] if head else []
