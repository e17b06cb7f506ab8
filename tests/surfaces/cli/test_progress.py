"""The progress bar of long work: its stage, percentage and remaining time."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress, ProgressSample

from slowwave.surfaces.cli import session as module
from tests.waiting import until


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the bar from the beginning."""
    monkeypatch.setattr(module, "DELAY", 0.0)


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Console:
    """A terminal that keeps what is written to it."""
    made = Console(force_terminal=True, width=80, record=True, highlight=False)
    monkeypatch.setattr(module, "err", made)
    monkeypatch.setattr(module, "out", made)
    return made


def shares(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float | None, float, str]]:
    seen: list[tuple[float | None, float, str]] = []
    update = Progress.update

    def noting(self: Progress, *args: object, **more: object) -> None:
        update(self, *args, **more)  # type: ignore[arg-type]
        seen.append((self.tasks[0].total, self.tasks[0].completed, self.tasks[0].description))

    monkeypatch.setattr(Progress, "update", noting)
    return seen


def test_it_shows_what_it_is_told(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    """Done, of how much, and what is at hand, in plain text."""
    seen = shares(monkeypatch)
    with module.progress("acme [x]") as tell:
        tell(0, None, "reading")
        tell(3, 12, "planning [bold]")
        tell(6, 12, "")
    assert [(total, done) for total, done, _ in seen] == [(None, 0), (12, 3), (12, 6)]
    assert seen[-1][2] == r"acme \[x]: planning \[bold]"


def test_a_result_that_is_printed_meanwhile_stands_on_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar is the printing console's where both are terminals; where results go into a file it is on standard error."""
    screen, file = io.StringIO(), io.StringIO()
    err = Console(force_terminal=True, width=80, file=screen)
    for out in (Console(force_terminal=True, width=80, file=screen), Console(file=file)):
        monkeypatch.setattr(module, "err", err)
        monkeypatch.setattr(module, "out", out)
        with module.progress("Night") as tell:
            tell(1, 2, "")
            out.print("acme: nothing to do")
    assert file.getvalue() == "acme: nothing to do\n"
    before = screen.getvalue().partition("acme: nothing to do")[0]
    assert before.endswith("\x1b[2K"), "the bar's line is erased first"


def test_work_of_unknown_size_is_not_at_0_per_cent() -> None:
    """Nobody knows how far it is, so nothing is said."""
    bar = Progress(disable=True)
    bar.add_task("x", total=None)
    (task,) = bar.tasks
    assert module._Share().render(task).plain == ""
    task.total, task.completed = 8, 2
    assert module._Share().render(task).plain == " 25 %"


def test_progress_of_short_work_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar appears once the work has taken the delay, also if the work reports nothing by then."""
    for delay, shown in ((3_600.0, False), (0.001, True)):
        screen = io.StringIO()
        monkeypatch.setattr(module, "err", Console(force_terminal=True, width=80, file=screen))
        monkeypatch.setattr(module, "out", Console(file=io.StringIO()))
        monkeypatch.setattr(module, "DELAY", delay)
        with module.progress("Night"):
            if shown:
                until(lambda screen=screen: "Night" in screen.getvalue())
        assert ("Night" in screen.getvalue()) == shown


def test_progress_shows_the_remaining_time_once_it_is_known() -> None:
    bar = Progress(disable=True)
    bar.add_task("x", total=None)
    (task,) = bar.tasks
    assert module._Remaining().render(task).plain.endswith(" s so far")
    task.total, task.finished_speed, task.completed = 10, None, 4
    task.start_time = 0.0
    task._progress.extend([ProgressSample(0.0, 0), ProgressSample(2.0, 4)])
    assert module._Remaining().render(task).plain == "about 3 s left"
