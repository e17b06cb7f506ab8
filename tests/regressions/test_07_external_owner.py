"""Line 7: on PostgreSQL 16 and later, with an owner who is no superuser, `slowwave migrate` passed and every command after it failed.

There, whoever creates a role may hand it out and may not take it. `slowwave doctor` advised a GRANT that such an owner has already, so
following the advice changed nothing.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.store import server
from slowwave.store.logins import ROLES, close_idle
from slowwave.surfaces.cli import session
from slowwave.surfaces.cli.main import main
from tests.clusters import external, majors, run

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "install.md").read_text()
MESSAGES = (
    '{"namespace": "desk", "created_at": "2026-03-02T10:00:00Z", "role": "user", "content": "The lamp is in room 4."}\n'
)


Owner = Callable[..., tuple[int, str]]


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Owner:
    """Run commands till one fails, by someone whose store is ``t_store`` and whose login owns it; gives the exit code and what was said."""
    for console in (session.out, session.err):
        monkeypatch.setattr(console, "_width", 2000)

    def call(cluster: server.Server, *commands: str) -> tuple[int, str]:
        monkeypatch.setenv("SLOWWAVE_DATABASE_URL", cluster.url("t_store", "t_owner", "owner"))
        code = 0
        capsys.readouterr()
        try:
            for command in " && ".join(commands).split(" && "):
                monkeypatch.setattr(sys, "argv", shlex.split(command))
                try:
                    main()
                except SystemExit as ended:
                    code = int(ended.code or 0)
                if code:
                    break
        finally:
            close_idle()  # the cluster ends with the test
        said = capsys.readouterr()
        return code, said.out + said.err

    return call


def _steps() -> str:
    """What docs/install.md tells to run once the address is set."""
    found = re.search(r"^slowwave migrate && slowwave doctor$", PAGE, re.MULTILINE)
    assert found
    return found[0]


@pytest.mark.parametrize("major", majors())
def test_the_steps_of_the_page_end_in_a_store_that_works(tmp_path: Path, owner: Owner, major: int) -> None:
    """An owner who may create roles: after migrate and doctor, importing, planning and reading all work."""
    messages = tmp_path / "messages.jsonl"
    messages.write_text(MESSAGES)
    with external(tmp_path / "cluster", majors()[major]) as cluster:
        run(
            cluster.url("postgres"),
            "CREATE ROLE t_owner LOGIN CREATEROLE PASSWORD 'owner'",
            "CREATE DATABASE t_store OWNER t_owner",
        )
        run(cluster.url("t_store"), "CREATE EXTENSION vector")
        prepared, said = owner(cluster, _steps())
        assert prepared == 0, said
        used, said = owner(
            cluster, f"slowwave import messages {messages}", "slowwave night desk", "slowwave plans list desk"
        )
        assert used == 0, said


@pytest.mark.parametrize("major", [major for major in majors() if major >= 16])
def test_what_the_doctor_tells_the_administrator_to_run_is_enough(tmp_path: Path, owner: Owner, major: int) -> None:
    """Roles that an administrator made and granted without the right to take them: the doctor's statements are run as printed."""
    roles = [f"slowwave_{role}" for role in (*ROLES, "recorder")]
    with external(tmp_path / "cluster", majors()[major]) as cluster:
        run(
            cluster.url("postgres"),
            "CREATE ROLE t_owner LOGIN PASSWORD 'owner'",
            "CREATE DATABASE t_store OWNER t_owner",
            *(f"CREATE ROLE {role} NOLOGIN" for role in roles),
            *(f"GRANT {role} TO t_owner WITH SET FALSE" for role in roles),
        )
        run(cluster.url("t_store"), "CREATE EXTENSION vector")
        owner(cluster, "slowwave migrate")
        code, told = owner(cluster, "slowwave doctor")
        assert code == 1
        statements = re.findall(r"GRANT slowwave_\w+ to (?:the login|\w+)(?: WITH [A-Z, ]+)?", told, re.IGNORECASE)
        run(cluster.url("t_store"), *(statement.replace("the login", "t_owner") for statement in statements))
        healed, said = owner(cluster, _steps())
        assert healed == 0, said
