"""docker/compose.yaml: valid by the schema of the Compose specification, and started where Docker is."""

import json
import os
import re
import shutil
import subprocess
import urllib.request

import pytest

from clients.fault_steps import wait_until
from clients.server import REPOSITORY

COMPOSE = REPOSITORY / "docker" / "compose.yaml"
# The image of Prometheus has this entry point, but for consoles.
PROMETHEUS = """FROM scratch
COPY . /
ENTRYPOINT ["/usr/bin/prometheus", "--config.file=/etc/prometheus/prometheus.yml"]
"""


def output(*command):
    """Standard output of a command that must end well."""
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.strip()


def is_there(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def get(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as reply:
        return json.load(reply)


def split(volume):
    """(source, target, options) of a volume."""
    return volume.split(":")


@pytest.fixture(name="prometheus_image")
def _prometheus_image(tmp_path):
    """The tag of an image of this machine's Prometheus, for machines without a registry."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("needs the package prometheus")
    folder = tmp_path / "prometheus"
    for file in [program, *re.findall(r"/\S+", output("ldd", program))]:
        path = folder / ("usr/bin/prometheus" if file == program else file.lstrip("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, path)
    (folder / "Dockerfile").write_text(PROMETHEUS, encoding="utf-8")
    tag = f"localhost/prometheus-test:{os.getpid()}"
    output("docker", "build", "--quiet", f"--tag={tag}", folder)
    yield tag
    output("docker", "rmi", tag)


@pytest.fixture(name="project")
def _project(image, prometheus_image, schemas, tmp_path):
    """compose(words...) runs a command on the services but Grafana, on free ports, until they go."""
    builder, tag = image
    if builder != "docker":
        pytest.skip("needs a running docker")
    programs = [["docker", "compose"], ["docker-compose"]]
    program = next((words for words in programs if is_there(*words, "version")), None)
    if program is None:
        pytest.skip("needs docker compose")
    document = schemas.read(COMPOSE)
    services = document["services"]
    del services["grafana"], services["tessera"]["build"]
    services["tessera"] |= {"image": tag, "ports": ["8501"]}
    services["prometheus"] |= {"image": prometheus_image, "ports": ["9090"]}
    file = tmp_path / "compose.yaml"
    file.write_text(json.dumps(document), encoding="utf-8")
    project = [
        *(*program, "--project-name", f"tessera-test-{os.getpid()}"),
        *("--file", file, "--project-directory", COMPOSE.parent),
    ]
    try:
        yield lambda *words: output(*project, *words)
    finally:
        output(*project, "down", "--volumes")


def test_compose_is_valid_and_its_files_are_there(schemas):
    assert schemas.problems_of_compose(COMPOSE) == ""
    for service in schemas.read(COMPOSE)["services"].values():
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert (COMPOSE.parent / source).exists(), source


def test_the_services_find_each_other(project):
    project("up", "--detach")
    server = project("port", "tessera", "8501")
    prometheus = project("port", "prometheus", "9090")

    def is_scraped():
        try:
            targets = get(prometheus, "/api/v1/targets")["data"]["activeTargets"]
        except OSError:
            return False
        return [target["health"] for target in targets] == ["up"]

    wait_until(is_scraped, "Prometheus scrapes the server")
    (status,) = get(server, "/v1/models/digits")["model_version_status"]
    assert status["state"] == "AVAILABLE"
    (group,) = get(prometheus, "/api/v1/rules")["data"]["groups"]
    assert "TesseraDown" in {rule["name"] for rule in group["rules"]}
    name = project("ps", "--quiet", "tessera")
    project("stop", "tessera")
    assert output("docker", "inspect", "--format={{.State.ExitCode}}", name) == "0"


def test_grafana_gets_the_board_and_its_data_source(schemas):
    """By the files that it reads at its start, under the names of the services."""
    volumes = schemas.read(COMPOSE)["services"]["grafana"]["volumes"]
    source_of = {target: COMPOSE.parent / source for source, target, _ in map(split, volumes)}
    (provider,) = schemas.read(source_of["/etc/grafana/provisioning/dashboards/tessera.yaml"])[
        "providers"
    ]
    boards = source_of[provider["options"]["path"]]
    board = json.loads((boards / "tessera.json").read_text(encoding="utf-8"))
    (source,) = schemas.read(source_of["/etc/grafana/provisioning/datasources/tessera.yaml"])[
        "datasources"
    ]
    assert source["type"] == "prometheus" and source["isDefault"]
    assert source["url"] == "http://prometheus:9090"
    asked = {panel["datasource"]["type"] for panel in board["panels"] if "datasource" in panel}
    assert asked <= {"prometheus"}
