"""``python -m benchmarks.grounding DIR``: memories with an injected fault that are compared with the conversation they came from.

``DIR`` holds the turns of ``memorybank`` and, if wanted, the claims of ``contradictions_dev``. A grammar rewrites sentences of its users in
the third person. They link to their turn or to the whole session, and a person should be asked about none of them: as they are, with dates
written out, without their second half or a fifth of their words, two of one turn together. A second copy of each gets one fault: a date or
number that is not in the source, a "never" that no one said, a negation left out, another speaker, a suggestion or a wish as a habit. All
turns of a person belong to one half.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final, Literal, get_args

import pyarrow as pa
from rich.console import Console

from benchmarks.decisions import PAGE, Half, half_of
from benchmarks.machine import commit
from benchmarks.report import Part, put, show
from slowwave.operations.conflicts.grounding import unsupported_memories
from slowwave.snapshots.snapshot import SNAPSHOT_TABLES, Snapshot, Vectors, arrow_schema
from slowwave.store.tables import VECTORS
from slowwave.text.agreement import Disagreement, MemorySource, SourcePassage
from slowwave.text.dates import absolutize
from slowwave.text.sentences import sentences
from slowwave.text.words import CARDINALS, words_of

MARKS: Final = ("<!-- grounding: begin -->", "<!-- grounding: end -->")
_ELSEWHERE: Final = "none: its sentence is not in the source"
Link = Literal["turn", "session"]

_NAMES: Final = {number: word for word, number in CARDINALS.items() if number > 1}
_FIRST: Final = re.compile(
    r"^(?:(?:well|yes|yeah|sure|actually|recently|also|and|but|so),? )?I(?P<be>['’]m| am| was|['’]ve| have)? (?P<rest>.+?)[.!]$",
    re.IGNORECASE,
)
_OTHER: Final = re.compile(r"\b(?:you|your|it|this|that|these|those|them|they|he|she|him|her|his)\b", re.IGNORECASE)
_OWN: Final = (
    (r"\bI['’]m\b|\bI am\b", "they are"),
    (r"\bI['’]ve\b", "they have"),
    (r"\bI['’]ll\b", "they will"),
    (r"\bI['’]d\b", "they would"),
    (r"\bI\b", "they"),
    (r"\b[Mm]y\b", "their"),
    (r"\bmyself\b", "themselves"),
    (r"\bme\b", "them"),
)
_SUGGESTED: Final = re.compile(
    r"(?:\b[Yy]ou (?:can|could|should|might|may)|\bI (?:suggest|recommend)(?: that)? you|(?:^|\. )(?:try to|try))(?: also)? "
    r"(?P<rest>[a-z]+ [^.!?]{8,90})[.!]"
)
_WISHED: Final = re.compile(
    r"^I (?:(?:really |also )?(?:want|plan|hope|would like|wish) to|am (?:planning|going) to|should) (?P<rest>[a-z]+ .+?)[.!]$"
)
_LIKED: Final = re.compile(
    r"^I (?:really |also |usually |often )?(?P<rest>(?:like|love|enjoy|prefer|play|watch|read|work|study)\b.+?)[.!]$"
)
_PERSONS: Final = ("brother", "sister", "mother", "father", "friend", "wife", "husband", "colleague")
_NUMBER: Final = re.compile(
    rf"\b(?:(?P<digits>[1-9]\d{{0,3}})(?![\d,.:/-]\d|(?:st|nd|rd|th)\b)|(?P<word>{'|'.join(_NAMES.values())}))\b(?! of\b)"
)
_MONTHS: Final = ("March", "July", "October", "December")


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a conversation."""

    id: str
    session: str
    role: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """A memory that was derived from turns: its fault ("" for none), its text, the turns, and the right wording if there is one."""

    fault: str
    text: str
    turns: tuple[Turn, ...]
    link: Link
    half: Half
    right: str = ""
    told: Mapping[str, str] = field(default_factory=dict[str, str])
    """Turn → the text that it has for this case."""


