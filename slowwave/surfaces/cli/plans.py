"""``slowwave plans``: show plans, approve them, reject them, revoke approvals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from slowwave.errors import Refused
from slowwave.plans.commands import NOTE, Undecided, approve_command, argument, reject_command, undecided
from slowwave.plans.signatures import half_signed
from slowwave.plans.states import find_plan, items_text, latest_plan, no_plan, shown_state, waiting_plans
from slowwave.store.connect import Store
from slowwave.store.namespaces import store_of
from slowwave.surfaces.cli.plan_review import reconsider, review
from slowwave.surfaces.cli.policies import countersign, suggest_apply
from slowwave.surfaces.cli.session import (
    CUT,
    By,
    Items,
    Json,
    NamedPlan,
    Namespace,
    Note,
    OneNamespace,
    Plan,
    Reason,
    chosen_namespaces,
    one_line,
    open_store,
    out,
    prefix_length,
    program,
    progress,
    review_page,
    say,
    short,
    show_json,
    show_table,
    suggest,
    width_of,
    wrapped,
)
from slowwave.text.quotation import quotable
from slowwave.text.tokens import counted

if TYPE_CHECKING:
    from slowwave.changes.lowering import Unexplained
    from slowwave.plans.items import Item
    from slowwave.plans.ledger import SelectedItems, StoredItem, StoredPlan
    from slowwave.plans.show import ItemChange, Rewording
    from slowwave.plans.writings import ApplyEstimate


# Printing of a plan's items: a page of them under what they ask or do, and the changes of each.
#
# Ids and states are never cut; names are memory text and are cut at the width of the terminal, unless the full text is requested.

_LONGEST: Final = 4_000
"""Characters of a line if nothing is cut."""


def print_chosen(chosen: SelectedItems, names: Mapping[str, str], ids: Sequence[str], *, wide: bool = False) -> None:
    """Print the items of a page by heading: a question with its rows in full, a decided item on one line.

    ``ids`` are all ids of the plan.
    """
    digits = 36 if wide else prefix_length(ids)
    for heading, items in chosen.groups():
        out.print()
        out.print(Text.assemble((one_line(heading), "bold"), f" · {len(items):,}{_asking(items)}"))
        same = {_rest(s) for s in items}
        in_title = len(same) == 1
        if in_title and (rest := same.pop()):
            _under(rest, "dim", wide=wide)
        for stored in items:
            if stored.is_question:
                _print_question(stored, names, digits, wide=wide)
            else:
                _print_decided(stored, names, digits, wide=wide)
            if not in_title and (rest := _rest(stored)):
                _under(rest, "dim", wide=wide)


def print_item(stored: StoredItem, item: Item, names: Mapping[str, str], digits: int) -> None:
    """Print the heading of an item's changes: what it is about, then its id and its status."""
    from slowwave.plans.show import called

    for line in wrapped(
        one_line(called(item, names, stored.status), _LONGEST if width_of(out) is None else CUT), width_of(out), hang=2
    ):
        out.print(Text(line, "bold"))
    state = "left for a later night" if stored.status == "deferred" else stored.status.replace("_", " ")
    say(f"{stored.id[:digits]} · {stored.operation} · {stored.decision} · {stored.risk} risk · {state}", indent=2)
    if stored.status == "deferred":
        say(stored.reason, indent=2)


def print_every_cell(item: Item, changes: Sequence[ItemChange], names: Mapping[str, str]) -> None:
    """Print each cell with its row's name, its table, its column and the full id."""
    from slowwave.plans.show import own_names

    own = own_names(item, names)
    for c in changes:
        where = ".".join(p for p in (c.table, c.column) if p)
        name = f"{own[c.row]} · " if c.row in own else ""
        say(f"{name}{where} {c.row}: {_short(c.before)} → {_short(c.after)}", indent=2)


