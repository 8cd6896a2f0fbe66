"""Tokens by file for gRPC, its Unix socket, and REST: who is answered, what needs none, and what
becomes of a file that changes or is gone."""

import json
import os
import pathlib
import socket
import tempfile
import threading

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from tensorflow_serving.apis import prediction_service_pb2_grpc

from clients.client import array, predict_request, refused
from clients.conftest import HALF_PLUS_TWO
from clients.server import Model, Server, StartError

SECONDS = 20
MODELS = [Model("m", HALF_PLUS_TWO)]
PREDICT = "/v1/models/m:predict"
BODY = b'{"instances": [1.0]}'
MONITORING = pathlib.Path(__file__).parents[2] / "config" / "monitoring.config"
WRONG = ["", "Bearer wrong", "Bearer old", "Bearer", "Basic secret", "secret", "Bearer secret1"]


class Tokens:
    """A server with a token file, asked with and without tokens."""

    def __init__(self, folder, *flags):
        self.file = folder / "tokens"
        self.write("# of the tests\nsecret\nold 2020-01-01T00:00:00Z\n")
        self._socket_folder = tempfile.TemporaryDirectory(prefix="tokens-", dir="/tmp")
        self.socket = f"unix:{self._socket_folder.name}/s"  # its path is short
        self.server = Server(
            f"--token_file={self.file}",
            f"--grpc_socket_path={self._socket_folder.name}/s",
            "--enable_grpc_healthcheck_service",
            *flags,
            models=MODELS,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop()
        self._socket_folder.cleanup()

    def write(self, text):
        new = self.file.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        os.replace(new, self.file)

    def rest(self, authorization, method="POST", path=PREDICT, body=BODY):
        headers = {"Authorization": authorization} if authorization else {}
        return self.server.http(method, path, body, headers)

    def grpc(self, authorization, address=None):
        metadata = [("authorization", authorization)] if authorization else []
        with grpc.insecure_channel(address or self.server.grpc_address) as channel:
            reply = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(
                predict_request("m", {"x": np.array([1], np.float32)}),
                timeout=SECONDS,
                metadata=metadata,
            )
        return array(reply.outputs["y"]).tolist()

    def opens(self, token):
        """Whether a token counts, by both protocols alike."""
        status = self.rest(f"Bearer {token}")[0]
        try:
            by_grpc = self.grpc(f"Bearer {token}") == [2.5]
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNAUTHENTICATED
            by_grpc = False
        assert status == (200 if by_grpc else 401)
        return by_grpc


@pytest.fixture(scope="module", name="tokens")
def _tokens(tmp_path_factory):
    with Tokens(tmp_path_factory.mktemp("tokens")) as tokens:
        yield tokens


def test_a_token_opens(tokens):
    assert json.loads(tokens.rest("Bearer secret")[2]) == {"predictions": [2.5]}
    assert tokens.rest("bearer secret")[0] == 200
    assert tokens.grpc("Bearer secret") == [2.5]
    assert tokens.grpc("Bearer secret", tokens.socket) == [2.5]


@pytest.mark.parametrize("authorization", WRONG)
def test_without_a_valid_token_nothing_is_answered(tokens, authorization):
    for method, path in (
        ("POST", PREDICT),
        ("GET", "/v1/models/m"),
        ("GET", "/models"),
        ("GET", "/v2"),
        ("GET", "/v2/models/m/ready"),
        ("POST", "/v2/repository/index"),
        ("GET", "/nowhere"),
        ("POST", "/readyz"),
        ("GET", "/readyz/../v1/models/m"),
        ("OPTIONS", PREDICT),
    ):
        status, headers, body = tokens.rest(authorization, method, path)
        assert (status, headers["WWW-Authenticate"]) == (401, 'Bearer realm="tessera"'), path
        assert "--token_file" in json.loads(body)["error"]
    for address in (None, tokens.socket):
        with refused("UNAUTHENTICATED", "--token_file"):
            tokens.grpc(authorization, address)


def test_refusals_are_in_the_access_log(tmp_path):
    log = tmp_path / "access.log"
    with Tokens(tmp_path, f"--access_log={log}") as tokens:
        tokens.rest("Bearer wrong")
        with refused("UNAUTHENTICATED"):
            tokens.grpc("Bearer wrong")
        assert tokens.grpc("Bearer secret") == [2.5]
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [
        (line["protocol"], line["method"], line["status"])
        for line in lines
        if not line.get("path", "").startswith("/readyz")
    ] == [
        ("http", "POST", "401"),
        ("grpc", "Predict", "UNAUTHENTICATED"),
        ("grpc", "Predict", "OK"),
    ]


def test_refusals_are_counted(tmp_path):
    with Tokens(tmp_path, f"--monitoring_config_file={MONITORING}") as tokens:
        for authorization in ("", "Bearer wrong", "Bearer secret"):
            tokens.rest(authorization)
        with refused("UNAUTHENTICATED"):
            tokens.grpc("Bearer wrong")
        page = tokens.rest("Bearer secret", "GET", "/monitoring/prometheus/metrics")[2].decode()
        assert "\n:tessera:serving:refused_tokens{} 3\n" in page


def test_probes_need_no_token(tokens):
    for path in ("/livez", "/readyz", "/v2/health/live", "/v2/health/ready"):
        assert tokens.rest("", "GET", path, None)[0] == 200
    with grpc.insecure_channel(tokens.server.grpc_address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        answer = health.Check(health_pb2.HealthCheckRequest(), timeout=SECONDS)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        live = channel.unary_unary("/inference.GRPCInferenceService/ServerLive")
        assert live(b"", timeout=SECONDS) == b"\x08\x01"
        ready = channel.unary_unary("/inference.GRPCInferenceService/ServerReady")
        assert ready(b"", timeout=SECONDS) == b"\x08\x01"


def test_reflection_needs_a_token(tokens):
    with grpc.insecure_channel(tokens.server.grpc_address) as channel:
        with refused("UNAUTHENTICATED"):
            ProtoReflectionDescriptorDatabase(channel).get_services()

    class WithToken(grpc.StreamStreamClientInterceptor):
        def intercept_stream_stream(self, continuation, client_call_details, request_iterator):
            details = client_call_details._replace(metadata=[("authorization", "Bearer secret")])
            return continuation(details, request_iterator)

    with grpc.insecure_channel(tokens.server.grpc_address) as channel:
        database = ProtoReflectionDescriptorDatabase(grpc.intercept_channel(channel, WithToken()))
        assert "tensorflow.serving.PredictionService" in database.get_services()


def test_a_body_is_refused_before_it_is_read(tokens):
    with socket.create_connection(("127.0.0.1", tokens.server.rest_port), SECONDS) as plain:
        plain.sendall(
            f"POST {PREDICT} HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n".encode()
        )
        assert plain.recv(12) == b"HTTP/1.1 401"
    answered = threading.Event()

    def messages():  # there is none before the answer
        answered.wait(SECONDS)
        yield from ()

    with grpc.insecure_channel(tokens.server.grpc_address) as channel:
        predict = channel.stream_unary("/tensorflow.serving.PredictionService/Predict")
        try:
            with refused("UNAUTHENTICATED"):
                predict(messages(), timeout=SECONDS)
        finally:
            answered.set()


def test_tokens_are_added_and_taken_out_at_once(tokens):
    before = tokens.file.read_text(encoding="utf-8")
    tokens.write(before + "new\n")
    assert tokens.opens("new") and tokens.opens("secret")
    tokens.write(before)
    assert not tokens.opens("new")


def test_a_file_that_is_gone_leaves_the_last_tokens(tokens):
    before = tokens.file.read_text(encoding="utf-8")
    tokens.file.unlink()
    assert tokens.opens("secret")
    assert not tokens.opens("wrong")
    assert "the tokens of --token_file cannot be read again, the last ones stay" in (
        tokens.server.log()
    )
    tokens.write("not a token, but words\n")
    assert tokens.opens("secret")
    assert "words" not in tokens.server.log()
    tokens.write(before)
    assert tokens.opens("secret")
    assert "the tokens of --token_file were read again" in tokens.server.log()


def test_preflight_requests_of_browsers_have_no_token(tmp_path):
    with Tokens(tmp_path, "--rest_api_enable_cors_support") as tokens:
        headers = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}
        status, reply, _ = tokens.server.http("OPTIONS", PREDICT, None, headers)
        assert status == 200
        assert "Authorization" in reply["Access-Control-Allow-Headers"]
        status, reply, _ = tokens.rest("")
        assert (status, reply["Access-Control-Allow-Origin"]) == (401, "*")
        assert tokens.rest("", "OPTIONS", PREDICT, b"x" * 10_000)[0] == 413
        assert tokens.opens("secret")


def test_a_token_file_without_tokens_stops_the_start(tmp_path):
    (tmp_path / "empty").write_text("# none\n", encoding="utf-8")
    for file, reason in (("empty", "no token in it"), ("none", "none")):
        with pytest.raises(StartError) as error:
            Server(f"--token_file={tmp_path / file}", models=MODELS)
        assert "ended with code 255" in str(error.value)
        assert "token_file: " in str(error.value) and reason in str(error.value)
