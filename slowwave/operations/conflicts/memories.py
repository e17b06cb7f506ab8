"""Conflicts between memories: numbers, dates and negations that clash, figures, mentions, and sentences that have ended."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain, combinations
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.matching.vectors import Floats, neighbours_within, pairs_of
from slowwave.operations.conflicts.rows import (
    CROWD,
    Found,
    Ints,
    StatementRows,
    Tally,
    among,
    codes,
    conflicts_of,
    kinds,
    pack,
    pairs_within,
)
from slowwave.operations.options import NeighbourGraphOptions
from slowwave.plans.questions import Conflict
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from slowwave.text.alignment import are_other_tasks
from slowwave.text.clauses import are_quoted, stem_of
from slowwave.text.contradictions import Kind, difference, find, kind_of_figures
from slowwave.text.dates import BESIDE
from slowwave.text.ended_values import ended_values
from slowwave.text.keys import keys
from slowwave.text.prefilter import matching, rewritten
from slowwave.text.sameness import Reading, read
from slowwave.text.sameness_words import TURNS
from slowwave.text.specifics import specifics
from slowwave.text.subjects import (
    NO_PRESENT,
    are_about_others,
    are_apart,
    are_of_others,
    are_other_cases,
    have_other_names,
    is_own,
    matter,
    name_other_subjects,
    names,
    of_one_matter,
    persons,
    said,
    says_later,
    says_new,
    share_a_measure,
    stating,
)
from slowwave.text.tokens import fold
from slowwave.text.words import GRAMMAR

# Conflicts between memories: near pairs of one kind and subject that contradict each other in a number, a date, a term or a "not".
#
# A near pair is often about two things ("the build of Monday", "the build of Tuesday"), so more is asked than for facts: the texts must
# have most of their words in common, speak of the same persons with the same certainty, and ask nothing. What happened once may happen
# again: of events only polarity counts. Without a subject nothing says that both are about one thing: such a conflict is doubtful.

Reals = NDArray[np.floating[Any]]

TABLE: Final = "memories"

ONCE: Final = ("event", "episodic", "working")
"""Kinds that state what happened: another number or date is another event."""

LONGEST: Final = 500
"""Characters of a memory about one matter; longer ones are left out, and counted."""

_SHARED: Final = 0.7  # of the words of content of the shorter text
_LEAST: Final = 2  # words of content that both must have
_APART: Final = 2  # words that each may have beside those of the other
_DENIES: Final = r"\b(?:not|never|cannot|no longer)\b|n['’]t\b"
_PLAIN: Final = (  # a text without its negation, in the crude stems that "accepts" and "does not accept" share
    (r"\bcan(?:not|['’]t)\b", "can"),
    (r"\bwon['’]t\b", "will"),
    (r"\b(?:do|does|did)(?: not\b|n['’]t\b)", ""),
    (r"\b(?:not|never|no longer)\b|n['’]t\b", ""),
    (r"(\w{2})(?:es|ed|s|e)\b", r"\1"),
    (r"[^\pL\pN]+", " "),
    (r"^ | $", ""),
)
_HOW_OFTEN: Final = frozenset(TURNS[word] for word in ("always", "never", "every", "usually", "sometimes"))


def memory_conflicts(snapshot: Snapshot, settings: Settings, tally: Tally) -> Sequence[Conflict]:
    """Find all conflicts between active memories that are near by their vectors or, without vectors, have most words in common.

    Needs the tables memories, memory_versions and memory_vectors. The rule compares the nearest neighbours (the settings of
    ``neighbour_graph``) within one kind, scope, subject and author, and there the plain negations of each other at any distance. Memories
    with the same text and audience are compared as one, pinned ones separately. Time: that of ``neighbours_within``, and 20 to 60 µs per
    pair. The last answer is cached as long as its tables exist.
    """
    given = (snapshot.table("memories"), snapshot.table("memory_versions"), snapshot.vectors["memory_vectors"].matrix)
    options = settings.options("neighbour_graph", NeighbourGraphOptions)
    found, numbers = snapshot.answers.find_once(
        "conflicts of memories",
        given,
        (options.top_k, options.similarity),
        lambda: _find(snapshot, settings),
    )
    for name, count in numbers.items():
        tally.add(name, count)
    return found


def _find(snapshot: Snapshot, settings: Settings) -> tuple[Sequence[Conflict], Mapping[str, int]]:
    tally = Tally()
    return _among_memories(snapshot, settings, tally), tally.numbers


def _among_memories(snapshot: Snapshot, settings: Settings, tally: Tally) -> list[Conflict]:
    memories = active_memories(snapshot)
    tally.add("memories looked at", len(memories))
    vectors = snapshot.vectors["memory_vectors"]
    places = vectors.rows_of(memories["id"].combine_chunks()) if len(memories) else np.empty(0, np.int64)
    short = pc.less_equal(pc.utf8_length(memories["text"]), LONGEST).to_numpy().astype(bool)
    said = pc.not_equal(memories["text"], "").to_numpy().astype(bool)
    tally.add("memories without a vector", int((places < 0).sum()))
    tally.add("memories too long to compare", int((~short).sum()))
    usable = short & said
    memories, places = memories.filter(pa.array(usable)).combine_chunks(), places[usable]
    if not len(memories):
        tally.add("near pairs of memories", 0)
        return []
    block = pack(*(codes(memories[c])[0] for c in ("kind", "scope", "author")), codes(keys(memories["subject"]))[0])
    _, block = np.unique(block, return_inverse=True)
    rows = StatementRows.fold(
        memories,
        pack(
            *(block.astype(np.int64), codes(keys(memories["text"]))[0]),
            *(codes(memories[c])[0] for c in ("pinned", "visibility", "sensitivity")),
        ),
    )
    options = settings.options("neighbour_graph", NeighbourGraphOptions)
    block, held = block.astype(np.int64)[rows.first], _places(rows, places)
    near = _near(vectors.matrix, options.top_k, options.similarity, held, block, np.arange(len(rows)))
    tally.add("near pairs of memories", len(near[0]))
    near = _with_equal_words(rows, near, block, held, np.arange(len(rows)))
    i, j, cosine = _with_denials(rows, block, near, vectors.matrix, held)
    overlap = rows.overlap(i, j)
    i, j, cosine = i[overlap], j[overlap], cosine[overlap]
    one, two = rows.texts("text", i), rows.texts("text", j)
    once = among(memories["kind"], ONCE)[rows.first[i]]
    about = pc.not_equal(memories["subject"], "").to_numpy().astype(bool)[rows.first[i]]
    found: Found = []
    for k, clash in enumerate(kinds(one, two)):
        if clash is None or (once[k] and clash != "polarity"):
            continue
        a, b = read(one[k]), read(two[k])
        if one_matter(a, b, about=bool(about[k]), denied=clash == "polarity") and not _are_apart(one[k], two[k], clash):
            evidence = evidence_of("texts", float(cosine[k]))
            if not about[k] or "similarity" not in evidence:
                evidence["doubtful"] = True
            found.append((int(i[k]), int(j[k]), clash, evidence))
    return conflicts_of(rows, TABLE, found)


# Rows without vectors, such as those of a connected table, are compared with rows that have the same words.

WORDS: Final = re.compile(r"[^\W_]+(?:[.,:/’'-][^\W_]+)*")
_RAREST: Final = 5  # words of a clause, by each two of which it is found
_COMMON: Final = 24  # clauses with two words from which these find none


def sharing(clauses: Sequence[frozenset[str]], scopes: Sequence[str]) -> Iterator[list[int]]:
    """Yield the groups of clauses of one scope that share two words, which are among the rarest of each; too large ones are left out.

    The first word of a clause with "^" before it counts beside the rarest.
    """
    counts = Counter(chain.from_iterable(clauses))
    common = sorted((word[0] == "^", n, word) for word, n in counts.items() if n > 1)
    place = {word: n for n, (_, _, word) in enumerate(common)}  # the rarest words first, then first words
    firsts = next((n for n, (first, *_) in enumerate(common) if first), len(common))
    figure = [word[0].isdigit() for _, _, word in common]
    having: defaultdict[str, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for k, (clause, scope) in enumerate(zip(clauses, scopes, strict=True)):
        shared = sorted(place[word] for word in clause if word in place)
        shared = [at for n, at in enumerate(shared) if n < _RAREST or at >= firsts]
        own = having[scope]
        for one, other in combinations(shared, 2):
            if not (figure[one] and figure[other]):  # two figures name no subject
                own[one * len(common) + other].append(k)
    yield from (found for own in having.values() for found in own.values() if 1 < len(found) <= _COMMON)


def _with_equal_words(
    rows: StatementRows, near: tuple[Ints, Ints, Floats], block: Ints, held: Ints, chosen: Ints
) -> tuple[Ints, Ints, Floats]:
    """Return near pairs, and pairs of one block with a statement without a vector that have most of their words in common.

    ``held`` are the places of the vectors of all statements, -1 for none, ``block`` those of the ``chosen`` statements. Two statements are
    compared if they share two rare words; that both begin with one word counts as a further one. The cosine of such a pair is not known.
    """
    if (held[chosen] >= 0).all():
        return near
    found: list[frozenset[str]] = []
    for text in rows.texts("text", chosen):
        words = [stem_of(word) for word in WORDS.findall(text.lower()) if word not in GRAMMAR]
        found.append(frozenset((*words, *(f"^{word}" for word in words[:1]))))
    pairs: set[tuple[int, int]] = set()
    for group in sharing(found, block.astype(str).tolist()):
        for a, b in combinations(group, 2):
            fewer = min(sum(w.isalpha() for w in found[k]) for k in (a, b))
            if min(held[chosen[a]], held[chosen[b]]) < 0 and (
                sum(w.isalpha() for w in found[a] & found[b]) >= _SHARED * fewer
            ):
                pairs.add((int(chosen[a]), int(chosen[b])))
    i, j = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    return (
        np.concatenate([near[0], i]),
        np.concatenate([near[1], j]),
        np.concatenate([near[2], np.full(len(i), np.nan, np.float32)]),
    )


def _places(rows: StatementRows, places: Ints) -> Ints:
    """Return (n,) the place of the vector of each statement, that of its first row if it has one; -1 if no row has one."""
    held = np.full(len(rows), -1, np.int64)
    np.maximum.at(held, rows.of, places)
    return np.where(places[rows.first] >= 0, places[rows.first], held)


def evidence_of(rule: str, cosine: float) -> dict[str, object]:
    """Build the evidence of a pair that a rule found; an unknown cosine is NaN, and left out."""
    return {"rule": rule} if math.isnan(cosine) else {"rule": rule, "similarity": round(cosine, 4)}


def _with_denials(
    rows: StatementRows, block: Ints, near: tuple[Ints, Ints, Reals], matrix: NDArray[np.float32], held: Ints
) -> tuple[Ints, Ints, Reals]:
    """Return near pairs, and pairs of one block of which one plainly negates the other, whatever their vectors' distance.

    Embedding models place a negation anywhere: "accepts cash" and "does not accept cash" have a cosine of .73 with MiniLM. Such a pair
    has the same words except for the negation, so it is found by a hash of them. Cost: some rewrites of the column and a sort.
    """
    texts = pc.utf8_lower(rows.table["text"].take(pa.array(rows.first)))
    denies = matching(texts, _DENIES).to_numpy(zero_copy_only=False).astype(bool)
    if not denies.any():
        return near
    for pattern, replacement in _PLAIN:
        texts = rewritten(texts, pattern, replacement)
    same = pack(np.unique(block, return_inverse=True)[1].astype(np.int64), codes(texts)[0])
    i, j, _ = pairs_within(same, np.arange(len(rows)))
    against = denies[i] != denies[j]
    i, j = i[against], j[against]
    new = ~np.isin(
        np.minimum(i, j) * len(rows) + np.maximum(i, j),
        np.minimum(near[0], near[1]) * len(rows) + np.maximum(near[0], near[1]),
    )
    i, j = i[new], j[new]
    cosine = np.full(len(i), np.nan)
    known = (held[i] >= 0) & (held[j] >= 0)
    cosine[known] = np.einsum("ij,ij->i", matrix[held[i[known]]], matrix[held[j[known]]])
    return np.concatenate([near[0], i]), np.concatenate([near[1], j]), np.concatenate([near[2], cosine])


def _are_apart(one: str, two: str, clash: Kind) -> bool:
    """Return whether two texts are about different things or times, whatever else they have in common.

    Two tasks with different objects are apart, and so are two things with different labels. Texts that clash in their object are apart only
    if their subjects have different names. Texts of opposite polarity that differ in one word never are: that word may be the subject
    itself.
    """
    if are_other_tasks(one, two) or name_other_subjects(one, two) or are_other_cases(one, two):
        return True
    if clash == "object":
        return have_other_names(one, two)
    if clash == "polarity" and _is_one_word(read(one), read(two)):
        return False
    return are_of_others(one, two)


def _is_one_word(a: Reading, b: Reading) -> bool:
    """Return whether two texts are identical except for one word in each."""
    apart = len(set(a.words) - set(b.words)), len(set(b.words) - set(a.words))
    return apart == (1, 1) and (a.turns, a.figures, a.denials) == (b.turns, b.figures, b.denials)


def one_matter(a: Reading, b: Reading, *, about: bool, denied: bool = False) -> bool:
    """Return whether two contradicting texts are about one matter, so that most of their words are the same.

    If both texts are ``about`` a subject, the longer one may add something. If one is ``denied``, it may differ in how often.
    """
    turned = (a.turns ^ b.turns) - _HOW_OFTEN if denied else a.turns ^ b.turns
    if a.question or b.question or set(a.persons) != set(b.persons) or turned:
        return False
    one, two = set(a.words), set(b.words)
    shared = len(one & two)
    apart = len(one - two), len(two - one)
    return shared >= max(_LEAST, _SHARED * min(len(one), len(two))) and (min(apart) if about else max(apart)) <= _APART


# Conflicts between notes that give one thing different figures, in whatever words: "Passwords have at least 8 characters.", "Effective
# immediately, a password must have 14 characters."
#
# The rule compares short plain notes of the present that have a figure, are near each other by their vectors, name the same persons and
# share a word of content. Their subjects must not differ, and their figures must measure the same: a version is no count. Which figures
# exclude each other is decided by ``slowwave.text.contradictions``. A later note with a word of change replaces the earlier one; else a
# person decides. Three figures in the same words are a series ("crane 3 is at the quay") and no case: that does not change when a night
# ends or merges some of them. A date that a night has written next to a relative one is no figure of the note.
#
# Notes of two named authors are compared as well, unless one of them speaks of its author ("I", "our") or of its reader ("you"). Neither
# author corrects the other by a word of change, so a person always decides.

LONGEST_FIGURES: Final = 160
"""Characters of a one-sentence note about one matter."""

NEAR: Final = 0.58
"""Cosine from which two notes may be about one thing: with the contextual model 13 of 14 pairs of notes that are reach .59."""

_SPEAKS_OF_ITSELF: Final = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves|you|your|yours)\b", re.IGNORECASE
)
_NEAREST: Final = 4
_SERIES: Final = 3  # figures in the same words
_SEVERAL: Final = r"[.!?…][\"'”’)\]]*\s+[^\s\d]|\n"  # an abbreviation counts as well
_FIGURE: Final = r"(?:^|[\s(:=#$€£])[$€£#]?\d"


def figure_conflicts(snapshot: Snapshot, tally: Tally) -> list[Conflict]:
    """Find conflicts in figures between active memories that are near by their vectors or, without vectors, by their words.

    Needs the tables memories, memory_versions and memory_vectors. Time: that of ``neighbours_within`` over the notes with figures, and
    100 µs per pair.
    """
    memories = active_memories(snapshot)
    vectors = snapshot.vectors["memory_vectors"]
    memories = undated(memories)
    memories = memories.filter(pc.less_equal(pc.utf8_length(memories["text"]), LONGEST_FIGURES))
    memories = memories.filter(matching(memories["text"], _FIGURE))
    memories = memories.filter(pc.invert(matching(memories["text"], NO_PRESENT))).combine_chunks()
    memories = memories.filter(pc.invert(matching(memories["text"], _SEVERAL)))
    memories = memories.filter(
        pc.invert(pc.is_in(_frames(memories["text"]), value_set=_series(snapshot)))
    ).combine_chunks()
    places = vectors.rows_of(memories["id"].combine_chunks()) if len(memories) else np.empty(0, np.int64)
    tally.add("notes with figures", len(memories))
    if len(memories) < 2:
        return []
    scope, author, subject = (codes(memories[c])[0] for c in ("scope", "author", "subject"))
    block = pack(scope, author, subject)
    audience = (codes(memories[c])[0] for c in ("pinned", "visibility", "sensitivity"))
    rows = StatementRows.fold(memories, pack(block, codes(keys(memories["text"]))[0], *audience))
    i, j, cosine = near_pairs(rows, vectors.matrix, places, block, np.arange(len(rows)))
    texts = rows.table["text"].take(pa.array(rows.first)).to_pylist()
    named = rows.table["author"].take(pa.array(rows.first)).to_pylist()
    impersonal = [k for k, text in enumerate(texts) if named[k] and not _SPEAKS_OF_ITSELF.search(text)]
    between = near_pairs(rows, vectors.matrix, places, pack(scope, subject), np.array(impersonal, np.int64))
    other = author[rows.first][between[0]] != author[rows.first][between[1]]
    i, j = np.concatenate([i, between[0][other]]), np.concatenate([j, between[1][other]])
    cosine = np.concatenate([cosine, between[2][other]])
    read = cache(lambda statement: specifics(texts[statement]))
    when = rows.last()
    found: Found = []
    for k in np.flatnonzero(rows.overlap(i, j) & (when[i] != when[j])).tolist():
        a, b = int(i[k]), int(j[k])
        one, two = texts[a], texts[b]
        if not of_one_matter(one, two) or are_of_others(one, two):
            continue
        if are_other_tasks(one, two) or name_other_subjects(one, two):
            continue
        if are_about_others(one, two) or not share_a_measure(one, two):
            continue
        if named[a] != named[b] and (read(a).dates or read(b).dates):
            continue
        apart = difference(read(a), read(b))
        new = says_new(texts[max((a, b), key=lambda s: when[s])])
        told = apart is not None and apart.degree == "conflict" and apart.about in ("figures", "identifiers")
        if not told or are_other_cases(one, two):
            continue
        mine, theirs = read(a).figures(), read(b).figures()
        if are_quoted(mine - theirs, one) or are_quoted(theirs - mine, two):
            continue
        if new or find([(one, two)]) != [None]:
            evidence = evidence_of("figures", float(cosine[k]))
            evidence["replaces" if new and named[a] == named[b] else "doubtful"] = True
            kind = kind_of_figures(read(a), read(b))
            found.append((min(a, b), max(a, b), "time" if kind == "time" else "number", evidence))
    return conflicts_of(rows, "memories", found)


def near_pairs(
    rows: StatementRows,
    matrix: NDArray[np.floating],
    places: Ints,
    block: Ints,
    chosen: Ints,
    floor: float = NEAR,
) -> tuple[Ints, Ints, Floats]:
    """Return the near pairs among the ``chosen`` statements whose rows are in one block, with their cosines from ``floor`` up."""
    blocks, held = np.unique(block[rows.first[chosen]], return_inverse=True)[1].astype(np.int64), _places(rows, places)
    return _with_equal_words(rows, _near(matrix, _NEAREST, floor, held, blocks, chosen), blocks, held, chosen)


def _near(
    matrix: NDArray[np.floating], k: int, floor: float, held: Ints, block: Ints, chosen: Ints
) -> tuple[Ints, Ints, Floats]:
    """Return the pairs of chosen statements with vectors that are near each other; ``block`` are those of the chosen ones."""
    kept = held[chosen] >= 0
    i, j, cosine = pairs_of(*neighbours_within(matrix, k, floor, held[chosen[kept]], block[kept]))
    return chosen[kept][i], chosen[kept][j], cosine


def undated(memories: pa.Table) -> pa.Table:
    """Return memories with texts from which the dates next to relative dates are removed."""
    return memories.set_column(memories.column_names.index("text"), "text", rewritten(memories["text"], BESIDE, ""))


def _frames(texts: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return the texts with their figures masked."""
    return pc.utf8_lower(rewritten(texts, r"\d+(?:[.,:/-]?\d)*", "#"))


