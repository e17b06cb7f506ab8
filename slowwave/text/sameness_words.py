"""Words for the comparison of texts: interchangeable persons, turns of phrase and times, and words that add nothing."""

from __future__ import annotations

from typing import Final

from slowwave.text.statements import stem
from slowwave.text.words import CARDINALS, GRAMMAR, NEGATIONS, ORDINALS, TENS, words_of


def _classes(lines: str) -> dict[str, str]:
    return {word: line.split()[0] for line in lines.strip().splitlines() for word in line.split()}


PERSONS: Final = _classes("""
i me my mine myself im ive id
you your yours yourself u
he him his himself
she her hers herself
we us our ours ourselves
they them their theirs themselves
""")
TURNS: Final = _classes("""
will shall
would
can cannot
could
may might maybe perhaps possibly probably likely
must should ought
is are am
was were
all every each both
some
any
most
many several
few
only
more
less fewer
than
too
or
if unless
because
although though despite
while
until till
plan plans planned planning intend intends intended
want wants wanted wish wishes wished
hope hopes hoped
try tries tried trying attempt attempted
consider considers considered considering
think thinks thought believe believes believed suppose
seem seems seemed appear appears appeared
almost nearly
used
former formerly ex
again
never
always
usually often
sometimes occasionally
rarely seldom hardly barely scarcely
up
down
off
out
back
here
there
other another
next
same
fake alleged allegedly supposed supposedly
who whom
what
when
where
why
how
""")
TURNS["is"] = TURNS["are"] = TURNS["am"] = "now"
TURNS["was"] = TURNS["were"] = "then"
AMOUNTS: Final = words_of("many several few some any more less")
TENSES: Final = {"ll": "will", "d": "would", "m": "now", "re": "now"}
LEADS: Final = _classes("""
in at on inside within
to into onto toward towards
from
by
with
without
for
against
before
after
since
under below
over above
between
during
of
about
through
""")
CLAUSES: Final = words_of("because although though despite while if unless until when where")
"""Words that begin a clause in any position."""
DIRECTED: Final = words_of("to from by with without for against before after since under over between")
EMPTY: Final = (
    GRAMMAR | NEGATIONS | CARDINALS.keys() | TENS.keys() | ORDINALS.keys() | words_of("hundred thousand")
) | words_of("""
    january february march april june july august september october november december""")
FILLERS: Final = words_of("""
really actually basically simply please well note reminder remember fyi btw currently definitely certainly literally kindly
""")
TIMES: Final = frozenset(
    stem(w)
    for w in words_of("""
    yesterday today tomorrow tonight now currently recently lately soon later earlier daily weekly monthly
    monday tuesday wednesday thursday friday saturday sunday
    """)
)
