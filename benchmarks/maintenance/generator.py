"""Histories of one user's memory, made from a seed: statements that change, coexist, are corrected, withdrawn, conditioned and repeated.

A history consists of threads. Each thread is about one relation of one subject, has one of ``KINDS``, and is phrased by the templates of
``relations.toml``. The statements of all threads are mixed by their times. The labels follow from the kind of the thread alone. Chat turns
are messages, and so are the news, corrections and withdrawals of a thread that began with one; the rest are notes.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, NamedTuple

from benchmarks.maintenance.adapter import Statement

Kind = Literal[
    "change",
    "repeated change",
    "return",
    "correction",
    "withdrawal",
    "coexistence",
    "condition",
    "quotation",
    "hypothesis",
    "repetition",
    "other subject",
    "public contradiction",
    "public agreement",
]
Mood = Literal["asserted", "denied", "condition", "quotation", "hypothesis"]

KINDS: Final[tuple[Kind, ...]] = (
    *(
        "change",
        "change",
        "change",
        "repeated change",
        "return",
        "correction",
        "correction",
        "withdrawal",
        "withdrawal",
    ),
    *("coexistence", "coexistence", "condition", "quotation", "hypothesis", "repetition", "other subject"),
)
"""The threads of a history: those that change first, since ``other subject`` takes the relation of one that came before."""

ONE_VALUE: Final = frozenset(("change", "repeated change", "return", "correction", "other subject"))
"""Kinds of threads whose relation has one value at a time."""

STATED: Final = ("note", "sentence", "terse", "chat")
"""Registers that state a value without a hint that another one came before."""

SAME_FORM: Final = 0.4
"""Share of later statements that use the template of the earlier one, as notes of one program do."""

PAIRS: Final = 4
"""Public pairs in a history."""

DAYS: Final = 40
START: Final = datetime(2026, 3, 2, tzinfo=UTC)


class Claim(NamedTuple):
    """The content of a statement; statements of one claim differ in words only."""

    relation: str
    subject: str
    value: str
    mood: Mood = "asserted"


class Label(NamedTuple):
    """The truth about a statement: ``register`` and ``template`` are its phrasing, ``ended_by`` the later statements that end it."""

    kind: Kind
    register: str
    template: str
    claim: Claim
    ended_by: frozenset[int] = frozenset()

    @property
    def contains(self) -> str:
        """The words that a text must contain to present the statement."""
        return self.claim.value if "{v}" in self.template else ""


class Asked(NamedTuple):
    """A question to the memory at the end of a history: the claims that answer it, all of them, and the claims that no longer do."""

    text: str
    right: frozenset[Claim]
    ended: frozenset[Claim]


@dataclass(frozen=True, slots=True)
class History:
    """Statements in the order of their times, the label of each, and the questions at the end."""

    statements: Sequence[Statement]
    labels: Sequence[Label]
    asked: Sequence[Asked]

    def true_claims(self) -> frozenset[Claim]:
        """Return the claims that hold at the end, conditions and quotations included."""
        return frozenset(label.claim for label in self.labels if not label.ended_by)

    def must_end(self) -> frozenset[int]:
        """Return the ids of statements whose claim does not hold at the end."""
        true = self.true_claims()
        return frozenset(k for k, label in enumerate(self.labels) if label.claim not in true)

    def coexisting(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of different claims about one relation of one subject that both hold."""
        must_end = self.must_end()
        for b, later in enumerate(self.labels):
            for a, label in enumerate(self.labels[:b]):
                same = label.claim[:2] == later.claim[:2] and label.claim != later.claim
                if same and not must_end & {a, b}:
                    yield a, b


@dataclass(slots=True)
class _Thread:
    """The statements of one thread as they are made; the labels name others by their positions in the thread."""

    relation: Mapping[str, Any]
    subject: str
    kind: Kind
    rng: Random
    made: list[tuple[str, Label]] = field(default_factory=list)

    def state(self, value: str, *, ends: Sequence[int] = (), news: bool = False, other_words: bool = False) -> None:
        """Add a statement of a value, in the form of the last one or in another; ``other_words`` excludes the last one's."""
        last = self.made[-1][1] if self.made else None
        if last and not other_words and self.rng.random() < SAME_FORM:
            return self.add(last.register, last.template, value, ends=ends)
        known = [(r, t) for r in STATED for t in self.relation[r] if last is None or t != last.template]
        register = self.rng.choice(["news", *STATED] if news else sorted({r for r, _ in known}))
        known = [(r, t) for r, t in known if r == register] or [("news", t) for t in self.relation["news"]]
        return self.add(*self.rng.choice(known), value, ends=ends)

    def deny(self, value: str, ends: Sequence[int]) -> None:
        """Add a statement that a value is over."""
        self.add("withdrawal", self.rng.choice(self.relation["ended"]), value, "denied", ends=ends)

    def frame(self, name: str, value: str, mood: Mood, *, ends: Sequence[int] = (), old: str = "") -> None:
        """Add a longer sentence that holds the value, such as a correction or a condition."""
        template = self.rng.choice(read_grammar()["frames"][name])
        for part in ("clause", "would"):
            words = str(self.relation[part])
            template = template.replace(f"{{{part}}}", words).replace(f"{{{part.title()}}}", _capital(words))
        self.add(name, template, value, mood, ends=ends, old=old)

    def add(
        self,
        register: str,
        template: str,
        value: str,
        mood: Mood = "asserted",
        *,
        ends: Sequence[int] = (),
        old: str = "",
    ) -> None:
        """Add a statement from its template; it ends those at the positions ``ends``."""
        text = template.replace("{s}", self.subject).replace("{v}", value).replace("{old}", old)
        for k in ends:
            earlier, label = self.made[k]
            self.made[k] = earlier, label._replace(ended_by=label.ended_by | {len(self.made)})
        claim = Claim(str(self.relation["name"]), self.subject, value, mood)
        self.made.append((text if register == "terse" else _capital(text), Label(self.kind, register, template, claim)))


