"""Models of whole preprocessing with TensorFlow Text answer as they do there.

tests/data/text/record.py has recorded the models, and their answers.
"""

import json
import lzma
import subprocess

import pytest

from clients.server import DATA, Model, Server, binary

FOLDER = DATA / "text"
MODELS = ("bert", "wordpiece", "sentencepiece")


@pytest.fixture(scope="module", name="models")
def _models(tmp_path_factory):
    base = tmp_path_factory.mktemp("text")
    for name in MODELS:
        version = base / name / "1"
        version.mkdir(parents=True)
        graph = lzma.decompress((FOLDER / f"{name}.pb.xz").read_bytes())
        (version / "saved_model.pb").write_bytes(graph)
    return base


@pytest.fixture(scope="module", name="server")
def _server(models):
    with Server(models=[Model(name, models / name) for name in MODELS]) as server:
        yield server


def predict(server, name, inputs):
    status, _, body = server.http(
        "POST", f"/v1/models/{name}:predict", json.dumps({"inputs": inputs})
    )
    assert status == 200, body
    return json.loads(body)["outputs"]


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_tensorflow_text(server, name):
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert predict(server, name, recorded["inputs"]) == recorded["outputs"]


def test_a_batch_without_rows_gives_none(server):
    assert predict(server, "bert", {"first": [], "second": []}) == {
        "ids": [],
        "mask": [],
        "types": [],
    }


@pytest.mark.parametrize("name", MODELS)
def test_every_op_has_a_kernel(models, name):
    arguments = [binary(), "inspect", "--json", str(models / name / "1")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    (meta_graph,) = json.loads(done.stdout)["meta_graphs"]
    assert not any(op["without_kernel"] for op in meta_graph["ops"].values())
