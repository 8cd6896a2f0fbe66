#!/usr/bin/env python3
"""Steps of models that Keras exports from its JAX backend, as StableHLO, next to TensorFlow's.

    scripts/bench jax_models [--batches 1,32] [--threads N] [--seconds S] [--runner FILE]

TensorFlow runs the same SavedModel: XLA compiles its module for each shape. Turns and columns are
those of `scripts/bench model`.
"""
import argparse
import os
import pathlib
import sys

os.environ["KERAS_BACKEND"] = "jax"

import keras
import model
import numpy as np
import programs
import tensorflow as tf
from keras import layers
from model_process import ModelProcess


def mlp():
    return keras.Sequential([keras.Input((784,)), layers.Dense(1024, activation="relu"),
                             layers.Dense(1024, activation="gelu"), layers.Dense(10)])


def cnn():
    stages = []
    for filters in (64, 128, 256):
        stages += [layers.Conv2D(filters, 3, padding="same"), layers.BatchNormalization(),
                   layers.ReLU(), layers.MaxPooling2D()]
    return keras.Sequential([keras.Input((64, 64, 3)), *stages, layers.GlobalAveragePooling2D(),
                             layers.Dense(10, activation="softmax")])


def lstm():
    return keras.Sequential([keras.Input((100,), dtype="int32"), layers.Embedding(1000, 128),
                             layers.LSTM(256), layers.Dense(3)])


def transformer():
    tokens = keras.Input((128,), dtype="int32")
    x = layers.Embedding(1000, 256)(tokens)
    for _ in range(4):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(8, 32)(x, x))
        x = layers.LayerNormalization()(
            x + layers.Dense(256)(layers.Dense(1024, activation="gelu")(x)))
    return keras.Model(tokens, layers.Dense(4)(layers.GlobalAveragePooling1D()(x)))


MODELS = {make.__name__: make for make in (mlp, cnn, lstm, transformer)}


def export(name, directory):
    """Writes the model with random weights, if it is not there already."""
    path = directory / name / "1"
    if path.exists():
        return
    keras.utils.set_random_seed(7)
    keras_model = MODELS[name]()
    (spec,) = keras_model.inputs
    archive = keras.export.ExportArchive()
    archive.track(keras_model)
    archive.add_endpoint(
        "serving_default", lambda x: {"output": keras_model(x)},
        input_signature=[tf.TensorSpec(spec.shape, spec.dtype, name="x")],
        jax2tf_kwargs={"with_gradient": False})
    archive.write_out(str(path), verbose=False)


def input_of(name, batch):
    random = np.random.default_rng(batch)
    spec = MODELS[name]().inputs[0]
    shape = (batch, *spec.shape[1:])
    if spec.dtype == "int32":
        return {"x": random.integers(0, 1000, shape, dtype=np.int32)}
    return {"x": random.standard_normal(shape, dtype=np.float32)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=lambda text: [int(x) for x in text.split(",")],
                        default=[1, 32])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4.0, help="of measuring, a contestant")
    parser.add_argument("--runner", help="a model_runner that is built already")
    parser.add_argument("--directory", type=pathlib.Path,
                        default=model.make_models.default_directory() / "jax")
    args = parser.parse_args()
    runner = args.runner or programs.build(model.RUNNER) / model.RUNNER
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    programs.print_head("model", "batch", "threads", "Tessera", "TensorFlow", "ratio to it", "error")
    errors = []
    for name in MODELS:
        export(name, args.directory)
        tessera = ModelProcess(runner, args.directory / name / "1", args.threads)
        tensorflow = model.Timed(model.TensorFlow(args.directory, name, args.threads))
        for batch in args.batches:
            result = model.compare({"Tessera": tessera, "TensorFlow": tensorflow},
                                   input_of(name, batch), args.seconds)
            ours, theirs = result["Tessera"], result["TensorFlow"]
            programs.print_row(name, batch, args.threads, model.milliseconds(ours),
                               model.milliseconds(theirs), model.ratio(ours, theirs),
                               f"{ours[2]:.0e}")
            errors.append(ours[2])
        tessera.close()
    if max(errors) > model.TOLERANCE:
        sys.exit("jax_models: an output differs from TensorFlow's")


if __name__ == "__main__":
    main()
