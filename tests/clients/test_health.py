"""Readiness, grpc.health.v1 and server reflection, through gRPC's own clients."""

import os

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from clients.batching_client import held, values
from clients.client import SECONDS, Client, refused
from clients.conftest import HALF_PLUS_TWO, assert_serves
from clients.server import Model, Server


def test_ready_once_all_models_are_up(serving):
    assert serving.http("GET", "/readyz")[0] == 200


@pytest.mark.parametrize("service", ["", "PredictionService", "ModelService"])
def test_health_of_each_service(client, service):
    stub = health_pb2_grpc.HealthStub(client.channel)
    response = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=SECONDS)
    assert response.status == health_pb2.HealthCheckResponse.SERVING


def test_runs_that_last_keep_no_probe_and_no_other_model_waiting(look_model, gate):
    models = [look_model, Model("m", HALF_PLUS_TWO)]
    with Server("--enable_grpc_healthcheck_service", models=models) as server, Client(server) as client:
        gate.open()
        for _ in range(30):
            client.predict(held())  # quick, so far
        gate.shut()
        calls = [client.prediction.Predict.future(held(), timeout=SECONDS)
                 for _ in range(os.cpu_count() + 2)]
        stub = health_pb2_grpc.HealthStub(client.channel)
        for _ in range(10):
            assert server.http("GET", "/livez")[0] == server.http("GET", "/readyz")[0] == 200
            response = stub.Check(health_pb2.HealthCheckRequest(), timeout=SECONDS)
            assert response.status == health_pb2.HealthCheckResponse.SERVING
            assert_serves(server, client)
        assert not any(call.done() for call in calls)
        gate.open()
        assert [values(call) for call in calls] == [[2.0]] * len(calls)


def test_health_of_an_unknown_service(client):
    stub = health_pb2_grpc.HealthStub(client.channel)
    with refused("NOT_FOUND"):
        stub.Check(health_pb2.HealthCheckRequest(service="nope"), timeout=SECONDS)


def test_no_health_service_without_its_flag():
    with Server(models=[Model("m", HALF_PLUS_TWO)]) as server, Client(server) as client:
        with refused("UNIMPLEMENTED"):
            health_pb2_grpc.HealthStub(client.channel).Check(
                health_pb2.HealthCheckRequest(), timeout=SECONDS
            )
        assert_serves(server, client)


def test_reflection_lists_the_services(client):
    services = ProtoReflectionDescriptorDatabase(client.channel).get_services()
    assert {"tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"} <= set(
        services
    )


def test_reflection_describes_a_request(client):
    database = ProtoReflectionDescriptorDatabase(client.channel)
    file = database.FindFileContainingSymbol("tensorflow.serving.PredictRequest")
    assert file.name == "tensorflow_serving/apis/predict.proto"
