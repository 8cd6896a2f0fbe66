#!/usr/bin/env python3
"""Exports Keras models from its JAX backend, and a program of JAX itself, with JAX's answers: MODEL/1
and MODEL.json beside it.

    "$(scripts/python_env jax)" tests/data/stablehlo/record.py

The models hold StableHLO in XlaCallModule nodes, for batches of any size. Weights are random, and the
same in each recording.
"""
import json
import os
import pathlib
import shutil
import sys

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_TRACEBACK_IN_LOCATIONS_LIMIT"] = "0"  # no paths of this machine in the models
os.environ["JAX_HLO_SOURCE_FILE_CANONICALIZATION_REGEX"] = ".*/"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import jax
import jax.numpy as jnp
import keras
import numpy as np
import tensorflow as tf
from jax.experimental import jax2tf
from keras import layers
from tensorflow.core.protobuf import saved_model_pb2

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1]))

from conformance import debug_information


def mlp():
    return keras.Sequential(
        [
            keras.Input((16,)),
            layers.Dense(24, activation="relu"),
            layers.Dense(24, activation="gelu"),
            layers.Dense(5, activation="softmax"),
        ]
    )


def cnn():
    return keras.Sequential(
        [
            keras.Input((12, 12, 1)),
            layers.Conv2D(6, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(8, 3, padding="same", strides=2),
            layers.BatchNormalization(),
            layers.DepthwiseConv2D(3, padding="same"),
            layers.AveragePooling2D(2, padding="same"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, activation="softmax"),
        ]
    )


def lstm():
    return keras.Sequential(
        [
            keras.Input((8,), dtype="int32"),
            layers.Embedding(20, 6),
            layers.LSTM(8),
            layers.Dense(3),
        ]
    )


def signal(x):
    """Fourier transforms, and depthwise filters with dilations or with strides of one direction."""
    smooth = jnp.fft.irfft(jnp.fft.rfft(x) * jnp.linspace(1, 0.2, 9))
    squares = jnp.reshape(x, (-1, 4, 4)) + 1j * jnp.reshape(smooth, (-1, 4, 4))
    back = jnp.fft.ifft2(jnp.fft.fft2(squares) * 1j)
    parts = [jnp.real(back), jnp.imag(back)]
    kernel = jnp.sin(jnp.arange(12.0)).reshape(3, 1, 4)
    for strides, dilation in (((2,), (1,)), ((1,), (2,))):
        parts.append(
            jax.lax.conv_general_dilated(
                jnp.reshape(smooth, (-1, 8, 2)),
                kernel,
                strides,
                "SAME",
                rhs_dilation=dilation,
                feature_group_count=2,
                dimension_numbers=("NWC", "WIO", "NWC"),
            )
        )
    return jnp.concatenate([jnp.reshape(part, (x.shape[0], -1)) for part in parts], axis=1)


def numbers(x):
    """Numbers as XLA treats them: the order of NaN, quotients by zero, integers without room."""
    rows = jnp.where(x > 0.8, jnp.nan, x)
    whole = (x * 300).astype(jnp.int8)
    positive = jax.lax.bitcast_convert_type((x * 1e6).astype(jnp.int32), jnp.uint32)
    images = jnp.reshape(x, (-1, 2, 4, 2))
    kernel = jnp.cos(jnp.arange(24.0)).reshape(2, 3, 1, 4)
    parts = [
        jnp.sort(rows, 1),
        jnp.argsort(rows, 1),
        *jax.lax.top_k(rows, 3),
        jax.lax.approx_min_k(x, 2)[1],
        jax.lax.erf(x),
        whole,
        whole // jnp.int8(7) + whole % jnp.int8(7),
        jax.lax.div(whole, jnp.flip(whole // 100, 1)),
        jax.lax.rem(whole, jnp.flip(whole // 100, 1)),
        -positive % 1000,
        jax.lax.clz(whole),
        jax.lax.dot(whole, jnp.arange(16, dtype=jnp.int8)),
        jax.lax.reduce_precision(x, 5, 3),
        (x * 1e20).astype(jnp.uint16),
        jax.lax.conv_general_dilated(
            jnp.repeat(images, 2, 3)[..., :2],
            kernel,
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=2,
        ),
    ]
    return jnp.concatenate(
        [jnp.reshape(part, (x.shape[0], -1)).astype(jnp.float32) for part in parts], axis=1
    )


def sizes(x):
    """Images of any size, which convolutions and pools pad as their sizes need it."""
    kernel = jnp.sin(jnp.arange(36.0)).reshape(3, 3, 2, 2)
    numbers = ("NHWC", "HWIO", "NHWC")
    y = jax.lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=numbers)
    y = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    return jax.lax.conv_transpose(y, kernel, (2, 2), "SAME")


def matrices(x):
    """Linear algebra, for which JAX calls LAPACK. Vectors whose signs are open stand by magnitude."""
    a = jnp.reshape(x, (-1, 4, 4))
    tall = a[:, :, :2]
    positive = a @ jnp.swapaxes(a, 1, 2) + jnp.eye(4)
    values, vectors = jnp.linalg.eigh(positive)
    left, singular, right = jnp.linalg.svd(tall, full_matrices=False)
    complex_values, complex_vectors = jnp.linalg.eig(a)
    rest = a @ complex_vectors - complex_vectors * complex_values[:, None, :]
    system = jax.lax.linalg.triangular_solve
    triangle, vectors_of_schur = jax.scipy.linalg.schur(positive)
    parts = [
        jnp.linalg.cholesky(positive),
        jnp.linalg.cholesky(positive - 2 * jnp.eye(4)),  # NaN
        system(positive, jnp.swapaxes(tall, 1, 2), lower=True, transpose_a=True),
        system(positive, tall, left_side=True, unit_diagonal=True),
        jnp.linalg.inv(positive),
        jnp.linalg.det(a),
        *jax.scipy.linalg.lu_factor(a),
        *jnp.linalg.qr(tall, mode="complete"),
        *jnp.linalg.qr(a),
        values,
        jnp.abs(vectors),
        singular,
        jnp.abs(left),
        jnp.abs(right),
        jnp.linalg.svd(a, compute_uv=False),
        jnp.abs(rest),
        jnp.sum(jnp.abs(complex_values), axis=1),
        vectors_of_schur @ triangle @ jnp.swapaxes(vectors_of_schur, 1, 2),
        *jax.lax.linalg.hessenberg(a),
        *jax.lax.linalg.tridiagonal(positive),
    ]
    return jnp.concatenate(
        [jnp.reshape(part, (x.shape[0], -1)).astype(jnp.float32) for part in parts], axis=1
    )


def strip(path):
    """Takes out what only debuggers read."""
    model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    debug_information.strip(model)
    path.write_bytes(model.SerializeToString(deterministic=True))


def save_program(program, x, shape=None, dimensions="b, ..."):
    """Saves a function of one array, for batches of any size, as the node alone."""
    name = program.__name__
    shape = shape or (None, *x.shape[1:])
    path = FOLDER / name / "1"
    shutil.rmtree(path, ignore_errors=True)
    convert = jax2tf.convert(
        program, polymorphic_shapes=[dimensions], with_gradient=False, native_serialization=True
    )
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        placeholder = tf.compat.v1.placeholder(tf.float32, shape, name="x")
        outputs = {"y": convert(placeholder)}
        tf.compat.v1.saved_model.simple_save(session, str(path), {"x": placeholder}, outputs)
    shutil.rmtree(path / "variables", ignore_errors=True)
    strip(path / "saved_model.pb")
    write_answers(name, x, np.asarray(program(jnp.asarray(x))))


def write_answers(name, x, y):
    text = json.dumps({"instances": x.tolist(), "predictions": y.tolist()})
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def main():
    wave = np.cos(np.arange(120, dtype=np.float32) ** 2)
    save_program(signal, wave[:32].reshape(2, 16))
    save_program(numbers, wave[:48].reshape(3, 16))
    save_program(matrices, wave[:48].reshape(3, 16))
    save_program(sizes, wave.reshape(2, 5, 6, 2), (None, None, None, 2), "b, h, w, ...")
    for make in (mlp, cnn, lstm):
        keras.utils.set_random_seed(7)
        random = np.random.default_rng(7)
        name = make.__name__
        model = make()
        path = FOLDER / name / "1"
        shutil.rmtree(path, ignore_errors=True)
        archive = keras.export.ExportArchive()
        archive.track(model)
        spec = tf.TensorSpec((None, *model.input_shape[1:]), model.inputs[0].dtype, name="x")
        archive.add_endpoint(
            "serve", model.__call__, input_signature=[spec], jax2tf_kwargs={"with_gradient": False}
        )
        archive.write_out(str(path), verbose=False)
        (path / "fingerprint.pb").unlink()
        strip(path / "saved_model.pb")
        shape = (3, *model.input_shape[1:])
        if spec.dtype == tf.int32:
            x = random.integers(0, 20, shape)
        else:
            x = random.normal(size=shape).astype(np.float32)
        write_answers(name, x, np.asarray(model(x)))


if __name__ == "__main__":
    main()