def _series(snapshot: Snapshot) -> pa.Array:
    """Return the frames of texts that occurred with at least ``_SERIES`` different figures, in any version of any memory."""
    said = rewritten(snapshot.table("memory_versions")["content"].cast(pa.large_string()), BESIDE, "")
    short = said.filter(pc.less_equal(pc.utf8_length(said), LONGEST_FIGURES))
    texts = pc.unique(short.filter(matching(short, _FIGURE)))
    counts = pc.value_counts(_frames(texts))
    return counts.field("values").filter(pc.greater_equal(counts.field("counts"), _SERIES))


# Ended statements: sentences of longer memories that a later memory ends, while the rest of the memory still holds.
#
# A memory that states nothing else is a conflict, which it loses (``slowwave.operations.conflicts.endings``). This section covers cases in
# which other sentences, or other parts of one sentence, would be lost as well.

_AUDIENCE: Final = ("scope", "visibility", "sensitivity")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EndedStatement:
    """Sentence of a memory that has ended, and what ended it.

    ``memories`` are the ids of copies of the memory. The memory ``later`` ended the ``sentence`` with the words ``said`` at the time
    ``since``. A sentence that ``holds`` states what happened before, about something that has ended. ``pattern`` is the name under which
    the rule that found it is measured (``slowwave.plans.items``).
    """

    memories: tuple[str, ...]
    sentence: str
    later: str
    said: str
    since: datetime
    holds: bool = False
    pattern: str = ""

    @classmethod
    def from_statements(
        cls,
        rows: StatementRows,
        earlier: int,
        later: int,
        sentence: str,
        said: str,
        when: int,
        *,
        pattern: str,
        holds: bool = False,
    ) -> EndedStatement | None:
        """Build the ended statement of two statements by number, or return None if their audiences differ.

        ``when`` is in microseconds since the epoch.
        """
        one, two = rows.table.select(_AUDIENCE).take(pa.array(rows.first[[earlier, later]])).to_pylist()
        if one != two:
            return None
        ids = rows.table["id"]
        return cls(
            tuple(sorted(ids.take(pa.array(np.flatnonzero(rows.of == earlier))).to_pylist())),
            sentence,
            str(ids[int(rows.first[later])]),
            said,
            _EPOCH + timedelta(microseconds=when),
            holds,
            pattern,
        )


