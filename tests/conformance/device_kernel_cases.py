"""Calls of ops that GPUs have kernels for and no other case makes; tests/data/record records them."""

import functools

import numpy as np
import tensorflow as tf

from conformance import graph_cases
from conformance.graph_cases import Plan
from conformance.recording import OpFile, make_node, run_node

raw = tf.raw_ops


def _accumulate():
    file = OpFile("AccumulateNV2")
    values = np.arange(18, dtype=np.float32).reshape(3, 2, 3) / 4
    file.add(list(values), N=3, T=tf.float32, shape=[2, 3])
    file.add(list(values[:2, :0]), N=2, T=tf.float32, shape=[0, 3])
    file.add([np.float32(np.nan)], N=1, T=tf.float32, shape=[])
    file.add([values[0, 0], values[1, 0, :2]], N=2, T=tf.float32, shape=[3])
    return file


def _dynamic_slice():
    file = OpFile("XlaDynamicSlice", compiled=True)
    values = np.arange(12, dtype=np.float32).reshape(3, 4)

    def add(start, size, value=values):
        inputs = [value, np.array(start, np.int32), np.array(size, np.int32)]
        file.add(inputs, T=tf.as_dtype(value.dtype), Tindices=tf.int32)

    add([1, 1], [2, 3])
    add([2, 9], [2, 3])  # moved back into the operand
    add([-5, 0], [1, 4])
    add([0, 0], [0, 4])
    add([], [], value=np.float32(7))
    add([0, 0], [4, 4])
    add([0], [1])
    return file


def _top_k():
    """The first version, whose kernel TensorFlow asks for an attribute of the second alone."""

    def run(node, inputs):
        (name,) = inputs
        attrs = {"T": node.attr["T"].type, "sorted": node.attr["sorted"].b}
        second = make_node("TopKV2", node.name, [name, "k"], attrs)
        return run_node(second, {**inputs, "k": np.int32(node.attr["k"].i)})

    file = OpFile("TopK", run=run, producer=6)
    values = np.float32([[3, 1, 3, 2], [-1, np.inf, 0, -np.inf]])
    for value, k in ((values, 3), (values, 0), (values[0], 4), (values[:0], 2), (values, 5)):
        file.add([value], T=tf.float32, k=k)
    file.add([np.int32([[5, 9, 9, -1]])], T=tf.int32, k=2)
    return file


def references_scattered_to():
    """Updates of v1 variables at several indices, one of them twice."""

    def variable(name, *shape):
        values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        return tf.compat.v1.get_variable(name, initializer=values, use_resource=False)

    minimum, replaced = variable("minimum", 4, 2), variable("replaced", 4, 2)
    nd_min, nd_max = variable("nd_min", 3, 2), variable("nd_max", 3, 2)
    rows = np.float32([[1, -1], [9, 9], [-4, np.inf]])
    elements = {"indices": [[0, 1], [2, 0], [2, 0]], "updates": np.float32([-3, 3, 8])}
    updates = (
        raw.ScatterMin(ref=minimum.op.outputs[0], indices=[3, 0, 3], updates=rows),
        raw.ScatterUpdate(ref=replaced.op.outputs[0], indices=[2, 0], updates=rows[:2]),
        raw.ScatterNdMin(ref=nd_min.op.outputs[0], **elements),
        raw.ScatterNdMax(ref=nd_max.op.outputs[0], **elements),
    )
    variables = [minimum, replaced, nd_min, nd_max]
    return Plan([v.initializer for v in variables] + [u.op for u in updates], variables)


def index_out_of_a_reference():
    variable = tf.compat.v1.get_variable("v", initializer=np.float32([1, 2]), use_resource=False)
    update = raw.ScatterUpdate(ref=variable.op.outputs[0], indices=[2], updates=np.float32([3]))
    return Plan([variable.initializer, update.op])


def tensor_lists_joined():
    """Lists that are joined, and that grow and shrink."""
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    joined = {"element_dtype": tf.float32, "element_shape": [None, 2]}
    split = functools.partial(raw.TensorListSplit, tensor=rows, element_shape=[-1, 2])
    parts = split(lengths=np.int64([2, 0, 3]))
    listed = raw.TensorListFromTensor(tensor=rows, element_shape=[2])
    shrunk = raw.TensorListResize(input_handle=listed, size=2)
    grown = raw.TensorListResize(input_handle=shrunk, size=3)
    stack = functools.partial(
        raw.TensorListStack, element_shape=[2], element_dtype=tf.float32, num_elements=-1
    )
    empty = split(tensor=rows[:0], lengths=np.int64([]))
    return Plan(
        [],
        [
            *raw.TensorListConcat(input_handle=parts, **joined),
            *raw.TensorListConcatV2(
                input_handle=parts,
                element_dtype=tf.float32,
                element_shape=[-1, 2],
                leading_dims=np.int64([]),
            ),
            *raw.TensorListConcat(input_handle=empty, **joined),
            stack(input_handle=shrunk),
            stack(input_handle=grown),
        ],
    )


def tensor_array_split_and_closed():
    array = raw.TensorArrayV3(size=3, dtype=tf.float32)
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    flow = raw.TensorArraySplitV3(
        handle=array.handle, value=rows, lengths=np.int64([2, 0, 3]), flow_in=array.flow
    )
    third = raw.TensorArrayReadV3(handle=array.handle, index=2, dtype=tf.float32, flow_in=flow)
    with tf.control_dependencies([third]):
        closed = raw.TensorArrayCloseV3(handle=array.handle)
    with tf.control_dependencies([closed]):
        return Plan([], [tf.identity(third)])


def non_deterministic_integers():
    """What holds of all draws: their shape, and that two of them differ."""
    draw = functools.partial(raw.NonDeterministicInts, shape=np.int64([2, 3]))
    outputs = []
    for dtype in (tf.int64, tf.uint64):
        first, second = draw(dtype=dtype), draw(dtype=dtype)
        outputs += [tf.shape(first), tf.reduce_all(raw.Equal(x=first, y=second))]
    return Plan([], outputs + [raw.NonDeterministicInts(shape=np.int32([0, 2]), dtype=tf.int32)])


_GRAPHS = (
    references_scattered_to,
    index_out_of_a_reference,
    tensor_lists_joined,
    tensor_array_split_and_closed,
    non_deterministic_integers,
)


def record(directory):
    """Writes all cases below DIRECTORY, and returns their paths."""
    files = [_accumulate(), _dynamic_slice(), _top_k()]
    graphs = {build.__name__: build for build in _GRAPHS}
    return [file.write(directory / "ops") for file in files] + graph_cases.record(
        directory / "graphs", graphs
    )
