"""The account that the embedded server runs as: one's own, or an unprivileged one where root starts it, as PostgreSQL refuses root."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from slowwave.errors import StoreError
from slowwave.store.ownership import keeper


@dataclass(frozen=True, slots=True)
class ServerAccount:
    """Who runs PostgreSQL, which refuses uid 0: a command prefix, and the owner of its files when root hands them over."""

    prefix: tuple[str, ...] = ()
    owner: tuple[int, int] | None = None

    def run(self, *command: str | Path, folder: Path) -> int:
        """Exit code. Nothing is inherited: a server that holds a pipe of ours would keep its reader waiting for ever."""
        quiet = subprocess.DEVNULL
        return subprocess.run(
            [*self.prefix, *command],
            cwd=folder,
            env=_environment(),
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            check=False,
        ).returncode

    def own(self, path: Path) -> None:
        """Give a file to whoever runs the server."""
        if self.owner is not None:
            os.chown(path, *self.owner)


def account_for(home: Path, binaries: Path) -> ServerAccount:
    """Ourselves; for root, the first way that works here: a user namespace, which changes no file, or another account.

    The owner of existing data decides again the same way, so a folder is never half one's and half the other's.
    """
    if os.geteuid() != 0:
        return ServerAccount()
    data = home / "postgres"
    owner = data.stat().st_uid if data.exists() else None
    served = keeper(home) if owner is None else None  # what is made in a service's home is the service's
    for account in (*(_ways_for_root(served[0]) if served else ()), *_ways_for_root(owner)):
        # One look at both folders: an account that cannot enter them is of no use.
        check = ("sh", "-c", '"$0" --version && test -x "$1"', binaries / "postgres", home)
        with suppress(FileNotFoundError):
            if account.run(*check, folder=Path("/")) == 0:
                return account
    raise StoreError(
        "PostgreSQL does not run as root, and here root can neither use a user namespace nor hand its files to another "
        f"account. Run as a normal user, move {home} (SLOWWAVE_HOME) and the virtual environment to folders that everyone may "
        "enter, or set SLOWWAVE_DATABASE_URL to a running server."
    )


def _ways_for_root(owner: int | None) -> Iterator[ServerAccount]:
    known = {entry.pw_uid: entry for entry in pwd.getpwall()}
    named = {entry.pw_name: entry for entry in known.values()}
    user = (
        known.get(owner)
        if owner
        else next(filter(None, map(named.get, ("postgres", "_postgres", "daemon", "nobody"))), None)
    )
    if user is None:
        return
    if not owner:  # initdb looks its user up, so the namespace borrows the number of an account that exists
        yield ServerAccount(("unshare", "--user", f"--map-user={user.pw_uid}", f"--map-group={user.pw_gid}"))
    if owner != 0:
        ids = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
        enter = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")  # parent folders may be closed to it
        yield ServerAccount(("setpriv", *ids, *enter), (user.pw_uid, user.pw_gid))
        yield ServerAccount(("sudo", "-n", "-u", f"#{user.pw_uid}", "--"), (user.pw_uid, user.pw_gid))


def write_private(path: Path, text: str, account: ServerAccount) -> None:
    """Replace ``path`` in one step by a file that only its owner can read."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    account.own(temporary)
    temporary.replace(path)


def _environment() -> dict[str, str]:
    """Ours without PG* variables, which would send the tools to another server or folder."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}
