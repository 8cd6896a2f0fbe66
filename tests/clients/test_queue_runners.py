"""A model of TF1 that reads its data through queues: `tessera run` fills them, a server does not."""

import json
import subprocess

import numpy as np
import pytest

from clients.client import Client, predict_request, refused
from clients.server import Model, Server, binary

tf = pytest.importorskip("tensorflow")
v1 = tf.compat.v1


def save_model(folder, lines):
    """Saves a model that multiplies three numbers of a file of lines, which it reads once."""
    with v1.Graph().as_default(), v1.Session() as session:
        names = v1.train.string_input_producer([str(lines)], num_epochs=1)
        _, line = v1.TextLineReader().read(names)
        numbers = v1.train.batch([v1.string_to_number(line)], 3)
        factor = v1.placeholder(tf.float32, [])
        signature = v1.saved_model.predict_signature_def(
            {"factor": factor}, {"products": factor * numbers})
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature},
            main_op=v1.local_variables_initializer())
        builder.save()
    return folder


def run(folder):
    return subprocess.run([str(binary()), "run", str(folder), "--input=factor=2", "--json"],
                          capture_output=True, text=True, timeout=120, check=False)


def test_queue_runners_fill_the_queues_of_a_run(tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("1.5\n-2\n40\n7\n", encoding="utf-8")
    process = run(save_model(tmp_path / "model", lines))
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["outputs"] == [3.0, -4.0, 80.0]


def test_a_queue_without_enough_elements_ends_the_run(tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("1\n2\n", encoding="utf-8")
    process = run(save_model(tmp_path / "model", lines))
    assert process.returncode != 0
    assert "OUT_OF_RANGE" in process.stderr and "closed" in process.stderr


def test_a_file_that_a_queue_cannot_read_is_named(tmp_path):
    process = run(save_model(tmp_path / "model", tmp_path / "missing.txt"))
    assert process.returncode != 0
    assert "queue 'batch/fifo_queue'" in process.stderr and "missing.txt" in process.stderr


def test_a_server_starts_no_queue_runners_as_tensorflow_serving(tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("1\n2\n3\n", encoding="utf-8")
    (tmp_path / "model").mkdir()
    save_model(tmp_path / "model" / "1", lines)
    request = predict_request("m", {"factor": np.float32(2)})
    with Server(models=[Model("m", tmp_path / "model")]) as server, Client(server) as client:
        with refused("DEADLINE_EXCEEDED"):
            client.prediction.Predict(request, timeout=1)
    assert server.exit_code == 0
