"""What the benchmarks' ratios are made of."""

import sys

import numpy as np
import pytest

from clients.server import REPOSITORY

sys.path.append(str(REPOSITORY / "benchmarks"))

# pylint: disable=wrong-import-position
import model
import programs
from tensorflow_calls import PreparedCall, Step, TensorFlowPeer, fastest, session_config, tf, tf1

TIMES = {
    "ours": [1.0],
    "TensorFlow, default": [9.0, 8.0, 30.0],
    "empty call, default": [3.0, 2.0],
    "TensorFlow, single-threaded": [7.0, 9.0, 8.0],
    "empty call, single-threaded": [0.5, 4.0],
}


def without(*names):
    return {name: times for name, times in TIMES.items() if name not in names}


@pytest.mark.parametrize(
    "times, expected",
    [
        # The default executor takes 8 - 2, the other one 7 - 0.5.
        (TIMES, Step("default", 6.0, 7.0, 2.0)),
        (
            {**TIMES, "TensorFlow, single-threaded": [6.0, 9.0, 8.0]},
            Step("single-threaded", 5.5, 7.5, 0.5),
        ),
        (without("TensorFlow, single-threaded"), Step("default", 6.0, 7.0, 2.0)),
        # A step is never free, however long the empty call took.
        ({**TIMES, "empty call, default": [20.0]}, Step("default", 1e-9, 1e-9, 20.0)),
    ],
)
def test_faster_executor_counts_without_its_call(times, expected):
    assert fastest(times) == expected


def prepared(executor):
    """Twice x, by a session that takes the default executor only."""
    if executor:
        raise tf.errors.UnimplementedError(None, None, "no such executor")
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        fetches = [(x * 2).name, (x + 1).name]
    session = tf1.Session(graph=graph, config=session_config(executor))
    return PreparedCall(session, {"x:0": np.array([1, 2], np.float32)}, fetches)


def test_peer_leaves_out_an_executor_that_refuses_the_graph():
    calls = TensorFlowPeer(prepared).calls
    assert list(calls) == ["TensorFlow, default", "empty call, default"]
    np.testing.assert_array_equal(calls["TensorFlow, default"].results(), [[2, 4], [2, 3]])
    assert calls["empty call, default"].results() == [1, 1]
    assert len(calls["empty call, default"].run(3)) == 3


def test_ratios_are_of_minima_and_of_medians():
    assert programs.ratio([4, 2, 9], [8, 16, 5]) == "0.400 (0.500)"
    assert programs.best_and_median([4e-6, 2e-6, 9e-6], 1e-6) == "2.0 (4.0)"


def test_baseline_that_was_not_built_is_named(tmp_path):
    (tmp_path / "tessera").touch()
    assert programs.of_baseline(tmp_path, "tessera") == tmp_path
    with pytest.raises(SystemExit, match="lacks benchmarks/model_runner"):
        programs.of_baseline(tmp_path, "tessera", "benchmarks/model_runner")


def test_fastest_call_is_that_with_the_best_run():
    clock = iter([0, 9, 10, 13, 20, 24, 30, 34])  # runs of 9 and 3, and of 4 and 4
    calls = [lambda: "first", lambda: "second"]
    assert model.fastest_call(calls, steps=2, clock=lambda: next(clock)) is calls[0]


def test_peer_of_models_runs_with_and_without_variables(tmp_path):
    class Product(tf.Module):
        def __init__(self):
            self.weights = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

        @tf.function(input_signature=[
            tf.TensorSpec([None, 2], tf.float32, "x"), tf.TensorSpec([2], tf.float32, "bias")])
        def run(self, x, bias):
            return {"output": x @ self.weights + bias}

    product = Product()
    tf.saved_model.save(product, str(tmp_path / "product" / "1"), product.run)
    peer = model.TensorFlow(tmp_path, "product", 1)
    inputs = {"bias": np.float32([10, 20]), "x": np.float32([[1, 1]])}

    results = [call() for call in peer.calls(inputs)]
    np.testing.assert_array_equal(results, [[[14, 26]], [[14, 26]]])
    peer.feed(inputs)
    np.testing.assert_array_equal(peer.run(), [[14, 26]])


def test_signature_that_writes_a_variable_runs_as_it_is_loaded(tmp_path):
    class Counter(tf.Module):
        def __init__(self):
            self.count = tf.Variable(0.0)

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32, "x")])
        def run(self, x):
            return {"output": self.count.assign_add(x)}

    counter = Counter()
    tf.saved_model.save(counter, str(tmp_path / "counter" / "1"), counter.run)
    (call,) = model.TensorFlow(tmp_path, "counter", 1).calls({"x": np.float32(2)})
    assert [call(), call()] == [2, 4]
