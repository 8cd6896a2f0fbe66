"""Graphs of several ops whose gradients tests/data/record lets TensorFlow compute: functions, and
control flow of both kinds.
"""

import numpy as np
import tensorflow as tf

from conformance.gradient_recording import GradientFile, random


def compositions():
    """What models write: several ops with one meaning."""
    file = GradientFile("compositions")
    x = random(1, 2, 3)
    for function in (
        lambda a: tf.nn.moments(a, [0]),
        lambda a: tf.linalg.norm(a, axis=1),
        lambda a: tf.reduce_logsumexp(a, axis=1),
        lambda a: tf.nn.l2_normalize(a, 1),
        lambda a: tf.clip_by_norm(a, 1.0),
        tf.nn.gelu,
        lambda a: tf.math.reduce_std(a, 1),
        lambda a: tf.tensordot(a, random(2, 3, 4), 1),
        lambda a: tf.scan(lambda s, v: s * v + v, a),
        lambda a: tf.map_fn(lambda r: tf.sin(r) * r, a),
    ):
        file.raw(function, [x], rtol=1e-4)
    return file


def _flow(file):
    """Conditions and loops, by whichever control flow is on."""
    x = random(1, 3)
    loop, cond = tf.compat.v1.while_loop, tf.compat.v1.cond
    for pivot in (0.0, 100.0):
        file.raw(lambda x, p=pivot: cond(
            tf.reduce_sum(x) < p, lambda: tf.sin(x) * 2, lambda: tf.square(x)), [x])
        # One branch does not depend on x; the other nests a condition.
        file.raw(lambda x, y, p=pivot: cond(
            tf.reduce_sum(x) < p, lambda: y * 3,
            lambda: cond(tf.reduce_sum(y) < 100, lambda: x * y, lambda: x)), [x, random(2, 3)])

    def power(x, w):
        return loop(lambda i, _: i < 4, lambda i, a: (i + 1, tf.tanh(a * w) + x), [0, x])[1]

    file.raw(power, [x, random(2, 3)], rtol=1e-4)
    file.raw(lambda x: loop(lambda a: tf.reduce_sum(tf.abs(a)) < 50, lambda a: a * a + a, [x]),
             [np.abs(x)], rtol=1e-4)
    file.raw(lambda x: loop(lambda i, _: i < 0, lambda i, a: (i + 1, a * 2), [0, x])[1], [x])

    def nested(x, w):
        def body(i, a):
            inner = loop(lambda j, _: j < i, lambda j, b: (j + 1, tf.sin(b * w)), [0, a])[1]
            return i + 1, inner + x

        return loop(lambda i, _: i < 3, body, [0, x])[1]

    file.raw(nested, [x, random(2, 3)], rtol=1e-4)

    def with_condition(x, w):
        def body(i, a):
            return i + 1, cond(tf.equal(i % 2, 0), lambda: tf.sin(a) * w, lambda: a * a)

        return loop(lambda i, _: i < 4, body, [0, x])[1]

    file.raw(with_condition, [x, random(2, 3)], rtol=1e-4)
    file.raw(lambda x: cond(tf.reduce_sum(x) < 100, lambda: power(x, x), lambda: x), [x], rtol=1e-4)

    def array(x):
        steps = tf.TensorArray(tf.float32, 4, element_shape=[3])

        def body(i, a, out):
            a = tf.tanh(a) * steps_in.read(i)
            return i + 1, a, out.write(i, a)

        steps_in = tf.TensorArray(tf.float32, 4, element_shape=[3], clear_after_read=False).unstack(
            tf.stack([x, 2 * x, x * x, x]))
        return loop(lambda i, *_: i < 4, body, [0, x, steps])[2].stack()

    file.raw(array, [x], rtol=1e-4)
    return file


def flow_v1():
    """Switch, Merge, Enter, Exit."""
    return _flow(GradientFile("flow_v1"))


def flow_v2():
    """If, While, Case, and calls of functions."""
    file = _flow(GradientFile("flow_v2", control_flow_v2=True))
    x, y = random(1, 3), random(2, 3)

    @tf.function
    def called(a, b):
        return tf.sin(a) * b, tf.square(a)

    file.raw(lambda a, b: called(a, b), [x, y])
    file.raw(lambda a, b: called(*called(a, b)), [x, y])
    file.raw(lambda a: tf.switch_case(
        tf.constant(1), [lambda: a, lambda: tf.exp(a), lambda: a * 2]), [x])

    @tf.function
    def looped(a, b):
        for i in tf.range(3):
            if tf.equal(i, 1):
                a = called(a, b)[0]
            a = a * b
        return a

    file.raw(lambda a, b: looped(a, b), [x, y], rtol=1e-4)

    def variable():
        v = tf.Variable(x, use_resource=True)

        @tf.function
        def use():
            return tf.sin(v) + tf.gather(v, [0, 0, 1])

        return use()

    def variable_of_a_function_in_a_function():
        v = tf.Variable(random(3, 3, 2), use_resource=True)

        @tf.function
        def inner(ids):
            return tf.sin(tf.gather(v, ids))

        @tf.function
        def outer():
            return inner([0, 0, 1]) * inner([2, 1, 0]) + tf.reduce_sum(v)

        return outer()

    file.raw(variable, [])
    file.raw(variable_of_a_function_in_a_function, [])
    return file
