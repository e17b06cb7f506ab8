"""Entities drawn from texts that nobody wrote for this project, for a person to judge: docs/quality.md has what came of it.

    python -m benchmarks.named_things HALF SEED [FILE ...]

HALF is 0 or 1: documents go to one by a hash of their source and name. Printed is a line an entity (source, type, name, the text around one
mention), first names, then what is written by a rule; those of earlier draws, in the FILEs, are left out. Distinct entities of a source
come in the order of a hash of the seed and themselves, so that a change of the rules leaves most of a draw as it was.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Final, NamedTuple

from slowwave.sources.letta import read_agents
from slowwave.sources.rows import RowCheck
from slowwave.text.extraction import Mention, extract
from slowwave.text.tokens import normalise_name

DATA: Final = Path(__file__).parents[2] / "shared/data"
NAMED: Final = frozenset(("person", "organization", "location", "product", "work", "unknown"))
NAMES: Final = {"memorybank": 20, "wiki": 90, "eips": 30, "tickets": 10, "packages": 50}
RULES: Final = {"eips": 25, "packages": 20, "tickets": 5}
"""Entities of each source, at most."""

_FENCE: Final = re.compile(r" {0,3}(?:```|~~~)")
_HEADING: Final = re.compile(r"#{1,6} ")
_SHORTEST: Final = 40
_SECTIONS: Final = 12
_LONGEST: Final = 3_000


class Text(NamedTuple):
    """A text of a document (``name``) of a source."""

    source: str
    name: str
    text: str


_Hit = tuple[Text, Mention]


def texts() -> Iterator[Text]:
    """All texts: turns, statements, tickets, blocks, and documents by their headings; a package gives its first sections."""
    for file, source, key, column in (
        ("memorybank/messages.jsonl", "memorybank", "id", "content"),
        ("contradictions_dev/fever_symmetric_dev.jsonl", "wiki", "id", "a"),
        ("khora_examples/support_tickets.jsonl", "tickets", "ticket_id", "content"),
    ):
        for line in (DATA / file).read_text().splitlines():
            row = json.loads(line)
            yield Text(source, row[key], row[column])
    for folder, source in (("eips_md", "eips"), ("dory_sample", "dory")):
        for path in sorted((DATA / folder).rglob("*.md")):
            yield from (Text(source, path.name, section) for section in sections(path.read_text()))
    for path in sorted((DATA / "letta_af").glob("*.af")):
        for turn in read_agents(path, RowCheck(str(path), "skip")):
            yield Text("letta", f"{path.name}:{turn.external_id}", turn.content)
    for package in sorted(distributions(), key=lambda d: d.metadata["Name"].casefold()):
        if (name := package.metadata["Name"]) != "slowwave":
            body = package.metadata.get_payload() or package.metadata.get("Description") or ""  # type: ignore[attr-defined]
            yield from (Text("packages", name, section[:_LONGEST]) for section in sections(str(body))[:_SECTIONS])


def sections(text: str) -> list[str]:
    """A document of Markdown by its headings; a line that begins like one within a fence is code."""
    parts: list[list[str]] = [[]]
    fenced = False
    for line in text.splitlines(keepends=True):
        fenced ^= _FENCE.match(line) is not None
        if not fenced and _HEADING.match(line):
            parts.append([])
        parts[-1].append(line)
    return [section for section in map("".join, parts) if len(section.strip()) > _SHORTEST]


def half(text: Text) -> int:
    """The half of a document, 0 or 1."""
    return sha256(f"{text.source}{text.name}".encode()).digest()[-1] & 1


def draw(
    some: Iterable[Text], seed: int, counts: dict[str, int], *, named: bool, without: frozenset[str] = frozenset()
) -> list[str]:
    """A line of tabs an entity: source, type, name, and a mention in ``⟦⟧`` with what stands around.

    ``without`` are the first three columns of lines that are left out.
    """
    found: defaultdict[str, dict[tuple[str, str], list[_Hit]]] = defaultdict(dict)
    for text in some:
        for mention in extract(text.text):
            if (mention.entity_type in NAMED) == named:
                key = mention.entity_type, normalise_name(mention.name)
                found[text.source].setdefault(key, []).append((text, mention))
    lines: list[str] = []
    for source, count in counts.items():
        kept = [key for key in found[source] if "\t".join((source, *key)) not in without]
        for key in sorted(kept, key=lambda key: _order(seed, source, *key))[:count]:
            text, mention = min(found[source][key], key=lambda hit: _order(seed, hit[0].name, hit[1].start))
            before, after = (
                text.text[max(0, mention.start - 75) : mention.start],
                text.text[mention.end : mention.end + 35],
            )
            around = " ".join(f"{before}⟦{mention.name}⟧{after}".split())
            lines.append("\t".join((source, *key, around)))
    return lines


def _order(*parts: object) -> str:
    return sha256("\0".join(map(str, parts)).encode()).hexdigest()


def main(arguments: list[str]) -> None:
    """Print a draw."""
    wanted, seed = int(arguments[0]), int(arguments[1])
    earlier = [line for file in arguments[2:] for line in Path(file).read_text().splitlines()]
    without = frozenset("\t".join(line.split("\t")[:3]) for line in earlier)
    some = [text for text in texts() if half(text) == wanted]
    for counts, named in ((NAMES, True), (RULES, False)):
        print("\n".join(draw(some, seed, counts, named=named, without=without)))


if __name__ == "__main__":
    main(sys.argv[1:])
