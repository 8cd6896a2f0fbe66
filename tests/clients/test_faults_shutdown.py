"""The end of a server with requests under way."""

import concurrent.futures
import os
import queue
import re
import signal
import subprocess
import time

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from clients.client import Client, array, predict_request, refused
from clients.fault_steps import publish, wait_until
from clients.made_models import save_slow_model
from clients.server import Model, Server, binary, free_port


STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("slow")
    folder = root / "slow"
    folder.mkdir()
    publish(save_slow_model(root / "made"), folder / "1")
    (root / "monitoring.config").write_text("prometheus_config { enable: true }", encoding="utf-8")
    return folder


def serve(folder, grace_seconds):
    """A server of the slow model, with a page of metrics."""
    return Server(
        f"--shutdown_grace_seconds={grace_seconds}",
        f"--monitoring_config_file={folder.parent / 'monitoring.config'}",
        models=[Model("slow", folder)],
    )


def ask(client, turns):
    request = predict_request("slow", {"turns": np.array(turns, np.int32)})
    return float(array(client.predict(request).outputs["y"]))


@pytest.fixture(name="pool")
def _pool():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield pool


def turns_for(client, seconds):
    """How many turns take about so long."""
    ask(client, 10)
    begin = time.monotonic()
    ask(client, 100)
    return max(1, int(seconds * 100 / (time.monotonic() - begin)))


def start_slow_request(pool, server, client, turns):
    """Asks, and returns once the request is under way."""
    answer = pool.submit(ask, client, turns)

    def is_under_way():
        page = server.http("GET", "/monitoring/prometheus/metrics")[2].decode()
        return re.search(r':requests_in_flight\{model_name="slow".*\} 1\n', page)

    wait_until(is_under_way, "the request is not under way")
    assert not answer.done()
    return answer


def test_sigterm_finishes_what_is_under_way(folder, pool):
    with serve(folder, 60) as server, Client(server) as client:
        turns = turns_for(client, 4)
        answer = start_slow_request(pool, server, client, turns)
        server.process.send_signal(signal.SIGTERM)

        def refuses():
            try:
                return server.http("GET", "/readyz", timeout=5)[0] != 200
            except OSError:
                return True

        wait_until(refuses, "still ready", seconds=3)
        assert not answer.done()
        assert server.is_running()
        with Client(server) as late:

            def refuses_requests():
                try:
                    return ask(late, 1) != 1
                except grpc.RpcError:
                    return True

            wait_until(refuses_requests, "requests are still taken", seconds=3)
        assert answer.result(60) == turns
        assert server.process.wait(30) == 0


def test_a_second_sigterm_ends_it_at_once(folder, pool):
    with serve(folder, 600) as server, Client(server) as client:
        answer = start_slow_request(pool, server, client, turns_for(client, 60))
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "finishing requests" in server.log(), "the first one is not noticed")
        assert server.is_running()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(5) == 128 + signal.SIGTERM
        with pytest.raises(grpc.RpcError):
            answer.result(60)


def test_the_limit_cuts_off_what_takes_longer(folder, pool):
    with serve(folder, 1) as server, Client(server) as client:
        answer = start_slow_request(pool, server, client, turns_for(client, 60))
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
        with pytest.raises(grpc.RpcError):
            answer.result(60)


def opened_for_writing(pipe):
    """The writing end of a pipe that somebody reads, None while nobody does."""
    try:
        return os.fdopen(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), "wb")
    except OSError:
        return None


def test_sigterm_ends_a_start_that_hangs(tmp_path):
    config = tmp_path / "models.config"
    os.mkfifo(config)  # opened for reading, it waits for a writer
    flags = [f"--port={free_port()}", f"--model_config_file={config}", "--shutdown_grace_seconds=0"]
    with subprocess.Popen([binary(), "serve", *flags]) as server:
        try:
            with wait_until(lambda: opened_for_writing(config), "the file is not read"):
                server.send_signal(signal.SIGTERM)
                assert server.wait(20) == 0
        finally:
            server.kill()


def test_streams_that_wait_for_their_clients_hold_up_no_shutdown(folder):
    flags = ["--shutdown_grace_seconds=300", "--enable_grpc_healthcheck_service"]
    with Server(*flags, models=[Model("slow", folder)]) as server, Client(server) as client:
        watch = health_pb2_grpc.HealthStub(client.channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        requests = queue.Queue()
        stream = client.channel.stream_stream(STREAM)(iter(requests.get, None))
        requests.put(b"")
        next(stream)  # its answer
        server.process.send_signal(signal.SIGTERM)
        assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
        for call in (watch, stream):
            with refused("UNAVAILABLE"):
                next(call)
        assert server.process.wait(timeout=240) == 0  # long before the grace is over
        requests.put(None)
