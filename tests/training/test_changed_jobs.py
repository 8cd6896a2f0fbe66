"""`tessera train` on a job that has changed since its last run: what may change, what may not."""

import shutil

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from training import train_jobs  # noqa: E402
from training.train_jobs import losses, records, train  # noqa: E402

v1 = tf.compat.v1

JOB = """
graph:
  meta_graph: forward.meta
  loss: {type: mean_squared_error, output: output, label: y}
  optimizer: {type: adam, learning_rate: 0.05}
data:
  train:
    files: [train.tfrecord]
    fields: [{name: x, shape: [4], dtype: float32}, {name: y, dtype: float32}]
batch: 8
steps: 10
seed: 1
threads: 1
hooks: {logging: {every_steps: 1}}
"""


@pytest.fixture(scope="module", name="made")
def _made(tmp_path_factory):
    """A folder with a job that has made its ten steps."""
    folder = tmp_path_factory.mktemp("job")
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        hidden = tf.tanh(tf.matmul(x, v1.get_variable(
            "hidden", initializer=np.eye(4, 6, dtype=np.float32))))
        kernel = v1.get_variable("kernel", initializer=np.ones((6, 1), np.float32))
        tf.squeeze(tf.matmul(hidden, kernel), 1, name="output")
        v1.train.export_meta_graph(str(folder / "forward.meta"))
    train_jobs.write_examples(folder / "train.tfrecord", *train_jobs.examples())
    train_jobs.write_examples(folder / "other.tfrecord", *train_jobs.examples(seed=1))
    (folder / "job.yaml").write_text(JOB, encoding="utf-8")
    assert list(losses(train(folder / "job.yaml"))) == list(range(1, 11))
    return folder


@pytest.fixture(name="job")
def _job(made, tmp_path):
    """The path of the job in a folder of its own."""
    shutil.copytree(made, tmp_path / "job")
    return tmp_path / "job" / "job.yaml"


@pytest.fixture(scope="module", name="unchanged")
def _unchanged(made, tmp_path_factory):
    """The losses of the steps 11 to 16 of the job as it was."""
    folder = tmp_path_factory.mktemp("unchanged") / "job"
    shutil.copytree(made, folder)
    return losses(train(folder / "job.yaml", steps=16))


def goes_on(job, **settings):
    """Makes the steps 11 to 16, and returns the event of the resume and the losses."""
    process = train(job, steps=16, **settings)
    curve = losses(process)
    assert list(curve) == list(range(11, 17))
    (resume,) = [each for each in records(process) if each["event"] == "resume"]
    assert resume["step"] == 10
    return resume, curve


@pytest.mark.parametrize("settings", [
    {"graph__optimizer__learning_rate": 0.001},
    {"graph__optimizer__type": "sgd"},  # has no slots that could be missing
    {"graph__schedule": "{type: exponential, decay_steps: 1, decay_rate: 0.5}"},
    {"graph__trainable": "[kernel]"},
], ids=str)
def test_what_says_how_variables_move_may_change(job, unchanged, settings):
    resume, curve = goes_on(job, **settings)
    assert "data_begin_anew" not in resume
    # The variables and the batch of the first step are those of the unchanged job.
    assert curve[11] == unchanged[11]
    assert all(curve[step] != unchanged[step] for step in range(12, 17))


@pytest.mark.parametrize("settings", [
    {"hooks__checkpoint": "{every_steps: 2, max_to_keep: 2, async: true}"},
    {"hooks__summary": "{every_steps: 1}"},
    {"graph__recompute": "[Tanh]"},
    {"seed": 7},  # what draws random numbers goes on with those that would have come
    {"device": "{type: cpu}"},
], ids=str)
def test_what_is_around_the_steps_changes_no_loss(job, unchanged, settings):
    resume, curve = goes_on(job, **settings)
    assert "data_begin_anew" not in resume and curve == unchanged


@pytest.mark.parametrize("settings", [
    {"batch": 4}, {"data__train__shuffle": 16}, {"data__train__files": "[other.tfrecord]"},
    {"data__train__cache": "true"},
], ids=str)
def test_data_that_have_changed_begin_anew_and_the_log_says_so(job, settings):
    resume, _ = goes_on(job, **settings)
    assert "another batch size" in resume["data_begin_anew"]


def test_files_with_other_contents_begin_anew(job):
    train_jobs.write_examples(job.parent / "train.tfrecord", *train_jobs.examples(seed=1))
    resume, _ = goes_on(job)
    assert "other contents of '" in resume["data_begin_anew"]
    assert "train.tfrecord" in resume["data_begin_anew"]


def test_files_that_have_grown_go_on(job):
    assert losses(train(job, steps=11)) != {}
    rows = job.parent / "train.tfrecord"
    more = job.parent / "more.tfrecord"
    train_jobs.write_examples(more, *train_jobs.examples(8, seed=2))
    rows.write_bytes(rows.read_bytes() + more.read_bytes())
    process = train(job, epochs=2, steps=0)
    assert "data_begin_anew" not in records(process)[0]
    # The second epoch has 72 rows, and three of its batches are read already.
    assert list(losses(process)) == list(range(12, 18))


def test_an_epoch_that_ended_with_a_checkpoint_counts(job):
    settings = {"steps": 0, "resume": "false", "hooks__checkpoint__every_steps": 4}
    assert len(losses(train(job, epochs=2, **settings))) == 16
    settings["resume"] = "true"
    assert losses(train(job, epochs=2, **settings)) == {}
    # Other data make one more epoch of their own.
    files = "[train.tfrecord, other.tfrecord]"
    assert len(losses(train(job, epochs=3, data__train__files=files, **settings))) == 16


@pytest.mark.parametrize("settings, missing", [
    ({"graph__optimizer__type": "momentum"}, "'hidden/Momentum' is missing"),
    ({"accumulate": 2}, "'hidden/gradient_sum' is missing"),
    ({"precision": "float16"}, "'loss_scale/current_loss_scale' is missing"),
], ids=str)
def test_variables_that_the_checkpoint_lacks_are_refused_by_name(job, unchanged, settings, missing):
    process = train(job, steps=16, **settings)
    assert process.returncode == 7
    assert missing in process.stderr and "(resume: false begins anew)" in process.stderr
    # Nothing is lost by the attempt.
    assert losses(train(job, steps=16)) == unchanged


def test_fewer_steps_than_were_made_leave_nothing_to_do(job):
    process = train(job, steps=5)
    assert losses(process) == {} and records(process)[-1]["step"] == 10
