"""A model whose graph joins requests by itself, written with TensorFlow's batching ops.

Signatures, of which x is [N, 2] floats; y = x W + 1; rows: in each row, how many the run had:
  joined   x -> y, rows; batches of 4 rows, which are waited for
  padded   x -> y, rows; batches of 2 or 4 rows, which wait for nobody
  split    x -> y, rows; up to 8 rows, in batches of 2
  full     x -> y, rows; batches of 4 rows, of which one may wait
  pair     a, b -> y = a + b, joined by first dimensions that must agree
"""

import pathlib

import tensorflow as tf

FOREVER = 3600 * 1000 * 1000
WEIGHTS = [[1.0, 2.0], [3.0, 4.0]]


def save_in_graph_batching_model(folder):
    """Writes a version into `folder`."""

    class Model(tf.Module):
        """See above."""

        def __init__(self):
            super().__init__()
            self.w = tf.Variable(WEIGHTS)

        def layer(self, x):
            rows = tf.shape(x)[0]
            return tf.matmul(x, self.w) + 1, tf.fill([rows], rows)

    model = Model()
    spec = tf.TensorSpec([None, 2], tf.float32, name="x")

    def signature(max_batch_size, timeout, **options):
        batched = tf.nondifferentiable_batch_function(1, max_batch_size, timeout, **options)(
            model.layer
        )

        @tf.function(input_signature=[spec])
        def run(x):
            y, rows = batched(x)
            return {"y": y, "rows": rows}

        return run

    add = tf.nondifferentiable_batch_function(1, 4, 1000)(lambda a, b: a + b)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.float32, name="a"),
            tf.TensorSpec([None], tf.float32, name="b"),
        ]
    )
    def pair(a, b):
        return {"y": add(a, b)}

    small = {"enable_large_batch_splitting": False}
    signatures = {
        "joined": signature(4, FOREVER, **small),
        "padded": signature(4, 0, allowed_batch_sizes=[2, 4], **small),
        "split": signature(8, 0, allowed_batch_sizes=[2], enable_large_batch_splitting=True),
        "full": signature(4, FOREVER, max_enqueued_batches=1, **small),
        "pair": pair,
    }
    tf.saved_model.save(model, str(folder), signatures=signatures)
    return pathlib.Path(folder)