def print_losses(reworded: Rewording, texts: Mapping[str, str], name: str = "") -> None:
    """Print what a memory would no longer say, without what screening would redact."""
    from slowwave.plans.show import lost_lines
    from slowwave.text.figures import in_words
    from slowwave.text.specifics import losses  # its patterns take a while to load

    if reworded.version not in texts:
        return
    before = quotable(texts[reworded.version])
    after = quotable(texts.get(reworded.by, "") if reworded.by else reworded.text)
    lost = losses(before, after, [quotable(texts[version]) for version in reworded.beside if version in texts])
    was, now = lost.tokens
    where = "leaves recall" if not after else "is reworded"
    who = f"{name} " if name else ""
    say(_short(f"{who}{where}: {lost.lost:,} of {lost.passages:,} passages go, {was:,} → {now:,} tokens"), indent=2)
    for line in lost_lines(lost):
        style = {"-": "red", "+": "green", "~": "yellow"}.get(line[0], "dim")
        for part in wrapped(f"    {one_line(line, _LONGEST)}", width_of(out), hang=6):
            out.print(Text(part, style))
    if lost.terms:
        terms = ", ".join(map(in_words, lost.terms))
        say(f"not in the texts of this item that stay: {one_line(terms, _LONGEST)}", indent=4)


def _print_question(stored: StoredItem, names: Mapping[str, str], digits: int, *, wide: bool) -> None:
    from slowwave.plans.show import called

    state = "" if stored.status == "pending" else f" · {stored.status}"
    say(f"{stored.id[:digits]}  {_odds(stored)}{stored.operation} · {stored.risk} risk{state}")
    _under(called(stored.item, names, stored.status), "", wide=wide)


def _print_decided(stored: StoredItem, names: Mapping[str, str], digits: int, *, wide: bool) -> None:
    """Print an item on one line; one with two sides is wrapped, because a cut line would lose the side that stays."""
    from slowwave.plans.outcome import find_outcome
    from slowwave.plans.show import called

    item = stored.item
    state = "" if stored.status in ("pending", "deferred") else f"{stored.status}: "
    head = f"{stored.id[:digits]}  {_odds(stored)}"
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


def _odds(stored: StoredItem) -> str:
    """Return the probability that merged rows are one thing; other items have a score, which says nothing to a person."""
    from slowwave.plans.waterfall import percent

    return f"{percent(stored.probability)}  " if stored.kind == "merge_rows" else ""


def _under(text: str, style: str, *, wide: bool) -> None:
    """Print a text below the line of its item; a terminal's width breaks it between words."""
    width = width_of(out)
    shown = one_line(text, _LONGEST if wide or width is None else CUT)
    for line in wrapped(f"    {shown}", width, hang=4):
        out.print(Text(line, style))


def _asking(items: Sequence[StoredItem]) -> str:
    return " for review" if items[0].is_question and items[0].status == "pending" else ""


def _rest(stored: StoredItem) -> str:
    """Return what an item says after its heading: the losses and the doubt of a question, or why an item is left for a later night."""
    if stored.status == "deferred":
        return stored.reason
    if not stored.is_question:
        return ""
    from slowwave.plans.questions import split_question

    return split_question(stored.reason)[1]


def _short(text: str) -> str:
    return one_line(text, _LONGEST if width_of(out) is None else CUT)


# ``slowwave plans``: show plans, approve them, reject them, revoke approvals.

app = typer.Typer(help="List, show, diff, review, approve and reject plans.", no_args_is_help=True)

_SHOWN = 25
_LONGEST_LINE: Final = 4_000  # characters
_ITEM: Final = re.compile(r"Item [0-9a-f]{8}-[0-9a-f-]{27}")
_STYLES: Final = {"- ": "red", "+ ": "green", "  ": "dim", "@@": "cyan"}

_PLANS: Final = """
SELECT n.slug, p.plan_hash, p.state, p.recorded_at, p.expires_at, night.item_counts(p.plan_hash)
FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id JOIN night.runs r ON r.id = p.run_id
WHERE (%s::text IS NULL OR n.slug = %s) AND NOT (p.state = 'empty' AND r.trigger = %s)
ORDER BY p.recorded_at DESC LIMIT 100
"""
"""Plans of all namespaces or one, without those from which answers made no further question."""

