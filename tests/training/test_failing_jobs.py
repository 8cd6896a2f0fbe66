"""`tessera train` on jobs that are wrong, and on runs that fail: messages, codes, leftovers."""

import shutil
import subprocess

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from clients.server import environment  # noqa: E402
from training import train_jobs  # noqa: E402
from training.train_jobs import checkpoint_steps, command, losses, train, write_job  # noqa: E402

def test_dry_run_prints_the_plan_and_writes_nothing(job):
    before = sorted(job.parent.rglob("*"))
    process = train(job, "--dry-run")
    assert process.returncode == 0, process.stderr
    for text in ("SavedModel model", "x float[8,4]", "40 steps", "a new run", "mean_squared_error",
                 "devices     CPU:0"):
        assert text in process.stdout
    assert sorted(job.parent.rglob("*")) == before


@pytest.mark.parametrize("settings, code, text", [
    ({"stepz": 1}, 3, "did you mean 'steps'?"),
    ({"graph__saved_model": "nowhere"}, 3, "nowhere"),
    ({"data__train__files": "[none-*.tfrecord]"}, 6, "none-*.tfrecord"),
    ({"data__train__fields": "[{name: x, shape: [5], dtype: float32}, {name: y, dtype: float32}]"},
     3, "'x' has the shape"),
    ({"eval__metrics": "[{type: accuracy, output: nothing}]"}, 3, "'nothing'"),
    ({"folder": "job.yaml/run"}, 8, "job.yaml' is a file"),
    ({"export": "{base_path: job.yaml/served}"}, 8, "job.yaml' is a file"),
])
def test_wrong_jobs_are_refused(job, settings, code, text):
    for arguments in ((job,), (job, "--dry-run")):
        process = train(*arguments, **settings)
        assert process.returncode == code, process.stderr
        assert text in process.stderr + process.stdout
        assert not (job.parent / "run").exists()


def test_what_is_wrong_with_the_graph_and_with_each_of_the_data_is_told_at_once(job):
    process = train(job, "--dry-run", graph__saved_model="nowhere", data__eval__format="tsv",
                    data__train__files="[none]")
    assert process.returncode == 3, "the code of the first"
    lines = process.stdout.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "--set graph.saved_model", "--set data.train.files", "--set data.eval.format",
        "3 errors, 0 warnings"]


def test_a_folder_is_no_job(job):
    process = train(job.parent)
    assert process.returncode == 3
    assert "it is a directory" in process.stderr


@pytest.mark.parametrize("settings", [
    {"export__base_path": "served", "export__metric": "loss", "export__at_most": 1},
    {"hooks__early_stopping": "{patience: 2}"},
])
def test_a_metric_that_evaluations_lack_is_told_before_the_first_step(tmp_path, settings):
    job = write_job(tmp_path, without=["loss"])
    for arguments in ((job,), (job, "--dry-run")):
        process = train(*arguments, **settings)
        assert process.returncode == 3, process.stderr
        told = "evaluations have no 'loss'; they have mean_squared_error: see eval.metrics"
        assert told in process.stderr + process.stdout


def test_dry_run_tries_an_evaluation(job):
    metrics = "[{type: precision, output: output, label: y, class_id: 3}]"
    process = train(job, "--dry-run", eval__metrics=metrics)
    assert process.returncode == 6
    assert "eval: metrics[0]: the metric 'precision': class_id 3 is out of range" in process.stdout


def test_nan_loss_names_the_step_and_keeps_the_last_checkpoint(job):
    x, y = train_jobs.examples()
    x[30] = np.nan
    train_jobs.write_examples(job.parent / "train.tfrecord", x, y)
    process = train(job, data__train__shuffle=0, hooks__checkpoint__every_steps=1)
    assert process.returncode == 5
    assert "the loss of step 4 is NaN" in process.stderr
    assert checkpoint_steps(job.parent / "run") == [1, 2, 3]


def test_nan_debug_names_where_it_comes_from(job):
    x, y = train_jobs.examples()
    x[30] = np.nan
    train_jobs.write_examples(job.parent / "train.tfrecord", x, y)
    settings = {"data__train__shuffle": 0, "hooks__nan__debug": "true"}
    process = train(job, **settings)
    assert process.returncode == 5
    assert "the loss of step 4 is NaN; the field 'x' of the batch is not finite in row 6" \
        in process.stderr
    train_jobs.write_examples(job.parent / "train.tfrecord", 1e20 * np.nan_to_num(x), y)
    process = train(job, resume="false", **settings)
    assert process.returncode == 5
    assert "the variable 'w' was not finite before the step" in process.stderr \
        or "comes from an op of the train signature" in process.stderr


