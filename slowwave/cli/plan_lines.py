"""How a plan's items are printed: a page of them under what they ask or do, and what each of them changes.

Ids and states stay whole; names are memory text, and cut where a terminal ends, unless all of it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from slowwave.cli.listing import CUT, one_line, prefix_length, wrapped
from slowwave.cli.session import out, say, width_of
from slowwave.texts.losses import losses
from slowwave.texts.quotation import quotable

if TYPE_CHECKING:
    from slowwave.plans.diff import ItemChange, Rewording
    from slowwave.plans.items import Item
    from slowwave.plans.ledger import StoredItem
    from slowwave.plans.selection import SelectedItems


_LONGEST: Final = 4_000
"""Characters of a line where nothing is cut."""


def print_chosen(chosen: SelectedItems, names: Mapping[str, str], ids: Sequence[str], *, wide: bool = False) -> None:
    """The items of a page by heading: of a question its rows in full, of what is decided a line. ``ids`` are all of the plan's."""
    digits = 36 if wide else prefix_length(ids)
    for heading, items in chosen.groups():
        out.print()
        out.print(Text.assemble((one_line(heading), "bold"), f" · {len(items):,}{_asking(items)}"))
        same = {_rest(s) for s in items}
        if len(same) == 1 and (rest := same.pop()):
            _under(rest, "dim", wide=wide)
        for stored in items:
            if stored.decision == "review":
                _print_question(stored, names, digits, said=len({_rest(s) for s in items}) == 1, wide=wide)
            else:
                _print_decided(stored, names, digits, wide=wide)


def print_item(stored: StoredItem, item: Item, names: Mapping[str, str], digits: int) -> None:
    """The heading of an item's changes: what it is about, then its id and what becomes of it."""
    from slowwave.plans.row_names import called

    for line in wrapped(
        one_line(called(item, names, stored.status), _LONGEST if width_of(out) is None else CUT), width_of(out), hang=2
    ):
        out.print(Text(line, "bold"))
    about = f"{stored.id[:digits]} · {stored.operation} · {stored.decision} · {stored.risk} risk · {stored.status}"
    say(about, indent=2)


def print_every_cell(item: Item, changes: Sequence[ItemChange], names: Mapping[str, str]) -> None:
    """Each cell with its row's name, its table, column and whole id."""
    from slowwave.plans.row_names import own_names

    own = own_names(item, names)
    for c in changes:
        where = ".".join(p for p in (c.table, c.column) if p)
        name = f"{own[c.row]} · " if c.row in own else ""
        say(f"{name}{where} {c.row}: {_short(c.before)} → {_short(c.after)}", indent=2)


def print_losses(reworded: Rewording, texts: Mapping[str, str], name: str = "") -> None:
    """What a memory would no longer say, without what screening would redact."""
    from slowwave.plans.diff import lost_lines

    if reworded.version not in texts:
        return
    before = quotable(texts[reworded.version])
    after = quotable(texts.get(reworded.by, "") if reworded.by else reworded.text)
    lost = losses(before, after, [quotable(texts[version]) for version in reworded.beside if version in texts])
    was, now = lost.tokens
    where = "leaves recall" if not after else "stands in other words"
    who = f"{name} " if name else ""
    say(_short(f"{who}{where}: {lost.lost:,} of {lost.passages:,} passages go, {was:,} → {now:,} tokens"), indent=2)
    for line in lost_lines(lost):
        style = {"-": "red", "+": "green", "~": "yellow"}.get(line[0], "dim")
        for part in wrapped(f"    {one_line(line, _LONGEST)}", width_of(out), hang=6):
            out.print(Text(part, style))
    if lost.terms:
        say(f"not in the texts of this item that stay: {one_line(', '.join(lost.terms), _LONGEST)}", indent=4)


def _print_question(stored: StoredItem, names: Mapping[str, str], digits: int, *, said: bool, wide: bool) -> None:
    from slowwave.plans.row_names import called

    state = "" if stored.status == "pending" else f" · {stored.status}"
    say(f"{stored.id[:digits]}  {stored.probability:.3f}  {stored.operation} · {stored.risk} risk{state}")
    _under(called(stored.item, names, stored.status), "", wide=wide)
    if not said and (rest := _rest(stored)):
        _under(rest, "dim", wide=wide)


def _print_decided(stored: StoredItem, names: Mapping[str, str], digits: int, *, wide: bool) -> None:
    """A line for an item; one with two sides is wrapped, as a line that is cut would lose the side that stays."""
    from slowwave.plans.outcome import find_outcome
    from slowwave.plans.row_names import called

    item = stored.item
    state = "" if stored.status in ("pending", "deferred") else f"{stored.status}: "
    head = f"{stored.id[:digits]}  {stored.probability:.3f}  "
    about = one_line(f"{state}{called(item, names, stored.status)}", _LONGEST)
    width = None if wide else width_of(out)
    if find_outcome(item, names) is not None:
        first, *rest = wrapped(about, None if width is None else width - cell_len(head))
        for line in (f"{head}{first}", *(f"    {part}" for part in rest)):
            out.print(Text(line))
        return
    line = f"{head}{about}"
    if width is not None and cell_len(line) > width:
        line = set_cell_size(line, width - 1).rstrip() + "…"
    out.print(Text(line))


def _under(text: str, style: str, *, wide: bool) -> None:
    """A text beneath the line of its item; the width of a terminal breaks it between words."""
    width = width_of(out)
    shown = one_line(text, _LONGEST if wide or width is None else CUT)
    for line in wrapped(f"    {shown}", width, hang=4):
        out.print(Text(line, style))


def _asking(items: Sequence[StoredItem]) -> str:
    return " for review" if items[0].decision == "review" and items[0].status == "pending" else ""


def _rest(stored: StoredItem) -> str:
    """What a question says beyond its heading: the values that would be lost, why it is in doubt."""
    if stored.decision != "review" or stored.status == "deferred":
        return ""
    _, mark, rest = stored.reason.partition("?")
    return rest.strip() if mark else stored.reason


def _short(text: str) -> str:
    return one_line(text, _LONGEST if width_of(out) is None else CUT)
