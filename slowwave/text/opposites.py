"""Words that exclude each other (opposites by prefix, antonyms, kinds), and misspellings and other spellings of one word."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from slowwave.text.words import words_of

# Opposites by prefix: words with one stem that exclude each other ("hyperkalemia", "hypokalemia"; "ascending", "descending").
#
# The prefixes decide, for any stem. Words that exclude each other for other reasons are listed in ``slowwave.text.words``.

_STEM: Final = 3  # minimum length in letters of a stem
_WHOLE: Final = 4  # letters of a prefix; a longer one contains much of its stem, so it needs no stem after it
_BARE: Final = 4  # minimum length in letters of a stem without a prefix


@lru_cache(maxsize=65_536)
def opposed(a: str, b: str) -> bool:
    """Return whether two folded words may be opposites.

    They may be if one stem follows opposing prefixes, or if only one word has a prefix that reverses its meaning. This is enough to keep
    such words apart, but not to conclude that they contradict each other: "cover" and "discover", "infer" and "defer" match as well.
    """
    return a != b and (_rivals(a, b, _OPPOSING) or _turned(a, b, _TURNING) or _turned(b, a, _TURNING))


@lru_cache(maxsize=65_536)
def opposites(a: str, b: str) -> bool:
    """Return whether two folded words exclude each other by prefixes that hardly ever mean anything else."""
    return a != b and (_rivals(a, b, _CLEAR) or _turned(a, b, _DENYING) or _turned(b, a, _DENYING))


def _rivals(a: str, b: str, rivals: Mapping[str, frozenset[str]]) -> bool:
    """Return whether two words begin with opposing prefixes, in either order, and share the rest."""
    end = 0
    while end < min(len(a), len(b)) and a[-1 - end] == b[-1 - end]:
        end += 1
    # The stem may begin anywhere in the shared part, because rival prefixes may end alike ("impor", "expor").
    for stem in range(end + 1):
        prefix = a[: len(a) - stem]
        if b[: len(b) - stem] in rivals.get(prefix, ()) and (stem >= _STEM or len(prefix) > _WHOLE):
            return True
    return False


def _turned(a: str, b: str, by: frozenset[str]) -> bool:
    """Return whether ``a`` is ``b`` with a prefix that reverses its meaning."""
    cut = len(a) - len(b)
    if len(b) < _BARE or cut < 1 or a[:cut] not in by or not a.endswith(b):
        return False
    return cut > 1 or b[0] not in _VOWELS  # "aagain" is a typing mistake


def _table(lines: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for prefix, others in (line.split() for line in lines.strip().splitlines()):
        for other in others.split("|"):
            found.setdefault(prefix, set()).add(other)
            found.setdefault(other, set()).add(prefix)
    return {prefix: frozenset(others) for prefix, others in found.items()}


_SURE: Final = """
hyper hypo|normo
hypo normo
inter intra
intro extro
endo exo
pre post
over under
micro macro
maxi mini
mono poly|multi
homo hetero
super sub
supra infra
tachy brady
inclu exclu
inclus exclus
interior exterior
internal external
intrins extrins
inhal exhal
implic explic
impor expor
immigr emigr
increas decreas
incre decre
inflat deflat
induc deduc
ascen descen
accel decel
attach detach
assembl disassembl
encod decod
encrypt decrypt
enabl disabl
engag disengag
qualif disqualif
abduc adduc
afferen efferen
euphor dysphor
upstr downstr
upgr downgr
uplo downlo
upvot downvot
upsid downsid
"""
_DOUBTFUL: Final = """
in ex|de|out
im ex|em
intra extra
ante post
up down
anti pro
con pro
min max
mono bi|di
uni multi|bi
bi tri
ultra infra
iso aniso
ecto endo
a de
ac de
at de
en de|dis|un
con dis
ab ad
af ef
cis trans
eu dys
syn anti|a
oligo poly
normo macro|micro
fore back
front back
left right
black white
north south
east west
"""
_CLEAR: Final = _table(_SURE)
_OPPOSING: Final = _table(_SURE + _DOUBTFUL.lstrip())
_DENYING: Final = words_of("non un non- un-")
_TURNING: Final = _DENYING | words_of("a ab an anti counter de dis il im in ir mal mis anti- counter- de- dis-")
_VOWELS: Final = "aeiouh"
