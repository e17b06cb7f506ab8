"""Orders to a model by what stands together in a sentence: what only who serves a user has in hand, sent to an address; rules of a
model, called void here; a part that knows no limits, given to a machine; a check that is waived, to be kept in mind.

Each sign is a pattern over folded text, harmless by itself; ``order_signs.toml`` holds them and says which together are an order, in one
sentence or in two that follow each other. Fixed phrases and rows of classes are ``slowwave.texts.injections``'.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from slowwave.texts import prefilter
from slowwave.texts.findings import Detection, Severity
from slowwave.texts.folding import folded

_FILE: Final = tomllib.loads(Path(__file__).with_name("order_signs.toml").read_text(encoding="utf-8"))
_END: Final = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s)|[。！？]+|\n+")
_LONGEST: Final = 600
"""Characters of a sentence that are read: a longer one is a table or a dump."""


def _pattern(written: str) -> str:
    for name, words in _FILE["words"].items():
        written = written.replace(f"{{{name}}}", words)
    for name, words in _FILE["words"].items():
        written = written.replace(f"{{{name}}}", words)
    return written if written.isascii() else "".join(c if c.isascii() else folded(c)[0] for c in written)


PATTERNS: Final = {name: _pattern(written) for name, written in _FILE["signs"].items()}
_SIGNS: Final = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}


class _Rule(NamedTuple):
    """Signs that must ``all`` stand in a sentence, or ``within`` so many that follow each
    other, and those of which ``none`` may; ``hints`` are literals of which such a text holds one, where there are any."""

    rule: str
    severity: Severity
    all: tuple[str, ...]
    none: tuple[str, ...]
    within: int
    hints: tuple[str, ...]

    def may_stand(self, small: str) -> bool:
        """Whether a folded text holds a hint, and somewhere each sign."""
        if self.hints and not any([hint in small for hint in self.hints]):  # noqa: C419 - a list is faster for so few
            return False
        return all(_SIGNS[sign].search(small) for sign in self.all)


def _rule(row: dict[str, Any]) -> _Rule:
    return _Rule(
        row["rule"],
        row.get("severity", "high"),
        tuple(row["all"]),
        tuple(row.get("none", ())),
        row.get("within", 1),
        tuple(row.get("hints", ())),
    )


_RULES: Final = tuple(map(_rule, _FILE["rules"]))
MAY_HOLD: Final = tuple(
    f"(?i:{prefilter.relaxed(PATTERNS[sign])})" for sign in dict.fromkeys(rule.all[0] for rule in _RULES)
)
"""Patterns of RE2 of which a text with an order matches one: each rule's first sign. Apart, they cost a third of one alternation."""


def orders(small: str) -> Iterator[Detection]:
    """Each rule's first sentence of a folded text in which its signs stand together. Cost: linear in the text."""
    rules = [rule for rule in _RULES if rule.may_stand(small)]
    if not rules:
        return
    sentences = list(_sentences(small))
    for rule in rules:
        for n, (start, end) in enumerate(sentences):
            if rule.within > 1:
                end = min(sentences[min(n + rule.within, len(sentences)) - 1][1], start + 2 * _LONGEST)
            said = small[start:end]
            if all(_SIGNS[sign].search(said) for sign in rule.all) and not any(
                _SIGNS[sign].search(said) for sign in rule.none
            ):
                yield Detection(start, end, "injection", rule.rule, rule.severity)
                break


def _sentences(small: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence with a letter in it."""
    start = 0
    for match in _END.finditer(small):
        if small[start : match.end()].strip():
            yield start, min(match.end(), start + _LONGEST)
        start = match.end()
    if small[start:].strip():
        yield start, min(len(small), start + _LONGEST)
