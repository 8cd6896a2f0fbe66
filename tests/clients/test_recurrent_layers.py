"""Recurrent layers of Keras, in the forms that loops over sequences take, answer as in TensorFlow.

Most of these loops become one op (the pass fuse_recurrence). Those with masks, other activations or
other cells stay loops, and must answer as well.
"""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from clients.client import Client, array, predict_request
from clients.server import Model, Server

layers = keras.layers
BATCH, TIME, WIDTH = 3, 7, 5

LAYERS = {
    "lstm": lambda: layers.LSTM(6),
    "lstm_sequences": lambda: layers.LSTM(6, return_sequences=True),
    "lstm_backwards": lambda: layers.LSTM(6, return_sequences=True, go_backwards=True),
    "lstm_state": lambda: layers.LSTM(6, return_state=True),
    "lstm_without_bias": lambda: layers.LSTM(6, use_bias=False),
    "lstm_relu": lambda: layers.LSTM(6, activation="relu", return_sequences=True),
    "gru": lambda: layers.GRU(6),
    "gru_sequences": lambda: layers.GRU(6, return_sequences=True),
    "gru_backwards": lambda: layers.GRU(6, return_sequences=True, go_backwards=True),
    "gru_without_bias": lambda: layers.GRU(6, use_bias=False),
    "gru_reset_before": lambda: layers.GRU(6, reset_after=False, return_sequences=True),
    # Wide enough for several threads, each with rows of its own.
    "lstm_wide": lambda: layers.LSTM(256, return_sequences=True),
    "gru_wide": lambda: layers.GRU(256),
    "bidirectional_lstm": lambda: layers.Bidirectional(layers.LSTM(6, return_sequences=True)),
    "stacked_cells": lambda: layers.RNN([layers.LSTMCell(4), layers.LSTMCell(6)]),
    "simple": lambda: layers.SimpleRNN(6, return_sequences=True),
}
CASES = [
    *itertools.product(LAYERS, ("fixed", "any_length")),
    *itertools.product(("lstm_sequences", "gru"), ("masked",)),
]


def network(name, form):
    x = layers.Input((None if form == "any_length" else TIME, WIDTH))
    y = layers.Masking(0.0)(x) if form == "masked" else x
    return keras.Model(x, LAYERS[name]()(y))


def function_of(net):
    spec = tf.TensorSpec((None, *net.input_shape[1:]), tf.float32, name="x")
    return tf.function(
        lambda x: {f"y{i}": y for i, y in enumerate(tf.nest.flatten(net(x)))},
        input_signature=[spec],
    )


@pytest.fixture(scope="module", name="answers")
def _answers(tmp_path_factory):
    """{(name, form): ([TensorFlow's answers], [the server's answers])}"""
    root = tmp_path_factory.mktemp("recurrent")
    x = np.random.default_rng(1).standard_normal((BATCH, TIME, WIDTH)).astype(np.float32)
    x[1, 3:] = 0  # what a mask hides
    expected = {}
    for name, form in CASES:
        keras.utils.clear_session()
        keras.utils.set_random_seed(1)
        net = network(name, form)
        for weight in net.trainable_weights:
            stddev = min(0.5, 2 * weight.shape[-1] ** -0.5)
            weight.assign(keras.random.normal(weight.shape, stddev=stddev))
        call = function_of(net)
        module = tf.Module()
        module.net, module.call = net, call
        tf.saved_model.save(module, str(root / f"{name}_{form}" / "1"), signatures=call)
        expected[name, form] = {key: y.numpy() for key, y in call(tf.constant(x)).items()}
    models = [Model(f"{name}_{form}", root / f"{name}_{form}") for name, form in CASES]
    with Server(models=models) as server, Client(server) as client:
        answers = {}
        for (name, form), want in expected.items():
            outputs = client.predict(predict_request(f"{name}_{form}", {"x": x})).outputs
            answers[name, form] = want, {key: array(y) for key, y in outputs.items()}
    return answers


