"""Conflicts between what a speaker denies or dislikes and what the same speaker asserts or likes, wherever it stands in their texts.

"I have never visited the mill." is compared with the clauses in which the same author of one scope asserts something
(``slowwave.text.clauses``), by the share of its words that they contain, each weighted by its rarity among the author's texts. Only the
best clause is asked about: in a trial most questions about all of them were wrong. A dislike is compared with likings of the same object.

A person always decides. If one of both texts states something else as well, no memory may lose the conflict, because what else it states
still holds: the later statement is noted next to the earlier sentence instead (``mark_ended_statements``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations.conflicts.memories import EndedStatement, OverValue
from slowwave.operations.conflicts.rows import (
    CROWD,
    Bools,
    Found,
    Ints,
    StatementRows,
    Tally,
    among,
    codes,
    conflicts_of,
    pack,
)
from slowwave.plans.questions import Conflict
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.clauses import (
    DISLIKES,
    LIKES,
    NEVER,
    Proposition,
    contradiction,
    excludes,
    read_clauses,
    stems,
)
from slowwave.text.contradictions import Kind
from slowwave.text.keys import keys
from slowwave.text.prefilter import matching
from slowwave.text.subjects import PROGRAMS, says_later

_OWN: Final = r"(?i)\bi\b"
USERS: Final = frozenset(("user", "human"))
_PRIOR: Final = 50  # texts that are added to an author's, so that two texts alone make no word common
_COMMON: Final = 200  # texts with a word from which it proposes no candidates; it is weighed all the same
_COMPARED: Final = 24  # texts with the largest shares whose clauses are parsed


class OpposedPair(NamedTuple):
    """Two statements by number that exclude each other, with their sentences and the kind of contradiction.

    With ``replaces`` the later one says that something has changed; ``over`` are then the words of a name that is no longer the value.
    """

    rule: str
    one: int
    two: int
    sentences: tuple[str, str]
    reason: Kind | Literal["done"] = "polarity"
    replaces: bool = False
    over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class OpposedStatements:
    """Conflicts of memories that state nothing else, and sentences of longer memories next to which the later one is noted.

    ``longer`` are the conflicts of the longer memories, ``values`` the names that a statement replaces.
    """

    conflicts: Sequence[Conflict]
    sentences: Sequence[EndedStatement]
    pairs: int
    longer: Sequence[Conflict] = ()
    values: Sequence[OverValue] = ()


def opposed_statements(snapshot: Snapshot) -> OpposedStatements:
    """Find the conflicts of the rules "denial" and "preference" between active memories of one scope and author.

    Needs the tables memories and memory_versions. Only the texts of authors who deny or dislike something are read: about 10 µs per text
    and 50 µs per sentence of a candidate. The last answer is cached as long as its tables exist.
    """
    given = snapshot.table("memories"), snapshot.table("memory_versions")
    return snapshot.answers.find_once("opposed statements", given, (), lambda: _find(snapshot))


def opposed_conflicts(snapshot: Snapshot, tally: Tally, *, longer: bool = False) -> Sequence[Conflict]:
    """Return the conflicts of ``opposed_statements``, and with ``longer`` those of longer memories."""
    found = opposed_statements(snapshot)
    tally.add("denials and dislikes that another statement contradicts", found.pairs)
    return [*found.conflicts, *(found.longer if longer else ())]


def _find(snapshot: Snapshot) -> OpposedStatements:
    memories = active_memories(snapshot)
    memories = memories.filter(pc.not_equal(memories["kind"], "summary")).combine_chunks()
    denies, dislikes = (_flags(memories, pattern) for pattern in (NEVER, DISLIKES))
    if not denies.any() and not dislikes.any():
        return OpposedStatements((), (), 0)
    user, program = (among(memories["author"], authors) for authors in (USERS, PROGRAMS))
    scope, author = codes(memories["scope"])[0], np.where(user, -1, codes(memories["author"])[0]) + 1
    speaker = pack(scope, author)
    own = np.isin(speaker, speaker[denies]) & ~program & _flags(memories, _OWN)
    feels = np.isin(scope, scope[dislikes]) & (_flags(memories, LIKES) | dislikes)
    kept = np.flatnonzero(own | feels)
    memories = memories.take(pa.array(kept))
    audience = (codes(memories[c])[0] for c in ("pinned", "visibility", "sensitivity"))
    rows = StatementRows.fold(memories, pack(speaker[kept], codes(keys(memories["text"]))[0], *audience))
    texts = rows.texts("text", np.arange(len(rows)))
    when, first = rows.last().tolist(), kept[rows.first]
    pairs: list[OpposedPair] = []
    for members in _groups(speaker[first], own[first]):
        pairs += _denied(members, texts, when, denies[first])
    holders = np.where(user, "user", np.where(program, "", speaker.astype(str)))[first].tolist()
    for members in _groups(scope[first], feels[first]):
        pairs += _disliked(members, texts, when, holders)
    return opposed(rows, texts, when, pairs)


def _flags(memories: pa.Table, pattern: str) -> Bools:
    return matching(memories["text"], pattern).to_numpy(zero_copy_only=False).astype(bool)


def _groups(group: Ints, chosen: Bools) -> Iterator[list[int]]:
    """Yield the numbers of the chosen statements of each group."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for n in np.flatnonzero(chosen).tolist():
        found[int(group[n])].append(n)
    yield from found.values()


