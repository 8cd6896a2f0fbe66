"""Inputs of a signature with a default, which requests of each protocol may leave out."""

import json
import shutil

import numpy as np
import pytest
from tensorflow.core.protobuf import saved_model_pb2

from clients.client import Client, array, predict_request, refused
from clients.conftest import HALF_PLUS_TWO
from clients.server import Model, Server


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory):
    """half_plus_two with the inputs x and x2, which is 6 by default, and the outputs y and y3."""
    folder = tmp_path_factory.mktemp("defaults")
    shutil.copytree(next(HALF_PLUS_TWO.iterdir()), folder / "1")
    path = folder / "1" / "saved_model.pb"
    path.chmod(0o644)
    model = saved_model_pb2.SavedModel()
    model.ParseFromString(path.read_bytes())
    signatures = model.meta_graphs[0].signature_def
    signature = signatures["serving_default"]
    nodes = {node.name for node in model.meta_graphs[0].graph_def.node}
    assert {"x2", "y3"} <= nodes
    signature.inputs["x2"].CopyFrom(signature.inputs["x"])
    signature.inputs["x2"].name = "x2:0"
    signature.outputs["y3"].CopyFrom(signature.outputs["y"])
    signature.outputs["y3"].name = "y3:0"
    default = signature.defaults["x2"]
    default.dtype = signature.inputs["x2"].dtype
    default.tensor_shape.dim.add().size = 1
    default.float_val.append(6)
    path.write_bytes(model.SerializeToString())
    with Server(models=[Model("m", folder)]) as server:
        yield server


def post(server, path, body):
    status, _, reply = server.http("POST", path, json.dumps(body).encode())
    return status, json.loads(reply)


def test_by_grpc(server):
    with Client(server) as client:
        outputs = client.predict(predict_request("m", {"x": np.array([1], np.float32)})).outputs
        assert (array(outputs["y"]).tolist(), array(outputs["y3"]).tolist()) == ([2.5], [6.0])
        with refused("INVALID_ARGUMENT", "Signature input alias: x("):
            client.predict(predict_request("m", {"x2": np.array([1], np.float32)}))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"inputs": {"x": [1.0]}}, {"outputs": {"y": [2.5], "y3": [6.0]}}),
        ({"inputs": {"x": [1.0], "x2": [2.0]}}, {"outputs": {"y": [2.5], "y3": [4.0]}}),
        ({"instances": [{"x": 1.0}]}, {"predictions": [{"y": 2.5, "y3": 6.0}]}),
        ({"instances": [{"x": 1.0, "x2": 2.0}]}, {"predictions": [{"y": 2.5, "y3": 4.0}]}),
    ],
)
def test_by_rest(server, given, expected):
    assert post(server, "/v1/models/m:predict", given) == (200, expected)


def test_what_has_no_default_is_asked_for(server):
    status, reply = post(server, "/v1/models/m:predict", {"inputs": {"x2": [1.0]}})
    assert status == 400
    assert "Missing named input: x " in reply["error"]


def test_by_kserves_protocol(server):
    def infer(**inputs):
        return post(
            server,
            "/v2/models/m/infer",
            {
                "inputs": [
                    {"name": name, "datatype": "FP32", "shape": [len(data)], "data": data}
                    for name, data in inputs.items()
                ]
            },
        )

    status, reply = infer(x=[1.0])
    assert status == 200, reply
    assert {each["name"]: each["data"] for each in reply["outputs"]} == {"y": [2.5], "y3": [6.0]}
    status, reply = infer(x2=[1.0])
    assert status == 400
    assert "takes the inputs 'x', 'x2'; there are 1" in reply["error"]
