"""``python -m benchmarks.review_orders [DIR] [--scale 1] [--only NAME …] [--answers 200]``: how many answers until merges are good.

On every labelled set the gold reviews one plan, as nights make it of the rows: its questions stay as they were sealed, its drafts teach
(``slowwave.plans.review.rules``), and after each answer the next is chosen. The orders are: by chance, ten at a time, as answers teach it
nothing; the least certain first by what was learnt (uncertainty sampling); as the queue of a *review* has them
(``slowwave.plans.review.queue``); and *at best*, the queue of one who knows the gold and asks what is right, the largest groups first, so
that hardly any order needs fewer answers. What follows from answers is asked in none.

Counted are pairs within clusters, beside the tf-idf cosine at the threshold of its best F1: of what is *signed*, the merges of the plan
with the groups that every yes joins, which is what apply makes; and of what a later night makes of the rows once it has *learnt* from
the answers. Answers until an F1 are counted of what is signed, as are those until the F1 that ``ASKED`` answers by chance reach: an order
halves the number where it needs at most half of the answers that chance took. Of a set of more than ``--rows`` rows so many are taken,
whole clusters.

``--clean 10000`` measures another thing: the minutes that a scripted reviewer needs until a namespace of so many memories is clean, at
five seconds for each question that it reads.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
from rich.console import Console
from scipy import sparse
from scipy.sparse import csgraph
from starlette.testclient import TestClient

from benchmarks import matching, quality, tfidf, trial, worlds
from benchmarks.machine import commit
from benchmarks.maintenance.generator import read_grammar
from benchmarks.memories import CHANGES
from benchmarks.quality import Counted
from benchmarks.report import Part, show
from benchmarks.vocabulary import GIVEN, SURNAMES
from slowwave.matching import Answers, Matches, match_entities
from slowwave.night.night import run_night
from slowwave.plans.ledger import StoredItem
from slowwave.plans.review.drafts import Draft
from slowwave.plans.review.groups import SAMPLE
from slowwave.plans.review.queue import information
from slowwave.plans.review.rules import learn
from slowwave.sources.tables import import_memories
from slowwave.store import server
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store
from slowwave.store.settings import Settings
from slowwave.surfaces.review_page.app import review_app
from slowwave.surfaces.review_page.guard import entrance_of

ASKED: Final = 100
"""Answers after which orders are compared."""

BATCH: Final = 10
"""Answers at a time where what they teach is looked at less often."""

GOOD: Final = (0.90, 0.95)
SEEDS: Final = 3
"""Orders by chance, of which the median is told."""

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)  # no answer is later than another


@dataclass(frozen=True, slots=True)
class Reached:
    """One set and order: what a signature merges after each answer, from none on, and what a later night merges that has learnt from the
    first ``ASKED``."""

    signed: Sequence[Counted]
    learnt: Counted

    @property
    def asked(self) -> Counted:
        """What a signature merges after ``ASKED`` answers, or all there are."""
        return self.signed[: ASKED + 1][-1]

    def until(self, good: float) -> int | None:
        """After how many answers a signature reaches an F1, None for never."""
        return next((n for n, counted in enumerate(self.signed) if (counted.f1 or 0.0) >= good), None)


class InOnePlan:
    """A review of one plan: its questions are those of the first look, and the answers so far are drafts."""

    def __init__(
        self, pairs: Sequence[tuple[str, str]], items: Sequence[StoredItem], merges: Sequence[StoredItem] = ()
    ) -> None:
        self._pairs = {f"{a} {b}": (a, b) for a, b in pairs}
        self.items = items
        self.merges = merges

    @classmethod
    def from_matches(cls, start: Matches, names: Mapping[str, str]) -> InOnePlan:
        """The questions of ``start``, sealed."""
        pairs = [(p.a, p.b) for p in start.review]
        return cls(pairs, _items(start, pairs, names), _merges(start))

    def ask(
        self,
        most: int,
        answers: Mapping[tuple[str, str], bool],
        marked: Mapping[str, Draft] | None = None,
        worth: Worth | None = None,
    ) -> Sequence[tuple[str, str]]:
        """The next questions, at most so many, after these answers and drafts of what looked decided; in the order of a review, or of what
        they are ``worth``."""
        drafts = _drafts(answers) | dict(marked or {})
        taught = learn(self.items, drafts)
        told = (worth or by_review)(self, drafts, {s.id: s.probability for s in self.items} | dict(taught.likely))
        left = [s.id for s in self.items if s.id not in drafts and s.id not in taught.follows]
        return [self._pairs[id_] for id_ in sorted(left, key=lambda id_: (-told[id_], id_))[:most]]

    def look_decided(
        self, answers: Mapping[tuple[str, str], bool], marked: Mapping[str, Draft], sure: float
    ) -> dict[str, Draft]:
        """By item the drafts that ``d`` would make after these."""
        found = learn(self.items, _drafts(answers) | dict(marked), sure).decided
        return {id_: Draft(id_, group.verdict, group.note, "gold", _NOW) for group in found for id_ in group.items}

    def pair(self, item: str) -> tuple[str, str]:
        """The rows of a question."""
        return self._pairs[item]


Worth = Callable[[InOnePlan, Mapping[str, Draft], Mapping[str, float]], Mapping[str, float]]
"""What each question is worth after the drafts, which make yes so likely: the most is asked first."""


def by_review(plan: InOnePlan, drafts: Mapping[str, Draft], likely: Mapping[str, float]) -> Mapping[str, float]:
    """As the queue of a review has them."""
    return information(plan.items, likely, merges=plan.merges, drafts=drafts)


def by_uncertainty(_: InOnePlan, __: Mapping[str, Draft], likely: Mapping[str, float]) -> Mapping[str, float]:
    """Those whose probability is next to a half."""
    return {id_: -abs(p - 0.5) for id_, p in likely.items()}


def by_chance(items: Sequence[StoredItem], seed: int) -> Worth:
    """Any of them, the same for each seed."""
    r = Random(seed)  # noqa: S311 - no secret
    drawn = {s.id: r.random() for s in items}
    return lambda _, __, ___: drawn


def by_gold(yes: Mapping[str, bool]) -> Worth:
    """What is right, as the queue would have it if it were sure."""
    sure = {id_: float(right) for id_, right in yes.items()}
    return lambda plan, drafts, _: by_review(plan, drafts, sure)


def _drafts(answers: Mapping[tuple[str, str], bool]) -> dict[str, Draft]:
    said = {f"{a} {b}": "yes" if same else "no" for (a, b), same in answers.items()}
    return {id_: Draft(id_, verdict, "", "gold", _NOW) for id_, verdict in said.items()}


def _items(now: Matches, pairs: Sequence[tuple[str, str]], names: Mapping[str, str]) -> list[StoredItem]:
    """The items that pairs would be."""
    return [
        StoredItem(
            id=f"{p.a} {p.b}",
            operation="dedupe_entities",
            decision="review",
            risk="high",
            tokens=0,
            probability=p.probability,
            mutation=json.dumps({"keep": {"id": p.a}, "absorb": [{"id": p.b}]}),
            evidence=json.dumps(
                {"waterfall": list(p.waterfall), "reason": p.reason, "names": [names.get(p.a, ""), names.get(p.b, "")]},
                default=str,
            ),
            sources="[]",
            kind="merge_rows",
            status="pending",
            reason="",
            question="same",
        )
        for p in now.explain_all(pairs)
    ]


def _merges(now: Matches) -> list[StoredItem]:
    """The items that merges would be."""
    return [
        StoredItem(
            id=f"merge of {ids[0]}",
            operation="dedupe_entities",
            decision="merge",
            risk="low",
            tokens=0,
            probability=1.0,
            mutation=json.dumps({"keep": {"id": ids[0]}, "absorb": [{"id": id_} for id_ in ids[1:]]}),
            evidence="{}",
            sources="[]",
            kind="merge_rows",
            status="pending",
            reason="",
            question="",
        )
        for ids in now.merges
    ]


@dataclass(frozen=True, slots=True)
class Simulated:
    """One set: the best F1 of the cosine, how many ``questions`` the plan has, and what each order reached."""

    cosine: float
    questions: int
    orders: Mapping[str, Reached]

    def beside_chance(self, run: Reached) -> tuple[str, str, str]:
        """Answers until an order signs what chance does after ``ASKED``, their share of those that chance needs, and whether it is half."""
        chance = self.orders["by chance"]
        goal = chance.asked.f1 or 0.0
        number, beside = chance.until(goal), run.until(goal)
        if number is None or beside is None:
            return _number(beside), "–", "no"
        return str(beside), f"{beside / number:.2f}" if number else "–", "yes" if 2 * beside <= number else "no"


def main() -> None:
    """Run the sets and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.review_orders", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="labelled sets besides the generated ones")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the rows of the worlds")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only sets of these names")
    parser.add_argument("--answers", type=int, default=200, help="answers at most")
    parser.add_argument("--rows", type=int, default=6_000, help="rows of a set at most")
    parser.add_argument("--seed", type=int, help="worlds of this seed, and nothing else")
    parser.add_argument("--clean", type=int, metavar="MEMORIES", help="only review a namespace of so many memories")
    given = parser.parse_args()
    console, found = Console(), dict[str, Simulated]()
    if given.clean:
        console.width = max(console.width, 150)
        show([clean(Injected.from_seed(given.clean, given.seed or 1))], console)
        console.print(f"Commit {commit()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}.")
        return
    if given.folder and not given.folder.is_dir():
        console.print(f"{given.folder} is no folder, so only generated sets are asked about.")
        given.folder = None
    console.width = max(console.width, 150)
    with tempfile.TemporaryDirectory(prefix="slowwave-sets-") as made:
        for path in labelled_sets(given.folder, Path(made), given.scale, given.seed):
            name = trial.title(path)
            if (given.only and name not in given.only) or name.startswith("fever"):
                continue
            with console.status(name):
                found[name] = simulate(path, given.answers, given.rows)
            show(parts({name: found[name]}), console)
    console.print(f"Commit {commit()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}.")
    show(parts(found), console)