# Mentions of what a later memory ends: "Mara called from Oslo" before "Mara moved from Oslo to Bergen".
#
# The statement about the past is still true, and nothing ends. The later statement is added next to the sentence, so that no one takes it
# for the present. Mentions are found by the words of the value within one scope and author, if both texts are about the same person, or
# about one matter of the speaker. ``slowwave.operations.conflicts.endings`` finds what has ended.

_AT_ONCE: Final = 256  # words of one pattern
_WORD: Final = re.compile(r"\w+")


class OverValue(NamedTuple):
    """Folded ``words`` of a value that has ended, the memory that says so, and its sentence."""

    words: tuple[str, ...]
    later: str
    said: str


def mentions(snapshot: Snapshot, over: Sequence[OverValue]) -> list[EndedStatement]:
    """Find sentences of earlier active memories that name an ended value, each with the first memory that ends it.

    Needs the tables memories and memory_versions. A value that more than ``CROWD`` earlier memories name is left out. Cost: a pass over
    the texts for every 256 words, and about 50 µs per sentence that names one.
    """
    if not over:
        return []
    rows, texts = _candidates(snapshot, over)
    of = dict(zip(rows.table["id"].to_pylist(), rows.of.tolist(), strict=True))
    table = rows.table.take(pa.array(rows.first))
    groups = pack(*(codes(table[c])[0] for c in ("scope", "author"))).tolist()
    named_in: defaultdict[str, list[int]] = defaultdict(list)
    for k, text in enumerate(texts):
        for word in dict.fromkeys(_WORD.findall(fold(text))):
            named_in[word].append(k)
    when = rows.last()
    found: dict[tuple[int, str], tuple[int, int, str]] = {}
    for value in over:
        later = of.get(value.later)
        if later is None:
            continue
        before = [
            k for k in named_in.get(_last_word(value), ()) if groups[k] == groups[later] and when[k] < when[later]
        ]
        for k in before if len(before) <= CROWD else ():
            for sentence in _mentioning(texts[k], value):
                told = int(when[later]), later, value.said
                found[k, sentence] = min(found.get((k, sentence), told), told)
    return list(_marks(rows, found))


