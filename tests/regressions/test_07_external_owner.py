"""Line 7: on PostgreSQL 16 and later, with an owner who is no superuser, `slowwave migrate` passed and every command after it failed.

There, whoever creates a role may hand it out and may not take it. `slowwave doctor` advised a GRANT that such an owner has already, so
following the advice changed nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.store import server
from slowwave.store.connect import ROLES
from tests.clusters import external, majors, run

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "install.md").read_text()
MESSAGES = (
    '{"namespace": "desk", "created_at": "2026-03-02T10:00:00Z", "role": "user", "content": "The lamp is in room 4."}\n'
)


def _slowwave(cluster: server.Server, folder: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands in a shell, as someone whose store is ``t_store`` and whose login owns it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLOWWAVE_", "PG"))} | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SLOWWAVE_DATABASE_URL": cluster.url("t_store", "t_owner", "owner"),
        "SLOWWAVE_HOME": str(folder / "home"),
        "COLUMNS": "2000",
    }
    return subprocess.run(
        ["sh", "-ec", "\n".join(commands)], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )


def _steps() -> str:
    """What docs/install.md tells to run once the address is set."""
    found = re.search(r"^slowwave migrate && slowwave doctor$", PAGE, re.MULTILINE)
    assert found
    return found[0]


@pytest.mark.parametrize("major", majors())
def test_the_steps_of_the_page_end_in_a_store_that_works(tmp_path: Path, major: int) -> None:
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
        prepared = _slowwave(cluster, tmp_path, _steps())
        assert prepared.returncode == 0, prepared.stdout + prepared.stderr
        used = _slowwave(
            cluster,
            tmp_path,
            f"slowwave import messages {messages}",
            "slowwave night desk",
            "slowwave plans list desk",
        )
        assert used.returncode == 0, used.stdout + used.stderr


@pytest.mark.parametrize("major", [major for major in majors() if major >= 16])
def test_what_the_doctor_tells_the_administrator_to_run_is_enough(tmp_path: Path, major: int) -> None:
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
        _slowwave(cluster, tmp_path, "slowwave migrate")
        told = _slowwave(cluster, tmp_path, "slowwave doctor")
        assert told.returncode == 1
        statements = re.findall(
            r"GRANT slowwave_\w+ to (?:the login|\w+)(?: WITH [A-Z, ]+)?", told.stdout, re.IGNORECASE
        )
        run(cluster.url("t_store"), *(statement.replace("the login", "t_owner") for statement in statements))
        healed = _slowwave(cluster, tmp_path, _steps())
        assert healed.returncode == 0, healed.stdout + healed.stderr
