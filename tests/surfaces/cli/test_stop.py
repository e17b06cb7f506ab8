"""``slowwave stop`` ends what runs here, says what that was, and touches nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowwave.store import server
from slowwave.surfaces.cli import dev
from slowwave.surfaces.cli.main import main

pytestmark = pytest.mark.slow

WAITS = """
import sys, signal
signal.signal(signal.SIGTERM, signal.SIG_DFL)  # whoever started it may ignore or block it, and both are inherited
signal.pthread_sigmask(signal.SIG_SETMASK, [])
sys.stdout.write('.'); sys.stdout.flush(); signal.pause()
"""


PARENT = """
import signal, subprocess, sys
signal.pthread_sigmask(signal.SIG_SETMASK, [])
ignores = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN if {stubborn} else signal.SIG_DFL); signal.pause()"
starts = "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', sys.argv[1]]); print(p.pid, flush=True); p.wait()"
child = subprocess.Popen([sys.executable, "-c", starts, ignores], stdout=subprocess.PIPE)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
sys.stdout.write("." + child.stdout.readline().decode()); sys.stdout.flush(); signal.pause()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own, whose server is stopped in the end."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("SLOWWAVE_HOME", str(folder))
    yield folder
    server.stop(folder)


def process(*words: str, program: str = WAITS) -> subprocess.Popen[bytes]:
    """A process that waits to be ended, with these words in its command line."""
    started = subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE)
    assert started.stdout is not None
    assert started.stdout.read(1) == b"."
    return started


def stop(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    monkeypatch.setattr(sys, "argv", ["slowwave", "stop", *more])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    return capsys.readouterr().out


def test_what_runs_is_stopped_and_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A UI and the server; a second time nothing is left, and the data is."""
    ui = process("-m", "dagster", "dev", "-p", "3777")
    (home / "dev-3777.pid").write_text(f"{ui.pid}\n")
    server.start(home)
    said = stop(monkeypatch, capsys)
    assert "port 3777" in said
    assert "PostgreSQL" in said
    assert ui.wait() == -signal.SIGTERM
    assert not server.is_running(home)
    assert (home / "postgres").is_dir()
    assert json.loads(stop(monkeypatch, capsys, "--json")) == {"home": str(home), "ui_ports": [], "postgres": False}
    assert stop(monkeypatch, capsys).startswith("No process of ")


@pytest.mark.parametrize("stubborn", [False, True])
def test_code_servers_that_the_ui_leaves_behind_end_before_the_database(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, stubborn: bool
) -> None:
    """They and what they started are ended by force if they do not end, and their database runs until then."""
    monkeypatch.setattr(dev, "_LEFT_SECONDS", 0.3)
    ended: list[bool] = []
    monkeypatch.setattr(server, "stop", lambda _: ended.append(alive(grandchild)))
    ui = process("-m", "dagster", "dev", "-p", "3777", program=PARENT.format(stubborn=stubborn))
    assert ui.stdout is not None
    grandchild = int(ui.stdout.readline())
    (home / "dev-3777.pid").write_text(f"{ui.pid}\n")
    (home / "postgres").mkdir()
    monkeypatch.setattr(server, "is_running", lambda _: True)
    assert alive(grandchild)
    assert "port 3777" in stop(monkeypatch, capsys)
    assert ended == [False]
    ui.wait()


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended has no command line, even if nobody has waited for it."""
    return pid in dev._processes()


def test_a_number_that_another_program_has_is_left_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The UI ended by itself, and its number was given anew; a file that holds no number names nobody."""
    other = process("dagster", "dev", "-p", "3778")
    try:
        (home / "dev-3777.pid").write_text(f"{other.pid}\n")
        (home / "dev-3779.pid").write_text("nobody\n")
        assert stop(monkeypatch, capsys).startswith("No process of ")
        assert other.poll() is None
        assert list(home.glob("dev-*.pid")) == []
    finally:
        other.kill()
        other.wait()


def test_the_process_that_becomes_the_ui_is_written_down(home: Path) -> None:
    """By its port."""
    dev.note_started(home, 3777)
    assert (home / "dev-3777.pid").read_text() == f"{os.getpid()}\n"
