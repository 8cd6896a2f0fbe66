"""The block `limits` of a model: a server with a file of settings, real clients, and runs that are
held up for as long as a test wants."""

import json
import socket

import grpc
import pytest

from clients.batching_client import held, look, values
from clients.client import Client, refused
from clients.conftest import HALF_PLUS_TWO, assert_serves
from clients.fault_steps import wait_until
from clients.server import Server

CONFIG = """
model_config_file_poll_wait_seconds: 1
models:
  - name: look
    base_path: {look}
    limits: {limits}
  - {{name: m, base_path: {half_plus_two}}}
monitoring:
  prometheus_config: {{enable: true}}
"""
# More than the server has threads.
MANY = 40
BODY = json.dumps({"signature_name": "look", "instances": [2.0]})


class LimitedServer(Server):
    """`look` has limits and `m` has none."""

    def __init__(self, folder, look_model, limits):
        self._file = folder / "config.yaml"
        self._model = look_model
        self.set_limits(limits)
        super().__init__(f"--config={self._file}")

    def set_limits(self, limits):
        text = CONFIG.format(
            look=self._model.base_path, half_plus_two=HALF_PLUS_TWO, limits=limits
        )
        new = self._file.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.rename(self._file)

    def metric(self, name, **labels):
        """A value of the metrics page; 0 if it is not there."""
        inner = ",".join(f'{key}="{value}"' for key, value in labels.items())
        _, _, page = self.http("GET", "/monitoring/prometheus/metrics")
        lines = dict(line.rsplit(" ", 1) for line in page.decode().splitlines())
        return float(lines.get(f":tessera:serving:{name}{{{inner}}}", 0))

    def waiting(self):
        return self.metric("limited_requests_waiting", model_name="look")

    def running(self):
        return self.metric("limited_requests_running", model_name="look")


@pytest.fixture(name="start")
def _start(tmp_path, look_model, gate):  # pylint: disable=unused-argument
    servers = []

    def start(limits):
        servers.append(LimitedServer(tmp_path, look_model, limits))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def send(client, *requests, timeout=60):
    return [client.prediction.Predict.future(request, timeout=timeout) for request in requests]


def test_requests_beyond_the_limits_wait_and_then_are_refused(start, gate):
    server = start(f"{{max_concurrent_requests: 2, max_queue: {MANY}}}")
    with Client(server) as client:
        futures = send(client, *[held()] * (MANY + 2))
        wait_until(lambda: server.waiting() == MANY, server.log)
        assert server.running() == 2
        with refused("RESOURCE_EXHAUSTED", "model 'look' answers 2 requests at a time"):
            client.predict(look([2.0]))
        status, _, body = server.http("POST", "/v1/models/look:predict", BODY)
        assert status == 429
        assert "(max_queue)" in json.loads(body)["error"]
        labels = {"model_name": "look", "reason": "queue_full"}
        assert server.metric("limited_requests", **labels) == 2
        # The other model has all the threads that it needs.
        assert_serves(server, client)
        gate.open()
        assert all(values(future) == [2.0] for future in futures)
        assert values(send(client, look([2.0]))[0]) == [3.0]


def test_a_reload_changes_limits_while_requests_wait(start, gate):
    server = start("{max_concurrent_requests: 1, max_queue: 5}")
    with Client(server) as client:
        futures = send(client, *[held()] * 5)
        wait_until(lambda: server.waiting() == 4, server.log)
        server.set_limits("{max_concurrent_requests: 3, max_queue: 0}")
        wait_until(lambda: server.running() == 3, server.log)
        assert server.waiting() == 2
        with refused("RESOURCE_EXHAUSTED", "model 'look' answers 3 requests at a time"):
            client.predict(look([2.0]))
        server.set_limits("{timeout_ms: 60000}")
        wait_until(lambda: server.running() == 5, server.log)
        # Settings with a mistake change nothing.
        server.set_limits("{max_concurrent_requests: 0}")
        wait_until(
            lambda: "limits.max_concurrent_requests is 0; it must be at least 1" in server.log(),
            server.log,
        )
        assert values(send(client, look([2.0]))[0]) == [3.0]
        gate.open()
        assert all(values(future) == [2.0] for future in futures)


def test_the_timeout_cancels_a_run_and_ends_a_wait(start):
    server = start("{max_concurrent_requests: 1, timeout_ms: 300}")
    with Client(server) as client:
        # The second one may begin to run when the first one has just ended.
        for future in send(client, held(), held()):
            error = future.exception()
            assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
            assert "model 'look' has 300 ms for a request (timeout_ms)" in error.details()
        # The run has ended though its gate is still shut.
        wait_until(lambda: server.running() == 0, server.log)
        assert values(send(client, look([2.0]))[0]) == [3.0]
        body = json.dumps({"signature_name": "held", "instances": [1.0]})
        status, _, body = server.http("POST", "/v1/models/look:predict", body)
        assert status == 504
        assert "(timeout_ms)" in json.loads(body)["error"]


def test_a_client_that_goes_leaves_the_queue(start, gate):
    server = start("{max_concurrent_requests: 1}")
    with Client(server) as client:
        (running,) = send(client, held())
        wait_until(lambda: server.running() == 1, server.log)
        (gone,) = send(client, look([2.0]))
        (late,) = send(client, look([2.0]), timeout=1)
        wait_until(lambda: server.waiting() == 2, server.log)
        gone.cancel()
        assert late.exception().code() == grpc.StatusCode.DEADLINE_EXCEEDED
        wait_until(lambda: server.waiting() == 0, server.log)
        gate.open()
        assert values(running) == [2.0]


def test_large_bodies_are_refused_before_they_are_read(start):
    server = start("{max_request_bytes: 2000}")
    with Client(server) as client:
        with refused("RESOURCE_EXHAUSTED", "at most 2000 bytes (max_request_bytes)"):
            client.predict(look([1.0] * 1000))
        assert values(send(client, look([2.0]))[0]) == [3.0]
    with socket.create_connection(("127.0.0.1", server.rest_port)) as connection:
        connection.sendall(
            b"POST /v1/models/look:predict HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n\r\n"
        )
        reply = connection.makefile("rb").read().decode()
    assert reply.startswith("HTTP/1.1 413 ")
    assert "model 'look' takes requests of at most 2000 bytes" in reply
    chunk = b"1000\r\n" + b" " * 0x1000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.rest_port)) as connection:
        connection.sendall(
            b"POST /v2/models/look/infer HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
            + chunk
        )
        reply = connection.makefile("rb").read().decode()
    assert reply.startswith("HTTP/1.1 413 ")
    assert "model 'look' takes requests of at most 2000 bytes" in reply
    assert "this one has more" in reply
    labels = {"model_name": "look", "reason": "request_bytes"}
    assert server.metric("limited_requests", **labels) == 3
