"""SavedModels made for tests, where those of tests/data are too small or too quick."""

import pathlib

import tensorflow as tf


def save_sum_model(folder, value, floats=1 << 20):
    """y = x * sum(w), where w holds `floats` times `value`: an answer of all bytes of the weights.

    With a power of two for `floats` the sum is exact.
    """

    class Sum(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.fill([floats // 64, 64], tf.constant(value, tf.float32)))

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
        def __call__(self, x):
            return {"y": x * tf.reduce_sum(self.w)}

    module = Sum()
    tf.saved_model.save(module, str(folder), signatures=module.__call__)
    return pathlib.Path(folder)


def save_slow_model(folder):
    """y = number of turns of a loop that turns `turns` times, each about a millisecond long."""

    class Slow(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.eye(256))

        @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="turns")])
        def __call__(self, turns):
            def turn(i, x):
                return i + 1, tf.matmul(tf.matmul(x, self.w), self.w)

            i, x = tf.while_loop(lambda i, _: i < turns, turn, [tf.constant(0), tf.eye(256)])
            return {"y": tf.cast(i, tf.float32) * x[0, 0]}

    module = Slow()
    tf.saved_model.save(module, str(folder), signatures=module.__call__)
    return pathlib.Path(folder)


def save_typed_model(folder):
    """Outputs of many types made of x, an [N, 2] matrix; complex ones by a signature of their own."""

    class Typed(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable([[1.0], [10.0]])

        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
        def real(self, x):
            first = x[:, 0]
            return {
                "half": tf.cast(first, tf.half),
                "bfloat16": tf.cast(first, tf.bfloat16),
                "uint16": tf.cast(first, tf.uint16),
                "text": tf.where(first > 1, tf.constant("\u00e9"), tf.constant(b"\xff\x00")),
                "product": tf.matmul(x, self.w),
            }

        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
        def imaginary(self, x):
            return {"y": tf.complex(x[:, 0], x[:, 1])}

    module = Typed()
    signatures = {"serving_default": module.real, "imaginary": module.imaginary}
    tf.saved_model.save(module, str(folder), signatures=signatures)
    return pathlib.Path(folder)


def save_waiting_model(folder):
    """y = x, after an initialization that waits for an element of a queue which nobody fills."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        queue = tf.queue.FIFOQueue(1, [tf.float32], shapes=[[]])
        tf.compat.v1.saved_model.simple_save(
            session,
            str(folder),
            inputs={"x": x},
            outputs={"y": tf.identity(x)},
            legacy_init_op=tf.group(queue.dequeue()),
        )
    return pathlib.Path(folder)
