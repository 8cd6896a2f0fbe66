"""The board and the alert rules of config/, by promtool and by a Prometheus that scrapes a server.

The server has batching, a memory limit, a version that took over from another one, a version that
cannot be loaded, a rollout that was rolled back and one under way, and requests that succeed and that fail, so that almost every
query has data.
"""

import json
import re
import shutil
import subprocess
import time

import grpc
import numpy as np
import pytest

from clients.client import Client, predict_request
from clients.conftest import HALF_PLUS_TWO
from clients.prometheus import CONFIG, Prometheus
from clients.server import REPOSITORY, Server

BOARD = json.loads((REPOSITORY / "config/grafana/tessera.json").read_text(encoding="utf-8"))
METRIC = re.compile(r":(?:tessera|tensorflow):[a-z_:]+")
# What Grafana puts in for its variables.
VARIABLES = {
    "$job": ".*",
    "$instance": ".*",
    "$model": ".*",
    "$__rate_interval": "30s",
}
CONFIG_OF_SERVER = """
models:
  - {{name: m, base_path: {folder}/m}}
  - name: tried
    base_path: {folder}/tried
    rollout: {{steps: [{{share_percent: 50, duration_seconds: 3600}}], mirror_percent: 100}}
"""
# Queries without data where a server has no container's limit and refused nobody.
MAY_BE_EMPTY = (":tessera:serving:process_memory_limit_bytes",)

pytestmark = pytest.mark.skipif(
    shutil.which("promtool") is None or shutil.which("prometheus") is None,
    reason="needs the package prometheus",
)


def panel_queries():
    """(title, expression) of each query of the board, as Grafana would send it."""
    queries = [(a["name"], a["expr"]) for a in BOARD["annotations"]["list"]]
    for panel in BOARD["panels"]:
        queries += [(panel["title"], target["expr"]) for target in panel.get("targets", [])]
    for title, expression in queries:
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        assert "$" not in expression, (title, expression)
        yield title, expression


def is_on(types, name):
    """Whether a page with these types has a metric; parts of histograms have suffixes."""
    whole = re.sub(r"_(bucket|sum|count)$", "", name)
    return name in types or types.get(whole) == "histogram"


def promtool(*arguments):
    return subprocess.run(
        ["promtool", *map(str, arguments)], capture_output=True, text=True, check=False, cwd=CONFIG
    )


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitoring")
    (folder / "monitoring.config").write_text("prometheus_config { enable: true }")
    (folder / "batching.config").write_text("max_batch_size { value: 8 }")
    for name in ("m", "tried"):
        shutil.copytree(HALF_PLUS_TWO, folder / name)
    (folder / "config.yaml").write_text(CONFIG_OF_SERVER.format(folder=folder), encoding="utf-8")
    with Server(
        f"--config={folder / 'config.yaml'}",
        f"--monitoring_config_file={folder / 'monitoring.config'}",
        f"--batching_parameters_file={folder / 'batching.config'}",
        "--enable_batching",
        "--memory_limit=1GiB",
        "--version_settle_seconds=0",
    ) as server:
        server.models, server.tried = folder / "m", folder / "tried"
        yield server


@pytest.fixture(scope="module", name="prometheus")
def _prometheus(server, tmp_path_factory):
    """Scrapes, while requests come and versions change."""
    with Prometheus(server, tmp_path_factory.mktemp("prometheus")) as prometheus, Client(
        server
    ) as client:
        prometheus.await_scrapes(1)
        folder = next(server.models.iterdir())
        version = int(folder.name)
        shutil.copytree(folder, server.models / str(version + 1))
        push_broken(server.tried / str(version + 1))
        ask(server, client)
        wait_for(server, f'request_count{{model_name="m",version="{version + 1}"', client)
        push_broken(server.models / str(version + 2))
        wait_for(server, ':tessera:serving:failed_versions{model_name="m"} 1', client)
        wait_for(server, 'decisions{model_name="tried",decision="rolled_back"} 1', client)
        shutil.copytree(folder, server.tried / str(version + 2))
        wait_for(server, 'rollout_phase{model_name="tried"} 2', client)
        for _ in range(3):
            ask(server, client)
            prometheus.await_scrapes(2)
        yield prometheus


def push_broken(folder):
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(b"no model")


def page(server):
    return server.http("GET", "/monitoring/prometheus/metrics")[2].decode()


def ask(server, client):
    """Requests by gRPC and REST, of which some fail."""
    assert client.half_plus_two([1.0, 2.0]) == [2.5, 3.0]
    body = b'{"instances": [4.0]}'
    for model in ("m", "tried"):
        assert server.http("POST", f"/v1/models/{model}:predict", body)[0] == 200
    assert server.http("POST", "/v1/models/m:predict", b'{"instances": ["a"]}')[0] == 400
    assert server.http("POST", "/v1/models/nobody:predict", body)[0] == 404


