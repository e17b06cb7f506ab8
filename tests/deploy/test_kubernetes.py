"""deploy/kubernetes without a cluster: keys of the chart's values, the job that the launcher would create, and the other manifests.

``helm_values.json`` has the keys that are used, with their types, from ``helm/dagster/values.schema.json`` of dagster-io/dagster at commit
835892b4; objects whose inside is Kubernetes' own end there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import dagster as dg
import kubernetes
import kubernetes_validate
import pytest
import yaml
from dagster._core.launcher import LaunchRunContext
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin
from dagster_k8s import K8sRunLauncher

from slowwave.dagster.layout import Timetable
from tests.test_project_files import DOCKERFILE, ROOT

FOLDER: Final = ROOT / "deploy" / "kubernetes"
VALUES: Final[dict[str, Any]] = yaml.safe_load((FOLDER / "values.yaml").read_text())
SCHEMA: Final[dict[str, str]] = json.loads(Path(__file__).with_name("helm_values.json").read_text())
MANIFESTS: Final = {
    f"{path.name} {one['kind']} {one['metadata']['name']}": one
    for path in sorted(FOLDER.glob("*.yaml"))
    if path.name != "values.yaml"
    for one in yaml.safe_load_all(path.read_text())
}
TYPES: Final = {"boolean": bool, "integer": int, "object": dict, "string": str}
(CODE,) = VALUES["dagster-user-deployments"]["deployments"]


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value with its path, down to the objects at which the list ends."""
    if isinstance(value, dict) and SCHEMA.get(path) != "object":
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, f"{path}[]")
    else:
        yield path, value


def test_values_have_keys_and_types_of_the_chart_alone() -> None:
    found = list(leaves(VALUES))
    assert {path for path, _ in found} == SCHEMA.keys()
    for path, value in found:
        assert type(value) is TYPES[SCHEMA[path]], path


def test_no_secret_is_written_down() -> None:
    """Passwords and addresses come from Secrets, which are named and not made."""
    for path in FOLDER.glob("*.yaml"):
        text = path.read_text()
        assert not re.search(r"(?i)password: |://[^/\s]*:[^/\s]*@|kind: Secret$", text), path
    assert {e["name"] for e in CODE["env"]}.isdisjoint({"SLOWWAVE_DATABASE_URL", "SLOWWAVE_APPLY_DATABASE_URL"})
    for name in ("dagsterWebserver", "dagsterDaemon"):
        assert not VALUES[name].keys() & {"env", "envSecrets"}, "only the code server and runs reach the store"


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_are_those_of_kubernetes(name: str) -> None:
    kubernetes_validate.validate(MANIFESTS[name], "1.32", strict=True)
    assert MANIFESTS[name]["metadata"]["namespace"] == "slowwave"


def pods() -> Iterator[dict[str, Any]]:
    for one in MANIFESTS.values():
        spec = one["spec"].get("jobTemplate", one)["spec"]
        if "template" in spec:
            yield spec["template"]


def test_every_pod_has_the_image_limits_no_rights_and_secrets_by_reference() -> None:
    image = f"{CODE['image']['repository']}:{CODE['image']['tag']}"
    assert VALUES["dagsterWebserver"]["image"] == VALUES["dagsterDaemon"]["image"] == CODE["image"]
    uid = int(re.search(r"USER (\d+):", DOCKERFILE)[1])  # type: ignore[index]
    found = list(pods())
    assert len(found) == 3
    for pod in found:
        spec = pod["spec"]
        (container,) = spec["containers"]
        assert container["image"] == image
        assert container["resources"]["limits"]["memory"]
        assert container["envFrom"] == [{"secretRef": {"name": CODE["envSecrets"][0]["name"]}}]
        assert container["securityContext"] == CODE["securityContext"]
        assert spec["securityContext"] == CODE["podSecurityContext"]
        assert spec["securityContext"]["runAsUser"] == uid
        assert spec["imagePullSecrets"] == VALUES["imagePullSecrets"]


def test_only_the_entrance_of_approvers_leads_to_the_webserver_that_writes() -> None:
    """Pages of the other one contain memory text, so it has a login as well."""
    ingresses = [one for one in MANIFESTS.values() if one["kind"] == "Ingress"]
    ports = set()
    for one in ingresses:
        (path,) = one["spec"]["rules"][0]["http"]["paths"]
        service = path["backend"]["service"]
        ports.add(service["port"]["number"])
        login = one["metadata"]["annotations"]["nginx.ingress.kubernetes.io/auth-url"]
        assert ("approvers" in login) != service["name"].endswith("-read-only"), one["metadata"]["name"]
    assert len(ingresses) == 2
    assert ports == {VALUES["dagsterWebserver"]["service"]["port"]}
    assert VALUES["dagsterWebserver"]["readinessProbe"]["httpGet"]["port"] in ports