def read(folder: Path) -> list[Turn]:
    """Return the turns of the conversations in order; a session is one person's day."""
    rows = (json.loads(line) for line in (folder / "memorybank" / "messages.jsonl").open(encoding="utf-8"))
    return [
        Turn(
            row["id"],
            f"{row['namespace']} {row['created_at'][:10]}",
            row["role"],
            datetime.fromisoformat(row["created_at"]),
            row["content"],
        )
        for row in rows
    ]


def cases(turns: Sequence[Turn]) -> Iterator[Case]:
    """Yield the memories of all turns; a third each calls the user "The user", "User" and by name."""
    for n, case in enumerate(_cases(turns)):
        name = case.turns[0].session.split()[0].partition("-")[2].split("-")[0].capitalize()
        who = ("The user", "User", name)[n % 3]
        text, right = (re.sub(r"\b[Tt]he user\b(?=.)", who, t) for t in (case.text, case.right))
        yield replace(case, text=text, right=right)


def _cases(turns: Sequence[Turn]) -> Iterator[Case]:
    for turn in turns:
        half = half_of(turn.session.split()[0])
        told = sentences(turn.text) if "\n" not in turn.text else []
        rng = Random(turn.id)  # noqa: S311 - no secret
        if turn.role == "assistant":
            yield from _of_assistant(turn, told, half, rng)
            continue
        before = ""
        for sentence in told:
            memory = retold(sentence)
            if not memory:
                continue
            link: Link = rng.choice(get_args(Link))
            yield Case("", memory, (turn,), link, half)
            dated = absolutize(sentence, turn.at, write="replace")
            if dated.rewrites and (text := retold(dated.text)):
                yield Case("", text, (turn,), link, half)
            if (short := re.split(r", | because | but | and (?=\w+ed )", memory)[0]) != memory and len(
                short.split()
            ) > 4:
                yield Case("", f"{short}.", (turn,), link, half)
            words = memory.split()
            kept = [
                w
                for n, w in enumerate(words)
                if n < 4
                or re.search(r"\d|n['’]t|^(?:not|never|no|want\w*|plan\w*|hop\w+|would)$", w)
                or rng.random() < 0.8
            ]
            if kept != words:
                yield Case("", " ".join(kept), (turn,), link, half)
            yield Case(_ELSEWHERE, memory, (turn,), link, half, told={turn.id: turn.text.replace(sentence, "").strip()})
            if before:
                yield Case("", f"{before} {memory}", (turn,), link, half)
            before = memory
            yield from _faulty(turn, sentence, memory, link, half, rng)


def _faulty(turn: Turn, sentence: str, memory: str, link: Link, half: Half, rng: Random) -> Iterator[Case]:
    """Yield copies of a user's sentence, each with one fault."""
    dated = absolutize(sentence, turn.at, write="replace")
    if not dated.rewrites and not re.search(r"\d{4}|\d[-/]\d|:\d\d", memory):
        day = date(rng.randint(2015, 2022), rng.randint(1, 12), rng.randint(1, 28))
        form = rng.choice(("%Y-%m-%d", "%d %B %Y", "%B %d, %Y"))
        yield Case("invented date", f"{memory[:-1]} on {day.strftime(form)}.", (turn,), link, half)
    if len(dated.rewrites) == 1 and len(dated.rewrites[0].value) == 10 and (right := retold(dated.text)):
        value = dated.rewrites[0].value
        other = date.fromisoformat(value) + timedelta(days=rng.choice((-1, 1)) * rng.randint(12, 300))
        yield Case("changed date", right.replace(value, other.isoformat()), (turn,), link, half, right)
    if (found := _NUMBER.search(memory)) and not dated.rewrites:
        changed = f"{memory[: found.start()]}{_other_number(found[0], rng)}{memory[found.end() :]}"
        yield Case("changed number", changed, (turn,), link, half, memory)
    elif not dated.rewrites and not re.search(r"\d", sentence):
        yield from _measured(turn, sentence, link, half, rng)
    denied = re.search(r" (?:does not|is not|has not|has never|never|was not)\b", memory)
    if denied:
        kept = {
            " does not": "",
            " is not": " is",
            " has not": " has",
            " has never": " has",
            " never": "",
            " was not": " was",
        }
        yield Case(
            "negation left out",
            f"{memory[: denied.start()]}{kept[denied[0]]}{memory[denied.end() :]}",
            (turn,),
            link,
            half,
        )
    elif not re.search(r"n['’]t\b|\bnot?\b|\bnever\b", memory) and (
        verb := re.match(r"The user (?P<be>is|was|has|will|can|would)?", memory)
    ):
        yield Case(
            "added never", f"{memory[: verb.end()].rstrip()} never {memory[verb.end() :].lstrip()}", (turn,), link, half
        )
    yield Case("other speaker", memory.replace("The user", "The assistant", 1), (turn,), link, half)
    if (found := _WISHED.match(sentence)) and (rest := _third(found["rest"])) and not _OTHER.search(rest):
        yield Case("wish as deed", f"The user {rest}.", (turn,), link, half)
    if found := _LIKED.match(sentence):
        person = rng.choice(_PERSONS)
        verb, _, rest = found["rest"].partition(" ")
        other = turn.text.replace(sentence, f"My {person} {_inflected(verb)} {rest}.")
        yield Case("taste of another", memory, (turn,), link, half, told={turn.id: other})


