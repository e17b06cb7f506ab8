"""The embedded server: found, started, killed, stopped, and never showing its password."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from slowwave.errors import StoreError
from slowwave.store import server
from slowwave.store import server as server_account
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A folder whose server is stopped after the test, whatever happened."""
    folder = tmp_path / "home"
    yield folder
    server.stop(folder)


def _postmaster(home: Path) -> int:
    return int((home / "postgres" / "postmaster.pid").read_text().split()[0])


def _command_lines() -> str:
    """What everyone on this machine can read about running processes; slim containers have no `ps`."""
    if not Path("/proc/self/cmdline").exists():
        return subprocess.run(["ps", "-ef"], capture_output=True, text=True, check=True).stdout
    lines: list[str] = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it may have ended meanwhile
            lines.append(process.read_text(errors="replace"))
    return "\n".join(lines)


def _ask(running: server.Server, question: str, database: str = "slowwave") -> object:
    with psycopg.connect(running.url(database), autocommit=True) as connection:
        row = connection.execute(question).fetchone()
        assert row is not None
        return row[0]


def test_two_starts_are_one_server(home: Path) -> None:
    """`make up` in one terminal, `slowwave night` in another: the second finds the first's server and both databases."""
    first = server.start(home)
    postmaster = _postmaster(home)
    assert server.start(home) == first
    assert _postmaster(home) == postmaster
    assert server.is_running(home)
    assert _ask(first, "SELECT count(*) FROM pg_database WHERE datname IN ('slowwave', 'dagster')") == 2
    assert _ask(first, "SELECT current_setting('max_connections')", "dagster") == "200"
    assert _ask(first, "SELECT current_setting('unix_socket_directories')") == ""
    assert _ask(first, "SELECT current_setting('listen_addresses')") == "127.0.0.1"


def test_processes_that_start_at_once_share_one_server(home: Path) -> None:
    """A webserver, a daemon and two workers come up together on an empty folder."""
    program = (
        f"from pathlib import Path; from slowwave.store import server; print(server.start(Path({str(home)!r})).port)"
    )
    starters = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(4)]
    ports = {process.communicate(timeout=60)[0].strip() for process in starters}
    assert [process.returncode for process in starters] == [0] * 4
    assert ports == {str(server.start(home).port).encode()}


def test_a_killed_server_comes_back_with_its_data(home: Path) -> None:
    """The machine loses power twice; the committed row is there, at the same address."""
    running = server.start(home)
    with psycopg.connect(running.url("slowwave"), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    for _ in range(2):
        _kill(home)
        assert server.start(home) == running
        assert _ask(running, "SELECT answer FROM kept") == 42


def test_a_recycled_process_id_does_not_keep_the_server_down(home: Path) -> None:
    """After a reboot the number in postmaster.pid belongs to another program: it is neither our server nor in our way."""
    running = server.start(home)
    _kill(home)
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        claim = home / "postgres" / "postmaster.pid"
        claim.write_text(claim.read_text().replace(claim.read_text().split()[0], str(stranger.pid), 1))
        assert not server.is_running(home)
        server.stop(home)
        assert stranger.poll() is None, "stop() must not signal a program that is not ours"
        assert server.start(home) == running
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_the_port_is_kept_unless_another_program_took_it(home: Path) -> None:
    """Stopped and started, the address stays; when the port is gone, the server moves and the data stays whole."""
    first = server.start(home)
    server.stop(home)
    assert not server.is_running(home)
    server.stop(home)  # stopping what is stopped is no error
    with socket.create_server((first.host, first.port)):
        moved = server.start(home)
    assert moved.port != first.port
    assert moved.password == first.password
    assert _ask(moved, "SELECT 1") == 1


def test_the_password_is_in_one_private_file_and_nowhere_else(home: Path) -> None:
    """Not in the process list, the log, the repr, or a refused statement; without it nobody comes in."""
    running = server.start(home)
    assert stat.S_IMODE((home / "pgpass").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "postgres").stat().st_mode) == 0o700
    assert running.password not in repr(running)
    with psycopg.connect(running.url("slowwave"), autocommit=True) as connection, pytest.raises(psycopg.Error):
        connection.execute(f"CREATE ROLE {'slowwave'} PASSWORD '{running.password}'")
    listing = _command_lines()
    assert "postgres" in listing
    assert running.password not in listing
    holders = [f for f in home.iterdir() if f.is_file() and running.password in f.read_text(errors="replace")]
    assert holders == [home / "pgpass"]
    for wrong in (None, "guessed"):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(
                f"host={running.host} port={running.port} user=slowwave dbname=slowwave password={wrong or ''}"
            )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to hand the server to another account")
