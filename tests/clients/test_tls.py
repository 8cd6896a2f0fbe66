"""TLS of the gRPC port: who is answered, whom the server asks for a certificate, what is refused."""

import contextlib
import json
import tempfile

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from tensorflow_serving.apis import prediction_service_pb2_grpc

from clients.authority import Authority
from clients.client import (
    Client,
    array,
    classify_request,
    metadata_request,
    multi_inference_request,
    predict_request,
    refused,
    regress_request,
)
from clients.conftest import HALF_PLUS_TWO
from clients.server import Model, Server, StartError
from clients.test_model_service import reload_request

SECONDS = 20
MODELS = [Model("m", HALF_PLUS_TWO)]


@pytest.fixture(scope="module", name="authority")
def _authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"), "ours")


@pytest.fixture(scope="module", name="stranger")
def _stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"), "theirs")


@pytest.fixture(name="start")
def _start(tmp_path):
    """start(flags..., field=value...) -> a server with these fields of SSLConfig."""
    with contextlib.ExitStack() as stack:

        def start(*flags, **fields):
            # A quoted string of text proto may be written as JSON's, and so may true.
            lines = [f"{name}: {json.dumps(value)}" for name, value in fields.items()]
            file = tmp_path / "ssl.config"
            file.write_text("\n".join(lines), encoding="utf-8")
            return stack.enter_context(Server(f"--ssl_config_file={file}", *flags, models=MODELS))

        yield start


def connect(server, root=None, key=None, cert=None, address=None):
    """A channel that trusts `root`; without one, it is not encrypted."""
    address = address or f"localhost:{server.grpc_port}"
    if root is None:
        return grpc.insecure_channel(address)
    parts = [part and part.encode() for part in (root, key, cert)]
    credentials = grpc.ssl_channel_credentials(*parts)
    name = [("grpc.ssl_target_name_override", "localhost")]
    return grpc.secure_channel(address, credentials, options=name)


def ask(server, *credentials, **to):
    """The model's answer over connect()."""
    with connect(server, *credentials, **to) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        reply = stub.Predict(
            predict_request("m", {"x": np.array([1], np.float32)}), timeout=SECONDS
        )
        return array(reply.outputs["y"]).tolist()


def assert_not_answered(server, *credentials, **to):
    with pytest.raises(grpc.RpcError) as error:
        ask(server, *credentials, **to)
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE


def test_clients_that_trust_the_server_are_answered(start, authority, stranger):
    key, cert = authority.sign("server")
    server = start(server_key=key, server_cert=cert)
    assert ask(server, authority.cert) == [2.5]
    assert_not_answered(server)  # in the clear
    assert_not_answered(server, stranger.cert)
    assert server.http("GET", "/v1/models/m")[0] == 200  # REST is not encrypted


@pytest.fixture(name="mutual")
def _mutual(start, authority):
    """A server whose clients must show a certificate, with the service of health."""
    key, cert = authority.sign("server")
    fields = {"server_key": key, "server_cert": cert, "custom_ca": authority.cert}
    return start("--enable_grpc_healthcheck_service", client_verify=True, **fields)


def test_every_call_of_both_services_is_answered(mutual, authority):
    channel = connect(mutual, authority.cert, *authority.sign("client"))
    with Client(mutual, channel) as client:
        assert client.half_plus_two([1.0]) == [2.5]
        features, seconds = [{"x": 2.0}], {"timeout": SECONDS}
        classified = client.prediction.Classify(
            classify_request("m", features, signature="classify_x_to_y"), **seconds
        )
        assert classified.result.classifications[0].classes[0].score == 3
        regressed = client.prediction.Regress(
            regress_request("m", features, signature="regress_x_to_y"), **seconds
        )
        assert regressed.result.regressions[0].value == 3
        both = client.prediction.MultiInference(
            multi_inference_request(("m", "regress_x_to_y", "tensorflow/serving/regress")), **seconds
        )
        assert both.results[0].regression_result.regressions[0].value == 3
        metadata = client.prediction.GetModelMetadata(metadata_request("m"), **seconds)
        assert metadata.model_spec.version.value == 123
        assert client.version_states("m") == {123: ("AVAILABLE", 0, "")}
        reply = client.models.HandleReloadConfigRequest(reload_request(*MODELS), **seconds)
        assert reply.status.error_code == 0


def test_health_and_reflection_clients_are_answered(mutual, authority):
    with connect(mutual, authority.cert, *authority.sign("client")) as channel:
        health = health_pb2_grpc.HealthStub(channel).Check(
            health_pb2.HealthCheckRequest(), timeout=SECONDS
        )
        assert health.status == health_pb2.HealthCheckResponse.SERVING
        services = ProtoReflectionDescriptorDatabase(channel).get_services()
        assert "tensorflow.serving.PredictionService" in services
    with connect(mutual, authority.cert) as channel:  # shows no certificate
        with refused("UNAVAILABLE"):
            health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=SECONDS
            )


def test_the_unix_socket_is_encrypted_like_the_port(start, authority):
    key, cert = authority.sign("server")
    with tempfile.TemporaryDirectory(prefix="tls-", dir="/tmp") as folder:  # its path is short
        server = start(f"--grpc_socket_path={folder}/s", server_key=key, server_cert=cert)
        assert ask(server, authority.cert, address=f"unix:{folder}/s") == [2.5]
        assert_not_answered(server, address=f"unix:{folder}/s")


def test_clients_show_a_certificate_where_it_is_required(start, authority, stranger):
    key, cert = authority.sign("server")
    server = start(server_key=key, server_cert=cert, custom_ca=authority.cert, client_verify=True)
    assert ask(server, authority.cert, *authority.sign("client")) == [2.5]
    assert_not_answered(server, authority.cert)
    assert_not_answered(server, authority.cert, *stranger.sign("client"))


def test_no_client_is_believed_without_an_authority(start, authority):
    key, cert = authority.sign("server")
    server = start(server_key=key, server_cert=cert, client_verify=True)
    assert_not_answered(server, authority.cert, *authority.sign("client"))
    assert_not_answered(server, authority.cert)


@pytest.mark.parametrize(
    "wrong, reason",
    [
        ("path", "the server's certificate is no PEM text"),
        ("other_key", "the private key does not belong to the server's certificate"),
        ("nothing", "the server's certificate is no PEM text, which begins with -----BEGIN: it is"),
    ],
)
def test_what_is_no_certificate_and_its_key_is_refused(start, authority, tmp_path, wrong, reason):
    key, cert = authority.sign("server")
    fields = {
        "path": {"server_key": str(tmp_path / "key"), "server_cert": str(tmp_path / "cert")},
        "other_key": {"server_key": authority.sign("other")[0], "server_cert": cert},
        "nothing": {"custom_ca": authority.cert},
    }[wrong]
    with pytest.raises(StartError) as error:
        start(**fields)
    assert "ended with code 255" in str(error.value)
    assert reason in str(error.value)