_TEXTS: Final = """
SELECT id::text, content FROM memory.memory_versions WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, name FROM memory.entities WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, content FROM memory.chunks WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, fact_text FROM memory.memory_facts WHERE id = ANY(%(ids)s::uuid[])
UNION ALL SELECT id::text, path FROM memory.documents WHERE id = ANY(%(ids)s::uuid[]) AND version_of IS NULL
"""


@app.command("list")
def list_(namespace: OneNamespace = None, json: Json = False) -> None:
    """List plans, newest first."""
    from slowwave.night.follow_up import TRIGGER

    store = open_store()
    if namespace is not None:
        chosen_namespaces(store, namespace)
    with store.connect("reader") as connection:
        rows = connection.execute(_PLANS, (namespace, namespace, TRIGGER)).fetchall()
    rows = [(n, h, shown_state(s, counts, e), r, e, counts) for n, h, s, r, e, counts in rows]
    columns = ("namespace", "plan_hash", "state", "recorded_at", "expires_at", "items")
    if json:
        show_json([dict(zip(columns, (*row[:5], _in_plan(row[5])), strict=True)) | {"counts": row[5]} for row in rows])
    else:
        show_table(
            "Plans",
            ("plan", "namespace", "state", "recorded", "expires", "items"),
            [(str(h)[:12], n, s, f"{r:%Y-%m-%d %H:%M}", f"{e:%Y-%m-%d}", items_text(c)) for n, h, s, r, e, c in rows],
        )


@app.command()
def show(
    namespace: Namespace,
    plan: Plan = None,
    decision: Annotated[
        list[str] | None,
        typer.Option(help="Only these: review, auto (all except review), or a decision. May be repeated."),
    ] = None,
    operation: Annotated[list[str] | None, typer.Option(help="Only items of this operation; may be repeated.")] = None,
    sort: Annotated[str, typer.Option(help="Order under each heading: plan, probability, risk or operation.")] = "plan",
    limit: Annotated[
        int | None, typer.Option(help="Items per page; by default 25, and with --json all.", min=1)
    ] = None,
    page: Annotated[int, typer.Option(help="Number of the page.", min=1)] = 1,
    wide: Annotated[bool, typer.Option("--wide", help="Print whole ids and texts on any terminal.")] = False,
    json: Json = False,
) -> None:
    """Show a plan: first its questions, then its changes.

    The command that approves it comes last.
    """
    from slowwave.plans.ledger import Selection, choose
    from slowwave.plans.lowering import unexplained_items
    from slowwave.plans.show import named_rows, read_names, unexplained_changes, unexplained_lines

    store = open_store()
    found = read_stored(store, namespace, plan)
    open_ = [s.item for s in found.items if s.status in ("pending", "approved")]
    forged = unexplained_items(store, found.header.namespace_id, open_)
    takes = _duration(store, found)
    size = limit if json or limit else _SHOWN
    chosen = choose(found.items, Selection(_commas(decision), _commas(operation), sort, size, page))
    if json:
        about = (
            {"matching": chosen.matching, "page": chosen.page, "pages": chosen.pages}
            if chosen.matching < chosen.of or size
            else {}
        )
        items = chosen.items if about or sort != "plan" else found.items
        output = {"counts": found.counts, "state": found.shown_state, "apply": takes.to_json()}
        output["unexplained"] = {
            id_: {"reason": what.reason, "cells": [asdict(c) for c in unexplained_changes(id_, what)]}
            for id_, what in forged.items()
        }
        with store.connect("reader") as connection:
            names = read_names(connection, named_rows(s.item for s in items), found.header.namespace_id)
        show_json(replace(found, items=items).to_json(names) | output | about)
        return
    questions = sum(s.status == "pending" and s.item.decision == "review" for s in found.items)
    say(
        f"Plan {found.plan_hash[:12]} of {namespace}: {found.shown_state} ({items_text(found.counts, questions)}), "
        f"expires {found.expires_at:%Y-%m-%d %H:%M} UTC"
    )
    for sentence in (*_sentences(found), *_why_later(found), *takes.sentences()):
        say(sentence, indent=2)
    for id_, what in forged.items():
        say(f"Item {id_}:")
        print_writing(unexplained_lines(id_, what), indent=2)
    with store.connect("reader") as connection:
        lacking = half_signed(connection, namespace, found.plan_hash)
    for one in lacking:
        say(f"{counted(one.items, 'item is', 'items are')} approved and not applied. {one.sentence()}.")
    if lacking:
        suggest("Another person approves as well", lacking[0].command(program()))
    with store.connect("reader") as connection:
        names = read_names(connection, named_rows(s.item for s in chosen.items), found.header.namespace_id)
    print_chosen(chosen, names, [s.id for s in found.items], wide=wide)
    _show_missing_vectors(store, namespace, found.summary)
    out.print()
    filters = _options(decision, operation, sort, limit, wide=wide)
    if chosen.pages > 1:
        last = chosen.first + len(chosen.items) - 1
        say(f"Items {chosen.first:,} to {last:,} of {chosen.matching:,}.")
        if page < chosen.pages:
            named = f" {found.plan_hash[:12]}" if plan else ""
            suggest("The next", f"{program()} plans show {argument(namespace)}{named}{filters} --page {page + 1}")
    if found.items:
        suggest("Why an item is there", f"{program()} why {argument(namespace)} {(chosen.items or found.items)[0].id}")
    with store.connect("reader") as connection:
        suggest_decision(undecided(connection, found.plan_hash))
        others = [h for h in waiting_plans(connection, namespace) if h != found.plan_hash]
    if others and plan is None:
        one = "Another plan of a proposal or a deep pass is pending"
        many = f"{len(others):,} other plans of proposals or deep passes are pending. The first"
        suggest(one if not others[1:] else many, f"{program()} plans show {argument(namespace)} {others[0][:12]}")


