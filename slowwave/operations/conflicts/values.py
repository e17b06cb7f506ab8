"""Conflicts between statements that give one subject another value, in notes and in turns of conversations.

Three rules propose them without vectors. *Frames* (``slowwave.text.frames``) begin with the same words: "The patron of the club is Ada.",
"The patron of the club is Otto." *Roles* end with the same words: "Ada is the captain of the crew.", "Otto is the captain of the crew
now." The subject of such a memory is often its holder, so only roles are compared across subjects. *Alignments*
(``slowwave.text.alignment``) share the words of subject and relation, whatever their order: news, corrections and withdrawals are compared
with what they replace, and clauses of a turn with the notes. Impersonal statements are compared with those of the same author, or a note
with a turn; statements about the speaker only with those of the same speaker.

A relation that takes many values is learnt from the namespace: one subject has several of them at a time, or a statement lists several. A
person always decides; if a memory states something else as well, the later statement is noted next to the earlier sentence instead.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slowwave.operations.conflicts.denials import USERS, OpposedPair, OpposedStatements, opposed
from slowwave.operations.conflicts.memories import WORDS, sharing, undated
from slowwave.operations.conflicts.rows import CROWD, Ints, StatementRows, Tally, among, codes, pack
from slowwave.plans.questions import Conflict
from slowwave.snapshots.memories import active_memories
from slowwave.snapshots.snapshot import Snapshot
from slowwave.text.alignment import SAME_VERBS, OtherStatedValue, are_other_tasks, other_stated_value, read_propositions
from slowwave.text.clauses import Proposition, root_of
from slowwave.text.closings import read_closings, read_open_items
from slowwave.text.contradictions import Kind, kind_of_figures
from slowwave.text.frames import (
    LONGEST,
    Framed,
    HeldRole,
    OtherValue,
    beginnings,
    other_value,
    read_framed,
    read_role,
    without_tail,
)
from slowwave.text.keys import keys
from slowwave.text.prefilter import matching
from slowwave.text.sentences import sentences
from slowwave.text.specifics import specifics
from slowwave.text.subjects import PROGRAMS, are_other_cases, is_own, name_other_subjects
from slowwave.text.words import GRAMMAR

TURNS: Final = ("episodic", "working")
"""Kinds of memories that are turns of conversations."""

_LONGEST: Final = 2_000  # characters of a text
_MANY_VALUES: Final = 3
_MOST_VALUES: Final = 5  # values of one subject, whatever their days
_DAY: Final = 86_400_000_000
_EARLIER: Final = 3  # statements that one later statement may replace


class _Aligned(NamedTuple):
    earlier: Proposition
    later: Proposition
    value: OtherStatedValue


def value_conflicts(snapshot: Snapshot, tally: Tally, *, longer: bool = False) -> Sequence[Conflict]:
    """Return the conflicts of ``other_values``, and with ``longer`` those of longer memories."""
    found = other_values(snapshot)
    tally.add("statements with another value", found.pairs)
    return [*found.conflicts, *(found.longer if longer else ())]


def other_values(snapshot: Snapshot) -> OpposedStatements:
    """Find statements of one scope that give one subject another value, by the rules "frame", "role", "aligned" and "news".

    Needs the tables memories and memory_versions. Summaries and turns of programs are left out, and events that call no value new. Time:
    40 µs per sentence, and 20 µs per pair of candidates, of which a clause has at most 36. The last answer is cached as long as its tables
    exist.
    """
    given = snapshot.table("memories"), snapshot.table("memory_versions")
    return snapshot.answers.find_once("other values", given, (), lambda: _find(snapshot))


def _find(snapshot: Snapshot) -> OpposedStatements:
    memories = active_memories(snapshot)
    memories = memories.filter(pc.less_equal(pc.utf8_length(memories["text"]), _LONGEST))
    turn = among(memories["kind"], TURNS)
    kept = ~among(memories["kind"], ("summary",)) & ~(turn & among(memories["author"], PROGRAMS))
    memories = undated(memories.filter(pa.array(kept))).combine_chunks()
    if len(memories) < 2:
        return OpposedStatements((), (), 0)
    listed, shared = _listed(memories), _shared_roles(memories)
    rows = _fold(memories)
    rows = _fold(memories.filter(pa.array(np.isin(rows.of, _comparable(rows)))).combine_chunks())
    statements = _Statements.from_rows(rows)
    aligned = sorted(_aligned(statements, listed), key=lambda p: not p.replaces)
    framed, objects = _framed(statements, listed)
    pairs = [*_held(statements, shared), *(p for p in aligned if p.replaces), *framed, *aligned, *objects]
    pairs = [p for p in pairs if not (_have_equal_figures(p) or _are_of_others(*p.sentences) or _are_two_cases(p))]
    once = {(min(p.one, p.two), max(p.one, p.two)): p for p in reversed(pairs)}
    return opposed(rows, statements.texts, statements.when, list(once.values()))


def _fold(memories: pa.Table) -> StatementRows:
    columns = ("scope", "author", "kind", "pinned", "visibility", "sensitivity")
    texts = (codes(keys(memories[c]))[0] for c in ("subject", "text"))
    return StatementRows.fold(memories, pack(*(codes(memories[c])[0] for c in columns), *texts))


def _listed(memories: pa.Table) -> dict[str, set[str]]:
    """Return by scope the stems of the words before lists of names, days aside: "speak" of "Ada speaks Danish and Korean"."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    lists = memories.filter(matching(memories["text"], _LIST.pattern))
    for text, scope in zip(lists["text"].to_pylist(), lists["scope"].to_pylist(), strict=True):
        found[scope] |= {root_of(word) for word in _LIST.findall(without_tail(text))}
    return found


