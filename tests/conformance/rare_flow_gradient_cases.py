"""Gradients through control flow, arrays and lists that no recorded graph differentiates: a part of
rare_gradient_cases.
"""

import functools

import numpy as np
import tensorflow as tf
from tensorflow.python.debug.lib import debug_gradients
from tensorflow.python.framework import function
from tensorflow.python.ops import control_flow_ops, gen_array_ops

from conformance.gradient_recording import GradientFile, random

raw = tf.raw_ops
v1 = tf.compat.v1


def debugged(x):
    """DebugGradientIdentity or DebugGradientRefIdentity, whose names may have no scope."""
    with v1.name_scope(None):
        return debug_gradients.GradientsDebugger().identify_gradient(x)


def references():
    """References to variables, on their way through conditions and loops of TF1."""
    file = GradientFile("references")
    x = random(1, 2, 3)

    def variable():
        return v1.Variable(x, use_resource=False)._ref()

    file.raw(lambda: tf.square(gen_array_ops.ref_identity(variable())), [])

    file.raw(lambda: tf.square(debugged(variable())), [])
    for positive in (True, False):

        def condition(positive=positive):
            ref, sum_over = variable(), tf.reduce_sum(tf.constant(x))
            pred = tf.equal(sum_over > -100, positive)
            return v1.cond(pred, lambda: tf.sin(ref), lambda: ref * ref)

        file.raw(condition, [])

        def merged(positive=positive):
            ref = variable()
            pred = tf.equal(tf.reduce_sum(tf.constant(x)) > -100, positive)
            off, on = control_flow_ops.ref_switch(ref, pred)
            return tf.square(control_flow_ops.merge([off, on])[0])

        file.raw(merged, [])

    def loop(a):
        ref = variable()
        return v1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, tf.tanh(a * ref)), [0, a])[1]

    file.raw(loop, [random(2, 2, 3)], rtol=1e-4)
    return file


def stateful_flow():
    """If, Case and While with side effects in their functions."""
    file = GradientFile("stateful_flow", control_flow_v2=True)
    x, y = random(1, 3), random(2, 3)

    def noted(value):
        with tf.control_dependencies([tf.debugging.assert_all_finite(value, "finite")]):
            return tf.identity(value)

    def read():
        return tf.Variable(random(5, 3), use_resource=True)

    for branch in (0, 1, 7):
        def case(x, y, branch=branch):
            v = read()
            return tf.switch_case(tf.constant(branch), [
                lambda: noted(x * v), lambda: y * tf.exp(v), lambda: noted(x)])

        file.raw(case, [x, y])
    for pivot in (-100.0, 100.0):
        def condition(x, y, pivot=pivot):
            v = read()
            return v1.cond(tf.reduce_sum(x) < pivot, lambda: noted(x * v), lambda: tf.sin(v) * y)

        file.raw(condition, [x, y])

    def loop(x, y):
        v = read()
        return v1.while_loop(
            lambda i, _: i < 3, lambda i, a: (i + 1, noted(tf.tanh(a * v) + y)), [0, x])[1]

    file.raw(loop, [x, y], rtol=1e-4)
    return file


def conditions_in_loops():
    """Loops of TF1 that need values from behind a condition for their gradients."""
    file = GradientFile("conditions_in_loops")
    x, w = random(1, 3, 3), random(2, 3, 3) * np.float32(0.4)

    def halved(x, a):
        return v1.cond(tf.reduce_sum(a) > 0, lambda: a * 0.5, lambda: tf.sin(x) + a)

    def squares(x, w):
        def body(i, a, total):
            a = halved(x, tf.tanh(a @ w))
            return i + 1, a, total + tf.reduce_mean(tf.square(a))

        return v1.while_loop(lambda i, *_: i < 5, body, [0, x, 0.0])[1:]

    def with_a_loop_behind(x, w):
        def body(i, a):
            a = halved(x, tf.tanh(a @ w))
            a = v1.cond(tf.reduce_max(a) < 0.4, lambda: v1.cond(
                tf.equal(i % 2, 0), lambda: a * a * 3.0, lambda: a - 0.3), lambda: tf.exp(-a))
            a = v1.while_loop(lambda k, _: k < i % 3, lambda k, b: (k + 1, b + b * b @ w), [0, a])[1]
            return i + 1, a * a

        return v1.while_loop(lambda i, _: i < 5, body, [0, x])[1]

    for build in (squares, with_a_loop_behind):
        for sign in (1, -1):
            file.raw(build, [sign * x, w], rtol=1e-4)

    def read_elsewhere(x, is_function):
        v = tf.Variable(random(5, 3, dtype=np.float64), use_resource=True)

        def multiplied(a):
            return v1.cond(tf.reduce_sum(a) > -100, lambda: a * v.read_value(), lambda: a)

        call = tf.function(multiplied) if is_function else multiplied
        return v1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, call(a)), [0, x])[1]

    for is_function in (False, True):
        file.raw(functools.partial(read_elsewhere, is_function=is_function),
                 [random(1, 3, dtype=np.float64)])
    return file


