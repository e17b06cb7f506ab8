"""The gate in a real browser: open the plan, click, sign, and see apply and the audits follow by themselves.

Everything is real: ``slowwave dev`` with its daemon, its server and its sensors. ``SLOWWAVE_SCREENSHOTS=folder`` keeps the
pictures that docs/dagster.md shows.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import httpx
import pytest

from slowwave.store import server
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.settings import Settings
from slowwave.surfaces.cli import nights
from slowwave.surfaces.cli.session import open_store
from slowwave.surfaces.demo.load import load_demo

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


from tests.clusters import make_quick
from tests.memories import remember
from tests.waiting import until

pytestmark = pytest.mark.slow

SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
MARKDOWN: Final = "td .dagster-markdown"
"""Where Dagster shows what is ours of a page."""

ROOT = Path(__file__).parents[2]
NAMESPACE = "demo-harbor"
ANNEX = "annex"
"""A second namespace, of one memory."""

LINEAGE = (
    *(("snapshot", "type_census"), ("model/type_census", "census"), ("audit/census", "plan")),
    *(
        ("plan/gc_references", "plan"),
        ("night/plan", "approval"),
        ("night/approval", "applied"),
        ("night/applied", "reaudit"),
    ),
)
"""An asset, and one that follows it in the lineage, which the browser draws from the same answers."""

SCREENSHOTS = os.environ.get("SLOWWAVE_SCREENSHOTS")  # read before the fixture that hides the developer's settings
_NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *(
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
    ),
)
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


@dataclass(frozen=True)
class Ui:
    """A running ``slowwave dev`` and its store."""

    address: str
    store: Store
    client: httpx.Client

    def ask(self, query: str, **variables: object) -> Any:
        """The answer to a GraphQL query; None while the UI does not answer."""
        try:
            answer = self.client.post(f"{self.address}/graphql", json={"query": query, "variables": variables})
            return answer.json()["data"]
        except httpx.TransportError:
            return None

    def ended(self, job: str) -> bool:
        """Whether the job's one run succeeded; one that failed ends the test, with its message."""
        query = "query($job: String!) { runsOrError(filter: {pipelineName: $job}) { ... on Runs { results { %s } } } }"
        found = self.ask(query % "status", job=job)
        states = [run["status"] for run in found["runsOrError"]["results"]] if found else []
        if "FAILURE" in states:
            # Asked only now, because the server reads all events of a night for such an answer.
            events = """eventConnection(limit: 1000) { events { ... on ExecutionStepFailureEvent { message error { message
                cause { message } } } ... on RunFailureEvent { message } } }"""
            runs = self.ask(query % events, job=job)["runsOrError"]["results"]
            pytest.fail(
                f"{job} failed: {[event for run in runs for event in run['eventConnection']['events'] if event]}"
            )
        return states == ["SUCCESS"]

    def materialized(self, *path: str) -> bool:
        """Whether an asset has a materialization."""
        query = """query($path: [String!]!) { assetOrError(assetKey: {path: $path}) {
            ... on Asset { assetMaterializations(limit: 1) { runId } } } }"""
        found = self.ask(query, path=list(path))
        return bool(found and found["assetOrError"].get("assetMaterializations"))

    def value(self, query: str) -> Any:
        """One value from the store."""
        with self.store.connect("reader") as connection:
            row = connection.execute(query.encode()).fetchone()
            return row[0] if row else None


@pytest.fixture
def ui(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ui]:
    """``slowwave dev`` on a home of its own with one demo namespace; its whole tree ends with the test."""
    if CHROMIUM is None:
        reason = "No Chromium on PATH: `make chromium` installs one."
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    home = tmp_path / "home"
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("slowwave.surfaces.demo.load.NAMESPACES", (NAMESPACE,))
    store = open_store()
    make_quick(server.start(home))
    with store.connect("owner") as connection:
        load_demo(connection, embedder_for(Settings()))
    remember(
        store,
        ANNEX,
        memories=[{"id": "tea", "kind": "episodic", "current_version_id": "v tea"}],
        memory_versions=[{"id": "v tea", "memory_id": "tea", "content": "Anna prefers tea."}],
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (tmp_path / "dev.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-c", "from slowwave.surfaces.cli.main import main; main()", "dev", "--port", str(port)],
        stdout=log,
        stderr=log,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        with httpx.Client(timeout=20, limits=httpx.Limits(max_keepalive_connections=0)) as client:
            running = Ui(f"http://127.0.0.1:{port}", store, client)
            wait_for("the UI", lambda: running.ask("{ version }"), process=process, log=tmp_path / "dev.log")
            yield running
    finally:
        stop(process)
        log.close()
        server.stop(home)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupt Dagster as Ctrl-C would, and end what is left of its session."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def wait_for(
    what: str,
    seen: Callable[[], Any],
    *,
    seconds: float = 240,
    process: subprocess.Popen[bytes] | None = None,
    log: Path | None = None,
) -> Any:
    """The first true value of ``seen``."""

    def come() -> Any:
        found = seen()
        assert found or process is None or process.poll() is None, "the process has ended"
        return found

    try:
        return until(come, seconds=seconds, pause=0.3)
    except AssertionError as problem:
        pytest.fail(f"{what} did not come within {seconds:.0f} s: {problem}. {log.read_text()[-3000:] if log else ''}")