def _shared_roles(memories: pa.Table) -> set[tuple[str, str]]:
    """Return the scopes and relations of roles that a statement gives to several: "Ada and Otto are the captains of the crew."."""
    lists = memories.filter(matching(memories["text"], _ROLES_LISTED))
    texts = zip(lists["scope"].to_pylist(), lists["text"].to_pylist(), strict=True)
    return {(scope, role.relation) for scope, text in texts if (role := read_role(text)) is not None and role.listed}


# A statement is parsed only if two words of a clause, the rarest ones, occur together in another statement. Most texts state something
# about which no other text says anything, and to see that costs a quarter of parsing them.

_ROUGH: Final = re.compile(r"[.!?;,]\s+(?!(?:it|they|he|she|who|the|our|my)\b)|\n|\s(?:so|but)\s")
_LIST: Final = re.compile(
    r"\b([a-z]{2,20})(?: (?:in|at|to|for|by|on|as|from))?(?: [A-Z][\w-]{1,20}){1,2}(?:, [A-Z][\w-]{1,20}){0,4},? and [A-Z]"
)
"""Matches "speaks Danish and Korean"; the word before the list is of a relation that takes many values. Also valid in RE2."""

_UNSHARED: Final = 8
"""Words that the shorter of two clauses may have alone. No rule pairs clauses that differ in more, and two long texts of other matters
often share two rare words."""

_ROLES_LISTED: Final = r"(?i)\bare (?:now )?(?:the|our|my) |^(?:the|our|my) .* are "
"""Matches "are the captains of the crew", "The captains are Ada and Otto". Also valid in RE2."""

_CORRECTION: Final = re.compile(
    r"^\W*(?:no|actually|correction|sorry|oops|apologies|in fact|wait|my mistake|scratch|forget|ignore|disregard|i (?:was|m\w+|got))\b|"
    r"\bnot (?:right|\w+[.!]?$)|, not ",
    re.IGNORECASE,
)
"""Matches every text with a correction."""

_SPEAKER: Final = frozenset(("i", "i'm", "i’m", "i've", "i’ve", "my", "we", "our", "user", "user's", "user’s"))
_OF_SPEAKER: Final = ("i",)


