"""``slowwave`` as a program of the PATH whose processes are forked off one that has its modules loaded: to load them takes a second of CPU,
for each of thirty calls. Arguments, environment, folder, standard streams, signals and the exit code are those of a program.

That a fresh interpreter loads what it needs is seen by ``tests/surfaces/cli/test_lazy.py``.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.waiting import until

_ROOT: Final = Path(__file__).parents[1]

_CLIENT: Final = """#!{python} -IS
import json, os, signal, socket, sys
signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
asked = socket.socket(socket.AF_UNIX)
asked.connect({address!r})
told = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(asked, [len(told).to_bytes(8, "big")], [0, 1, 2])
asked.sendall(told)
answers = asked.makefile("r")
process = int(answers.readline())
for one in signals:
    signal.signal(one, lambda number, _: os.kill(process, number))
for one in (0, 1, 2):
    os.close(one)
signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
os._exit(int(answers.readline() or 255))
"""
_LOADED: Final = (
    "rich.console",
    "slowwave.night.undo",
    "slowwave.night.night",
    "slowwave.surfaces.review_page.app",
    "slowwave.wiki.serving.http_app",
    "slowwave.wiki.serving.mcp_server",
    "typer",
    "uvicorn",
)
"""No module of ``slowwave.surfaces.cli``: they look at the environment as they are loaded."""


@contextmanager
def installed() -> Iterator[Path]:
    """A folder for the PATH with ``slowwave`` in it."""
    with TemporaryDirectory(prefix="slowwave-") as made:
        folder = Path(made)
        program = folder / "slowwave"
        program.write_text(_CLIENT.format(python=sys.executable, address=str(folder / "socket")))
        program.chmod(0o755)
        # It ends with its standard input.
        with subprocess.Popen([sys.executable, "-m", __name__, made], cwd=_ROOT, stdin=subprocess.PIPE) as serving:
            until((folder / "socket").exists)
            yield folder
            assert serving.poll() is None


def _serve(folder: str) -> None:
    for name in _LOADED:
        importlib.import_module(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, _bury)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/bound")
        listening.listen(64)
        Path(folder, "bound").rename(f"{folder}/socket")
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            asked, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _answer(asked)
                return
            asked.close()


def _bury(*_: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _answer(asked: socket.socket) -> None:
    """One call: this process waits for the one that is the program."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, streams, _, _ = socket.recv_fds(asked, 8, 3)
    told = b""
    while len(told) < int.from_bytes(length, "big"):
        told += asked.recv(1 << 20)
    arguments, folder, environment = json.loads(told)
    process = os.fork()
    if process == 0:
        asked.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        _be(arguments, folder, environment)
        return
    for stream in streams:
        os.close(stream)
    asked.sendall(f"{process}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with suppress(OSError):
        asked.sendall(f"{code % 256}\n".encode())
    os._exit(0)


def _be(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = arguments
    from slowwave.surfaces.cli.main import main

    main()


if __name__ == "__main__":
    _serve(sys.argv[1])