# The launcher, configured as the chart's template does, with an API client that keeps what it is asked to create.


class Kept:
    """An API client of Kubernetes that creates nothing."""

    def __init__(self) -> None:
        self.jobs: list[Any] = []

    def create_namespaced_job(self, body: Any, namespace: str, **_: object) -> None:
        assert namespace == "slowwave"
        self.jobs.append(body)


def launched(monkeypatch: pytest.MonkeyPatch, home: Path, tags: dict[str, Any]) -> dict[str, Any]:
    """The job for a run with ``tags``, as it would be sent to Kubernetes."""
    monkeypatch.setattr(kubernetes.config, "load_incluster_config", lambda: None)
    given, kept = VALUES["runLauncher"]["config"]["k8sRunLauncher"], Kept()
    chosen = given["runK8sConfig"]
    launcher = K8sRunLauncher(
        service_account_name="dagster",
        instance_config_map="dagster-instance",
        postgres_password_secret=VALUES["global"]["postgresqlSecretName"],
        dagster_home=VALUES["global"]["dagsterHome"],
        image_pull_policy=given["imagePullPolicy"],
        job_namespace="slowwave",
        run_k8s_config={
            "pod_spec_config": chosen["podSpecConfig"],
            "container_config": chosen["containerConfig"],
            "job_spec_config": chosen["jobSpecConfig"],
        },
        k8s_client_batch_api=kept,
        k8s_client_core_api=Kept(),
    )
    context = {
        "image_pull_policy": CODE["image"]["pullPolicy"],
        "image_pull_secrets": VALUES["dagster-user-deployments"]["imagePullSecrets"],
        "env_secrets": [one["name"] for one in CODE["envSecrets"]],
        "env": CODE["env"],
        "resources": CODE["resources"],
        "namespace": "slowwave",
    }
    origin = JobPythonOrigin(
        "night_job",
        RepositoryPythonOrigin(
            executable_path="python",
            code_pointer=dg._core.code_pointer.ModuleCodePointer("memory_assets.definitions", "defs"),
            container_image=f"{CODE['image']['repository']}:{CODE['image']['tag']}",
            container_context={"k8s": context},
        ),
    )
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        launcher.register_instance(instance)
        run = instance.create_run_for_job(
            dg.JobDefinition(name="night_job", graph_def=dg.GraphDefinition("night_job")),
            tags={name: value if isinstance(value, str) else json.dumps(value) for name, value in tags.items()},
            job_code_origin=origin,
        )
        launcher.launch_run(LaunchRunContext(run, workspace=None))
    (job,) = kept.jobs
    return kubernetes.client.ApiClient().sanitize_for_serialization(job)


def test_a_run_gets_its_secrets_by_reference_and_the_resources_of_its_tags(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("SLOWWAVE_DATABASE_URL", "DAGSTER_PG_PASSWORD"):
        monkeypatch.setenv(name, "postgresql://memory_owner:a-secret@host/memory")
    monkeypatch.setenv("SLOWWAVE_NIGHT_RUN_TAGS", next(e["value"] for e in CODE["env"] if "TAGS" in e["name"]))
    when = Timetable.from_settings()
    memory, limits = {}, {}
    for size, tags in {0: {}, **when.run_tags}.items():
        job = launched(monkeypatch, tmp_path, dict(tags))
        kubernetes_validate.validate({"apiVersion": "batch/v1", "kind": "Job", **job}, "1.32", strict=True)
        assert "a-secret" not in json.dumps(job)
        pod = job["spec"]["template"]
        (container,) = pod["spec"]["containers"]
        assert {"secretRef": {"name": "slowwave-store"}} in container["envFrom"]
        password = next(one for one in container["env"] if one["name"] == "DAGSTER_PG_PASSWORD")
        assert password["valueFrom"]["secretKeyRef"]["name"] == "slowwave-dagster"
        assert "SLOWWAVE_SNAPSHOTS" in {one["name"] for one in container["env"]}
        assert container["securityContext"] == CODE["securityContext"]
        assert pod["spec"]["securityContext"] == CODE["podSecurityContext"]
        assert pod["spec"]["imagePullSecrets"] == VALUES["imagePullSecrets"]
        assert container["image"] == f"{CODE['image']['repository']}:{CODE['image']['tag']}"
        (policy,) = (one for one in MANIFESTS.values() if one["metadata"]["name"] == "runs")
        assert policy["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
        memory[size] = container["resources"]["limits"]["memory"]
        limits[size] = [one["value"] for one in container["env"] if one["name"] == "SLOWWAVE_WORKER_MEMORY_GIB"][-1]
    assert memory == {0: "2Gi", 50_000: "4Gi", 500_000: "16Gi"}
    assert limits == {0: "1.7", 50_000: "3.5", 500_000: "15"}, "the last value of a name holds"