def _measured(turn: Turn, sentence: str, link: Link, half: Half, rng: Random) -> Iterator[Case]:
    """Yield memories of a sentence to which a date or a number was added: as it is, in another form, and changed."""
    day, form = date(2023, rng.randint(1, 12), rng.randint(2, 12)), rng.choice(("%Y-%m-%d", "%d %B %Y", "%B %d, %Y"))
    number, unit = rng.randint(2, 19), rng.choice(("times", "days", "weeks", "hours", "km", "people", "books"))
    later = day + timedelta(days=rng.choice((1, 9, 40, 365)))
    for fault, source, same, other in (
        ("changed date", day.strftime("on %d %B %Y"), day.strftime(f"on {form}"), later.strftime(f"on {form}")),
        (
            "changed number",
            f"with {number} {unit}",
            f"with {_NAMES[number]} {unit}",
            f"with {_other_number(str(number), rng)} {unit}",
        ),
    ):
        if not (memory := retold(f"{sentence[:-1]} {source}.")):
            return
        told = {turn.id: turn.text.replace(sentence, f"{sentence[:-1]} {source}.")}
        yield Case("", memory.replace(source, same), (turn,), link, half, told=told)
        yield Case(fault, memory.replace(source, other), (turn,), link, half, memory, told)


def _other_number(number: str, rng: Random) -> str:
    """Return another number in the same form."""
    if number.isdigit():
        return str(rng.choice([n for n in (int(number) + 1, int(number) + 3, int(number) * 2, 2) if n != int(number)]))
    return rng.choice([word for word in _NAMES.values() if word != number])


def _of_assistant(turn: Turn, told: Sequence[str], half: Half, rng: Random) -> Iterator[Case]:
    """Yield what an assistant suggests as a habit of the user, and as a suggestion, which is right."""
    link: Link = rng.choice(get_args(Link))
    for sentence in told:
        if not (found := _SUGGESTED.search(sentence)):
            continue
        rest = re.sub(r"\byour\b", "their", found["rest"]).replace(" you ", " they ")
        if re.search(r"\b(?:I|it|this|that|these|those|them)\b", rest):
            continue
        yield Case("", f"The assistant suggested that the user {rest}.", (turn,), link, half)
        if habit := _third(rest):
            yield Case("suggestion as habit", f"The user {habit}.", (turn,), link, half)


def retold(sentence: str) -> str:
    """Return a user's sentence about themself in the third person; empty for any other sentence."""
    match = _FIRST.match(sentence)
    if match is None or _OTHER.search(match["rest"]) or len(sentence) > 200:
        return ""
    rest = match["rest"]
    for pattern, instead in _OWN:
        rest = re.sub(pattern, instead, rest)
    be = (match["be"] or "").replace("’", "'").strip()
    if be:
        return f"The user {_BE[be]} {rest}."
    third = _third(rest)
    return f"The user {third}." if third else ""


def _third(rest: str) -> str:
    """Return a predicate with its first verb in the third person; empty if it does not begin with a verb or an adverb."""
    words = rest.split(" ")
    at = next((n for n, w in enumerate(words[:3]) if w.lower() not in _ADVERBS and not w.endswith("ly")), 0)
    verb = words[at]
    if not re.fullmatch(r"[a-z]+(?:n['’]t)?", verb) or verb in ("and", "the", "a", "to"):
        return ""
    if verb in ("do", "don't", "don’t", "do"):
        words[at] = "does not" if verb != "do" else "does"
    else:
        words[at] = _inflected(verb)
    return " ".join(words)


