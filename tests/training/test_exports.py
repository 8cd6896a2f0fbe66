"""Versions that `tessera train` exports for servers: which, when, and what TensorFlow reads."""

import json
import shutil
import subprocess

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from clients.server import environment  # noqa: E402
from training import train_jobs  # noqa: E402
from training.train_jobs import command, records, train  # noqa: E402

def exported(process):
    return [each for each in records(process) if each["event"] == "export"][-1]


def test_exports_a_version_that_tensorflow_loads(job):
    process = train(job, export__base_path="served")
    version = job.parent / "served" / "1"
    assert exported(process)["path"] == str(version)
    module = train_jobs.Linear()
    checkpoint = tf.train.latest_checkpoint(str(job.parent / "run" / "checkpoints"))
    tf.train.Checkpoint(module).restore(checkpoint).expect_partial()
    x, _ = train_jobs.examples()
    loaded = tf.saved_model.load(str(version))
    np.testing.assert_array_equal(loaded.signatures["predict"](x=tf.constant(x))["output"],
                                  module.calls["predict"](tf.constant(x))["output"])
    record = json.loads((version / "assets.extra" / "training.json").read_text(encoding="utf-8"))
    assert record["step"] == 40 and record["metrics"].keys() == {"loss", "mean_squared_error"}
    # The same step is not exported twice, as after a kill between the rename and the end.
    again = exported(train(job, export__base_path="served"))
    assert again["reason"] == "version 1 is this step already"
    assert [path.name for path in (job.parent / "served").iterdir()] == ["1"]
    # That step of another run is another version.
    again = exported(train(job, export__base_path="served", resume="false", folder="other"))
    assert again["path"].endswith("/served/2")
    # Nor is a step exported again when another run has exported since.
    again = exported(train(job, export__base_path="served"))
    assert again["reason"] == "version 1 is this step already"


def test_runs_that_export_at_once_write_a_version_each(job):
    count = 6
    runs = [subprocess.Popen(command(job, folder=f"run-{i}", seed=i, export__base_path="served"),
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
            for i in range(count)]
    for run in runs:
        _, errors = run.communicate(timeout=train_jobs.SECONDS)
        assert run.returncode == 0, errors
    served = job.parent / "served"
    assert sorted(path.name for path in served.iterdir()) == [str(i + 1) for i in range(count)]
    for version in served.iterdir():
        record = json.loads((version / "assets.extra" / "training.json").read_text("utf-8"))
        run = tf.train.load_checkpoint(tf.train.latest_checkpoint(f"{record['run']}/checkpoints"))
        weights = tf.train.load_checkpoint(str(version / "variables" / "variables"))
        key = "w/.ATTRIBUTES/VARIABLE_VALUE"
        np.testing.assert_array_equal(weights.get_tensor(key), run.get_tensor(key))


@pytest.mark.parametrize("settings, code, text", [
    ({"export__assets": "[none.txt]"}, 3, "none.txt"),
    ({"export__assets": "[job.yaml, copy/job.yaml]"}, 3, "two files have the name 'job.yaml'"),
    ({"export__version": 7}, 3, "served/7' is there already"),
])
def test_what_keeps_a_version_from_being_written_is_told_before_the_first_step(job, settings, code,
                                                                                text):
    for folder in ("copy", "served/7"):
        (job.parent / folder).mkdir(parents=True)
    shutil.copy(job, job.parent / "copy")
    for arguments in ((job,), (job, "--dry-run")):
        process = train(*arguments, export__base_path="served", **settings)
        assert process.returncode == code, process.stderr
        assert text in process.stderr + process.stdout
        assert not (job.parent / "run").exists()


def test_a_run_that_is_over_finds_its_own_version(job):
    settings = {"export__base_path": "served", "export__version": 7}
    assert exported(train(job, **settings))["path"].endswith("/served/7")
    for again in (train(job, **settings), train(job.name, cwd=job.parent, **settings)):
        assert exported(again)["reason"] == "version 7 is this step already"


def test_a_version_0_is_one_like_others(job):
    (job.parent / "served/0").mkdir(parents=True)
    assert exported(train(job, export__base_path="served"))["path"].endswith("/served/1")


def test_exports_only_what_is_good_enough(job):
    good = {"export__base_path": "served", "export__metric": "mean_squared_error"}
    refused = exported(train(job, export__at_most=1e-9, **good))
    assert "'mean_squared_error' is " in refused["reason"]
    assert exported(train(job, export__beats_served="true", **good))["path"].endswith("/served/1")
    worse = exported(train(job, export__beats_served="true", steps=5, folder="worse", **good))
    assert "no better than the " in worse["reason"]
    # A server takes such a name, too.
    (job.parent / "served/1").rename(job.parent / "served/0001")
    worse = exported(train(job, export__beats_served="true", steps=5, folder="worst", **good))
    assert "no better than the " in worse["reason"]
    better = train(job, export__beats_served="true", steps=80, folder="better", **good)
    assert exported(better)["path"].endswith("/served/2")


def test_exports_weights_alone(job):
    train(job, export__base_path="served", export__weights_only="true")
    version = job.parent / "served" / "1"
    assert not (version / "saved_model.pb").exists()
    module = train_jobs.Linear()
    tf.train.Checkpoint(module).restore(str(version / "variables" / "variables")).expect_partial()
    assert int(module.steps) == 40


def test_weights_of_partitioned_variables_fit_graphs_of_tensorflow_and_exported_ones(tmp_path):
    v1 = tf.compat.v1
    job = train_jobs.write_job(tmp_path)
    graph = v1.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        y = v1.placeholder(tf.float32, [None], name="y")
        kernel = v1.get_variable("kernel", (4, 1), initializer=v1.ones_initializer(),
                                 partitioner=v1.fixed_size_partitioner(2))
        output = tf.squeeze(tf.matmul(x, tf.convert_to_tensor(kernel)), 1, name="out")
        loss = tf.identity(v1.losses.mean_squared_error(y, output), name="loss")
        v1.train.GradientDescentOptimizer(0.05).minimize(loss, name="train")
        v1.global_variables_initializer()
        saver = v1.train.Saver()
        v1.train.export_meta_graph(str(tmp_path / "train.meta"), saver_def=saver.as_saver_def())
    job.write_text(train_jobs.JOB.replace(
        "graph: {saved_model: model}",
        "graph: {meta_graph: train.meta, train_op: train, init_op: init, outputs: {output: out}}"),
        encoding="utf-8")
    train(job, export='{base_path: served, inputs: {x: "x:0"}, outputs: {output: output}}')
    train(job, export="{base_path: served, weights_only: true}", folder="other")
    graph_version, weights = (
        tf.train.load_checkpoint(str(tmp_path / "served" / version / "variables" / "variables"))
        for version in "12")
    whole = weights.get_tensor("kernel")
    for part in (0, 1):
        key = f"kernel/part_{part}"
        np.testing.assert_array_equal(weights.get_tensor(key), whole[2 * part:2 * part + 2])
        np.testing.assert_array_equal(graph_version.get_tensor(key), weights.get_tensor(key))
    with v1.Session(graph=graph) as session:
        saver.restore(session, str(tmp_path / "served" / "2" / "variables" / "variables"))
        np.testing.assert_array_equal(session.run(tf.convert_to_tensor(kernel)), whole)
