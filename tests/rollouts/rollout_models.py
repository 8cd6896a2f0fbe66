"""Versions of a model for tests of rollouts: a good one, and a bad one of each kind.

All take `x`, a vector of floats, and answer `y`; of the renamed ones the input is called `z`. The
good versions answer 2 x + 1.
"""

import tensorflow as tf

# Turns of a loop that stands for the work of a version, each a product of some tens of microseconds.
TURNS = 20
KINDS = ("good", "errors", "renamed", "slow", "nan", "wrong")


def save(folder, kind):
    """Saves a version of this kind into a folder. Bad versions say so in what they answer."""

    name = "z" if kind == "renamed" else "x"

    class Version(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.eye(128))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name=name)])
        def __call__(self, x):
            turns = 4 * TURNS if kind == "slow" else TURNS

            def turn(i, m):
                return i + 1, tf.matmul(m, self.w)

            start = tf.eye(128) + 0.0 * x[0]  # nothing to compute before the request
            _, m = tf.while_loop(lambda i, _: i < turns, turn, [tf.constant(0), start])
            y = 2.0 * x + m[0, 0]
            if kind == "nan":
                y = tf.math.log(-1.0 - y * y)
            if kind == "wrong":
                y = y + 5.0
            if kind == "errors":
                with tf.control_dependencies([tf.debugging.Assert(x[0] < -1e9, ["a bad version"])]):
                    y = tf.identity(y)
            return {"y": y}

    module = Version()
    tf.saved_model.save(module, str(folder), signatures=module.__call__)