def show_missing_vectors(store: Store, namespace: str, idle: Sequence[str], limited: Sequence[str]) -> None:
    """Print which operations did not run, or compared no memories by meaning, because no memory has a vector, and the remedy."""
    with store.connect("reader") as connection:
        connected = store_of(connection, namespace)
    if idle:
        say(
            f"No memory of {namespace} has a vector, so nothing was compared by {', '.join(idle)}.",
            indent=2,
        )
    if limited:
        say(
            f"Without vectors {', '.join(limited)} did not compare memories by meaning: a contradiction in other words is not found.",
            indent=2,
        )
    if connected:
        suggest(
            f"Slowwave writes no vectors into {connected}. Once its own program has filled a column with them, bind it as `vector` "
            "(docs/stores-table.md) and connect again with the model that made them",
            f"{program()} connect table --file BINDING.toml --name {argument(connected)} --embedding-model MODEL",
        )
    else:
        suggest("Embed them", f"{program()} namespace reembed {argument(namespace)}")


def _show_missing_vectors(store: Store, namespace: str, summary: Mapping[str, object]) -> None:
    """Print which operations of a plan's night lacked vectors, if any did."""
    reports: dict[str, object] = {}
    for kind in ("audits", "planners"):
        reports |= found if isinstance(found := summary.get(kind), dict) else {}
    skipped = summary.get("skipped")
    blind = [
        name
        for name, report in reports.items()
        if isinstance(report, dict) and report.get("numbers", {}).get("memories with a vector", 1) == 0
    ]
    if blind:
        out.print()
        idle = {name for name in blind if isinstance(skipped, dict) and name in skipped}
        show_missing_vectors(store, namespace, sorted(idle), sorted({*blind} - idle))


