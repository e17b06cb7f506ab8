"""``python -m benchmarks.mutants [--seed N] [--sample N] [--results FILE] MODULE…``: change code in one place; count what tests notice.

A mutant is a module in which one expression or statement is changed. The tests of the module run against each mutant of a random sample.
A mutant that no test notices shows a condition that no test checks, or a change that makes no difference.

The commit at HEAD is unpacked into a temporary folder, so changes that are not committed are not measured. One process imports the module
and its tests once. It runs each mutant in a fork in which the changed function gets the changed code, so that a mutant costs the tests
alone. Mutants outside of functions run in a new process from a changed file.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import io
import json
import os
import random
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from benchmarks.machine import commit

ROOT: Final = Path(__file__).parents[1]

_FORGED: Final = (
    "changes/test_write_claims.py::test_a_forged_claim_is_refused",
    "changes/test_purge_rows.py::test_a_forged_plan_cannot_delete_what_lives",
    "changes/test_purge_rows.py::test_a_delete_holds_the_whole_row_and_survives_json",
    "changes/test_render_page.py::test_a_forged_page_reaches_no_other_cell",
    "changes/test_page_limits.py::test_a_forged_item_is_refused_by_its_cells_alone",
    "changes/test_forget_rows.py::test_a_forged_item_is_refused_by_its_cells_alone",
)

_MEASURED: Final = (
    "pattern_decides_alone_when_its_lower_bound_suffices",
    "lower_bound_without_decisions_is_zero",
    "undeclared_pattern_asks_and_gives_its_reason",
    "mechanical_patterns_decide_alone",
    "item_of_an_undeclared_pattern_becomes_a_question_with_its_reason",
    "mechanical_and_chosen_patterns_give_their_reason",
)

_STOPPED: Final = (
    "the_kill_switch",
    "the_kill_switch_stops_a_run_between_batches",
    "a_read_only_namespace_is_never_written",
    "there_is_no_apply_without_an_approval",
)

_FORGED_JOURNAL: Final = (
    "a_forged_body_is_refused_and_other_items_come_back",
    "the_image_of_a_purged_row_is_held_to_what_the_plan_saw",
)

_APPLIED: Final = (
    "apply_does_what_was_simulated_and_undo_takes_it_back",
    "a_stale_item_is_skipped_with_its_cell_and_the_rest_applies",
    "an_item_that_the_database_refuses_fails_alone",
)

_UNDONE: Final = (
    "undo_leaves_the_items_on_which_later_changes_stand_and_takes_back_all_others",
    "undo_of_named_items_leaves_the_others",
    "undo_last_after_a_run_without_changes_takes_the_run_before_it",
)

TESTS: Final[Mapping[str, tuple[str, ...]]] = {
    "slowwave.plans.permitted": ("plans/test_permitted.py",),
    "slowwave.plans.seal": ("plans/test_seal.py", "plans/test_permitted.py", "plans/test_scope.py"),
    "slowwave.plans.items": (
        *("plans/test_items.py", "plans/test_seal.py", "changes/test_cells.py"),
        *(f"plans/test_decides_alone.py::test_{name}" for name in _MEASURED),
    ),
    "slowwave.plans.gate": (
        *("plans/test_gate.py", "plans/test_judgement.py", "plans/test_countersigning.py"),
        "plans/test_policies.py::test_nothing_is_approved_of_a_plan_that_leans_on_the_share_of_housekeeping",
        "regressions/test_04_withdrawn_approvals.py::test_what_is_applied_or_revoked_is_not_revoked",
        "night/test_undo.py::test_undo_run_item_id_undoes_that_item_alone",
    ),
    "slowwave.plans.approval": (
        *("plans/test_approval.py", *(f"night/test_executor.py::test_{name}" for name in _STOPPED)),
        *("plans/test_countersigning.py", "regressions/test_04_withdrawn_approvals.py"),
    ),
    "slowwave.changes.mutation": ("changes/test_mutation.py", "plans/test_items.py", "plans/test_seal.py", *_FORGED),
    "slowwave.changes.apply": (
        *("changes/test_apply.py", "changes/test_new_version.py", "changes/test_purge_rows.py"),
        *(f"night/test_executor.py::test_{name}" for name in _APPLIED),
        "changes/test_lowering.py::test_deleting_takes_what_the_plan_did_not_see_along_for_nobody",
    ),
    "slowwave.changes.undo": (
        *("changes/test_purge_rows.py", "changes/test_undo.py"),
        *(f"regressions/test_06_forged_journal.py::test_{name}" for name in _FORGED_JOURNAL),
    ),
    "slowwave.night.executor": (
        *("night/test_throttle.py::test_batches_halve_where_they_take_long_and_grow_back", "night/test_executor.py"),
        *("regressions/test_02_relabelled_items.py", "regressions/test_04_withdrawn_approvals.py"),
        "night/test_throttle.py::test_apply_waits_while_a_replica_is_behind",
    ),
    "slowwave.night.undo": (
        *("night/test_undo.py", "changes/test_undo.py::test_undo_of_a_page_informs_followers_of_documents"),
        *(f"night/test_executor.py::test_{name}" for name in _UNDONE),
        "night/test_notices.py::test_whoever_keeps_something_beside_a_store_is_told_what_was_written",
    ),
}
"""The tests of each module that is measured, below ``tests``; those that notice most come first."""

WITHOUT_CONSTANTS: Final = frozenset(("slowwave.plans.items", "slowwave.changes.mutation"))
"""Modules of which functions alone are measured: most of their constants are tables of measured rules and of columns."""

ONLY: Final[Mapping[str, frozenset[str]]] = {
    "slowwave.changes.mutation": frozenset(
        (
            *(
                "",
                "_about",
                "claim_fault",
                "page_fault",
                "misnamed",
                "_misplaced",
                "_foreign_part",
                "forget_fault",
                "erased",
            ),
            *("_erasure_fault", "_page_fault", "_claims_fault", "_ends", "_only_marked", "_marked", "_place", "check"),
            *("_check_columns", "_check_own", "is_retired", "_belongs_to", "_source"),
        )
    )
}
"""The functions that are measured in modules that do more."""

_COMPARISONS: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
}
_OPERATORS: Final[Mapping[type[ast.operator], type[ast.operator]]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult},
    **{ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr},
}
_NAMES: Final = {"any": "all", "all": "any", "min": "max", "max": "min", "first": "last"}
_LEAST_SECONDS: Final = 30.0
_PATIENCE: Final = 8
"""A mutant that takes this many times as long as the module as it is, and at least the seconds above, counts as timed out."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a module: the number of its place, its line, the function around it, and the code before and after."""

    module: str
    number: int
    line: int
    function: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in a tree that can be changed: ``change`` changes the tree."""

    line: int
    function: str
    before: str
    after: str
    change: Callable[[], None]


def main() -> None:
    """Run a sample of mutants, or print the table of those that ran."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", default=[*TESTS], metavar="MODULE", help=f"default: {', '.join(TESTS)}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--sample", type=int, default=300, help="number of mutants, in proportion to the modules' places"
    )
    parser.add_argument("--results", type=Path, default=Path("mutants.jsonl"), help="one line for each mutant that ran")
    given = parser.parse_args()
    if unknown := sorted(set(given.modules) - TESTS.keys()):
        parser.error(f"{unknown[0]} has no tests listed in {Path(__file__).name}: add them to TESTS.")
    ran = [json.loads(line) for line in given.results.read_text().splitlines()] if given.results.exists() else []
    done = {(r["module"], r["number"]) for r in ran}
    with _unpacked() as folder:
        chosen = [
            m for m in _sample(folder, given.modules, given.seed, given.sample) if (m.module, m.number) not in done
        ]
        for module in given.modules:
            some = [asdict(m) for m in chosen if m.module == module]
            if some:
                code = "import sys; from benchmarks.mutants import work; work(sys.stdin.read(), *sys.argv[1:])"
                arguments = [sys.executable, "-c", code, str(given.results.resolve()), commit()]
                subprocess.run(arguments, input=json.dumps(some), text=True, cwd=folder, check=True)
    print(table(json.loads(line) for line in given.results.read_text().splitlines()))