_BE: Final = {"'m": "is", "am": "is", "was": "was", "'ve": "has", "have": "has"}
_ADVERBS: Final = words_of(
    "really also usually often always just still sometimes mostly mainly never already actually only recently"
)
_PAST: Final = words_of("""
went saw met bought took got came left gave sent told had was did made ate spent found felt knew began became heard learned
thought ran won lost read wrote will can could would should must may might used chose grew slept wore brought caught fell kept
said sang drank drove forgot learnt built taught cannot can't couldn't didn't wasn't won't wouldn't haven't shouldn't
""")


def _inflected(verb: str) -> str:
    if verb in _PAST or (verb.endswith("ed") and verb not in ("need", "feed", "succeed")):
        return verb
    if verb == "have":
        return "has"
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else f"{verb}s"


def snapshot_of(turns: Sequence[Turn], given: Sequence[Case]) -> Snapshot:
    """The turns of all sessions with their passages, and memory k of case k; a case with changed turns has a session to itself."""
    at_all = datetime(2026, 6, 1, tzinfo=UTC)
    memories: list[dict[str, object]] = []
    versions: list[dict[str, object]] = []
    chunks: list[dict[str, object]] = []
    documents: dict[str, dict[str, object]] = {}
    sessions: defaultdict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        sessions[turn.session].append(turn)

    def remember(id_: str, text: str, **more: object) -> None:
        version = f"v {id_}"
        memories.append({"id": id_, "external_id": id_, "current_version_id": version, "source": "benchmark", **more})
        versions.append({"id": version, "memory_id": id_, "content": text, "recorded_at": at_all})

    def hold(name: str, session: str, told: Mapping[str, str]) -> None:
        document = f"d {name}"
        documents[name] = {"id": document, "external_id": document, "valid_from": sessions[session][0].at}
        for n, turn in enumerate(sessions[session]):
            id_, text = f"{turn.id} {name}", told.get(turn.id, turn.text)
            remember(
                id_, text, kind="episodic", author=turn.role, session_id=name, valid_from=turn.at, recorded_at=turn.at,
                source_document_ids=[document], source_chunk_ids=[f"c {id_}"],
            )  # fmt: skip
            chunks.append(
                {"id": f"c {id_}", "external_id": id_, "document_id": document, "ordinal": n, "content": text}
            )

    for session in sessions:
        hold(session, session, {})
    for k, case in enumerate(given):
        session = case.turns[0].session
        name = f"{session} of {k}" if case.told else session
        if case.told:
            hold(name, session, case.told)
        link: dict[str, object] = {"session_id": name}
        if case.link == "turn":
            link = {"source_chunk_ids": [f"c {turn.id} {name}" for turn in case.turns]}
        remember(
            f"m {k}", case.text, kind="semantic", author="", valid_from=case.turns[0].at, recorded_at=at_all, **link
        )
    filled = {"memories": memories, "memory_versions": versions, "chunks": chunks, "documents": [*documents.values()]}
    return Snapshot(
        namespace_id="00000000-0000-5000-8000-000000000001",
        namespace="grounding",
        snapshot_id="grounding",
        taken_at=at_all,
        change_counter=1,
        tables={name: _table(name, filled.get(name, [])).sort_by("id") for name in SNAPSHOT_TABLES},
        vectors={name: Vectors.empty("") for name in VECTORS},
    )


_DEFAULTS: Final[Mapping[str, object]] = {
    **{
        "state": "active",
        "stage": "full",
        "ring": "working",
        "visibility": "private",
        "attributes": "{}",
        "tags": "[]",
    },
    **dict.fromkeys(("scope", "subject", "sensitivity", "title", "content"), ""),
    **{"pinned": False, "confidence": 1.0, "importance": 0.5, "access_count": 0, "reinforcement_count": 0},
}


