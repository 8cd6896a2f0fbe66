"""config/kubernetes: valid by published schemas, and true of the server."""

import json
import shutil
import subprocess

import pytest

from clients.conftest import HALF_PLUS_TWO
from image.manifests import KUBERNETES, Schemas

# Not of Kubernetes itself: input of kustomize, of the Prometheus adapter's chart, and of KServe.
OTHERS = {"kustomization.yaml", "prometheus_adapter.yaml", "serving_runtime.yaml"}
RESOURCES = sorted(path.name for path in KUBERNETES.glob("*.yaml") if path.name not in OTHERS)
# The first version whose preStop can sleep, and the latest that the schemas have.
VERSIONS = ["1.30.0", "1.37.0"]


@pytest.fixture(name="pod")
def _pod(schemas):
    """The template of the Deployment's pods."""
    return schemas.read(KUBERNETES / "deployment.yaml")["spec"]["template"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", RESOURCES)
def test_a_resource_is_valid(schemas, name, version):
    assert schemas.problems_of_resource(KUBERNETES / name, version) == ""


def test_the_schemas_find_what_is_wrong(schemas, tmp_path):
    text = (KUBERNETES / "deployment.yaml").read_text(encoding="utf-8")
    wrong = tmp_path / "deployment.yaml"
    wrong.write_text(text.replace("readinessProbe", "readynessProbe"), encoding="utf-8")
    assert "readynessProbe" in schemas.problems_of_resource(wrong, VERSIONS[0])
    runtime = schemas.read(KUBERNETES / "serving_runtime.yaml")["spec"]
    runtime["supportedModelFormats"][0]["autoselect"] = True
    found = schemas.unknown_to_kserve("V1alpha1ServingRuntimeSpec", runtime)
    assert found == ["V1alpha1SupportedModelFormat.autoselect"]


def test_kustomize_takes_every_resource(schemas):
    assert sorted(schemas.read(KUBERNETES / "kustomization.yaml")["resources"]) == RESOURCES


def test_pods_are_confined(pod):
    assert pod["spec"]["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    (container,) = pod["spec"]["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_a_pod_has_time_to_end(schemas, pod):
    """The server takes five seconds more than its grace for unloading."""
    (config,) = schemas.load(schemas.read(KUBERNETES / "config_map.yaml")["data"]["tessera.yaml"])
    (container,) = pod["spec"]["containers"]
    pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    needed = pause + config["shutdown_grace_seconds"] + 5
    assert pod["spec"]["terminationGracePeriodSeconds"] > needed


def test_the_server_of_a_pod(start, schemas, pod, tmp_path):
    """Its configuration, probes, metrics page and the autoscaler's metric, at a real server."""
    config = schemas.read(KUBERNETES / "config_map.yaml")["data"]["tessera.yaml"]
    (tmp_path / "tessera.yaml").write_text(config, encoding="utf-8")
    tmp_path.chmod(0o755)
    (container,) = pod["spec"]["containers"]
    config_mount = container["volumeMounts"][0]["mountPath"]
    server = start(
        *container["args"], mounts={config_mount: tmp_path, "/models/model": HALF_PLUS_TWO}
    )
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert server.http("GET", container[probe]["httpGet"]["path"])[0] == 200
    status, _, _ = server.http("POST", "/v1/models/model:predict", b'{"instances": [4.0]}')
    assert status == 200
    status, _, page = server.http("GET", pod["metadata"]["annotations"]["prometheus.io/path"])
    assert status == 200
    (rule,) = schemas.read(KUBERNETES / "prometheus_adapter.yaml")["rules"]["custom"]
    series = rule["seriesQuery"].split('"')[1]
    assert any(line.startswith(f"{series}{{") for line in page.decode().splitlines())
    (metric,) = schemas.read(KUBERNETES / "horizontal_pod_autoscaler.yaml")["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] == rule["name"]["as"]


def test_the_serving_runtime_is_valid(schemas, tmp_path):
    runtime = schemas.read(KUBERNETES / "serving_runtime.yaml")["spec"]
    assert schemas.unknown_to_kserve("V1alpha1ServingRuntimeSpec", runtime) == []
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "tessera"},
        "spec": {"containers": runtime["containers"]},
    }
    (tmp_path / "pod.yaml").write_text(json.dumps(pod), encoding="utf-8")
    assert schemas.problems_of_resource(tmp_path / "pod.yaml", VERSIONS[0]) == ""


def test_the_serving_runtime_serves(start, schemas):
    """With the model where KServe puts it; the ports of KServe are left out, for they may be taken."""
    (container,) = schemas.read(KUBERNETES / "serving_runtime.yaml")["spec"]["containers"]
    arguments = [argument.replace("{{.Name}}", "half") for argument in container["args"]]
    ports = [argument for argument in arguments if "port=" in argument]
    assert ports == ["--port=9000", "--rest_api_port=8080"]
    server = start(
        *(argument for argument in arguments if argument not in ports),
        mounts={"/mnt/models": HALF_PLUS_TWO},
    )
    assert server.http("POST", "/v1/models/half:predict", b'{"instances": [4.0]}')[0] == 200


@pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not installed")
def test_the_chart_renders_to_these_resources(schemas):
    chart = KUBERNETES / "chart"
    subprocess.run(["helm", "lint", "--strict", chart], check=True)
    run = subprocess.run(
        ["helm", "template", "tessera", chart], stdout=subprocess.PIPE, text=True, check=True
    )
    rendered = {document["kind"]: document for document in schemas.load(run.stdout)}
    written = [schemas.read(KUBERNETES / name) for name in RESOURCES]
    for documents in (rendered.values(), written):
        for document in documents:
            if document["kind"] == "ConfigMap":
                text = document["data"]["tessera.yaml"]
                document["data"]["tessera.yaml"] = schemas.load(text)
    assert rendered == {document["kind"]: document for document in written}