def table(results: Iterator[Mapping[str, Any]]) -> str:
    """Return the results by module as a Markdown table."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        counts.setdefault(result["module"], Counter())[result["outcome"]] += 1
    rows = [f"| `{m}` | {c.total()} | {c['killed']} | {c['timeout']} | {c['survived']} |" for m, c in counts.items()]
    return "\n".join(
        ["| Module | Mutants | Killed | Timed out | Survived |", "| --- | ---: | ---: | ---: | ---: |", *rows]
    )


def places(source: str) -> list[_Place]:
    """Return every place in a module that can be changed, each with one change; several changes are several places.

    Annotations, docstrings, sentences and the texts of exceptions stay as they are.
    """
    return [*_places(tree := ast.parse(source), tree, "")]


def changed(source: str, number: int) -> ast.Module:
    """Return the tree of a module with the change of one place."""
    tree = ast.parse(source)
    [*_places(tree, tree, "")][number].change()
    return ast.fix_missing_locations(tree)


def _places(tree: ast.Module, node: ast.AST, function: str) -> Iterator[_Place]:
    for name, value in [*ast.iter_fields(node)]:
        if name in ("annotation", "returns", "decorator_list", "type_params") or isinstance(node, ast.JoinedStr):
            continue
        if isinstance(node, ast.Raise) and name == "exc":
            continue
        inside = function
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and name == "body":
            inside = f"{function}.{node.name}" if function else node.name
        children = value if isinstance(value, list) else [value]
        for at, child in enumerate(children):
            if not isinstance(child, ast.AST):
                continue
            for new in _changes(node, name, child, inside):
                put = _put(node, name, at if isinstance(value, list) else None, new)
                line = getattr(child, "lineno", getattr(node, "lineno", 0))
                yield _Place(line, inside, _shown(child), _shown(new), put)
            yield from _places(tree, child, inside)


def _put(node: ast.AST, name: str, at: int | None, new: ast.AST) -> Callable[[], None]:
    def put() -> None:
        if at is None:
            setattr(node, name, new)
        else:
            getattr(node, name)[at] = new

    return put


def _shown(node: ast.AST) -> str:
    shown = type(node).__name__ if isinstance(node, (ast.cmpop, ast.boolop, ast.operator)) else ast.unparse(node)
    return " ".join(shown.split())[:300]


def _changes(parent: ast.AST, name: str, node: ast.AST, function: str) -> Iterator[ast.AST]:
    """Return what may take the place of a node."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
            yield ast.Compare(node.left, [_COMPARISONS[type(op)]()], node.comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for n in range(len(values)):
                rest = [v for m, v in enumerate(values) if m != n]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp(op=op) if not _is_text(node):
            if type(op) in _OPERATORS:
                yield ast.BinOp(node.left, _OPERATORS[type(op)](), node.right)
            if isinstance(op, (ast.BitOr, ast.BitAnd, ast.Sub)):
                yield node.left
            if isinstance(op, (ast.BitOr, ast.BitAnd)):
                yield node.right
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value) if not isinstance(parent, ast.Slice):
            yield ast.Constant(value + 1)
        case ast.Constant(value=str() as text) if text.isidentifier() and not isinstance(parent, ast.Expr):
            yield ast.Constant(f"{text}_")
        case ast.Name(id=called) if isinstance(parent, ast.Call) and name == "func" and called in _NAMES:
            yield ast.Name(_NAMES[called], ast.Load())
        case ast.MatchOr(patterns=patterns):
            for n in range(len(patterns)):
                rest = [p for m, p in enumerate(patterns) if m != n]
                yield rest[0] if len(rest) == 1 else ast.MatchOr(rest)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() if function:
            yield ast.Pass()
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case _:
            pass
    if (name == "test" and isinstance(parent, (ast.If, ast.While, ast.IfExp))) or name == "ifs":
        yield ast.Constant(False)
        if not isinstance(parent, ast.While):
            yield ast.Constant(True)


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(s, ast.JoinedStr) or (isinstance(s, ast.Constant) and isinstance(s.value, str)) for s in sides
    )