def wait_for(server, text, client, seconds=60):
    """Asks until a page has a text. The page tells of a version once it was asked."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        client.half_plus_two([1.0])
        if text in page(server):
            return
    raise AssertionError(f"no {text!r} in {page(server)}")


def test_promtool_accepts_configuration_rules_and_their_tests():
    for arguments in (
        ("check", "config", "prometheus.yml"),
        ("check", "rules", "alerts.yml"),
        ("test", "rules", "alerts_test.yml"),
    ):
        checked = promtool(*arguments)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_each_alert_has_a_test_and_says_what_to_do():
    rules = (CONFIG / "alerts.yml").read_text(encoding="utf-8")
    tests = (CONFIG / "alerts_test.yml").read_text(encoding="utf-8")
    alerts = re.split(r"\n +- alert: ", rules)[1:]
    assert len(alerts) >= 8
    for alert in alerts:
        name = alert.split()[0]
        assert name in tests, f"no test of {name}"
        assert "severity: " in alert and "summary: " in alert, name
        assert len(alert.split("description: >-")[1].strip()) > 100, f"{name}: do what?"


def test_every_metric_of_the_board_and_the_alerts_is_on_the_page(server):
    texts = [expression for _, expression in panel_queries()]
    texts += [json.dumps(variable["query"]) for variable in BOARD["templating"]["list"]]
    texts.append((CONFIG / "alerts.yml").read_text(encoding="utf-8"))
    named = set(METRIC.findall("\n".join(texts)))
    types = dict(re.findall(r"^# TYPE (\S+) (\w+)$", page(server), re.MULTILINE))
    assert len(named) > 30
    assert not sorted(name for name in named if not is_on(types, name))


def test_every_query_of_the_board_has_data(prometheus):
    assert len(list(panel_queries())) > 40
    for title, expression in panel_queries():
        samples = prometheus.query(expression)
        if any(name in expression for name in MAY_BE_EMPTY):
            continue
        assert samples, f"{title}: {expression}"


def test_rules_are_evaluated_without_errors(prometheus):
    rules = prometheus.rules()
    assert len(rules) >= 8
    for name, rule in rules.items():
        assert (rule["health"], rule.get("lastError", "")) == ("ok", ""), name


def test_a_load_that_failed_raises_its_alert(prometheus):
    prometheus.await_alert("TesseraLoadFailed")
    alerts = prometheus.rules()["TesseraLoadFailed"]["alerts"]
    (alert,) = (alert for alert in alerts if alert["labels"]["model_name"] == "m")
    assert alert["state"] == "firing"
    assert "GET /v1/models/m" in alert["annotations"]["description"]


def test_a_rollback_raises_its_alert(prometheus):
    alert = prometheus.await_alert("TesseraRolledBack")
    assert (alert["state"], alert["labels"]["model_name"]) == ("firing", "tried")


def test_other_alerts_are_silent(prometheus):
    raised = {name for name, rule in prometheus.rules().items() if rule["alerts"]}
    assert raised <= {"TesseraLoadFailed", "TesseraRolledBack"}


def test_series_of_a_version_end_with_it(prometheus):
    series = ':tessera:serving:requests_in_flight{model_name="m"}'
    asked = prometheus.query(f"count by (version) ({series})")
    ever = prometheus.query(f"count by (version) (last_over_time({series}[10m]))")
    assert (len(asked), len(ever)) == (1, 2), (asked, ever)


def test_times_of_the_phases_add_up(prometheus):
    (_, whole), = prometheus.query("sum(:tessera:serving:request_latency_sum)")
    (_, phases), = prometheus.query("sum(:tessera:serving:phase_latency_sum)")
    assert phases == pytest.approx(whole, rel=1e-4)


def test_promtool_reads_the_page(server, prometheus):
    del prometheus  # which has filled the page
    checked = subprocess.run(
        ["promtool", "check", "metrics"],
        input=page(server),
        capture_output=True,
        text=True,
        check=False,
    )
    # 3: read, but TensorFlow Serving's names are not to its taste: colons, units, no help texts.
    assert checked.returncode == 3, checked.stderr
    taste = re.compile(
        r"no help text|should not contain ':'|should have \"_total\" suffix|abbreviated units"
        r"|should use base unit|camelCase|should not have \"_(count|total|sum|bucket)\" suffix"
        r"|should not include type"
    )
    others = [line for line in checked.stderr.splitlines() if not taste.search(line)]
    assert not others, "\n".join(others)


def test_status_is_the_code_that_clients_get(server):
    with Client(server) as client, pytest.raises(grpc.RpcError) as error:
        client.predict(predict_request("m", {"x": np.array([b"a"])}))
    assert f'status="{error.value.code().name}"' in page(server)