def _comparable(rows: StatementRows) -> Ints:
    """Return the statements that share two rare words of a clause with another one of their scope, and most of its other words."""
    statements: list[int] = []
    clauses: list[frozenset[str]] = []
    scopes: list[str] = []
    every = np.arange(len(rows))
    known: dict[str, tuple[str, ...]] = {}
    texts = rows.texts("text", every)
    for n, (text, scope) in enumerate(zip(texts, rows.texts("scope", every), strict=True)):
        for clause in _ROUGH.split(text.lower()):
            found: set[str] = set()
            first = ""
            for word in WORDS.findall(clause):
                if (read := known.get(word)) is None:
                    read = known[word] = _read_word(word)
                found.update(read)
                first = first or (read[0] if read and read != _OF_SPEAKER else "")
            if first:
                found.add(f"^{first}")
            if len(found) > 1:
                statements.append(n)
                clauses.append(frozenset(found))
                scopes.append(scope)
    kept: set[int] = set()
    for group in sharing(clauses, scopes):
        for k, j in combinations(group, 2):
            one, other = clauses[k], clauses[j]
            if min(len(one), len(other)) - len(one & other) <= _UNSHARED:
                kept.update((statements[k], statements[j]))
    corrected = [k for k, n in enumerate(statements) if _CORRECTION.search(texts[n])]
    if corrected:
        counts = Counter(word for clause in clauses for word in clause)
        wanted = {word for k in corrected for word in clauses[k] if 1 < counts[word] <= CROWD}
        kept.update(n for n, clause in zip(statements, clauses, strict=True) if not wanted.isdisjoint(clause))
    return np.array(sorted(kept), np.int64)


def _read_word(word: str) -> tuple[str, ...]:
    """Return the root of a word of content, with that of the verb that means the same; "i" for a word of the speaker."""
    word = word.removesuffix("'s").removesuffix("’s")
    speaker = _OF_SPEAKER if word in _SPEAKER else ()
    if word in GRAMMAR:
        return speaker
    root = root_of(word)
    return (root, *((SAME_VERBS[root],) if root in SAME_VERBS else ()), *speaker)


class _Statements(NamedTuple):
    """The columns of statements: texts, times, kinds, subjects, scopes, authors, whether each is a turn, and the clauses of each."""

    texts: Sequence[str]
    when: Sequence[int]
    kinds: Sequence[str]
    subjects: Sequence[str]
    scopes: Sequence[str]
    authors: Sequence[str]
    turns: Sequence[bool]
    clauses: Sequence[Sequence[Proposition]]

    @classmethod
    def from_rows(cls, rows: StatementRows) -> _Statements:
        every = np.arange(len(rows))
        texts, kinds, subjects, scopes, authors = (
            rows.texts(c, every) for c in ("text", "kind", "subject", "scope", "author")
        )
        users = [author.casefold() in USERS for author in authors]
        authors = ["user" if user else author for user, author in zip(users, authors, strict=True)]
        turns = [kind in TURNS for kind in kinds]
        clauses = [read_propositions(text) for text in texts]
        return cls(texts, rows.last().tolist(), kinds, subjects, scopes, authors, turns, clauses)

    def are_comparable(self, n: int, m: int, *, of_one_subject: bool = True) -> bool:
        """Return whether impersonal clauses of two statements may be about one thing: both of one author, or a note and a turn."""
        if self.turns[n] or self.turns[m]:
            return self.authors[n] == self.authors[m] or self.turns[n] != self.turns[m]
        return self.authors[n] == self.authors[m] and (not of_one_subject or self.subjects[n] == self.subjects[m])

    def plain_clauses(self, n: int) -> list[tuple[str, str]]:
        """Return the sentences of a statement with the clauses that may state a value; a short note is one clause."""
        if self.kinds[n] == "event":
            return []
        if not self.turns[n] and len(self.texts[n]) <= LONGEST and len(sentences(self.texts[n])) == 1:
            return [(self.texts[n], self.texts[n])]
        return [one.span for one in self.clauses[n] if one.time != "past"]