def _path(folder: Path, module: str) -> Path:
    return folder / Path(*module.split(".")).with_suffix(".py")


def _sample(folder: Path, modules: Sequence[str], seed: int, size: int) -> list[Mutant]:
    every = [
        Mutant(module, number, place.line, place.function, place.before, place.after)
        for module in modules
        for number, place in enumerate(places(_path(folder, module).read_text()))
        if (module not in ONLY or place.function in ONLY[module])
        and (
            place.function[:1].islower()
            or place.function[:1] == "_"
            or "." in place.function
            or module not in WITHOUT_CONSTANTS
        )
    ]
    print(f"{len(every):,} places in {len(modules)} modules", flush=True)
    chosen = random.Random(seed).sample(every, min(size, len(every)))  # noqa: S311 - a sample, no secret
    return sorted(chosen, key=lambda m: (m.module, m.number))


@contextmanager
def _unpacked() -> Generator[Path]:
    """Yield a temporary folder with the files of the commit at HEAD."""
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory(prefix="slowwave-mutants-") as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


# The process that runs the mutants of one module, in the folder of the copy.


def work(mutants: str, results: str, at: str) -> None:
    """Run the mutants of one module, and append one line of JSON for each to the file of results."""
    sys.path.insert(0, str(Path.cwd()))
    chosen = [Mutant(**m) for m in json.loads(mutants)]
    module = chosen[0].module
    path = _path(Path.cwd(), module)
    source = path.read_text()
    tests = [f"tests/{name}" for name in TESTS[module]]
    with _one_server():
        began = time.monotonic()
        if _run_tests(tests):
            raise SystemExit(f"The tests of {module} fail without any change; nothing was measured.")
        first = time.monotonic() - began
        limit = max(_LEAST_SECONDS, _PATIENCE * first)
        if (outcome := _forked(lambda: _run_tests(tests), limit)) != "survived":
            raise SystemExit(
                f"The tests of {module} fail in a fork without any change ({outcome}); nothing was measured."
            )
        print(f"{module}: {len(chosen)} mutants, {first:.1f} s for its tests", flush=True)
        for mutant in chosen:
            began = time.monotonic()
            outcome = _outcome(mutant, path, source, tests, limit)
            seconds = round(time.monotonic() - began, 1)
            with Path(results).open("a") as lines:
                lines.write(json.dumps({**asdict(mutant), "outcome": outcome, "seconds": seconds, "commit": at}) + "\n")


