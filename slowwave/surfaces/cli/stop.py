"""``slowwave stop``: end the programs that Slowwave keeps running on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

from slowwave.errors import StoreError
from slowwave.store import server
from slowwave.surfaces.cli.session import Json, say, show_json

# ``slowwave stop``: end what ``slowwave dev`` and the embedded server run on this machine, and print what that was.
#
# Only processes of this home are ended. They are identified by the files in which they were recorded and by their command lines: a
# process id that another program has now is left alone, and so are servers that the user runs.

_SECONDS: Final = 150.0
"""Seconds that a UI may take to end: it ends its daemon and its code servers first."""


def stop(json: Json = False) -> None:
    """Stop what runs on this machine: UIs with their daemons, and the embedded PostgreSQL."""
    home = server.default_home()
    ports = [port for port in _started(home) if _end(home, port)]
    postgres = (home / "postgres").is_dir() and server.is_running(home)
    if postgres:
        server.stop(home)
    if json:
        show_json({"home": str(home), "ui_ports": ports, "postgres": postgres})
        return
    for port in ports:
        say(f"Stopped the UI on port {port} with its daemon.")
    if postgres:
        say(f"Stopped the embedded PostgreSQL of {home}. Its data stays, and the next command starts it again.")
    if not ports and not postgres:
        say(f"Nothing of {home} is running.")


def _started(home: Path) -> list[int]:
    """Return the ports of UIs that were started; they may have ended since."""
    names = (file.stem.removeprefix("dev-") for file in home.glob("dev-*.pid"))
    return sorted(int(name) for name in names if name.isdecimal())


def _end(home: Path, port: int) -> bool:
    """End the UI of a port and wait until it has ended; return False if it had ended by itself."""
    file = home / f"dev-{port}.pid"
    text = file.read_text().strip()
    pid = int(text) if text.isdecimal() else 0
    running = _is_ui(pid, port)
    if running:
        os.kill(pid, signal.SIGTERM)
        began = time.monotonic()
        while _is_ui(pid, port):
            if time.monotonic() - began > _SECONDS:
                raise StoreError(
                    f"The UI on port {port} (process {pid}) does not end. Look at what it does, or end it with `kill -9 {pid}`."
                )
            time.sleep(0.1)
    file.unlink(missing_ok=True)
    return running


def _is_ui(pid: int, port: int) -> bool:
    """Return whether a process is a Dagster UI on this port, by its command line; an ended process has none."""
    if pid <= 0:
        return False
    if Path("/proc/self").exists():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return False
    else:
        command = ("ps", "-ww", "-o", "command=", "-p", str(pid))
        words = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return {"dagster", "dev", str(port)} <= set(words)
