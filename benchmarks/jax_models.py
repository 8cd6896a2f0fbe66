#!/usr/bin/env python3
"""Steps of models that Keras exports from its JAX backend, as StableHLO, next to TensorFlow's.

    scripts/bench jax_models [--batches 1,32] [--threads N] [--seconds S] [--runner FILE]

TensorFlow runs the same SavedModel: XLA compiles its module for each shape. Turns and columns are
those of `scripts/bench model`.
"""
import os

os.environ["KERAS_BACKEND"] = "jax"

import exported_models
import keras
import numpy as np
import tensorflow as tf
from keras import layers


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


if __name__ == "__main__":
    exported_models.main("jax", __doc__, MODELS, export, input_of, batches=[1, 32])
