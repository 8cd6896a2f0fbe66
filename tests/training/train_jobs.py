"""Jobs of `tessera train` for tests: a tiny SavedModel that trains, its data, and running them."""

import json
import pathlib
import signal
import subprocess

import numpy as np
import tensorflow as tf

from clients.server import binary, environment

SECONDS = 120


class Linear(tf.Module):
    """y = x w + b, trained by momentum; the signatures that `tessera train` looks for."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.zeros([4]), name="w")
        self.b = tf.Variable(0.0, name="b")
        self.slots = [tf.Variable(tf.zeros([4]), trainable=False, name="w_momentum"),
                      tf.Variable(0.0, trainable=False, name="b_momentum")]
        self.steps = tf.Variable(0, dtype=tf.int64, trainable=False, name="global_step")
        x = tf.TensorSpec([None, 4], tf.float32, "x")
        y = tf.TensorSpec([None], tf.float32, "y")
        self.calls = {
            "init": tf.function(self._init, input_signature=[]),
            "train_step": tf.function(self._train, input_signature=[x, y]),
            "loss": tf.function(lambda x, y: {"loss": self._loss(x, y)}, input_signature=[x, y]),
            "predict": tf.function(lambda x: {"output": self._predict(x)}, input_signature=[x]),
        }

    def _predict(self, x):
        return tf.linalg.matvec(x, self.w) + self.b

    def _loss(self, x, y):
        return tf.reduce_mean(tf.square(self._predict(x) - y))

    def _init(self):
        for variable in (self.w, self.b, *self.slots):
            variable.assign(tf.zeros_like(variable))
        self.steps.assign(0)
        return {"ok": tf.constant(True)}

    def _train(self, x, y):
        with tf.GradientTape() as tape:
            loss = self._loss(x, y)
        variables = [self.w, self.b]
        for variable, slot, gradient in zip(variables, self.slots, tape.gradient(loss, variables)):
            slot.assign(0.9 * slot + gradient)
            variable.assign_sub(0.01 * slot)
        self.steps.assign_add(1)
        return {"loss": loss}


def save_linear(folder, without=()):
    module = Linear()
    calls = {name: call for name, call in module.calls.items() if name not in without}
    tf.saved_model.save(module, str(folder), signatures=calls)
    return module


def write_examples(path, x, y):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for row, target in zip(x, y):
            writer.write(tf.train.Example(features=tf.train.Features(feature={
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=row)),
                "y": tf.train.Feature(float_list=tf.train.FloatList(value=[target])),
            })).SerializeToString())


def examples(rows=64, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 4)).astype(np.float32)
    return x, (x @ [1, -2, 3, 0.5] + 0.25).astype(np.float32)


JOB = """
graph: {saved_model: model}
data:
  train:
    files: [train.tfrecord]
    fields: &fields [{name: x, shape: [4], dtype: float32}, {name: y, dtype: float32}]
    shuffle: 16
  eval: {files: [train.tfrecord], fields: *fields}
batch: 8
steps: 40
seed: 1
threads: 1
eval: {every_steps: 20, metrics: [{type: mean_squared_error, label: y}]}
hooks: {checkpoint: {every_steps: 10}, logging: {every_steps: 1}}
"""


def write_job(folder, without=()):
    """Writes the job with its model, less the signatures `without`, and its data. Returns the path of
    its file."""
    folder = pathlib.Path(folder)
    save_linear(folder / "model", without)
    write_examples(folder / "train.tfrecord", *examples())
    (folder / "job.yaml").write_text(JOB, encoding="utf-8")
    return folder / "job.yaml"


def command(*arguments, **settings):
    """The words of `tessera train`; settings are those of --set, with '__' for '.'."""
    sets = [f"--set={key.replace('__', '.')}={value}" for key, value in settings.items()]
    return [str(binary()), "train", *map(str, arguments), *sets]


def train(*arguments, cwd=None, **settings):
    """Runs a job to its end, from a working directory: the completed process."""
    return subprocess.run(command(*arguments, **settings), capture_output=True, text=True, cwd=cwd,
                          env=environment(), timeout=SECONDS, check=False)


def records(process):
    return [json.loads(line) for line in process.stdout.splitlines()]


def checkpoint_steps(run):
    return sorted(int(path.stem.split("-")[1]) for path in (run / "checkpoints").glob("*.index"))


def stop_behind_step(job, step):
    """Asks a run to stop while the step behind `step` waits, and expects that it stops at `step`. The
    default timeout of a step is longer than this waits."""
    process = subprocess.Popen(command(job), stdout=subprocess.PIPE, text=True, env=environment())
    for line in process.stdout:
        if json.loads(line).get("step") == step:
            break
    process.send_signal(signal.SIGTERM)
    events = [json.loads(line) for line in process.stdout]
    assert process.wait(SECONDS) == 0
    assert [each["event"] for each in events] == ["checkpoint", "stop", "end"]
    assert {each["step"] for each in events} == {step}
    assert events[1]["reason"] == "asked to stop"


def losses(process):
    """{step: loss} of what a job printed."""
    assert process.returncode == 0, process.stderr
    return {each["step"]: each["loss"] for each in records(process) if each["event"] == "step"}