def start_a_night(ui: Ui) -> None:
    """Launch one run for both namespaces, as the schedule does, once the sensor has made the partitions."""
    partitions = '{ dynamicPartitions: assetNodes(assetKeys: [{path: ["night", "plan"]}]) { partitionKeys } }'
    wait_for("the partitions", lambda: all(name in str(ui.ask(partitions)) for name in (NAMESPACE, ANNEX)))
    launch = "mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename ... on PythonError { message } } }"
    parameters = {
        "selector": {
            "repositoryLocationName": "slowwave",
            "repositoryName": "__repository__",
            "jobName": "night_job",
        },
        "runConfigData": {"ops": {"plan_nights": {"config": {"namespaces": [NAMESPACE, ANNEX]}}}},
        "mode": "default",
    }
    launched = ui.ask(launch, p=parameters)
    assert launched["launchRun"]["__typename"] == "LaunchRunSuccess", launched


def picture(page: Page, name: str, **options: Any) -> None:
    """Keep a picture of the page where somebody wants one: no test looks at it."""
    if SCREENSHOTS:
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", **options)


def look_at_the_morning(ui: Ui, browser: Browser) -> None:
    """The pages that a morning begins with, light and dark: how all namespaces stand, and the plan. What is ours of the status page is read
    by axe; the rest of it is Dagster's."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import expect

    from slowwave.dagster.events import report_status

    with nights._environment(Path(os.environ["SLOWWAVE_HOME"]) / "dagster"):
        report_status(ui.store)
    pages = {"status": "status", "plan": f"plan?view=partitions&partition={NAMESPACE}"}
    for scheme in SCHEMES:
        page = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 1100}).new_page()
        for name, path in pages.items():
            if name == "plan" and scheme == "dark" and not SCREENSHOTS:
                continue  # a page of Dagster, whose colours are not ours
            page.goto(f"{ui.address}/assets/night/{path}")
            shown = page.get_by_role("row").filter(
                has=page.get_by_text({"status": "status", "plan": "summary"}[name], exact=True)
            )
            expect(shown.get_by_text(NAMESPACE if name == "status" else "wait for approval").first).to_be_visible(
                timeout=60_000
            )
            picture(page, f"{name}-{scheme}-1280")
            if name == "status":
                expect(shown.get_by_text(f"slowwave plans show {NAMESPACE}")).to_be_visible()
                found = Axe().run(page, context=MARKDOWN, options={"runOnly": ["wcag2a", "wcag2aa"]})
                assert found.violations_count == 0, found.generate_report()
        page.close()


def materialize_one_audit(ui: Ui, page: Page) -> None:
    """The grouped run is on the partition page of each namespace; one audit materialized there shows its report, and no night."""
    from playwright.sync_api import expect

    nights = ui.value("SELECT count(*) FROM night.runs")
    for name in (NAMESPACE, ANNEX):
        page.goto(f"{ui.address}/assets/audit/census?view=partitions&partition={name}")
        expect(page.get_by_role("link", name="night_job")).to_be_visible(timeout=60_000)
        expect(page.get_by_text("are live").first).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Materialize").first.click(timeout=60_000)
    page.get_by_role("dialog").get_by_role("button", name="Launch 1 run").click(timeout=60_000)
    alone = """query($partition: String!) { assetOrError(assetKey: {path: ["audit", "census"]}) { ... on Asset {
        assetMaterializations(partitions: [$partition]) { stepKey } } } }"""
    wait_for("the audit alone", lambda: "'night'" in str(ui.ask(alone, partition=ANNEX)))
    assert ui.value("SELECT count(*) FROM night.runs") == nights


@pytest.mark.browser
@pytest.mark.timeout(900)
def test_a_plan_is_approved_in_the_browser_and_applied(ui: Ui) -> None:
    """The way of an operator, from the plan's page to the audits after it."""
    from playwright.sync_api import expect, sync_playwright

    start_a_night(ui)
    plan = """SELECT plan_hash FROM night.plans p JOIN memory.namespaces n ON n.id = p.namespace_id
        WHERE state = 'awaiting_approval' AND slug = 'demo-harbor'"""
    wait_for("the end of the night", lambda: ui.ended("night_job"))
    plan_hash = ui.value(plan)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        look_at_the_morning(ui, browser)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        materialize_one_audit(ui, page)
        followers = """query($keys: [AssetKeyInput!]!) { assetNodes(assetKeys: $keys) { assetKey { path } dependedByKeys { path } } }"""
        nodes = ui.ask(followers, keys=[{"path": asset.split("/")} for asset, _ in LINEAGE])["assetNodes"]
        drawn = {("/".join(n["assetKey"]["path"]), k["path"][-1]) for n in nodes for k in n["dependedByKeys"]}
        assert {*LINEAGE} <= drawn
        page.goto(f"{ui.address}/assets/model/type_census?view=lineage&lineageScope=neighbors")
        expect(page.locator("svg").get_by_text("schema_drift", exact=True).first).to_be_visible(timeout=60_000)
        if SCREENSHOTS:
            page.wait_for_timeout(2_000)  # the layout moves until it is done
            for _ in range(6):
                page.get_by_role("button", name="zoom_in").click()
                page.wait_for_timeout(500)
        picture(page, "lineage")
        page.goto(f"{ui.address}/assets/night/plan?view=partitions&partition={NAMESPACE}")
        link = page.get_by_role("link", name=re.compile(r"^Approve [\d,]+ items?"))
        expect(link).to_be_visible(timeout=60_000)
        picture(page, "plan")

        page.get_by_role("row").filter(has=page.get_by_text("why", exact=True)).get_by_text("Show markdown").click()
        waterfall = page.get_by_role("dialog").get_by_role("table").first
        expect(waterfall.get_by_text("So far")).to_be_visible(timeout=30_000)
        if SCREENSHOTS:
            page.wait_for_timeout(1_000)  # the dialog moves until it is there
        page.get_by_role("dialog").get_by_role("heading").first.scroll_into_view_if_needed()
        picture(page, "waterfall")
        page.keyboard.press("Escape")

        others = ("Only these items", "All but these items or operations", "Reject this plan")
        found = {name: page.get_by_role("link", name=name).get_attribute("href") for name in others}
        for address in found.values():
            page.goto(f"{ui.address}{address}")
            expect(page.locator(".CodeMirror").first).to_contain_text(plan_hash, timeout=60_000)
            expect(page.get_by_text("must not be None").first).to_be_visible(timeout=60_000)
            expect(page.get_by_role("button", name="Launch Run")).to_be_disabled()
        page.goto(f"{ui.address}/assets/night/plan?view=partitions&partition={NAMESPACE}")
        link.click()
        editor = page.locator(".CodeMirror").first
        expect(editor).to_contain_text(plan_hash, timeout=60_000)
        editor.click()
        page.keyboard.press("Control+End")
        page.keyboard.type("mara")
        launch = page.get_by_role("button", name="Launch Run")
        expect(launch).to_be_enabled(timeout=30_000)
        picture(page, "launchpad")
        launch.click()

        wait_for("the approval", lambda: ui.value("SELECT approver FROM night.approvals") == "mara")
        wait_for("apply", lambda: ui.value("SELECT count(*) FROM night.applied"))
        wait_for("the end of apply", lambda: ui.ended("apply_job"))
        wait_for("the audits after it", lambda: ui.materialized("night", "reaudit"))
        page.goto(f"{ui.address}/assets/night/applied?view=checks")
        expect(page.get_by_text("event_chain_verifies").first).to_be_visible(timeout=60_000)
        if SCREENSHOTS:
            page.wait_for_timeout(1_500)
        picture(page, "checks")
        page.goto(f"{ui.address}/assets/night/applied?view=partitions&partition={NAMESPACE}")
        expect(page.get_by_text("plan_hash").first).to_be_visible(timeout=60_000)
        picture(page, "applied")
        run = ui.value("SELECT run_id::text FROM night.applied")
        page.get_by_role("link", name="Undo this run").click()
        expect(page.locator(".CodeMirror").first).to_contain_text(run, timeout=60_000)
        expect(page.get_by_role("button", name="Launch Run")).to_be_enabled(timeout=60_000)

        page.set_viewport_size({"width": 1900, "height": 1900})
        groups = "%2C".join(f"global%40global%3A{group}" for group in ("models", "audits", "planners", "gate"))
        page.goto(f"{ui.address}/asset-groups?expanded={groups}")
        expect(page.get_by_text("canonical_pages").first).to_be_visible(timeout=60_000)
        browser.close()
    assert ui.value("SELECT count(*) FROM night.approvals") == 1
    assert ui.value("SELECT (counts ->> 'applied')::int FROM night.applied") > 0
    assert ui.value("SELECT count(*) FROM night.plan_items WHERE status = 'approved'") == 0
    assert ui.value("SELECT count(*) FROM night.runs WHERE state = 'crashed'") == 0