def matrices_in_loops():
    """Decompositions in loops, where shapes are not known."""
    file = GradientFile("matrices_in_loops")
    for shape in ((2, 3, 3), (2, 4, 3), (2, 3, 4)):
        file.raw(lambda x: tf.map_fn(lambda a: tf.abs(tf.linalg.qr(a)[1]), x),
                 [random(1, *shape, dtype=np.float64)], rtol=1e-8, atol=1e-8)
    return file


def ragged_maps():
    """tf.map_fn over ragged tensors, whose loops carry rows in variants of an unknown rank."""
    file = GradientFile("ragged_maps")

    def rows(values, *splits):
        return tf.RaggedTensor.from_nested_row_splits(values, [np.array(each, np.int64) for each in splits])

    def mapped(function, values, ragged_rank=None):
        signature = tf.float32
        if ragged_rank is not None:
            shape = [None] * (ragged_rank + 1)
            signature = tf.RaggedTensorSpec(shape, tf.float32, ragged_rank)
        return tf.map_fn(function, values, fn_output_signature=signature)

    x = random(1, 6)
    for splits in (((0, 1, 3, 6),), ((0, 1, 3), (0, 2, 2, 6))):
        file.raw(lambda x, s=splits: mapped(lambda row: tf.reduce_sum(row * row), rows(x, *s)), [x])
        file.raw(lambda x, s=splits: mapped(
            lambda row: row * row, rows(x, *s), len(s) - 1).flat_values, [x])
    return file


def arrays_and_lists():
    """Accesses of TensorArrays and TensorLists that follow on others."""
    file = GradientFile("arrays_and_lists")
    x, y = random(1, 2), random(2, 3, 2)

    def array():
        return tf.TensorArray(tf.float32, 4, element_shape=[2], clear_after_read=False)

    def scattered(x, y):
        filled = array().write(2, x * x).scatter([0, 3, 1], y)
        return [filled.gather([2, 0]), filled.read(3)]

    def item(x, y):
        filled = raw.TensorListSetItem(
            input_handle=raw.TensorListFromTensor(tensor=y, element_shape=[2]), index=1, item=x * x)
        return [raw.TensorListGetItem(input_handle=filled, index=i, element_shape=[2],
                                      element_dtype=tf.float32) for i in (1, 0, 1)]

    for build in (scattered, item):
        file.raw(build, [x, y])
    return file


def growing_arrays():
    """TensorArrays of dynamic size, lists in control flow v2, read between their writes."""
    file = GradientFile("growing_arrays", control_flow_v2=True)
    x, y = random(1, 3), random(2, 3)

    def array():
        return tf.TensorArray(
            tf.float32, 0, dynamic_size=True, element_shape=[3], clear_after_read=False)

    def straight(x, y):
        one = array().write(0, x)
        return one.write(2, one.read(0) * y).stack()

    def loop(x, y):
        def body(i, a):
            return i + 1, a.write(i, tf.tanh(a.read(i - 1) * y))

        return v1.while_loop(lambda i, _: i < 4, body, [1, array().write(0, x)])[1].stack()

    def beyond_a_tensor(x, y):
        numbers = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[]).unstack(x)
        return numbers.write(5, y[0]).stack()

    for build in (straight, loop, beyond_a_tensor):
        file.raw(build, [x, y])
    return file


def functions_as_ops():
    """Functions of TF1 that are ops: an argument on which no result depends has zeros."""
    file = GradientFile("functions_as_ops")
    x, y = random(1, 3), random(2, 2)

    @function.Defun(tf.float32, tf.float32, tf.int32)
    def squares(a, b, n):
        return a * a, tf.stop_gradient(b), n

    @function.Defun(tf.float32, tf.float32)
    def constants(a, b):
        return tf.constant([1.0, 2.0]) + 0 * tf.cast(tf.shape(a)[0] + tf.shape(b)[0], tf.float32)

    file.raw(lambda a, b: squares(a, b, 3)[0], [x, y])
    file.raw(lambda a, b: squares(a, b, 3)[:2], [x, y])
    file.raw(constants, [x, y])
    return file


FILES = (functions_as_ops, references, stateful_flow, conditions_in_loops, matrices_in_loops,
         ragged_maps, arrays_and_lists, growing_arrays)
