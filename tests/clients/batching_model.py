"""A model that tells which requests ran together, written with TensorFlow.

Signatures, of which x is float with a first dimension:
  look     x -> y = x / 2 + 2; rows, sum: in each row, how many rows the run had and their sum
  held     x -> y = x / 2 + 2, once the gate is open
  add      a, b -> y = a + b
  total    x -> total, a scalar
  pick     i (int32) -> y, entry i of ten; INVALID_ARGUMENT for others
"""

import tensorflow as tf


class Model(tf.Module):
    """See above."""

    def __init__(self, gate):
        super().__init__()
        self.gate = gate

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32, name="x")])
    def look(self, x):
        rows = tf.shape(x)[0]
        return {
            "y": x / 2 + 2,
            "rows": tf.fill([rows], rows),
            "sum": tf.fill([rows], tf.reduce_sum(x)),
        }

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32, name="x")])
    def held(self, x):
        def is_shut(turn):
            # A path that no optimiser can know, so that the file is read in every turn.
            path = tf.strings.join([self.gate.path, tf.strings.as_string(turn // 2**30)])
            return tf.not_equal(tf.io.read_file(path), "open")

        turns = tf.while_loop(is_shut, lambda turn: (turn + 1,), [0])[0]
        return {"y": x / 2 + 2 + 0 * tf.cast(turns, tf.float32)}

    @tf.function(
        input_signature=[
            tf.TensorSpec(None, tf.float32, name="a"),
            tf.TensorSpec(None, tf.float32, name="b"),
        ]
    )
    def add(self, a, b):
        return {"y": a + b}

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32, name="x")])
    def total(self, x):
        return {"total": tf.reduce_sum(x)}

    @tf.function(input_signature=[tf.TensorSpec(None, tf.int32, name="i")])
    def pick(self, i):
        return {"y": tf.gather(tf.range(10.0), i)}


def save(folder, gate):
    """Writes version 1 into `folder`."""
    model = Model(gate)
    signatures = {
        name: getattr(model, name).get_concrete_function()
        for name in ("look", "held", "add", "total", "pick")
    }
    tf.saved_model.save(model, str(folder / "1"), signatures=signatures)