def _marks(rows: StatementRows, found: Mapping[tuple[int, str], tuple[int, int, str]]) -> Iterator[EndedStatement]:
    if not found:
        return
    pairs = np.array([(k, later) for (k, _), (_, later, _) in found.items()], np.int64)
    overlap = rows.overlap(pairs[:, 0], pairs[:, 1]).tolist()
    for ((k, sentence), (when, later, told)), both in zip(found.items(), overlap, strict=True):
        if both and (
            one := EndedStatement.from_statements(rows, k, later, sentence, told, when, pattern="mention", holds=True)
        ):
            yield one


def _candidates(snapshot: Snapshot, over: Sequence[OverValue]) -> tuple[StatementRows, Sequence[str]]:
    """Return the memories that contain the last word of an ended value, and those that end it, with their texts."""
    memories = active_memories(snapshot)
    wanted = pc.is_in(memories["id"], value_set=pa.array(sorted({v.later for v in over}), memories["id"].type))
    short = pc.less_equal(pc.utf8_length(memories["text"]), LONGEST)
    words = [re.escape(w) for w in sorted({_last_word(v) for v in over})]
    for start in range(0, len(words), _AT_ONCE):
        pattern = rf"(?i)\b(?:{'|'.join(words[start : start + _AT_ONCE])})\b"
        wanted = pc.or_(wanted, pc.and_(short, pc.match_substring_regex(memories["text"], pattern)))
    memories = memories.filter(wanted).combine_chunks()
    audience = (codes(memories[c])[0] for c in ("scope", "author", "pinned", "visibility", "sensitivity"))
    rows = StatementRows.fold(memories, pack(codes(keys(memories["text"]))[0], *audience))
    return rows, rows.texts("text", np.arange(len(rows)))