def _outcome(mutant: Mutant, path: Path, source: str, tests: Sequence[str], limit: float) -> str:
    tree = changed(source, mutant.number)
    module = sys.modules[mutant.module]
    if found := replaceable(module, mutant.function, tree):

        def run() -> int:
            function, code = found
            function.__code__ = code
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
            return _run_tests(tests)

        return _forked(run, limit)
    path.write_text(ast.unparse(tree))
    try:
        code = "import sys; from benchmarks.mutants import _run_tests; sys.exit(_run_tests(sys.argv[1:]))"
        arguments = [sys.executable, "-c", code, *tests]
        # A new session, so that its children end with it.
        process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            return "killed" if process.wait(limit + _LEAST_SECONDS) else "survived"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "timeout"
    finally:
        path.write_text(source)


_OPTIONS: Final = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=no", "--no-summary")


def _run_tests(tests: Sequence[str]) -> int:
    import pytest

    class WithoutDemo:
        """Leaves out tests of the demo, whose database all forks would make under one name."""

        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            items[:] = [item for item in items if "demo_template" not in getattr(item, "fixturenames", ())]

    return int(pytest.main([*_OPTIONS, *tests], plugins=[WithoutDemo()]))


def _forked(run: Callable[[], int], limit: float) -> str:
    """Run tests in a fork of this process; return ``killed``, ``survived`` or ``timeout``."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.setsid()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        code = 1
        try:
            code = run()
        finally:
            os._exit(code)
    until = time.monotonic() + limit
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "killed" if status else "survived"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


@contextmanager
def _one_server() -> Generator[None]:
    """Let all forks share one database server, which the fixture ``postgres`` would start in each."""
    from slowwave.store import server
    from tests import conftest
    from tests.clusters import fast_folder

    start, stop = server.start, server.stop
    with tempfile.TemporaryDirectory() as folder, fast_folder(Path(folder) / "postgres") as home:
        running = start(home)
        try:
            prepare = conftest._prepare  # pyright: ignore[reportPrivateUsage]
            prepare(running)
            conftest.__dict__.update(_prepare=lambda running: None)
            server.__dict__.update(start=lambda home: running, stop=lambda home: None)
            yield
        finally:
            stop(home)


def replaceable(module: ModuleType, name: str, tree: ast.Module) -> tuple[FunctionType, CodeType] | None:
    """Return the imported function or method of a qualified name, and its code in a changed tree of its module.

    Decorators are ignored, and a function inside of a function is part of the outer one. None for code outside of functions, and if the
    code is the same, as for a changed default value.
    """
    found: Any = module
    code: CodeType | None = compile(tree, module.__name__, "exec")
    for part in name.split("."):
        found = vars(found).get(part) if isinstance(found, (ModuleType, type)) else None
        found = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
        code = (
            next((c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == part), None) if code else None
        )
        if callable(found) and not isinstance(found, type):
            function = inspect.unwrap(found)
            same_cells = (
                isinstance(function, FunctionType) and code and function.__code__.co_freevars == code.co_freevars
            )
            return (function, code) if same_cells and code and function.__code__ != code else None
    return None


if __name__ == "__main__":
    main()
