"""Preparing Dagster: its home, its database, and sentences where something is missing."""

from __future__ import annotations

import ast
import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from slowwave.errors import Refused, StoreError
from slowwave.store import server
from slowwave.surfaces.cli import dev
from slowwave.surfaces.cli.session import open_store
from tests.surfaces.cli.conftest import Run
from tests.surfaces.review_page.sessions import way_on
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a checkout, and the current one."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("workspace.yaml", "deploy/dagster.yaml"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text((Path(__file__).parents[3] / name).read_text())
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def external() -> Iterator[server.Server]:
    """A server of one's own: no database for Dagster on it, and a login that may create none."""
    home = server.default_home().parent / "external"
    running = server.start(home)
    with psycopg.connect(running.url("postgres"), autocommit=True) as admin:
        admin.execute("DROP DATABASE dagster")
        admin.execute("CREATE ROLE modest LOGIN PASSWORD 'p@ss'")
    yield running
    server.stop(home)


def test_first_start_makes_home_and_database(checkout: Path) -> None:
    """On a fresh checkout: own server, instance folder with our settings, tables of Dagster really in Postgres."""
    environment = dev.dagster_environment()
    home = Path(os.environ["SLOWWAVE_HOME"])
    try:
        assert environment["DAGSTER_HOME"] == str(home / "dagster")
        assert (home / "dagster" / "dagster.yaml").read_text() == (checkout / "deploy" / "dagster.yaml").read_text()
        assert environment["SLOWWAVE_DAGSTER_URL"].startswith("postgresql+psycopg2://slowwave_dagster:")
        assert environment["DAGSTER_DISABLE_TELEMETRY"] == "1"
        assert dev.dagster_environment() == environment
        dev._migrate(environment)
        plain = environment["SLOWWAVE_DAGSTER_URL"].replace("+psycopg2", "")
        with psycopg.connect(plain) as connection:
            tables = {name for (name,) in connection.execute("SELECT tablename FROM pg_tables")}
        assert {"runs", "event_logs", "instigators"} <= tables
    finally:
        server.stop(home)


