"""``python -m benchmarks.decisions [DIR] [--write]``: how often decisions without a question would be right, rule by rule.

Each labelled set is split by a hash of its ids into a development half and a kept-back half; rules are written on the one and measured on
the other. The notes of ``unseen/changed_facts*.toml`` were written without a look at the rules. The sentences of ``unseen/dates*.toml``
were written after the rules, so all of them count as kept back. A decision counts where the rule would change rows if it were allowed to
decide alone. The figures of the kept-back half belong into ``slowwave.plans.items``.

The relative dates of ``memorybank`` were read one by one: ``memorybank_dates.json`` holds the right value of each phrase. A phrase that is
not in it counts as an error.

Merges of equal texts are labelled mechanically: each sentence of ``contradictions_dev`` and of the users in ``memorybank`` is written again
in other letters (``respell``), and a merge is right where all of its members are one sentence. The claims of ``contradictions_dev`` differ
from each other in a word or a number, so that a wrong merge is near.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
import tomllib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

import pyarrow as pa
from rich.console import Console

from benchmarks import changed_facts, dates, screening, shortening, trial
from benchmarks.machine import commit
from benchmarks.remembered import given, given_facts, memory_id
from benchmarks.report import Part, put, show
from slowwave.matching import match_entities
from slowwave.matching.names import fold_all
from slowwave.operations import Inputs
from slowwave.operations.conflicts.decide import decide, read_sides
from slowwave.operations.conflicts.find import ended_statements, find_conflicts
from slowwave.operations.options import DecayTransitionOptions
from slowwave.operations.planners.dedupe_facts import dedupe_facts
from slowwave.operations.planners.dedupe_memories import dedupe_memories
from slowwave.operations.planners.normalize_schema import differing
from slowwave.plans.items import PATTERNS, REQUIRED, lower_bound
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.dates import absolutize
from slowwave.text.screening import counting, proof, screen
from slowwave.text.sentences import sentences
from slowwave.text.small_talk import is_small_talk
from slowwave.text.tokens import count

Half = Literal["development", "kept back"]

PAGE: Final = Path(__file__).parents[1] / "docs" / "decisions.md"
MARKS: Final = ("<!-- decisions: begin -->", "<!-- decisions: end -->")
_NOTES: Final = (changed_facts.PAIRS, changed_facts.MORE_PAIRS, changed_facts.PLAIN_PAIRS)
_DATES: Final = tuple(sorted((dates.SETS / "unseen").glob("dates*.toml")))
_READ_DATES: Final = Path(__file__).with_name("memorybank_dates.json")
_ENTITIES: Final = ("febrl1.csv", "historical_people_25k.csv.gz")
_SMALL_TALK: Final = frozenset(("greeting", "goodbye", "thank_you"))
"""The intents of clinc150 that are small talk by their definition."""

_EXPANDED: Final = (
    *(("don't", "do not"), ("doesn't", "does not"), ("isn't", "is not"), ("I'm", "I am"), ("it's", "it is")),
    *(("can't", "cannot"), ("didn't", "did not"), ("I've", "I have"), ("wasn't", "was not")),
)


class Decided(NamedTuple):
    """One decision of a pattern of an operation about a labelled case, and whether the labels say that it is right.

    ``unseen``: the whole set was written after the rules, so the case is kept back whatever its hash.
    """

    operation: str
    pattern: str
    case: str
    right: bool
    unseen: bool = False

    @property
    def half(self) -> Half:
        """The half of its set to which the case belongs."""
        return "kept back" if self.unseen else half_of(self.case)


def half_of(case: str) -> Half:
    """Return the half to which a case belongs, by a hash of its id."""
    return "kept back" if hashlib.sha256(case.encode()).digest()[0] % 2 else "development"


def main() -> None:
    """Print the tables; ``--write`` puts that of the kept-back half into docs/decisions.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decisions", description=__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="?", metavar="DIR", help="labelled sets next to the notes of the repository"
    )
    parser.add_argument("--write", action="store_true", help="write the page")
    given = parser.parse_args()
    found = list(decisions(given.folder))
    parts = [part(found, half) for half in ("development", "kept back")]
    show(parts, Console(width=150))
    if given.write:
        put([parts[1]], PAGE, MARKS, f"Measured at commit {commit()} by `make bench-decisions`.")


