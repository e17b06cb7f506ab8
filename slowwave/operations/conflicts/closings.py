"""Questions whether a task of a memory is done, or a statement withdrawn, because a later memory of its scope says so.

"TODO: renew the certificate of the shop." is compared with the later clauses of one scope, by any author, that say that something was done
or dropped (``slowwave.text.closings``), by the share of its words that they have, each weighted by its rarity in the scope. Each open item
is asked about once, with the best clause. A withdrawal ("The pin was taken back", "Ticket 812 has been reopened") is compared with the
earlier statements that have all words of its object; the latest is asked about, and none if many fit. A person decides. If the earlier
memory states something else as well, it is not ended: the later statement is noted next to the sentence (``mark_ended_statements``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations.conflicts.denials import OpposedPair, OpposedStatements, opposed
from slowwave.operations.conflicts.rows import StatementRows, Tally, among, codes, pack
from slowwave.operations.conflicts.values import TURNS
from slowwave.plans.questions import Conflict
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.clauses import stems
from slowwave.text.closings import (
    MAY_WITHDRAW,
    OpenItem,
    Withdrawal,
    closing_share,
    may_have_open_items,
    read_closings,
    read_open_items,
    read_withdrawals,
    roots,
    withdrawn_sentence,
)
from slowwave.text.keys import keys
from slowwave.text.prefilter import matching
from slowwave.text.subjects import PROGRAMS, says_later

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST: Final = 2_000  # characters of a text
_PRIOR: Final = 50  # texts that are added to a scope's, so that two texts alone make no word common
_COMMON: Final = 200  # texts with a word from which it proposes no candidates; it is weighed all the same
_SEVERAL: Final = 3  # earlier statements that a withdrawal may fit; the latest is shown
_COMPARED: Final = 16  # texts with the largest shares whose clauses are parsed


def closing_conflicts(snapshot: Snapshot, tally: Tally, *, longer: bool = False) -> Sequence[Conflict]:
    """Return the conflicts of ``closed_items``, and with ``longer`` those of longer memories."""
    found = closed_items(snapshot)
    tally.add("open items that a later statement closes", found.pairs)
    return [*found.conflicts, *(found.longer if longer else ())]


def closed_items(snapshot: Snapshot) -> OpposedStatements:
    """Find open items and withdrawn statements of active memories, each with the later statement of its scope that ends it.

    Needs the tables memories and memory_versions. Summaries and turns of programs are left out. Cost: 12 µs per text, 40 µs per text that
    may have an open item, 10 µs per text of a scope with one, and 60 µs per sentence of a candidate, of which an item has at most 16. A
    scope with a withdrawal costs 20 µs per text more, and 60 µs per sentence of the at most 200 texts with its rarest word. The last answer
    is cached as long as its tables exist.
    """
    given = snapshot.table("memories"), snapshot.table("memory_versions")
    return snapshot.answers.find_once("closed items", given, (), lambda: _find(snapshot))


def _find(snapshot: Snapshot) -> OpposedStatements:
    memories = active_memories(snapshot)
    memories = memories.filter(pc.less_equal(pc.utf8_length(memories["text"]), _LONGEST))
    program = among(memories["kind"], TURNS) & among(memories["author"], PROGRAMS)
    kept = ~among(memories["kind"], ("summary",)) & ~program
    memories = memories.filter(pa.array(kept)).combine_chunks()
    if len(memories) < 2:
        return OpposedStatements((), (), 0)
    columns = ("scope", "author", "kind", "pinned", "visibility", "sensitivity")
    rows = StatementRows.fold(
        memories, pack(*(codes(memories[c])[0] for c in columns), codes(keys(memories["text"]))[0])
    )
    texts = rows.texts("text", np.arange(len(rows)))
    when = rows.last().tolist()
    scopes = codes(memories["scope"])[0][rows.first].tolist()
    items: defaultdict[int, list[tuple[int, OpenItem]]] = defaultdict(list)
    withdrawals: defaultdict[int, list[tuple[int, Withdrawal]]] = defaultdict(list)
    withdraw = matching(pa.array(texts, pa.large_string()), MAY_WITHDRAW.pattern).to_pylist()
    for n, (text, may_have, withdraws) in enumerate(zip(texts, may_have_open_items(texts), withdraw, strict=True)):
        if may_have and not says_later(text) and (read := read_open_items(text)):
            items[scopes[n]] += ((n, item) for item in read)
        if withdraws and (withdrawn := read_withdrawals(text)):
            withdrawals[scopes[n]] += ((n, one) for one in withdrawn)
    members: defaultdict[int, list[int]] = defaultdict(list)
    for n, scope in enumerate(scopes):
        if scope in items or scope in withdrawals:
            members[scope].append(n)
    pairs = [pair for scope, some in items.items() for pair in _closed(some, members[scope], texts, when)]
    for scope, some in withdrawals.items():
        pairs += _withdrawn(some, members[scope], texts, when)
    return opposed(rows, texts, when, pairs)


def _withdrawn(
    withdrawals: Sequence[tuple[int, Withdrawal]],
    members: Sequence[int],
    texts: Sequence[str],
    when: Sequence[int],
) -> Iterator[OpposedPair]:
    """Yield each withdrawal of a scope with the latest earlier statement that it fits, unless it fits too many."""
    wanted = {word for _, one in withdrawals for word in one.words}
    having: defaultdict[str, list[int]] = defaultdict(list)
    for n in members:
        for word in roots(texts[n]) & wanted:
            having[word].append(n)
    best: dict[tuple[int, str], tuple[int, Withdrawal]] = {}
    for m, one in sorted(withdrawals, key=lambda each: when[each[0]]):
        rarest = min((having[word] for word in one.words), key=len)
        earlier = [n for n in rarest if when[n] < when[m]] if len(rarest) <= _COMMON else []
        fits = sorted((when[n], n, said) for n in earlier if (said := withdrawn_sentence(texts[n], one)))
        if fits and len(earlier if len(one.words) == 1 else fits) <= _SEVERAL:
            best[fits[-1][1:]] = m, one
    for (n, said), (m, one) in best.items():
        yield OpposedPair("closing", n, m, (said, one.sentence), "object" if one.ending == "moved" else "polarity")


def _closed(
    items: Sequence[tuple[int, OpenItem]], members: Sequence[int], texts: Sequence[str], when: Sequence[int]
) -> Iterator[OpposedPair]:
    """Yield each open item of a scope that a later statement closes, with the best one, the latest of equals."""
    wanted = {word for _, item in items for word in item.words}
    words = {n: stems(texts[n]) & wanted for n in members}
    having: defaultdict[str, list[int]] = defaultdict(list)
    for n, own in words.items():
        for word in own:
            having[word].append(n)
    weights = {word: math.log((len(members) + _PRIOR) / max(len(having[word]), 1)) for word in wanted}
    for n, item in items:
        year = (_EPOCH + timedelta(microseconds=when[n])).year
        found = [
            (round(share, 6), when[m], m, closing.sentence)
            for m in _likely(item, when[n], having, words, weights, when)
            for closing in read_closings(texts[m])
            if not 0 < closing.year < year and (share := closing_share(item, closing, weights))
        ]
        if found:
            *_, m, sentence = max(found)
            yield OpposedPair("closing", n, m, (item.sentence, sentence), "done")


def _likely(
    item: OpenItem,
    since: int,
    having: Mapping[str, Sequence[int]],
    words: Mapping[int, frozenset[str]],
    weights: Mapping[str, float],
    when: Sequence[int],
) -> list[int]:
    """Return the later texts that have the most of an item's words by weight."""
    found = {m for word in item.words if len(having[word]) <= _COMMON for m in having[word] if when[m] > since}
    share = {m: sum(weights[w] for w in item.words if w in words[m]) for m in found}
    return sorted(found, key=lambda m: (-share[m], -when[m], m))[:_COMPARED]