def test_root_without_user_namespaces_hands_the_server_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most containers run as root and forbid namespaces: another account serves, also inside folders closed to it."""
    ways = server_account._ways_for_root
    monkeypatch.setattr(
        server_account, "_ways_for_root", lambda owner: (w for w in ways(owner) if w.prefix[0] != "unshare")
    )
    running = server.start(home)
    assert (home / "postgres").stat().st_uid != 0
    monkeypatch.undo()
    server.stop(home)
    assert server.start(home) == running, "existing data decides who serves it, also where namespaces are allowed"


def test_root_with_no_way_left_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing works, a sentence names the ways out and nothing half made stays behind."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(server_account, "_ways_for_root", lambda _owner: iter(()))
    with pytest.raises(StoreError, match=r"Run as a normal user.*SLOWWAVE_DATABASE_URL"):
        server.start(tmp_path / "home")
    assert not (tmp_path / "home" / "postgres").exists()


def test_binaries_that_do_not_fit_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong PG_BINDIR and data of another major version are sentences, not twenty seconds of retries."""
    data = tmp_path / "old" / "postgres"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("9\n")
    with pytest.raises(StoreError, match=r"made by PostgreSQL 9, .*Set PG_BINDIR to version 9"):
        server.start(tmp_path / "old")
    monkeypatch.setenv("PG_BINDIR", str(tmp_path))
    with pytest.raises(StoreError, match=r"PG_BINDIR is .* no pg_ctl"):
        server.start(tmp_path / "home")


def test_a_lost_password_file_is_a_sentence(home: Path) -> None:
    """The data without its password is not thrown away: the operator decides."""
    running = server.start(home)
    (home / "pgpass").rename(home / "moved")
    with pytest.raises(StoreError, match=r"pgpass.*Bring it back"):
        server.start(home)
    (home / "moved").rename(home / "pgpass")
    assert server.start(home) == running


def test_home_follows_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a subfolder of a checkout the same server is meant; SLOWWAVE_HOME wins."""
    (tmp_path / "checkout" / "docs").mkdir(parents=True)
    for name in server.CHECKOUT_FILES:
        (tmp_path / "checkout" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "checkout" / name).touch()
    monkeypatch.chdir(tmp_path / "checkout" / "docs")
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path / "elsewhere"))
    assert server.default_home() == tmp_path / "elsewhere"
    monkeypatch.delenv("SLOWWAVE_HOME")
    assert server.default_home() == tmp_path / "checkout" / ".slowwave"


def test_home_outside_a_checkout_is_the_users_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a ``.slowwave`` of a parent folder nor somebody's ``workspace.yaml`` captures the user (F16)."""
    (tmp_path / ".slowwave" / "postgres").mkdir(parents=True)
    (tmp_path / "workspace.yaml").touch()
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.delenv("SLOWWAVE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert server.default_home() == tmp_path / "me" / ".local" / "share" / "slowwave"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert server.default_home() == tmp_path / "data" / "slowwave"


def test_first_server_and_former_home_are_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first command says where the server is; a store by the former rule is named once, with the command that keeps it."""
    former, home = tmp_path / ".slowwave", tmp_path / "data" / "slowwave"
    (former / "postgres").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLOWWAVE_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(home.parent))
    try:
        with pytest.warns(UserWarning, match="SLOWWAVE_HOME|created in") as noted:
            assert server.start().home == home
        sentences = [str(one.message) for one in noted]
        assert f"export SLOWWAVE_HOME={former}" in sentences[0]
        assert f"was created in {home}" in sentences[1]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            server.start()
    finally:
        server.stop(home)


def test_addresses_are_quoted() -> None:
    """A user name with a slash stays one user name; another user's password is never the superuser's."""
    there = server.Server(Path("/home"), "127.0.0.1", 5432, "s3cret")
    assert there.url("slowwave") == "postgresql://slowwave:s3cret@127.0.0.1:5432/slowwave"
    assert there.url("a b", "x/y", "p@ss") == "postgresql://x%2Fy:p%40ss@127.0.0.1:5432/a%20b"
    assert there.url("slowwave", "reader") == "postgresql://reader@127.0.0.1:5432/slowwave"


def _kill(home: Path) -> None:
    """Kill the postmaster and see it gone: the signal is sent at once, the process ends a moment later."""
    pid = _postmaster(home)
    os.kill(pid, signal.SIGKILL)
    state = ("ps", "-o", "stat=", "-p", str(pid))
    until(lambda: subprocess.run(state, capture_output=True, text=True).stdout.strip()[:1] in ("", "Z"))