def decisions(folder: Path | None = None) -> Iterator[Decided]:
    """Yield the decisions about every labelled set; ``folder`` holds those that are not part of the repository."""
    yield from _of_notes([pair for path in _NOTES for pair in changed_facts.read(path)])
    for path in _DATES:
        yield from _of_dated_sentences(path)
    if folder is None:
        return
    for path in sorted(folder.glob("contradictions_dev/*.jsonl")):
        yield from _of_statements([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    for path in sorted(folder.glob("security_dev/*.jsonl")):
        yield from _of_screening([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    yield from _of_harmless_texts(folder)
    yield from _of_shorter_texts(folder)
    yield from _of_messages(folder / "memorybank" / "messages.jsonl")
    for path in sorted(folder.glob("dates_dev/*.jsonl")):
        yield from _of_dates(path)
    for path in sorted(folder.glob("clusters_dev/clinc150*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            yield from _of_small_talk(list(csv.DictReader(file)))
    for half in get_args(Half):
        said = [s for s in {_letters(s): s for s in _sentences(folder)}.values() if half_of(s) == half]
        yield from _of_equal_facts(said)
        yield from _of_equal_memories(said, "semantic")
        yield from _of_equal_memories(said, "event")
    for name in _ENTITIES:
        if (folder / "er" / name).exists():
            yield from _of_entities(folder / "er" / name)
            yield from _of_names(folder / "er" / name)


def respell(sentence: str) -> list[str]:
    """Return other spellings of a sentence that leave its meaning: spaces and end mark, case of the first letter, decomposed accents, round
    quotation marks, written-out contractions."""
    spelled = [
        sentence.rstrip(" .!").replace(" ", "  "),
        sentence[:1].swapcase() + sentence[1:],
        unicodedata.normalize("NFD", sentence),
        sentence.replace("'", "’"),
    ]
    for short, long in _EXPANDED:
        spelled.append(sentence.replace(short, long))
    return [s for s in dict.fromkeys(spelled) if s != sentence]


def mistype(sentence: str) -> str:
    """Return a sentence with two neighbouring letters exchanged in the middle of its longest word of lower-case letters."""
    word = max(re.findall(r"\b[a-z]{7,}\b", sentence), key=len, default="")
    k = len(word) // 2
    return sentence.replace(word, word[:k] + word[k + 1] + word[k] + word[k + 2 :], 1) if word else sentence


def part(found: Iterable[Decided], half: Half) -> Part:
    """Build the table of one half: decisions, errors and lower bound of each pattern, and whether it decides alone."""
    declared = {(p.operation, p.name): p for p in PATTERNS}
    all_, wrong = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one in found:
        if one.half == half:
            all_[one.operation, one.pattern] += 1
            wrong[one.operation, one.pattern] += not one.right
    rows: list[list[str]] = []
    for key in sorted(all_.keys() | declared.keys()):
        pattern = declared.get(key)
        needed = f"{least:.2f}" if pattern and (least := REQUIRED[pattern.change]) else "–"
        alone = "not declared" if pattern is None else "yes" if pattern.decides_alone else "asks"
        bound = f"{lower_bound(all_[key], wrong[key]):.3f}" if all_[key] else "–"
        rows.append([" / ".join(key), f"{all_[key]:,}", f"{wrong[key]:,}", bound, needed, alone])
    header = ["operation / pattern", "decisions", "errors", "lower bound", "needed", "decides alone"]
    return Part(f"Decisions on the {half} half", "Lower bounds are those of Wilson's 95 % interval.", header, rows)


def _of_notes(pairs: Sequence[dict[str, str | bool]]) -> Iterator[Decided]:
    """Two notes a pair: what ends or marks the earlier one is right where the pair says that the later one ends it."""
    snapshot = changed_facts.snapshot_of(pairs)
    cases = [f"{pair['earlier']}\n{pair['later']}" for pair in pairs]
    for pattern, k, earlier in _resolved(snapshot):
        yield Decided("resolve_conflicts", pattern, cases[k], bool(pairs[k]["ends"]) and earlier)
    for one in ended_statements(snapshot):
        k = int(one.later[-12:]) // 2
        yield Decided("mark_ended_statements", one.pattern, cases[k], bool(pairs[k]["ends"]) or one.holds)


def _of_statements(rows: Sequence[dict[str, str]]) -> Iterator[Decided]:
    """Two statements about one subject: a conflict is right where the label says contradiction; neither is the newer one by nature."""
    notes: list[dict[str, str | bool]] = [{"earlier": row["a"], "later": row["b"]} for row in rows]
    snapshot = changed_facts.snapshot_of(notes)
    memories = snapshot.table("memories")
    at = memories.schema.get_field_index("subject")
    subjects = pa.array([f"subject {k // 2}" for k in range(len(memories))]).cast(memories.schema.field(at).type)
    memories = memories.set_column(at, memories.schema.field(at), subjects)
    snapshot = replace(snapshot, tables={**snapshot.tables, "memories": memories})
    for pattern, k, _ in _resolved(snapshot):
        yield Decided("resolve_conflicts", pattern, rows[k]["id"], rows[k]["label"] == "contradiction")


def _resolved(snapshot: Snapshot) -> Iterator[tuple[str, int, bool]]:
    """The pattern, the pair and whether the earlier note loses, of each conflict that its rule does not call doubtful."""
    settings = Settings()
    conflicts = find_conflicts(snapshot, settings).conflicts
    sides = read_sides(snapshot, conflicts, settings)
    for conflict in conflicts:
        decision = decide("keep_newest", conflict, sides)  # decides whatever the declaration says
        if decision.sure:
            k = int(conflict.a[-12:])
            loser = conflict.b if decision.winner == "a" else conflict.a
            yield conflict.pattern, k // 2, loser == memory_id(k - k % 2)


def _of_screening(rows: Sequence[dict[str, str]]) -> Iterator[Decided]:
    """Texts of which screening would quarantine or redact a part: right where the label is malicious."""
    for row in rows:
        for pattern in _screened(row["text"]):
            yield Decided("redact_or_quarantine", pattern, row["id"], row["label"] == "malicious")


def _of_harmless_texts(folder: Path) -> Iterator[Decided]:
    """Ordinary texts of which screening would quarantine or redact a part: always wrong."""
    for _, _, text in screening.ordinary(folder):
        for pattern in _screened(text):
            yield Decided("redact_or_quarantine", pattern, text, right=False)


def _screened(text: str) -> list[str]:
    """Return the patterns by which the findings of a text prove themselves; a finding without a proof has its kind and rule."""
    return sorted({proof(f) or f"{f.kind}: {f.rule}" for f in counting(screen(text))})


def _of_shorter_texts(folder: Path) -> Iterator[Decided]:
    """Texts that the first stage of decay shortens: wrong where the rules of ``benchmarks.shortening`` count a harm."""
    room = Settings().options("decay_transition", DecayTransitionOptions).tokens["compressed"]
    for sample in shortening.samples(folder):
        if count(sample.text) > room and (short := shortening.ours(sample.text, room, ())) != sample.text:
            right = not shortening.harms(sample.text, short)
            yield Decided("decay_transition", "shorter text", sample.source, right)


def _of_dates(path: Path) -> Iterator[Decided]:
    """Relative dates that are written out: right where they are those of the set, or an interval that holds them."""
    for row in dates.read(path):
        if rewrites := absolutize(row.text, row.reference).rewrites:
            right = dates.fits(*dates.days(rewrites[0].value), row)
            yield from _dated(rewrites[0].pattern, f"{row.text}\n{row.reference}", right)


def _of_dated_sentences(path: Path) -> Iterator[Decided]:
    """Sentences of memories whose dates are written out: right where the values are as meant; none is in a sentence without a date."""
    whole = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = [(said["on"], text, values) for said in whole["said"] for text, *values in said["rows"]]
    rows += [(whole["said"][0]["on"], text, []) for text in whole["dateless"]["none"]]
    for on, text, values in rows:
        rewrites = absolutize(text, datetime.combine(on, dates.TEN)).rewrites
        right = dates.is_as_meant([r.value for r in rewrites], values)
        for pattern in sorted({r.pattern for r in rewrites}):
            yield from _dated(pattern, text, right, unseen=True)


def _of_messages(path: Path) -> Iterator[Decided]:
    """Messages of ``memorybank`` whose dates are written out: right where all phrases of the pattern have the values that were read."""
    meant = json.loads(_READ_DATES.read_text(encoding="utf-8"))
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        row = json.loads(line)
        values = meant.get(row["id"].removeprefix("memorybank-"), {})
        written: defaultdict[str, list[bool]] = defaultdict(list)
        for one in absolutize(row["content"], datetime.fromisoformat(row["created_at"]), idle=False).rewrites:
            written[one.pattern].append(values.get(one.phrase.lower()) == one.value)
        for pattern, right in written.items():
            yield from _dated(pattern, row["id"], all(right))


def _dated(pattern: str, case: str, right: bool, *, unseen: bool = False) -> Iterator[Decided]:
    """Yield a date as written next to its phrase and as written in its place: the same value is right in both."""
    for name in (pattern, f"{pattern}, replaced"):
        yield Decided("absolutize_dates", name, case, right, unseen)


def _of_small_talk(rows: Sequence[dict[str, str]]) -> Iterator[Decided]:
    """Utterances that are small talk alone: right where the intent is."""
    for row in rows:
        if is_small_talk(row["text"]):
            yield Decided("archive_small_talk", "small talk alone", row["id"], row["cluster"] in _SMALL_TALK)


def _sentences(folder: Path) -> Iterator[str]:
    """Single sentences: the claims of pairs with minimal edits, and the sentences of users."""
    for path in sorted(folder.glob("contradictions_dev/*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield from (row["a"], row["b"])
    messages = folder / "memorybank" / "messages.jsonl"
    for line in messages.read_text(encoding="utf-8").splitlines() if messages.exists() else ():
        row = json.loads(line)
        if row["role"] == "user":
            yield from sentences(row["content"])


def _letters(sentence: str) -> str:
    """Return the letters and digits of a sentence: "Okay." and "okay!" are one sentence already."""
    return "".join(filter(str.isalnum, sentence.casefold()))


def _of_equal_facts(said: Sequence[str]) -> Iterator[Decided]:
    """Facts of one subject with every sentence in each spelling."""
    spelled = [(s, k) for k, sentence in enumerate(said) for s in (sentence, sentence, *respell(sentence))]
    snapshot = given_facts([s for s, _ in spelled])
    for item in dedupe_facts(Inputs(snapshot, {}, Settings())).items:
        of = {spelled[int(id_[-12:])][1] for id_ in item.mutation.row_ids()}
        yield Decided("dedupe_facts", "equal words", said[min(of)], len(of) == 1)


def _of_equal_memories(said: Sequence[str], kind: str) -> Iterator[Decided]:
    """Memories of one kind with every sentence in each spelling, or with a slip of the finger."""
    pairs = [(sentence, [sentence, *respell(sentence)]) for sentence in said]
    for spelled in (pairs, [(s, [t]) for s in said if (t := mistype(s)) != s]):
        texts = [(s, k) for k, (sentence, others) in enumerate(spelled) for s in (sentence, *others)]
        snapshot = given([s for s, _ in texts])
        memories = snapshot.table("memories")
        at = memories.schema.get_field_index("kind")
        memories = memories.set_column(
            at, memories.schema.field(at), pa.repeat(kind, len(memories)).cast(memories.schema.field(at).type)
        )
        snapshot = replace(snapshot, tables={**snapshot.tables, "memories": memories})
        for item in dedupe_memories(Inputs(snapshot, {}, Settings())).items:
            of = {texts[int(id_[-12:])][1] for id_ in item.mutation.row_ids()}
            yield Decided("dedupe_memories", str(item.evidence["pattern"]), spelled[min(of)][0], len(of) == 1)


def _of_names(path: Path) -> Iterator[Decided]:
    """Entities of one folded name without a differing attribute, as a rename of their types would merge them."""
    table, gold = trial.read(path)
    groups: dict[str, list[tuple[dict[str, object], str]]] = {}
    names = fold_all(table["name"].combine_chunks()).to_pylist()
    for name, attributes, cluster in zip(names, table["attributes"].to_pylist(), gold, strict=True):
        groups.setdefault(name, []).append((json.loads(attributes), cluster))
    for name, rows in groups.items():
        if name and len(rows) > 1 and not differing([attributes for attributes, _ in rows]):
            right = len({cluster for _, cluster in rows}) == 1
            yield Decided("normalize_schema", "one name after the rename", f"{path.name} {rows[0][1]}", right)


def _of_entities(path: Path) -> Iterator[Decided]:
    """Pairs of entities that merge by a link of their own: right where both are one by the gold. Halves are matched together."""
    table, gold = trial.read(path)
    cluster = dict(zip(table["id"].to_pylist(), gold, strict=True))
    for links in match_entities(table, Settings()).merge_links:
        for a, b in links:
            yield Decided(
                "dedupe_entities", "names and attributes", f"{path.name} {cluster[a]}", cluster[a] == cluster[b]
            )


if __name__ == "__main__":
    main()