def _framed(
    statements: _Statements, listed: Mapping[str, set[str]]
) -> tuple[Sequence[OpposedPair], Sequence[OpposedPair]]:
    """Return the pairs of one frame among short statements and clauses of turns, except those whose relation takes many values.

    The second ones have another verb than *be* and *has*.
    """
    blocks: defaultdict[tuple[str, str, str], list[tuple[int, str, Framed]]] = defaultdict(list)
    for n in range(len(statements.texts)):
        for sentence, clause in statements.plain_clauses(n):
            by_program = statements.authors[n].casefold() in PROGRAMS and is_own(clause)
            if not by_program and (framed := read_framed(clause)) is not None:
                block = statements.scopes[n], statements.authors[n], statements.subjects[n]
                blocks[block].append((n, sentence, framed))
    found: list[tuple[OpposedPair, OtherValue]] = []
    values: defaultdict[tuple[tuple[str, str, str], OtherValue], set[int]] = defaultdict(set)
    for block, members in blocks.items():
        for a, b in beginnings([framed for _, _, framed in members]):
            (n, one, framed), (m, two, other) = members[a], members[b]
            notes = not (statements.turns[n] or statements.turns[m])
            if n == m or (notes and statements.kinds[n] != statements.kinds[m]):
                continue
            if (value := other_value(framed, other)) is not None:
                pair = OpposedPair("frame", n, m, (one, two), _reason(one, two) if value.figures else "object")
                found.append((pair, value))
                values[block, value] |= {n, m}
    many = {value.relation for (_, value), members in values.items() if _takes_many(members, statements.when)}
    kept: tuple[list[OpposedPair], list[OpposedPair]] = [], []
    for pair, value in found:
        lists = listed.get(statements.scopes[pair.one], ()) if value.objects else ()
        if value.relation not in many and not any(root_of(word) in lists for word in value.relation.split()):
            kept[value.objects].append(pair)
    return kept


class _Held(NamedTuple):
    """A statement by number that gives a role to a holder, with its sentence."""

    statement: int
    sentence: str
    role: HeldRole


def _held(statements: _Statements, listed: set[tuple[str, str]]) -> Iterator[OpposedPair]:
    """Yield for each holder of a role the one before, except for roles that several hold at one time or that are ``listed``."""
    groups: defaultdict[tuple[str, str, tuple[str, ...]], list[_Held]] = defaultdict(list)
    for n in range(len(statements.texts)):
        for sentence, clause in statements.plain_clauses(n):
            if (role := read_role(clause)) is not None and _is_about(statements.subjects[n], role):
                groups[statements.scopes[n], role.whose, role.words].append(_Held(n, sentence, role))
    shared = listed | {
        (scope, members[0].role.relation) for (scope, *_), members in groups.items() if _is_shared(members, statements)
    }
    for (scope, *_), members in groups.items():
        if (scope, members[0].role.relation) in shared:
            continue
        members.sort(key=lambda one: (statements.when[one.statement], one.role.news, one.statement))
        for place, later in enumerate(members):
            earlier = next((m for m in reversed(members[:place]) if _may_follow(m, later, statements)), None)
            if earlier is not None and not earlier.role.has_holder_of(later.role):
                yield OpposedPair(
                    "role", later.statement, earlier.statement, (later.sentence, earlier.sentence), "object"
                )


def _is_about(subject: str, role: HeldRole) -> bool:
    """Return whether the subject of a memory is the holder of its role, or the role; a memory about somebody else is no news of it."""
    words = set(WORDS.findall(subject.lower().replace("_", " ").replace("-", " "))) - GRAMMAR
    named = {part for word in (*role.holder, *role.words) for part in (word, *word.split("-"))}
    return not words or words <= named


def _may_follow(earlier: _Held, later: _Held, statements: _Statements) -> bool:
    """Return whether a statement may end an earlier one about the same role; of "my dentist" both must have one author."""
    n, m = earlier.statement, later.statement
    alone = earlier.role.holds_alone or later.role.holds_alone or earlier.role.is_labelled_as(later.role)
    if n == m or not alone:
        return False
    if not (earlier.role.first or later.role.first):
        return False  # a frame
    if later.role.whose != "the" and statements.authors[n] != statements.authors[m]:
        return False
    return statements.are_comparable(n, m, of_one_subject=False)


