"""``slowwave review`` as a process of its own, reached by the link that it prints."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from slowwave.store.connect import Store
from tests.surfaces.cli.conftest import Run
from tests.surfaces.review_page.planted import SLUG, plant
from tests.surfaces.review_page.sessions import way_on
from tests.waiting import until

pytestmark = pytest.mark.slow


def test_the_link_that_is_printed_opens_the_plan_once(store: Store, programs: Path, tmp_path: Path) -> None:
    """And the process ends when it is asked to; its log has neither the token nor what was read."""
    plan = plant(store)
    program = str(programs / "slowwave")
    environment = {**os.environ, "SLOWWAVE_DATABASE_URL": store.owner, "SLOWWAVE_HOME": str(tmp_path)}
    told, log = tmp_path / "told", tmp_path / "log"
    with told.open("wb") as out, log.open("wb") as err:
        server = subprocess.Popen(
            [program, "review", SLUG, "--by", "mara", "--port", "0"], env=environment, stdout=out, stderr=err
        )
        try:
            link = until(lambda: re.search(r"http://127\.0\.0\.1:\d+/enter\?token=\S+", told.read_text()))[0]
            with httpx.Client(follow_redirects=True, timeout=60) as browser:
                entered = browser.get(link)
                assert entered.status_code == 200
                shown = browser.get(way_on(link, entered.text))
                assert plan.plan_hash[:12] in shown.text
                assert browser.get(link.partition("/enter")[0] + "/").status_code == 401, "the cookie alone"
                assert "server" not in shown.headers
            assert httpx.get(str(shown.url), timeout=60).status_code == 401, "the address alone"
            assert httpx.get(link, timeout=60).status_code == 401
            note = until(lambda: list(tmp_path.glob("review-*.json")))[0]
            assert note.stat().st_mode & 0o077 == 0
            other = subprocess.run([program, "review", "--link"], env=environment, capture_output=True, text=True)
            assert other.stdout.startswith(f"{link.partition('token=')[0]}token="), other.stderr
            assert [httpx.get(other.stdout.strip(), timeout=60).status_code for _ in range(2)] == [200, 401]
            port = note.stem.partition("-")[2]
            assert f"\n  ssh -L {port}:127.0.0.1:{port} THIS-MACHINE\n" in other.stderr
            again = [program, "review", SLUG, "--by", "mara", "--port", port]
            taken = subprocess.run(again, env=environment, capture_output=True, text=True)
            assert (taken.returncode, f"review --link --port {port}`" in taken.stderr) == (1, True), taken.stderr
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(60) == 0
    assert not note.exists()
    assert link.partition("token=")[2] not in log.read_text()
    assert SLUG not in log.read_text()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "--by"),
        (("--by", "policy"), "policy"),
        (("--by", "mara", "--host", "0.0.0.0"), "could sign"),  # noqa: S104
        (("--user-header", "X-User"), "all three"),
        (("nobody", "--by", "mara"), "nobody"),
        (("--link",), "review --by NAME"),
    ],
)
def test_what_may_not_be_is_refused_before_anybody_is_let_in(run: Run, arguments: tuple[str, ...], why: str) -> None:
    """A sentence and exit code 2; no link is printed."""
    code, out, err = run("review", *arguments, "--port", "0")
    assert (code, why in err, out) == (2, True, "")
