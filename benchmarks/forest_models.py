#!/usr/bin/env python3
"""Steps of decision forests, next to TensorFlow's and those of YDF's own engine.

    scripts/bench forest_models [--batches 1,100] [--threads N] [--seconds S] [--runner FILE]

YDF trains the forests on made-up tables and exports them with a tensor for each column. TensorFlow
runs the same SavedModel with the ops of ydf-tf. YDF's engine has one thread, gets rows that lie in
its own form already, and tells the mean of many steps, so that its minimum is the best of such
means. Turns and columns are those of `scripts/bench model`.
"""
import exported_models
import numpy as np
import tensorflow as tf
import ydf
import ydf_tf  # noqa: F401, registers the ops

ydf.verbose(0)

COLUMNS = 28
ROWS = 20_000


def numbers(rows, seed):
    random = np.random.default_rng(seed)
    return {f"x{i:02}": random.standard_normal(rows, dtype=np.float32) for i in range(COLUMNS)}


def table():
    columns = numbers(ROWS, 1)
    target = columns["x00"] * columns["x01"] + np.sin(3 * columns["x02"]) + sum(columns.values())
    return {**columns, "sign": (target > 0).astype(int),
            "third": np.digitize(target, np.percentile(target, [33, 66])), "target": target}


def boosted(label, task=ydf.Task.CLASSIFICATION):
    return ydf.GradientBoostedTreesLearner(
        label=label, task=task, features=list(numbers(1, 1)), num_trees=300, max_depth=6,
        validation_ratio=0.0)


def bagged(label, task=ydf.Task.CLASSIFICATION):
    return ydf.RandomForestLearner(
        label=label, task=task, features=list(numbers(1, 1)), num_trees=100, max_depth=16,
        compute_oob_performances=False)


MODELS = {
    "boosted_sign": lambda: boosted("sign"),
    "boosted_third": lambda: boosted("third"),
    "bagged_sign": lambda: bagged("sign"),
    "bagged_target": lambda: bagged("target", ydf.Task.REGRESSION),
}


def export(name, directory):
    """Trains the forest and writes it, if it is not there already."""
    path = directory / name
    if path.exists():
        return
    forest = MODELS[name]().train(table(), verbose=0)
    forest.to_tensorflow_saved_model(str(path / "1"), mode="tf")
    forest.save(str(path / "ydf"))


def input_of(name, batch):
    return numbers(batch, batch)


class Engine:
    """YDF's engine in this process."""

    LABEL = "YDF"
    SECONDS = 0.02  # of steps whose mean is told

    def __init__(self, directory, name, threads):
        self._forest = ydf.load_model(str(directory / name / "ydf"))

    def feed(self, inputs):
        self._inputs = inputs

    def output(self):
        return self._forest.predict(self._inputs)

    def run(self, steps):
        """Mean seconds of a step, once for each of `steps`."""
        batch = len(next(iter(self._inputs.values())))
        means = [self._forest.benchmark(self._inputs, benchmark_duration=self.SECONDS,
                                        warmup_duration=0.001, batch_size=batch, num_threads=1)
                 for _ in range(steps)]
        return [mean.duration_per_example * batch for mean in means]


if __name__ == "__main__":
    exported_models.main("forests", __doc__, MODELS, export, input_of, batches=[1, 100],
                         peers=[Engine])