def _is_shared(members: Sequence[_Held], statements: _Statements) -> bool:
    """Return whether several have a role at one time, according to statements of one day of which neither is news."""
    plain: defaultdict[int, list[HeldRole]] = defaultdict(list)
    for one in members:
        if not one.role.news:
            plain[statements.when[one.statement] // _DAY].append(one.role)
    return any(not one.has_holder_of(other) for roles in plain.values() for one in roles[1:] for other in roles[:1])


def _reason(one: str, two: str) -> Kind:
    """Return the kind of contradiction between sentences whose values are figures or weekdays."""
    a, b = specifics(one), specifics(two)
    if a.exclusive != b.exclusive and (a.figures(), a.identifiers) == (b.figures(), b.identifiers):
        return "polarity"
    return "time" if kind_of_figures(a, b) == "time" else "number"


def _have_equal_figures(pair: OpposedPair) -> bool:
    """Return whether the sentences of a pair give the same figures in another form ("EUR 5,000" and "5 000 €")."""
    one, two = (found.figures() | found.identifiers for found in map(specifics, pair.sentences))
    return pair.reason == "number" and bool(one) and one == two


def _are_of_others(one: str, other: str) -> bool:
    """Return whether two sentences are two tasks or about two things, or are a task and what was done, which ``closings`` compares."""
    if are_other_tasks(one, other) or name_other_subjects(one, other):
        return True
    return any(read_open_items(task) and read_closings(done) for task, done in ((one, other), (other, one)))


def _are_two_cases(pair: OpposedPair) -> bool:
    """Return whether two sentences state values of two cases; what one of them withdraws or corrects is one case."""
    amends = pair.reason == "polarity" or any(map(_CORRECTION.search, pair.sentences))
    return not amends and are_other_cases(*pair.sentences)


def _takes_many(statements: Iterable[int], when: Sequence[int]) -> bool:
    """Return whether statements of different values of one subject show that they hold at one time.

    Three values do if two of them began on one day: otherwise the value has changed twice.
    """
    days = [when[n] // _DAY for n in statements]
    return len(days) > _MOST_VALUES or (len(days) >= _MANY_VALUES and len(set(days)) < len(days))


def _aligned(statements: _Statements, listed: Mapping[str, set[str]]) -> Iterator[OpposedPair]:
    """Yield for each clause the latest earlier statements that it replaces, except those of relations that take many values."""
    placed: defaultdict[str, list[Proposition]] = defaultdict(list)
    lists = defaultdict(set, listed)
    for n, clauses in enumerate(statements.clauses):
        for clause in clauses:
            author = statements.authors[n]
            speaker = author or "i" if clause.speaker == "i" else clause.speaker
            if clause.speaker == "i" and author.casefold() in PROGRAMS:
                continue
            several = clause.relation.several
            if statements.kinds[n] == "event" and (
                several or not (clause.time == "new" or clause.polarity == "withdrawn")
            ):
                continue
            if several:
                lists[statements.scopes[n]] |= {value.relation for value in clause.values}
            else:
                placed[statements.scopes[n]].append(clause._replace(text_id=n, speaker=speaker))
    for scope, members in placed.items():
        found = list(_alignments(members, statements))
        values: defaultdict[frozenset[str], set[int]] = defaultdict(set)
        for one in found:
            if one.later.polarity != "withdrawn":
                values[one.value.shared] |= {one.earlier.text_id, one.later.text_id}
        relations = {one.value.shared: one.value.relation for one in found}
        many = {relations[shared] for shared, members in values.items() if _takes_many(members, statements.when)}
        few = {shared for shared, members in values.items() if len(members) <= _MANY_VALUES}
        yield from _latest([one for one in found if not _is_of_many(one, many, lists[scope])], few, statements)


def _is_of_many(one: _Aligned, many: set[frozenset[str]], lists: set[str]) -> bool:
    """Return whether the relation of two clauses takes many values at a time in the namespace."""
    if one.later.polarity == "withdrawn" or one.later.old:
        return False
    relation = one.value.relation
    return relation in many or (not one.value.figures and not relation.isdisjoint(lists))


def _alignments(members: Sequence[Proposition], statements: _Statements) -> Iterator[_Aligned]:
    """Yield the pairs of clauses of one scope that are aligned, found by two rare words that they share."""
    words = [
        one.words | one.subject.context | {f"^{one.subject.first}", *(["i"] if one.speaker else [])} for one in members
    ]
    groups = (combinations(found, 2) for found in sharing(words, [""] * len(words)))
    seen: set[tuple[int, int]] = set()
    for k, j in chain(*groups, _corrected(members)):
        if (k, j) not in seen:
            seen.add((k, j))
            if (one := _alignment(members[k], members[j], statements)) is not None:
                yield one


def _corrected(members: Sequence[Proposition]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a correction and another clause with a name or figure of it, unless too many have that."""
    corrections = [n for n, one in enumerate(members) if one.mood == "corrected"]
    named = {word for n in corrections for value in members[n].slots for word in value.words}
    having: defaultdict[str, list[int]] = defaultdict(list)
    for n, one in enumerate(members) if named else ():
        for word in {word for value in one.values for word in value.words} & named:
            having[word].append(n)
    for n in corrections:
        for word in {word for value in members[n].slots for word in value.words}:
            if len(having[word]) <= CROWD:
                yield from ((min(n, m), max(n, m)) for m in having[word] if m != n)


def _alignment(a: Proposition, b: Proposition, statements: _Statements) -> _Aligned | None:
    n, m = a.text_id, b.text_id
    a_role, b_role = read_role(a.span.clause), read_role(b.span.clause)
    if a_role and b_role and a_role.first and b_role.first and (a_role.whose or a_role.words == b_role.words):
        return None  # both are compared as roles
    near = a.speaker == b.speaker not in ("", "i") or statements.are_comparable(n, m)
    if n == m or (a.speaker and b.speaker and a.speaker != b.speaker) or not (near or (a.values and b.values)):
        return None
    marked = a.is_news, b.is_news
    order = (statements.when[n], marked[0], n) < (statements.when[m], marked[1], m)
    earlier, later = (a, b) if order else (b, a)
    unordered = statements.when[n] == statements.when[m] and marked[0] == marked[1]
    if unordered and (marked[0] or a.relation.stems != b.relation.stems):
        return None  # nothing says which one is the news, so only the value may differ
    value = other_stated_value(earlier, later)
    return None if value is None or not (near or value.named) else _Aligned(earlier, later, value)


def _latest(
    found: Sequence[_Aligned], few: Collection[frozenset[str]], statements: _Statements
) -> Iterator[OpposedPair]:
    """Yield the latest pairs of each later statement.

    An alignment that is not sure counts only if the statement replaces nothing else, and if all candidates are of one relation. News
    replace a value of a relation with ``few`` values.
    """
    by_later: defaultdict[int, list[_Aligned]] = defaultdict(list)
    for one in found:
        by_later[one.later.text_id].append(one)
    for some in by_later.values():
        sure = [one for one in some if one.value.sure]
        if not sure and len({one.earlier.relation.stems for one in some}) > 1:
            continue
        kept = sorted(sure or some, key=lambda one: (-statements.when[one.earlier.text_id], one.earlier.text_id))
        for one in kept[:_EARLIER]:
            quoted = (one.later.span.sentence, one.earlier.span.sentence)
            replaces = one.value.sure and one.later.time == "new" and one.value.shared in few
            reason = (
                _reason(*quoted) if one.value.figures else "polarity" if one.later.polarity == "withdrawn" else "object"
            )
            yield OpposedPair(
                "news" if replaces else "aligned",
                *(one.later.text_id, one.earlier.text_id, quoted, reason, replaces, one.value.old),
            )
