"""What REST writes for outputs of every type, and says of inputs that do not fit."""

import json

import pytest

from clients.made_models import save_typed_model
from clients.server import Model, Server


@pytest.fixture(scope="module", name="typed")
def _typed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typed")
    save_typed_model(folder / "1")
    with Server(models=[Model("typed", folder)]) as server:
        yield server


def predict(server, body):
    status, _, reply = server.http("POST", "/v1/models/typed:predict", json.dumps(body).encode())
    return status, json.loads(reply)


def test_narrow_numbers_and_bytes(typed):
    status, reply = predict(typed, {"instances": [[1, 1], [2.5, 0]]})
    assert status == 200, reply
    assert reply["predictions"] == [
        {"half": 1.0, "bfloat16": 1.0, "uint16": 1, "text": {"b64": "/wA="}, "product": [11.0]},
        {"half": 2.5, "bfloat16": 2.5, "uint16": 2, "text": "\u00e9", "product": [2.5]},
    ]


def test_complex_numbers_are_refused_as_ever(typed):
    status, reply = predict(typed, {"signature_name": "imaginary", "instances": [[1, 1]]})
    assert status == 400
    assert "Failed to write JSON value for tensor type: complex64" in reply["error"]


def test_an_input_of_another_shape_is_named(typed):
    status, reply = predict(typed, {"instances": [[1, 2, 3]]})
    assert status == 400
    assert reply["error"].startswith(
        "signature 'serving_default' expects its input 'x' to have shape [?,2] "
        "but [1,3] is provided: "
    )
