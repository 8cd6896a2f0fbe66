"""Trainings that `tests/data/record` writes, in the format of training_case.h.

They are of kinds that the shared folder does not have: steps that loop, branch and read datasets,
and losses that have gradients in themselves. They are small, since a SavedModel is large anyway.
"""

import numpy as np
import tensorflow as tf

from conformance import training_recording
from conformance.training_recording import Trainer


class Weights(tf.Module):
    """Variables without layers."""

    def __init__(self, **values):
        super().__init__()
        self._variables = {name: tf.Variable(value, name=name) for name, value in values.items()}

    def __getitem__(self, name):
        return self._variables[name]

    @property
    def trainable_variables(self):
        return tuple(self._variables.values())

    @property
    def variables(self):
        return self.trainable_variables


class ClippedMomentum(tf.Module):
    """Momentum, after clipping by the norm of all gradients."""

    def __init__(self, rate):
        super().__init__()
        self._rate = rate
        self._slots = ()

    def build(self, variables):
        self._slots = tuple(tf.Variable(tf.zeros_like(v), trainable=False, name=f"slot{i}")
                            for i, v in enumerate(variables))

    @property
    def variables(self):
        return self._slots

    def apply_gradients(self, pairs):
        gradients, variables = zip(*pairs)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        for gradient, variable, slot in zip(gradients, variables, self._slots):
            slot.assign(0.9 * slot + gradient)
            variable.assign_sub(self._rate * slot)


def _normal(random, *shape):
    return (random.standard_normal(shape) * 0.4).astype(np.float32)


def _cross_entropy(labels, logits):
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


class LoopsAndBranches(Trainer):
    """A recurrence by tf.while_loop with a loop and a branch inside; a step that updates in two
    ways."""

    inputs = ("x", "lengths")
    shapes = {}

    def __init__(self):
        random = np.random.RandomState(7)
        self.weights = Weights(w=_normal(random, 5, 5), u=_normal(random, 3, 5),
                               out=_normal(random, 5, 1))
        self.batches = [{"x": 2 * _normal(random, 6, 4, 3),
                         "lengths": random.randint(1, 7, 4).astype(np.int32),
                         "y": _normal(random, 4, 1)} for _ in range(5)]
        super().__init__([self.weights], [ClippedMomentum(0.05)])

    def predict(self, batch):
        weights, x = self.weights, batch["x"]

        def body(time, h, states):
            new = tf.tanh(tf.matmul(h, weights["w"]) + tf.matmul(x[time], weights["u"]))
            new = tf.where((time < batch["lengths"])[:, None], new, h)
            new = tf.cond(tf.reduce_sum(tf.abs(new)) > 6.0, lambda: new * 0.9, lambda: new)
            _, new = tf.while_loop(lambda k, _: k < tf.math.floormod(time, 3),
                                   lambda k, z: (k + 1, z + 0.1 * tf.sin(z)), (0, new))
            return time + 1, new, states.write(time, new)

        states = tf.TensorArray(tf.float32, size=6, element_shape=[4, 5])
        _, h, states = tf.while_loop(lambda time, *_: time < 6, body,
                                     (0, tf.zeros([4, 5]), states), maximum_iterations=10)
        return tf.matmul(h + tf.reduce_max(states.stack(), 0), weights["out"])

    def loss(self, batch, training):
        del training
        return tf.reduce_mean(tf.square(self.predict(batch) - batch["y"]))

    @tf.function
    def step(self, batch):
        with tf.GradientTape() as tape:
            loss = self.loss(batch, training=True)
        gradients = tape.gradient(loss, self.trained)
        if loss > 0.1:
            self.optimizers[0].apply_gradients(zip(gradients, self.trained))
        else:
            for gradient, variable in zip(gradients, self.trained):
                variable.assign_sub(0.01 * gradient)
        return loss


class DatasetInStep(Trainer):
    """A step that makes a dataset of its batch and trains on all that this yields."""

    inputs = ("x",)
    shapes = {}

    def __init__(self):
        random = np.random.RandomState(9)
        self.weights = Weights(w=_normal(random, 4, 3), b=_normal(random, 3))
        self.batches = [{"x": _normal(random, 12, 4), "y": random.randint(0, 3, 12)}
                        for _ in range(5)]
        super().__init__([self.weights], [ClippedMomentum(0.1)])

    def predict(self, batch):
        return tf.matmul(batch["x"], self.weights["w"]) + self.weights["b"]

    def loss(self, batch, training):
        del training
        return _cross_entropy(batch["y"], self.predict(batch))

    @tf.function
    def step(self, batch):
        rows = tf.data.Dataset.from_tensor_slices((batch["x"], batch["y"]))
        rows = rows.map(lambda x, y: (tf.clip_by_value(x, -1.0, 1.0), y), num_parallel_calls=2)
        rows = rows.filter(lambda x, y: tf.reduce_sum(x) > -1.5)
        rows = rows.interleave(lambda x, y: tf.data.Dataset.from_tensors((x, y)).repeat(2),
                               cycle_length=2)
        total = 0.0
        for x, y in rows.shuffle(8, seed=4).batch(5).prefetch(1):
            total += super().step({"x": x, "y": y})
        return total


class GradientsInLoss(Trainer):
    """A loss with a penalty on a gradient through convolution and pooling, and the loss after a step
    of gradient descent."""

    inputs = ("image",)
    shapes = {}

    def __init__(self):
        random = np.random.RandomState(16)
        self.weights = Weights(w=_normal(random, 8, 3), filter=_normal(random, 3, 3, 1, 2))
        self.batches = [{"image": _normal(random, 4, 6, 6, 1), "y": random.randint(0, 3, 4)}
                        for _ in range(5)]
        super().__init__([self.weights], [ClippedMomentum(0.05)])

    def _logits(self, image, w):
        maps = tf.tanh(tf.nn.conv2d(image, self.weights["filter"], 1, "VALID"))
        return tf.matmul(tf.reshape(tf.nn.max_pool2d(maps, 2, 2, "SAME"), (-1, 8)), w)

    def predict(self, batch):
        return self._logits(batch["image"], self.weights["w"])

    def loss(self, batch, training):
        del training
        image, w = batch["image"], self.weights["w"]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(image)
            loss = _cross_entropy(batch["y"], self.predict(batch))
        slope = tape.gradient(loss, image)
        moved = w - 0.5 * tape.gradient(loss, w)
        return (loss + _cross_entropy(batch["y"], self._logits(image, moved))
                + 10 * tf.reduce_mean(tf.square(slope)))


CASES = {"dataset_in_step": DatasetInStep, "gradients_in_loss": GradientsInLoss,
         "loops_and_branches": LoopsAndBranches}


def record(directory):
    """Writes all cases below `directory`, and returns the paths of their files."""
    for name, trainer in CASES.items():
        training_recording.record_trainer(directory / name, trainer())
    return sorted(path for path in directory.rglob("*") if path.is_file())