def _denied(members: Sequence[int], texts: Sequence[str], when: Sequence[int], denies: Bools) -> Iterator[OpposedPair]:
    """Yield for each denial of one author the statement with the best clause against it."""
    denials = [one._replace(text_id=n) for n in members if denies[n] for one in read_clauses(texts[n]).denials]
    if not denials:
        return
    wanted = {word for denial in denials for word in denial.words}
    having: defaultdict[str, list[int]] = defaultdict(list)
    words: dict[int, frozenset[str]] = {}
    for n in members:
        words[n] = stems(texts[n]) & wanted
        for word in words[n]:
            having[word].append(n)
    weights = {word: math.log((len(members) + _PRIOR) / max(len(having[word]), 1)) for word in wanted}
    best: dict[tuple[int, str], tuple[float, int, int, str]] = {}
    for denial in denials:
        of_denial = denial.text_id, denial.span.sentence
        for m in _likely(denial, having, words, weights):
            for assertion in read_clauses(texts[m]).assertions:
                if score := contradiction(denial, assertion, weights):
                    found = round(score, 6), when[m], m, assertion.span.sentence
                    best[of_denial] = max(best.get(of_denial, found), found)
    for (n, sentence), (*_, m, other) in best.items():
        yield OpposedPair("denial", n, m, (sentence, other))


def _likely(
    denial: Proposition,
    having: Mapping[str, Sequence[int]],
    words: Mapping[int, frozenset[str]],
    weights: Mapping[str, float],
) -> list[int]:
    """Return the texts that have the most of a denial's words by weight, whatever its verb."""
    own = denial.words
    found = {m for word in own if len(having[word]) <= _COMMON for m in having[word]} - {denial.text_id}
    share = {m: sum(weights[w] for w in own & words[m]) for m in found}
    return sorted(found, key=lambda m: (-share[m], m))[:_COMPARED]


def _disliked(
    members: Sequence[int], texts: Sequence[str], when: Sequence[int], holders: Sequence[str]
) -> Iterator[OpposedPair]:
    """Yield for each dislike the latest liking of the same object by the same holder, else of one that contains it or is contained.

    ``holders`` are those of "I" in each statement; a program's likings are nobody's. Each liking is in one pair at most.
    """
    likes: defaultdict[tuple[str, str], list[Proposition]] = defaultdict(list)
    dislikes: defaultdict[tuple[str, str], list[Proposition]] = defaultdict(list)
    for n in sorted(members, key=lambda n: (-when[n], n)):
        for one in read_clauses(texts[n]).attitudes:
            if holder := one.speaker if one.speaker == "user" else holders[n]:
                key = holder, one.slots[0].words[-1]
                (dislikes if one.polarity == "denied" else likes)[key].append(one._replace(text_id=n))
    for key, disliked in dislikes.items():
        left = likes.get(key, [])[:CROWD]
        for dislike in disliked[:CROWD]:
            fits = [one for one in left if one.text_id != dislike.text_id and excludes(dislike, one)]
            if fits:
                liking = min(fits, key=lambda one: one.words != dislike.words)
                sentences = dislike.span.sentence, liking.span.sentence
                yield OpposedPair("preference", dislike.text_id, liking.text_id, sentences)
                left.remove(liking)


def opposed(
    rows: StatementRows, texts: Sequence[str], when: Sequence[int], pairs: Sequence[OpposedPair]
) -> OpposedStatements:
    """Return conflicts of memories that state nothing else; of other pairs, the earlier sentence that the later one contradicts."""
    found: Found = []
    within: Found = []
    ended: list[EndedStatement] = []
    values: list[OverValue] = []
    ends = (np.array([p.one for p in pairs], np.int64), np.array([p.two for p in pairs], np.int64))
    for pair, overlap in zip(pairs, rows.overlap(*ends).tolist(), strict=True):
        if not overlap:
            continue
        (since, old, said), (until, new, later) = sorted(
            (when[n], n, s) for n, s in zip((pair.one, pair.two), pair.sentences, strict=True)
        )
        replaces = pair.replaces and since < until
        if replaces and pair.over:
            values.append(OverValue(pair.over, str(rows.table["id"][int(rows.first[new])]), later))
        single = read_clauses(texts[old]).is_single and (replaces or read_clauses(texts[new]).is_single)
        evidence: dict[str, object] = {"rule": pair.rule, "replaces" if replaces and single else "doubtful": True}
        if pair.reason == "done":
            evidence["task"] = str(rows.table["id"][int(rows.first[old])])
        conflict = min(old, new), max(old, new), pair.reason, evidence
        if single:
            found.append(conflict)
        elif (
            since < until
            and not says_later(said)
            and (
                one := EndedStatement.from_statements(
                    rows, old, new, said, later, until, pattern=pair.rule, holds=not replaces
                )
            )
        ):
            ended.append(one)
            within.append(conflict)
    conflicts, longer = (conflicts_of(rows, "memories", some) for some in (found, within))
    return OpposedStatements(conflicts, ended, len(pairs), longer, values)
