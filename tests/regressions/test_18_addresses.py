"""Line 18: a database URL that was wrong gave a traceback, with the password in it.

``SLOWWAVE_DATABASE_URL=mysql://me:SECRET@…`` ended in a traceback of the driver that quoted the address; a password with an ``@`` or
``/`` that was not percent-encoded was read as a part of the host and printed in the error. Now each is a sentence that names the
variable and shows nothing of its value.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from slowwave.surfaces.cli import session
from slowwave.surfaces.cli.main import main

pytestmark = pytest.mark.slow

SECRET = "hunter2pw"


def program(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, in a terminal of 80 columns."""
    code = "from slowwave.surfaces.cli.main import main; main()"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SLOWWAVE_") or k == "SLOWWAVE_HOME"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**kept, "COLUMNS": "80", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    "address",
    [
        f"mysql://me:{SECRET}@host/db",
        f"sqlite:///file?password={SECRET}",
        f"me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}@127.0.0.1:5x/db",
        f"postgresql://me:{SECRET}@127.0.0.1:70000/db",
        f"postgresql://me:%zz{SECRET}@127.0.0.1/db",
        f"postgresql://me:{SECRET}@[::1/db",
        f"postgresql://me:{SECRET}@127.0.0.1/db?nosuch=1",
        f"postgresql://me:{SECRET}@127.0.0.1/db name",
        f"postgresql://me:x@{SECRET}@127.0.0.1:1/db",
        f"postgresql://me:x/{SECRET}@127.0.0.1:1/db",
        f"postgresql://me:1/{SECRET}@127.0.0.1:1/db",
        f"host=127.0.0.1 password={SECRET} port=x",
    ],
)
def test_a_wrong_address_is_a_sentence_without_its_password(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For whichever variable it stands in; whatever the program let through would end this test."""
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", address)
    monkeypatch.setattr(sys, "argv", ["slowwave", "namespace", "list"])
    for console in (session.out, session.err):
        monkeypatch.setattr(console, "_width", 80)
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out) == (1, "")
    assert "SLOWWAVE_DATABASE_URL" in shown.err
    assert "Traceback" not in shown.err
    assert SECRET not in shown.err


@pytest.mark.parametrize("command", ["doctor", "migrate"])
def test_every_command_says_so(command: str) -> None:
    """Those that mend a database as well; and the applier's own address."""
    for variables in (
        {"SLOWWAVE_DATABASE_URL": f"mysql://me:{SECRET}@host/db"},
        {
            "SLOWWAVE_DATABASE_URL": "postgresql://me:pw@127.0.0.1:1/db",
            "SLOWWAVE_APPLY_DATABASE_URL": f"oracle://me:{SECRET}@host/db",
        },
    ):
        shown = program(command, **variables)
        assert shown.returncode == 1
        assert list(variables)[-1] in shown.stderr
        assert "Traceback" not in shown.stderr
        assert SECRET not in shown.stderr
