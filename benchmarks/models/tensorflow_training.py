"""TensorFlow's side of `scripts/bench train`: makes the SavedModels that ours trains, and runs the
very same functions.

    "$(scripts/python_env bench)" benchmarks/models/tensorflow_training.py make DIR NAME...
    "$(scripts/python_env bench)" benchmarks/models/tensorflow_training.py run NAME [--jit]
        [--threads=N]

`make` writes DIR/NAME with the signature `train_step`, and batch_K.pb, a PredictRequest, beside
saved_model.pb. `run` answers each number of steps on its standard input with a line: the
nanoseconds and the loss of each step.
"""
import argparse
import functools
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf  # noqa: E402

import batch_files  # noqa: E402
import training_tasks as tasks  # noqa: E402

raw = tf.raw_ops


def apply_dense(v, name, x):
    return tf.nn.bias_add(tf.matmul(x, v[f"{name}/kernel"]), v[f"{name}/bias"])


def cross_entropy(logits, labels):
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def layers_loss(v, x, labels):
    last = len(v) // 2 - 1
    for i in range(last):
        x = tf.nn.relu(apply_dense(v, f"dense{i}", x))
    return cross_entropy(apply_dense(v, f"dense{last}", x), labels)


mlp_loss = small_mlp_loss = layers_loss


def lenet_loss(v, x, labels):
    for i, padding in enumerate(("SAME", "VALID")):
        x = tf.nn.conv2d(x, v[f"conv{i}/filter"], 1, padding)
        x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.bias_add(x, v[f"conv{i}/bias"])), 2, 2, "VALID")
    x = tf.reshape(x, (-1, 400))
    x = tf.nn.relu(apply_dense(v, "dense0", x))
    x = tf.nn.relu(apply_dense(v, "dense1", x))
    return cross_entropy(apply_dense(v, "dense2", x), labels)


def convolve(v, x, name, stride=1):
    """A convolution with the batch norm that follows it."""
    size = v[f"{name}/filter"].shape[0]
    # PyTorch's padding: the same on both sides.
    pad = [[0, 0], [size // 2] * 2, [size // 2] * 2, [0, 0]]
    x = tf.nn.conv2d(x, v[f"{name}/filter"], stride, pad)
    x, mean, variance = tf.compat.v1.nn.fused_batch_norm(
        x, v[f"{name}/gamma"], v[f"{name}/beta"], epsilon=1e-5)
    for moving, now in (("moving_mean", mean), ("moving_variance", variance)):
        variable = v[f"{name}/{moving}"]
        variable.assign_sub((variable - now) * 0.1)
    return x


def resnet20_loss(v, x, labels):
    x = tf.nn.relu(convolve(v, x, "stem"))
    for name, _, _, stride in tasks.resnet20_blocks():
        y = convolve(v, tf.nn.relu(convolve(v, x, f"{name}a", stride)), f"{name}b")
        x = tf.nn.relu(y + (convolve(v, x, f"{name}c", stride) if stride > 1 else x))
    return cross_entropy(apply_dense(v, "dense", tf.reduce_mean(x, (1, 2))), labels)


def resnet50_loss(v, x, labels):
    x = tf.nn.relu(convolve(v, x, "stem", 2))
    # Nothing is negative here, so that zeros do for padding.
    x = tf.nn.max_pool2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), 3, 2, "VALID")
    for name, inputs, inside, stride in tasks.resnet50_blocks():
        y = tf.nn.relu(convolve(v, x, f"{name}a"))
        y = convolve(v, tf.nn.relu(convolve(v, y, f"{name}b", stride)), f"{name}c")
        x = tf.nn.relu(y + (convolve(v, x, f"{name}d", stride) if inputs != 4 * inside else x))
    return cross_entropy(apply_dense(v, "dense", tf.reduce_mean(x, (1, 2))), labels)


def lstm_loss(v, x, labels):
    # The products by the inputs are made for all steps at once.
    gates = tf.nn.bias_add(
        tf.matmul(tf.reshape(tf.transpose(x, (1, 0, 2)), (-1, tasks.LSTM_FEATURES)),
                  v["lstm/kernel"]), v["lstm/bias"])
    gates = tf.reshape(gates, (tasks.LSTM_STEPS, -1, 4 * tasks.LSTM_UNITS))
    gates = tf.TensorArray(tf.float32, tasks.LSTM_STEPS).unstack(gates)
    recurrent = v["lstm/recurrent"].read_value()

    def step(time, h, c):
        i, f, g, o = tf.split(gates.read(time) + tf.matmul(h, recurrent), 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return time + 1, tf.sigmoid(o) * tf.tanh(c), c

    zeros = tf.zeros((32, tasks.LSTM_UNITS))
    _, h, _ = tf.while_loop(lambda time, *_: time < tasks.LSTM_STEPS, step, (0, zeros, zeros),
                            maximum_iterations=tasks.LSTM_STEPS)
    return cross_entropy(apply_dense(v, "dense", h), labels)


def bert_loss(bert, v, ids, labels):
    width, heads = bert.width, bert.heads

    def normalise(x, name):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, v[f"{name}/beta"], v[f"{name}/gamma"],
                                         1e-12)

    def split(x):
        return tf.transpose(tf.reshape(x, (-1, tasks.BERT_TOKENS, heads, width // heads)),
                            (0, 2, 1, 3))

    def attend(x, name):
        query, key, value = (split(apply_dense(v, f"{name}/{part}", x))
                             for part in ("query", "key", "value"))
        scores = tf.matmul(query, key, transpose_b=True) * (heads / width) ** 0.5
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), (0, 2, 1, 3))
        return apply_dense(v, f"{name}/out", tf.reshape(mixed, (-1, width)))

    x = tf.gather(v["word"], ids) + v["position"]
    x = normalise(tf.reshape(x, (-1, width)), "norm")
    for i in range(bert.layers):
        x = normalise(x + attend(x, f"layer{i}"), f"layer{i}/norm0")
        y = tf.nn.gelu(apply_dense(v, f"layer{i}/inner", x))
        x = normalise(x + apply_dense(v, f"layer{i}/outer", y), f"layer{i}/norm1")
    first = tf.reshape(x, (-1, tasks.BERT_TOKENS, width))[:, 0]
    return cross_entropy(apply_dense(v, "dense", tf.tanh(apply_dense(v, "pooler", first))), labels)