def test_settings_are_copied_again_when_they_change(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator edits the checkout's deploy/dagster.yaml; the next start uses it."""
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", "postgresql://elsewhere/slowwave")
    monkeypatch.setenv("SLOWWAVE_DAGSTER_URL", "postgres://u:p%40ss@elsewhere/dagster")
    (checkout / "deploy" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    environment = dev.dagster_environment()
    assert Path(environment["DAGSTER_HOME"], "dagster.yaml").read_text() == "telemetry: {enabled: false}\n"
    assert environment["SLOWWAVE_DAGSTER_URL"] == "postgresql+psycopg2://u:p%40ss@elsewhere/dagster"


@pytest.mark.usefixtures("checkout")
def test_ones_own_server_gets_a_database_for_dagster(external: server.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A login that may not create databases is told what to do; one that may gets it, and nothing embedded is started."""
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", external.url("slowwave", "modest", "p@ss"))
    with pytest.raises(StoreError, match=r"permission denied.*set SLOWWAVE_DAGSTER_URL") as refusal:
        dev.dagster_environment()
    assert "p@ss" not in str(refusal.value)
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", external.url("slowwave"))
    expected = external.url("dagster").replace("postgresql://", "postgresql+psycopg2://")
    for _ in range(2):
        assert dev.dagster_environment()["SLOWWAVE_DAGSTER_URL"] == expected
    with psycopg.connect(external.url("dagster")) as connection:
        assert connection.info.dbname == "dagster"
    assert not server.is_running()


def test_what_is_missing_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside a checkout, and where only the library was installed."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=r"no workspace\.yaml"):
        dev.dagster_environment()
    (tmp_path / "workspace.yaml").touch()
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "dagster.yaml").touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(StoreError, match=r"dagster_webserver.*make up"):
        dev.dagster_environment()


def test_dev_without_its_packages_is_refused_and_starts_no_server(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a bare wheel: one sentence, no traceback, and no PostgreSQL left running (F15)."""
    monkeypatch.delenv("SLOWWAVE_DATABASE_URL")
    monkeypatch.setattr(server, "start", lambda *_: pytest.fail("a server was started"))
    monkeypatch.chdir(tmp_path)
    code, _, err = run("dev")
    assert (code, "is no checkout of Slowwave" in err) == (1, True)
    for name in server.CHECKOUT_FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    code, _, err = run("dev")
    assert (code, "dagster_webserver" in err, "Traceback" in err) == (1, True, False)
    monkeypatch.setattr(dev, "check_installation", lambda: None)
    code, _, err = run("dev", "--review-as", "mara")
    assert (code, "slowwave[serve]" in err) == (2, True)
    assert dev._account() == ""


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("address", ["nonsense", "mysql://u:hidden@h/d", "postgresql://u:hidden@h:port/d"])
def test_a_wrong_address_is_a_sentence_without_its_password(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A typing mistake in a variable names the variable and repeats nothing of it."""
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", address)
    with pytest.raises(StoreError, match=r"SLOWWAVE_DATABASE_URL") as refusal:
        dev.dagster_environment()
    assert "hidden" not in str(refusal.value)


@pytest.mark.usefixtures("checkout")
def test_a_busy_port_is_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second UI on the same port would die deep inside Dagster."""
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", "postgresql://elsewhere/slowwave")
    monkeypatch.setenv("SLOWWAVE_DAGSTER_URL", "postgresql://elsewhere/dagster")
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(StoreError, match=r"is in use.*--port"):
        dev.dev(taken.getsockname()[1])


def test_dagster_is_started_and_never_imported() -> None:
    """The library and its command line stay usable without the extra."""
    program = "import sys, slowwave.surfaces.cli.dev; sys.exit('dagster' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_ui_that_a_script_starts_in_its_background_can_be_ended(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell has such a process ignore interrupts, and Dagster takes every request to end for one; and it is written down."""
    home = checkout / "home"
    home.mkdir()
    seen: list[object] = []
    started: list[list[str]] = []

    def become(_: str, arguments: list[str], __: object) -> None:
        seen.append(signal.getsignal(signal.SIGINT))
        started.append(arguments)

    monkeypatch.setattr(dev, "dagster_environment", lambda: {"SLOWWAVE_HOME": str(home)})
    monkeypatch.setattr(dev, "_migrate", lambda _: None)
    monkeypatch.setattr(os, "execve", become)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        dev.dev(0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIG_DFL]
    assert started[0][started[0].index("--log-level") + 1] == "warning", "what it logs of each tick would bury the link"
    assert "http://127.0.0.1:0 in a few seconds" in capsys.readouterr().out
    assert (home / "dev-0.pid").read_text() == f"{os.getpid()}\n"


def test_the_link_of_the_review_page_comes_once_the_ui_answers(tmp_path: Path) -> None:
    """Below what the UI says of its start, which is long: the page is there before it, and says nothing."""
    open_store()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    script = f"import sys; from slowwave.surfaces.cli import dev; print(dev.review_beside('mara', {port}), flush=True); sys.stdin.read()"
    told = tmp_path / "told"
    with (
        told.open("w") as out,
        subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=out) as ui,
    ):
        until(lambda: "SLOWWAVE_REVIEW_URL" in told.read_text())
        address = ast.literal_eval(told.read_text().splitlines()[0])["SLOWWAVE_REVIEW_URL"]
        assert httpx.get(f"{address}/", timeout=30).status_code == 401, "it is up"
        assert "/enter?token=" not in told.read_text()
        with socket.create_server(("127.0.0.1", port)):
            until(lambda: "/enter?token=" in told.read_text())
        ui.kill()


def test_the_review_page_stands_beside_the_ui_and_ends_with_it() -> None:
    """Its link lets in once, as who started it; nobody else gets in; where the process that started it is killed, it is gone too."""
    open_store()
    script = "import sys; from slowwave.surfaces.cli import dev; print(dev.review_beside('mara'), flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as ui:
        assert ui.stdout is not None
        told = [ui.stdout.readline() for _ in range(3)]
        address = ast.literal_eval(next(line for line in told if "SLOWWAVE_REVIEW_URL" in line))["SLOWWAVE_REVIEW_URL"]
        link = next(line.strip() for line in told if "/enter?token=" in line)
        assert link.startswith(address)
        assert any("as mara" in line for line in told)
        assert httpx.get(f"{address}/").status_code == 401
        with httpx.Client() as browser:
            entered = browser.get(link)
            assert entered.status_code == 200
            assert "Reviewing as" in browser.get(way_on(link, entered.text)).text
            assert browser.get(f"{address}/").status_code == 401, "the cookie alone"
        assert httpx.get(link).status_code == 401, "the link was used"
        ui.kill()

    def gone() -> bool:
        try:
            httpx.get(address, timeout=1)
        except httpx.TransportError:
            return True
        return False

    until(gone)


def test_no_page_is_started_where_the_operator_has_one_or_the_name_may_not_sign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The link of the operator's environment stays."""
    monkeypatch.setenv("SLOWWAVE_REVIEW_URL", "https://review.example")
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a page was started"))
    assert dev.review_beside("mara") == {}
    with pytest.raises(Refused, match="policy"):
        dev.review_beside("policy")
    monkeypatch.setattr("getpass.getuser", lambda: "policy")
    assert dev._account() == ""
    monkeypatch.setattr("getpass.getuser", lambda: "mara")
    assert dev._account() == "mara"
