"""`tessera train` on a Keras model that was saved with its optimizer: checkpoints both ways."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

from training import train_jobs  # noqa: E402
from training.train_jobs import losses, train  # noqa: E402

ROWS, BATCH = 64, 8

JOB = """
graph: {saved_model: model}
data:
  train:
    files: [train.tfrecord]
    fields: [{name: x, shape: [4], dtype: float32}, {name: y, dtype: float32}]
batch: 8
threads: 1
hooks: {checkpoint: {every_steps: 10}, logging: {every_steps: 1}}
"""


class Trained(tf.Module):
    """A Keras model with its optimizer, as tf.saved_model.save() takes them."""

    def __init__(self, optimizer=None):
        super().__init__()
        keras.utils.set_random_seed(1)
        self.model = keras.Sequential([keras.layers.Input([4]), keras.layers.Dense(6, "tanh"),
                                       keras.layers.Dense(1)])
        self.optimizer = optimizer or keras.optimizers.Adam(0.05)
        self.optimizer.build(self.model.trainable_variables)
        if optimizer is not None:
            # TensorFlow does not find those of all optimizers by itself.
            self.tracked = [variable.value for variable in optimizer.variables]
        x = tf.TensorSpec([None, 4], tf.float32, "x")
        y = tf.TensorSpec([None], tf.float32, "y")
        self.calls = {
            "train_step": tf.function(self._train, input_signature=[x, y]),
            "loss": tf.function(lambda x, y: {"loss": self._loss(x, y)}, input_signature=[x, y]),
            "predict": tf.function(lambda x: {"output": self.model(x)}, input_signature=[x]),
        }

    def _loss(self, x, y):
        return tf.reduce_mean(tf.square(tf.squeeze(self.model(x), 1) - y))

    def _train(self, x, y):
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            loss = self._loss(x, y)
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        return {"loss": loss}

    def checkpoint(self):
        return tf.train.Checkpoint(model=self.model, optimizer=self.optimizer)

    def curve(self, begin, end):
        x, y = train_jobs.examples(ROWS)
        curve = []
        for step in range(begin, end):
            rows = slice(BATCH * step % ROWS, BATCH * step % ROWS + BATCH)
            curve.append(float(self.calls["train_step"](tf.constant(x[rows]),
                                                             tf.constant(y[rows]))["loss"]))
        return curve


def write_job(tmp_path, trained):
    tf.saved_model.save(trained, str(tmp_path / "model"), signatures=trained.calls)
    train_jobs.write_examples(tmp_path / "train.tfrecord", *train_jobs.examples(ROWS))
    (tmp_path / "job.yaml").write_text(JOB, encoding="utf-8")
    return tmp_path / "job.yaml"


@pytest.fixture(name="job")
def _job(tmp_path):
    return write_job(tmp_path, Trained())


def test_keras_goes_on_where_a_run_stopped(job):
    expected = Trained().curve(0, 24)
    np.testing.assert_allclose(list(losses(train(job, steps=16)).values()), expected[:16],
                               rtol=1e-3)
    trained = Trained()
    checkpoint = tf.train.latest_checkpoint(str(job.parent / "run" / "checkpoints"))
    trained.checkpoint().restore(checkpoint).assert_nontrivial_match()
    assert int(trained.optimizer.iterations) == 16
    np.testing.assert_allclose(trained.curve(16, 24), expected[16:], rtol=1e-3)


def test_a_run_goes_on_where_keras_stopped(job):
    losses(train(job, steps=10))
    trained = Trained()
    trained.curve(0, 16)
    checkpoints = job.parent / "run" / "checkpoints"
    trained.checkpoint().write(str(checkpoints / "step-16"))
    (checkpoints / "checkpoint").write_text('model_checkpoint_path: "step-16"\n')
    ours = losses(train(job, steps=24))
    np.testing.assert_allclose(list(ours.values()), trained.curve(16, 24), rtol=1e-3)


def test_variables_of_one_name_are_told_apart(tmp_path):
    # Adafactor calls slots of several variables "kernel" and "bias", whatever their shapes.
    job = write_job(tmp_path, Trained(keras.optimizers.Adafactor(0.05)))
    process = train(job, steps=16, export__base_path="served")
    expected = Trained(keras.optimizers.Adafactor(0.05)).curve(0, 16)
    np.testing.assert_allclose(list(losses(process).values()), expected, rtol=1e-3)
    assert process.returncode == 0, process.stderr
    x, y = (tf.constant(rows) for rows in train_jobs.examples(ROWS))
    trained = Trained(keras.optimizers.Adafactor(0.05))
    trained.curve(0, 16)
    loaded = tf.saved_model.load(str(tmp_path / "served" / "1"))
    # The step after the next shows the slots.
    for _ in range(2):
        np.testing.assert_allclose(loaded.signatures["train_step"](x=x, y=y)["loss"],
                                   trained.calls["train_step"](x, y)["loss"], rtol=1e-3)


class Worded(tf.Module):
    """A model of words, whose vocabulary was learned by adapt(): a table that is restored."""

    def __init__(self):
        super().__init__()
        keras.utils.set_random_seed(1)
        lookup = keras.layers.StringLookup()
        lookup.adapt(np.array(["a", "b", "c", "a"]))
        self.model = keras.Sequential([keras.layers.Input([1], dtype="string"), lookup,
                                       keras.layers.Embedding(10, 3), keras.layers.Flatten(),
                                       keras.layers.Dense(1)])
        words = tf.TensorSpec([None], tf.string, "s")
        self.calls = {
            "train_step": tf.function(self._train,
                                      input_signature=[words, tf.TensorSpec([None], tf.float32, "y")]),
            "predict": tf.function(lambda s: {"output": self.model(s[:, None])},
                                   input_signature=[words]),
        }

    def _train(self, s, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(s[:, None])[:, 0] - y))
        variables = self.model.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.value.assign_sub(0.1 * tf.convert_to_tensor(gradient))
        return {"loss": loss}


def test_a_vocabulary_that_was_adapted_trains_and_is_exported(tmp_path):
    words = [b"abc"[i % 3:i % 3 + 1] for i in range(ROWS)]
    with tf.io.TFRecordWriter(str(tmp_path / "train.tfrecord")) as writer:
        for word in words:
            writer.write(tf.train.Example(features=tf.train.Features(feature={
                "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[word])),
                "y": tf.train.Feature(float_list=tf.train.FloatList(value=[b"abc".index(word)])),
            })).SerializeToString())
    worded = Worded()
    tf.saved_model.save(worded, str(tmp_path / "model"), signatures=worded.calls)
    fields = "fields: [{name: s, dtype: string}, {name: y, dtype: float32}]"
    job = "\n".join(fields.join(["    ", ""]) if "fields" in line else line
                    for line in JOB.splitlines())
    (tmp_path / "job.yaml").write_text(job, encoding="utf-8")
    ours = losses(train(tmp_path / "job.yaml", steps=3))
    process = train(tmp_path / "job.yaml", steps=6, export__base_path="served")
    ours |= losses(process)
    targets = tf.constant([b"abc".index(word) for word in words], tf.float32)
    expected = [float(worded.calls["train_step"](tf.constant(words[k:k + BATCH]),
                                                      targets[k:k + BATCH])["loss"])
                for k in range(0, 6 * BATCH, BATCH)]
    np.testing.assert_allclose(list(ours.values()), expected, rtol=1e-4)
    served = tf.saved_model.load(str(tmp_path / "served" / "1")).signatures["predict"]
    asked = tf.constant(["a", "c", "unknown"])
    np.testing.assert_allclose(served(s=asked)["output"], worded.calls["predict"](asked)["output"],
                               rtol=1e-4)
