"""`tessera train` on SavedModels of version 1, whose signatures are parts of one graph."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from training import train_jobs  # noqa: E402
from training.train_jobs import losses, records, train  # noqa: E402

v1 = tf.compat.v1


def write_job(folder, num_parts=1, predicts_from="x"):
    """The job of train_jobs on such a model. Its weights are in so many parts, and its signature for
    predictions calls the placeholder x by another name."""
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], "x")
        y = v1.placeholder(tf.float32, [None], "y")
        with v1.variable_scope("s", partitioner=v1.fixed_size_partitioner(num_parts)):
            w = v1.get_variable("w", [4, 1], initializer=v1.zeros_initializer(),
                                use_resource=True)
        output = tf.squeeze(tf.matmul(x, tf.convert_to_tensor(w)), 1)
        loss = tf.reduce_mean(tf.square(output - y))
        update = v1.train.GradientDescentOptimizer(0.05).minimize(loss)
        with tf.control_dependencies([update]):
            step_loss = tf.identity(loss)
        session.run(v1.global_variables_initializer())
        signature = v1.saved_model.predict_signature_def
        builder = v1.saved_model.Builder(str(folder / "model"))
        builder.add_meta_graph_and_variables(session, ["serve"], {
            "train_step": signature({"x": x, "y": y}, {"loss": step_loss}),
            "loss": signature({"x": x, "y": y}, {"loss": loss}),
            "predict": signature({predicts_from: x}, {"output": output})})
        builder.save()
    train_jobs.write_examples(folder / "train.tfrecord", *train_jobs.examples())
    (folder / "job.yaml").write_text(train_jobs.JOB, encoding="utf-8")
    return folder / "job.yaml"


def test_signatures_may_share_a_placeholder(tmp_path):
    process = train(write_job(tmp_path), export__base_path="served")
    assert process.returncode == 0, process.stderr
    evaluation = [each for each in records(process) if each["event"] == "eval"][-1]
    values = v1.train.load_checkpoint(str(tmp_path / "served" / "1" / "variables" / "variables"))
    x, y = train_jobs.examples()
    output = (x @ values.get_tensor("s/w"))[:, 0]
    assert evaluation["mean_squared_error"] == pytest.approx(np.mean((output - y) ** 2), rel=1e-3)


def test_inputs_of_one_placeholder_have_one_field(tmp_path):
    job = write_job(tmp_path, predicts_from="features")
    process = train(job, "--dry-run")
    assert process.returncode != 0
    assert "'x' and 'features' are one tensor, 'x:0'" in process.stdout
    assert "field 'x' and with the field 'features'" in process.stdout
    process = train(job, graph__inputs="{features: x}")
    assert process.returncode == 0, process.stderr


def test_partitioned_variables_train_as_whole_ones(tmp_path):
    (tmp_path / "whole").mkdir()
    whole = losses(train(write_job(tmp_path / "whole")))
    job = write_job(tmp_path, num_parts=2)
    parts = losses(train(job, steps=25))
    process = train(job, export__base_path="served")
    parts |= losses(process)
    assert process.returncode == 0, process.stderr
    assert list(parts) == list(whole)
    np.testing.assert_allclose(list(parts.values()), list(whole.values()), rtol=1e-4)
    evaluation = [each for each in records(process) if each["event"] == "eval"][-1]
    with v1.Session(graph=tf.Graph()) as session:
        v1.saved_model.load(session, ["serve"], str(tmp_path / "served" / "1"))
        x, y = train_jobs.examples()
        loss = session.run("Mean:0", {"x:0": x, "y:0": y})
    assert evaluation["mean_squared_error"] == pytest.approx(loss, rel=1e-3)
    saved = tf.train.load_checkpoint(str(tmp_path / "run" / "checkpoints"))
    exported = tf.train.load_checkpoint(str(tmp_path / "served" / "1" / "variables" / "variables"))
    np.testing.assert_array_equal(exported.get_tensor("s/w"), saved.get_tensor("s/w"))