def suggest_decision(left: Undecided | None, *, brief: bool = False) -> None:
    """Print the commands that approve and reject the pending items of a plan, and first why it needs force, if it does.

    With ``brief`` only the first command that answers questions and the one that approves.
    """
    if left is None:
        return
    if left.failed:
        say(f"Probes failed: {' '.join(left.failed)}")
        say(
            f"To approve it nevertheless, add --force and a reason in place of {NOTE}, which is recorded with the approval."
        )
    if left.reviews:
        page = () if brief else review_page(left.namespace)
        where = "here or in a browser" if page else "here"
        only = f"Only {counted(left.reviews, 'question is', 'questions are')} pending. Answer"
        suggest(
            f"Answer its questions {where}"
            if left.decided
            else f"{only} {'it' if left.reviews == 1 else 'them'} {where}",
            left.answer(program()),
            *page,
        )
    if left.decided:
        rest = f"; {counted(left.reviews, 'question is', 'questions are')} left out" if left.reviews else ""
        suggest(f"Approve {counted(left.decided, 'item')}{rest}", left.approve(program()))
    if not brief:
        suggest("Or reject the plan", reject_command(left.namespace, left.plan_hash, program=program()))


@app.command()
def diff(
    namespace: Namespace,
    plan: Plan = None,
    items: Items = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Print every cell and deleted text, including timestamps, counters and writes to a connected store.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Show the changes of a plan row by row.

    Pages are compared by line. Text that a memory would lose is listed.
    """
    from slowwave.plans.lowering import unexplained_items
    from slowwave.plans.show import (
        called,
        changes,
        named_rows,
        physical_changes,
        read_names,
        rewordings,
        row_changes,
        unexplained_lines,
    )
    from slowwave.plans.writings import KINDS, cited, writing

    store = open_store()
    found = read_stored(store, namespace, plan)
    wanted = _split(items)
    shown = [(s, s.item) for s in found.items if wanted is None or any(s.id.startswith(w) for w in wanted)]
    reworded = [r for _, item in shown for r in rewordings(item)]
    texts = stored_texts(store, [v for r in reworded for v in (r.version, r.by, *r.beside)])
    texts |= stored_texts(store, [id_ for stored, item in shown for id_ in cited(item.mutation, stored.status)])
    with store.connect("reader") as connection:
        names = read_names(connection, named_rows(item for _, item in shown), found.header.namespace_id)
    forged = unexplained_items(store, found.header.namespace_id, [item for _, item in shown])
    if json:
        show_json([_diff_json(stored, item, names, texts, forged.get(item.id)) for stored, item in shown])
        return
    digits = prefix_length([s.id for s in found.items])
    hidden = 0
    for stored, item in shown:
        print_item(stored, item, names, 36 if every else digits)
        if item.id in forged:
            print_writing(unexplained_lines(item.id, forged[item.id]), indent=2)
        if item.mutation.kind in KINDS:
            if along := item.evidence.get("along"):
                say(str(along), indent=2)
            print_writing(writing(item.mutation, texts, every=every), indent=2)
        elif not every:
            changed = row_changes(item, names, stored.status)
            hidden += changed.hidden
            heading = called(item, names, stored.status)
            for line in changed.lines:
                if line != heading:
                    say(short(line), indent=2)
        if every:
            print_every_cell(item, [] if item.mutation.kind in KINDS else quoted(changes(item)), names)
            if physical := quoted(physical_changes(item)):
                say("written to the store:", indent=2)
                print_every_cell(item, physical, {})
        lost = rewordings(item) if item.mutation.kind not in KINDS else []
        for one in lost:
            print_losses(one, texts, names.get(one.memory, "") if lost[1:] else "")
    if hidden:
        are = "is" if hidden == 1 else "are"
        say(f"{counted(hidden, 'technical value')} (times, counters, vectors) {are} not shown; --all shows each.")


app.command()(review)


@app.command()
def approve(
    namespace: Namespace,
    plan: NamedPlan = None,
    by: By = "",
    items: Items = None,
    without: Annotated[
        str | None, typer.Option(help="Leave out: item ids or whole operations, separated by commas.")
    ] = None,
    include_review: Annotated[bool, typer.Option("--include-review", help="Approve questions too.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Approve although a probe failed; needs --note.")] = False,
    note: Note = "",
    json: Json = False,
) -> None:
    """Approve a plan without its questions, or the named items.

    A part of a plan must pass the probes as well.
    """
    from slowwave.operations import permits
    from slowwave.plans.gate import approve as sign

    store = open_store()
    with progress(f"Approving {namespace}"):  # the probes of a part of a plan take seconds
        approval = sign(
            store,
            namespace,
            plan or _unnamed(store, namespace, approve_command),
            approver=by,
            permits=permits(),
            channel="cli",
            items=_split(items),
            without=_split(without) or (),
            include_review=include_review,
            force=force,
            note=note,
        )
    if json:
        show_json(
            {
                **{"approval_id": approval.id, "plan_hash": approval.plan_hash, "items": list(approval.item_ids)},
                "signatures_missing": approval.missing,
            }
        )
        return
    say(f"Approved {counted(len(approval.item_ids), 'item')} of plan {approval.plan_hash[:12]}.")
    suggest_apply(namespace, approval.plan_hash, approval.lacks)


app.command()(countersign)


@app.command()
def reject(
    namespace: Namespace,
    reason: Reason,
    plan: NamedPlan = None,
    by: By = "",
    items: Items = None,
    json: Json = False,
) -> None:
    """Reject a plan or some of its items.

    They are not proposed again unless their rows change.
    """
    from slowwave.plans.gate import reject as turn_down

    store = open_store()
    named = plan or _unnamed(store, namespace, reject_command)
    count = turn_down(store, namespace, named, rejected_by=by, reason=reason, items=_split(items))
    if json:
        show_json({"plan_hash": named, "rejected": count})
    else:
        out.print(f"Rejected {counted(count, 'item')}.")


app.command()(reconsider)


@app.command()
def revoke(
    namespace: Namespace,
    name: Annotated[
        str,
        typer.Argument(metavar="HASH|APPROVAL", help="Hash of a plan or id of an approval, or its first characters."),
    ],
    reason: Reason,
    by: By = "",
    json: Json = False,
) -> None:
    """Withdraw approvals of a plan before they are applied.

    Use `slowwave undo` for applied items.
    """
    from slowwave.plans.gate import revoke as withdraw

    done = withdraw(open_store(), namespace, name, revoked_by=by, reason=reason)
    if json:
        show_json(asdict(done))
        return
    say(
        f"Revoked {counted(len(done.approval_ids), 'approval')} of plan {done.plan_hash[:12]}: "
        f"{counted(done.waiting, 'item is', 'items are')} pending again."
    )
    if done.applied:
        say(
            f"{counted(done.applied, 'item was', 'items were')} applied before and {'stands' if done.applied == 1 else 'stand'}."
        )
        suggest("Undo them", *(f"{program()} undo {run}" for run in done.runs))


def read_stored(store: Store, namespace: str, prefix: str | None, *, item: str = "") -> StoredPlan:
    """Read the plan with this hash or prefix, or the namespace's latest (see ``read_plan``); refuse if there is none."""
    from slowwave.plans.ledger import read_plan

    with store.connect("reader") as connection:
        hash_ = find_plan(connection, namespace, prefix) if prefix else latest_plan(connection, namespace)
        if hash_ is None:
            raise Refused(no_plan(connection, namespace))
        return read_plan(connection, hash_, item=item)


def _unnamed(store: Store, namespace: str, command: Callable[[str, str], str]) -> NoReturn:
    """Refuse to decide on a plan that was not named, with the command that names the latest."""
    with store.connect("reader") as connection:
        hash_ = latest_plan(connection, namespace)
        if hash_ is None:
            raise Refused(no_plan(connection, namespace))
    raise Refused(
        f"Name the plan by its hash, so that you decide on the plan that you read. The latest: "
        f"`{command(namespace, hash_)}`. Nothing was written."
    )


def stored_texts(store: Store, ids: Iterable[str]) -> dict[str, str]:
    """Map each version to its text and each entity to its name.

    Versions are never overwritten, so this is what the plan saw.
    """
    wanted = sorted({id_ for id_ in ids if id_})
    if not wanted:
        return {}
    with store.connect("reader") as connection:
        rows = connection.execute(_TEXTS, {"ids": wanted})
        return {str(id_): str(content) for id_, content in rows}


def print_writing(lines: Sequence[str], *, indent: int = 0) -> None:
    """Print what an item would write: our sentences, and the lines of pages with their marks.

    The rest of a wrapped line is indented further, so that no text can be mistaken for one of our sentences.
    """
    for line in lines:
        style = _STYLES.get(line[:2], "")
        left = indent + 2 if style else indent
        text = " " * left + one_line(line, _LONGEST_LINE)
        for part in wrapped(text, width_of(out), hang=indent + 6):
            out.print(Text(part, style))


def quoted(found: Sequence[ItemChange]) -> list[ItemChange]:
    """Return changes without what screening would redact."""
    return [replace(c, before=quotable(c.before), after=quotable(c.after)) for c in found]


def _diff_json(
    stored: StoredItem, item: Item, names: Mapping[str, str], texts: Mapping[str, str], forged: Unexplained | None
) -> dict[str, object]:
    from slowwave.plans.outcome import find_outcome
    from slowwave.plans.show import called, changes, physical_changes, row_changes, unexplained_changes
    from slowwave.plans.writings import KINDS, writing

    change_lines = (
        writing(item.mutation, texts) if item.mutation.kind in KINDS else row_changes(item, names, stored.status).lines
    )
    sides = find_outcome(item, names, stored.status)
    return {
        **{"id": stored.id, "operation": stored.operation, "decision": stored.decision, "status": stored.status},
        "name": called(item, names, stored.status),
        "outcome": sides.to_json() if sides else None,
        "lines": list(change_lines),
        "changes": [asdict(c) for c in quoted(changes(item))],
        "physical": [asdict(c) for c in quoted(physical_changes(item))],
        "unexplained": [asdict(c) for c in unexplained_changes(stored.id, forged)] if forged else [],
        "refused": forged.reason if forged else "",
    }


def _commas(given: list[str] | None) -> tuple[str, ...]:
    return tuple(name.strip() for part in given or () for name in part.split(",") if name.strip())


def _options(
    decision: list[str] | None, operation: list[str] | None, sort: str, limit: int | None, *, wide: bool
) -> str:
    """Return the options of a page, as the command of the next page repeats them."""
    lists = (("decision", decision), ("operation", operation))
    parts = [f" --{name} {argument(value)}" for name, values in lists for value in values or ()]
    parts += [f" --sort {argument(sort)}"] if sort != "plan" else []
    parts += [f" --limit {limit}"] if limit else []
    return "".join(parts) + (" --wide" if wide else "")


def _in_plan(counts: object) -> int:
    """Count the items that a plan holds; deferred items are in no plan."""
    found = counts if isinstance(counts, dict) else {}
    return sum(int(str(n)) for status, n in found.items() if status != "deferred")


def _duration(store: Store, plan: StoredPlan) -> ApplyEstimate:
    """Estimate the time to apply what an approval of the whole plan covers and is not applied yet."""
    from slowwave.plans.writings import apply_estimate

    left = [s.item for s in plan.items if not s.item.is_question and s.status in ("pending", "approved")]
    left += [s.item for s in plan.items if s.item.is_question and s.status == "approved"]
    with store.connect("reader") as connection:
        return apply_estimate(connection, plan.header.namespace_id, left)


def _sentences(plan: StoredPlan) -> list[str]:
    found = plan.summary.get("sentences")
    return [str(s) for s in found] if isinstance(found, list) else []


def _why_later(plan: StoredPlan) -> list[str]:
    """Return a sentence for each reason why items are left for a later night."""
    reasons = Counter(_ITEM.sub("Another item", s.reason) for s in plan.items if s.status == "deferred")
    return [f"{counted(n, 'item is', 'items are')} left for a later night: {why}" for why, n in reasons.most_common()]


def _split(items: str | None) -> list[str] | None:
    return None if items is None else [i.strip() for i in items.split(",") if i.strip()]