@pytest.mark.parametrize("spoil", ["cut", "crc"])
def test_damaged_records_end_the_run_with_their_file(job, spoil):
    path = job.parent / "train.tfrecord"
    content = bytearray(path.read_bytes())
    if spoil == "cut":
        del content[-20:]
    else:
        content[len(content) // 2] ^= 1
    path.write_bytes(content)
    process = train(job, data__train__shuffle=0)
    assert process.returncode == 6
    assert "train.tfrecord" in process.stderr


def test_label_out_of_range_ends_the_run_with_the_label(tmp_path):
    folder = tmp_path / "digits"
    train("--init", "digits", folder)
    path = folder / "data" / "digits_train.tfrecord"
    rows = [record.numpy() for record in tf.data.TFRecordDataset(str(path))]
    example = tf.train.Example.FromString(rows[100])
    example.features.feature["label"].int64_list.value[0] = 77
    with tf.io.TFRecordWriter(str(path)) as writer:
        for row in rows[:100] + [example.SerializeToString()] + rows[101:]:
            writer.write(row)
    process = train(folder / "job.yaml", data__train__shuffle=0)
    assert process.returncode == 6, process.stderr
    assert "step 2: " in process.stderr and "77" in process.stderr


def test_data_that_never_yield_a_batch_are_refused(job):
    process = train(job, data__train__skip=1000)
    assert process.returncode == 6
    assert "data.train" in process.stderr and "batch" in process.stderr


def test_a_step_that_does_not_end_is_told(job):
    class Endless(train_jobs.Linear):
        def _train(self, x, y):
            (turns,) = tf.while_loop(lambda i: i < 2.0, lambda i: (0.5 * (i + self.b),), (self.b,))
            return {"loss": turns}

    shutil.rmtree(job.parent / "model")
    module = Endless()
    tf.saved_model.save(module, str(job.parent / "model"), signatures=module.calls)
    process = train(job, hooks__stop__step_timeout_seconds=0.5)
    assert process.returncode == 9
    assert "step 1: the step did not end within 500ms" in process.stderr


def test_damaged_checkpoints_are_passed_over_while_one_is_whole(job, curve):
    assert train(job).returncode == 0
    checkpoints = job.parent / "run" / "checkpoints"
    last = checkpoints / "step-40.index"
    last.write_bytes(last.read_bytes()[:20])
    resumed = losses(train(job, steps=45))
    assert list(resumed) == list(range(31, 46))
    assert all(resumed[step] == curve[step] for step in range(31, 41))
    for path in checkpoints.glob("*.index"):
        path.write_bytes(path.read_bytes()[:20])
    before = {path.name: path.read_bytes() for path in checkpoints.iterdir()}
    process = train(job, steps=50)
    assert process.returncode == 7, process.stderr
    assert "no checkpoint is whole (resume: false begins anew)" in process.stderr
    assert {path.name: path.read_bytes() for path in checkpoints.iterdir()} == before
    assert min(losses(train(job, resume="false"))) == 1


def test_checkpoint_of_another_shape_is_refused(job):
    train(job, steps=10)

    class Other(train_jobs.Linear):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.zeros([2, 4]), name="w")

        def _predict(self, x):
            return tf.linalg.matvec(x, self.w[0]) + self.b

        def _train(self, x, y):
            loss = self._loss(x, y)
            self.w.assign_sub(tf.zeros_like(self.w))
            return {"loss": loss}

    shutil.rmtree(job.parent / "model")
    module = Other()
    tf.saved_model.save(module, str(job.parent / "model"), signatures=module.calls)
    process = train(job)
    assert process.returncode == 7
    assert "cannot resume from" in process.stderr and "[2,4]" in process.stderr


@pytest.mark.parametrize("asynchronous", ["false", "true"])
def test_full_disk_keeps_the_earlier_checkpoints(job, asynchronous):
    train(job, steps=10)
    limited = ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash",
               *command(job, hooks__checkpoint__async=asynchronous)]
    process = subprocess.run(limited, capture_output=True, text=True, env=environment(),
                             timeout=train_jobs.SECONDS, check=False)
    assert process.returncode == 8, process.stderr
    assert checkpoint_steps(job.parent / "run") == [10]
    assert train(job).returncode == 0
