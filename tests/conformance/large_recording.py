"""Records graphs whose weights and inputs are generated; tests/data/README.md has the format."""

import pathlib

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from conformance import generated
from conformance.recording import add_const, session_config

# Largest error of an output, relative to the largest output, unless a case says otherwise.
TOLERANCE = 1e-5
# Elements whose values are kept, and stretches of elements of which a signed sum is.
_SAMPLES, _STRETCHES = 384, 256
_SAMPLE_SEED, _SIGN_SEED = 1, 2


class Builder:
    """What a case's function builds its graph with. All real tensors have one dtype."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.generated = {}  # placeholder -> (attributes, value)
        self._assignments = []

    def const(self, value):
        """A scalar."""
        return tf.constant(value, self.dtype)

    def input(self, name, shape, scale=1.0, offset=0.0):
        """A tensor that is fed, of numbers within `scale` of `offset`."""
        attrs = {
            "_seed": len(self.generated) + 10,
            "_scale": float(scale),
            "_offset": float(offset),
        }
        value = generated.reals(attrs["_seed"], shape, np.float32(offset), np.float32(scale))
        return self._placeholder(name, shape, self.dtype, attrs, value)

    def indices(self, name, shape, limit):
        """An int32 tensor that is fed."""
        attrs = {"_seed": len(self.generated) + 10, "_limit": limit}
        value = generated.integers(attrs["_seed"], shape, limit)
        return self._placeholder(name, shape, tf.int32, attrs, value)

    def weight(self, name, shape, scale, offset=0.0):
        """A variable that `init` gives its value; sessions that freeze make it a constant."""
        value = self.input("initial/" + name, shape, scale, offset)
        handle = tf.raw_ops.VarHandleOp(dtype=self.dtype, shape=shape, shared_name=name, name=name)
        self._assignments.append(tf.raw_ops.AssignVariableOp(resource=handle, value=value))
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=self.dtype)

    def narrow(self, x, dtype):
        """Rounds to a narrow dtype. The exact graph goes on with the rounded numbers."""
        rounded = tf.cast(x, dtype)
        return rounded if self.dtype == tf.float32 else tf.cast(rounded, self.dtype)

    def wide(self, x):
        """Converts an output to the dtype of the graph."""
        return tf.cast(x, self.dtype)

    def finish(self, output):
        """Names what a run needs."""
        tf.identity(output, name="output")
        tf.group(*self._assignments, name="init")

    def _placeholder(self, name, shape, dtype, attrs, value):
        tensor = tf.compat.v1.placeholder(dtype, shape, name=name)
        self.generated[tensor.op.name] = (attrs, value)
        return tensor


def _compute(build, dtype):
    """The graph, its generated tensors, and the output that TensorFlow computes."""
    with tf.Graph().as_default() as graph:
        builder = Builder(dtype)
        builder.finish(build(builder))
        feeds = {f"{name}:0": value for name, (_, value) in builder.generated.items()}
        with tf.compat.v1.Session(config=session_config()) as session:
            session.run("init", feeds)
            return graph.as_graph_def(), builder.generated, session.run("output:0", feeds)


def _signed_sums(values, length):
    signed = values.ravel().astype(np.float64) * generated.signs(_SIGN_SEED, values.size)
    return np.add.reduceat(signed, np.arange(0, values.size, length))


def record(directory, name, build, ran, tolerance=None, samples=_SAMPLES, stretches=_STRETCHES):
    """Writes DIRECTORY/NAME.pb and returns its path.

    A case whose output has a narrow dtype has a `tolerance` of its own. TensorFlow may be twice as
    far off there, because it rounds sums of some of the terms too.
    """
    graph, placeholders, single = _compute(build, tf.float32)
    _, _, exact = _compute(build, tf.float64)
    largest = np.abs(exact).max()
    error = np.abs(single - exact).max() / largest
    if error > (TOLERANCE / 3 if tolerance is None else 2 * tolerance):
        raise ValueError(f"{name}: TensorFlow itself is {error} off; the case is ill-conditioned")
    length = -(-exact.size // stretches)

    for node in graph.node:
        if node.name in placeholders:
            for attr, value in placeholders[node.name][0].items():
                if isinstance(value, float):
                    node.attr[attr].f = value
                else:
                    node.attr[attr].i = value
    expect = add_const(graph, "expect/exact", exact.ravel()[_positions(exact.size, samples)])
    expect.attr["_of"].s = b"output:0"
    expect.attr["_sample_seed"].i = _SAMPLE_SEED
    expect.attr["_largest"].f = largest
    expect.attr["_tolerance"].f = TOLERANCE if tolerance is None else tolerance
    expect.attr["_tensorflow_error"].f = error
    for size in exact.shape:
        expect.attr["_shape"].shape.dim.add(size=size)
    expect.attr["_ran"].list.s.extend(op.encode() for op in ran)
    expect.attr["_ran"].list.SetInParent()
    add_const(graph, "expect/tensorflow", single.ravel()[_positions(exact.size, samples)])
    sums = add_const(graph, "expect/signed_sums", _signed_sums(exact, length))
    sums.attr["_sign_seed"].i = _SIGN_SEED
    sums.attr["_length"].i = length

    path = pathlib.Path(directory) / f"{name}.pb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(graph.SerializeToString(deterministic=True))
    return path


def _positions(size, samples):
    """Where samples are: the first and last elements, and others anywhere."""
    return np.concatenate(
        [[0, size - 1], generated.integers(_SAMPLE_SEED, [samples], size).astype(np.int64)]
    )
