"""Status, metadata, labels and reloading, through ModelService and GetModelMetadata."""

import pytest
from google.protobuf import text_format
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import get_model_metadata_pb2, model_management_pb2

from clients.client import SECONDS, Client, metadata_request, refused
from clients.conftest import DIGITS, HALF_PLUS_TWO, assert_serves
from clients.fault_steps import wait_for_state
from clients.server import Model, Server, config_text

M = Model("m", HALF_PLUS_TWO)


def reload_request(*models):
    request = model_management_pb2.ReloadConfigRequest()
    text_format.Parse(config_text(models), request.config)
    return request


def reload(client, *models):
    return client.models.HandleReloadConfigRequest(reload_request(*models), timeout=SECONDS)


@pytest.fixture(name="reloadable")
def _reloadable():
    """A server of its own for tests that change the configuration: (server, client)."""
    with Server(models=[M]) as server, Client(server) as client:
        yield server, client
        assert_serves(server, client)


def test_status_of_all_versions_newest_first(client):
    states = client.version_states("digits")
    assert list(states) == [2, 1]
    assert set(states.values()) == {("AVAILABLE", 0, "")}


def test_status_of_one_version(client):
    assert list(client.version_states("digits", version=1)) == [1]
    with refused("NOT_FOUND", "Could not find version 7 of model digits"):
        client.version_states("digits", version=7)
    with refused("NOT_FOUND", "Could not find any versions of model nope"):
        client.version_states("nope")


def test_metadata_holds_the_signatures(client):
    response = client.prediction.GetModelMetadata(
        metadata_request("digits", label="stable"), timeout=SECONDS
    )
    assert (response.model_spec.name, response.model_spec.version.value) == ("digits", 1)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    signature = signatures.signature_def["serving_default"]
    assert signature.method_name == "tensorflow/serving/predict"
    image = signature.inputs["image"]
    assert image.dtype == types_pb2.DT_FLOAT
    assert [dim.size for dim in image.tensor_shape.dim] == [-1, 8, 8, 1]
    assert set(signature.outputs) == {"label", "probabilities"}


@pytest.mark.parametrize(
    "code, request_",
    [
        ("INVALID_ARGUMENT", get_model_metadata_pb2.GetModelMetadataRequest()),
        ("INVALID_ARGUMENT", metadata_request("m", fields=[])),
        ("INVALID_ARGUMENT", metadata_request("m", fields=["nope"])),
        ("INVALID_ARGUMENT", metadata_request("m", label="nope")),
        ("NOT_FOUND", metadata_request("nope")),
        ("NOT_FOUND", metadata_request("m", version=9)),
    ],
)
def test_refused_metadata(client, code, request_):
    with refused(code):
        client.prediction.GetModelMetadata(request_, timeout=SECONDS)


def test_reload_adds_and_removes_a_model(reloadable):
    _, client = reloadable
    with refused("NOT_FOUND"):
        client.version_states("digits")

    response = reload(client, M, Model("digits", DIGITS))

    assert response.status.error_code == 0
    assert client.version_states("digits") == {2: ("AVAILABLE", 0, "")}

    reload(client, M)

    wait_for_state(client, "digits", 2, "END")  # nobody waits for a model to go
    with refused("NOT_FOUND", "Servable not found for request: Latest(digits)"):
        client.prediction.GetModelMetadata(metadata_request("digits"), timeout=SECONDS)


def test_labels_follow_the_configuration(reloadable):
    _, client = reloadable
    with refused("INVALID_ARGUMENT", "Unrecognized servable version label: live"):
        client.half_plus_two([2.0], label="live")
    reload(client, Model("m", HALF_PLUS_TWO, labels={"live": 123}))
    assert client.half_plus_two([2.0], label="live") == [3.0]
    with refused("FAILED_PRECONDITION", "not currently available for inference"):
        reload(client, Model("m", HALF_PLUS_TWO, labels={"live": 124}))
    assert client.half_plus_two([2.0], label="live") == [3.0]
    reload(client, M)
    with refused("INVALID_ARGUMENT"):
        client.half_plus_two([2.0], label="live")


def test_reload_reports_a_model_that_fails_and_keeps_the_others(reloadable, tmp_path):
    _, client = reloadable
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "1" / "saved_model.pb").write_bytes(b"not a graph")
    with refused("UNKNOWN", "broken"):
        reload(client, M, Model("broken", tmp_path / "broken"), Model("digits", DIGITS))
    assert client.version_states("digits") == {2: ("AVAILABLE", 0, "")}
    state, error_code, message = client.version_states("broken")[1]
    assert state == "END" and error_code != 0 and message


@pytest.mark.parametrize(
    "models",
    [
        [M, M],
        [M, Model("digits", DIGITS), Model("digits", DIGITS)],
    ],
)
def test_reload_refuses_a_model_listed_twice(reloadable, models):
    _, client = reloadable
    with refused("INVALID_ARGUMENT", "multiple times in config list"):
        reload(client, *models)


def test_reload_refuses_what_is_no_list_of_models(reloadable):
    _, client = reloadable
    with refused("INVALID_ARGUMENT"):
        client.models.HandleReloadConfigRequest(
            model_management_pb2.ReloadConfigRequest(), timeout=SECONDS
        )
    relative = reload_request(M)
    relative.config.model_config_list.config[0].base_path = "some/where"
    with refused("INVALID_ARGUMENT", "absolute path"):
        client.models.HandleReloadConfigRequest(relative, timeout=SECONDS)
    other_platform = reload_request(M)
    other_platform.config.model_config_list.config[0].model_platform = "caffe"
    with refused("INVALID_ARGUMENT", "Illegal to change a model's platform"):
        client.models.HandleReloadConfigRequest(other_platform, timeout=SECONDS)
    unknown_platform = reload_request(M)
    added = unknown_platform.config.model_config_list.config.add()
    added.CopyFrom(unknown_platform.config.model_config_list.config[0])
    added.name, added.model_platform = "new", "caffe"
    with refused("INVALID_ARGUMENT", "Model new requests unsupported platform caffe"):
        client.models.HandleReloadConfigRequest(unknown_platform, timeout=SECONDS)
