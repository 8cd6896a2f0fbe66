"""Models that Keras 3 saves, each in the two ways it has, answer as in TensorFlow.

tf.saved_model.save() writes a graph whose restore op assigns copies of the variables that its
signatures read. tf.saved_model.load() finds their values by the object graph, and the server must as
well. TensorFlow's Session cannot.
"""

import itertools
import pathlib
import tempfile

import keras
import numpy as np
import pytest
import tensorflow as tf

from clients.client import Client, array, predict_request
from clients.server import Model, Server

layers = keras.layers
SOURCES = tempfile.TemporaryDirectory()


def sequential():
    return keras.Sequential(
        [layers.Input((4,)), layers.Dense(8, activation="relu"), layers.Dense(3)]
    )


def functional():
    """Two of its variables change in training only."""
    x = layers.Input((4,))
    y = layers.BatchNormalization(beta_initializer="ones")(layers.Dense(8)(x))
    return keras.Model(x, layers.Dense(3)(y))


def trained():
    net = sequential()
    net.compile("adam", "mse")
    net.fit(np.ones((4, 4)), np.zeros((4, 3)), verbose=0)
    return net


def lstm():
    """The body of a loop reads the variables."""
    return keras.Sequential([layers.Input((5, 4)), layers.LSTM(6), layers.Dense(3)])


def string_lookup():
    x = layers.Input((2,), dtype="string")
    ids = layers.StringLookup(vocabulary=["a", "b", "c"])(x)
    return keras.Model(x, layers.Embedding(5, 3)(ids))


def integer_lookup():
    """Its vocabulary is in a file, and becomes an asset."""
    file = pathlib.Path(SOURCES.name) / "ids.txt"
    file.write_text("10\n20\n-3\n", encoding="utf-8")
    x = layers.Input((3,), dtype="int64")
    return keras.Model(x, layers.Embedding(5, 3)(layers.IntegerLookup(vocabulary=str(file))(x)))


def dropout():
    """Its generator of seeds is a variable."""
    return keras.Sequential(
        [layers.Input((4,)), layers.GaussianNoise(0.1), layers.Dropout(0.5), layers.Dense(3)]
    )


def export(net, folder):
    net.export(folder, verbose=False)


SAVED = [
    *itertools.product(
        (sequential, functional, trained, lstm, string_lookup), (tf.saved_model.save, export)
    ),
    (integer_lookup, export),
    # Its seeds are not saved by tf.saved_model.save(), which says so.
    (dropout, export),
]


def name_of(make, way):
    return f"{make.__name__}_{way.__name__}"


@pytest.fixture(scope="module", name="answers")
def _answers(tmp_path_factory):
    """{name: (input's alias, input, TensorFlow's answer, the server's answer)}"""
    root = tmp_path_factory.mktemp("keras")
    expected = {}
    for make, way in SAVED:
        keras.utils.clear_session()
        folder = root / name_of(make, way)
        way(make(), str(folder / "1"))
        signature = tf.saved_model.load(str(folder / "1")).signatures["serving_default"]
        ((alias, spec),) = signature.structured_input_signature[1].items()
        shape = [size or 2 for size in spec.shape]
        if spec.dtype == tf.string:
            x = np.resize(np.array([b"b", b"d", b"a"], dtype=object), shape)
        elif spec.dtype == tf.int64:
            x = np.resize(np.array([-3, 99, 10]), shape)
        else:
            x = np.linspace(-1, 1, np.prod(shape), dtype=np.float32).reshape(shape)
        (answer,) = signature(**{alias: tf.constant(x)}).values()
        expected[folder.name] = alias, x, answer.numpy()
    models = [Model(name, root / name) for name in expected]
    with Server(models=models) as server, Client(server) as client:
        answers = {}
        for name, (alias, x, answer) in expected.items():
            (output,) = client.predict(predict_request(name, {alias: x})).outputs.values()
            answers[name] = answer, array(output)
        log = server.log(last_lines=1000)
    assert "has no value yet" not in log
    return answers


@pytest.mark.parametrize("name", [name_of(*saved) for saved in SAVED])
def test_answers_are_those_of_tensorflow(answers, name):
    expected, got = answers[name]
    np.testing.assert_allclose(got, expected, 1e-5, 1e-6)
    assert np.abs(expected).max() > 0


class Vocabulary(tf.Module):
    """In its graph the path of the vocabulary has the name that the weights have outside of it."""

    def __init__(self, path):
        super().__init__()
        self.rows = tf.Variable(tf.reshape(tf.range(24.0), (4, 6)), name="Variable")
        words = tf.lookup.TextFileInitializer(
            str(path),
            key_dtype=tf.string,
            key_index=tf.lookup.TextFileIndex.WHOLE_LINE,
            value_dtype=tf.int64,
            value_index=tf.lookup.TextFileIndex.LINE_NUMBER,
        )
        self.table = tf.lookup.StaticVocabularyTable(words, num_oov_buckets=1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="x")])
    def __call__(self, x):
        return {"y": tf.gather(self.rows, self.table[x])}


def test_names_alone_do_not_decide(tmp_path):
    (tmp_path / "words").write_text("a\nb\nc\n", encoding="utf-8")
    net = Vocabulary(tmp_path / "words")
    tf.saved_model.save(net, str(tmp_path / "m" / "1"), signatures=net.__call__)
    x = np.array([b"c", b"a", b"other"], dtype=object)
    with Server(models=[Model("m", tmp_path / "m")]) as server, Client(server) as client:
        (output,) = client.predict(predict_request("m", {"x": x})).outputs.values()
    np.testing.assert_array_equal(array(output), net(tf.constant(x))["y"].numpy())