@pytest.mark.parametrize("name,form", CASES)
def test_answers_are_those_of_tensorflow(answers, name, form):
    want, got = answers[name, form]
    assert want.keys() == got.keys()
    for key, value in want.items():
        np.testing.assert_allclose(got[key], value, 1e-5, 1e-5)
        assert np.abs(value).max() > 0


def gradients(order, forget_bias, batch, reads_inside=False, project_inside=False):
    """A function that gives the gradients of an LSTM which is written as a loop."""
    units = 6
    random = np.random.default_rng(2)
    kernel, recurrent = (
        tf.Variable(random.normal(0, 0.5, (rows, 4 * units)).astype(np.float32))
        for rows in (WIDTH, units)
    )

    def loss_of(x):
        series = tf.transpose(x, (1, 0, 2))
        weights = recurrent if reads_inside else recurrent.read_value()
        if not project_inside:
            series = tf.einsum("tbi,ij->tbj", series, kernel)
        inputs = tf.TensorArray(tf.float32, TIME).unstack(series)

        def step(time, h, c):
            at = inputs.read(time)
            sums = (tf.matmul(at, kernel) if project_inside else at) + tf.matmul(h, weights)
            gates = tf.split(sums, 4, axis=1)
            i, f, g, o = (gates[order.index(gate)] for gate in "ifgo")
            c = tf.sigmoid(f + forget_bias if forget_bias else f) * c + tf.sigmoid(i) * tf.tanh(g)
            return time + 1, tf.sigmoid(o) * tf.tanh(c), c

        h = tf.ones((batch or tf.shape(x)[0], units)) * 0.1
        _, h, c = tf.while_loop(
            lambda time, *_: time < TIME, step, (0, h, 2 * h), maximum_iterations=TIME
        )
        return tf.reduce_sum(h * h) + tf.reduce_sum(tf.sin(c))

    @tf.function(input_signature=[tf.TensorSpec((batch, TIME, WIDTH), tf.float32, name="x")])
    def call(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = loss_of(x)
        found = tape.gradient(loss, [x, kernel, recurrent])
        return {"loss": loss, **{f"d{i}": gradient for i, gradient in enumerate(found)}}

    module = tf.Module()
    module.call, module.weights = call, [kernel, recurrent]
    return module


GRADIENTS = {
    "keras_order": {"order": "ifgo", "forget_bias": 0.0, "batch": BATCH},
    "other_order": {"order": "fogi", "forget_bias": 0.0, "batch": BATCH},
    "forget_bias": {"order": "igfo", "forget_bias": 1.0, "batch": BATCH},
    "reads_inside": {"order": "ifgo", "forget_bias": 0.0, "batch": BATCH, "reads_inside": True},
    "any_batch": {"order": "ifgo", "forget_bias": 0.0, "batch": None},
    "products_inside": {"order": "ifgo", "forget_bias": 0.0, "batch": BATCH,
                        "project_inside": True},
}


def test_gradients_of_loops_are_those_of_tensorflow(tmp_path):
    x = np.random.default_rng(3).standard_normal((BATCH, TIME, WIDTH)).astype(np.float32)
    expected = {}
    for name, form in GRADIENTS.items():
        module = gradients(**form)
        tf.saved_model.save(module, str(tmp_path / name / "1"), signatures=module.call)
        expected[name] = {key: y.numpy() for key, y in module.call(tf.constant(x)).items()}
    models = [Model(name, tmp_path / name) for name in GRADIENTS]
    with Server(models=models) as server, Client(server) as client:
        for name, want in expected.items():
            outputs = client.predict(predict_request(name, {"x": x})).outputs
            assert outputs.keys() == want.keys()
            for key, value in want.items():
                np.testing.assert_allclose(
                    array(outputs[key]), value, 1e-4, 1e-5, err_msg=f"{name} {key}"
                )