def _table(name: str, rows: Sequence[Mapping[str, object]]) -> pa.Table:
    schema = arrow_schema(SNAPSHOT_TABLES[name])
    empty = {f.name: [] if pa.types.is_list(f.type) else _DEFAULTS.get(f.name) for f in schema}
    return pa.Table.from_pylist([empty | dict(row) for row in rows], schema)


def differences(turns: Sequence[Turn], given: Sequence[Case]) -> dict[int, Disagreement]:
    """Map cases by number to the difference that is found; the turns of each person are a namespace."""
    found: dict[int, Disagreement] = {}
    for person in dict.fromkeys(turn.session.split()[0] for turn in turns):
        mine = [k for k, case in enumerate(given) if case.turns[0].session.split()[0] == person]
        of = snapshot_of([turn for turn in turns if turn.session.split()[0] == person], [given[k] for k in mine])
        found |= {mine[int(id_.split()[1])]: one for id_, one in unsupported_memories(of).items()}
    return found


def quality(folder: Path) -> list[Part]:
    """Count the questions about memories with and without a fault, for each half and kind."""
    turns = read(folder)
    given = list(cases(turns))
    found = differences(turns, given)
    parts: list[Part] = []
    for half in get_args(Half):
        counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for k, case in enumerate(given):
            if case.half == half:
                fault = found.get(k)
                counted[case.fault][fault.kind if fault else ""] += 1
                counted[case.fault]["corrected"] += bool(fault and case.right and fault.corrected == case.right)
        rows = [
            [
                fault or "none",
                str(total := sum(n for kind, n in counts.items() if kind != "corrected")),
                str(asked := total - counts[""]),
                f"{100 * asked / total:.1f}",
                str(counts["corrected"]) if counts["corrected"] else "",
                ", ".join(f"{kind} {n}" for kind, n in sorted(counts.items()) if kind not in ("", "corrected")),
            ]
            for fault, counts in sorted(counted.items())
        ]
        header = ["fault", "memories", "asked about", "per 100", "right wording", "as"]
        says = "Questions about memories without a fault are wrong; the others have an injected one."
        parts.append(Part(f"Memories compared with their source, {half} half", says, header, rows))
    return [*parts, *(_of_claims(path) for path in sorted(folder.glob("contradictions_dev/*.jsonl")))]


def _of_claims(path: Path) -> Part:
    """Count the questions about claims that are compared with a claim of the same statement or of another one, each way round."""
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for claim, source in ((row["a"], row["b"]), (row["b"], row["a"])):
            found = MemorySource([SourcePassage("", source)]).differs(claim)
            counted[row["label"]][found.kind if found else ""] += 1
    rows = [
        [
            label,
            str(total := counts.total()),
            str(asked := total - counts[""]),
            f"{100 * asked / total:.1f}",
            ", ".join(f"{kind} {n}" for kind, n in sorted(counts.items()) if kind),
        ]
        for label, counts in sorted(counted.items())
    ]
    says = "A claim of the label entailment states the same as the other one in other words."
    header = ["label", "claims", "asked about", "per 100", "as"]
    return Part(f"Claims compared with another claim, {path.stem}", says, header, rows)


def main() -> None:
    """Print the tables; with ``--show N`` also N cases of each kind of the development half that are judged wrongly."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grounding", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder with memorybank/messages.jsonl")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N cases of each kind as well")
    parser.add_argument("--write", action="store_true", help="write the page")
    given = parser.parse_args()
    parts = quality(given.folder)
    show(parts, Console(width=140))
    if given.write:
        put(parts[1:], PAGE, MARKS, f"Measured at commit {commit()} by `python -m benchmarks.grounding DIR --write`.")
    if given.show:
        _print(given.folder, given.show)


def _print(folder: Path, most: int) -> None:
    turns = read(folder)
    all_ = list(cases(turns))
    found = differences(turns, all_)
    shown = Counter[tuple[str, bool]]()
    for k, case in enumerate(all_):
        fault = found.get(k)
        wrong = (fault is None) == (case.fault not in ("", _ELSEWHERE))
        shown[case.fault, wrong] += 1
        if case.half == "development" and wrong and shown[case.fault, wrong] <= most:
            print(f"[{case.fault or 'none'}, {case.link}] {case.text}\n    {fault or case.turns[0].text}")


if __name__ == "__main__":
    main()
