"""Models that JAX, or Keras on JAX, exports answer as they do in JAX.

The graph of such a model is one XlaCallModule node. tests/data/stablehlo/record.py has recorded the
models, and JAX's answers.
"""

import json
import subprocess

import numpy as np
import pytest

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
