"""The end of a server with requests under way."""

import concurrent.futures
import os
import signal
import subprocess
import time

import grpc
import numpy as np
import pytest

from clients.client import Client, array, predict_request
from clients.fault_steps import publish, wait_until
from clients.made_models import save_slow_model
from clients.server import Model, Server, binary, free_port


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("slow")
    folder = root / "slow"
    folder.mkdir()
    publish(save_slow_model(root / "made"), folder / "1")
    return folder


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


def start_slow_request(pool, client, turns):
    """Asks, and returns once the request is likely to run."""
    answer = pool.submit(ask, client, turns)
    time.sleep(0.5)
    assert not answer.done()
    return answer


def test_sigterm_finishes_what_is_under_way(folder, pool):
    with Server("--shutdown_grace_seconds=60", models=[Model("slow", folder)]) as server, Client(
        server
    ) as client:
        turns = turns_for(client, 4)
        answer = start_slow_request(pool, client, turns)
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
    with Server("--shutdown_grace_seconds=600", models=[Model("slow", folder)]) as server, Client(
        server
    ) as client:
        answer = start_slow_request(pool, client, turns_for(client, 60))
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert server.is_running()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(5) == 128 + signal.SIGTERM
        with pytest.raises(grpc.RpcError):
            answer.result(60)


def test_the_limit_cuts_off_what_takes_longer(folder, pool):
    with Server("--shutdown_grace_seconds=1", models=[Model("slow", folder)]) as server, Client(
        server
    ) as client:
        answer = start_slow_request(pool, client, turns_for(client, 60))
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
        with pytest.raises(grpc.RpcError):
            answer.result(60)


def test_sigterm_ends_a_start_that_hangs(tmp_path):
    config = tmp_path / "models.config"
    os.mkfifo(config)  # opened for reading, it waits for a writer
    flags = [f"--port={free_port()}", f"--model_config_file={config}", "--shutdown_grace_seconds=0"]
    with subprocess.Popen([binary(), "serve", *flags]) as server:
        time.sleep(0.5)
        server.send_signal(signal.SIGTERM)
        try:
            assert server.wait(20) == 0
        finally:
            server.kill()