def labelled_sets(folder: Path | None, made: Path, scale: float, seed: int | None) -> Iterable[Path]:
    """The sets of a folder and the generated ones, or the worlds of a ``seed`` alone."""
    if seed is None:
        yield from matching.sets(folder, made, scale)
        return
    for world in worlds.WORLDS:
        worlds.write(worlds.make(world, scale, seed), made / f"world-{world}.csv")
        yield made / f"world-{world}.csv"


def simulate(path: Path, most: int, rows: int) -> Simulated:
    """A labelled set in each order, and the cosine as one that asks nothing."""
    table, gold_texts = trial.read(path)
    if table.num_rows > rows:
        kept = whole_clusters(gold_texts, rows)
        table, gold_texts = table.take(kept), [gold_texts[k] for k in kept]
    ids, names, attributes = (table[column].to_pylist() for column in ("id", "name", "attributes"))
    place = {id_: k for k, id_ in enumerate(ids)}
    _, gold = np.unique(np.array(gold_texts, np.object_), return_inverse=True)
    kinds = np.unique(np.array(table["entity_type"].to_pylist(), np.object_), return_inverse=True)[1]
    start = match_entities(table, Settings())
    plan = InOnePlan.from_matches(start, dict(zip(ids, names, strict=True)))
    pairs = {s.id: plan.pair(s.id) for s in plan.items}
    right = {id_: bool(gold[place[a]] == gold[place[b]]) for id_, (a, b) in pairs.items()}

    def joined(groups: Iterable[Sequence[str]]) -> Counted:
        ends = [(place[ids[0]], place[id_]) for ids in groups for id_ in ids[1:]]
        i, j = np.array(ends, np.int64).reshape(-1, 2).T
        graph = sparse.coo_matrix((np.ones(len(i), np.int8), (i, j)), shape=(len(place), len(place)))
        return quality.closure(csgraph.connected_components(graph, directed=False)[1].astype(np.int64), gold)

    def ask(worth: Worth, at_once: int = 1) -> Reached:
        answers, signed = dict[tuple[str, str], bool](), [joined(start.merges)]
        while asked := plan.ask(min(at_once, most - len(answers)), answers, worth=worth):
            for a, b in asked:
                answers[a, b] = right[f"{a} {b}"]
                signed.append(joined([*start.merges, *(pair for pair, yes in answers.items() if yes)]))
        said = [(a, b, yes) for (a, b), yes in islice(answers.items(), ASKED)]
        return Reached(signed, joined(start.learn(Answers.from_triples(said)).merges))

    chance = sorted((ask(by_chance(plan.items, n), BATCH) for n in range(SEEDS)), key=lambda run: run.asked.f1 or 0.0)
    orders = {
        "by chance": chance[SEEDS // 2],
        "uncertainty": ask(by_uncertainty),
        "review": ask(by_review),
        "at best": ask(by_gold(right)),
    }
    return Simulated(tfidf.best(names, attributes, kinds, gold).f1, len(plan.items), orders)


def whole_clusters(gold: Sequence[str], rows: int) -> list[int]:
    """Places of about so many rows: clusters in an order by chance, the same each time."""
    members: dict[str, list[int]] = {}
    for k, cluster in enumerate(gold):
        members.setdefault(cluster, []).append(k)
    clusters = sorted(members)
    Random(7).shuffle(clusters)  # noqa: S311 - no secret
    kept: list[int] = []
    for cluster in clusters:
        if len(kept) >= rows:
            break
        kept += members[cluster]
    return sorted(kept)


def parts(found: Mapping[str, Simulated]) -> list[Part]:
    """What is merged after ``ASKED`` answers, and the answers until each F1; a row a set and order."""
    merged = [
        [
            name,
            f"{of.cosine:.3f}",
            str(of.questions),
            order,
            f"{run.signed[0].f1 or 0.0:.3f}",
            *_shares(run.asked),
            *_shares(run.learnt),
        ]
        for name, of in found.items()
        for order, run in of.orders.items()
    ]
    numbers = [
        [name, order, *(_number(run.until(good)) for good in GOOD), *of.beside_chance(run)]
        for name, of in found.items()
        for order, run in of.orders.items()
    ]
    return [
        Part(
            f"Merges after {ASKED} answers",
            "F1 and precision. Signed: merges of the plan with the groups that each yes joins; learnt: what a later night merges that has "
            f"learnt from the answers. By chance: the median of {SEEDS}.",
            ["set", "tf-idf F1", "questions", "order", "F1 before", "signed F1", "precision", "learnt F1", "precision"],
            merged,
        ),
        Part(
            "Answers",
            f"Until F1 of what is signed passed, and until it was what {ASKED} answers by chance, or all, make it. –: it never did.",
            ["set", "order", *(f"until {good:.2f}" for good in GOOD), "until chance's", "of chance's number", "halved"],
            numbers,
        ),
    ]


# Minutes until a namespace is clean. Changes of fact, duplicates and pairs that only look like them are injected into statements about
# other subjects. A scripted reviewer, who knows the facts, answers what the pages of a review show, and sees nothing else.

SECONDS: Final = 5.0
"""Seconds in which the reviewer reads one question, on a card or as a line of a sample; the answer for a group takes as long."""

CHANGED, REPEATED, BOTH_HOLD, OTHERS = 500, 300, 100, 100
"""Injected pairs in 10,000 memories: changes of fact, duplicates, two values that both hold, and subjects whose names share words."""

NIGHTS: Final = 6
"""The most nights; the namespace is clean after the first one that asks nothing and changes nothing."""

OPS: Final = "contradictions,resolve_conflicts,dedupe_memories"
"""Operations that find the injected pairs."""

_TRIES: Final = 3  # samples of one kind that may turn out mixed before its questions are answered one by one
_SEVERAL: Final = ("employer", "manager", "phone number", "delivery address")
"""Relations in which half of the pairs that both hold are hidden among changes."""

_NAMED: Final[Mapping[str, str]] = {
    "ships": "the {n}",
    "companies": "{n} Foods",
    "shops": "the {n} Bakery",
    "products": "the {n} kettle",
    "projects": "Project {n}",
    "services": "the {n} service",
    "teams": "the {n} team",
    "tickets": "ticket {n}",
    "friends": "{n}",
    "orders": "order {n}",
    "rooms_of_house": "the {n} room",
}
_CONTACTS: Final = ("The contact for {s} is {v}.", "The supplier of {s} is {v}.", "The sponsor of {s} is {v}.")
_LIVE: Final = """
SELECT m.external_id FROM memory.memories m WHERE m.valid_to IS NULL AND m.invalidated_at IS NULL AND m.merged_into IS NULL
"""


class _Memory(NamedTuple):
    text: str
    days: int  # before the first night


@dataclass(frozen=True, slots=True)
class Injected:
    """The memories of a namespace, and what a person knows of them: pairs of texts that changed, the earlier first, and that repeat."""

    memories: Sequence[_Memory]
    changed: frozenset[tuple[str, str]]
    repeated: frozenset[frozenset[str]]

    @classmethod
    def from_seed(cls, size: int, seed: int) -> Injected:
        """Make a namespace of ``size`` memories, with as large a share of injected pairs as 10,000 have."""
        rng = Random(seed)  # noqa: S311 - no secret
        share, names = size / 10_000, _names(rng)
        pools: Mapping[str, Sequence[str]] = read_grammar()["pools"]
        relations = [r for r in read_grammar()["relation"] if "subjects" in r and not r.get("many")]
        several = [r for r in relations if r["name"] in _SEVERAL]
        same = [change for how, change in CHANGES.items() if how.startswith("same")]
        memories: list[_Memory] = []

        def subject(relation: Mapping[str, Any]) -> str:
            return _NAMED[relation["subjects"]].replace("{n}", next(names))

        def add(text: str, days: int) -> str:
            memories.append(_Memory(text[:1].upper() + text[1:], days))
            return memories[-1].text

        def state(template: str, of: str, value: str, days: int) -> str:
            return add(template.replace("{s}", of).replace("{v}", value), days)

        changed: list[tuple[str, str]] = []
        for k in range(round(CHANGED * share)):
            relation = relations[k % len(relations)]
            of, (old, new) = subject(relation), rng.sample(pools[relation["values"]], 2)
            form = relation["note"] if k % 5 else relation["sentence"]  # a fifth is stated in another form
            earlier = state(relation["note"][0], of, old, 300 - k % 90)
            changed.append((earlier, state(rng.choice(form), of, new, 100 - k % 90)))
        for k in range(round(BOTH_HOLD * share)):
            relation = several[k // 2 % len(several)]
            of, values = subject(relation), rng.sample(pools[relation["values"]], 2)
            template = relation["note"][0] if k % 2 else _CONTACTS[k // 2 % len(_CONTACTS)]
            for value, days in zip(values, (310, 95), strict=True):
                state(template, of, value, days)

        def one() -> tuple[Mapping[str, Any], str]:
            relation = rng.choice(relations)
            return relation, rng.choice(pools[relation["values"]])

        repeated: list[frozenset[str]] = []
        for k in range(round(REPEATED * share)):
            relation, value = one()
            first = state(relation["note"][0], subject(relation), value, 200)
            second = same[k % len(same)](first, rng) or f"Note: {first}"
            memories.append(_Memory(second, 120))
            repeated.append(frozenset((first, second)))
        for _ in range(round(OTHERS * share)):
            relation, value = one()
            of = subject(relation)
            state(relation["note"][0], of, value, 200)
            state(relation["note"][0], f"{of} East" if of[0].isupper() else f"{of} next door", value, 120)
        while len(memories) < size:
            relation, value = one()
            state(relation["note"][0], subject(relation), value, rng.randrange(400))
        return cls(memories, frozenset(changed), frozenset(repeated))

    def answer(self, operation: str, texts: Sequence[str]) -> str:
        """Return the answer of someone who knows the facts to a question that quotes ``texts``, the one that would end first."""
        if operation == "dedupe_memories":
            return "same" if frozenset(texts) in self.repeated else "different"
        pair = (texts[0], texts[-1])
        return "this" if pair in self.changed else "other" if pair[::-1] in self.changed else "both"


def _names(rng: Random) -> Iterator[str]:
    """Yield different names of two words. Coined ones would not do: they look like slips of each other."""
    given, surnames = (sorted({n for names in of.values() for n in names}) for of in (GIVEN, SURNAMES))
    names = [f"{one} {other}" for one in given for other in surnames]
    rng.shuffle(names)
    yield from names


class _Row(NamedTuple):
    """An open question as the list of a page, or a sample, shows it."""

    item: str
    texts: Sequence[str]
    operation: str
    odds: float = 1.0


class ScriptedReviewer:
    """Someone who knows the facts and reads only pages; ``cards`` counts the questions read, ``forced`` the approvals that needed force."""

    def __init__(self, store: Store, gold: Injected) -> None:
        self._origin, self._gold = "http://127.0.0.1:4600", gold
        entrance = entrance_of("127.0.0.1", 4600, reviewer="mara")
        self._client = TestClient(review_app(store, entrance), base_url=self._origin)
        self._below = self._token = ""
        self._get(entrance.link())
        self._tries: Counter[str] = Counter()
        self.cards = self.answers = self.forced = self.groups = 0

    def review(self, plan: str) -> None:
        """Answer every question of a plan and of those that follow, the listed ones first; approve and apply them."""
        path = f"/plans/{plan}"
        left = [path]
        while left:
            at = left.pop()
            for every in ("", "?state=open"):
                page = self._get(at + every)
                while row := _open_row(page):
                    self._answer(at, row)
                    page = self._get(at + every)
            left += (
                [f"/plans/{after}"] if (after := self._client.get(f"{self._below}{at}/drafts").json()["next"]) else []
            )
        self._sign(path)

    def _answer(self, path: str, row: _Row) -> None:
        kind = row.operation
        if asked := re.search(
            r'<h3 id="group-of">(.*?)</h3>', card := self._get(f"{path}/items/{row.item}"), re.DOTALL
        ):
            kind = _plain(asked[1]).partition(" ")[2]
        if (asked or kind == "dedupe_memories") and self._group(path, row, kind):
            return
        assert card, "the page shows a card"
        self.cards += 1
        self.answers += 1
        given = self._gold.answer(row.operation, row.texts)
        self._post(f"{path}/drafts", {"item": row.item, "verdict": given})

    def _group(self, path: str, row: _Row, kind: str) -> bool:
        """Check a sample and answer the group if all of it agrees, or each relation as checked if the page offers it.

        Return whether the question of ``row`` was answered by that.
        """
        least, kind = 0.0, re.sub(r"[\d,]+|“[^”]*”", "", kind)
        while self._tries[kind] < _TRIES:
            page = self._get(f"{path}/alike?item={row.item}&at_least={least}")
            sample = [one._replace(operation=row.operation) for one in _sampled(page)]
            if len(sample) < SAMPLE:
                return False
            said = {s.item: self._gold.answer(s.operation, s.texts) in ("this", "same") for s in sample}
            each, agreed = 'value="each"' in page, len(set(said.values())) == 1
            fields = {f"check-{item}": "yes" if right else "no" for item, right in said.items()}
            fields |= {
                "item": row.item,
                "at_least": str(least),
                "verdict": "each" if each and not agreed else "yes" if all(said.values()) else "no",
                "known_by": _hidden(page, "known_by"),
            }
            self._post(f"{path}/alike", fields)
            self.cards += len(sample)
            self.answers += len(sample)
            if agreed or each:
                self.cards += 1
                self.answers += 1
                self.groups += 1
                if not agreed:
                    self._tries[kind] = _TRIES
                    return True
                return least == 0.0
            self._tries[kind] += 1
            least = max(s.odds for s in sample if not said[s.item]) + 0.001  # as likely as the page shows it
            if row.operation != "dedupe_memories" or least > 1:
                self._tries[kind] = _TRIES
            if row.item in said:
                return True
        return False

    def _sign(self, path: str) -> None:
        page = self._get(f"{path}/sign")
        fields = {"shown": _hidden(page, "shown"), "include_decided": "yes"}
        answered = self._post(f"{path}/sign", fields)
        if answered.status_code == 409 and 'name="force"' in answered.text:
            self.forced += 1
            self._post(f"{path}/sign", fields | {"force": "yes", "note": "I answered each of them."})
        approvals = re.findall(r'name="approval" value="([0-9a-f-]{36})"', self._get(f"{path}/signed"))
        for approval in dict.fromkeys(approvals):
            self._post(f"{path}/apply", {"approval": approval})

    def _get(self, path: str) -> str:
        text = self._client.get(path if path.startswith("/enter") else f"{self._below}{path}").text
        if found := re.search(r'content="(/s/[0-9a-f]{64})"', text):
            self._below = found[1]
        return text

    def _post(self, path: str, fields: Mapping[str, str]) -> Any:
        if not self._token:  # it is that of the session
            found = re.search(r'data-form-token="([0-9a-f]{64})"', self._get(path.rpartition("/")[0]))
            self._token = found[1] if found else ""
        form = {"form_token": self._token, **fields}
        return self._client.post(
            f"{self._below}{path}", data=form, headers={"origin": self._origin}, follow_redirects=False
        )


def _open_row(page: str) -> _Row | None:
    """Return the question that a page shows, if it is open."""
    for attributes, rest in re.findall(r'<a class="row"([^>]*)>(.*?)</a>', page, re.DOTALL):
        named = dict(re.findall(r'data-([a-z]+)="([^"]*)"', attributes))
        if named["verdict"] == "open":
            operation = _plain(rest).rpartition(" · ")[0].rpartition("· ")[2]
            return _Row(named["item"], _quoted(named["words"]), operation)
    return None


def _sampled(page: str) -> list[_Row]:
    found: list[_Row] = []
    for one in re.findall(r"<li><fieldset>(.*?)</fieldset>", page, re.DOTALL):
        odds = re.search(r'odds">([\d.]+) %', one)
        item = re.search(r'name="check-([0-9a-f-]{36})"', one)
        title = re.search(r"<legend><a [^>]*>(.*?)</a>", one, re.DOTALL)
        if item and title:
            found.append(_Row(item[1], _quoted(_plain(title[1])), "", float(odds[1]) / 100 if odds else 1.0))
    return found


def _quoted(text: str) -> list[str]:
    return re.findall("“([^”]*)”", html.unescape(text))


def _plain(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())


def _hidden(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([0-9a-f]+)"', page)
    return found[1] if found else ""


def clean(made: Injected) -> Part:
    """Plan, review and apply nights of a namespace until one asks and changes nothing; a row with the figures of each."""
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as home:
        os.environ["SLOWWAVE_HOME"] = home
        os.environ.pop("SLOWWAVE_DATABASE_URL", None)
        try:
            store = open_store()
            remember(store, made)
            reviewer = ScriptedReviewer(store, made)
            rows: list[list[str]] = []
            for n in range(NIGHTS):
                plan = run_night(store, "bench", ops=OPS, force=True).plan
                if plan is None or not plan.items:
                    break
                reviewer.review(plan.plan_hash)
                rows.append([str(n + 1), *figures(store, made, reviewer, sum(i.is_question for i in plan.items))])
        finally:
            server.stop(Path(home))
    return Part(
        f"A namespace of {len(made.memories):,} memories",
        f"{len(made.changed):,} changes and {len(made.repeated):,} duplicates are injected. Questions, answers and minutes (at {SECONDS:g} "
        f"seconds a question) are those of a scripted reviewer who sees only pages; figures add up over the nights of {OPS}.",
        [
            *("night", "questions", "read", "answers", "groups", "minutes", "forced"),
            *("changes ended", "duplicates merged", "wrong", "of all changes"),
        ],
        rows,
    )


def remember(store: Store, made: Injected) -> None:
    """Import the memories into the namespace ``bench``."""
    start = datetime.now(UTC).replace(microsecond=0)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for k, one in enumerate(made.memories):
            at = (start - timedelta(days=one.days)).isoformat()
            file.write(json.dumps({"id": str(k), "text": one.text, "created_at": at}) + "\n")
        file.flush()
        with store.connect("owner") as connection:
            import_memories(connection, Path(file.name), embedder=embedder_for(Settings()), namespace="bench")


def figures(store: Store, made: Injected, reviewer: ScriptedReviewer, questions: int) -> list[str]:
    """Return the figures of a row, by what is live now."""
    with store.connect("reader") as connection:
        live = {made.memories[int(str(k))].text for (k,) in connection.execute(_LIVE)}
    gone = {one.text for one in made.memories} - live
    ended = sum(earlier in gone and later in live for earlier, later in made.changed)
    merged = sum(len(pair & live) == 1 for pair in made.repeated)
    right = {earlier for earlier, _ in made.changed}.union(*made.repeated)
    wrong = len(gone - right) + sum(not pair & live for pair in made.repeated)
    share = f"{wrong / len(gone):.2%}" if gone else "–"
    minutes = f"{reviewer.cards * SECONDS / 60:.1f}"
    numbers = (questions, reviewer.cards, reviewer.answers, reviewer.groups)
    return [*map(str, numbers), minutes, str(reviewer.forced), str(ended), str(merged), str(wrong), share]


def _shares(merged: Counted) -> tuple[str, str]:
    """F1 and precision of what was merged, where anything was."""
    if not merged.said:
        return "–", "–"
    return f"{merged.f1 or 0.0:.3f}", f"{merged.precision or 0.0:.3f}"


def _number(answers: int | None) -> str:
    return "–" if answers is None else str(answers)


if __name__ == "__main__":
    main()
