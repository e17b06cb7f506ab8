"""Read-only commands: what they print, and that none of nexo's holes is one here (3.4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.errors import Refused
from slowwave.wiki.deep.loop import COMMANDS, run
from slowwave.wiki.deep.scratch import Scratch, tree


@pytest.fixture
def copy(tmp_path: Path) -> Scratch:
    (tmp_path / "a.md").write_text("pear\napple\napple\n")
    (tmp_path / "b.md").write_text("pear\nplum\n")
    return Scratch(tmp_path, lambda _: True)


@pytest.mark.parametrize(
    ("command", "arguments", "printed"),
    [
        ("wc", ["-l", "a.md"], "3 a.md"),
        ("wc", ["a.md", "b.md"], "3 3 17 a.md\n2 2 10 b.md\n5 5 27 total"),
        ("head", ["-n", "1", "a.md"], "pear"),
        ("tail", ["-n", "2", "b.md"], "pear\nplum"),
        ("head", ["-n", "1", "a.md", "b.md"], "==> a.md <==\npear\n==> b.md <==\npear"),
        ("sort", ["-u", "a.md"], "apple\npear"),
        ("sort", ["-r", "b.md"], "plum\npear"),
        ("uniq", ["-c", "a.md"], "1 pear\n2 apple"),
        ("uniq", ["-d", "a.md"], "apple"),
        ("diff", ["a.md", "b.md"], "--- a.md\n+++ b.md\n@@ -1,3 +1,2 @@\n pear\n-apple\n-apple\n+plum"),
        ("cat", ["b.md"], "pear\nplum\n"),
    ],
)
def test_what_they_print(copy: Scratch, command: str, arguments: list[str], printed: str) -> None:
    """As the commands of these names do."""
    assert run(copy, command, arguments) == printed


HOLES = {
    "find -delete": ("find", [".", "-delete"]),
    "find -exec": ("find", [".", "-exec", "touch", "x", ";"]),
    "find -fprint": ("find", [".", "-fprint", "x"]),
    "sort -o": ("sort", ["-o", "b.md", "a.md"]),
    "sort --output": ("sort", ["--output=b.md", "a.md"]),
    "env python3": ("env", ["python3", "-c", "open('x', 'w')"]),
    "env sh -c": ("env", ["sh", "-c", "echo > x"]),
    "command dd": ("command", ["dd", "if=a.md", "of=b.md"]),
    "a newline as a separator": ("cat", ["a.md\ntouch x"]),
    "a newline in the command": ("cat\ntouch", ["a.md"]),
    "a single & as a separator": ("cat", ["a.md", "&", "touch", "x"]),
    "date -s": ("date", ["-s", "2020-01-01"]),
    "ip link set": ("ip", ["link", "set", "lo", "down"]),
    "a redirection": ("cat", ["a.md", ">", "b.md"]),
    "a substitution": ("cat", ["$(touch x)"]),
    "uniq's second file": ("uniq", ["a.md", "/x"]),
    "a path outside": ("cat", ["/etc/hostname"]),
    "sed -i": ("sed", ["-i", "s/pear/x/", "a.md"]),
    "tail -f": ("tail", ["-f", "a.md"]),
    "no file": ("cat", []),
    "a number that is none": ("head", ["-n", "1e9", "a.md"]),
}


@pytest.mark.parametrize("hole", sorted(HOLES))
def test_3_4_deep_a_hole_is_closed(copy: Scratch, hole: str) -> None:
    """Nothing is run, nothing is written: there is no such command, flag or file."""
    before = tree(copy.root)
    command, arguments = HOLES[hole]
    with pytest.raises(Refused):
        run(copy, command, arguments)
    assert tree(copy.root) == before


def test_3_4_deep_no_command_starts_a_process(copy: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them work where starting one is an error."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    for name in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.system"):
        monkeypatch.setattr(name, refuse)
    for command in COMMANDS:
        assert run(copy, command, ["a.md", "b.md"])
