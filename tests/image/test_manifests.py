"""config/kubernetes: valid by published schemas, and true of the server."""

import json
import urllib.error
import urllib.request

import pytest

from clients.conftest import HALF_PLUS_TWO
from clients.server import free_port
from image.manifests import KUBERNETES, Schemas

# Not of Kubernetes itself: input of kustomize, of the Prometheus adapter's chart, and of KServe.
OTHERS = {"kustomization.yaml", "prometheus_adapter.yaml", "serving_runtime.yaml"}
RESOURCES = sorted(path.name for path in KUBERNETES.glob("*.yaml") if path.name not in OTHERS)
# The first version whose preStop can sleep, and the latest that the schemas have.
VERSIONS = ["1.30.0", "1.37.0"]
TOKEN = "0123456789abcdef0123456789abcdef"


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


@pytest.fixture(name="pod_server")
def _pod_server(start, schemas, pod, tmp_path):
    """(a server as in the pod, its admin port). The Secret has the token TOKEN."""
    (container,) = pod["spec"]["containers"]
    sources = {"models": HALF_PLUS_TWO.parent}
    for volume in ("config", "admin", "state"):
        sources[volume] = tmp_path / volume
        sources[volume].mkdir(mode=0o755)
    tmp_path.chmod(0o755)
    config = schemas.read(KUBERNETES / "config_map.yaml")["data"]["tessera.yaml"]
    config = config.replace("/models/model", f"/models/{HALF_PLUS_TWO.name}")
    (sources["config"] / "tessera.yaml").write_text(config, encoding="utf-8")
    mounts = {mount["mountPath"]: sources[mount["name"]] for mount in container["volumeMounts"]}
    (sources["admin"] / "tokens").write_text(TOKEN, encoding="utf-8")
    admin_port = free_port()  # 8502 may be taken
    server = start(*container["args"], f"--admin_port={admin_port}", mounts=mounts)
    return server, admin_port


def test_the_admin_port_of_a_pod(pod_server):
    url = f"http://127.0.0.1:{pod_server[1]}/admin/v1/rollouts"
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(url)
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200


def test_the_network_policy_opens_the_ports_of_the_pod(schemas, pod):
    (container,) = pod["spec"]["containers"]
    rules = schemas.read(KUBERNETES / "network_policy.yaml")["spec"]["ingress"]
    opened = [port["port"] for rule in rules for port in rule["ports"]]
    assert opened == [port["containerPort"] for port in container["ports"]]
    admin = container["ports"][-1]
    assert admin == {"name": "admin", "containerPort": 8502} and rules[-1]["from"]
    (config,) = schemas.load(schemas.read(KUBERNETES / "config_map.yaml")["data"]["tessera.yaml"])
    assert config["admin_port"] == 8502


def test_the_server_of_a_pod(pod_server, schemas, pod):
    """Its configuration, probes, metrics page and the autoscaler's metric, at a real server."""
    server, _ = pod_server
    (container,) = pod["spec"]["containers"]
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


def test_the_chart_renders_to_these_resources(schemas):
    rendered = schemas.render(KUBERNETES / "chart")
    written = [schemas.read(KUBERNETES / name) for name in RESOURCES]
    for documents in (rendered.values(), written):
        for document in documents:
            if document["kind"] == "ConfigMap":
                text = document["data"]["tessera.yaml"]
                document["data"]["tessera.yaml"] = schemas.load(text)
    assert rendered == {document["kind"]: document for document in written}


def test_the_chart_with_other_values(schemas, tmp_path):
    values = """
        image: registry.example:5000/tessera:1
        replicas: 3
        autoscaling: {enabled: false}
        arguments: ["--file_system_poll_wait_seconds=10", "--version_marker_file=DONE"]
        config:
          models: [{name: a, base_path: /models/a}, {name: b, base_path: /models/b}]
          model_config_file_poll_wait_seconds: 60
          enable_grpc_healthcheck_service: false
        shutdownGraceSeconds: 60
        resources: {requests: {memory: 4Gi}, limits: {memory: 8Gi, cpu: "4"}}
    """
    rendered = schemas.render(KUBERNETES / "chart", values)
    for kind, document in rendered.items():
        path = tmp_path / f"{kind}.yaml"
        path.write_text(json.dumps(document), encoding="utf-8")
        assert schemas.problems_of_resource(path, VERSIONS[0]) == ""
    assert "HorizontalPodAutoscaler" not in rendered
    deployment = rendered["Deployment"]["spec"]
    pod = deployment["template"]["spec"]
    (container,) = pod["containers"]
    assert deployment["replicas"] == 3 and pod["terminationGracePeriodSeconds"] == 75
    assert container["args"][1:] == [
        *("--file_system_poll_wait_seconds=10", "--version_marker_file=DONE")
    ]
    text = rendered["ConfigMap"]["data"]["tessera.yaml"]
    assert text.count("model_config_file_poll_wait_seconds:") == 1
    (config,) = schemas.load(text)
    assert config["model_config_file_poll_wait_seconds"] == 60
    assert config["enable_grpc_healthcheck_service"] is False
    assert config["admin_address"] == "0.0.0.0"
    assert [model["name"] for model in config["models"]] == ["a", "b"]
    assert config["shutdown_grace_seconds"] == 60


def test_the_chart_with_tls(schemas, tmp_path):
    rendered = schemas.render(KUBERNETES / "chart", "tlsSecret: certificate")
    for kind, document in rendered.items():
        path = tmp_path / f"{kind}.yaml"
        path.write_text(json.dumps(document), encoding="utf-8")
        assert schemas.problems_of_resource(path, VERSIONS[0]) == ""
    template = rendered["Deployment"]["spec"]["template"]
    assert template["metadata"]["annotations"]["prometheus.io/scheme"] == "https"
    (container,) = template["spec"]["containers"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["scheme"] == "HTTPS"
    (mounted,) = (mount for mount in container["volumeMounts"] if mount["name"] == "tls")
    (volume,) = (volume for volume in template["spec"]["volumes"] if volume["name"] == "tls")
    assert volume["secret"] == {"secretName": "certificate"}
    (config,) = schemas.load(rendered["ConfigMap"]["data"]["tessera.yaml"])
    # The names that Kubernetes gives the files of such a Secret.
    assert config["ssl_certificate_file"] == f"{mounted['mountPath']}/tls.crt"
    assert config["ssl_key_file"] == f"{mounted['mountPath']}/tls.key"
    assert config["rest_api_ssl"] is True
