"""Graphs whose ops disagree about a resource that they share: an error, whatever they were built of."""

import re
import subprocess

import pytest
import tensorflow as tf

from clients.server import binary, environment


def _popped(x):
    stack = tf.raw_ops.StackV2(max_size=-1, elem_type=tf.float32)
    with tf.control_dependencies([tf.raw_ops.StackPushV2(handle=stack, elem=x)]):
        return tf.raw_ops.StackPopV2(handle=stack, elem_type=tf.int64)


def _shared_name(x):
    number, text = (
        tf.raw_ops.VariableV2(shape=[30], dtype=dtype, shared_name="v")
        for dtype in (tf.float32, tf.string)
    )
    with tf.control_dependencies([tf.raw_ops.Assign(ref=number, value=x).op]):
        return tf.raw_ops.StringLength(input=text)


def _slice_of_another_type(x):
    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[30])
    with tf.control_dependencies([tf.raw_ops.AssignVariableOp(resource=handle, value=x)]):
        write = tf.raw_ops.ResourceStridedSliceAssign(
            ref=handle, begin=[0], end=[30], strides=[1], value=tf.cast(x, tf.complex128)
        )
    with tf.control_dependencies([write]):
        return tf.identity(x)


@pytest.mark.parametrize("make", [_popped, _shared_name, _slice_of_another_type])
def test_ops_that_disagree_about_the_type_of_a_resource_fail(make, tmp_path):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [30])
        tf.compat.v1.saved_model.simple_save(session, str(tmp_path / "m"), {"x": x}, {"y": make(x)})
    process = subprocess.run(
        [binary(), "run", tmp_path / "m", f"--input=x={[1.0] * 30}"],
        capture_output=True, text=True, env=environment(), check=False,
    )
    assert process.returncode == 1
    assert re.search("(stack|variable).* (is|it is|is one of|holds) ", process.stderr)