bert_mini_loss = functools.partial(bert_loss, tasks.BERT_MINI)
bert_base_loss = functools.partial(bert_loss, tasks.BERT_BASE)


def recommender_loss(v, x, ids, labels):
    found = [tf.gather(v[f"table{i:02}"], ids[:, i]) for i in range(tasks.RECOMMENDER_TABLES)]
    x = tf.concat([x, *found], axis=1)
    x = tf.nn.relu(apply_dense(v, "dense0", x))
    x = tf.nn.relu(apply_dense(v, "dense1", x))
    logits = tf.reshape(apply_dense(v, "dense2", x), (-1,))
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


class Training(tf.Module):
    """A model with its optimizer."""

    def __init__(self, name):
        super().__init__(name=name)
        self.task = tasks.make_task(name)
        self._loss = globals()[f"{name}_loss"]
        self.weights = {key: tf.Variable(value, trainable="/moving_" not in key, name=key)
                        for key, value in self.task.values.items()}
        initial = {"sgd": [], "momentum": [0.0], "adam": [0.0, 0.0], "adagrad": [0.1]}
        self.slots = {key: [tf.Variable(tf.fill(variable.shape, value), trainable=False)
                            for value in initial[self.task.optimizer]]
                      for key, variable in self.weights.items() if variable.trainable}
        if self.task.optimizer == "adam":
            self.step = tf.Variable(0, dtype=tf.int64, trainable=False)

    def train_step(self, **batch):
        trained = {key: self.weights[key] for key in self.slots}
        with tf.GradientTape() as tape:
            loss = self._loss(self.weights, **batch)
        gradients = tape.gradient(loss, trained)
        powers = []
        if self.task.optimizer == "adam":
            step = tf.cast(self.step.assign_add(1), tf.float32)
            powers = [tf.pow(0.9, step), tf.pow(0.999, step)]
        for key, gradient in gradients.items():
            getattr(self, self.task.optimizer)(trained[key], gradient, *self.slots[key], *powers)
        return {"loss": loss}

    def sgd(self, variable, gradient):
        raw.ResourceApplyGradientDescent(var=variable.handle, alpha=self.task.learning_rate,
                                         delta=gradient)

    def momentum(self, variable, gradient, accumulator):
        raw.ResourceApplyMomentum(var=variable.handle, accum=accumulator.handle, momentum=0.9,
                                  lr=self.task.learning_rate, grad=gradient)

    def adam(self, variable, gradient, m, v, beta1_power, beta2_power):
        raw.ResourceApplyAdam(
            var=variable.handle, m=m.handle, v=v.handle, beta1_power=beta1_power,
            beta2_power=beta2_power, lr=self.task.learning_rate, beta1=0.9, beta2=0.999,
            epsilon=1e-8, grad=tf.convert_to_tensor(gradient))

    def adagrad(self, variable, gradient, accumulator):
        rule = {"var": variable.handle, "accum": accumulator.handle, "epsilon": 1e-10,
                "lr": self.task.learning_rate}
        if isinstance(gradient, tf.IndexedSlices):
            # As TensorFlow's optimizers do: each row once.
            rows, place = tf.unique(gradient.indices)
            summed = tf.math.unsorted_segment_sum(gradient.values, place, tf.shape(rows)[0])
            raw.ResourceSparseApplyAdagradV2(**rule, grad=summed, indices=rows)
        else:
            raw.ResourceApplyAdagradV2(**rule, grad=gradient)

    def function(self, **options):
        specs = {key: tf.TensorSpec(value.shape, value.dtype, name=key)
                 for key, value in self.task.batches[0].items()}
        return tf.function(self.train_step, **options).get_concrete_function(**specs)


def make(directory, name):
    training = Training(name)
    partial = directory / f"{name}.partial"
    tf.saved_model.save(training, str(partial), signatures={"train_step": training.function()})
    batch_files.write(partial, training.task.batches)
    partial.rename(directory / name)


def run(name, jit, threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    training = Training(name)
    step = training.function(jit_compile=jit)
    batches = [{key: tf.constant(value) for key, value in batch.items()}
               for batch in training.task.batches]
    done = 0
    for line in sys.stdin:
        answers = []
        for _ in range(int(line)):
            batch = batches[done % len(batches)]
            done += 1
            start = time.perf_counter_ns()
            loss = step(**batch)["loss"].numpy()
            answers.append(f"{time.perf_counter_ns() - start} {loss}")
        print(" ".join(answers), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make")
    maker.add_argument("directory", type=pathlib.Path)
    maker.add_argument("names", nargs="+")
    runner = commands.add_parser("run")
    runner.add_argument("name")
    runner.add_argument("--jit", action="store_true")
    runner.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.command == "run":
        run(options.name, options.jit, options.threads)
        return
    options.directory.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        make(options.directory, name)


if __name__ == "__main__":
    main()