class PublicPair(NamedTuple):
    """Two statements of a labelled set: the later contradicts the earlier, or both hold."""

    id: str
    earlier: str
    later: str
    contradicts: bool


def read_pairs(folder: Path) -> list[PublicPair]:
    """Read the pairs of ``contradictions_dev/*.jsonl``: one object a line with id, a, b and label (contradiction or entailment)."""
    lines = [line for path in sorted(folder.glob("contradictions_dev/*.jsonl")) for line in path.open(encoding="utf-8")]
    rows = [json.loads(line) for line in lines]
    return [PublicPair(row["id"], row["a"], row["b"], row["label"] == "contradiction") for row in rows]


def generate(histories: int, seed: int, pairs: Sequence[PublicPair] = ()) -> list[History]:
    """Make histories; equal arguments give equal histories.

    With ``pairs``, each history also contains ``PAIRS`` of them. The memory is not asked about those.
    """
    return [_history(Random(f"{seed}.{n}"), pairs) for n in range(histories)]  # noqa: S311 - repeatable, no secret


@lru_cache(maxsize=1)
def read_grammar() -> dict[str, Any]:
    """Read pools, relations and frames."""
    return tomllib.loads(Path(__file__).with_name("relations.toml").read_text(encoding="utf-8"))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _history(rng: Random, pairs: Sequence[PublicPair]) -> History:
    threads: list[_Thread] = []
    for kind in KINDS:
        relation, subject = _topic(rng, kind, threads)
        values = rng.sample(read_grammar()["pools"][relation["values"]], 2)
        threads.append(_tell(_Thread(relation, subject, kind, rng), values))
    asked = list(threads)
    threads += [_quote_pair(pair, rng) for pair in rng.sample(pairs, min(PAIRS, len(pairs)))]
    placed = sorted(
        (minute, n, k)
        for n, thread in enumerate(threads)
        for k, minute in enumerate(sorted(rng.sample(range(DAYS * 1_440), len(thread.made))))
    )
    ids = {(n, k): at for at, (_, n, k) in enumerate(placed)}
    statements: list[Statement] = []
    labels: list[Label] = []
    for minute, n, k in placed:
        text, label = threads[n].made[k]
        at = START + timedelta(minutes=minute)
        began = threads[n].made[0][1].register
        talked = label.register == "chat" or (began == "chat" and label.register not in STATED)
        statements.append(Statement(len(statements), text, at, f"{at:%Y-%m-%d}", "message" if talked else "note"))
        labels.append(label._replace(ended_by=frozenset(ids[n, end] for end in label.ended_by)))
    made = History(statements, labels, ())
    return replace(made, asked=[_question(made, thread) for thread in asked])


def _topic(rng: Random, kind: Kind, threads: Sequence[_Thread]) -> tuple[Mapping[str, Any], str]:
    """Choose a relation that fits the kind, and a subject of it; no two threads have the same of both."""
    grammar = read_grammar()
    taken = {(thread.relation["name"], thread.subject) for thread in threads}
    if kind == "other subject":
        relations = [thread.relation for thread in threads if "subjects" in thread.relation]
    elif kind == "withdrawal":
        relations = [r for r in grammar["relation"] if r["ended"]]
    else:
        relations = grammar["relation"]
    if kind in ONE_VALUE or kind == "coexistence":
        relations = [r for r in relations if r.get("many", False) == (kind == "coexistence")]
    while True:
        relation = rng.choice(relations)
        subject = rng.choice(grammar["pools"][relation["subjects"]]) if "subjects" in relation else ""
        if (relation["name"], subject) not in taken:
            return relation, subject


def _tell(thread: _Thread, values: Sequence[str]) -> _Thread:
    """Make the statements of a thread, and return it."""
    old, new = values
    thread.state(old)
    match thread.kind:
        case "change":
            thread.state(new, ends=[0], news=True)
        case "repeated change":
            thread.state(old, other_words=True)
            thread.state(new, ends=[0, 1], news=True)
        case "return":
            thread.state(new, ends=[0], news=True)
            thread.state(old, ends=[1], news=True)
        case "correction":
            thread.frame("correction", new, "asserted", ends=[0], old=old)
        case "withdrawal":
            if thread.relation.get("many"):
                thread.state(new)
            thread.deny(old, [0])
        case "coexistence":
            thread.state(new, news=True)
        case "condition" | "quotation" | "hypothesis" as name:
            thread.frame(name, new, name)
        case "repetition":
            thread.state(old, other_words=True)
        case _:
            pass
    return thread


def _quote_pair(pair: PublicPair, rng: Random) -> _Thread:
    """Make the thread of a public pair."""
    thread = _Thread({"name": pair.id}, "", "public contradiction" if pair.contradicts else "public agreement", rng)
    thread.add("public set", pair.earlier, "earlier")
    thread.add("public set", pair.later, "later", ends=[0] if pair.contradicts else ())
    return thread


def _question(history: History, thread: _Thread) -> Asked:
    """Ask for the values of a thread's relation; where all are over, the statement that says so is the answer."""
    topic = (thread.relation["name"], thread.subject)
    true = {claim for claim in history.true_claims() if claim[:2] == topic}
    asserted = {claim for claim in true if claim.mood == "asserted"}
    ended = {label.claim for label in history.labels if label.claim[:2] == topic} - true
    right = asserted or {claim for claim in true if claim.mood == "denied"}
    text = str(thread.relation["question"]).replace("{s}", thread.subject)
    return Asked(text, frozenset(right), frozenset(ended))
