"""``slowwave why`` and ``conflicts``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from slowwave.errors import Refused
from slowwave.plans.commands import APPROVER, NOTE, approve_command, argument, reject_command, undecided
from slowwave.plans.waterfall import terminal
from slowwave.store.connect import Store
from slowwave.surfaces.cli.pages import show_memory
from slowwave.surfaces.cli.plans import print_writing, read_stored, stored_texts
from slowwave.surfaces.cli.remember import claim_of, show_claim
from slowwave.surfaces.cli.session import (
    By,
    Json,
    Namespace,
    Note,
    Plan,
    open_store,
    out,
    prefix_length,
    program,
    say,
    show_json,
    show_table,
    suggest,
    width_of,
)
from slowwave.text.tokens import suggest_id

if TYPE_CHECKING:
    from slowwave.plans.conflicts import StoredConflict
    from slowwave.plans.ledger import StoredItem, StoredPlan


# ``slowwave why``: the effect of an item of a plan and each piece of evidence for it; or the evidence of a claim.

_EXCERPT = 300  # characters of a source
_UNBOUNDED = 10_000

_ITEM_IDS: Final = "SELECT item_id::text FROM night.plan_items WHERE plan_hash = %s"

ItemId = Annotated[
    str, typer.Argument(help="Id of an item or a claim, its first characters, or mem:ID from a line of a page.")
]


def why(namespace: Namespace, item: ItemId, plan: Plan = None, json: Json = False) -> None:
    """Explain an item, a claim or a memory by its evidence.

    An item of a plan is explained step by step, with its sources and probes.
    """
    from slowwave.plans.items import Decision
    from slowwave.plans.lowering import unexplained_items
    from slowwave.plans.review.card import screened_text
    from slowwave.plans.show import named_rows, read_names, read_sources, unexplained_lines
    from slowwave.plans.why import why as account
    from slowwave.plans.writings import cited

    if item.startswith("mem:"):  # so lines of pages end
        show_memory(namespace, item, json=json)
        return
    store = open_store()
    if plan is None and (claim := claim_of(store, namespace, item.strip().lower())) is not None:
        show_claim(namespace, claim, json=json)
        return
    found = read_stored(store, namespace, plan, item=item.strip().lower())
    stored = _chosen(store, found, item)
    chosen = stored.item
    with store.connect("reader") as connection:
        names = read_names(connection, named_rows([chosen]), found.header.namespace_id)
        sources = read_sources(connection, chosen, names)
        text = screened_text(connection, found, stored)
    texts = stored_texts(store, cited(chosen.mutation, stored.status))
    explained = account(chosen, found.probes, texts, names, stored.status)
    if json:
        about = {"plan_hash": found.plan_hash, "namespace": namespace, "status": stored.status, "reason": stored.reason}
        about |= {"question": stored.question, "outcome": explained.outcome.to_json() if explained.outcome else None}
        about |= {"text": text} if text else {}
        quoted = [{"id": id_, "text": words[:_EXCERPT]} for id_, _, words in sources.quoted]
        show_json(chosen.to_json() | about | {"why": explained.to_json() | {"quotes": quoted}})
        return
    state = f"{stored.status}: {stored.reason}" if stored.reason else stored.status
    out.print(f"[bold]{chosen.id}[/] of plan {found.plan_hash[:12]}")
    say(f"{chosen.operation} · {chosen.decision} · {chosen.risk} risk · {state}")
    out.print()
    say(explained.sentence)
    if text:
        say(f"“{text}”")
    for id_, forged in unexplained_items(store, found.header.namespace_id, [chosen]).items():
        print_writing(unexplained_lines(id_, forged))
    out.print()
    if lines := explained.side_by_side():
        title = "Rows as planned" if chosen.mutation.keep else "Planned changes"
        show_table(title, list(lines[0]), [list(line.values()) for line in lines])
    print_writing(explained.writing)
    if explained.steps:
        out.print()
        out.print(terminal(explained.steps), width=width_of(out) or _UNBOUNDED)
        out.print()
        say(explained.verdict)
        if chosen.decision == Decision.MERGE and (expected := _expected(found, chosen.operation)):
            say(expected)
    if explained.evidence:
        show_table("Evidence", ("what", "value"), explained.evidence.items())
    for note in explained.notes:
        say(f"· {note}")
    if sources.quoted:
        show_table("Sources", ("id", "text"), [(id_, words[:_EXCERPT]) for id_, _, words in sources.quoted])
    if sources.others:
        say(sources.others)
    with store.connect("reader") as connection:
        left = undecided(connection, found.plan_hash)
    if stored.status == "pending" and left:
        out.print()
        failed = _needs_force(store, found, stored)
        if failed:
            say(f"Probes failed: {' '.join(failed)}")
            say(f"To approve it nevertheless, add --force and a reason in place of {NOTE}.")
        about, items = (namespace, found.plan_hash), (chosen.id,)
        suggest("Yes", approve_command(*about, items=items, force=bool(failed), program=program()))
        suggest("No", reject_command(*about, items=items, program=program()))


def _chosen(store: Store, plan: StoredPlan, prefix: str) -> StoredItem:
    """Return the one item that was read; refuse none or several."""
    if len(plan.items) == 1:
        return plan.items[0]
    short, namespace = plan.plan_hash[:12], plan.header.namespace
    if plan.items:
        raise Refused(f"{prefix[:64]!r} begins {len(plan.items):,} items of plan {short}. Give more of the id.")
    with store.connect("reader") as connection:
        near = suggest_id(
            prefix.strip().lower()[:36], [str(id_) for (id_,) in connection.execute(_ITEM_IDS, (plan.plan_hash,))]
        )
    raise Refused(
        f"{prefix[:64]!r} is no item of plan {short}, nor a claim.{near} `slowwave plans show {argument(namespace)}` lists its items; "
        "give the hash of another plan after the item."
    )


def _needs_force(store: Store, plan: StoredPlan, item: StoredItem) -> tuple[str, ...]:
    """Return the probes that an approval of this item alone would fail.

    They run only if those of its plan failed, and take some seconds.
    """
    from slowwave.operations import permits
    from slowwave.plans.gate import judge
    from slowwave.plans.ledger import read_plan

    if not plan.summary.get("needs_force"):
        return ()
    with store.connect("reader") as connection:
        return judge(store, connection, read_plan(connection, plan.plan_hash), [item], permits()).needs_force


def _expected(plan: StoredPlan, operation: str) -> str:
    """Return a sentence with how many merges of the plan are wrong if its probabilities are right."""
    planners = plan.summary.get("planners")
    numbers = planners.get(operation, {}).get("numbers", {}) if isinstance(planners, dict) else {}
    wrong = numbers.get("expected false merges")
    return "" if wrong is None else f"Of all merges of the plan, {wrong:,.2g} are expected to be wrong."


# ``slowwave conflicts``: show rows that contradict each other, and decide them.

app = typer.Typer(help="List contradicting rows and decide which one is right.", no_args_is_help=True)

_SHOWN = 50
_CONTRADICT: Final = ("contradiction", "changed")


class Right(StrEnum):
    """Answer to a conflict: the row that is right, or both."""

    A = "a"
    B = "b"
    BOTH = "both"


@app.command("list")
def list_(
    namespace: Namespace,
    resolution: Annotated[
        str | None,
        typer.Option(
            help="Only these, separated by commas: detected, deferred, kept, prefer, invalidated. By default open ones."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Include resolved ones.")] = False,
    json: Json = False,
) -> None:
    """List conflicts, the open ones first."""
    from slowwave.plans.conflicts import list_conflicts

    wanted = [r.strip() for r in resolution.split(",") if r.strip()] if resolution else ["detected", "deferred"]
    found = list_conflicts(open_store(), namespace, resolutions=[] if every else wanted)
    if json:
        show_json([conflict.to_json() for conflict in found])
        return
    digits = prefix_length([c.id for c in found])
    show_table(
        "Conflicts",
        ("conflict", "reason", "resolution", "a", "b", "outcome"),
        [
            (c.id[:digits], c.reason, _resolved(c), c.a or c.row_a_id, c.b or c.row_b_id, _outcome(c))
            for c in found[:_SHOWN]
        ],
    )
    if len(found) > _SHOWN:
        say(f"… and {len(found) - _SHOWN:,} more; --json shows all.")
    if asking := [c for c in found if c.resolution in ("detected", "deferred")]:
        about = f"{argument(namespace)} {asking[0].id[:digits]} --right a --by {APPROVER}"
        suggest("Rule on one, for a, b or both", f"{program()} conflicts resolve {about}")


@app.command()
def resolve(
    namespace: Namespace,
    conflict: Annotated[str, typer.Argument(help="Id of the conflict, or its first characters.")],
    right: Annotated[Right, typer.Option("--right", help="The row that is right: a, b or both.")],
    by: By = "",
    note: Note = "",
    json: Json = False,
) -> None:
    """Decide which row of a conflict is right.

    The next night proposes to retire the other row, even if that was
    rejected or undone before. No policy and no model overrules the decision.
    """
    from slowwave.plans.conflicts import resolve_conflict

    found = resolve_conflict(open_store(), namespace, conflict, verdict=right.value, by=by, note=note)
    if json:
        show_json(found.to_json())
    elif right is Right.BOTH:
        say(f"Conflict {found.id}: both rows stay, and the question is not asked again.")
    else:
        say(f"Conflict {found.id}: {right.value} is right. The next night proposes what follows. {_outcome(found)}")


@app.command()
def calibrate(
    pairs: Annotated[
        Path, typer.Argument(help="JSON lines with a, b and label; contradiction and changed are conflicts.")
    ],
    model: Annotated[
        str, typer.Option(help="Folder or name of the model of inference; that of SLOWWAVE_NLI_MODEL by default.")
    ] = "",
    download: Annotated[bool, typer.Option(help="Download a model that is named and not on this machine.")] = False,
    json: Json = False,
) -> None:
    """Print precision and recall of a local model by threshold."""
    from slowwave.models.cross_encoder import NliModel
    from slowwave.models.cross_encoder import calibrate as compare
    from slowwave.store.settings import Settings

    if not (name := model or Settings().nli_model):
        raise Refused("No model is named. Give --model, a folder with model.onnx, tokenizer.json and config.json.")
    rows = compare(NliModel(name, download=download), labelled := _labelled(pairs))
    if json:
        show_json([row._asdict() for row in rows])
        return
    show_table(
        f"{name} and {len(labelled):,} pairs, of which {sum(true for _, _, true in labelled):,} contradict each other",
        ("SLOWWAVE_NLI_THRESHOLD", "found", "wrong", "precision", "recall"),
        [
            (f"{row.threshold:g}", row.found, row.wrong, *(_share(value) for value in (row.precision, row.recall)))
            for row in rows
        ],
    )
    say("Set SLOWWAVE_NLI_THRESHOLD to the lowest value whose precision is good enough to ask a person.")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _labelled(path: Path) -> list[tuple[str, str, bool]]:
    """Read labelled pairs; refuse a file that has none, or a line without texts and a label."""
    from json import loads

    rows: list[tuple[str, str, bool]] = []
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise Refused(f"{path} cannot be read ({type(problem).__name__}). Name a file of JSON lines.") from None
    for number, line in enumerate(lines, 1):
        try:
            row = loads(line) if line.strip() else None
            one, two, label = (row[name] for name in ("a", "b", "label")) if row else ("", "", "")
        except (ValueError, TypeError, KeyError):
            one = two = label = None
        if not (isinstance(one, str) and isinstance(two, str) and isinstance(label, str)):
            raise Refused(f"Line {number} of {path} is not a JSON object with the texts a, b and label. Correct it.")
        if label:
            rows.append((one, two, label in _CONTRADICT))
    if not rows:
        raise Refused(f"{path} has no pairs, so there is nothing to compare. Add lines with a, b and label.")
    return rows


def _outcome(conflict: StoredConflict) -> str:
    """Return which row stays and which ends, or an empty string if nothing is proposed."""
    if conflict.resolution == "kept":
        return "Both rows stay."
    return conflict.outcome.sentence() if conflict.outcome else ""


def _resolved(conflict: StoredConflict) -> str:
    side = {conflict.row_a_id: " a", conflict.row_b_id: " b"}.get(conflict.winner_id or "", "")
    return f"{conflict.resolution}{side}{f' by {conflict.resolved_by}' if conflict.resolved_by else ''}"