def _last_word(value: OverValue) -> str:
    return _WORD.findall(value.words[-1])[-1]


def _mentioning(text: str, value: OverValue) -> Iterator[str]:
    """Yield the sentences of a text that mention the ended value but do not say themselves that it has ended."""
    for sentence in stating(text):
        if (
            _names(sentence, value.words)
            and not says_later(sentence)
            and _is_tied(sentence, value)
            and not any(set(v.words) & set(value.words) for v in ended_values(sentence))
        ):
            yield sentence


def _names(sentence: str, words: tuple[str, ...]) -> bool:
    told, n = _plain(sentence), len(words)
    return any(told[k : k + n] == words for k in range(len(told) - n + 1))


def _plain(sentence: str) -> tuple[str, ...]:
    return tuple(w.removesuffix("'s").removesuffix("’s") for w in said(sentence))


def _is_tied(sentence: str, value: OverValue) -> bool:
    """Return whether a sentence is about the person whose value has ended, and about no one else.

    If it names no one, it must be about a matter of the speaker who says that the value has ended.
    """
    if are_apart(sentence, value.said) or not persons(sentence, value.words) <= persons(value.said, value.words):
        return False
    mine, theirs = ((names(s) | persons(s)) - {*value.words} for s in (sentence, value.said))
    if mine:
        return bool(theirs) and mine <= theirs
    return is_own(value.said) and bool(matter(sentence, value.words) & matter(value.said, value.words))
