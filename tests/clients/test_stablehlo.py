"""Models that JAX, or Keras on JAX, exports answer as they do in JAX.

The graph of such a model is one XlaCallModule node. tests/data/stablehlo/record.py has recorded the
models, and JAX's answers.
"""

import base64
import json
import subprocess
import zlib

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from clients.server import DATA, Model, Server, binary

FOLDER = DATA / "stablehlo"
MODELS = ("mlp", "cnn", "lstm", "signal", "numbers", "sizes")
AN_OP_OF = {
    "mlp": "MatMul",
    "cnn": "Conv2D",
    "lstm": "MatMul",
    "signal": "IRFFT",
    "numbers": "XlaVariadicSort",
    "sizes": "XlaReduceWindow",
}


@pytest.fixture(scope="module", name="server")
def _server():
    with Server(models=[Model(name, FOLDER / name) for name in MODELS]) as server:
        yield server


def predict(server, name, instances):
    status, _, body = server.http(
        "POST", f"/v1/models/{name}:predict", json.dumps({"instances": instances})
    )
    assert status == 200, body
    return np.array(json.loads(body)["predictions"])


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_jax(server, name):
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    answer = predict(server, name, recorded["instances"])
    np.testing.assert_allclose(answer, recorded["predictions"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_batches_of_another_size_are_served_too(server, name):
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    answer = predict(server, name, recorded["instances"][1:2])
    np.testing.assert_allclose(answer, recorded["predictions"][1:2], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_inspect_counts_the_ops_of_the_module(name):
    arguments = [binary(), "inspect", "--json", str(FOLDER / name / "1")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    (meta_graph,) = json.loads(done.stdout)["meta_graphs"]
    assert "XlaCallModule" not in meta_graph["ops"]
    assert AN_OP_OF[name] in meta_graph["ops"]
    assert not any(op["without_kernel"] for op in meta_graph["ops"].values())


# Portable artifacts of modules, compressed. TensorFlow's and JAX's tools wrote the valid ones.
CALLS_ITSELF = (
    "eNotUNuK1EAQ7ZpK2YYmhNCEsIYmhLBIkBl3EBGRRRZxV3BlB1fwcchtNJgb2WTwh/wBwe/yF6wMFpyu"
    "c7pu3fXp9u9n537K8qb6cHu3P243F5sLAYaAHECFytVBGGH93odY6ZP9d1rjuVrMPZ1KK5cZ+q7U2pWh"
    "DPXqyYo8RPd1AIgBEMNdsGV8JR2A5wWgJUfWjLsAJGuboRiORDC+QhOYM8SEIHFMmHjGmMjBN5cm1goi"
    "DTZIlQLaKTqYoo0puMYj4BvwiABliqCsPwQ7Amn9QrBxJ1Fa96g0oY+BsK/PCAmBbkLkCBGqa2OjvRRb"
    "Ebfc2UpaW5SK+HuOoBvvlLeENdIjrgTxe5UYl5+NlFKQ+pHHIp/rZqo7cfze9KLty7mpxGHuCl6yKOaH"
    "qW/3RdY0ixyraR67heVjn5VF9jDt625f1u0puW+HbKwWuhYtd9vkWfGj6sp90XeH+ps4CHE1DGP/80s/"
    "fBTDWB+zqRJtxsOHOW/qggeUczHV/amneHzp8IpU/DxOtvjWO3+aPlvHcUxX71T8In756h8MvFd2"
)
GATHER_OF_SCALARS = (
    "eNo1j2FKw0AQhXecjOuyLMuyhKWEEKS/8sO2HkEK4o9Kiz1ASdpoA0kqIek9PJTn8QpOpT54zOO978+8"
    "rn7ezHYoyqZ6Wa1358fZYrYQMCEgBahRWh/wKfNgtf8TurlmWb1GLwPPifT+5ptMAER2zF6y2wDkAkiZ"
    "WSeuQpjq1KbOAxJk7h7+++tNc3KGVA4mR0OOUKJKcmZzVBBtCTYIMloiEG54jOYoNUlplaBnTagIuDRI"
    "t0yA+PJWUxw7q1051s1Qd+J8bE6iPR3GphLvY7fnf8VHMRyr/pL6ahj77pIeRFsw/jmWTb0Xd1NJANp5"
    "FwdjJ4lN7S9LNSlX"
)
CALL_OF_ANOTHER_RANK = (
    "eNo9UMFKw0AQ3XEyrssSliWEpYRQpIjsoaV+gbfqoWLRo4eSpCkGtmmJSf0Ev8cv8VP8BacUfPDmPd4M"
    "7zBPy9+X+LUvylA/Lp/Xx7vZfDYXkBGQBtSoTOIyfLi14HTyD7T6DIPWJNK5LJEX32QcIDJTB4pV3THf"
    "HGjrIJac3zsg9lIi5Hai8mSi8zR34xg8kEdLypOKySLXWJI8PYLJoy+CFYKMPpF7V4Qy8kiab4RaJISI"
    "QFHKspJSRlOUmoxCLeQiVuelQbpkBfEzMtoSeZtaNuXQhL5pxfE97MVuvxlCLbZDW/EbRFf3Q9eeXFWE"
    "cNKy2xebqvjo10273jS7UzYVW3HommPR12JXcNVhKENTiSuvCUC7zI1yvNFu7K4nOPoDOz02sg=="
)
BRANCH_IN_A_REDUCER = (
    "eNpNUEtKA0EU7GfNs22apmmGsQkyDBJEBlHjypUbBXERSVBwG/KZaGAykTjj2r1H8BAewTN4Ao/gEbSj"
    "LiyoV0U9Xi3eZffzylzXw1FZXHR7g8ejg85BR1DGxJagYWzst7I2evsxpTr+DzgdkB1qjdhKH/tYWrn2"
    "wbEnIDAJPPOhx5M89GTZkwqZOg689aSdJyODPgeegNoqTVKfkRLi6SvTTvxBkZQ5QeXsDHIYODBkDjZp"
    "To6iN6Y+SEavIOZ+WEUvkBZaCnmqGKRutIRkCosBlGVYOKHPYwUbQrOZgMAqHCPaCnalLQCRh0RkwOsh"
    "IvHespqNT1ousdqNmllZzyrxeFcuxHwxacpCLIu6WVbhg2LaVOOVjhfVQz2s6pVfFpNmXPym8/vh8sfO"
    "pqu5L+bD0HXfjMrZWGy0NRPpNEu329jBLud733JSPJc="
)
RELU_OF_A_BROADCAST = (
    "eNolj8tKxEAQRbus1LRNE5omhGYYQhausnAYl24VxcWIg65chbzEhjwkkwz+gZ/oZ/gLVvTAhcOluFCP"
    "+5/n8GUqyrZ52D/lp6vtbrsTkBBQCKhRm8htUrxOQrA6+gdDzaQGQ2eki+TZF1kHiJyYc+uAjAPJURxN"
    "CBcyiZI4BSWYVEFGTAakLCJChqCTwBMcEGTwikB4IJTBHaoIpRR0o3hD3muJgKBWIV8Q6sCgXLGC+HZG"
    "U+yytTXalrNvJ9+L03s7iG6o57YRb3Nf8W+iGvrjVPTT4uU4FHVVHKfc93ntu6Xrik/fzX86NtM89otd"
    "cs17H3PZ+kqcJ4oAtI1s7HCNm18V8jTz"
)
MINIMUM_OF_BOOL = (
    "eNotT8tKxEAQnLbSO4YhDGEIw7KEHDzlsA9P3vXiYcVFwask2YiBPGTN7M2zJ7/KD/IXdrJYUHR1FRTd"
    "D9u/p+h5LMq2vt8+vh6vV5vVRlDKxBFBQWljFxluFhFpZc5ApDzMGpE20hp58c2xJbm2BHgmnneWWFsK"
    "GXQlU5MmGUFkYSz+kRPnCJliAJSDVRr8MO2YZPAFYt5JyKCB1JChkLfK94QvkD4iHywhveMh1AxnDwHA"
    "CCLwbNrFr9WKbTKPE63i0jXt2PTi+N4Oohv2rq3FoR7doffvijfXV9Oshv5zLPpx0od676p6Ul3TN53r"
    "JrkUXeFbPlzZNpW4TP35pHSsTQKL+QlKHzFy"
)


def model_of(folder, artifact, inputs, output):
    """A SavedModel that calls a module, made without TensorFlow's tracing, which would refuse some."""
    file = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    meta_graph = file.meta_graphs.add()
    meta_graph.meta_info_def.tags.append("serve")
    graph = meta_graph.graph_def
    graph.versions.producer = 1087
    signature = meta_graph.signature_def["serving_default"]
    signature.method_name = "tensorflow/serving/predict"
    call = graph.node.add(name="call", op="XlaCallModule")
    call.attr["module"].s = zlib.decompress(base64.b64decode(artifact))
    call.attr["version"].i = 9
    call.attr["platforms"].list.s.append(b"CPU")
    call.attr["Tout"].list.type.append(output.as_datatype_enum)
    call.attr["Sout"].list.shape.add(unknown_rank=True)
    signature.outputs["y"].name = "call:0"
    signature.outputs["y"].dtype = output.as_datatype_enum
    for name, (dtype, shape) in inputs.items():
        node = graph.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
        call.input.append(name)
        call.attr["Tin"].list.type.append(dtype.as_datatype_enum)
        signature.inputs[name].name = f"{name}:0"
        signature.inputs[name].dtype = dtype.as_datatype_enum
        signature.inputs[name].tensor_shape.CopyFrom(tf.TensorShape(shape).as_proto())
    (folder / "saved_model.pb").write_bytes(file.SerializeToString())
    return folder


def run(folder, **inputs):
    arguments = [f"--input={name}={json.dumps(value)}" for name, value in inputs.items()]
    return subprocess.run([binary(), "run", folder, "--json", *arguments], capture_output=True,
                          text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "artifact, shapes, told",
    [
        (CALLS_ITSELF, ([3], []), "calls itself"),
        (GATHER_OF_SCALARS, ([4, 3], []), ""),
        (CALL_OF_ANOTHER_RANK, ([2, 3], []), "of other types"),
        (BRANCH_IN_A_REDUCER, ([4, 3],), "may have no branches or loops"),
    ],
    ids=["calls itself", "gather", "call", "branch"],
)
def test_modules_that_are_no_good_end_in_an_error(artifact, shapes, told, tmp_path):
    types = [tf.int32 if artifact == GATHER_OF_SCALARS and not shape else tf.float32
             for shape in shapes]
    inputs = dict(zip(("a", "b"), zip(types, shapes)))
    values = {name: np.ones(shape).tolist() for name, shape in zip(("a", "b"), shapes)}
    done = run(model_of(tmp_path, artifact, inputs, tf.float32), **values)
    assert done.returncode == 1, done
    assert told in done.stderr


def test_a_zero_in_full_gives_its_shape_to_a_broadcast_scalar(tmp_path):
    model = model_of(tmp_path, RELU_OF_A_BROADCAST, {"a": (tf.float32, [])}, tf.float32)
    assert json.loads(run(model, a=3).stdout)["outputs"] == [[3.0]]


def test_a_minimum_of_bools_starts_with_its_initial_value(tmp_path):
    model = model_of(tmp_path, MINIMUM_OF_BOOL, {"a": (tf.bool, [2])}, tf.bool)
    assert json.loads(run(model, a=[True, True]).stdout)["outputs"] is False
