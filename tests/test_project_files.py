"""Files that nothing imports (workflows, containers, hooks, changelog, decisions) agree with the code and with each other."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from slowwave.store.connect import Store
from slowwave.store.doctor import diagnose
from slowwave.store.logins import ROLES
from slowwave.store.migrate import migrate
from slowwave.surfaces.review_page.guard import entrance_of
from tests.clusters import external, majors

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
CLASSIFIERS: list[str] = PROJECT["project"]["classifiers"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
OURS: dict[str, Any] = {name: told for name, told in COMPOSE["services"].items() if "build" in told}
STATEMENTS = {"SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "COPY", "CREATE", "DROP", "ALTER"}
MODERN = [major for major in majors() if major >= 16]  # GRANT … WITH SET


def yaml_of(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def pythons() -> list[str]:
    return [c.removeprefix("Programming Language :: Python :: ") for c in CLASSIFIERS if re.search(r"Python :: 3\.", c)]


def copied() -> dict[str, str]:
    """Source → destination of every file and folder that the Dockerfile takes from the checkout."""
    lines = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    return {source: to for line in lines for *sources, to in [line.split()] for source in sources}


def test_ci_runs_every_python_and_system_that_the_package_names() -> None:
    matrix = yaml_of(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["run"]["strategy"]["matrix"]
    systems = {"ubuntu-latest": "Operating System :: POSIX :: Linux", "macos-latest": "Operating System :: MacOS"}
    assert matrix["python"] == pythons()
    assert {systems[name] for name in matrix["os"]} == {c for c in CLASSIFIERS if c.startswith("Operating System")}
    assert PROJECT["project"]["requires-python"] == f">={pythons()[0]}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_read_the_code_and_nothing_else(path: Path) -> None:
    """Only the job that publishes gets an identity; every job ends by itself, and each action is pinned by commit."""
    workflow = yaml_of(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        published = path.stem == "release" and name == "publish"
        assert job.get("permissions", {}) == ({"id-token": "write"} if published else {})
        assert "uses" in job or job["timeout-minutes"] <= 360
        for used in filter(None, (step.get("uses") for step in job.get("steps", ()))):
            assert re.search(r"@[0-9a-f]{40}$", used), used


def test_a_release_is_tested_built_and_approved() -> None:
    jobs = yaml_of(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert jobs["test"]["uses"] == "./.github/workflows/ci.yml"
    assert set(jobs["publish"]["needs"]) == {"test", "build"}
    assert jobs["publish"]["environment"]["name"] == "pypi"


def test_hooks_format_with_the_version_that_the_checks_use() -> None:
    revisions = {repo["repo"]: repo["rev"] for repo in yaml_of(ROOT / ".pre-commit-config.yaml")["repos"]}
    locked = re.findall(r"^ruff==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert [revisions["https://github.com/astral-sh/ruff-pre-commit"]] == [f"v{version}" for version in locked]


def test_type_checkers_read_the_annotations() -> None:
    assert (files("slowwave") / "py.typed").is_file()
    assert "Typing :: Typed" in CLASSIFIERS


def test_every_dependency_is_a_range_with_an_end_and_its_reason_beside_it() -> None:
    """The version that ``constraints.txt`` pins lies in it."""
    lists = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    wanted = [Requirement(line) for lines in (*lists, PROJECT["dependency-groups"]["dev"]) for line in lines]
    locked = dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    text = (ROOT / "pyproject.toml").read_text()
    for one in wanted:
        operators = {part.operator for part in one.specifier}
        assert operators in ({"=="}, {">=", "<"}), one
        assert one.specifier.contains(locked[canonicalize_name(one.name)]), one
        assert re.search(rf'^  "{re.escape(one.name)}\b[^"]*", +# \S', text, re.MULTILINE), one


def test_no_statement_of_sql_stands_inside_a_call() -> None:
    """It is a constant with a name, or a file, unless it is made of names as the program runs. Session commands (SET, ANALYZE) name
    themselves."""
    found: list[str] = []
    for room in PROJECT["tool"]["importlinter"]["root_packages"]:
        for path in sorted((ROOT / room).rglob("*.py")):
            for call in ast.walk(ast.parse(path.read_text())):
                if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
                    continue
                match call.args[0]:
                    case ast.Constant(value=str(text)) if call.func.attr in ("execute", "executemany", "copy"):
                        if text.split(maxsplit=1)[0].upper() in STATEMENTS:
                            found.append(f"{path.relative_to(ROOT)}:{call.lineno}")
                    case _:
                        pass
    assert not found


def test_the_changelog_has_this_version_below_what_is_unreleased() -> None:
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert PROJECT["project"]["version"] in headings


def test_one_name_is_one_class() -> None:
    named: dict[str, list[str]] = {}
    for path in sorted((ROOT / "slowwave").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in named.items() if len(paths) > 1} == {}


def test_module_over_900_lines_states_its_reason() -> None:
    long: list[str] = []
    for room in PROJECT["tool"]["importlinter"]["root_packages"]:
        for path in sorted((ROOT / room).rglob("*.py")):
            text = path.read_text()
            if text.count("\n") > 900 and "Over 900 lines" not in (ast.get_docstring(ast.parse(text)) or ""):
                long.append(str(path.relative_to(ROOT)))
    assert not long


RETIRED_WORDS = {
    *("told", "tell", "tells", "telling", "untold", "retell", "standing"),
    *("purse", "joints", "torn", "barred", "clearance", "footprint"),
}


def test_no_definition_has_a_word_that_the_decision_on_names_took_away() -> None:
    """Modules, classes and functions, private ones too (0011); migrations keep the names they were published with."""
    found: list[str] = []
    for room in PROJECT["tool"]["importlinter"]["root_packages"]:
        for path in sorted((ROOT / room).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            names = [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, definitions)]
            for name in (path.stem, *names):
                words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")
                found += [f"{path.relative_to(ROOT)}: {name}"] * (not RETIRED_WORDS.isdisjoint(words))
    assert not found


def test_every_decision_is_in_the_index_under_its_title() -> None:
    folder = ROOT / "docs" / "adr"
    pages = {p.name: p.read_text().splitlines()[0] for p in folder.glob("0*.md")}
    rows = re.findall(r"^\| \[(\d{4})\]\(([^)]+)\) \| ([^|]+) \|", (folder / "README.md").read_text(), re.MULTILINE)
    assert {name: f"# {number}: {title}" for number, name, title in rows} == pages
    assert [number for number, *_ in rows] == [f"{n:04}" for n in range(1, len(pages) + 1)]


def test_the_image_has_the_python_that_its_packages_are_locked_for() -> None:
    images = set(re.findall(r"^FROM python:(\d+\.\d+)-", DOCKERFILE, re.MULTILINE))
    locked = re.findall(r"uv pip compile .*--python-version (\S+)", (ROOT / "Makefile").read_text())
    assert images == set(locked)
    assert images <= set(pythons())


def test_the_image_holds_every_room_and_what_the_wheel_is_built_from() -> None:
    rooms = set(PROJECT["tool"]["importlinter"]["root_packages"])
    built = {"pyproject.toml", "constraints.txt", PROJECT["project"]["readme"], "LICENSE"}
    assert rooms | built <= copied().keys()
    let_through = {
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")
    }
    assert let_through == copied().keys()
    assert all((ROOT / source).exists() for source in copied())


@pytest.mark.parametrize("name", OURS)
def test_a_service_runs_a_program_of_the_image(name: str) -> None:
    """Programs are those of this environment, their files those that the image or a volume has."""
    service = OURS[name]
    command: list[str] = service["command"]
    lines = command[2].split("&&") if command[:2] == ["sh", "-c"] else [" ".join(command)]
    for line in lines:
        assert (Path(sys.executable).parent / line.split()[0]).is_file(), line
    if "-w" in command:
        assert command[command.index("-w") + 1] in copied()
    for mount in service.get("volumes", ()):
        source, target, *_ = mount.split(":")
        assert source in COMPOSE["volumes"] or (ROOT / source).exists()
        assert f'"{target}"' in DOCKERFILE
    for waited in service["depends_on"]:
        assert waited in COMPOSE["services"]


def test_web_and_daemon_find_the_code_server() -> None:
    (server,) = yaml_of(ROOT / "deploy" / "workspace.yaml")["load_from"]
    (module,) = yaml_of(ROOT / "workspace.yaml")["load_from"]
    command: list[str] = OURS[server["grpc_server"]["host"]]["command"]
    assert command[command.index("--port") + 1] == str(server["grpc_server"]["port"])
    assert command[command.index("--module-name") + 1] == module["python_module"]["module_name"]
    # Links in reports name the location, whichever workspace serves it.
    assert server["grpc_server"]["location_name"] == module["python_module"]["location_name"]


def test_services_get_the_addresses_that_they_need_and_no_others() -> None:
    """Dagster's processes never hold the way to the store; every secret that compose asks for is named in the example."""
    variable = re.search(r"env: (\w+)", (ROOT / "deploy" / "dagster.yaml").read_text())
    assert variable is not None
    assert all(variable[1] in service["environment"] for service in OURS.values())
    stores = {name for name, service in OURS.items() if "SLOWWAVE_DATABASE_URL" in service["environment"]}
    assert stores == {"migrate", "code", "serve", "review"}
    files = [ROOT / "compose.yaml", *(ROOT / "deploy" / "celery").glob("*compose.yaml")]
    asked = {name for path in files for name in re.findall(r"\$\{(\w+)", path.read_text())}
    assert asked == set(re.findall(r"^(\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def test_compose_file_of_celery_starts_what_the_script_starts() -> None:
    """Its services add to those of compose.yaml, its broker asks for a password, and both workers have the same options."""
    celery = ROOT / "deploy" / "celery"
    services = yaml.safe_load((celery / "compose.yaml").read_text())["services"]
    assert services.keys() - COMPOSE["services"].keys() == {"broker", "worker"}
    settings = yaml.safe_load((celery / "dagster.yaml").read_text())
    launcher = settings["run_launcher"]["config"]
    wanted = {launcher["broker"]["env"], launcher["backend"]["env"]}
    assert all(wanted <= service["environment"].keys() for name, service in services.items() if name != "broker")
    command = services["broker"]["command"]
    assert command[command.index("--requirepass") + 1] == "${BROKER_PASSWORD}"
    (script,) = re.findall(r"exec celery (.*?);;", (celery / "start.sh").read_text(), re.DOTALL)
    options = {option.partition("=")[0] for option in services["worker"]["command"]} - {
        "celery",
        "worker",
        "--app",
        "--queues",
    }
    assert options == set(re.findall(r"--[a-z-]+", script))


def test_workers_on_other_machines_reach_what_the_first_one_publishes() -> None:
    """Each host in a worker's addresses is the first machine, which publishes that port there and nowhere else."""
    celery = ROOT / "deploy" / "celery"
    services = yaml.safe_load((celery / "compose.yaml").read_text())["services"]
    added = yaml.safe_load((celery / "workers.compose.yaml").read_text())["services"]
    addresses = re.findall(r"(\w+)://\S*?@([^/\s:]+)", "\n".join(map(str, services["worker"]["environment"].values())))
    ports = {host: 6379 if scheme == "redis" else 5432 for scheme, host in addresses}
    assert len(addresses) >= 4
    assert {entry.partition(":")[0] for entry in added["worker"]["extra_hosts"]} == ports.keys()
    assert added.keys() == {"worker", *ports}
    for host, port in ports.items():
        (published,) = added[host]["ports"]
        assert re.sub(r":\?[^}]*", "", published) == f"${{FIRST_MACHINE}}:{port}:{port}"
    for name, service in (COMPOSE["services"] | services).items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name


def test_image_has_the_extras_of_its_services() -> None:
    """Both are services of compose.yaml, published on loopback alone, and the extras of all services are in the image (F21)."""
    (extras,) = re.findall(r'"\.\[([\w,]+)\$\{MORE_EXTRAS\}\]"', DOCKERFILE)
    assert {"celery", "dagster", "serve"} <= set(extras.split(","))
    for name, port in (("serve", 7070), ("review", 4600)):
        assert OURS[name]["ports"] == [f"127.0.0.1:{port}:{port}"]
        assert f"{port}" in " ".join(OURS[name]["command"])
    options = dict(re.findall(r"--(host|port|origin) (\S+)", OURS["review"]["command"][2]))
    entrance = entrance_of(options["host"], int(options["port"]), reviewer="mara", origin=options["origin"])
    assert entrance.link().startswith("http://127.0.0.1:4600/")


@pytest.mark.parametrize("major", MODERN)
def test_the_databases_of_compose_are_well_by_its_own_logins(tmp_path: Path, major: int) -> None:
    """What the image of PostgreSQL runs on an empty server, then `slowwave migrate`, then the doctor, who finds nothing."""
    secrets = {"MEMORY_OWNER_PASSWORD": "o", "MEMORY_WRITER_PASSWORD": "w", "DAGSTER_PASSWORD": "d"}
    told = COMPOSE["services"]["postgres"]["environment"]
    assert secrets.keys() < told.keys()
    with external(tmp_path / "cluster", majors()[major]) as cluster:
        script = (*("-v", "ON_ERROR_STOP=1", "--no-password", "-f"), ROOT / "deploy" / "postgres" / "init.sql")
        # The wheel of 18 has psql; it speaks to older servers as well.
        done = subprocess.run(
            [majors()[18] / "psql", *script, cluster.url("postgres")],
            env={**os.environ, **secrets},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        store = Store(
            cluster.url("memory", "memory_owner", "o"), {"applier": cluster.url("memory", "memory_writer", "w")}
        )
        migrate(store)
        assert diagnose(store) == []
        for role in ROLES:
            with store.connect(role) as connection:
                connection.execute("SELECT 1 FROM memory.namespaces")
        with psycopg.connect(cluster.url("dagster", "dagster", "d")) as connection:
            connection.execute("CREATE TABLE t (n int)")
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            psycopg.connect(cluster.url("dagster", "memory_writer", "w"))


def test_no_test_waits_for_a_time_or_looks_at_the_clock() -> None:
    """A machine may be slow: what a test waits for is a condition (``tests/waiting.py``)."""
    watched = re.compile(r"\btime\.sleep\(|pg_sleep\(|\b(?:perf_counter|process_time)\(|monotonic\(\) - ")
    tests = (ROOT / "tests").rglob("*.py")
    assert [
        f.name for f in tests if f.name != "waiting.py" and f != Path(__file__) and watched.search(f.read_text())
    ] == []
