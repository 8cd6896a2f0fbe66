"""Readiness, grpc.health.v1 and server reflection, through gRPC's own clients."""

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

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
