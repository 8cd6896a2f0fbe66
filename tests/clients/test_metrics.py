"""The monitoring page, as TensorFlow Serving has it and as Prometheus reads it."""

import pathlib
import re
import shutil
import subprocess

import pytest

from clients.client import Client
from clients.conftest import HALF_PLUS_TWO, assert_serves
from clients.server import DATA, Model, Server

PATH = "/monitoring/prometheus/metrics"


@pytest.fixture(scope="module", name="page")
def _page(tmp_path_factory):
    """The page of a server that answered one request by gRPC and one by REST."""
    config = tmp_path_factory.mktemp("monitoring") / "monitoring.txt"
    config.write_text("prometheus_config { enable: true }")
    with Server(
        f"--monitoring_config_file={config}", models=[Model("m", HALF_PLUS_TWO)]
    ) as server, Client(server) as client:
        assert_serves(server, client)
        status, _, body = server.http("GET", PATH)
        assert status == 200
        yield body.decode()


def types(text):
    return dict(re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE))


def recorded_types():
    """What a real TensorFlow Serving's page names, but for what batching alone adds."""
    lines = pathlib.Path(DATA / "tfserving" / "metrics.txt").read_text().splitlines()
    found = dict(line[2:].split()[:2] for line in lines if line[:3] in ("* :", "  :"))
    return {name: kind for name, kind in found.items() if ":batching_session:" not in name}


def test_names_every_metric_of_tensorflow_serving(page):
    recorded = recorded_types()
    assert len(recorded) > 120
    ours = types(page)
    assert {name: ours.get(name) for name in recorded} == recorded


@pytest.mark.parametrize(
    "sample",
    [
        r':tensorflow:serving:request_count{model_name="m",status="OK"} 2',
        r':tensorflow:serving:request_latency_count{model_name="m",API="Predict",'
        r'entrypoint="GRPC"} 1',
        r':tensorflow:serving:request_latency_count{model_name="m",API="predict",'
        r'entrypoint="REST"} 1',
        r':tensorflow:serving:runtime_latency_count{model_name="m",API="Predict",'
        r'runtime="TF1"} 2',
        r":tensorflow:core:session_created{} 1",
        r':tessera:serving:available_versions{model_name="m"} 1',
        r':tessera:serving:request_count{model_name="m",version="123",method="predict",'
        r'protocol="grpc",status="OK"} 1',
        r':tessera:serving:request_latency_count{model_name="m",version="123",method="predict",'
        r'protocol="rest"} 1',
        r':tessera:serving:phase_latency_count{model_name="m",version="123",method="predict",'
        r'protocol="rest",phase="encode"} 1',
        r':tessera:serving:requests_in_flight{model_name="m",version="123",method="predict",'
        r'protocol="grpc"} 0',
        r':tessera:serving:pool_queue_length{pool="grpc"} 0',
        r':tessera:serving:pool_queue_length{pool="rest"} 0',
        r':tessera:serving:version_memory_bytes{model_name="m",version="123",kind="mapped"} 12',
    ],
)
def test_counts(page, sample):
    assert f"\n{sample}\n" in page


def test_stages_of_the_load(page):
    for stage in ("restore_graph", "init_graph"):
        pattern = rf'load_latency_by_stage_count{{model_path="\S+/0*123",stage="{stage}"}} 1\n'
        assert re.search(":tensorflow:cc:saved_model:" + pattern, page)
    assert re.search(r':tessera:serving:load_latency_by_stage_count{stage="import"} 1\n', page)


def test_buckets_grow_and_end_with_the_count(page):
    name = ":tensorflow:core:graph_run_time_usecs_histogram"
    buckets = re.findall(rf'^{name}_bucket{{le="(\S+)"}} (\d+)$', page, re.MULTILINE)
    assert len(buckets) == 21 and buckets[-1][0] == "+Inf"
    counts = [int(count) for _, count in buckets]
    assert counts == sorted(counts)
    assert f"\n{name}_count{{}} {counts[-1]}\n" in page


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs the package prometheus")
def test_prometheus_reads_it(page):
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=page, capture_output=True, text=True, check=False
    )
    # 3: read, but the names are not in Prometheus's taste; they are TensorFlow Serving's.
    assert checked.returncode in (0, 3), checked.stderr
    assert "error while linting" not in checked.stderr
