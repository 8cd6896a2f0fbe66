"""The job of `tessera train --init digits`, as it stands and spoilt."""

import json
import shutil
import subprocess

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from clients.server import binary, environment  # noqa: E402
from training.train_jobs import losses, records, train  # noqa: E402


@pytest.fixture(scope="module", name="digits")
def _digits(tmp_path_factory):
    """The folder of the job of --init digits, and what its run printed."""
    folder = tmp_path_factory.mktemp("digits") / "job"
    assert train("--init", "digits", folder).returncode == 0
    process = train(folder / "job.yaml")
    assert process.returncode == 0, process.stderr
    return folder, process


def test_init_overwrites_nothing(digits):
    process = train("--init", "digits", digits[0])
    assert process.returncode == 1 and "is there already" in process.stderr


def test_init_names_the_folder_after_its_sample(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert train("--init", "digits").returncode == 0
    assert (tmp_path / "digits" / "job.yaml").is_file()
    process = train()
    assert process.returncode == 2 and "JOB.yaml is missing" in process.stderr


def test_digits_reach_tensorflows_accuracy(digits):
    last = [each for each in records(digits[1]) if each["event"] == "eval"][-1]
    assert last["accuracy"] >= 0.9833


def test_exported_graph_answers_in_tensorflow_as_here(digits, tmp_path):
    version = digits[0] / "served" / "1"
    rows = tf.data.TFRecordDataset(str(digits[0] / "data" / "digits_test.tfrecord"))
    pixels = [tf.train.Example.FromString(row.numpy()).features.feature["pixels"].float_list.value[:]
              for row in rows.take(50)]
    (tmp_path / "pixels.json").write_text(json.dumps(pixels), encoding="utf-8")
    words = [str(binary()), "run", str(version), "--json", f"--input=pixels=@{tmp_path}/pixels.json"]
    process = subprocess.run(words, capture_output=True, text=True, env=environment(), check=True)
    ours = json.loads(process.stdout)["outputs"]
    theirs = tf.saved_model.load(str(version)).signatures["serving_default"](
        pixels=tf.constant(pixels))
    np.testing.assert_array_equal(ours["digit"], theirs["digit"])
    np.testing.assert_allclose(ours["probabilities"], theirs["probabilities"], atol=1e-5)


def test_a_resumed_run_computes_the_same_bits(digits, tmp_path):
    """Whatever the runs of the graph before have packed or shared."""
    shutil.copytree(digits[0], tmp_path / "job", ignore=shutil.ignore_patterns("run", "served"))
    settings = {"threads": 1, "graph__schedule__type": "constant", "export": "",
                "hooks__logging__every_steps": 1, "hooks__checkpoint__every_steps": 23}

    def curve(folder, **more):
        return losses(train(tmp_path / "job" / "job.yaml", folder=folder, **settings, **more))

    whole = curve("whole", steps=80)
    assert curve("parts", steps=44) | curve("parts", steps=80) == whole
    assert curve("async", steps=80, hooks__checkpoint__async="true") == whole


def test_nan_debug_names_the_first_op(digits, tmp_path):
    shutil.copytree(digits[0], tmp_path / "job")
    graph = tmp_path / "job" / "forward.pbtxt"
    text = graph.read_text(encoding="utf-8")
    spoilt = text.replace('name: "hidden/relu" op: "Relu"', 'name: "hidden/relu" op: "Log"')
    assert spoilt != text
    graph.write_text(spoilt, encoding="utf-8")
    process = train(tmp_path / "job" / "job.yaml", resume="false", hooks__nan__debug="true")
    assert process.returncode == 5
    assert "the loss of step 1 is NaN; the first op whose output is not finite is Log, node " \
        "'hidden/relu'" in process.stderr


def test_event_files_hold_the_graph(digits, tmp_path):
    shutil.copytree(digits[0], tmp_path / "job")
    process = train(tmp_path / "job" / "job.yaml", resume="false", steps=50,
                    hooks__summary__graph="true")
    assert process.returncode == 0, process.stderr
    (path,) = (tmp_path / "job" / "run" / "events").iterdir()
    (graph,) = [event.graph_def for event in tf.compat.v1.train.summary_iterator(str(path))
                if event.graph_def]
    names = {node.name for node in tf.compat.v1.GraphDef.FromString(graph).node}
    assert "hidden/relu" in names
