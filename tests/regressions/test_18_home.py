"""Line 18: a home folder that cannot be used gave a traceback, and one first touched by root locked its service account out.

A home that is a file, lies in one, or is on a read-only file system ended in a traceback of ``mkdir`` or ``open``. And when an
administrator ran one command as root in a service's home, the server's data, its password and the snapshots belonged to root from
then on: the service could neither read nor remove them. What root makes in a service's home is the service's now.
"""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowwave.errors import StoreError
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store
from tests.dreamers import forgetful
from tests.regressions.test_18_addresses import program

pytestmark = pytest.mark.slow

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root acts in another account's home, or mounts")


@pytest.mark.parametrize("below", ["", "sub", "sub/sub"])
def test_a_home_that_is_a_file_is_a_sentence(tmp_path: Path, below: str) -> None:
    """Or that would lie in one."""
    file = tmp_path / "file"
    file.write_text("kept")
    shown = program("namespace", "list", SLOWWAVE_HOME=str(file / below))
    assert (shown.returncode, "Traceback" in shown.stderr) == (1, False)
    assert "SLOWWAVE_HOME" in shown.stderr
    assert file.read_text() == "kept"


def test_a_home_that_cannot_be_found_is_a_sentence(tmp_path: Path) -> None:
    """A loop of links, an unknown user."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for home in (str(tmp_path / "loop"), "~nobody-of-this-name/home"):
        shown = program("namespace", "list", SLOWWAVE_HOME=home)
        assert (shown.returncode, "Traceback" in shown.stderr) == (1, False)
        assert "SLOWWAVE_HOME" in shown.stderr


@needs_root
def test_a_read_only_home_is_a_sentence(tmp_path: Path) -> None:
    """A remounted disk, a container's read-only layer: new, or with a server's folder in it."""
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", tmp_path], capture_output=True, check=False
    ).returncode:
        pytest.skip("this root may not mount")
    try:
        for home in (tmp_path, tmp_path / "new"):
            shown = program("namespace", "list", SLOWWAVE_HOME=str(home))
            assert (shown.returncode, "Traceback" in shown.stderr) == (1, False)
            assert "SLOWWAVE_HOME" in shown.stderr
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, pwd.struct_passwd]]:
    """A service's home-to-be in a folder of its own, and its account."""
    account = next(u for u in pwd.getpwall() if u.pw_name in ("daemon", "nobody"))
    folder = tmp_path / "service"
    folder.mkdir()
    os.chown(folder, account.pw_uid, account.pw_gid)
    for above in folder.parents:
        if above != Path("/") and above.stat().st_uid == 0 and not above.stat().st_mode & stat.S_IXOTH:
            above.chmod(above.stat().st_mode | stat.S_IXOTH)
        if above.name == "tmp":
            break
    monkeypatch.setenv("SLOWWAVE_HOME", str(folder / "home"))
    yield folder, account
    server.stop(folder / "home")


@needs_root
def test_what_root_makes_in_a_services_home_is_the_services(service: tuple[Path, pwd.struct_passwd]) -> None:
    """Server, passwords, snapshots and reports of a whole night that root ran."""
    import slowwave

    folder, account = service
    store = open_store()
    forgetful(store, "acme", rows=2, report_file_sink_enabled=True)
    slowwave.dream("acme", ops="gc_references", store=store)
    made = list(folder.rglob("*"))
    assert {"postgres", "pgpass", "logins.json", "snapshots", "reports"} <= {p.name for p in made}
    strangers = {str(p.relative_to(folder)): p.lstat().st_uid for p in made if p.lstat().st_uid != account.pw_uid}
    assert strangers == {}


@needs_root
def test_a_service_that_root_locked_out_is_told_the_way_back_in(service: tuple[Path, pwd.struct_passwd]) -> None:
    """Homes that were touched before: the account that cannot read them learns what root has to run."""
    folder, account = service
    server.start(folder / "home")
    server.stop(folder / "home")
    for path in (folder / "home").iterdir():
        os.chown(path, 0, 0)
    receiving, sending = os.pipe()
    if (child := os.fork()) == 0:
        told = ""
        try:
            os.setgroups([])
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
            server.start(folder / "home")
        except StoreError as problem:
            told = str(problem)
        except BaseException as problem:  # noqa: BLE001 - the parent tells
            told = f"Traceback {problem!r}"
        finally:
            os.write(sending, told.encode())
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    assert f"chown -R {account.pw_name} {folder / 'home'}" in told


def test_what_root_makes_elsewhere_stays_roots(tmp_path: Path, store: Store) -> None:
    """A home of one's own is as it was."""
    from tests.nights import take_snapshot

    forgetful(store, "acme", rows=1)
    location = Path(take_snapshot(store, "acme"))
    assert location.is_relative_to(tmp_path)
    assert {p.stat().st_uid for p in (location, *location.iterdir())} == {os.geteuid()}
