"""``python -m benchmarks.shortening FOLDER [--half 0|1]``: what texts lose in their stages of decay, and what harm is done to what stays.

The texts are those of FOLDER: sections of documents, notes, tickets, agents' prompts, days of conversations; half of them by the hash of
their source, 1 (never looked at while the rules were written) unless told. Harm is counted by rules of this module alone, which know
nothing of those that shorten: they look at lines, first words and what stood before a sentence in the whole text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from slowwave.operations.options import DecayTransitionOptions
from slowwave.operations.scoring import STAGES
from slowwave.store.settings import Settings
from slowwave.text.sentences import sentences
from slowwave.text.shortening import shorten
from slowwave.text.specifics import specifics, unsaid
from slowwave.text.tokens import count

SHORTEST: Final = 600  # characters of a text that is worth shortening
LONGEST: Final = 6_000

_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|[a-z][.)])\s+\S")
_SPEAKER: Final = re.compile(r"([A-Z]\w{1,15}):\s+(?=\S)")
_FENCE: Final = re.compile(r"\s*```")
_HEADING: Final = re.compile(r"(#{1,6})\s")
_TIMES: Final = r"(?! (?:week|morning|year|month|time|eip)\b)"
_THINGS: Final = re.compile(
    rf"[\"'*_]*(?:it|its|they|them|their|this|that|these|those|such)(?:'s|'re|'ve)?\b{_TIMES}", re.IGNORECASE
)
_PERSONS: Final = re.compile(r"[\"'*_]*(?:he|she|his|her|him)(?:'s|'d)?\b", re.IGNORECASE)
_NAMED: Final = re.compile(r"\b(?:Mr|Mrs|Dr|[A-Z][a-z]+)\b")
_WITHIN: Final = re.compile(
    r"(?:if|when|because|as|since|once|in|on|with|for|from|by|to|of|i|we|you)(?: \w+){0,3} "
    rf"(?:this|these|those|such){_TIMES} \w",
    re.IGNORECASE,
)
_FOLLOWS: Final = re.compile(
    r"[\"'*_]*(?:therefore|thus|hence|consequently|as a result|so,|for this reason|because of (?:this|that)|further,|furthermore|moreover|"
    r"also,|additionally|in addition|otherwise|then,|instead|in (?:this|that|such) case|for example|for instance|"
    r"the (?:reason|solution|result) |but|however|except|unless (?:so|this|that)|nevertheless|and|or)\b",
    re.IGNORECASE,
)
_TURNS: Final = re.compile(
    r"[\"'*_]*(?:but|however|except|nevertheless|(?:it|this|that|they) (?:was|is|are|were|does|do|did)(?: not|n't)|"
    r"(?:that|this|it) (?:was|is) wrong|not |no longer|actually|instead)\b",
    re.IGNORECASE,
)
_REPLIES: Final = re.compile(
    r"(?:yes|no|yeah|sure|of course|exactly|definitely|i do|i don't|not really)\b", re.IGNORECASE
)

_ASKED: Final = 3  # words
_SHORTEST_WORD: Final = 5


@dataclass(frozen=True, slots=True)
class Sample:
    """A text of a folder; ``half`` 0 was looked at while rules were written, 1 was not."""

    kind: str
    name: str
    text: str

    @property
    def source(self) -> str:
        """The document that the text is a section of, else its name."""
        return self.name.split("#")[0]

    @property
    def half(self) -> int:
        """By the hash of where it is from: all sections of a document are of one half."""
        return hashlib.sha256(self.source.encode()).digest()[0] % 2


def samples(folder: Path) -> Iterator[Sample]:
    """The texts of a folder that are long enough."""
    for path in sorted((folder / "eips_md").glob("*.md")):
        body = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(), flags=re.DOTALL)
        for section in re.split(r"(?m)^(?=## )", body):
            head = section.split("\n", 1)[0]
            if "Copyright" not in head:
                yield from _long("document", f"{path.name}{head}", section)
    for path in sorted((folder / "dory_sample").rglob("*.md")):
        yield from _long("note", path.name, path.read_text())
    for path in sorted((folder / "letta_af").glob("*.af")):
        for text in dict.fromkeys(_strings(json.loads(path.read_text()))):
            yield from _long("prompt", text[:200], text)
    for line in _lines(folder / "khora_examples" / "support_tickets.jsonl"):
        yield from _long("ticket", line["content"], line["content"])
    days: dict[str, list[str]] = defaultdict(list)
    for line in _lines(folder / "memorybank" / "messages.jsonl"):
        days[f"{line['namespace']} {line['created_at'][:10]}"].append(f"{line['role'].capitalize()}: {line['content']}")
    for name, turns in days.items():
        yield from _long("conversation", name, "\n".join(turns))


def _long(kind: str, name: str, text: str) -> Iterator[Sample]:
    if SHORTEST <= len(text.strip()) <= LONGEST:
        yield Sample(kind, name, text.strip())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from map(json.loads, path.read_text().splitlines())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _strings(part)
    elif isinstance(value, str):
        yield value


def harms(before: str, after: str) -> Counter[str]:
    """Class of harm → how often it is done to ``after``, which was made of ``before``."""
    found: Counter[str] = Counter()
    told, left = _told(before), _told(after)
    stands = {s for s, _ in left}
    whole = _squeezed(before)
    place: dict[str, int] = {}
    for k, (s, _) in enumerate(told):
        place.setdefault(s, k)
    for n, (s, speaker) in enumerate(left):
        k = place.get(s, -1)
        if k < 0:
            found["half a sentence" if s in whole else "no sentence of the text"] += 1
            continue
        previous, behind = told[k - 1][0] if k else "", told[k + 1][0] if k + 1 < len(told) else ""
        gone = bool(previous) and previous not in stands
        if gone and (_THINGS.match(s) or _WITHIN.match(s)) and not _same(told, k, stands):
            found["a pronoun without its subject"] += 1
        if gone and _PERSONS.match(s) and not any(_NAMED.search(x[1:]) for x, _ in left[max(0, n - 6) : n]):
            found["a pronoun without its subject"] += 1
        if gone and _FOLLOWS.match(s):
            found["a consequence without its cause"] += 1
        if behind and behind not in stands and _TURNS.match(behind):
            found["a statement without what turns it"] += 1
        if speaker and gone and _REPLIES.match(s) and told[k - 1][1] != speaker:
            found["an answer without its question"] += 1
        if speaker and s.endswith("?") and behind and behind not in stands and told[k + 1][1] != speaker:
            found["a question without its answer"] += 1
    found["a heading over nothing"] += _empty_headings(after) - min(_empty_headings(before), _empty_headings(after))
    found["broken Markdown"] += sum(bool(_FENCE.match(x)) for x in after.splitlines()) % 2 and not (
        sum(bool(_FENCE.match(x)) for x in before.splitlines()) % 2
    )
    found["a list that reads as whole"] += _cut_lists(before, after)
    return +found


def _told(text: str) -> list[tuple[str, str]]:
    """(sentence, speaker) of the prose and turns of a text, in order."""
    found: list[tuple[str, str]] = []
    run: list[str] = []
    speaker, fenced = "", False

    def close() -> None:
        found.extend((_squeezed(s), speaker) for s in sentences(" ".join(run)))
        run.clear()

    for line in text.splitlines():
        said = _SPEAKER.match(line)
        if _FENCE.match(line):
            fenced = not fenced
        plain = bool(line.strip()) and not fenced and not _FENCE.match(line) and not _ITEM.match(line)
        if not plain or line.lstrip()[:1] in "|>#" or line[:4] == "    " or said:
            close()
            speaker = ""
        if said:
            speaker = said[1]
            run.append(line[said.end() :])
            close()
        elif plain and line.lstrip()[:1] not in "|>#" and line[:4] != "    ":
            run.append(line.strip())
    close()
    return [(s, who) for s, who in found if s]


def _same(told: Sequence[tuple[str, str]], place: int, stands: set[str]) -> bool:
    """Whether sentences before begin with a pronoun too, up to one that stands."""
    k = place - 1
    while k >= 0 and told[k][0] not in stands and _THINGS.match(told[k][0]):
        k -= 1
    return k >= 0 and told[k][0] in stands


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _empty_headings(text: str) -> int:
    lines = [line for line in text.splitlines() if line.strip()]
    levels = [len(m[1]) if (m := _HEADING.match(line)) else 0 for line in lines]
    return sum(bool(level) and (k + 1 == len(levels) or 0 < levels[k + 1] <= level) for k, level in enumerate(levels))


def _cut_lists(before: str, after: str) -> int:
    """Lists of which some items are gone and some are there, with no line that says so."""
    kept = {_squeezed(line) for line in after.splitlines()}
    cut = 0
    for block in re.split(r"\n\s*\n", before):
        items = [_squeezed(line) for line in block.splitlines() if _ITEM.match(line) or line.lstrip()[:1] == "|"]
        there = [i in kept for i in items]
        if any(there) and not all(there):
            cut += not any("…" in line for line in after.splitlines())
    return cut


def questions(text: str) -> list[tuple[str, str]]:
    """(question, the sentence that answers it): two sentences drawn by their hash, asked for by their longest words."""
    told = [s for s, _ in _told(text) if 40 <= len(s) <= 200 and not s.endswith("?")]
    drawn = sorted(told, key=lambda s: hashlib.sha256(s.encode()).digest())[:2]
    return [(" ".join(words), s) for s in drawn if len(words := _asked(s)) == _ASKED]


def _asked(sentence: str) -> list[str]:
    words = re.findall(rf"[A-Za-z]{{{_SHORTEST_WORD},}}", sentence)
    return sorted(dict.fromkeys(words), key=lambda w: (-len(w), w))[:_ASKED]


@dataclass(slots=True)
class Figures:
    """What came of the texts in one stage."""

    texts: int = 0
    shortened: int = 0
    before: int = 0
    after: int = 0
    specifics: int = 0
    kept: int = 0
    asked: int = 0
    answered: int = 0
    harms: Counter[str] | None = None


Shorten = Callable[[str, int, Sequence[str]], str]


def ours(text: str, room: int, asked: Sequence[str]) -> str:
    """The shortener of this tree; the text itself where it finds none."""
    found = shorten(text, room, asked).text
    return found if found and count(found) < count(text) else text


def measured(chosen: Sequence[Sample], how: Shorten = ours, *, ask: bool = False) -> dict[str, Figures]:
    """Stage → figures; every stage begins with the text that the one before left. ``ask``: the questions were recalls."""
    tokens = Settings().options("decay_transition", DecayTransitionOptions).tokens
    found: dict[str, Figures] = {stage: Figures(harms=Counter()) for stage in STAGES[1:-1]}
    for sample in chosen:
        text = sample.text
        asked = questions(text)
        terms = specifics(text).terms()
        for stage, figures in found.items():
            old = text
            if count(text) > tokens[stage]:
                text = how(text, tokens[stage], [q for q, _ in asked] if ask else ())
            figures.texts += 1
            figures.shortened += text != old
            figures.before += count(sample.text)
            figures.after += count(text)
            figures.specifics += len(terms)
            figures.kept += len(terms - unsaid(terms, [text]))
            figures.asked += len(asked)
            figures.answered += sum(s in _squeezed(text) for _, s in asked)
            if text != old and figures.harms is not None:
                figures.harms.update(harms(sample.text, text))
    return found


def main() -> None:
    """Print the figures of a folder, with and without recalls."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shortening", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", type=int, choices=(0, 1), default=1)
    given = parser.parse_args()
    chosen = [s for s in samples(given.folder) if s.half == given.half]
    print(dict(Counter(s.kind for s in chosen)))
    for ask in (False, True):
        for stage, f in measured(chosen, ask=ask).items():
            print(_line(stage, f, ask=ask))


def _line(stage: str, f: Figures, *, ask: bool) -> str:
    harm = ", ".join(f"{name} {n}" for name, n in (f.harms or Counter()).most_common())
    return (
        f"{'asked' if ask else 'not asked'} | {stage} | {f.texts} | {f.shortened} | {f.before:,} | {f.after:,} | "
        f"{f.kept / max(1, f.specifics):.3f} | {f.answered / max(1, f.asked):.3f} | {sum((f.harms or Counter()).values())}: {harm}"
    )


if __name__ == "__main__":
    main()
