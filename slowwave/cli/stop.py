"""``slowwave stop``: ends what ``slowwave dev`` and the embedded server keep running on this machine, and says what that was.

Only processes of this home are ended, known by the files that they were written down in and by what they are: a number that another
program has by now is left alone. Servers of one's own are not touched.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

from slowwave.cli.session import Json, say, show_json
from slowwave.errors import StoreError
from slowwave.store import server

_SECONDS: Final = 150.0
"""How long a UI may take to end: it ends its daemon and its code servers first."""


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
    """The ports of UIs that were started, and may have ended since."""
    names = (file.stem.removeprefix("dev-") for file in home.glob("dev-*.pid"))
    return sorted(int(name) for name in names if name.isdecimal())


def _end(home: Path, port: int) -> bool:
    """End the UI of a port and wait until it has; False where it had ended by itself."""
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
    """Whether a process is a UI of Dagster on this port, by its command line; one that has ended has none."""
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
